/// Kernels of small matrices near the ends of the range of floating-point numbers, on the host twin: inputs scaled by powers of two give
/// the scaled results.

// Kernels must be included before the host side.
// clang-format off
#include "cholesky/cholesky_tiny.cuh"
#include "eigen/eigen_tiny.cuh"
#include "lu/lu_tiny.cuh"
#include "qr/qr_tiny.cuh"
#include "refine/refine_tiny.cuh"
#include "trsm/trsm_tiny.cuh"
// clang-format on

#include "range.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "cholesky/cholesky_tiny_plan.hpp"
#include "eigen/eigen_plan.hpp"
#include "lu/lu_tiny_plan.hpp"
#include "qr/qr_tiny_plan.hpp"
#include "refine/refine_tiny_plan.hpp"
#include "runtime/views.hpp"
#include "sizes.hpp"
#include "stored.hpp"
#include "trsm/trsm_tiny_plan.hpp"

namespace myriad {
namespace {

using namespace range;

template <typename T>
using LuKernel = void (*)(LuTinyArguments<gpu::DeviceElement<T>>);

template <typename T>
void check_lu(LuTiny const& c, LuKernel<T> kernel) {
  using R = Real<T>;
  int const n = c.n, nrhs = std::max(c.nrhs, 1);
  std::vector<int> const scales = exponents<R>();
  int const count = static_cast<int>(scales.size());
  std::mt19937 random(static_cast<unsigned>(n));
  std::vector<T> const original = dominant<T>(n, random, c.pivoting());
  Stored<T> a(n, n, count, Layout::packed_columns), b(n, nrhs, count, Layout::packed_columns), x = b, result = a;
  x.view.data = x.memory.data();
  result.view.data = result.memory.data();
  std::vector<T> right(static_cast<std::size_t>(n * nrhs));
  for (T& y : right) y = part_between<T>(random, 0.3, 0.6);
  auto const of_right = [&](int q, int j) { return scales[static_cast<std::size_t>(q)] / (j % 2 + 1); };
  for (int q = 0; q < count; ++q)
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i) {
        *a.view.at(q, i, j) = times_power(original[static_cast<std::size_t>(i + j * n)], scales[static_cast<std::size_t>(q)]);
        if (j < nrhs) *b.view.at(q, i, j) = times_power(right[static_cast<std::size_t>(i + j * n)], of_right(q, j));
      }
  std::vector<int> pivots(static_cast<std::size_t>(n * count)), info(static_cast<std::size_t>(count), -7);
  LuTinyArguments<gpu::DeviceElement<T>> const args{.a = gpu::matrices_of(Batch<T const>(a.view)),
                                                    .result = gpu::matrices_of(result.view),
                                                    .pivots = gpu::matrices_of(vectors(pivots.data(), n, count)),
                                                    .b = gpu::matrices_of(Batch<T const>(b.view)),
                                                    .x = gpu::matrices_of(x.view),
                                                    .info = info.data(),
                                                    .nan_where_singular = true,
                                                    .sign_or_det = nullptr,
                                                    .logabs = nullptr};
  simt::run(2, c.threads(), LuTinyMemory(sizeof(T), c).bytes, kernel, args);
  for (int q = 0; q < count; ++q) {
    int const e = scales[static_cast<std::size_t>(q)];
    EXPECT_EQ(info[static_cast<std::size_t>(q)], 0) << "2^" << e;
    if (c.job == LuJob::inverse) expect_scaled(result.view.at(q, 0, 0), result.view.at(0, 0, 0), n * n, -e, e, n, "inverse");
    for (int j = 0; c.solves() && j < nrhs; ++j)
      expect_scaled(x.view.at(q, 0, j), x.view.at(0, 0, j), n, of_right(q, j) - e, std::min(e, of_right(q, j)), n, "solution");
    for (int j = 0; c.writes_factors() && j < n; ++j) {
      EXPECT_EQ(pivots[static_cast<std::size_t>(q * n + j)], pivots[static_cast<std::size_t>(j)]);
      expect_scaled(result.view.at(q, 0, j), result.view.at(0, 0, j), j + 1, e, e, n, "U");
      if (j + 1 < n) expect_scaled(result.view.at(q, j + 1, j), result.view.at(0, j + 1, j), n - j - 1, 0, e, 16 * n * n, "L");
    }
  }
}

template <typename T, int n, LuJob job>
constexpr LuTiny lu_config() {
  bool const solves = job == LuJob::solve || job == LuJob::solve_and_factor;
  LuTiny c = lu_tiny_plan(job, dtype_of<T>, n, n, solves ? 1 + n % 3 : 0, false);
  c.a = c.result = c.b = c.x = Layout::packed_columns;
  return c;
}
template <typename T, LuJob job, int... sizes>
void check_lu(std::integer_sequence<int, sizes...>) {
  auto const check = []<int n>(std::integral_constant<int, n>) {
    constexpr LuTiny c = lu_config<T, n, job>();
    check_lu<T>(c, lu_tiny<gpu::DeviceElement<T>, c>);
  };
  (check(std::integral_constant<int, sizes>()), ...);
}

template <typename T>
class Range : public testing::Test {};
using Types = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(Range, Types);

TYPED_TEST(Range, Factors) { check_lu<TypeParam, LuJob::factor>(kernel_sizes<1, 4, 7, 15, 32>()); }
TYPED_TEST(Range, FactorsWithoutPivoting) { check_lu<TypeParam, LuJob::factor_without_pivoting>(kernel_sizes<2, 19>()); }
TYPED_TEST(Range, Solutions) { check_lu<TypeParam, LuJob::solve>(kernel_sizes<1, 5, 10, 18, 30>()); }
TYPED_TEST(Range, SolutionsAndFactors) { check_lu<TypeParam, LuJob::solve_and_factor>(kernel_sizes<3, 21>()); }
TYPED_TEST(Range, Inverses) { check_lu<TypeParam, LuJob::inverse>(kernel_sizes<1, 3, 11, 20, 24, 32>()); }

template <typename T, int n, LuJob job>
void check_determinants() {
  using R = Real<T>;
  constexpr LuTiny c = lu_config<T, n, job>();
  // Columns of a matrix with determinant near one; the second half is scaled by the reciprocals of the first half's scales
  int const top = highest<R> - 2;
  std::vector<int> const scales{0, top, -top, top / 2, -top / 2, highest<R>, lowest<R> + 24};
  int const count = static_cast<int>(scales.size());
  std::mt19937 random(n);
  std::vector<T> const original = dominant<T>(n, random, true);
  auto const of_column = [&](int q, int j) {
    int const e = scales[static_cast<std::size_t>(q)], half = n / 2;
    if (q >= 5) return j == n / 2 ? e : 0;
    return j < half ? e : j < 2 * half ? -e : 0;
  };
  Stored<T> a(n, n, count, Layout::packed_columns);
  for (int q = 0; q < count; ++q)
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i) *a.view.at(q, i, j) = times_power(original[static_cast<std::size_t>(i + j * n)], of_column(q, j));
  std::vector<T> value(static_cast<std::size_t>(count));
  std::vector<R> logarithm(static_cast<std::size_t>(count));
  LuTinyArguments<gpu::DeviceElement<T>> const args{.a = gpu::matrices_of(Batch<T const>(a.view)),
                                                    .result = {},
                                                    .pivots = {},
                                                    .b = {},
                                                    .x = {},
                                                    .info = nullptr,
                                                    .nan_where_singular = true,
                                                    .sign_or_det = std::bit_cast<gpu::DeviceElement<T>*>(value.data()),
                                                    .logabs = job == LuJob::log_determinant ? logarithm.data() : nullptr};
  simt::run(2, c.threads(), LuTinyMemory(sizeof(T), c).bytes, lu_tiny<gpu::DeviceElement<T>, c>, args);
  for (int q = 0; q < count; ++q) {
    int total = 0;
    for (int j = 0; j < n; ++j) total += of_column(q, j);
    // The tolerance is for normal numbers; the last matrix has subnormal ones.
    int const given = q == 6 ? scales[6] : 0;
    expect_scaled(&value[static_cast<std::size_t>(q)], &value[0], 1, job == LuJob::determinant ? total : 0, given, n,
                  job == LuJob::determinant ? "determinant" : "sign");
    if (job == LuJob::log_determinant) {
      EXPECT_NEAR(logarithm[static_cast<std::size_t>(q)], logarithm[0] + static_cast<R>(total) * std::log(R(2)),
                  4 * n * n * highest<R> * (std::numeric_limits<R>::epsilon() + static_cast<R>(std::ldexp(1.0, lowest<R> - given))));
    }
  }
}
TYPED_TEST(Range, Determinants) {
  check_determinants<TypeParam, 1, LuJob::determinant>();
  check_determinants<TypeParam, 4, LuJob::determinant>();
  check_determinants<TypeParam, 11, LuJob::determinant>();
  check_determinants<TypeParam, 32, LuJob::determinant>();
  check_determinants<TypeParam, 1, LuJob::log_determinant>();
  check_determinants<TypeParam, 13, LuJob::log_determinant>();
}
/// A batch of the same matrix, scaled by the powers of exponents<R>().
template <typename T>
struct Scaled {
  std::vector<int> scales = exponents<Real<T>>();
  int count = static_cast<int>(scales.size());
  Stored<T> a;

  Scaled(std::vector<T> const& original, int m, int n, Layout layout = Layout::packed_columns) : a(m, n, count, layout) {
    for (int q = 0; q < count; ++q)
      for (int j = 0; j < n; ++j)
        for (int i = 0; i < m; ++i) *a.view.at(q, i, j) = times_power(original[static_cast<std::size_t>(i + j * m)], scale(q));
  }
  int scale(int q) const { return scales[static_cast<std::size_t>(q)]; }
};

/// Right-hand sides; every second column is scaled by the root of the scale.
template <typename T>
struct RightSides {
  std::vector<int> scales = exponents<Real<T>>();
  Stored<T> b;

  RightSides(int m, int nrhs, int rows_of_b, std::mt19937& random, Layout layout = Layout::packed_columns)
      : b(m, nrhs, static_cast<std::int64_t>(scales.size()), layout) {
    for (int j = 0; j < nrhs; ++j)
      for (int i = 0; i < rows_of_b; ++i) {
        T const x = part_between<T>(random, 0.3 / std::sqrt(m), 0.6 / std::sqrt(m));
        for (int q = 0; q < static_cast<int>(scales.size()); ++q) *b.view.at(q, i, j) = times_power(x, scale(q, j));
      }
  }
  int scale(int q, int j) const { return scales[static_cast<std::size_t>(q)] / (j % 2 + 1); }
};

enum class TriangleJob { solve, solve_upper, of_factors, invert };

template <typename T, int n, TriangleJob job>
void check_triangle() {
  using D = gpu::DeviceElement<T>;
  constexpr bool inverts = job == TriangleJob::invert;
  constexpr int nrhs = inverts ? n : 2;
  constexpr TrsmTiny c = [] {
    TrsmTiny plan = trsm_tiny_plan(n, nrhs);
    plan.lower = job == TriangleJob::solve || inverts ? Triangle::non_unit
                 : job == TriangleJob::of_factors     ? Triangle::unit
                                                      : Triangle::unused;
    plan.upper = job == TriangleJob::solve_upper || job == TriangleJob::of_factors ? Triangle::non_unit : Triangle::unused;
    plan.right = inverts ? RightSide::identity_in_place : RightSide::given;
    if (nrhs > plan.nrhs) plan.b = Layout::columns;
    return plan;
  }();
  std::mt19937 random(n);
  Scaled<T> a(dominant<T>(n, random, false), n, n);
  RightSides<T> b(n, nrhs, n, random);
  if (job == TriangleJob::of_factors)  // L is not scaled
    for (int q = 0; q < a.count; ++q)
      for (int j = 0; j < n; ++j)
        for (int i = j + 1; i < n; ++i) *a.a.view.at(q, i, j) = *a.a.view.at(0, i, j);
  std::vector<int> info(static_cast<std::size_t>(a.count), -7);
  TrsmTinyArguments<D> const args{.alpha = std::bit_cast<D>(T(1)),
                                  .a = gpu::matrices_of(Batch<T const>(a.a.view)),
                                  .b = gpu::matrices_of(inverts ? a.a.view : b.b.view),
                                  .columns = nrhs,
                                  .pivots = {},
                                  .info = info.data()};
  simt::run(2, c.threads(), TrsmTinyMemory(sizeof(T), c).bytes, trsm_tiny<D, c>, args);
  for (int q = 0; q < a.count; ++q) {
    int const e = a.scale(q);
    for (int j = 0; j < nrhs; ++j)
      if (inverts)
        expect_scaled(a.a.view.at(q, j, j), a.a.view.at(0, j, j), n - j, -e, e, n, "inverse of a triangle");
      else
        expect_scaled(b.b.view.at(q, 0, j), b.b.view.at(0, 0, j), n, b.scale(q, j) - e, std::min(e, b.scale(q, j)), n, "triangle");
  }
}
TYPED_TEST(Range, Triangles) {
  check_triangle<TypeParam, 1, TriangleJob::solve>();
  check_triangle<TypeParam, 13, TriangleJob::solve>();
  check_triangle<TypeParam, 32, TriangleJob::solve_upper>();
  check_triangle<TypeParam, 1, TriangleJob::of_factors>();
  check_triangle<TypeParam, 8, TriangleJob::of_factors>();
  check_triangle<TypeParam, 1, TriangleJob::invert>();
  check_triangle<TypeParam, 5, TriangleJob::invert>();
  check_triangle<TypeParam, 27, TriangleJob::invert>();
}

template <typename T, int n, CholeskyJob job>
void check_cholesky() {
  using D = gpu::DeviceElement<T>;
  constexpr bool solves = job != CholeskyJob::factor;
  constexpr int nrhs = solves ? 2 : 0;
  constexpr CholeskyTiny c = [] {
    CholeskyTiny plan = cholesky_tiny_plan(job, dtype_of<T>, n, nrhs);
    plan.a = plan.b = plan.x = Layout::packed_columns;
    return plan;
  }();
  std::mt19937 random(n);
  std::vector<T> original = dominant<T>(n, random, false);
  for (int i = 0; i < n; ++i)
    original[static_cast<std::size_t>(i * n + i)] = T(std::abs(std::real(original[static_cast<std::size_t>(i * n + i)])));
  Scaled<T> a(original, n, n);
  RightSides<T> b(n, 2, n, random);
  std::vector<int> info(static_cast<std::size_t>(a.count), -7);
  CholeskyTinyArguments<D> const args{.a = gpu::matrices_of(Batch<T const>(a.a.view)),
                                      .result = gpu::matrices_of(a.a.view),
                                      .b = gpu::matrices_of(Batch<T const>(b.b.view)),
                                      .x = gpu::matrices_of(b.b.view),
                                      .info = info.data(),
                                      .nan_where_not_definite = job == CholeskyJob::solve};
  simt::run(2, c.threads(), CholeskyTinyMemory(sizeof(T), c).bytes, cholesky_tiny<D, c>, args);
  for (int q = 0; q < a.count; ++q) {
    int const e = a.scale(q);
    EXPECT_EQ(info[static_cast<std::size_t>(q)], 0) << "2^" << e;
    // Factors are scaled by the root of the scale, so only even exponents are compared.
    for (int j = 0; job != CholeskyJob::solve && e % 2 == 0 && j < n; ++j)
      expect_scaled(a.a.view.at(q, j, j), a.a.view.at(0, j, j), n - j, e / 2, e, n, "factor");
    for (int j = 0; j < nrhs; ++j)
      expect_scaled(b.b.view.at(q, 0, j), b.b.view.at(0, 0, j), n, b.scale(q, j) - e, std::min(e, b.scale(q, j)), n, "definite");
  }
}
TYPED_TEST(Range, Definite) {
  check_cholesky<TypeParam, 1, CholeskyJob::factor>();
  check_cholesky<TypeParam, 10, CholeskyJob::factor>();
  check_cholesky<TypeParam, 28, CholeskyJob::factor>();
  check_cholesky<TypeParam, 3, CholeskyJob::solve>();
  check_cholesky<TypeParam, 22, CholeskyJob::solve>();
  check_cholesky<TypeParam, 1, CholeskyJob::solve_and_factor>();
  check_cholesky<TypeParam, 17, CholeskyJob::solve_and_factor>();
}

/// LAPACK's gels scales a matrix before factoring: a largest element beyond these limits is brought to them.
template <typename T, int m, int n>
void check_least_squares() {
  using D = gpu::DeviceElement<T>;
  constexpr bool wide = m < n;
  constexpr int rows = std::max(m, n), size = std::min(m, n), nrhs = 2;
  constexpr QrTiny c = [] {
    QrTiny plan = qr_tiny_plan(wide ? QrJob::minimum_norm : QrJob::least_squares, dtype_of<T>, rows, size, size, nrhs);
    plan.a = wide ? Layout::packed_columns : Layout::packed_rows;
    plan.c = Layout::packed_rows;
    return plan;
  }();
  std::mt19937 random(m + 100 * n);
  std::vector<T> original(static_cast<std::size_t>(m * n));
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < m; ++i)
      original[static_cast<std::size_t>(i + j * m)] = part_between<T>(random, i == j ? 0.8 : 0, i == j ? 0.95 : 0.4 / size);
  Scaled<T> a(original, m, n);
  RightSides<T> b(rows, nrhs, m, random);
  std::vector<int> info(static_cast<std::size_t>(a.count), -7);
  QrTinyArguments<D> const args{.a = gpu::matrices_of(wide ? conjugated(a.a.view) : transposed(a.a.view)),
                                .c = gpu::matrices_of(transposed(b.b.view)),
                                .tau = {},
                                .info = info.data(),
                                .keeps_a = false};
  simt::run(2, c.threads(), QrTinyMemory(sizeof(T), c).bytes, qr_tiny<D, c>, args);
  for (int q = 0; q < a.count; ++q) {
    int const e = a.scale(q);
    EXPECT_EQ(info[static_cast<std::size_t>(q)], 0) << "2^" << e;
    for (int j = 0; j < nrhs; ++j)
      expect_scaled(b.b.view.at(q, 0, j), b.b.view.at(0, 0, j), n, b.scale(q, j) - e, std::min(e, b.scale(q, j)), 8 * rows,
                    "least squares");
  }
}
TYPED_TEST(Range, LeastSquares) {
  check_least_squares<TypeParam, 1, 1>();
  check_least_squares<TypeParam, 4, 2>();
  check_least_squares<TypeParam, 3, 7>();
  check_least_squares<TypeParam, 20, 20>();
  check_least_squares<TypeParam, 32, 13>();
  check_least_squares<TypeParam, 9, 30>();
}

template <typename T, int m, int n>
void check_qr() {
  using D = gpu::DeviceElement<T>;
  constexpr int size = std::min(m, n);
  constexpr QrTiny c = [] {
    QrTiny plan = qr_tiny_plan(QrJob::factor, dtype_of<T>, m, n, size, 0);
    plan.a = Layout::packed_rows;
    plan.tau = Layout::packed_columns;
    return plan;
  }();
  std::mt19937 random(m + 100 * n);
  std::vector<T> original(static_cast<std::size_t>(m * n));
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < m; ++i)
      original[static_cast<std::size_t>(i + j * m)] = part_between<T>(random, i == j ? 0.6 : 0, i == j ? 0.68 : 0.4 / m);
  Scaled<T> a(original, m, n);
  Stored<T> tau(size, 1, a.count, Layout::packed_columns);
  QrTinyArguments<D> const args{
      .a = gpu::matrices_of(transposed(a.a.view)), .c = {}, .tau = gpu::matrices_of(tau.view), .info = nullptr, .keeps_a = false};
  simt::run(2, c.threads(), QrTinyMemory(sizeof(T), c).bytes, qr_tiny<D, c>, args);
  for (int q = 0; q < a.count; ++q) {
    int const e = a.scale(q);
    for (int j = 0; j < n; ++j) {
      int const above = std::min(j + 1, m);
      expect_scaled(a.a.view.at(q, 0, j), a.a.view.at(0, 0, j), above, e, e, 8 * m, "R");
      if (above < m) expect_scaled(a.a.view.at(q, above, j), a.a.view.at(0, above, j), m - above, 0, e, 128 * m, "V");
    }
    expect_scaled(tau.view.at(q, 0, 0), tau.view.at(0, 0, 0), size, 0, e, 8 * m, "tau");
  }
}
/// Reflections of columns of the largest numbers whose norm is finite.
TYPED_TEST(Range, Reflections) {
  check_qr<TypeParam, 3, 3>();
  check_qr<TypeParam, 12, 5>();
  check_qr<TypeParam, 7, 19>();
  check_qr<TypeParam, 32, 32>();
}

template <typename T, int n, EigenJob job>
void check_eigenvalues() {
  using D = gpu::DeviceElement<T>;
  using R = Real<T>;
  constexpr EigenTiny c = [] {
    EigenTiny plan = eigen_tiny_plan(job, n, false);
    plan.a = Layout::packed_columns;
    return plan;
  }();
  std::mt19937 random(n);
  std::vector<T> original = dominant<T>(n, random, false);
  for (int i = 0; i < n; ++i) original[static_cast<std::size_t>(i * n + i)] = T(std::real(original[static_cast<std::size_t>(i * n + i)]));
  Scaled<T> a(original, n, n);
  std::vector<R> w(static_cast<std::size_t>(n * a.count));
  std::vector<int> info(static_cast<std::size_t>(a.count), -7);
  EigenArguments<D> const args{
      .a = gpu::matrices_of(a.a.view), .w = gpu::matrices_of(vectors(w.data(), n, a.count)), .info = info.data(), .lower = true};
  simt::run(2, c.threads(), EigenTinyMemory(sizeof(T), sizeof(R), c).bytes, eigen_tiny<D, c>, args);
  for (int q = 0; q < a.count; ++q) {
    int const e = a.scale(q);
    EXPECT_EQ(info[static_cast<std::size_t>(q)], 0) << "2^" << e;
    expect_scaled(&w[static_cast<std::size_t>(q * n)], w.data(), n, e, e, n, "eigenvalues");
    for (int j = 0; job == EigenJob::vectors && j < n; ++j) {  // vectors have length one
      double squares = 0;
      for (int i = 0; i < n; ++i) squares += std::norm(*a.a.view.at(q, i, j));
      EXPECT_NEAR(squares, 1, 100 * n * std::numeric_limits<R>::epsilon()) << "vector " << j << " of " << n << ", 2^" << e;
    }
  }
}
TYPED_TEST(Range, Eigenvalues) {
  check_eigenvalues<TypeParam, 1, EigenJob::vectors>();
  check_eigenvalues<TypeParam, 2, EigenJob::vectors>();
  check_eigenvalues<TypeParam, 9, EigenJob::values>();
  check_eigenvalues<TypeParam, 25, EigenJob::vectors>();
}

/// r * c * a, with factors of all orders of magnitude, to the rounding of two products wherever it is representable.
TYPED_TEST(Range, Scalings) {
  using T = TypeParam;
  using R = Real<T>;
  using D = gpu::DeviceElement<T>;
  constexpr int m = 5, n = 3, count = 40;
  constexpr int h = highest<R>, l = lowest<R>;
  constexpr RefineTiny c = [] {
    RefineTiny plan = refine_tiny_plan(m, n, 0);
    plan.a = plan.x = plan.b = Layout::packed_columns;
    return plan;
  }();
  std::mt19937 random(3);
  auto const drawn = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  Stored<T> a(m, n, count, Layout::packed_columns);
  std::vector<R> r(m * count), columns(n * count);
  for (R& x : r) x = std::ldexp(part_between<R>(random, 0.5, 0.99), drawn(l + 1, h));
  for (R& x : columns) x = std::ldexp(part_between<R>(random, 0.5, 0.99), drawn(l + 1, h));
  for (int q = 0; q < count; ++q)
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < m; ++i) {
        // Most products are finite; parts have any size
        int const other = std::ilogb(r[static_cast<std::size_t>(q * m + i)]) + std::ilogb(columns[static_cast<std::size_t>(q * n + j)]);
        auto const part = [&] { return std::ldexp(part_between<R>(random, 0.5, 0.99), std::clamp(drawn(l, h) - other, l + 1, h)); };
        R const re = part();
        if constexpr (is_complex<T>)
          *a.view.at(q, i, j) = T(re, part());
        else
          *a.view.at(q, i, j) = re;
      }
  auto const before = a.memory;
  LaqgeTinyArguments<D> const args{.a = gpu::matrices_of(a.view),
                                   .r = gpu::matrices_of(Batch<R const>(vectors(r.data(), m, count))),
                                   .c = gpu::matrices_of(Batch<R const>(vectors(columns.data(), n, count)))};
  simt::run(2, c.threads(), LaqgeTinyMemory(sizeof(T), c).bytes, laqge_tiny<D, c>, args);
  for (int q = 0; q < count; ++q)
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < m; ++i) {
        auto const check = [&](R x, R from) {
          long double const right =
              static_cast<long double>(r[static_cast<std::size_t>(q * m + i)]) * columns[static_cast<std::size_t>(q * n + j)] * from;
          if (std::abs(right) >= static_cast<long double>(std::numeric_limits<R>::max())) return;
          EXPECT_LE(std::abs(x - right), std::abs(right) * 2.01L * std::numeric_limits<R>::epsilon() / 2 + std::ldexp(0.51L, l))
              << x << " for " << right << ", r = " << r[static_cast<std::size_t>(q * m + i)]
              << ", c = " << columns[static_cast<std::size_t>(q * n + j)] << ", a = " << from;
        };
        std::size_t const at = static_cast<std::size_t>((q * n + j) * m + i);
        if constexpr (is_complex<T>) {
          check(a.view.at(q, i, j)->real(), before[at].real());
          check(a.view.at(q, i, j)->imag(), before[at].imag());
        } else {
          check(*a.view.at(q, i, j), before[at]);
        }
      }
}

/// A column of the smallest numbers in rows of the largest is not a column of zeros.
TYPED_TEST(Range, ScalingsOfNumbersThatAreNotZero) {
  using T = TypeParam;
  using R = Real<T>;
  using D = gpu::DeviceElement<T>;
  constexpr int n = 4;
  constexpr RefineTiny c = [] {
    RefineTiny plan = refine_tiny_plan(n, n, 0);
    plan.a = plan.x = plan.b = Layout::packed_columns;
    return plan;
  }();
  constexpr int count = 3;
  Stored<T> a(n, n, count, Layout::packed_columns);
  R const most = std::numeric_limits<R>::max(), least = std::numeric_limits<R>::denorm_min();
  for (int q = 0; q < count; ++q)
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i) {
        R const x = j == 1 ? least : q == 0 ? most : q == 1 ? std::ldexp(R(1), -1) : least;
        if constexpr (is_complex<T>)
          *a.view.at(q, i, j) = q == 0 ? T(x, x) : T(0, x);
        else
          *a.view.at(q, i, j) = x;
      }
  std::vector<R> r(n * count), columns(n * count), rowcnd(count), colcnd(count), amax(count);
  std::vector<int> info(count, -7);
  GeequTinyArguments<D> const args{.a = gpu::matrices_of(Batch<T const>(a.view)),
                                   .r = gpu::matrices_of(vectors(r.data(), n, count)),
                                   .c = gpu::matrices_of(vectors(columns.data(), n, count)),
                                   .rowcnd = rowcnd.data(),
                                   .colcnd = colcnd.data(),
                                   .amax = amax.data(),
                                   .info = info.data()};
  simt::run(2, c.threads(), GeequTinyMemory(sizeof(T), sizeof(R), c).bytes, geequ_tiny<D, c>, args);
  EXPECT_EQ(info, (std::vector<int>{0, 0, 0}));
  for (int q = 0; q < count; ++q)
    for (int j = 0; j < n; ++j) {
      EXPECT_TRUE(columns[static_cast<std::size_t>(q * n + j)] >= std::numeric_limits<R>::min() &&
                  std::isfinite(columns[static_cast<std::size_t>(q * n + j)]));
      EXPECT_EQ(std::ldexp(std::frexp(columns[static_cast<std::size_t>(q * n + j)], std::vector<int>(1).data()), 1), 1);
    }
  EXPECT_GE(columns[1], std::ldexp(R(1), highest<R> - 1));
  EXPECT_GT(amax[2], 0);
}

}  // namespace
}  // namespace myriad
