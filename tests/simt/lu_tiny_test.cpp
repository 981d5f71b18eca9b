/// Kernels of lu/lu_tiny.cuh on the host twin: results against the definition, pivots and info against the CPU's.

#include "lu/lu_tiny.cuh"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "lu/lu_tiny_plan.hpp"
#include "myriad/myriad.hpp"
#include "runtime/views.hpp"
#include "sizes.hpp"
#include "stored.hpp"

namespace myriad {
namespace {

constexpr std::array jobs{LuJob::factor, LuJob::solve, LuJob::inverse, LuJob::solve_and_factor, LuJob::factor_without_pivoting};

/// The planned kernel, for batches in one layout.
template <typename T>
constexpr LuTiny kernel(LuJob job, int m, int n, Layout layout) {
  bool const solves = job == LuJob::solve || job == LuJob::solve_and_factor;
  LuTiny c = lu_tiny_plan(job, dtype_of<T>, m, n, solves ? 1 + n % 3 : 0, layout == Layout::columns);
  c.a = c.result = c.b = c.x = layout == Layout::columns ? Layout::ragged_columns : layout;
  if (layout == Layout::interleaved) c = lu_tiny_interleaved(c, sizeof(T));
  return c;
}

template <typename T>
using LuKernel = void (*)(LuTinyArguments<gpu::DeviceElement<T>>);

/// One function per type for all its kernels: a template of the sizes would add much to their compile time.
template <typename T>
void check(LuTiny const& c, LuKernel<T> kernel, Layout layout, unsigned seed) {
  int const m = c.m, n = c.n, steps = std::min(m, n);
  std::int64_t const count = 2 * c.matrices + 1;
  std::mt19937 random(seed);
  std::normal_distribution<Real<T>> normal;
  auto const number = [&] {
    if constexpr (is_complex<T>)
      return T(normal(random), normal(random));
    else
      return normal(random);
  };
  Stored<T> a(m, n, count, layout), b(m, c.solves() ? c.nrhs : 1, count, layout), x(m, c.solves() ? c.nrhs : 1, count, layout),
      result(m, n, count, layout);
  for (auto* v : {&a.memory, &b.memory}) std::generate(v->begin(), v->end(), number);
  if (!c.pivoting())
    for (std::int64_t q = 0; q < count; ++q)
      for (int i = 0; i < steps; ++i) *a.view.at(q, i, i) += T(10);
  for (int j = 0; j < n; ++j) *a.view.at(1, m - 1, j) = T(0);  // singular
  for (int j = 0; j < n; ++j)                                  // equal magnitudes in every row: ties
    for (int i = 0; i < m; ++i) *a.view.at(2, i, j) = T((i * (j + 1)) % 3 == 1 ? -1 : 1);
  bool const ragged = layout == Layout::columns && m == n;
  if (ragged) {
    for (std::int64_t q = 0; q < count; ++q) a.sizes.push_back(q < 3 ? m : q % (m + 1));
    a.view.row_sizes = a.view.col_sizes = result.view.row_sizes = result.view.col_sizes = a.sizes.data();
    b.view.row_sizes = x.view.row_sizes = a.sizes.data();
  }
  std::vector<int> pivots(static_cast<std::size_t>(steps * count), -7), info(static_cast<std::size_t>(count), -7);

  auto const views = [&](auto const& batch) { return gpu::matrices_of(batch); };
  Batch<T const> const a_in = a.view, b_in = b.view;
  LuTinyArguments<gpu::DeviceElement<T>> const args{.a = views(a_in),
                                                    .result = views(result.view),
                                                    .pivots = views(vectors(pivots.data(), steps, count)),
                                                    .b = views(b_in),
                                                    .x = views(x.view),
                                                    .info = info.data(),
                                                    .nan_where_singular = true,
                                                    .sign_or_det = nullptr,
                                                    .logabs = nullptr};
  simt::run(2, c.threads(), LuTinyMemory(sizeof(T), c).bytes, kernel, args);

  Queue cpu({.backend = Backend::cpu, .threads = 1});
  std::vector<T> factors(static_cast<std::size_t>(m * n * count));
  std::vector<int> expected_pivots(pivots.size()), expected_info(info.size());
  auto lu = batch(factors.data(), m, n, {.count = count});
  lu.row_sizes = a.view.row_sizes;
  lu.col_sizes = a.view.col_sizes;
  for (std::int64_t q = 0; q < count; ++q)
    for (int j = 0; j < a_in.cols_of(q); ++j)
      for (int i = 0; i < a_in.rows_of(q); ++i) *lu.at(q, i, j) = *a_in.at(q, i, j);
  if (c.pivoting())
    getrf<T>(cpu, lu, vectors(expected_pivots.data(), steps, count), expected_info.data());
  else
    getrf_nopiv<T>(cpu, lu, expected_info.data());

  double const u = sizeof(Real<T>) == 4 ? 0x1p-24 : 0x1p-53;
  auto const size = [](T value) { return static_cast<double>(std::abs(value)); };
  for (std::int64_t q = 0; q < count; ++q) {
    SCOPED_TRACE(testing::Message() << "matrix " << q << " of " << m << " by " << n << ", job " << static_cast<int>(c.job) << ", layout "
                                    << static_cast<int>(layout));
    int const rows = static_cast<int>(a_in.rows_of(q)), cols = static_cast<int>(a_in.cols_of(q)), real_steps = std::min(rows, cols);
    auto const p = [&](int k) { return pivots[static_cast<std::size_t>(q * steps + k)]; };
    if (q != 2 || c.pivoting()) {
      ASSERT_EQ(info[static_cast<std::size_t>(q)], expected_info[static_cast<std::size_t>(q)]);
    }
    for (int k = 0; c.pivoting() && c.writes_factors() && k < real_steps; ++k) {
      ASSERT_EQ(p(k), expected_pivots[static_cast<std::size_t>(q * steps + k)]) << "step " << k;
    }
    bool const singular = info[static_cast<std::size_t>(q)] != 0;
    if (c.writes_factors() && !(singular && !c.pivoting()) && (q != 2 || c.pivoting())) {
      std::vector<int> order(static_cast<std::size_t>(rows));
      for (int i = 0; i < rows; ++i) order[static_cast<std::size_t>(i)] = i;
      if (c.pivoting())
        for (int k = 0; k < real_steps; ++k) std::swap(order[static_cast<std::size_t>(k)], order[static_cast<std::size_t>(p(k) - 1)]);
      for (int i = 0; i < rows; ++i)
        for (int j = 0; j < cols; ++j) {
          T sum(0);
          double scale = 1;
          for (int k = 0; k <= std::min({i, j, real_steps - 1}); ++k) {
            T const l = k == i ? T(1) : *result.view.at(q, i, k);
            sum += l * *result.view.at(q, k, j);
            scale += size(l) * size(*result.view.at(q, k, j));
          }
          ASSERT_LE(size(sum - *a_in.at(q, order[static_cast<std::size_t>(i)], j)), 30 * n * u * scale);
        }
    }
    auto const residual = [&](Batch<T> const& y, auto const& right) {
      for (int j = 0; j < y.cols_of(q); ++j)
        for (int i = 0; i < rows; ++i) {
          T sum = right(i, j);
          double scale = size(sum);
          for (int k = 0; k < rows; ++k) {
            if (singular) {
              ASSERT_TRUE(std::isnan(std::abs(*y.at(q, k, j))));
              continue;
            }
            sum -= *a_in.at(q, i, k) * *y.at(q, k, j);
            scale += size(*a_in.at(q, i, k)) * size(*y.at(q, k, j));
          }
          if (!singular) {
            ASSERT_LE(size(sum), 100 * n * u * scale) << i << "," << j;
          }
        }
    };
    if (c.solves()) residual(x.view, [&](int i, int j) { return *b_in.at(q, i, j); });
    if (c.job == LuJob::inverse) {
      auto inverted = result.view;
      residual(inverted, [](int i, int j) { return T(i == j ? 1 : 0); });
    }
  }
}

template <typename T, int m, int n, int variant>
void check() {
  constexpr Layout layout = layouts[variant % 5];
  constexpr LuTiny c = kernel<T>(m == n ? jobs[variant / 5 % 5] : LuJob::factor, m, n, layout);
  check<T>(c, lu_tiny<gpu::DeviceElement<T>, c>, layout, variant);
}

/// Sizes around changes of the plan; jobs and layouts take turns.
template <typename T, int first, int... sizes>
void check_sizes(std::integer_sequence<int, sizes...>) {
  (check<T, sizes, sizes, (sizes * 7 + first) % 25>(), ...);
}

TEST(LuTiny, Single) { check_sizes<float, 0>(kernel_sizes<1, 4, 5, 9, 12, 13, 17, 32>()); }
TEST(LuTiny, Double) { check_sizes<double, 5>(kernel_sizes<2, 3, 8, 9, 13, 16, 17, 24, 31, 32>()); }
TEST(LuTiny, ComplexSingle) { check_sizes<std::complex<float>, 11>(kernel_sizes<1, 4, 6, 10, 16, 21, 32>()); }
TEST(LuTiny, ComplexDouble) { check_sizes<std::complex<double>, 16>(kernel_sizes<2, 3, 5, 7, 12, 18, 25>()); }
TEST(LuTiny, EveryJobAndLayout) {
  [&]<int... variants>(std::integer_sequence<int, variants...>) { (check<double, 6, 6, variants>(), ...); }
  (std::make_integer_sequence<int, 25>{});
}
TEST(LuTiny, EveryJobAcrossLanes) {
  [&]<int... jobs>(std::integer_sequence<int, jobs...>) { (check<double, 11, 11, 6 * jobs>(), ...); }
  (std::make_integer_sequence<int, 5>{});
}
TEST(LuTiny, InverseByProducts) {
  constexpr int inverse = 10;  // variant of the inverse with the first layout
  [&]<int... layout>(std::integer_sequence<int, layout...>) { (check<double, 24, 24, inverse + layout>(), ...); }
  (std::make_integer_sequence<int, 5>{});
  check<double, 29, 29, inverse + 1>();
  check<double, 30, 30, inverse>();
  check<double, 31, 31, inverse>();
  check<double, 31, 31, inverse + 2>();
  check<double, 32, 32, inverse>();
}
/// Results of the inverse by products for matrices near the ends of the range, singular ones, NaN and infinity, followed by info.
template <int n, Layout of_a, Layout of_result, bool one_by_one>
std::vector<double> inverses_of_all_kinds() {
  constexpr LuTiny c = [] {
    LuTiny plan = lu_tiny_plan(LuJob::inverse, Dtype::f64, n, n, 0, one_by_one);
    plan.a = of_a;
    plan.result = of_result;
    return of_result == Layout::interleaved ? lu_tiny_interleaved(plan, sizeof(double)) : plan;
  }();
  static_assert((c.method == LuMethod::products) != one_by_one);
  constexpr int kinds = 11;
  std::mt19937 random(n);
  std::normal_distribution<double> normal;
  // Exactly as large as needed, so that sanitizers find reads behind the last matrix.
  std::vector<double> exact(of_a == Layout::packed_columns ? n * n * kinds : 0);
  Stored<double> a(n, n, kinds, of_a), x(n, n, kinds, of_result);
  if (!exact.empty()) a.view = batch(exact.data(), n, n, {.count = kinds});
  for (int q = 0; q < kinds; ++q)
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i) {
        double const number = normal(random);
        bool const zero = (q == 5 && j == n / 2) || (q == 6 && j == 0) || (q == 7 && j == n - 1) || q == 8;
        int const exponent = q == 1 ? -1010 : q == 2 ? 1005 : q == 9 ? (i * 37 % 41 - 20) * 20 : q == 10 ? (j * 37 % 41 - 20) * 20 : 0;
        *a.view.at(q, i, j) = zero                                 ? 0
                              : q == 3 && i == 3 && j == 5         ? std::nan("")
                              : q == 4 && i == n - 1 && j == n - 1 ? HUGE_VAL
                                                                   : std::ldexp(number, exponent);
      }
  std::vector<int> info(kinds, -7);
  LuTinyArguments<double> const args{.a = gpu::matrices_of(Batch<double const>(a.view)),
                                     .result = gpu::matrices_of(x.view),
                                     .pivots = {},
                                     .b = {},
                                     .x = {},
                                     .info = info.data(),
                                     .nan_where_singular = true,
                                     .sign_or_det = nullptr,
                                     .logabs = nullptr};
  simt::run(2, c.threads(), LuTinyMemory(sizeof(double), c).bytes, lu_tiny<double, c>, args);
  std::vector<double> all(info.begin(), info.end());
  for (int q = 0; q < kinds; ++q)
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i) all.push_back(std::isnan(*x.view.at(q, i, j)) ? 1e99 : *x.view.at(q, i, j));
  return all;
}
template <int n>
void check_inverses_of_all_kinds() {
  using enum Layout;
  auto const expected = inverses_of_all_kinds<n, packed_columns, packed_columns, false>();
  auto const info_of = [](std::vector<double> const& all) { return std::vector<double>(all.begin(), all.begin() + 11); };
  EXPECT_EQ(info_of(expected), (std::vector<double>{0, 0, 0, 0, 0, n / 2 + 1, 1, n, 1, 0, 0}));
  EXPECT_EQ(info_of(expected), (info_of(inverses_of_all_kinds<n, packed_columns, packed_columns, true>())));
  EXPECT_TRUE((inverses_of_all_kinds<n, packed_columns, interleaved, false>() == expected));
  EXPECT_TRUE((inverses_of_all_kinds<n, interleaved, interleaved, false>() == expected));
  EXPECT_TRUE((inverses_of_all_kinds<n, packed_rows, packed_rows, false>() == expected));
  EXPECT_TRUE((inverses_of_all_kinds<n, columns, columns, false>() == expected));
  EXPECT_TRUE((inverses_of_all_kinds<n, rows, dense_columns, false>() == expected));
}
TEST(LuTiny, InverseByProductsOfAllKindsAndLayouts) {
  if constexpr (!sanitized) check_inverses_of_all_kinds<24>();
  check_inverses_of_all_kinds<31>();
}
/// Without pivoting a zero pivot gives infinity or NaN below it, and info; the next matrix is not affected.
template <int lanes>
void check_zero_pivot() {
  constexpr int n = 3;
  constexpr LuTiny c = [] {
    LuTiny plan = lu_tiny_plan(LuJob::factor_without_pivoting, Dtype::f64, n, n, 0);
    plan.lanes = lanes;
    plan.method = lanes == 1 ? LuMethod::in_registers : LuMethod::panels;
    plan.panel = 2;
    plan.matrices = 32 / lanes;
    return plan;
  }();
  alignas(16) double a[2 * n * n] = {0, 1, 0, 1, 0, 0, 0, 0, 1, /**/ 2, 1, 0, 0, 2, 0, 0, 0, 1};
  int info[2] = {-7, -7};
  LuTinyArguments<double> const args{.a = gpu::matrices_of(Batch<double const>(batch(a, n, n, {.count = 2}))),
                                     .result = gpu::matrices_of(batch(a, n, n, {.count = 2})),
                                     .pivots = {},
                                     .b = {},
                                     .x = {},
                                     .info = info,
                                     .nan_where_singular = false,
                                     .sign_or_det = nullptr,
                                     .logabs = nullptr};
  simt::run(1, c.threads(), LuTinyMemory(sizeof(double), c).bytes, lu_tiny<double, c>, args);
  EXPECT_EQ(info[0], 1);
  EXPECT_FALSE(std::isfinite(a[1]));
  EXPECT_EQ(info[1], 0);
  EXPECT_EQ(a[9 + 1], 0.5);
}
TEST(LuTiny, AZeroPivotWithoutPivotingIsNotHidden) {
  check_zero_pivot<1>();
  check_zero_pivot<4>();
}

TEST(LuTiny, Rectangular) {
  check<double, 7, 3, 0>();
  check<double, 3, 7, 2>();
  check<float, 20, 13, 1>();
  check<float, 13, 20, 3>();
  check<std::complex<double>, 12, 9, 4>();
}

}  // namespace
}  // namespace myriad
