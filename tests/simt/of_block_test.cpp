/// Device functions that compute with one matrix by a block, as kernels of other algorithms call them: from kernels that do nothing else.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <complex>
#include <limits>
#include <vector>

#include "myriad/myriad.hpp"
#include "of_block_configs.hpp"
#include "of_block_kernels.cuh"
#include "product.hpp"
#include "sizes.hpp"

namespace myriad {
namespace {

using namespace test;

constexpr Layout packed = Layout::packed_columns, packed_rows = Layout::packed_rows;

template <typename T>
class OfABlock : public testing::Test {
 protected:
  static void expect_close(std::vector<T> const& x, std::vector<T> const& y, double factor) {
    double const unit = sizeof(Real<T>) == 4 ? 0x1p-24 : 0x1p-53;
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_LE(std::abs(x[i] - y[i]), factor * unit * (1 + std::abs(y[i]))) << i;
  }
  Queue cpu{{.backend = Backend::cpu, .threads = 1}};
};
using Types = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(OfABlock, Types);

TYPED_TEST(OfABlock, Gemm) {
  using T = TypeParam;
  using D = gpu::DeviceElement<T>;
  static constexpr GemmTiles general = tiles(32, 24), symmetric = tiles(32, 32, Structure::hermitian),
                             lower = tiles(32, 32, Structure::general, Written::lower_hermitian);
  auto const check = [](Product const& p, auto run) {
    for (auto const& [alpha, beta] : {std::pair(T(-0.75), T(1)), std::pair(T(1), T(0)), std::pair(T(0), T(2))})
      check_product(p, 6, alpha, beta, run);
  };
  check(Product{70, 50, 37, packed, packed_rows, packed, true, true, true},
        [](auto const& args) { simt::run(2, 64, GemmTilesMemory(sizeof(T), general).bytes, products<D, general>, args); });
  check(Product{.m = 45, .n = 20, .k = 45, .a = packed, .b = packed, .c = packed_rows, .structure = Structure::hermitian},
        [](auto const& args) { simt::run(2, 64, GemmTilesMemory(sizeof(T), symmetric).bytes, products<D, symmetric>, args); });
  check(Product{.m = 70, .n = 70, .k = 9, .a = packed, .b = packed_rows, .c = packed, .written = Written::lower_hermitian},
        [](auto const& args) { simt::run(2, 64, GemmTilesMemory(sizeof(T), lower).bytes, products<D, lower>, args); });
}
TYPED_TEST(OfABlock, Ger) {
  using T = TypeParam;
  static constexpr GemmTiles c = tiles(32, 32, Structure::general, Written::whole, 1);
  check_product(Product{70, 50, 1, packed, packed_rows, packed, true, true, false}, 6, T(-0.75), T(1),
                [](auto const& args) { simt::run(2, 64, GemmTilesMemory(sizeof(T), c).bytes, updates<gpu::DeviceElement<T>, c>, args); });
}

TYPED_TEST(OfABlock, Syr2k) {
  using T = TypeParam;
  using D = gpu::DeviceElement<T>;
  constexpr int n = 70, k = 9, count = 3;
  auto const run = [&](auto kernel, auto bytes, bool hermitian) {
    Stored<T> a(n, k, count, packed), b(n, k, count, packed_rows), c(n, n, count, packed), expected(n, n, count, packed);
    fill(a.memory, 1);
    fill(b.memory, 2);
    fill(c.memory, 3);
    expected.memory = c.memory;
    Batch<T const> const other = hermitian ? conjugate_transposed(Batch<T const>(b.view)) : transposed(Batch<T const>(b.view));
    T alpha = T(-0.5);
    if constexpr (is_complex<T>) alpha = T(Real<T>(0.5), Real<T>(-2));
    GemmArguments<D> const args{.alpha = std::bit_cast<D>(alpha),
                                .beta = std::bit_cast<D>(T(2)),
                                .a = gpu::matrices_of(Batch<T const>(a.view)),
                                .b = gpu::matrices_of(other),
                                .c = gpu::matrices_of(c.view),
                                .depth = k};
    simt::run(2, 64, bytes, kernel, args);
    if (hermitian)
      her2k<T>(this->cpu, Uplo::lower, alpha, a.view, b.view, Real<T>(2), expected.view);
    else
      syr2k<T>(this->cpu, Uplo::lower, alpha, a.view, b.view, T(2), expected.view);
    this->expect_close(c.memory, expected.memory, 200);
  };
  static constexpr GemmTiles symmetric = tiles(32, 32, Structure::general, Written::lower),
                             hermitian = tiles(32, 32, Structure::general, Written::lower_hermitian);
  run(rank_2k_updates<D, symmetric>, GemmTilesMemory(sizeof(T), symmetric).bytes, false);
  run(rank_2k_updates<D, hermitian>, GemmTilesMemory(sizeof(T), hermitian).bytes, true);
}

/// Triangles that are far from singular, with NaN where nothing is read.
template <typename T>
void fill_triangles(Batch<T> const& a, bool lower, bool unit) {
  for (std::int64_t q = 0; q < a.count; ++q)
    for (std::int64_t j = 0; j < a.cols; ++j)
      for (std::int64_t i = 0; i < a.rows; ++i) {
        T& x = *a.at(q, i, j);
        x *= Real<T>(2) / Real<T>(a.rows);
        if (i == j) x += T(q % 2 == 0 ? 2 : -2);
        if ((lower ? i < j : i > j) || (unit && i == j)) x = T(std::numeric_limits<Real<T>>::quiet_NaN());
      }
}
/// run(arguments) and reference(a, b), of triangles of n rows; equal but for rounding.
template <typename T, typename Run, typename Reference>
void check_triangles(int n, int columns, bool lower, bool unit, Run run, Reference reference) {
  SCOPED_TRACE(testing::Message() << n << " rows, lower " << lower << ", unit " << unit);
  constexpr int count = 5;
  using D = gpu::DeviceElement<T>;
  Stored<T> a(n, n, count, packed), b(n, columns, count, packed_rows);
  fill(a.memory, 1);
  fill(b.memory, 2);
  fill_triangles(a.view, lower, unit);
  std::vector<std::int64_t> const sizes{n, 0, 1, n - 1, (n + 1) / 2};
  a.view.row_sizes = a.view.col_sizes = b.view.row_sizes = sizes.data();
  Stored<T> expected(n, columns, count, packed_rows);
  expected.memory = b.memory;
  expected.view.row_sizes = sizes.data();
  for (T const alpha : {T(-0.75), T(0)}) {
    run(TriangleArguments<D>{.unit = unit,
                             .info = nullptr,
                             .alpha = std::bit_cast<D>(alpha),
                             .a = gpu::matrices_of(Batch<T const>(a.view)),
                             .b = gpu::matrices_of(b.view)});
    reference(alpha, Batch<T const>(a.view), expected.view);
    double const limit = 100.0 * n * (sizeof(Real<T>) == 4 ? 0x1p-24 : 0x1p-53);
    for (std::size_t i = 0; i < b.memory.size(); ++i)
      ASSERT_LE(std::abs(b.memory[i] - expected.memory[i]), limit * (1 + std::abs(expected.memory[i]))) << i;
  }
}
TYPED_TEST(OfABlock, Trsm) {
  using T = TypeParam;
  using D = gpu::DeviceElement<T>;
  static constexpr GemmTiles rest = tiles(32, 24);
  auto const check = [&](auto kernel, TrsmColumns const& c, bool unit) {
    int const bytes = std::max(TrsmColumnsMemory(sizeof(Real<T>), is_complex<T>, c).bytes, GemmTilesMemory(sizeof(T), rest).bytes);
    for (int const n : {20, 70})
      check_triangles<T>(
          n, 50, c.lower, unit, [&](auto const& args) { simt::run(2, 64, bytes, kernel, args); },
          [&](T alpha, Batch<T const> const& a, Batch<T> const& b) {
            trsm<T>(this->cpu, Side::left, c.lower ? Uplo::lower : Uplo::upper, unit ? Diag::unit : Diag::non_unit, alpha, a, b);
          });
  };
  static constexpr TrsmColumns lower = triangle<T>(32, true, false), upper = triangle<T>(32, false, false);
  check(solves<D, lower, rest>, lower, false);
  check(solves<D, upper, rest>, upper, true);
}
TYPED_TEST(OfABlock, Trmm) {
  using T = TypeParam;
  using D = gpu::DeviceElement<T>;
  static constexpr GemmTiles rest = tiles(32, 24), lower = tiles(32, 24, Structure::lower), upper = tiles(32, 24, Structure::unit_upper);
  int const bytes = GemmTilesMemory(sizeof(T), rest).bytes;
  auto const check = [&](auto kernel, bool is_lower) {
    for (int const n : {20, 70})
      check_triangles<T>(
          n, 50, is_lower, !is_lower, [&](auto const& args) { simt::run(2, 64, bytes, kernel, args); },
          [&](T alpha, Batch<T const> const& a, Batch<T> const& b) {
            trmm<T>(this->cpu, Side::left, is_lower ? Uplo::lower : Uplo::upper, is_lower ? Diag::non_unit : Diag::unit, alpha, a, b);
          });
  };
  check(triangular_products<D, lower, rest>, true);
  check(triangular_products<D, upper, rest>, false);
}
TYPED_TEST(OfABlock, Trtri) {
  using T = TypeParam;
  using D = gpu::DeviceElement<T>;
  static constexpr GemmTiles rest = tiles(32, 24);
  auto const check = [&](auto kernel, TrsmColumns const& c, bool unit, int n) {
    SCOPED_TRACE(testing::Message() << n << " rows, lower " << c.lower << ", unit " << unit);
    constexpr int count = 4;
    Stored<T> a(n, n, count, packed), expected(n, n, count, packed);
    fill(a.memory, 1);
    fill_triangles(a.view, c.lower, unit);
    if (!unit) *a.view.at(1, n - 2, n - 2) = *a.view.at(1, n - 1, n - 1) = T(0);  // singular
    expected.memory = a.memory;
    std::vector<int> info(count, -7), expected_info(count);
    int const bytes = std::max(TrsmColumnsMemory(sizeof(Real<T>), is_complex<T>, c).bytes, GemmTilesMemory(sizeof(T), rest).bytes);
    simt::run(
        2, 64, bytes, kernel,
        TriangleArguments<D>{.unit = unit, .info = info.data(), .alpha = simt::from_real<D>(1), .a = {}, .b = gpu::matrices_of(a.view)});
    trtri<T>(this->cpu, c.lower ? Uplo::lower : Uplo::upper, unit ? Diag::unit : Diag::non_unit, expected.view, expected_info.data());
    EXPECT_EQ(info, expected_info);
    double const limit = 100.0 * n * (sizeof(Real<T>) == 4 ? 0x1p-24 : 0x1p-53);
    for (std::size_t i = 0; i < a.memory.size(); ++i) {
      if (std::abs(expected.memory[i]) == std::abs(expected.memory[i])) {
        ASSERT_LE(std::abs(a.memory[i] - expected.memory[i]), limit * (1 + std::abs(expected.memory[i]))) << i;
      } else {
        ASSERT_NE(std::abs(a.memory[i]), std::abs(a.memory[i])) << i;
      }
    }
  };
  static constexpr TrsmColumns lower = triangle<T>(32, true, false), upper = triangle<T>(32, false, false),
                               lower_inverse = triangle<T>(32, true, true), upper_inverse = triangle<T>(32, false, true);
  for (int const n : {20, 70, 96}) {
    check(inverses<D, lower_inverse, lower, upper, rest>, lower_inverse, false, n);
    check(inverses<D, upper_inverse, upper, lower, rest>, upper_inverse, true, n);
  }
}

}  // namespace
}  // namespace myriad
