/// Kernels of refine/refine_tiny.cuh on the host twin against the CPU path.

#include "refine/refine_tiny.cuh"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "myriad/myriad.hpp"
#include "refine/refine_tiny_plan.hpp"
#include "runtime/views.hpp"
#include "stored.hpp"

namespace myriad {
namespace {

template <typename T>
T element(std::mt19937& random, int scale) {
  std::normal_distribution<Real<T>> normal;
  if constexpr (is_complex<T>) {
    Real<T> const re = std::ldexp(normal(random), scale);
    return T(re, std::ldexp(normal(random), scale));
  } else {
    return std::ldexp(normal(random), scale);
  }
}

/// Sizes of ragged matrices, from the bound downwards and back.
std::vector<std::int64_t> sizes(int bound, std::int64_t count, int step) {
  std::vector<std::int64_t> out;
  for (std::int64_t q = 0; q < count; ++q) out.push_back(bound - q * step % (bound + 1));
  return out;
}

template <int m, int n, int nrhs, int variant>
constexpr RefineTiny config(int element_bytes) {
  constexpr Layout layout = layouts[variant % 5];
  constexpr Layout own = layout == Layout::columns ? Layout::ragged_columns : layout;
  RefineTiny c = refine_tiny_plan(m, n, nrhs);
  c.matrices = gpu::matrices_of_block(c.matrices, c.lanes, layout == Layout::interleaved, element_bytes);
  c.a = own;
  c.x = c.b = nrhs > c.nrhs ? gpu::by_elements(own) : own;
  return c;
}

template <typename T>
void expect_same(T x, T y, char const* what, std::size_t i) {
  if constexpr (is_complex<T>) {
    expect_same(x.real(), y.real(), what, i);
    expect_same(x.imag(), y.imag(), what, i);
  } else {
    EXPECT_TRUE(x == y || (std::isnan(x) && std::isnan(y))) << what << " " << i << ": " << x << " for " << y;
  }
}
template <typename T>
void expect_same(std::vector<T> const& x, std::vector<T> const& y, char const* what) {
  for (std::size_t i = 0; i < x.size(); ++i) expect_same(x[i], y[i], what, i);
}

/// Rows and columns from tiny to huge, subnormal numbers, infinity, NaN, and a row or a column of zeros.
template <typename T, int m, int n, int variant>
void check_scalings() {
  using R = Real<T>;
  using D = gpu::DeviceElement<T>;
  constexpr Layout layout = layouts[variant % 5];
  constexpr RefineTiny c = config<m, n, 0, variant>(sizeof(T));
  constexpr std::int64_t count = 2 * c.matrices + 1;
  std::size_t const size = static_cast<std::size_t>(count);
  Stored<T> a(m, n, count, layout);
  std::mt19937 random(variant);
  int const widest = std::numeric_limits<R>::max_exponent / 3;
  std::vector<std::int64_t> rows, columns;
  if (layout == Layout::columns) {
    rows = sizes(m, count, 1);
    columns = sizes(n, count, 2);
    a.view.row_sizes = rows.data();
    a.view.col_sizes = columns.data();
  }
  for (std::int64_t q = 0; q < count; ++q)
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < m; ++i) *a.view.at(q, i, j) = element<T>(random, (i * 7 + j * 3) % 5 * widest / 4 - widest / 2);
  *a.view.at(0, 0, n - 1) = T(std::numeric_limits<R>::denorm_min());
  if (n == 1) *a.view.at(1, 0, 0) = T(std::numeric_limits<R>::max());
  *a.view.at(2, m - 1, 0) = T(std::numeric_limits<R>::infinity());
  *a.view.at(3, 0, 0) = T(std::numeric_limits<R>::quiet_NaN());
  for (int j = 0; j < n; ++j) *a.view.at(4, m - 1, j) = T(0);
  for (int i = 0; i < m; ++i) *a.view.at(5, i, n - 1) = T(0);

  struct Outcome {
    std::vector<R> r, c, rowcnd, colcnd, amax;
    std::vector<int> info;
  };
  auto const outcome = [&] {
    return Outcome{std::vector<R>(size * m, R(-3)), std::vector<R>(size * n, R(-3)), std::vector<R>(size, R(-3)),
                   std::vector<R>(size, R(-3)),     std::vector<R>(size, R(-3)),     std::vector<int>(size, -3)};
  };
  Outcome got = outcome(), expected = outcome();
  auto const vector = [&](std::vector<R>& memory, int length, std::vector<std::int64_t> const& of) {
    Batch<R> v = vectors(memory.data(), length, count);
    if (!of.empty()) v.row_sizes = of.data();
    return v;
  };
  Queue cpu({.backend = Backend::cpu, .threads = 1});
  Batch<T const> const a_in = a.view;
  geequ<T>(cpu, a_in, vector(expected.r, m, rows), vector(expected.c, n, columns), expected.rowcnd.data(), expected.colcnd.data(),
           expected.amax.data(), expected.info.data());
  GeequTinyArguments<D> const args{.a = gpu::matrices_of(a_in),
                                   .r = gpu::matrices_of(vector(got.r, m, rows)),
                                   .c = gpu::matrices_of(vector(got.c, n, columns)),
                                   .rowcnd = got.rowcnd.data(),
                                   .colcnd = got.colcnd.data(),
                                   .amax = got.amax.data(),
                                   .info = got.info.data()};
  simt::run(2, c.threads(), GeequTinyMemory(sizeof(T), sizeof(R), c).bytes, geequ_tiny<D, c>, args);
  EXPECT_EQ(got.info, expected.info);
  expect_same(got.r, expected.r, "r");
  expect_same(got.c, expected.c, "c");
  expect_same(got.rowcnd, expected.rowcnd, "rowcnd");
  expect_same(got.colcnd, expected.colcnd, "colcnd");
  expect_same(got.amax, expected.amax, "amax");

  Stored<T> scaled(m, n, count, layout);
  for (bool const both : {true, false}) {
    SCOPED_TRACE(testing::Message() << "laqge " << both);
    Stored<T> mine(m, n, count, layout);
    scaled.memory = mine.memory = a.memory;
    scaled.view.row_sizes = mine.view.row_sizes = a.view.row_sizes;
    scaled.view.col_sizes = mine.view.col_sizes = a.view.col_sizes;
    Batch<R const> const r = vector(expected.r, m, rows), none{};
    Batch<R const> const c_in = both ? Batch<R const>(vector(expected.c, n, columns)) : none;
    laqge<T>(cpu, scaled.view, r, c_in);
    LaqgeTinyArguments<D> const scale{.a = gpu::matrices_of(mine.view), .r = gpu::matrices_of(r), .c = gpu::matrices_of(c_in)};
    simt::run(3, c.threads(), LaqgeTinyMemory(sizeof(T), c).bytes, laqge_tiny<D, c>, scale);
    expect_same(mine.memory, scaled.memory, "scaled");
  }
}

/// Matrices that are larger than a tile.
template <typename T, int m, int n, int variant>
void check_tiles() {
  using R = Real<T>;
  using D = gpu::DeviceElement<T>;
  constexpr Layout layout = layouts[variant % 5];
  constexpr RefineTiny c = [] {
    RefineTiny out = config<m, n, 0, variant>(sizeof(T));
    out.a = gpu::by_elements(out.a);
    return out;
  }();
  constexpr std::int64_t count = c.matrices + 1;
  Stored<T> mine(m, n, count, layout), expected(m, n, count, layout);
  std::mt19937 random(variant);
  for (T& x : mine.memory) x = element<T>(random, 0);
  expected.memory = mine.memory;
  std::vector<R> r, columns;
  for (std::int64_t i = 0; i < m * count; ++i) r.push_back(element<R>(random, 0));
  for (std::int64_t i = 0; i < n * count; ++i) columns.push_back(element<R>(random, 0));
  std::vector<std::int64_t> row_sizes, column_sizes;
  Batch<R> rows_in = vectors(r.data(), m, count), columns_in = vectors(columns.data(), n, count);
  if (layout == Layout::columns) {
    row_sizes = sizes(m, count, 3);
    column_sizes = sizes(n, count, 5);
    mine.view.row_sizes = expected.view.row_sizes = rows_in.row_sizes = row_sizes.data();
    mine.view.col_sizes = expected.view.col_sizes = columns_in.row_sizes = column_sizes.data();
  }
  Queue cpu({.backend = Backend::cpu, .threads = 1});
  laqge<T>(cpu, expected.view, Batch<R const>(rows_in), Batch<R const>(columns_in));
  LaqgeTinyArguments<D> const args{
      .a = gpu::matrices_of(mine.view), .r = gpu::matrices_of(Batch<R const>(rows_in)), .c = gpu::matrices_of(Batch<R const>(columns_in))};
  simt::run(2, c.threads(), LaqgeTinyMemory(sizeof(T), c).bytes, laqge_tiny<D, c>, args);
  expect_same(mine.memory, expected.memory, "scaled");
}

template <typename T, int m, int n, int nrhs, int variant>
void check_errors() {
  using R = Real<T>;
  using D = gpu::DeviceElement<T>;
  constexpr Layout layout = layouts[variant % 5];
  constexpr RefineTiny c = config<m, n, nrhs, variant>(sizeof(T));
  constexpr std::int64_t count = 2 * c.matrices + 1;
  Stored<T> a(m, n, count, layout), x(n, nrhs, count, layout), b(m, nrhs, count, layout);
  std::mt19937 random(variant);
  for (Stored<T>* const s : {&a, &x, &b})
    for (T& value : s->memory) value = element<T>(random, 0);
  std::vector<std::int64_t> rows, columns;
  if (layout == Layout::columns) {
    rows = sizes(m, count, 1);
    columns = sizes(n, count, 2);
    a.view.row_sizes = b.view.row_sizes = rows.data();
    a.view.col_sizes = x.view.row_sizes = columns.data();
  }
  Queue cpu({.backend = Backend::cpu, .threads = 1});
  Batch<T const> const a_in = variant % 2 == 0 ? Batch<T const>(a.view) : conjugated(Batch<T const>(a.view));
  // B = A X up to a few units in the last place; then a row of zeros, NaN, and an X that is far from a solution.
  gemm<T>(cpu, T(1), a_in, Batch<T const>(x.view), T(0), b.view);
  for (int j = 0; j < n; ++j) *a.view.at(1, m - 1, j) = T(0);
  for (int j = 0; j < nrhs; ++j) *b.view.at(1, m - 1, j) = T(0);
  *a.view.at(2, 0, 0) = T(std::numeric_limits<R>::quiet_NaN());
  *b.view.at(3, 0, 0) += T(1);
  std::vector<R> got(static_cast<std::size_t>(nrhs * count), R(-3)), expected = got;
  backward_error<T>(cpu, a_in, Batch<T const>(x.view), Batch<T const>(b.view), vectors(expected.data(), nrhs, count));
  BackwardErrorTinyArguments<D> const args{.a = gpu::matrices_of(a_in),
                                           .x = gpu::matrices_of(Batch<T const>(x.view)),
                                           .b = gpu::matrices_of(Batch<T const>(b.view)),
                                           .berr = gpu::matrices_of(vectors(got.data(), nrhs, count)),
                                           .columns = nrhs};
  simt::run(2, c.threads(), BackwardErrorTinyMemory(sizeof(T), c).bytes, backward_error_tiny<D, c>, args);
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(got[i])) << i << ": " << got[i];
    } else {
      EXPECT_NEAR(got[i], expected[i], 1e-5 * static_cast<double>(expected[i])) << i;
    }
  }
}

TEST(RefineTiny, Scalings) {
  check_scalings<float, 1, 1, 0>();
  check_scalings<float, 7, 3, 1>();
  check_scalings<float, 32, 32, 2>();
  check_scalings<double, 2, 5, 3>();
  check_scalings<double, 13, 13, 4>();
  check_scalings<double, 17, 32, 0>();
  check_scalings<std::complex<float>, 5, 5, 4>();
  check_scalings<std::complex<double>, 9, 4, 1>();
  check_scalings<std::complex<double>, 20, 20, 2>();
}

TEST(RefineTiny, TileByTile) {
  check_tiles<float, 7, 50, 0>();
  check_tiles<double, 33, 65, 4>();
  check_tiles<std::complex<double>, 40, 3, 1>();
}

TEST(RefineTiny, BackwardErrors) {
  check_errors<float, 1, 1, 1, 0>();
  check_errors<float, 12, 12, 6, 1>();
  check_errors<float, 32, 32, 1, 2>();
  check_errors<double, 3, 5, 2, 3>();
  check_errors<double, 16, 16, 1, 4>();
  check_errors<double, 19, 8, 9, 0>();
  check_errors<std::complex<float>, 6, 6, 5, 4>();
  check_errors<std::complex<double>, 4, 4, 1, 1>();
  check_errors<std::complex<double>, 21, 21, 3, 3>();
}

}  // namespace
}  // namespace myriad
