/// Routines with the kernels of a pack, on a fake driver without a compiler.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "myriad/error.hpp"
#include "myriad/gemm.hpp"
#include "on_fake.hpp"
#include "packs/shipped.hpp"

namespace myriad::test {
namespace {

/// A pack of a compiler before CUDA 12.1: it lacks the one kernel with more than 4 KiB of parameters.
class OldPack : public testing::Environment {
  void SetUp() override {
    ::setenv("MYRIAD_NVRTC", "/nonexistent", 1);  // before the first search for one
    other_kernels = gpu::shipped_kernels({.routines = {"gemm"}, .sizes = {40}, .dtypes = {Dtype::f64}});
    std::size_t const large =
        std::erase_if(other_kernels, [](gpu::KernelSource const& kernel) { return kernel.name == "myriad::gemm_groups<128, 340>"; });
    EXPECT_EQ(large, 1U);
  }
};
[[maybe_unused]] auto* const old_pack = testing::AddGlobalTestEnvironment(new OldPack);

class WithOldPack : public OnFake {
 protected:
  int launches_of_groups(std::int64_t groups_of_40, Dtype dtype = Dtype::f64) {
    return dtype == Dtype::f64 ? launches<double>(groups_of_40) : launches<float>(groups_of_40);
  }

 private:
  template <typename T>
  int launches(std::int64_t count) {
    auto const matrices = [](std::uintptr_t address) { return batch(reinterpret_cast<T*>(address), 40, 40, {.count = 2}); };
    std::vector<GemmGroup<T>> const groups(
        static_cast<std::size_t>(count),
        {.alpha = 1, .a = matrices(0x100000000000), .b = matrices(0x200000000000), .beta = 0, .c = matrices(0x300000000000)});
    int const before = fake->launches;
    gemm_grouped<T>(*queue, groups);
    return fake->launches - before;
  }
};

TEST_F(WithOldPack, ManyGroupsHaveSeveralLaunches) {
  int const product = launches_of_groups(40) - 1;
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(launches_of_groups(41), 2 + product);
    EXPECT_EQ(launches_of_groups(100), 3 + product);
  }
}

TEST_F(WithOldPack, AKernelThatIsMissingIsNamed) {
  for (std::int64_t const groups : {5, 100}) {
    try {
      launches_of_groups(groups, Dtype::f32);
      ADD_FAILURE() << "no error";
    } catch (Unavailable const& error) {
      EXPECT_NE(std::string(error.what()).find("myriad::gemm_pipelined<float"), std::string::npos) << error.what();
    }
  }
}

/// The driver's version is CUDA 13.0, or that of FAKE_CUDA_VERSION.
TEST_F(WithOldPack, OldDriversTakeFewParameters) {
  struct Few {
    FakeScaleParams used{};
    char unused[4096 - sizeof(FakeScaleParams)] = {};
  };
  struct Many {
    Few few{};
    double further = 0;
  };
  auto const start = [&](auto const& parameters) { gpu::launch(*queue, kernel(), {.blocks = 1, .threads = 32}, parameters); };
  start(Few{});
  if (gpu::driver::load().version >= 12010) {
    start(Many{});
    return;
  }
  int const before = fake->launches;
  auto const expect_refusal = [&] {
    try {
      start(Many{});
      ADD_FAILURE() << "no error";
    } catch (Unavailable const& error) {
      EXPECT_NE(std::string(error.what()).find("scale for sm_90: a launch with 4104 bytes of parameters"), std::string::npos)
          << error.what();
    }
  };
  expect_refusal();
  queue->prepare(expect_refusal);
  EXPECT_EQ(fake->launches, before);
}

}  // namespace
}  // namespace myriad::test
