#pragma once
/// A driver for machines without one: a libcuda.so.1 with two GPUs whose memory is the host's. It keeps count of what it is asked for,
/// fails when it is told to, and is strict where the real one is: a call without a current context, a wait during a capture, memory that is
/// given back twice, a copy from a pool of one GPU to one of the other that does not name them are errors. When it is told to be lazy it
/// does what is enqueued (copies, kernels, giving memory back) as late as the real one may: when somebody waits for it. So whoever reads
/// results, or reuses memory, without waiting sees wrong data.
///
/// It runs one kernel; all others do nothing. So it also fills a cache of kernels for a GPU that it says it is (FAKE_CUDA_NAME: an H200
/// and an H100 have tuned kernels; FAKE_CUDA_VERSION: 12000 is CUDA 12.0; FAKE_CUDA_STATIC_BYTES: of shared memory), see tools/gpu-check.
/// With FAKE_CUDA_TIMES in the environment these others take a time that depends on how they are launched.

#include <atomic>

#include "myriad/batch.hpp"

namespace myriad::test {

struct FakeCuda {
  std::atomic<int> launches{0};
  std::atomic<int> live_allocations{0};
  std::atomic<int> live_pinned{0};
  std::atomic<int> live_streams{0};
  std::atomic<int> live_pools{0};
  std::atomic<int> live_events{0};
  std::atomic<int> held{0};  ///< streams that were made to wait for an event
  std::atomic<int> modules{0};
  std::atomic<int> copies{0};
  std::atomic<int> peer_copies{0};  ///< of them from one GPU to the other
  std::atomic<int> waits{0};
  std::atomic<int> pushes{0};
  std::atomic<int> misuses{0};         ///< calls that the real driver would refuse, or worse
  std::atomic<bool> capturing{false};  ///< every stream is being captured
  std::atomic<bool> lazy{false};
  std::atomic<bool> reaches_host_memory{true};   ///< asked for when the first queue of a GPU is made
  std::atomic<float> milliseconds{1.5F};         ///< between any two events
  std::atomic<int> pending{0};                   ///< operations that are enqueued and not done
  std::atomic<long long> free_bytes{1LL << 40};  ///< what it says is free
  std::atomic<long long> device_bytes{0};        ///< that are allocated
  std::atomic<long long> peak_device_bytes{0};
  std::atomic<long long> peak_pinned_bytes{0};
  std::atomic<long long> pinned_bytes{0};
  // What the next call of a kind returns, once; 0 for success
  std::atomic<int> fail_launch{0};
  std::atomic<int> fail_allocation{0};
  std::atomic<int> fail_free{0};
  std::atomic<int> fail_wait{0};
  std::atomic<int> fail_module{0};
  std::atomic<int> fail_copy{0};
  std::atomic<int> fail_pinned{0};
  std::atomic<int> fail_tensor_map{0};
  // The last launch
  unsigned grid[3] = {}, block[3] = {}, shared = 0;
  bool together = false;
};

/// Parameters of the kernel that it runs: data[i] *= factor; before that `call`, if there is one.
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
