/// Kernels of gemm/gemm_tiles.cuh on the host twin against the CPU path.

#include "gemm/gemm_tiles.cuh"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "gemm/gemm_tiles_plan.hpp"
#include "myriad/myriad.hpp"
#include "runtime/views.hpp"
#include "stored.hpp"

namespace myriad {
namespace {

template <typename T>
void fill(std::vector<T>& memory, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<Real<T>> normal;
  for (T& x : memory) {
    if constexpr (is_complex<T>)
      x = T(normal(random), normal(random));
    else
      x = normal(random);
  }
}

struct Sizes {
  int m, n, k;
};

/// A kernel for matrices in three layouts, the first of `variant` on; where columns are among them, ragged.
template <typename T, Sizes s, int variant>
constexpr GemmTiles config() {
  auto const of = [](int shift) { return layouts[(variant + shift) % 5]; };
  auto const any = [&](Layout layout) { return of(0) == layout || of(1) == layout || of(2) == layout; };
  bool const ragged = any(Layout::columns);
  GemmTiles c = gemm_tiles_plan(sizeof(T), s.m, s.n, s.k, !ragged && any(Layout::interleaved));
  auto const layout = [&](int shift) {
    if (ragged) return simt::is_by_rows(of(shift)) ? Layout::ragged_rows : Layout::ragged_columns;
    return c.whole() ? of(shift) : gpu::layout_of_part(of(shift));
  };
  c.a = layout(0);
  c.b = layout(1);
  c.c = layout(2);
  return c;
}

/// beta: 0 or another number.
template <typename T, Sizes s, int variant>
void check(T alpha, T beta) {
  constexpr GemmTiles c = config<T, s, variant>();
  constexpr std::int64_t count = c.whole() ? 2 * c.matrices + 1 : c.matrices + 1;
  Stored<T> a(s.m, s.k, count, layouts[variant % 5]), b(s.k, s.n, count, layouts[(variant + 1) % 5]),
      product(s.m, s.n, count, layouts[(variant + 2) % 5]);
  fill(a.memory, variant);
  fill(b.memory, variant + 1000);
  fill(product.memory, variant + 2000);
  // Two of the sizes are ragged: those of the operand that is in columns.
  auto const sizes = [&](int bound) {
    std::vector<std::int64_t> out;
    for (std::int64_t q = 0; q < count; ++q) out.push_back(std::max<std::int64_t>(bound - q, 0));
    return out;
  };
  auto const m = sizes(s.m), n = sizes(s.n), k = sizes(s.k);
  if (layouts[variant % 5] == Layout::columns) {
    a.view.row_sizes = product.view.row_sizes = m.data();
    a.view.col_sizes = b.view.row_sizes = k.data();
  } else if (layouts[(variant + 1) % 5] == Layout::columns) {
    a.view.col_sizes = b.view.row_sizes = k.data();
    b.view.col_sizes = product.view.col_sizes = n.data();
  } else if (layouts[(variant + 2) % 5] == Layout::columns) {
    a.view.row_sizes = product.view.row_sizes = m.data();
    b.view.col_sizes = product.view.col_sizes = n.data();
  }
  if (beta == T(0)) std::fill(product.memory.begin(), product.memory.end(), T(std::numeric_limits<Real<T>>::quiet_NaN()));
  std::vector<T> const before = product.memory;
  Stored<T> expected(s.m, s.n, count, layouts[(variant + 2) % 5]);
  expected.memory = before;
  expected.view.row_sizes = product.view.row_sizes;
  expected.view.col_sizes = product.view.col_sizes;

  Queue cpu({.backend = Backend::cpu, .threads = 1});
  Batch<T const> const a_in = variant % 2 == 0 ? Batch<T const>(a.view) : conjugated(Batch<T const>(a.view));
  Batch<T const> const b_in = variant % 3 == 0 ? Batch<T const>(b.view) : conjugated(Batch<T const>(b.view));
  gemm<T>(cpu, alpha, a_in, b_in, beta, expected.view);

  using D = gpu::DeviceElement<T>;
  GemmTilesArguments<D> const args{.alpha = std::bit_cast<D>(alpha),
                                   .beta = std::bit_cast<D>(beta),
                                   .a = gpu::matrices_of(a_in),
                                   .b = gpu::matrices_of(b_in),
                                   .c = gpu::matrices_of(product.view),
                                   .depth = alpha == T(0) ? 0 : s.k};
  simt::run(3, c.threads(), GemmTilesMemory(sizeof(T), c).bytes, gemm_tiles<D, c>, args);

  double const u = sizeof(Real<T>) == 4 ? 0x1p-24 : 0x1p-53;
  for (std::int64_t q = 0; q < count; ++q)
    for (std::int64_t j = 0; j < s.n; ++j)
      for (std::int64_t i = 0; i < s.m; ++i) {
        T const got = *product.view.at(q, i, j), wanted = *expected.view.at(q, i, j);
        bool const there = i < product.view.rows_of(q) && j < product.view.cols_of(q);
        if (there) {
          ASSERT_LE(std::abs(got - wanted), 100 * (s.k + 2) * u * (1 + std::abs(wanted)))
              << "matrix " << q << ", " << i << "," << j << ": " << got << " for " << wanted;
        } else {
          std::size_t const at = static_cast<std::size_t>(product.view.at(q, i, j) - product.memory.data());
          ASSERT_EQ(std::memcmp(&product.memory[at], &before[at], sizeof(T)), 0) << "matrix " << q << ", " << i << "," << j << " is none";
        }
      }
}

template <typename T, Sizes s, int variant>
void check_scalars() {
  check<T, s, variant>(T(1), T(0));
  check<T, s, variant>(T(-0.75), T(1));
  check<T, s, variant>(T(0), T(2));
  check<T, s, variant>(T(0), T(0));
}

TEST(GemmTiles, Single) {
  check_scalars<float, Sizes{1, 1, 1}, 0>();
  check_scalars<float, Sizes{7, 3, 5}, 1>();
  check_scalars<float, Sizes{32, 32, 32}, 2>();
  check_scalars<float, Sizes{45, 66, 19}, 3>();
}
TEST(GemmTiles, Double) {
  check_scalars<double, Sizes{2, 2, 2}, 4>();
  check_scalars<double, Sizes{8, 8, 8}, 0>();
  check_scalars<double, Sizes{17, 1, 32}, 1>();
  check_scalars<double, Sizes{16, 16, 16}, 2>();
  check_scalars<double, Sizes{5, 70, 40}, 3>();
  check_scalars<double, Sizes{33, 12, 16}, 4>();
}
TEST(GemmTiles, Complex) {
  check_scalars<std::complex<float>, Sizes{4, 4, 4}, 3>();
  check_scalars<std::complex<float>, Sizes{13, 32, 2}, 4>();
  check_scalars<std::complex<double>, Sizes{3, 6, 9}, 0>();
  check_scalars<std::complex<double>, Sizes{20, 20, 20}, 1>();
  check_scalars<std::complex<double>, Sizes{9, 9, 50}, 2>();
}

// Shared memory of a block suffices for the largest tiles in every layout.
TEST(GemmTiles, FitsABlock) {
  for (int const bytes : {4, 8, 16})
    for (std::int64_t m = 1; m <= 200; m += m < 36 ? 1 : 7)
      for (std::int64_t const n : {std::int64_t{1}, std::int64_t{5}, std::int64_t{32}, m})
        for (std::int64_t const k : {std::int64_t{1}, std::int64_t{32}, m, std::int64_t{999}})
          for (bool const interleaved : {false, true}) {
            GemmTiles c = gemm_tiles_plan(bytes, m, n, k, interleaved);
            EXPECT_LE(c.threads(), 1024) << m << " " << n << " " << k;
            EXPECT_EQ(c.threads() % 32, 0);
            for (Layout const x : {Layout::packed_columns, Layout::packed_rows, Layout::interleaved})
              for (Layout const y : {Layout::packed_columns, Layout::packed_rows, Layout::interleaved}) {
                if (!interleaved && (x == Layout::interleaved || y == Layout::interleaved)) continue;
                c.a = c.c = x;
                c.b = y;
                EXPECT_LE(GemmTilesMemory(bytes, c).bytes, 227 * 1024) << bytes << " " << m << " " << n << " " << k;
              }
          }
}

}  // namespace
}  // namespace myriad
