/// Kernels of gemm/tiles/gemm_tiles.cuh on the host twin against the CPU path.

#include "gemm/tiles/gemm_tiles.cuh"

#include <gtest/gtest.h>

#include <algorithm>
#include <complex>

#include "gemm/tiles/gemm_tiles_plan.hpp"
#include "product.hpp"
#include "schedule.hpp"

namespace myriad {
namespace {

/// The kernel that a GPU would use for these layouts.
template <typename T, Product p>
constexpr GemmTiles config() {
  bool const interleaved = p.a == Layout::interleaved || p.b == Layout::interleaved || p.c == Layout::interleaved;
  bool const ragged = p.ragged_m || p.ragged_n || p.ragged_k;
  GemmTiles c = gemm_tiles_plan(sizeof(T), p.m, p.n, p.k, interleaved && !ragged);
  auto const layout = [&](Layout given, bool differs) {
    if (differs) return ragged_layout(given);
    return c.whole() ? given : gpu::by_elements(given);
  };
  c.a = p.shared_a ? Layout::columns : layout(p.a, p.ragged_m || p.ragged_k);
  c.b = layout(p.b, p.ragged_k || p.ragged_n);
  c.c = layout(p.c, p.ragged_m || p.ragged_n);
  c.structure = p.structure;
  c.written = p.written;
  return c;
}

template <typename T, Product p>
void check(T alpha, T beta) {
  static constexpr GemmTiles c = config<T, p>();
  check_product(p, (c.whole() ? 2 : 1) * c.matrices + 1, alpha, beta, [](auto const& args) {
    simt::run(3, c.threads(), GemmTilesMemory(sizeof(T), c).bytes, gemm_tiles<gpu::DeviceElement<T>, c>, args);
  });
}

template <typename T, Product p>
void check_scalars() {
  check<T, p>(T(1), T(0));
  check<T, p>(T(-0.75), T(1));
  check<T, p>(T(0), T(2));
  check<T, p>(T(0), T(0));
}

constexpr Layout columns = Layout::columns, rows = Layout::rows, packed = Layout::packed_columns, packed_rows = Layout::packed_rows,
                 interleaved_ = Layout::interleaved;

TEST(GemmTiles, WholeMatrices) {
  check_scalars<float, Product{1, 1, 1, packed, packed, packed}>();
  check_scalars<float, Product{8, 8, 8, packed, packed, packed}>();
  check_scalars<float, Product{31, 31, 31, packed_rows, packed, packed}>();
  check_scalars<float, Product{32, 32, 32, packed, packed_rows, packed_rows}>();
  check_scalars<double, Product{2, 2, 2, packed, packed, packed}>();
  check_scalars<double, Product{16, 16, 16, packed, packed, packed}>();
  check_scalars<double, Product{17, 1, 32, columns, columns, rows}>();
  check_scalars<double, Product{20, 20, 20, packed, columns, packed, false, false, false, true}>();
  check_scalars<std::complex<float>, Product{13, 32, 2, packed, packed_rows, columns}>();
  check_scalars<std::complex<double>, Product{9, 9, 9, packed, packed, packed}>();
  check_scalars<std::complex<double>, Product{32, 32, 32, packed, packed, packed}>();
}
TEST(GemmTiles, OneColumn) {
  check_scalars<float, Product{2, 1, 2, packed, packed, packed}>();
  check_scalars<float, Product{8, 1, 8, packed_rows, packed, packed}>();
  check_scalars<float, Product{31, 1, 31, packed, columns, rows}>();
  check_scalars<float, Product{5, 1, 6, packed, packed, packed}>();
  check_scalars<double, Product{17, 1, 17, packed, packed, packed}>();
  check_scalars<double, Product{32, 1, 3, rows, packed, columns}>();
  check_scalars<double, Product{12, 1, 12, packed, packed, packed, true, false, true}>();
  check_scalars<std::complex<float>, Product{8, 1, 8, interleaved_, interleaved_, interleaved_}>();
  check_scalars<std::complex<double>, Product{32, 1, 32, packed, packed, packed}>();
  check_scalars<float, Product{4, 1, 70, packed, packed, packed}>();
  check_scalars<double, Product{130, 1, 5, packed, packed, packed}>();
  check_scalars<std::complex<double>, Product{70, 1, 40, packed_rows, packed, packed, true, false, true}>();
}
TEST(GemmTiles, OneTerm) {
  check_scalars<float, Product{2, 2, 1, packed, packed_rows, packed}>();
  check_scalars<double, Product{9, 9, 1, packed, packed_rows, packed}>();
  check_scalars<float, Product{31, 31, 1, columns, rows, packed_rows}>();
  check_scalars<std::complex<double>, Product{7, 12, 1, packed, packed_rows, packed, true, true, false}>();
  check_scalars<std::complex<float>, Product{8, 8, 1, interleaved_, interleaved_, interleaved_}>();
  check_scalars<float, Product{130, 3, 1, packed, packed_rows, packed}>();
  check_scalars<double, Product{5, 130, 1, packed, packed_rows, packed_rows}>();
  check_scalars<std::complex<double>, Product{40, 70, 1, packed, packed_rows, packed}>();
  check_scalars<float, Product{70, 66, 1, columns, rows, rows, true, true, false}>();
}
TEST(GemmTiles, Parts) {
  check_scalars<float, Product{45, 66, 19, packed, packed, packed}>();
  check_scalars<double, Product{5, 70, 40, packed_rows, columns, packed}>();
  check_scalars<double, Product{64, 64, 64, packed, packed, packed_rows, false, false, false, true}>();
  check_scalars<std::complex<float>, Product{1, 1, 100, rows, packed, packed}>();
  check_scalars<std::complex<double>, Product{33, 12, 16, packed, packed, packed}>();
}
TEST(GemmTiles, Interleaved) {
  check_scalars<float, Product{7, 3, 5, interleaved_, interleaved_, interleaved_}>();
  check_scalars<float, Product{32, 32, 32, interleaved_, interleaved_, interleaved_}>();
  check_scalars<double, Product{24, 24, 24, interleaved_, packed, interleaved_}>();
  check_scalars<double, Product{40, 6, 33, interleaved_, interleaved_, interleaved_}>();
  check_scalars<std::complex<double>, Product{4, 4, 4, packed, interleaved_, packed}>();
}
/// With a schedule: neighbouring matrices of a block have the tiles of the largest one.
template <typename T, Product p, int matrices>
void check_scheduled() {
  static constexpr GemmTiles c = [] {
    GemmTiles out = config<T, p>();
    out.matrices = matrices;
    out.scheduled = 1;
    return out;
  }();
  static_assert(!c.whole());
  for (auto const& [alpha, beta] : {std::pair(T(-0.75), T(1)), std::pair(T(1), T(0)), std::pair(T(0), T(2))})
    check_product(p, 13, alpha, beta, [](auto const& given) {
      auto args = given;
      Schedule const schedule(args.a, args.c, {{1000, c.m, c.n}}, 1, matrices);
      args.schedule = schedule.of_part(0);
      simt::run(3, c.threads(), GemmTilesMemory(sizeof(T), c).bytes, gemm_tiles<gpu::DeviceElement<T>, c>, args);
    });
}
TEST(GemmTiles, RaggedWithASchedule) {
  check_scheduled<double, Product{70, 66, 1, columns, rows, rows, true, true, false}, 1>();
  check_scheduled<float, Product{130, 40, 1, packed, packed_rows, packed, true, true, true}, 3>();
  check_scheduled<std::complex<float>, Product{40, 70, 33, interleaved_, interleaved_, interleaved_, true, true, true}, 1>();
  check_scheduled<std::complex<double>, Product{5, 70, 3, interleaved_, packed, interleaved_, true, true, true}, 2>();
}
TEST(GemmTiles, Ragged) {
  check_scalars<float, Product{12, 10, 9, packed, packed, packed, true, true, true}>();
  check_scalars<double, Product{33, 40, 50, packed_rows, packed, packed_rows, true, true, true}>();
  check_scalars<double, Product{16, 16, 16, packed, interleaved_, packed, false, false, true}>();
  check_scalars<std::complex<float>, Product{8, 40, 8, rows, packed, interleaved_, false, true, false}>();
  check_scalars<std::complex<double>, Product{20, 5, 3, columns, rows, packed, true, false, false}>();
}

constexpr Product structured(int m, int n, int k, Layout layout, Structure structure, Written written = Written::whole) {
  return {.m = m, .n = n, .k = k, .a = layout, .b = layout, .c = layout, .structure = structure, .written = written};
}
TEST(GemmTiles, Structures) {
  check_scalars<float, structured(7, 7, 7, packed, Structure::symmetric)>();
  check_scalars<double, structured(32, 5, 32, packed_rows, Structure::symmetric)>();
  check_scalars<std::complex<float>, structured(9, 9, 9, packed, Structure::hermitian)>();
  check_scalars<std::complex<double>, structured(12, 3, 12, columns, Structure::hermitian)>();
  check_scalars<std::complex<double>, structured(40, 6, 40, interleaved_, Structure::hermitian)>();
  check_scalars<double, structured(40, 33, 40, interleaved_, Structure::symmetric)>();
  check_scalars<float, structured(13, 4, 13, packed, Structure::lower)>();
  check_scalars<double, structured(16, 16, 16, packed_rows, Structure::unit_lower)>();
  check_scalars<std::complex<float>, structured(20, 1, 20, packed, Structure::upper)>();
  check_scalars<double, structured(70, 1, 70, packed, Structure::unit_upper)>();
  Product constexpr ragged{
      .m = 12, .n = 10, .k = 12, .a = packed, .b = packed, .c = packed, .ragged_m = true, .structure = Structure::upper};
  check_scalars<double, ragged>();
}
TEST(GemmTiles, Triangles) {
  check_scalars<float, structured(8, 8, 8, packed, Structure::general, Written::lower)>();
  check_scalars<double, structured(17, 17, 3, packed_rows, Structure::general, Written::lower)>();
  check_scalars<double, structured(31, 31, 31, columns, Structure::general, Written::lower)>();
  check_scalars<std::complex<float>, structured(9, 9, 9, packed, Structure::general, Written::lower_hermitian)>();
  check_scalars<std::complex<double>, structured(40, 40, 20, interleaved_, Structure::general, Written::lower_hermitian)>();
  check_scalars<double, structured(70, 70, 1, columns, Structure::general, Written::lower)>();
}
TEST(GemmTiles, InPlace) {
  constexpr auto of = [](int m, int n, Layout layout, Structure structure) {
    Product p = structured(m, n, m, layout, structure);
    p.in_place = true;
    return p;
  };
  check<double, of(32, 32, packed, Structure::lower)>(2, 0);
  check<float, of(7, 3, packed_rows, Structure::unit_upper)>(1, 0);
  check<std::complex<double>, of(32, 70, interleaved_, Structure::upper)>(1, 0);
  check<double, of(32, 1, columns, Structure::lower)>(1, 0);
}

// For a product with a vector a block loads whole 16-byte chunks of A, no more rows or terms than exist, and so little that four blocks
// fit.
TEST(GemmTiles, OneColumnIsLoadedInWholeChunks) {
  for (int const bytes : {4, 8, 16})
    for (std::int64_t m = 1; m <= 300; m += m < 36 ? 1 : 7)
      for (std::int64_t const k : {std::int64_t{1}, std::int64_t{7}, m, std::int64_t{256}}) {
        GemmTiles const c = gemm_tiles_plan(bytes, m, 1, k, false);
        EXPECT_GE(c.threads(), 64) << m << " " << k;
        EXPECT_LE(c.row_lanes, std::max<std::int64_t>(2 * m, 1)) << m << " " << k;
        EXPECT_EQ(c.column_lanes, 1) << m << " " << k;
        EXPECT_EQ(c.matrices * c.m * c.k * bytes % 16, 0) << m << " " << k;
        EXPECT_LE(GemmTilesMemory(bytes, c).bytes, 57 * 1024) << m << " " << k;
        EXPECT_LE(c.m, (m + 7) / 8 * 8) << m << " " << k;
        EXPECT_LE(c.k, k) << m << " " << k;
      }
}

// The largest tiles fit the shared memory of a block in every layout, also with 99 KiB.
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
                EXPECT_LE(GemmTilesMemory(bytes, c).bytes, 99 * 1024) << bytes << " " << m << " " << n << " " << k;
              }
          }
}

}  // namespace
}  // namespace myriad
