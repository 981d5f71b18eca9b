/// Kernels of gemm/pipelined/gemm_pipelined.cuh on the host twin.

#include "gemm/pipelined/gemm_pipelined.cuh"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>

#include "gemm/gemm_gpu.hpp"
#include "gemm/pipelined/gemm_pipelined_plan.hpp"
#include "gemm/tiles/gemm_tiles_plan.hpp"
#include "product.hpp"
#include "sizes.hpp"

namespace myriad {
namespace {

/// The kernel that a GPU would use for these layouts, with C beside the pipeline's stages or in their place.
template <typename T, Product p>
constexpr GemmPipelined config(int c_beside = 1) {
  GemmPipelined c = gemm_pipelined_plan(sizeof(Real<T>), is_complex<T>, p.m, p.n, p.k);
  c.c_beside = c_beside;
  auto const lines = [](Layout layout) { return simt::is_by_rows(layout) ? Lines::rows : Lines::columns; };
  c.a = lines(p.a);
  c.b = lines(p.b);
  c.c = lines(p.c);
  c.structure = p.structure;
  c.written = p.written;
  return c;
}

template <typename T, Product p, GemmPipelined c>
void check_config(T alpha, T beta) {
  bool const ragged = p.ragged_m || p.ragged_n || p.ragged_k;
  check_product(p, ragged ? 12 : 2, alpha, beta, [](auto const& args) {
    simt::run(3, c.threads(), GemmPipelinedMemory(sizeof(Real<T>), is_complex<T>, c).bytes, gemm_pipelined<gpu::DeviceElement<T>, c>, args);
  });
}
template <typename T, Product p, int c_beside>
void check(T alpha, T beta) {
  check_config<T, p, config<T, p>(c_beside)>(alpha, beta);
}
template <typename T, Product p, int c_beside = 1>
void check_scalars() {
  check<T, p, c_beside>(T(-0.75), T(1));
  check<T, p, c_beside>(T(1), T(0));
  check<T, p, c_beside>(T(0), T(2));
  if (!sanitized) check<T, p, c_beside>(T(0), T(0));
}
template <typename T, Product p>
void check_both() {
  check_scalars<T, p, 0>();
  check_scalars<T, p, 1>();
}

constexpr Layout columns = Layout::columns, rows = Layout::rows, packed = Layout::packed_columns, packed_rows = Layout::packed_rows;

template <typename T>
class GemmPipelineds : public testing::Test {};
using Types = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(GemmPipelineds, Types);

/// One tile, several, a smaller last one, terms that are not a multiple of a stage; A, B and C by columns and by rows.
TYPED_TEST(GemmPipelineds, Layouts) {
  check_both<TypeParam, Product{45, 35, 18, packed_rows, packed_rows, packed_rows}>();
  check_both<TypeParam, Product{70, 50, 41, columns, packed_rows, rows}>();
  if constexpr (!sanitized) {
    check_scalars<TypeParam, Product{33, 33, 33, packed, packed, packed}>();
    check_scalars<TypeParam, Product{37, 66, 5, rows, columns, packed, false, false, false, true}>();
  }
}
TYPED_TEST(GemmPipelineds, NarrowAndShort) {
  check_scalars<TypeParam, Product{100, 2, 34, packed, packed, packed}>();
  check_scalars<TypeParam, Product{5, 4, 80, packed_rows, packed, packed}>();
  if constexpr (!sanitized) {
    check_scalars<TypeParam, Product{3, 90, 64, packed, packed_rows, packed}>();
    check_scalars<TypeParam, Product{40, 36, 2, packed, packed, packed_rows}>();
  }
}
TYPED_TEST(GemmPipelineds, Ragged) {
  check_both<TypeParam, Product{48, 40, 36, packed, packed, packed, true, true, true}>();
  check_scalars<TypeParam, Product{40, 70, 20, rows, columns, packed_rows, true, false, true}>();
}
/// Small matrices with one kernel, larger ones with another.
TYPED_TEST(GemmPipelineds, RaggedByParts) {
  using T = TypeParam;
  constexpr auto of = [](int m, int n) { return Product{m, n, 12, packed, packed_rows, packed, true, true, true}; };
  static constexpr GemmPipelined small = config<T, of(20, 20)>(), large = config<T, of(44, 37)>();
  auto const run = [](auto const& given) {
    auto args = given;
    args.above = 20;
    simt::run(3, large.threads(), GemmPipelinedMemory(sizeof(Real<T>), is_complex<T>, large).bytes,
              gemm_pipelined<gpu::DeviceElement<T>, large>, args);
    args.above = 0;
    args.upto = 20;
    simt::run(3, small.threads(), GemmPipelinedMemory(sizeof(Real<T>), is_complex<T>, small).bytes,
              gemm_pipelined<gpu::DeviceElement<T>, small>, args);
  };
  check_product(of(44, 37), 12, T(2), T(1), run);
}
TYPED_TEST(GemmPipelineds, Conjugated) {
  if constexpr (is_complex<TypeParam>) {
    constexpr auto of = [](bool a, bool b) {
      return Product{.m = 34, .n = 33, .k = 18, .a = packed, .b = packed, .c = packed, .conjugated_a = a, .conjugated_b = b};
    };
    check_scalars<TypeParam, of(false, false)>();
    check_scalars<TypeParam, of(false, true)>();
    check_scalars<TypeParam, of(true, false)>();
    check_scalars<TypeParam, of(true, true)>();
  }
}
/// A product of structured matrices, all in one layout.
constexpr Product structured(int m, int n, int k, Layout layout, Structure structure, Written written = Written::whole) {
  return {.m = m, .n = n, .k = k, .a = layout, .b = layout, .c = layout, .structure = structure, .written = written};
}
TYPED_TEST(GemmPipelineds, Structures) {
  using T = TypeParam;
  check_scalars<T, structured(45, 35, 45, packed_rows, Structure::hermitian)>();
  check_scalars<T, structured(34, 40, 34, packed_rows, Structure::unit_lower)>();
  check_scalars<T, structured(34, 40, 34, packed, Structure::unit_upper)>();
  if constexpr (!sanitized) {
    check_scalars<T, structured(45, 35, 45, packed, Structure::symmetric)>();
    check_scalars<T, structured(140, 5, 140, packed, Structure::hermitian)>();
    check_scalars<T, structured(34, 40, 34, packed, Structure::lower)>();
    check_scalars<T, structured(34, 40, 34, packed_rows, Structure::upper)>();
  }
}
TYPED_TEST(GemmPipelineds, Triangles) {
  using T = TypeParam;
  check_both<T, structured(45, 45, 20, packed, Structure::general, Written::lower)>();
  check_both<T, structured(145, 145, 9, packed_rows, Structure::general, Written::lower_hermitian)>();
  Product constexpr ragged{
      .m = 40, .n = 40, .k = 18, .a = packed, .b = packed_rows, .c = packed, .ragged_m = true, .ragged_k = true, .written = Written::lower};
  check_scalars<T, ragged>();
}
/// The sums with factors rounded to 11 bits, or split into two such numbers, eight terms at a time.
template <bool splits>
struct InEights {
  template <typename Left, typename Right>
  float operator()(float sum, std::int64_t terms, Left const& left, Right const& right) const {
    auto const nearest = [](float x) { return std::bit_cast<float>(simt::tf32_bits(x)); };
    auto const rest = [&](float x) { return nearest(x - nearest(x)); };
    for (std::int64_t first = 0; first < terms; first += 8) {
      std::int64_t const end = std::min(first + 8, terms);
      for (std::int64_t t = first; splits && t < end; ++t) sum = std::fma(rest(left(t)), nearest(right(t)), sum);
      for (std::int64_t t = first; splits && t < end; ++t) sum = std::fma(nearest(left(t)), rest(right(t)), sum);
      for (std::int64_t t = first; t < end; ++t) sum = std::fma(nearest(left(t)), nearest(right(t)), sum);
    }
    return sum;
  }
};
template <Product p, Factors factors>
void check_rounded(float alpha, float beta) {
  static constexpr GemmPipelined c = [] {
    GemmPipelined ring = gemm_pipelined_plan_of_rounded(factors, p.m, p.n, p.k);
    auto const lines = [](Layout layout) { return simt::is_by_rows(layout) ? Lines::rows : Lines::columns; };
    ring.a = lines(p.a), ring.b = lines(p.b), ring.c = lines(p.c);
    return ring;
  }();
  check_product(
      p, p.ragged_m ? 12 : 2, alpha, beta,
      [](auto const& args) { simt::run(3, c.threads(), GemmPipelinedMemory(4, false, c).bytes, gemm_pipelined<float, c>, args); },
      InEights<factors == Factors::split>{});
}
template <Product p>
void check_rounded() {
  check_rounded<p, Factors::split>(-0.75F, 1.0F);
  check_rounded<p, Factors::rounded>(1.0F, 0.0F);
  check_rounded<p, Factors::split>(0.0F, 2.0F);
}
TEST(GemmPipelinedsOfRounded, Layouts) {
  check_rounded<Product{45, 35, 18, packed_rows, packed_rows, packed_rows}>();
  check_rounded<Product{70, 50, 41, columns, packed_rows, rows}>();
  check_rounded<Product{5, 4, 80, packed, packed, packed}>();
  if constexpr (!sanitized) {
    check_rounded<Product{130, 33, 33, packed, packed, packed}>();
    // Two tiles of 64 rows, and one whose warps have 64 by 64 elements
    check_rounded<Product{97, 100, 20, packed, packed_rows, packed}>();
    check_rounded<Product{125, 128, 37, packed, packed, packed_rows}>();
    check_rounded<Product{64, 64, 64, packed_rows, packed, packed}>();
  }
}
TEST(GemmPipelinedsOfRounded, Ragged) { check_rounded<Product{48, 40, 36, packed, packed, packed, true, true, true}>(); }

/// Zeros have the same signs as in other kernels.
TYPED_TEST(GemmPipelineds, Zeros) {
  constexpr auto zeros = [](Layout layout) {
    Product p{40, 35, 6, packed, packed, layout};
    p.zeros = true;
    return p;
  };
  for (int const alpha : {-1, 0})
    for (int const beta : {0, 1, -2}) {
      check<TypeParam, zeros(packed), 0>(TypeParam(alpha), TypeParam(beta));
      check<TypeParam, zeros(packed_rows), 1>(TypeParam(alpha), TypeParam(beta));
    }
}
TYPED_TEST(GemmPipelineds, InPlace) {
  constexpr auto of = [](int n, Layout layout, Structure structure) {
    Product p = structured(32, n, 32, layout, structure);
    p.in_place = true;
    return p;
  };
  check<TypeParam, of(200, packed, Structure::lower), 0>(TypeParam(2), TypeParam(0));
  check<TypeParam, of(70, packed_rows, Structure::unit_upper), 1>(TypeParam(1), TypeParam(0));
}
/// Rows and columns per lane that are split into pieces of every size, in layouts that are copied directly and transposed.
TEST(GemmPipelinedShapes, OfPieces) {
  constexpr auto shape = [](int m, int n, int k, int stages, int warps_down, Lines a, Lines b, Lines c, int c_beside) {
    GemmPipelined out = gemm_pipelined_plan(4, false, m, n, k);
    out.m = m, out.n = n, out.k = k, out.stages = stages, out.warps_down = warps_down, out.warps_across = 1, out.c_beside = c_beside;
    out.a = a, out.b = b, out.c = c;
    return out;
  };
  constexpr Product by_columns{70, 50, 21, columns, packed, packed}, by_rows{70, 50, 21, packed_rows, packed_rows, packed_rows};
  // 9 rows and 7 columns per lane, 6 and 3, 18 and 1
  check_config<float, by_columns, shape(72, 56, 8, 3, 2, Lines::columns, Lines::columns, Lines::columns, 1)>(-0.5F, 2);
  check_config<float, by_rows, shape(72, 56, 8, 3, 2, Lines::rows, Lines::rows, Lines::rows, 0)>(-0.5F, 2);
  check_config<float, by_columns, shape(72, 24, 12, 2, 3, Lines::columns, Lines::columns, Lines::columns, 0)>(-0.5F, 2);
  check_config<float, by_rows, shape(72, 8, 4, 1, 1, Lines::rows, Lines::rows, Lines::rows, 1)>(-0.5F, 2);
  check_config<std::complex<float>, by_columns, shape(36, 24, 8, 2, 3, Lines::columns, Lines::columns, Lines::columns, 1)>(-0.5F, 2);
  check_config<std::complex<float>, by_rows, shape(24, 24, 20, 1, 2, Lines::rows, Lines::rows, Lines::rows, 1)>(-0.5F, 2);
}
/// More sums per lane than in plans, as in tuning tables: 17 rows and 9 columns; complex 9 and 9.
TEST(GemmPipelinedShapes, OfManySums) {
  constexpr auto shape = [](bool complex, int m, int n) {
    GemmPipelined out = gemm_pipelined_plan(4, complex, m, n, 20);
    out.m = m, out.n = n, out.k = 16, out.stages = 2, out.warps_down = 2, out.warps_across = 1, out.c_beside = 0;
    return out;
  };
  constexpr Product product{130, 71, 21, packed, packed, packed};
  check_config<float, product, shape(false, 136, 72)>(-0.5F, 2);
  check_config<float, product, shape(false, 136, 72)>(1, 0);
  check_config<std::complex<float>, product, shape(true, 72, 72)>(-0.5F, 2);
}
/// The plan for few blocks, whose warps share a small tile.
TEST(GemmPipelinedShapes, OfFewBlocks) {
  constexpr auto shape = [](bool complex) {
    GemmPipelined out = gemm_pipelined_plan(4, complex, 64, 16, 512, 2);
    out.a = Lines::rows;
    return out;
  };
  static_assert(shape(false).threads() == 128 && shape(true).threads() == 128);
  constexpr Product product{100, 30, 70, packed_rows, packed, packed};
  check_config<float, product, shape(false)>(-0.5F, 2);
  check_config<std::complex<float>, product, shape(true)>(-0.5F, 2);
}
/// The largest tiles.
TYPED_TEST(GemmPipelineds, Large) {
  if constexpr (sanitized) {
    GTEST_SKIP() << "the same code as of smaller tiles";
  } else {
    check_scalars<TypeParam, Product{128, 128, 33, packed, packed, packed}>();
    check_scalars<TypeParam, Product{96, 96, 96, packed, packed, packed}>();
    // Tiles of the plan's list
    check<TypeParam, Product{100, 100, 44, packed, packed, packed}, 0>(TypeParam(1), TypeParam(1));
    check<TypeParam, Product{145, 145, 41, packed_rows, packed, packed_rows}, 0>(TypeParam(1), TypeParam(-1));
  }
}

// Blocks that write in place have all rows of the matrix.
TEST(GemmPipelinedPlans, HaveAllRowsInPlace) {
  for (std::int64_t m = 1; m <= gpu::gemm_rows_in_place; ++m)
    for (std::int64_t const n : {1, 2, 33, 200, 1000}) {
      for (int const real_bytes : {4, 8})
        for (bool const complex : {true, false}) EXPECT_GE(gemm_pipelined_plan(real_bytes, complex, m, n, m).m, m) << m << " " << n;
      for (int const bytes : {4, 8, 16})
        for (bool const interleaved : {true, false}) EXPECT_GE(gemm_tiles_plan(bytes, m, n, m, interleaved).m, m) << m << " " << n;
    }
}

// Every size has a kernel that fits registers and shared memory.
TEST(GemmPipelinedPlans, FitABlock) {
  for (int const real_bytes : {4, 8})
    for (bool const complex : {true, false})
      for (std::int64_t m = 1; m <= 300; m += m < 130 ? 1 : 7)
        for (std::int64_t const n : {std::int64_t{2}, std::int64_t{5}, std::int64_t{64}, std::int64_t{90}, m, 2 * m})
          for (std::int64_t const k : {std::int64_t{1}, std::int64_t{17}, std::int64_t{37}, m, std::int64_t{999}}) {
            GemmPipelined const c = gemm_pipelined_plan(real_bytes, complex, m, n, k, k == 17 ? 2 : 32);
            int const held = c.m * c.n * (complex ? 2 : 1) * (real_bytes == 8 ? 2 : 1) / c.threads();
            EXPECT_LE(c.threads(), 512) << m << " " << n << " " << k;
            EXPECT_LE(held, real_bytes == 4 ? 128 : 144) << m << " " << n << " " << k;
            int const warps_of_quarter = (c.blocks_per_sm * c.threads() / 32 + 3) / 4;
            int const others = c.blocks_per_sm == 1 ? 40 : real_bytes == 8 && complex ? 48 : 64;
            EXPECT_LE((held + others) * 32 * warps_of_quarter, 16384) << m << " " << n << " " << k;
            EXPECT_LE(gemm_pipelined_most_bytes(real_bytes, complex, c), 99 * 1024) << m << " " << n << " " << k;
            // Few multiplications are outside the matrix.
            if (m >= 33 && n >= 33) {
              EXPECT_LE(1.0 * c.m * c.n * ((m + c.m - 1) / c.m) * ((n + c.n - 1) / c.n), 2.0 * static_cast<double>(m * n)) << m << " " << n;
            }
          }
}

}  // namespace
}  // namespace myriad
