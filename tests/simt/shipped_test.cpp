/// The kernels that routines choose, as a pack holds them, compile for every architecture and keep their arrays in registers,
/// but for a few words.

#include "packs/shipped.hpp"

#include <gtest/gtest.h>

namespace myriad::gpu {
namespace {

class Shipped : public testing::TestWithParam<char const*> {};

TEST_P(Shipped, CompilesAndHardlySpills) {
  KernelStore& store = KernelStore::instance();
  if (!store.nvrtc().available()) GTEST_SKIP() << "no NVRTC on this machine";
  // Every routine and type on the GPU that the plan is for; elsewhere, what is largest.
  bool const all = std::string_view(GetParam()) == "sm_90";
  KernelFilter const filter{.routines = all ? std::vector<std::string>{} : std::vector<std::string>{"getrf"},
                            .sizes = all ? std::vector<int>{4, 13, 32} : std::vector<int>{8, 32},
                            .dtypes = all ? std::vector<Dtype>{} : std::vector<Dtype>{Dtype::f64}};
  auto const kernels = shipped_kernels(filter);
  ASSERT_FALSE(kernels.empty());
  for (KernelSource const& kernel : kernels) {
    KernelRecord const record = store.compile(kernel, GetParam());
    EXPECT_FALSE(record.cubin.empty());
    // Limits of registers were chosen by speed; what is spilled is little and outside the loops.
    auto const spill = record.log.find(" bytes spill stores");
    ASSERT_NE(spill, std::string::npos) << record.log;
    auto const digits = record.log.rfind(' ', spill - 1);
    EXPECT_LE(std::stoi(record.log.substr(digits + 1)), 256) << kernel.name << "\n" << record.log;
  }
}

INSTANTIATE_TEST_SUITE_P(Architectures, Shipped, testing::Values("sm_80", "sm_90", "sm_100", "sm_120"),
                         [](auto const& info) { return std::string(info.param); });

}  // namespace
}  // namespace myriad::gpu
