/// The shipped kernels compile for every architecture and keep their arrays in registers, except for a few words; and candidates of a
/// search compile.

#include "packs/shipped.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "draw.hpp"
#include "gemm/gemm_choice.hpp"
#include "gemm/gemm_gpu.hpp"

namespace myriad::gpu {
namespace {

/// Kernels of one test; several tests run at a time.
struct Part {
  std::string name;
  std::string architecture;
  KernelFilter filter;
};
void PrintTo(Part const& part, std::ostream* out) { *out << part.name; }

/// Every routine and type on the GPU of the plans; for others only the largest kernels.
std::vector<Part> parts() {
  std::vector<Part> out;
  // Double complex needs the most registers, and double has its own algorithms.
  out.push_back({"sm_90_z", "sm_90", {.routines = {}, .sizes = {4, 13, 32, 33, 128}, .dtypes = {Dtype::c64}}});
  out.push_back({"sm_90_d", "sm_90", {.routines = {}, .sizes = {13, 32, 128}, .dtypes = {Dtype::f64}}});
  out.push_back({"sm_90_c", "sm_90", {.routines = {}, .sizes = {13, 33, 128}, .dtypes = {Dtype::c32}}});
  out.push_back({"sm_90_s", "sm_90", {.routines = {}, .sizes = {13, 33, 128}, .dtypes = {Dtype::f32}}});
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

void compile(KernelSource const& kernel, std::string const& architecture) {
  auto const compiled = compiled_for(kernel, architecture);
  if (!compiled) return;
  KernelRecord const record = KernelStore::instance().compile(kernel, *compiled);
  EXPECT_FALSE(record.cubin.empty());
  // Register limits were chosen by speed; spills are few and outside the loops.
  auto const spill = record.log.find(" bytes spill stores");
  ASSERT_NE(spill, std::string::npos) << record.log;
  auto const digits = record.log.rfind(' ', spill - 1);
  bool const of_more = kernel.name.find("svd_block<myriad::simt::Complex<double>") != std::string::npos ||  // 388 with 40 rows
                       kernel.name.find("SvdTiny{36,") != std::string::npos ||                              // 412 in single
                       kernel.name.find("SvdTiny{40,") != std::string::npos;                                // 404 in double
  int const limit = of_more ? 512 : 256;
  EXPECT_LE(std::stoi(record.log.substr(digits + 1)), limit) << kernel.name << "\n" << record.log;
  // ptxas must not serialize the wgmma of a warpgroup.
  EXPECT_EQ(record.log.find("serialized"), std::string::npos) << kernel.name << "\n" << record.log;
}
/// Compiles a random sample of kernels, within their part of the budget.
void compile(std::vector<KernelSource> const& kernels, std::string const& architecture) {
  ASSERT_FALSE(kernels.empty());
  tests::for_drawn(kernels, tests::Budget::kernels / 13, 2, [&](KernelSource const& kernel) {
    compile(kernel, architecture);
    return true;
  });
}

TEST_P(Shipped, CompilesAndHardlySpills) {
  if (!KernelStore::instance().nvrtc().available()) GTEST_SKIP() << "no NVRTC on this machine";
  Part const& part = GetParam();
  compile(shipped_kernels(part.filter), part.architecture);
}

/// The kernels of a product of matrices whose lines begin at multiples of 32 bytes, for every order of A and B.
template <typename T, typename Output>
std::vector<KernelSource> kernels_by_warpgroups(std::int64_t n) {
  std::vector<KernelSource> kernels;
  Device device;
  device.major = 9;
  device.multiprocessors = 132;
  device.shared_memory_per_block = 227 * 1024;
  for (bool const transposes_a : {false, true})
    for (bool const transposes_b : {false, true}) {
      auto const matrices = [&]<typename X>(X*, bool transposes) {
        auto const x = batch(static_cast<X*>(nullptr), n, n, {.ld = (n + 15) / 16 * 16, .count = 1000});
        return transposes ? transposed(x) : x;
      };
      GemmTask<T, Output> const task{1, matrices(static_cast<T*>(nullptr), transposes_a), matrices(static_cast<T*>(nullptr), transposes_b),
                                     0, matrices(static_cast<Output*>(nullptr), true)};
      GemmHalvesChoice const choice = choose_of_halves(facts_of<T, Output>(arguments_of(task), device));
      auto const* const config = std::get_if<GemmHalvesWarpgroups>(&choice.config);
      EXPECT_TRUE(config) << n;
      if (config) kernels.push_back(source_of(kernel_name<GemmHalvesWarpgroups>, dtype_of<T>, dtype_of<Output>, *config));
    }
  return kernels;
}

/// A pack for sm_90 has them for sm_90a; other packs lack them.
TEST(Warpgroups, AreForOneArchitecture) {
  for (KernelSource const& kernel : kernels_by_warpgroups<half, half>(320)) {
    EXPECT_EQ(compiled_for(kernel, "sm_90"), "sm_90a");
    EXPECT_EQ(compiled_for(kernel, "sm_80"), std::nullopt);
    EXPECT_EQ(compiled_for(kernel, "sm_100"), std::nullopt);
  }
  // For 33 rows there is gemm_bulk for Hopper, and another kernel for other GPUs.
  int others = 0;
  for (KernelSource const& kernel : shipped_kernels({.routines = {"gemm"}, .sizes = {33}, .dtypes = {Dtype::f64}})) {
    EXPECT_EQ(compiled_for(kernel, "sm_80"), kernel.arch_specific ? std::nullopt : std::optional<std::string>("sm_80"));
    others += !kernel.arch_specific;
  }
  EXPECT_GE(others, 1);
}

/// Kernels for schedules and groups, in addition to those of products.
TEST(Schedules, AreInPacks) {
  for (Dtype const dtype : {Dtype::f64, Dtype::f16, Dtype::c16}) {
    int schedules = 0, groups = 0, scheduled = 0;
    for (KernelSource const& kernel : shipped_kernels({.routines = {"gemm"}, .sizes = {100}, .dtypes = {dtype}})) {
      schedules += kernel.name.find("gemm_schedule<") != std::string::npos;
      groups += kernel.name.find("gemm_groups<") != std::string::npos;
      scheduled += (kernel.header == "gemm/pipelined/gemm_pipelined.cuh" || kernel.header == "gemm/halves/gemm_halves_blocks.cuh") &&
                   kernel.name.ends_with(", 1}>");
    }
    EXPECT_EQ(schedules, 1);
    EXPECT_EQ(groups, 2);     // for few and for many groups
    EXPECT_GE(scheduled, 5);  // for up to 32, 48, 64, 80, 96 and 100 rows, some of which may share a kernel
    EXPECT_LE(scheduled, 6);
  }
}

TEST(Warpgroups, CompileAndHardlySpill) {
  if (!KernelStore::instance().nvrtc().available()) GTEST_SKIP() << "no NVRTC on this machine";
  // Tiles of 192 by 160, 192 by 192, 192 by 128, 128 by 256 and 128 by 128
  std::vector<KernelSource> kernels = kernels_by_warpgroups<bfloat16, float>(300);
  for (std::int64_t const n : {144, 192, 320, 384, 1024})
    for (KernelSource& kernel : kernels_by_warpgroups<half, half>(n)) kernels.push_back(std::move(kernel));
  compile(kernels, "sm_90");
}

TEST(Spans, CompileAndHardlySpill) {
  if (!KernelStore::instance().nvrtc().available()) GTEST_SKIP() << "no NVRTC on this machine";
  std::vector<KernelSource> kernels;
  auto const add = [&](Dtype dtype, int n) {
    for (KernelSource& kernel : gemm_kernels_by_bulk(dtype, n)) kernels.push_back(std::move(kernel));
  };
  for (int const n : {33, 65, 100, 131}) add(Dtype::f64, n);
  for (Dtype const dtype : {Dtype::f32, Dtype::c32, Dtype::c64})
    for (int const n : {33, 65}) add(dtype, n);
  for (int const n : {99, 104}) add(Dtype::f32, n);  // without C in shared memory
  add(Dtype::c32, 85);
  compile(kernels, "sm_90");
}

/// Some candidates of tuned kernels: a search would silently skip those that do not compile. Some spill and are slow, which a search finds
/// out.
TEST(Candidates, Compile) {
  KernelStore& store = KernelStore::instance();
  if (!store.nvrtc().available()) GTEST_SKIP() << "no NVRTC on this machine";
  struct Some {
    std::vector<std::string> routines;
    std::vector<int> sizes;
    Dtype dtype;
  };
  std::vector<Some> const all{{{"gemm"}, {4, 24, 65, 128}, Dtype::f16},
                              {{"gemm"}, {13, 40}, Dtype::c16},
                              {{"gemv"}, {7, 33, 64}, Dtype::f32},
                              {{"gemv"}, {33}, Dtype::c64},
                              {{"trsm"}, {9, 50}, Dtype::f64},
                              {{"trtri"}, {50}, Dtype::f32},
                              {{"symv", "syevd"}, {11}, Dtype::c32},
                              {{"gemm"}, {40}, Dtype::f64},
                              {{"getrf"}, {12}, Dtype::f64}};
  std::vector<KernelSource> kernels;
  for (Some const& some : all) {
    KernelFilter filter{.routines = some.routines, .sizes = some.sizes, .dtypes = {some.dtype}};
    std::size_t const planned = shipped_kernels(filter).size();
    filter.candidates = 3;
    std::vector<KernelSource> const some_kernels = shipped_kernels(filter);
    EXPECT_GT(some_kernels.size(), planned);
    kernels.insert(kernels.end(), some_kernels.begin(), some_kernels.end());
  }
  tests::for_drawn(kernels, tests::Budget::kernels / 13, 9, [&](KernelSource const& kernel) {
    EXPECT_FALSE(store.compile(kernel, "sm_90").cubin.empty()) << kernel.name;
    return true;
  });
}

INSTANTIATE_TEST_SUITE_P(Parts, Shipped, testing::ValuesIn(parts()), [](auto const& info) { return info.param.name; });

}  // namespace
}  // namespace myriad::gpu
