#pragma once
/// A fake driver: a libcuda.so.1 with two GPUs in host memory. It counts calls, fails on request, and is as strict as the real one. Errors
/// are a call without a current context, a wait during a capture, an event between a capture and other work, a double free, and a copy
/// between the pools of two GPUs that does not name them. If `lazy`, it runs enqueued work (copies, kernels, frees) as late as the real one
/// may: when somebody waits for it. So reading results, or reusing memory, without waiting gives wrong data.
///
/// It runs one kernel, and those of fake_cuda_add_kernel (fake_kernels.cpp); all others do nothing. tools/gpu-check uses it to fill a cache
/// of kernels for a named GPU, tools/kernels-wheel to list the kernels of one. The environment describes the GPU, otherwise an H200:
/// FAKE_CUDA_NAME (an H200 and an H100 have tuned kernels), FAKE_CUDA_CAPABILITY (90 is 9.0), FAKE_CUDA_MULTIPROCESSORS,
/// FAKE_CUDA_SHARED_KIB (shared memory of a multiprocessor), FAKE_CUDA_STATIC_BYTES (static shared memory of kernels), FAKE_CUDA_VERSION
/// (12000 is CUDA 12.0). With FAKE_CUDA_TIMES the other kernels take an invented time that depends on their launch. FAKE_CUDA_BROKEN_GPU is
/// a GPU that breaks, as by `broken_gpu`, at its launch number FAKE_CUDA_BREAKS_AT_LAUNCH, counted from 1; 0: it is broken from the start.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "myriad/batch.hpp"

namespace myriad::test {

/// A launch as the driver sees it.
struct FakeLaunch {
  char const* kernel;  ///< its lowered name; the fake compiler gives the name expression
  void const* arguments;
  unsigned blocks, threads, shared_bytes;
};
/// Memory of the fake driver.
struct FakeMemory {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
};

struct FakeCuda {
  std::atomic<int> launches{0};
  std::atomic<int> live_allocations{0};
  std::atomic<int> live_pinned{0};
  std::atomic<int> live_streams{0};
  std::atomic<int> live_pools{0};
  std::atomic<int> live_events{0};
  std::atomic<int> held{0};  ///< calls that made a stream wait for an event
  std::atomic<int> modules{0};
  std::atomic<int> copies{0};
  std::atomic<int> peer_copies{0};  ///< copies from one GPU to the other
  std::atomic<int> waits{0};
  std::atomic<int> pushes{0};
  std::atomic<int> misuses{0};            ///< calls that the real driver would refuse or crash on
  std::atomic<int> uses_of_destroyed{0};  ///< calls on streams that are destroyed
  std::atomic<bool> capturing{false};     ///< every stream is being captured
  std::atomic<void*> captured{nullptr};   ///< this stream is being captured
  std::atomic<bool> lazy{false};
  std::atomic<bool> reaches_host_memory{true};   ///< read when the first queue of a GPU is made
  std::atomic<float> milliseconds{1.5F};         ///< between any two events
  std::atomic<int> pending{0};                   ///< enqueued operations that are not done
  std::atomic<long long> free_bytes{1LL << 40};  ///< reported free memory
  std::atomic<long long> device_bytes{0};        ///< allocated now
  std::atomic<long long> peak_device_bytes{0};
  std::atomic<long long> peak_pinned_bytes{0};
  std::atomic<long long> pinned_bytes{0};
  // Result of the next call of a kind, once; 0: success
  std::atomic<int> fail_launch{0};
  std::atomic<int> fail_allocation{0};
  std::atomic<int> fail_free{0};
  std::atomic<int> fail_wait{0};
  std::atomic<int> fail_module{0};
  std::atomic<int> fail_copy{0};
  std::atomic<int> fail_pinned{0};
  std::atomic<int> fail_stream{0};
  std::atomic<int> fail_tensor_map{0};
  /// Every launch, copy, allocation and wait on this GPU fails from now on, with 719, and copies and kernels that are pending there are
  /// lost; memory can still be freed. -1: none
  std::atomic<int> broken_gpu{-1};
  // The last launch
  unsigned grid[3] = {}, block[3] = {}, shared = 0;
  bool together = false;
  std::atomic<void*> stream{nullptr};
  std::atomic<char const*> kernel{""};
  std::function<void(FakeLaunch const&)> at_launch;           ///< called at each launch
  FakeMemory (*memory_at)(std::uintptr_t address) = nullptr;  ///< the allocation that contains an address; none: no bytes
};

/// A kernel on the host twin.
struct FakeKernel {
  void (*run)(int blocks, int threads, int shared_bytes, void const* argument) = nullptr;
  std::size_t argument_bytes = 0;
};

/// Parameters of the kernel that it runs: first `call`, if set, then data[i] *= factor.
struct FakeScaleParams {
  double* data = nullptr;
  long long count = 0;
  double factor = 1;
  void (*call)(FakeScaleParams const&) = nullptr;
  Batch<double const> a{}, b{};
  Batch<double> x{};
  int* info = nullptr;
};

}  // namespace myriad::test
