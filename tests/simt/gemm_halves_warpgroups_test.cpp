/// 16-bit products of gemm/halves/gemm_halves_warpgroups.cuh on the host twin, with integers, so that sums are exact.

#include "gemm/halves/gemm_halves_warpgroups.cuh"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "gemm/halves/gemm_halves_warpgroups_plan.hpp"
#include "sizes.hpp"

namespace myriad {
namespace {

constexpr int shared_memory = 227 * 1024;
constexpr std::int64_t count = 3;

/// Matrices by columns or by rows, with `gap` elements between lines, in memory aligned to 16 bytes.
template <typename T>
struct Numbers {
  struct alignas(16) Chunk {
    T of[16 / sizeof(T)];
  };
  std::vector<Chunk> memory;
  simt::Matrices<T> view{};

  Numbers(int rows, int columns, Lines lines, int gap, unsigned seed, bool shared = false) {
    bool const by_columns = lines == Lines::columns;
    simt::Index const line = (by_columns ? rows : columns) + gap, size = line * (by_columns ? columns : rows);
    memory.resize(static_cast<std::size_t>(size * count) * sizeof(T) / 16 + 1);
    view = {.data = memory.front().of,
            .pointers = nullptr,
            .rows = rows,
            .cols = columns,
            .row_stride = by_columns ? 1 : line,
            .col_stride = by_columns ? line : 1,
            .batch_stride = shared ? 0 : size,
            .count = count,
            .row_sizes = nullptr,
            .col_sizes = nullptr,
            .row_strides = nullptr,
            .col_strides = nullptr,
            .row_offset = 0,
            .col_offset = 0,
            .conjugated = false};
    // NaN between elements
    std::fill_n(memory.front().of, memory.size() * 16 / sizeof(T), T(std::numeric_limits<float>::quiet_NaN()));
    std::mt19937 random(seed);
    for (simt::Index q = 0; q < (shared ? 1 : count); ++q)
      for (int j = 0; j < columns; ++j)
        for (int i = 0; i < rows; ++i) *view.at(q, i, j) = T(static_cast<float>(static_cast<int>(random() % 7) - 3));
  }
};

struct Shape {
  int m, n, k;
  Lines a, b;
  int gap = 0;
  bool shared_a = false, shared_b = false;
};

template <typename T, typename Output, Shape p>
void check(float alpha, float beta) {
  SCOPED_TRACE(testing::Message() << p.m << " x " << p.n << " x " << p.k << ", alpha " << alpha << ", beta " << beta);
  static constexpr GemmHalvesWarpgroups c = gemm_halves_warpgroups_plan(
      sizeof(Output), p.m, p.n, {.a = p.a, .b = p.b, .whole_sectors = (p.m | p.n | p.k) % 16 == 0, .shared_memory = shared_memory});
  Numbers<T> a(p.m, p.k, p.a, p.gap, 1, p.shared_a), b(p.k, p.n, p.b, p.gap, 2, p.shared_b);
  Numbers<Output> product(p.m, p.n, Lines::rows, p.gap, 3);
  Output const nan(std::numeric_limits<float>::quiet_NaN());
  if (beta == 0) std::fill_n(product.memory.front().of, product.memory.size() * 16 / sizeof(Output), nan);
  Numbers<Output> expected = product;
  expected.view.data = expected.memory.front().of;
  for (simt::Index q = 0; q < count; ++q)
    for (int i = 0; i < p.m; ++i)
      for (int j = 0; j < p.n; ++j) {
        float sum = 0;
        for (int t = 0; t < p.k; ++t) sum += float(*a.view.at(q, i, t)) * float(*b.view.at(q, t, j));
        Output& x = *expected.view.at(q, i, j);
        float const value = alpha * sum;
        x = Output(beta == 0 ? value : simt::multiply_add(beta, float(x), value));
      }
  GemmArguments<T, Output> const args{
      .alpha = alpha, .beta = beta, .a = a.view.as_const(), .b = b.view.as_const(), .c = product.view, .depth = p.k};
  GemmBoxes<T, Output> const boxes{simt::host::tensor_map(gemm_boxes(args.a, c.a, c.a_lines_of_box())),
                                   simt::host::tensor_map(gemm_boxes(args.b, c.b, c.b_lines_of_box())),
                                   simt::host::tensor_map(gemm_boxes(args.c, Lines::rows, c.rows())), args};
  // Mostly fewer blocks than tiles
  simt::run(2, c.threads(), GemmHalvesWarpgroupsMemory(sizeof(Output), c).bytes, gemm_halves_warpgroups<T, Output, c>, boxes);
  auto const* const found = reinterpret_cast<unsigned char const*>(product.memory.data());
  auto const* const wanted = reinterpret_cast<unsigned char const*>(expected.memory.data());
  for (std::size_t e = 0; e < product.memory.size() * 16; ++e) ASSERT_EQ(found[e], wanted[e]) << "byte " << e;
}

constexpr auto columns = Lines::columns, rows = Lines::rows;
using simt::Bfloat16;
using simt::Half;

TEST(GemmHalvesWarpgroups, EveryOrderOfLines) {
  check<Half, Half, Shape{112, 112, 112, rows, columns}>(0.5F, 2);
  check<Bfloat16, float, Shape{72, 104, 40, columns, rows, 8}>(1, 0);
  if constexpr (!sanitized) {
    check<Half, Half, Shape{136, 136, 136, rows, rows}>(1, 0);
    check<Half, Half, Shape{136, 136, 136, columns, columns}>(-0.5F, 1);
    check<Half, float, Shape{192, 192, 192, columns, rows}>(1, -2);
    check<Bfloat16, Bfloat16, Shape{128, 128, 128, columns, rows}>(1, 0.5F);
  }
}
TEST(GemmHalvesWarpgroups, SeveralTiles) {
  check<Half, Half, Shape{72, 264, 72, columns, columns}>(1, 1);
  if constexpr (!sanitized) {
    check<Half, Half, Shape{256, 256, 256, rows, columns}>(1, 0);
    check<Half, Half, Shape{200, 264, 136, columns, rows}>(1, 1);
    check<Half, Half, Shape{200, 136, 384, rows, rows}>(1, 0.5F);
    check<Bfloat16, float, Shape{264, 200, 64, rows, rows}>(1, 1);
  }
}
TEST(GemmHalvesWarpgroups, Rectangular) {
  check<Half, Half, Shape{8, 264, 24, rows, columns, 0, true}>(1, 0);
  if constexpr (!sanitized) {
    check<Half, float, Shape{400, 8, 72, columns, columns}>(1, 1);
  }
}
// Tiles of 128 by 256 at an edge, with two parts within the matrix
TEST(GemmHalvesWarpgroups, FewPartsOfWideTiles) {
  check<Half, Half, Shape{72, 392, 200, rows, columns}>(1, 1);
  if constexpr (!sanitized) {
    check<Half, Half, Shape{400, 272, 80, columns, rows}>(1, 0.5F);
    check<Bfloat16, Bfloat16, Shape{136, 392, 72, rows, rows}>(1, 0);
  }
}

// TMA boxes of A and B that end within 16 bytes: elements behind a line are not read as terms.
TEST(GemmHalvesWarpgroups, LinesThatEndAnywhere) {
  check<Half, float, Shape{36, 100, 52, rows, columns, 4, false, true}>(1, 1);
  if constexpr (!sanitized) {
    check<Bfloat16, float, Shape{100, 36, 100, columns, rows, 4}>(1, 0);
  }
}
// Plans fit the shared memory and registers of a block.
TEST(GemmHalvesWarpgroups, PlansFitABlock) {
  for (int const output : {2, 4})
    for (auto const& [a, b] : {std::pair(columns, columns), std::pair(columns, rows), std::pair(rows, columns), std::pair(rows, rows)})
      for (bool const whole_sectors : {true, false})
        for (std::int64_t const m : {1, 63, 128, 200, 257, 300, 384, 512, 1000, 4000})
          for (std::int64_t const n : {1, 40, 129, 256, 257, 300, 384, 512, 999, 3000}) {
            auto const c =
                gemm_halves_warpgroups_plan(output, m, n, {.a = a, .b = b, .whole_sectors = whole_sectors, .shared_memory = shared_memory});
            auto const name = testing::Message() << m << " " << n << " " << output;
            EXPECT_LE(GemmHalvesWarpgroupsMemory(output, c).bytes, shared_memory) << name;
            EXPECT_GE(c.stages, 2) << name;
            EXPECT_LE(c.columns, 256) << name;
            // No TMA box of C has columns of two tiles, since blocks store them at any time.
            EXPECT_TRUE(c.columns >= n || c.columns % (128 / output) == 0) << name;
            EXPECT_GE(c.columns, 32) << name;
            int const registers = c.warpgroups == 1 ? 255 : c.registers();
            EXPECT_LE(c.columns / 2 + 40, registers) << name;
            if (c.warpgroups > 1) {
              EXPECT_LE(c.summing() * c.registers() + 128 * c.registers_to_copy(), 65536 / c.threads() / 8 * 8 * c.threads()) << name;
            }
          }
}

}  // namespace
}  // namespace myriad
