/// The kernels that routines choose, as a pack holds them, compile for every architecture and keep their arrays in registers,
/// but for a few words.

#include "packs/shipped.hpp"

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace myriad::gpu {
namespace {

/// What one test compiles; several run at a time.
struct Part {
  std::string name;
  std::string architecture;
  KernelFilter filter;
};
void PrintTo(Part const& part, std::ostream* out) { *out << part.name; }

/// Every routine and type on the GPU that the plan is for; elsewhere, what is largest.
std::vector<Part> parts() {
  std::vector<Part> out;
  // Of single numbers, which have more registers to spare, fewer sizes
  for (auto const& [letter, dtype] : {std::pair{"z", Dtype::c64}, {"d", Dtype::f64}})
    out.push_back({std::string("sm_90_") + letter, "sm_90", {.routines = {}, .sizes = {4, 13, 32, 33, 128}, .dtypes = {dtype}}});
  for (auto const& [letter, dtype] : {std::pair{"c", Dtype::c32}, {"s", Dtype::f32}})
    out.push_back({std::string("sm_90_") + letter, "sm_90", {.routines = {}, .sizes = {13, 33, 128}, .dtypes = {dtype}}});
  for (auto const& [name, dtype] : {std::pair{"half", Dtype::f16}, {"bfloat16", Dtype::bf16}, {"complex_half", Dtype::c16}})
    out.push_back({std::string("sm_90_") + name,
                   "sm_90",
                   {.routines = {}, .sizes = {1, 2, 3, 4, 5, 8, 13, 32, 33, 64, 100, 128}, .dtypes = {dtype}}});
  for (char const* const architecture : {"sm_80", "sm_100", "sm_120"})
    out.push_back({architecture,
                   architecture,
                   {.routines = {"getrf", "gemm"}, .sizes = {8, 32, 33}, .dtypes = {Dtype::f64, Dtype::f16, Dtype::bf16, Dtype::c16}}});
  return out;
}

class Shipped : public testing::TestWithParam<Part> {};

TEST_P(Shipped, CompilesAndHardlySpills) {
  KernelStore& store = KernelStore::instance();
  if (!store.nvrtc().available()) GTEST_SKIP() << "no NVRTC on this machine";
  auto const kernels = shipped_kernels(GetParam().filter);
  ASSERT_FALSE(kernels.empty());
  for (KernelSource const& kernel : kernels) {
    KernelRecord const record = store.compile(kernel, GetParam().architecture);
    EXPECT_FALSE(record.cubin.empty());
    // Limits of registers were chosen by speed; what is spilled is little and outside the loops.
    auto const spill = record.log.find(" bytes spill stores");
    ASSERT_NE(spill, std::string::npos) << record.log;
    auto const digits = record.log.rfind(' ', spill - 1);
    EXPECT_LE(std::stoi(record.log.substr(digits + 1)), 256) << kernel.name << "\n" << record.log;
  }
}

INSTANTIATE_TEST_SUITE_P(Parts, Shipped, testing::ValuesIn(parts()), [](auto const& info) { return info.param.name; });

}  // namespace
}  // namespace myriad::gpu
