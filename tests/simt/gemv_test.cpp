/// The kernels of products with a vector on the host twin.

#include "gemm/vectors/gemv.cuh"

#include <gtest/gtest.h>

#include <complex>

#include "candidates.hpp"
#include "gemm/vectors/gemv_columns.cuh"
#include "gemm/vectors/gemv_space.hpp"
#include "gemm/vectors/gemv_whole.cuh"
#include "product.hpp"
#include "schedule.hpp"
#include "sizes.hpp"

namespace myriad {
namespace {

template <typename T>
void check_with(Product const& p, void (*run)(GemmArguments<gpu::DeviceElement<T>> const&)) {
  std::int64_t const count = p.ragged_m || p.ragged_n || p.ragged_k ? 12 : 5;
  for (auto const& [alpha, beta] : {std::pair(T(-0.75), T(1)), std::pair(T(1), T(0)), std::pair(T(0), T(2))})
    check_product(p, count, alpha, beta, run);
}
constexpr std::int64_t divided(std::int64_t x, std::int64_t by) { return (x + by - 1) / by; }

template <typename T, Product p>
void check() {
  static constexpr Gemv c = gemv_plan(sizeof(T), p.m, p.k, simt::is_by_rows(p.a) ? Lines::rows : Lines::columns);
  check_with<T>(p, [](auto const& args) {
    simt::run(divided(args.c.count * divided(p.m, c.rows), c.groups()), c.threads(), GemvMemory(sizeof(T), c).bytes,
              gemv<gpu::DeviceElement<T>, c>, args);
  });
}
/// gemv_columns: a row per lane.
template <typename T, Product p>
void check_columns() {
  static constexpr GemvColumns c = gemv_columns_plan(sizeof(T), p.k);
  check_with<T>(p, [](auto const& args) {
    simt::run(divided(args.c.count * p.m, c.threads()), c.threads(), 0, gemv_columns<gpu::DeviceElement<T>, c>, args);
  });
}
/// Whole rows.
template <typename T, Product p, bool in_one_piece>
void check_whole() {
  static constexpr GemvWhole c = gemv_whole_plan(sizeof(T), p.m, p.k, in_one_piece, simt::is_by_rows(p.a) ? Lines::rows : Lines::columns);
  check_with<T>(p, [](auto const& args) {
    simt::run(divided(args.c.count * divided(p.m, c.rows), c.warps), c.threads(), GemvWholeMemory(sizeof(T), c).bytes,
              gemv_whole<gpu::DeviceElement<T>, c>, args);
  });
}

constexpr Layout columns = Layout::columns, rows = Layout::rows, packed = Layout::packed_columns, packed_rows = Layout::packed_rows;

template <typename T>
class GemvRows : public testing::Test {};
using Types = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(GemvRows, Types);

/// Lines of whole 16-byte chunks and others, several parts of rows and of terms, a smaller last part.
TYPED_TEST(GemvRows, Layouts) {
  check<TypeParam, Product{48, 1, 40, packed, packed, packed}>();
  check<TypeParam, Product{70, 1, 41, packed_rows, packed, packed_rows}>();
  check<TypeParam, Product{131, 1, 35, rows, columns, rows, false, false, false, true}>();
  if constexpr (!sanitized) {
    check<TypeParam, Product{33, 1, 33, columns, rows, columns}>();
    check<TypeParam, Product{33, 1, 48, packed_rows, Layout::interleaved, packed}>();
  }
}
/// Several matrices per warp, and fewer terms than the pipeline holds.
TYPED_TEST(GemvRows, WideAndTall) {
  check<TypeParam, Product{1, 1, 100, packed_rows, packed, packed}>();
  check<TypeParam, Product{5, 1, 64, packed, packed, packed}>();
  check<TypeParam, Product{200, 1, 3, packed, packed, packed}>();
  if constexpr (!sanitized) {
    check<TypeParam, Product{16, 1, 160, packed_rows, packed, packed}>();
    check<TypeParam, Product{33, 1, 1, packed, packed, packed}>();
  }
}
TYPED_TEST(GemvRows, Ragged) {
  check<TypeParam, Product{40, 1, 36, packed, packed, packed, true, false, true}>();
  check<TypeParam, Product{6, 1, 50, packed_rows, packed, packed, true, false, true}>();
  check<TypeParam, Product{40, 1, 36, packed, packed, packed, true, true, true}>();  // some matrices have no column
}
TYPED_TEST(GemvRows, Conjugated) {
  if constexpr (is_complex<TypeParam>) {
    constexpr auto of = [](bool a, bool x) {
      return Product{.m = 34, .n = 1, .k = 18, .a = packed, .b = packed, .c = packed, .conjugated_a = a, .conjugated_b = x};
    };
    check<TypeParam, of(false, false)>();
    check<TypeParam, of(false, true)>();
    check<TypeParam, of(true, true)>();
  }
}
TYPED_TEST(GemvRows, ALaneToARow) {
  check_columns<TypeParam, Product{33, 1, 33, packed, packed, packed}>();
  check_columns<TypeParam, Product{50, 1, 20, columns, columns, rows, true, true, true}>();
  if constexpr (!sanitized) {
    check_columns<TypeParam, Product{5, 1, 64, columns, packed, packed, false, false, false, true}>();
    check_columns<TypeParam, Product{150, 1, 3, packed, Layout::interleaved, columns}>();
    check_columns<TypeParam, Product{.m = 34, .n = 1, .k = 18, .a = packed, .b = packed, .c = packed, .conjugated_b = true}>();
  }
}
/// Matrices without gaps at any alignment, and rows with their own strides.
TYPED_TEST(GemvRows, WholeRows) {
  check_whole<TypeParam, Product{33, 1, 33, packed_rows, packed, packed}, true>();
  check_whole<TypeParam, Product{33, 1, 33, packed, packed, packed}, true>();
  check_whole<TypeParam, Product{40, 1, 36, packed_rows, columns, packed_rows}, false>();
  check_whole<TypeParam, Product{40, 1, 35, rows, packed, packed, true, true, true}, false>();
  if constexpr (!sanitized) {
    check_whole<TypeParam, Product{70, 1, 65, rows, packed, packed, false, false, false, true}, true>();
    check_whole<TypeParam, Product{37, 1, 34, packed_rows, Layout::interleaved, packed}, true>();
    check_whole<TypeParam, Product{70, 1, 33, columns, packed, packed}, true>();
    check_whole<TypeParam, Product{130, 1, 16, packed_rows, packed, rows}, false>();
    check_whole<TypeParam, Product{66, 1, 48, rows, packed, packed}, false>();
    check_whole<TypeParam, Product{.m = 34, .n = 1, .k = 18, .a = packed_rows, .b = packed, .c = packed, .conjugated_b = true}, false>();
  }
}
/// With a schedule, and fewer blocks than parts.
template <typename Run, typename Args>
void with_schedule(Args const& given, int rows, Run run) {
  auto args = given;
  Schedule const schedule(args.a, args.c, {{100000, rows, 1}}, 1);
  args.schedule = schedule.of_part(0);
  run(args);
}
constexpr auto scheduled = [](auto config) {
  config.scheduled = 1;
  return config;
};
template <typename T, Product p>
void check_scheduled() {
  static constexpr Gemv c = scheduled(gemv_plan(sizeof(T), p.m, p.k, simt::is_by_rows(p.a) ? Lines::rows : Lines::columns));
  check_with<T>(p, [](auto const& given) {
    with_schedule(given, c.rows, [](auto const& args) {
      simt::run(2, c.threads(), GemvMemory(sizeof(T), c).bytes, gemv<gpu::DeviceElement<T>, c>, args);
    });
  });
}
TYPED_TEST(GemvRows, RaggedWithASchedule) {
  using T = TypeParam;
  using D = gpu::DeviceElement<T>;
  check_scheduled<T, Product{150, 1, 36, packed, packed, packed, true, false, true}>();
  check_scheduled<T, Product{6, 1, 50, packed_rows, packed, packed, true, true, true}>();  // several matrices to a warp
  static constexpr GemvColumns lanes = scheduled(gemv_columns_plan(sizeof(T), 20));
  check_with<T>(Product{50, 1, 20, columns, columns, rows, true, true, true}, [](auto const& given) {
    with_schedule(given, 1, [](auto const& args) { simt::run(2, lanes.threads(), 0, gemv_columns<D, lanes>, args); });
  });
  static constexpr GemvWhole whole = scheduled(gemv_whole_plan(sizeof(T), 140, 35, false, Lines::rows));
  check_with<T>(Product{140, 1, 35, rows, packed, packed, true, true, true}, [](auto const& given) {
    with_schedule(given, whole.rows, [](auto const& args) {
      simt::run(2, whole.threads(), GemvWholeMemory(sizeof(T), whole).bytes, gemv_whole<D, whole>, args);
    });
  });
}
/// All candidates of a search give the bits of the plan.
template <typename T, Product p, int... values>
void check_candidate() {
  static constexpr Lines lines = simt::is_by_rows(p.a) ? Lines::rows : Lines::columns;
  static constexpr Gemv c = with<GemvSpace>(gemv_plan(sizeof(T), p.m, p.k, lines), values...);
  expect_candidate(GemvSpace{{dtype_of<T>, p.m, p.k}, lines}, c);
  check_with<T>(p, [](auto const& args) {
    simt::run(divided(args.c.count * divided(p.m, c.rows), c.groups()), c.threads(), GemvMemory(sizeof(T), c).bytes,
              gemv<gpu::DeviceElement<T>, c>, args);
  });
}
template <typename T, Product p, int... values>
void check_candidate_of_columns() {
  static constexpr GemvColumns c = with<GemvColumnsSpace>(gemv_columns_plan(sizeof(T), p.k), values...);
  expect_candidate(GemvColumnsSpace{{dtype_of<T>, p.m, p.k}}, c);
  check_with<T>(p, [](auto const& args) {
    simt::run(divided(args.c.count * p.m, c.threads()), c.threads(), 0, gemv_columns<gpu::DeviceElement<T>, c>, args);
  });
}
template <typename T, Product p, int... values>
void check_candidate_of_whole() {
  static constexpr Lines lines = simt::is_by_rows(p.a) ? Lines::rows : Lines::columns;
  static constexpr GemvWhole c = with<GemvWholeSpace>(gemv_whole_plan(sizeof(T), p.m, p.k, true, lines), values...);
  expect_candidate(GemvWholeSpace{{dtype_of<T>, p.m, p.k}, true, lines}, c);
  check_with<T>(p, [](auto const& args) {
    simt::run(divided(args.c.count * divided(p.m, c.rows), c.warps), c.threads(), GemvWholeMemory(sizeof(T), c).bytes,
              gemv_whole<gpu::DeviceElement<T>, c>, args);
  });
}
TEST(Gemv, CandidatesGiveTheSameBits) {
  check_candidate<double, Product{64, 1, 64, packed, packed, packed}, 64, 8, 16, 3, 2, 4>();
  check_candidate_of_columns<double, Product{65, 1, 65, packed, packed, packed}, 33, 4, 4>();
  check_candidate_of_whole<float, Product{65, 1, 65, packed, packed, packed}, 65, 4, 3>();
  if constexpr (!sanitized) {
    check_candidate<float, Product{130, 1, 70, packed_rows, packed, packed}, 132, 64, 32, 3, 2, 1>();
    check_candidate<std::complex<double>, Product{50, 1, 33, packed, packed, packed}, 25, 16, 16, 4, 4, 1>();
    check_candidate_of_columns<float, Product{40, 1, 20, packed, packed, packed}, 4, 2, 16>();
    check_candidate_of_whole<double, Product{65, 1, 65, packed_rows, packed, packed}, 22, 4, 4>();
  }
}
TEST(GemvPlans, FitEveryGpu) {
  for (std::int64_t m = 1; m <= 2000; m += m < 200 ? 1 : 37)
    for (std::int64_t const k : {0, 1, 2, 5, 16, 33, 64, 1000, 100000})
      for (int const bytes : {4, 8, 16})
        for (Lines const a : {Lines::columns, Lines::rows}) {
          Gemv const g = gemv_plan(bytes, m, k, a);
          EXPECT_LE(GemvMemory(bytes, g).bytes, 99 * 1024) << m << " " << k;
          EXPECT_GE(g.stages, 2);
          EXPECT_GE(g.rows * ((m + g.rows - 1) / g.rows), m);
          EXPECT_LE(g.rows, 4 * g.lanes) << m << " " << k;
          for (bool const aligned : {false, true})
            for (bool const piece : {false, true}) {
              if (gemv_kernel(bytes, m, k, a, aligned, piece) != GemvKernel::whole) continue;
              GemvWhole const whole = gemv_whole_plan(bytes, m, k, piece && !aligned, a);
              EXPECT_LE(GemvWholeMemory(bytes, whole).bytes, 48 * 1024) << m << " " << k;
              EXPECT_LE(whole.rows, 128) << m << " " << k;
              EXPECT_GE(whole.rows * ((m + whole.rows - 1) / whole.rows), m);
            }
        }
}

}  // namespace
}  // namespace myriad
