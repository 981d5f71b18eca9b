/// What products launch, on a made-up driver with a compiler that compiles nothing. Nothing runs: all is captured.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <span>
#include <vector>

#include "fake_cuda.hpp"
#include "fake_nvrtc.hpp"
#include "gemm/gemm_ring_plan.hpp"
#include "myriad/error.hpp"
#include "myriad/gemm.hpp"
#include "myriad/queue.hpp"
#include "test_kernel.hpp"

namespace myriad::test {
namespace {

class Products : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder = new TemporaryFolder;
    ::setenv("MYRIAD_NVRTC", MYRIAD_FAKE_NVRTC, 1);
    ::setenv("MYRIAD_CACHE_DIR", folder->path().c_str(), 1);
  }
  static void TearDownTestSuite() { delete folder; }
  void SetUp() override {
    void* const library = ::dlopen("libcuda.so.1", RTLD_NOW);
    auto const state = library ? reinterpret_cast<FakeCuda* (*)()>(::dlsym(library, "fake_cuda")) : nullptr;
    if (!state) GTEST_SKIP() << "libcuda.so.1 is another one";
    fake = state();
    void* const nvrtc = ::dlopen(MYRIAD_FAKE_NVRTC, RTLD_NOW);
    ASSERT_NE(nvrtc, nullptr) << ::dlerror();
    compiler = reinterpret_cast<FakeNvrtc* (*)()>(::dlsym(nvrtc, "fake_nvrtc"))();
    queue.emplace(QueueOptions{.backend = Backend::gpu});
  }
  void TearDown() override {
    if (!fake) return;
    queue.reset();
    EXPECT_EQ(fake->misuses, 0);
    EXPECT_EQ(fake->live_allocations, 0);
  }

  /// Matrices that nobody reads.
  template <typename T>
  static Batch<T> matrices(std::int64_t n, std::int64_t count, std::uintptr_t address) {
    return batch(reinterpret_cast<T*>(address), n, n, {.count = count});
  }
  /// How many launches that is.
  template <typename F>
  int launches(F&& call) {
    queue->prepare(call);
    int const before = fake->launches;
    fake->capturing = true;
    try {
      call();
    } catch (...) {
      fake->capturing = false;
      throw;
    }
    fake->capturing = false;
    return fake->launches - before;
  }

  static inline TemporaryFolder* folder = nullptr;
  FakeNvrtc* compiler = nullptr;
  FakeCuda* fake = nullptr;
  std::optional<Queue> queue;
};

TEST_F(Products, OfManyRaggedMatricesHaveASchedule) {
  std::int64_t const at_once = queue->device().multiprocessors;
  std::vector<std::int64_t> const sizes(1);  // which the host does not read
  auto const of = [&](std::int64_t n, std::int64_t count) {
    auto a = matrices<double>(n, count, 0x100000000000), b = a, c = matrices<double>(n, count, 0x200000000000);
    a.row_sizes = a.col_sizes = b.row_sizes = b.col_sizes = c.row_sizes = c.col_sizes = sizes.data();
    return launches([&] { gemm<double>(*queue, 1, a, b, 1, c); });
  };
  auto const blocks_per_sm = [](std::int64_t n) { return std::int64_t{gemm_ring_plan(8, false, n, n, n).blocks_per_sm}; };
  // A schedule, and kernels for matrices of up to 32, 64, 128 and of more rows
  EXPECT_EQ(of(1496, 100 * at_once), 5);
  EXPECT_EQ(fake->grid[0], 8 * at_once * blocks_per_sm(1496));
  EXPECT_EQ(of(128, 100 * at_once), 4);
  // Few matrices, large enough to be many tiles
  EXPECT_EQ(of(1496, at_once / 2), 2);
  EXPECT_EQ(fake->grid[0], 8 * at_once * blocks_per_sm(1496));
  // So few tiles that the host's bound does no harm
  EXPECT_EQ(of(100, at_once), 1);
  EXPECT_EQ(of(100, at_once + 1), 3);
}

TEST_F(Products, OfUniformMatricesHaveNone) {
  std::int64_t const count = 100 * queue->device().multiprocessors;
  auto const a = matrices<double>(200, count, 0x100000000000), c = matrices<double>(200, count, 0x200000000000);
  EXPECT_EQ(launches([&] { gemm<double>(*queue, 1, a, a, 1, c); }), 1);
}

TEST_F(Products, OfGroupsAreComputedOnlyIfAllHaveKernels) {
  std::vector<GemmGroup<float>> groups;
  for (std::int64_t const n : {8, 0, 40, 100}) {
    auto const address = static_cast<std::uintptr_t>(0x100000000000) * (groups.size() + 1);
    groups.push_back({.alpha = 1,
                      .a = matrices<float>(n, 3, address),
                      .b = matrices<float>(n, 3, address),
                      .beta = 0,
                      .c = matrices<float>(n, 3, address + 0x10000000000)});
  }
  EXPECT_EQ(launches([&] { gemm_grouped<float>(*queue, groups); }), 3);
  groups.back().c = transposed(groups.back().c);  // another kernel
  compiler->refused = "gemm_ring";
  int const before = fake->launches;
  EXPECT_THROW(gemm_grouped<float>(*queue, groups), Error);
  EXPECT_EQ(fake->launches, before);
  compiler->refused.clear();
  groups.back().b.data = nullptr;
  EXPECT_THROW(gemm_grouped<float>(*queue, groups), BadArgument);
}

}  // namespace
}  // namespace myriad::test
