#pragma once
/// Fixture of tests on the fake driver.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "fake_cuda.hpp"
#include "myriad/queue.hpp"
#include "runtime/launch.hpp"
#include "test_kernel.hpp"

namespace myriad::test {

inline gpu::KernelSource source() {
  gpu::KernelSource out{.header = "scale.cuh", .name = "scale"};
  out.files = test_sources();
  return out;
}

/// The same under a name for which the pack has PTX only.
inline gpu::KernelSource source_of_ptx() {
  gpu::KernelSource out = source();
  out.name = "scale_of_ptx";
  return out;
}

/// Kernels for a test of whole routines; they do nothing, and take different invented times (FAKE_CUDA_TIMES).
inline std::vector<gpu::KernelSource> other_kernels;

/// The store of this process finds the test kernel and `other_kernels` in a pack, and no compiler.
class OnFake : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder = new TemporaryFolder;
    std::string const pack = (folder->path() / "fake.pack").string();
    std::vector<gpu::KernelRecord> records;
    auto const add = [&](gpu::KernelSource const& kernel, char const* lowered_name, char const* arch = "sm_90") {
      records.push_back({.key = gpu::KernelStore::key(kernel, arch, "NVRTC 12.0"),
                         .name = kernel.name,
                         .arch = arch,
                         .compiler = "NVRTC 12.0",
                         .lowered_name = lowered_name,
                         .log = "",
                         .cubin = "image"});
    };
    add(source(), "scale");
    add(source_of_ptx(), "scale", "compute_90");
    for (gpu::KernelSource const& kernel : other_kernels) add(kernel, "another");
    gpu::Pack::write(pack, records);
    ::setenv("MYRIAD_PACK", pack.c_str(), 1);
    ::setenv("MYRIAD_NVRTC", "/nonexistent", 1);
  }
  static void TearDownTestSuite() { delete folder; }

  void SetUp() override {
    void* const library = ::dlopen("libcuda.so.1", RTLD_NOW);
    auto const state = library ? reinterpret_cast<FakeCuda* (*)()>(::dlsym(library, "fake_cuda")) : nullptr;
    if (!state) GTEST_SKIP() << "libcuda.so.1 is another one";
    fake = state();
    queue.emplace(QueueOptions{.backend = Backend::gpu});
  }
  void TearDown() override {
    if (!fake) return;
    queue.reset();
    EXPECT_EQ(fake->misuses, 0);
    EXPECT_EQ(fake->live_allocations, 0);
    EXPECT_EQ(fake->live_pinned, 0);
    EXPECT_EQ(fake->live_streams, 0);
    EXPECT_EQ(fake->live_pools, 0);
    EXPECT_EQ(fake->live_events, 0);
    gpu::driver::ContextHandle current = nullptr;
    gpu::driver::api().cuCtxGetCurrent(&current);
    EXPECT_EQ(current, nullptr);
  }

  gpu::Kernel const& kernel() { return gpu::kernel_for(*queue, gpu::kernel_key(gpu::kernel_id("scale")), source); }

  static inline TemporaryFolder* folder = nullptr;
  FakeCuda* fake = nullptr;
  std::optional<Queue> queue;
};

}  // namespace myriad::test
