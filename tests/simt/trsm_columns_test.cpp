/// Kernels of trsm/trsm_columns.cuh, trsm_panels.cuh and trsm_vector.cuh on the host twin against the CPU path, and trtri by blocks.

#include "trsm/trsm_columns.cuh"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <vector>

#include "blocked/diagonal_sizes.cuh"
#include "blocked/diagonal_sizes.hpp"
#include "candidates.hpp"
#include "myriad/myriad.hpp"
#include "runtime/views.hpp"
#include "simt_host/machine.hpp"
#include "sizes.hpp"
#include "stored.hpp"
#include "trsm/trsm_panels.cuh"
#include "trsm/trsm_space.hpp"
#include "trsm/trsm_tiny.cuh"
#include "trsm/trsm_vector.cuh"
#include "trsm/trtri_by_blocks.hpp"

namespace myriad {
namespace {

/// A tested solve: sizes, layouts, the triangle.
struct Solve {
  int rows, columns;
  Layout a, b;
  bool lower, unit;
  bool ragged = false;
  bool inverts = false;  ///< the inverse, in place
  int parts = 1;         ///< blocks per matrix
  bool zero_alpha = false, conjugated = false, pointers = false;
};

template <typename T>
constexpr TrsmColumns kernel(Solve s) {
  TrsmColumns c = trsm_columns_plan(sizeof(Real<T>), is_complex<T>, s.rows, s.columns);
  c.inverse = s.inverts;
  c.lower = s.lower;
  c.ragged = s.ragged;
  bool const by_columns = s.b == Layout::packed_columns || s.b == Layout::columns;
  c.moved = s.inverts || !by_columns || s.rows % 4 != 0 ? Moved::elements
            : s.ragged || s.b == Layout::columns        ? Moved::either
                                                        : Moved::chunks;
  return c;
}

/// Sizes from none to `most`.
inline std::vector<std::int64_t> sizes_up_to(int most, std::int64_t count) {
  std::array<std::int64_t, 6> const some{most, 0, 1, (most + 1) / 2, most - 1, std::min(most, 20)};
  std::vector<std::int64_t> sizes;
  for (std::int64_t q = 0; q < count; ++q) sizes.push_back(some[static_cast<std::size_t>(q) % some.size()]);
  return sizes;
}

/// Checks run(blocks, arguments), a kernel whose blocks take `at_once` columns, or a matrix.
template <typename T, typename Run>
void check(Solve const& s, std::int64_t at_once, Run run) {
  SCOPED_TRACE(testing::Message() << s.rows << " rows, " << s.columns << " columns, lower " << s.lower << ", unit " << s.unit
                                  << ", layouts " << static_cast<int>(s.a) << " " << static_cast<int>(s.b) << ", ragged " << s.ragged);
  using D = gpu::DeviceElement<T>;
  std::int64_t const count = s.ragged ? 7 : 3;
  T const alpha = s.zero_alpha ? T(0) : s.inverts ? T(1) : T(-0.75);
  T const nan = T(std::numeric_limits<Real<T>>::quiet_NaN());
  Stored<T> a(s.rows, s.rows, count, s.a), b(s.rows, s.columns, count, s.b);
  fill(a.memory, static_cast<unsigned>(s.rows));
  fill(b.memory, static_cast<unsigned>(s.rows + 1000));
  for (std::int64_t q = 0; q < count; ++q)
    for (int j = 0; j < s.rows; ++j)
      for (int i = 0; i < s.rows; ++i) {
        T& x = *a.view.at(q, i, j);
        x *= static_cast<Real<T>>(2.0 / s.rows);
        if (i == j) x += T(q % 2 == 0 ? 2 : -2);
        if (!s.inverts && ((s.lower ? i < j : i > j) || (s.unit && i == j))) x = nan;  // must not be read
      }
  auto const rows = sizes_up_to(s.rows, count), columns = sizes_up_to(s.columns, count + 1);
  if (s.ragged) {
    a.view.row_sizes = a.view.col_sizes = b.view.row_sizes = rows.data();
    b.view.col_sizes = columns.data() + 1;
  }
  bool const singular = s.inverts && !s.unit;
  if (singular) *a.view.at(0, s.rows - 2, s.rows - 2) = T(0);

  Queue cpu({.backend = Backend::cpu, .threads = 1});
  Stored<T> expected(s.rows, s.inverts ? s.rows : s.columns, count, s.inverts ? s.a : s.b);
  expected.memory = s.inverts ? a.memory : b.memory;
  expected.view.row_sizes = s.inverts ? a.view.row_sizes : b.view.row_sizes;
  expected.view.col_sizes = s.inverts ? a.view.col_sizes : b.view.col_sizes;
  std::vector<int> info(static_cast<std::size_t>(count), -7), expected_info(info.size());
  Uplo const uplo = s.lower ? Uplo::lower : Uplo::upper;
  Diag const diag = s.unit ? Diag::unit : Diag::non_unit;
  Batch<T const> a_in = a.view;
  if (s.conjugated) a_in = conjugated(a_in);
  std::vector<T const*> addresses;
  if (s.pointers) {
    for (std::int64_t q = 0; q < count; ++q) addresses.push_back(a.view.matrix(q));
    a_in.data = nullptr;
    a_in.pointers = addresses.data();
  }
  if (s.inverts)
    trtri<T>(cpu, uplo, diag, expected.view, expected_info.data());
  else
    trsm<T>(cpu, Side::left, uplo, diag, alpha, a_in, expected.view);

  Batch<T> const target = s.inverts ? a.view : b.view;
  std::int64_t const rounds = (s.columns + at_once - 1) / at_once;
  std::int64_t const of_block = (rounds + s.parts - 1) / s.parts;
  TrsmColumnsArguments<D> args{.alpha = std::bit_cast<D>(alpha),
                               .a = gpu::matrices_of(a_in),
                               .b = gpu::matrices_of(target),
                               .parts = (rounds + of_block - 1) / of_block,
                               .columns_of_block = of_block * at_once,
                               .info = s.inverts ? info.data() : nullptr,
                               .unit = s.unit,
                               .small_by_rows = true};
  if (s.zero_alpha) args.a.data = nullptr;  // not read
  run(s.ragged ? 3 : 2, args);

  double const u = sizeof(Real<T>) == 4 ? 0x1p-24 : 0x1p-53;
  if (s.inverts) {
    ASSERT_EQ(info, expected_info);
  }
  std::vector<T> const& memory = s.inverts ? a.memory : b.memory;
  for (std::size_t i = 0; i < memory.size(); ++i) {
    if (std::abs(expected.memory[i]) == std::abs(expected.memory[i])) {
      ASSERT_LE(std::abs(memory[i] - expected.memory[i]), 100 * s.rows * u * (1 + std::abs(expected.memory[i]))) << i;
    }
  }
  if (!s.inverts) return;
  for (std::int64_t q = 0; q < count; ++q)
    for (int j = 0; j < a.view.cols_of(q); ++j)
      for (int i = 0; i < a.view.rows_of(q); ++i) {
        bool const written = i == j ? !s.unit : s.lower ? i > j : i < j;
        if (!written || info[static_cast<std::size_t>(q)] != 0) {
          ASSERT_EQ(*a.view.at(q, i, j), *expected.view.at(q, i, j)) << q << " " << i << " " << j;
        }
      }
}
template <typename T, Solve s>
void check() {
  constexpr TrsmColumns c = kernel<T>(s);
  check<T>(s, c.warps * c.columns_of_warp(), [&](int blocks, auto const& args) {
    int const bytes = TrsmColumnsMemory(sizeof(Real<T>), is_complex<T>, c).bytes;
    simt::run(blocks, c.threads(), bytes, trsm_columns<gpu::DeviceElement<T>, c>, args);
  });
}
template <typename T>
constexpr TrsmPanels panels_kernel(Solve s) {
  TrsmPanels c = trsm_panels_plan(sizeof(Real<T>), is_complex<T>, s.rows, s.columns);
  c.lower = s.lower ? 1 : 0;
  return c;
}
template <typename T, Solve s>
void check_panels() {
  constexpr TrsmPanels c = panels_kernel<T>(s);
  check<T>(s, c.warps * c.columns_of_warp(), [&](int blocks, auto const& args) {
    int const bytes = TrsmPanelsMemory(sizeof(Real<T>), is_complex<T>, c).bytes;
    simt::run(blocks, c.threads(), bytes, trsm_panels<gpu::DeviceElement<T>, c>, args);
  });
}
template <typename T, Solve s>
void check_vector() {
  static_assert(s.columns == 1);
  constexpr TrsmVector c = [] {
    TrsmVector plan = trsm_vector_plan(sizeof(Real<T>), is_complex<T>, s.rows);
    plan.lower = s.lower ? 1 : 0;
    plan.row_stride = s.a == Layout::packed_columns || s.a == Layout::columns ? 1 : 0;
    return plan;
  }();
  check<T>(s, 1, [&](int, auto const& args) {
    simt::run((args.b.count + c.warps - 1) / c.warps, c.threads(), 0, trsm_vector<gpu::DeviceElement<T>, c>, args);
  });
}

constexpr auto packed = Layout::packed_columns, packed_rows = Layout::packed_rows, columns = Layout::columns, by_rows = Layout::rows;

template <typename T>
class TrsmInColumns : public testing::Test {};
using Types = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(TrsmInColumns, Types);

TYPED_TEST(TrsmInColumns, Given) {
  using T = TypeParam;
  check<T, Solve{34, 19, packed, packed, true, false}>();
  check<T, Solve{41, 3, columns, columns, false, false}>();
  if constexpr (!sanitized) {
    check<T, Solve{36, 40, packed_rows, packed, true, true}>();
    check<T, Solve{64, 33, packed, packed_rows, false, true}>();
    check<T, Solve{48, 9, by_rows, by_rows, false, false, false, false, 2}>();
    check<T, Solve{40, 130, packed, packed, true, false, false, false, 2}>();
    check<T, Solve{35, 10, Layout::interleaved, Layout::interleaved, true, false}>();
  }
}
TYPED_TEST(TrsmInColumns, SmallOrShort) {
  using T = TypeParam;
  check<T, Solve{1, 12, packed, packed, true, false}>();
  check<T, Solve{24, 20, packed, packed, false, false}>();
  if constexpr (!sanitized) {
    check<T, Solve{5, 9, packed, packed, true, false}>();
    check<T, Solve{32, 33, packed_rows, columns, true, true}>();
  }
}
TYPED_TEST(TrsmInColumns, Ragged) {
  using T = TypeParam;
  check<T, Solve{50, 20, packed, packed, true, false, true}>();
  check<T, Solve{43, 18, by_rows, columns, false, false, true}>();
  if constexpr (!sanitized) check<T, Solve{30, 18, packed, packed, false, true, true}>();
}
constexpr Solve zero_alpha(int rows, int width) {
  return {.rows = rows, .columns = width, .a = packed, .b = packed, .lower = true, .unit = false, .zero_alpha = true};
}
constexpr Solve conjugated_pointers(int width) {
  return {.rows = 34, .columns = width, .a = columns, .b = packed, .lower = false, .unit = false, .conjugated = true, .pointers = true};
}
TYPED_TEST(TrsmInColumns, ZeroAlphaConjugatedPointers) {
  using T = TypeParam;
  check<T, zero_alpha(33, 17)>();
  check<T, conjugated_pointers(6)>();
}
TYPED_TEST(TrsmInColumns, Inverts) {
  using T = TypeParam;
  check<T, Solve{34, 34, packed, packed, true, false, false, true}>();
  check<T, Solve{43, 43, packed_rows, packed, false, true, false, true}>();
  if constexpr (!sanitized) {
    check<T, Solve{64, 64, packed, packed, false, false, false, true}>();
    check<T, Solve{57, 57, columns, packed, true, true, true, true}>();
    check<T, Solve{50, 50, by_rows, packed, false, false, true, true}>();
  }
}
TYPED_TEST(TrsmInColumns, Panels) {
  using T = TypeParam;
  check_panels<T, Solve{34, 19, packed, packed, true, false}>();
  check_panels<T, Solve{41, 3, columns, columns, false, false}>();
  check_panels<T, Solve{43, 18, by_rows, columns, false, false, true}>();
  check_panels<T, zero_alpha(33, 17)>();
  if constexpr (!sanitized) {
    check_panels<T, Solve{36, 40, packed_rows, packed, true, true}>();
    check_panels<T, Solve{64, 70, packed, packed_rows, false, true}>();
    check_panels<T, Solve{40, 130, packed, packed, true, false, false, false, 2}>();
    check_panels<T, Solve{20, 33, Layout::interleaved, Layout::interleaved, true, false}>();
    check_panels<T, Solve{30, 18, packed, packed, false, true, true}>();
    check_panels<T, conjugated_pointers(6)>();
  }
}
TYPED_TEST(TrsmInColumns, Vector) {
  using T = TypeParam;
  check_vector<T, Solve{34, 1, packed, packed, true, false}>();
  check_vector<T, Solve{41, 1, columns, columns, false, false}>();
  check_vector<T, Solve{50, 1, by_rows, packed_rows, false, true, true}>();
  check_vector<T, zero_alpha(33, 1)>();
  if constexpr (!sanitized) {
    check_vector<T, Solve{64, 1, packed, packed, true, true}>();
    check_vector<T, Solve{50, 1, columns, packed, true, false, true}>();
    check_vector<T, conjugated_pointers(1)>();
    check_vector<T, Solve{41, 1, packed_rows, packed, true, false}>();
    check_vector<T, Solve{35, 1, Layout::interleaved, Layout::interleaved, false, false}>();
    if constexpr (!is_complex<T>) check_vector<T, Solve{127, 1, packed, packed, false, false}>();
  }
}
/// The largest sizes of a block.
TYPED_TEST(TrsmInColumns, Large) {
  using T = TypeParam;
  if constexpr (sanitized || is_complex<T>) {
    GTEST_SKIP() << "the same code as of smaller ones";
  } else {
    check<T, Solve{128, 128, packed, packed, true, false}>();
    check<T, Solve{127, 20, packed, packed, false, false, true}>();
    check<T, Solve{100, 100, packed, packed, false, false, false, true}>();
  }
}

/// A matrix of up to 32 rows gets the bits of trsm_tiny, alone and in a ragged batch with larger ones.
template <typename T, bool lower, bool unit>
void check_bits() {
  using D = gpu::DeviceElement<T>;
  constexpr int n = 21, width = 11;
  constexpr TrsmTiny tiny{.n = n,
                          .nrhs = 4,
                          .lanes = 16,
                          .matrices = 2,
                          .lower = !lower ? Triangle::unused
                                   : unit ? Triangle::unit
                                          : Triangle::non_unit,
                          .upper = lower  ? Triangle::unused
                                   : unit ? Triangle::unit
                                          : Triangle::non_unit,
                          .interchange = Interchange::never,
                          .right = RightSide::given,
                          .a = Layout::columns,
                          .b = Layout::columns,
                          .pivots = Layout::packed_columns};
  constexpr TrsmColumns among = kernel<T>(Solve{40, width, packed, packed, lower, unit, true});
  std::int64_t const of_one = n;
  Stored<T> a(40, 40, 1, Layout::packed_columns), b(40, width, 1, Layout::packed_columns);
  fill(a.memory, 7);
  fill(b.memory, 8);
  for (int i = 0; i < n; ++i) *a.view.at(0, i, i) += T(3);
  if (!unit) *a.view.at(0, 2, 2) = T(std::numeric_limits<Real<T>>::min() / 4);  // needs a scaled reciprocal
  std::vector<std::vector<T>> results;
  auto const run = [&](auto run_kernel, bool whole) {
    Stored<T> x(40, width, 1, Layout::packed_columns);
    x.memory = b.memory;
    Batch<T> view = whole ? x.view : block(x.view, 0, 0, n, width);
    Batch<T const> of_a = whole ? Batch<T const>(a.view) : block(Batch<T const>(a.view), 0, 0, n, n);
    if (whole) of_a.row_sizes = of_a.col_sizes = view.row_sizes = &of_one;
    run_kernel(gpu::matrices_of(of_a), gpu::matrices_of(view));
    results.push_back(x.memory);
  };
  D const alpha = std::bit_cast<D>(T(2));
  run(
      [&](auto of_a, auto of_b) {
        TrsmTinyArguments<D> const args{.alpha = alpha, .a = of_a, .b = of_b, .columns = width, .pivots = {}, .info = nullptr};
        simt::run(1, tiny.threads(), TrsmTinyMemory(sizeof(T), tiny).bytes, trsm_tiny<D, tiny>, args);
      },
      false);
  auto const by = [&](auto kernel, TrsmColumns const& c) {
    return [=](auto of_a, auto of_b) {
      TrsmColumnsArguments<D> const args{
          .alpha = alpha, .a = of_a, .b = of_b, .parts = 1, .columns_of_block = 128, .info = nullptr, .unit = unit, .small_by_rows = true};
      simt::run(1, c.threads(), TrsmColumnsMemory(sizeof(Real<T>), is_complex<T>, c).bytes, kernel, args);
    };
  };
  run(by(trsm_columns<D, among>, among), true);
  constexpr TrsmPanels panels = panels_kernel<T>(Solve{n, width, packed, packed, lower, unit}),
                       larger = panels_kernel<T>(Solve{40, width, packed, packed, lower, unit});
  auto const by_panels = [&](auto kernel, TrsmPanels const& c) {
    return [=](auto of_a, auto of_b) {
      TrsmColumnsArguments<D> const args{
          .alpha = alpha, .a = of_a, .b = of_b, .parts = 1, .columns_of_block = 128, .info = nullptr, .unit = unit, .small_by_rows = true};
      simt::run(1, c.threads(), TrsmPanelsMemory(sizeof(Real<T>), is_complex<T>, c).bytes, kernel, args);
    };
  };
  run(by_panels(trsm_panels<D, panels>, panels), false);
  run(by_panels(trsm_panels<D, larger>, larger), true);
  for (std::size_t k : {1, 2, 3}) EXPECT_EQ(std::memcmp(results[0].data(), results[k].data(), sizeof(T) * results[0].size()), 0) << k;
  // One right-hand side
  constexpr TrsmVector vector = [] {
    TrsmVector plan = trsm_vector_plan(sizeof(Real<T>), is_complex<T>, 40);
    plan.lower = lower ? 1 : 0;
    return plan;
  }();
  run(
      [&](auto of_a, auto of_b) {
        of_b.cols = 1;
        TrsmColumnsArguments<D> const args{.alpha = alpha,
                                           .a = of_a,
                                           .b = of_b,
                                           .parts = 1,
                                           .columns_of_block = 128,
                                           .info = nullptr,
                                           .unit = unit,
                                           .small_by_rows = true};
        simt::run(1, vector.threads(), 0, trsm_vector<D, vector>, args);
      },
      true);
  EXPECT_EQ(std::memcmp(results[0].data(), results[4].data(), sizeof(T) * n), 0);
}
TYPED_TEST(TrsmInColumns, BitsOfSmallMatrices) {
  check_bits<TypeParam, true, false>();
  check_bits<TypeParam, false, true>();
  if constexpr (!sanitized) check_bits<TypeParam, false, false>();
}

/// A matrix with one right-hand side gets the same bits alone and in a batch where others have more.
TYPED_TEST(TrsmInColumns, BitsOfOneRightHandSide) {
  using T = TypeParam;
  using D = gpu::DeviceElement<T>;
  constexpr int n = 45;
  constexpr TrsmColumns among = kernel<T>(Solve{n, 3, packed, packed, true, false, true});
  constexpr TrsmVector alone = trsm_vector_plan(sizeof(Real<T>), is_complex<T>, n);
  Stored<T> a(n, n, 1, Layout::packed_columns), b(n, 3, 1, Layout::packed_columns);
  fill(a.memory, 5);
  fill(b.memory, 6);
  for (int i = 0; i < n; ++i) *a.view.at(0, i, i) += T(6);
  Stored<T> x = b;
  x.view = b.view;
  x.view.data = x.memory.data();
  std::int64_t const one = 1;
  b.view.col_sizes = &one;
  auto const arguments = [&](Batch<T> const& right) {
    return TrsmColumnsArguments<D>{.alpha = simt::from_real<D>(1),
                                   .a = gpu::matrices_of(Batch<T const>(a.view)),
                                   .b = gpu::matrices_of(right),
                                   .parts = 1,
                                   .columns_of_block = 128,
                                   .info = nullptr,
                                   .unit = false,
                                   .small_by_rows = true};
  };
  simt::run(1, among.threads(), TrsmColumnsMemory(sizeof(Real<T>), is_complex<T>, among).bytes, trsm_columns<D, among>, arguments(b.view));
  simt::run(1, alone.threads(), 0, trsm_vector<D, alone>, arguments(block(x.view, 0, 0, n, 1)));
  EXPECT_EQ(std::memcmp(b.memory.data(), x.memory.data(), sizeof(T) * b.memory.size()), 0);
}

/// All candidates of a search give the bits of the plan: calls run(config, arguments) with each config; the first one is the plan.
template <typename T, typename Run>
void check_candidates(int n, int width, std::size_t configs, Run run) {
  using D = gpu::DeviceElement<T>;
  Stored<T> a(n, n, 2, Layout::packed_columns), b(n, width, 2, Layout::packed_columns);
  fill(a.memory, 11);
  fill(b.memory, 12);
  for (int q = 0; q < 2; ++q)
    for (int i = 0; i < n; ++i) *a.view.at(q, i, i) += T(6);
  std::vector<std::vector<T>> results;
  for (std::size_t k = 0; k < configs; ++k) {
    Stored<T> x(n, width, 2, Layout::packed_columns);
    x.memory = b.memory;
    run(k, TrsmColumnsArguments<D>{.alpha = std::bit_cast<D>(T(-0.75)),
                                   .a = gpu::matrices_of(Batch<T const>(a.view)),
                                   .b = gpu::matrices_of(x.view),
                                   .parts = 1,
                                   .columns_of_block = 1024,
                                   .info = nullptr,
                                   .unit = false,
                                   .small_by_rows = false});
    EXPECT_NE(std::memcmp(x.memory.data(), b.memory.data(), sizeof(T) * x.memory.size()), 0);
    results.push_back(x.memory);
    EXPECT_EQ(std::memcmp(results[0].data(), results[k].data(), sizeof(T) * x.memory.size()), 0) << k;
  }
}
template <typename T, int n, int width, TrsmColumns... all>
void check_candidates_of_columns() {
  constexpr std::array configs{all...};
  for (TrsmColumns const& c : configs) expect_candidate(TrsmColumnsSpace{{dtype_of<T>, n, width}, false}, c);
  constexpr std::array kernels{trsm_columns<gpu::DeviceElement<T>, all>...};
  check_candidates<T>(n, width, configs.size(), [&](std::size_t k, auto const& args) {
    simt::run(2, configs[k].threads(), TrsmColumnsMemory(sizeof(Real<T>), is_complex<T>, configs[k]).bytes, kernels[k], args);
  });
}
template <typename T, int n, int width, TrsmPanels... all>
void check_candidates_of_panels() {
  constexpr std::array configs{all...};
  for (TrsmPanels const& c : configs) expect_candidate(TrsmPanelsSpace{{dtype_of<T>, n, width}}, c);
  constexpr std::array kernels{trsm_panels<gpu::DeviceElement<T>, all>...};
  check_candidates<T>(n, width, configs.size(), [&](std::size_t k, auto const& args) {
    simt::run(2, configs[k].threads(), TrsmPanelsMemory(sizeof(Real<T>), is_complex<T>, configs[k]).bytes, kernels[k], args);
  });
}
template <typename T, int n, TrsmVector... all>
void check_candidates_of_vector() {
  constexpr std::array configs{all...};
  for (TrsmVector const& c : configs) expect_candidate(TrsmVectorSpace{{dtype_of<T>, n, 1}}, c);
  constexpr std::array kernels{trsm_vector<gpu::DeviceElement<T>, all>...};
  check_candidates<T>(n, 1, configs.size(), [&](std::size_t k, auto const& args) {
    simt::run((2 + configs[k].warps - 1) / configs[k].warps, configs[k].threads(), 0, kernels[k], args);
  });
}
TEST(Trsm, CandidatesGiveTheSameBits) {
  constexpr TrsmColumns planned = trsm_columns_plan(4, false, 40, 40);
  using Columns = TrsmColumnsSpace;
  check_candidates_of_columns<float, 40, 40, planned, with<Columns>(planned, 1, 4, 8), with<Columns>(planned, 2, 3, 8)>();
  constexpr TrsmPanels panels = trsm_panels_plan(4, false, 40, 40);
  check_candidates_of_panels<float, 40, 40, panels, with<TrsmPanelsSpace>(panels, 1, 12)>();
  constexpr TrsmVector vector = trsm_vector_plan(8, false, 40);
  check_candidates_of_vector<double, 40, vector, with<TrsmVectorSpace>(vector, 8, 1, 20), with<TrsmVectorSpace>(vector, 1, 2, 16)>();
  if constexpr (!sanitized) {
    constexpr TrsmColumns of_double = trsm_columns_plan(8, false, 64, 64);
    check_candidates_of_columns<double, 64, 64, of_double, with<Columns>(of_double, 2, 1, 8), with<Columns>(of_double, 2, 3, 4)>();
    constexpr TrsmColumns of_complex = trsm_columns_plan(4, true, 34, 50);
    check_candidates_of_columns<std::complex<float>, 34, 50, of_complex, with<Columns>(of_complex, 1, 2, 14)>();
  }
}

/// A singular triangle leaves inf or NaN in its own matrix.
TYPED_TEST(TrsmInColumns, Singular) {
  using T = TypeParam;
  using D = gpu::DeviceElement<T>;
  constexpr TrsmColumns c = kernel<T>(Solve{40, 8, packed, packed, true, false});
  Stored<T> a(40, 40, 3, Layout::packed_columns), b(40, 8, 3, Layout::packed_columns);
  fill(a.memory, 1);
  fill(b.memory, 2);
  for (int q = 0; q < 3; ++q)
    for (int i = 0; i < 40; ++i) *a.view.at(q, i, i) = T(20);
  *a.view.at(1, 17, 17) = T(0);
  TrsmColumnsArguments<D> const args{.alpha = simt::from_real<D>(1),
                                     .a = gpu::matrices_of(Batch<T const>(a.view)),
                                     .b = gpu::matrices_of(b.view),
                                     .parts = 1,
                                     .columns_of_block = 128,
                                     .info = nullptr,
                                     .unit = false,
                                     .small_by_rows = false};
  simt::run(2, c.threads(), TrsmColumnsMemory(sizeof(Real<T>), is_complex<T>, c).bytes, trsm_columns<D, c>, args);
  for (int q = 0; q < 3; ++q) {
    int bad = 0;
    for (int j = 0; j < 8; ++j)
      for (int i = 0; i < 40; ++i) bad += !std::isfinite(std::abs(*b.view.at(q, i, j)));
    EXPECT_EQ(bad > 0, q == 1) << q;
  }
}

template <typename T>
Batch<T> one(Batch<T> const& a, std::int64_t q) {
  Batch<T> out = matrices(a, q, 1);
  out.rows = a.rows_of(q);
  out.cols = a.cols_of(q);
  out.row_sizes = out.col_sizes = nullptr;
  return out;
}

TYPED_TEST(TrsmInColumns, InversesByBlocks) {
  using T = TypeParam;
  using D = gpu::DeviceElement<T>;
  constexpr int n = 29;
  constexpr std::int64_t count = 5;
  for (Uplo const uplo : {Uplo::lower, Uplo::upper})
    for (Diag const diag : {Diag::unit, Diag::non_unit}) {
      SCOPED_TRACE(testing::Message() << "lower " << (uplo == Uplo::lower) << ", unit " << (diag == Diag::unit));
      Stored<T> a(n, n, count, Layout::packed_columns);
      fill(a.memory, 3);
      for (std::int64_t q = 0; q < count; ++q)
        for (int i = 0; i < n; ++i) *a.view.at(q, i, i) += T(9);
      *a.view.at(1, 20, 20) = T(0);
      *a.view.at(2, 3, 3) = *a.view.at(2, 28, 28) = T(0);
      std::vector<std::int64_t> const sizes{n, n, n, 0, 11};
      a.view.row_sizes = a.view.col_sizes = sizes.data();
      Stored<T> expected(n, n, count, Layout::packed_columns);
      expected.memory = a.memory;
      expected.view.row_sizes = expected.view.col_sizes = sizes.data();
      Queue cpu({.backend = Backend::cpu, .threads = 1});
      std::vector<int> info(count, -7), expected_info(count);
      trtri<T>(cpu, uplo, diag, expected.view, expected_info.data());
      TrtriTask<T> task{.uplo = uplo, .diag = diag, .a = conjugated(a.view), .info = nullptr};
      std::vector<std::int64_t> left(2 * count);
      HostMachine machine;
      if (diag == Diag::non_unit) {
        machine.add(gpu::source_of(diagonal_sizes_kernel, dtype_of<T>), diagonal_sizes<D>);
        diagonal_sizes_of<T>(machine, task.a, true, info.data(), {left.data(), left.data() + count}, {0, 0});
        EXPECT_EQ(info, expected_info);
        task.a.row_sizes = left.data();
        task.a.col_sizes = left.data() + count;
      }
      int inverses = 0;
      trtri_by_blocks(machine, task, 8, [&](TrtriTask<T> const& part) {
        ++inverses;
        EXPECT_LE(part.a.rows, 8);
        for (std::int64_t q = 0; q < count; ++q) trtri<T>(cpu, part.uplo, part.diag, one(part.a, q), nullptr);
      });
      EXPECT_EQ(inverses, 4);
      double const u = sizeof(Real<T>) == 4 ? 0x1p-24 : 0x1p-53;
      for (std::size_t i = 0; i < a.memory.size(); ++i)
        ASSERT_LE(std::abs(a.memory[i] - expected.memory[i]), 1000 * n * u * (1 + std::abs(expected.memory[i]))) << i;
    }
}

/// 16 bytes at once only where all columns begin at multiples of 16 bytes.
TEST(TrsmColumnsPlans, MoveWhatIsAligned) {
  alignas(16) static double memory[16 * 100];
  std::int64_t const sizes[2]{16, 3};
  Batch<double> const whole = batch(memory, 100, 8, {.count = 2});
  auto const of = [](Batch<double> const& b, bool inverse = false) { return trsm_columns_moved(gpu::matrices_of(b), inverse); };
  EXPECT_EQ(of(whole), Moved::chunks);
  EXPECT_EQ(of(whole, true), Moved::elements);
  EXPECT_EQ(of(transposed(whole)), Moved::elements);
  EXPECT_EQ(of(rows(whole, 0, 63)), Moved::elements);
  for (std::int64_t const first : {0, 1, 2}) {
    Batch<double> part = rows(whole, first, 64);
    EXPECT_EQ(of(part), first == 1 ? Moved::elements : Moved::chunks) << first;
    part = whole;
    part.col_sizes = sizes;  // the first row remains an offset
    EXPECT_EQ(of(rows(part, first, 64)), first == 1 ? Moved::elements : Moved::chunks) << first;
    part.row_sizes = sizes;
    EXPECT_EQ(of(rows(part, first, 64)), Moved::either) << first;
  }
}

// Every size has a kernel whose right-hand sides fit registers and whose block fits shared memory.
TEST(TrsmColumnsPlans, FitABlock) {
  for (int const real_bytes : {4, 8})
    for (bool const complex : {true, false})
      for (std::int64_t rows = 1; rows <= trsm_columns_largest(complex); ++rows)
        for (std::int64_t const columns : {std::int64_t{1}, std::int64_t{9}, rows, std::int64_t{1000}})
          for (bool const lower : {true, false}) {
            TrsmColumns c = trsm_columns_plan(real_bytes, complex, rows, columns);
            c.lower = lower;
            EXPECT_GE(c.n, rows);
            EXPECT_LT(c.n, rows + 16);
            int const held = c.n * c.held / 4 * real_bytes / 4 * (complex ? 2 : 1);
            EXPECT_LE(held, 128) << rows << " " << columns;
            int const warps_of_quarter = (c.blocks_per_sm * c.warps + 3) / 4;
            EXPECT_LE((held + (c.blocks_per_sm > 1 ? 56 : 40)) * 32 * warps_of_quarter, 16384) << rows << " " << columns;
            EXPECT_LE(TrsmColumnsMemory(real_bytes, complex, c).bytes, 99 * 1024) << rows << " " << columns;
          }
}

TEST(TrsmPanelsPlans, FitABlock) {
  for (int const real_bytes : {4, 8})
    for (bool const complex : {true, false})
      for (std::int64_t rows = 1; rows <= trsm_panels_largest; ++rows)
        for (std::int64_t const columns : {2, 9, 33, 64, 1000}) {
          TrsmPanels const c = trsm_panels_plan(real_bytes, complex, rows, columns);
          EXPECT_GE(c.n, rows);
          EXPECT_LE(c.blocks_per_sm * c.warps * 80 * 32, 65536) << rows << " " << columns;
          if (real_bytes == 8 && rows > trsm_by_rows) continue;  // not used
          EXPECT_LE(TrsmPanelsMemory(real_bytes, complex, c).bytes, 99 * 1024) << rows << " " << columns;
        }
}

}  // namespace
}  // namespace myriad
