#pragma once
/// The plan of gemm_pipelined: its config for each product that does not fit shared memory as a whole.
///
/// Tried without gain (H100 and H200):
/// - Copies of the next terms spread over the sums instead of before them: up to 20% slower.
/// - C prefetched into the L2 cache: 0 to 8% slower, with A and B by TMA 1.5 times.
/// - A and B by TMA, swizzled, in double: slower at nearly all sizes (n = 512: 23.3 for 22.8 us in double complex).
/// - Factors read ahead across stages: no faster.
/// - Addresses of elements kept by each thread: up to 15% slower in single and single complex, for want of registers. Double complex uses
///   it.
/// - Stages of 32 terms instead of 16: up to 23% slower in double.
/// - Three or four warps to a quarter of a multiprocessor with 64 sums to a lane, instead of two with 128: slower in single.
/// - cp.async.ca instead of .cg: up to 10% slower in single.
/// - C loaded by inline assembly, in order: 38.9 instead of 31.8 ns (double, n = 64).
/// - A launch for every 8 rows of a ragged batch instead of 16: 2% slower.

#include <algorithm>
#include <cstdint>

#include "gemm/pipelined/gemm_pipelined_config.cuh"

namespace myriad {

/// As many blocks as the shared memory of compute capability 9.0 admits (228 KiB, 1 KiB of it the driver's per block) with registers for
/// the `words` that a lane holds. Each quarter of a multiprocessor has a quarter of the warps and registers.
constexpr int gemm_pipelined_blocks(int real_bytes, bool complex, GemmPipelined const& c, int words) {
  auto const registers = [&](int blocks) { return 512 / ((blocks * c.threads() / 32 + 3) / 4 * 4) * 4 / 8 * 8; };
  int blocks = std::clamp(233472 / (GemmPipelinedMemory(real_bytes, complex, c).bytes + 1024), 1, 32);
  while (blocks > 1 && registers(blocks) < words) --blocks;
  return blocks;
}

/// The shared memory of a block, the larger of both layouts of C.
constexpr int gemm_pipelined_most_bytes(int real_bytes, bool complex, GemmPipelined c) {
  int most = 0;
  for (Lines const lines : {Lines::columns, Lines::rows}) {
    c.c = lines;
    most = std::max(most, GemmPipelinedMemory(real_bytes, complex, c).bytes);
  }
  return most;
}

/// Estimated cycles of a single-precision product on a multiprocessor of compute capability 9.0. Instructions of a warp per term are
/// products, reads and copies (a copy with its address and a test is three), weighted for warps too few to issue them. The larger of
/// instructions and global traffic counts, with part of the smaller one and of what tiles read again from a cache. Each tile also waits for
/// its first terms and for C, which other blocks fill. The constants put configs in about the right order on an H200.
constexpr double gemm_pipelined_cost_of_lanes(bool complex, std::int64_t m, std::int64_t n, std::int64_t k, GemmPipelined const& c,
                                              int blocks) {
  int const numbers = complex ? 2 : 1, element_bytes = 4 * numbers;
  int const rows = c.m / (4 * c.warps_down), columns = c.n / (8 * c.warps_across);
  double const tiles = static_cast<double>(((m + c.m - 1) / c.m) * ((n + c.n - 1) / c.n));
  bool const by_chunks = m % (16 / element_bytes) == 0 && k % (16 / element_bytes) == 0;
  double const copies = 3.0 * (c.m + c.n) / c.threads() * (by_chunks ? element_bytes / 16.0 : 1.0);
  double const reads = 1.5 * (gemm_pipelined_pieces(element_bytes, rows) + gemm_pipelined_pieces(element_bytes, columns));
  int const warps = c.threads() / 32;
  double const issued = tiles * static_cast<double>(k) * warps / 4 * (rows * columns * numbers * numbers + reads + copies + 4) *
                        (1 + 5.0 / (blocks * warps) / (blocks * warps));
  double const moved = static_cast<double>(m * k + k * n + 2 * m * n) * element_bytes / 16;
  double const waits = tiles * (c.c_beside == 0 ? 6500 : complex ? 8000 : 5000) / blocks;
  double const from_cache = tiles * (c.m + c.n) * static_cast<double>(k) * element_bytes / 64;
  return std::max(1.45 * issued, moved) + 0.4 * std::min(issued, moved) + 0.3 * from_cache + waits;
}

/// The plan in single precision, where lanes multiply. One, two or four warps share a tile, so that all quarters of a multiprocessor have
/// equal work. Matrices are divided evenly into tiles of at most one of some sizes.
constexpr GemmPipelined gemm_pipelined_plan_of_lanes(GemmPipelined const& given, bool complex, std::int64_t m, std::int64_t n,
                                                     std::int64_t k, int blocks) {
  constexpr int sides[] = {160, 128, 112, 96, 80, 72, 64, 48, 40, 32};
  int const numbers = complex ? 2 : 1;
  bool const at_once = k * numbers <= 40;  // whether one stage holds all terms
  GemmPipelined best = given;
  double best_cost = 0;
  std::int64_t down_before = 0;
  for (int const side_m : sides) {
    std::int64_t const tiles_down = (m + side_m - 1) / side_m;
    if (tiles_down == down_before || (m <= 32 && tiles_down > 1)) continue;  // a product in place needs all rows in one block
    down_before = tiles_down;
    std::int64_t across_before = 0;
    for (int const side_n : sides) {
      std::int64_t const tiles_across = (n + side_n - 1) / side_n;
      if (tiles_across == across_before) continue;
      across_before = tiles_across;
      int const tile_m = static_cast<int>((m + tiles_down - 1) / tiles_down),
                tile_n = static_cast<int>((n + tiles_across - 1) / tiles_across);
      for (int down = 1; down <= 4; down *= 2)
        for (int across = 1; down * across <= 4; across *= 2) {
          int const rows = (tile_m + 4 * down - 1) / (4 * down), columns = (tile_n + 8 * across - 1) / (8 * across);
          int const held = numbers * rows * columns, operands = 2 * numbers * (rows + columns);
          if (held > 128) continue;
          GemmPipelined c = given;
          c.m = 4 * down * rows, c.n = 8 * across * columns, c.warps_down = down, c.warps_across = across;
          // In real, C beside the stages was slower throughout.
          for (c.c_beside = 0; c.c_beside <= (complex ? 1 : 0); ++c.c_beside) {
            c.stages = at_once ? 1 : 2;
            c.k = at_once ? static_cast<int>((k + 3) / 4 * 4) : 16;
            if (best.m != 0 && gemm_pipelined_cost_of_lanes(complex, m, n, k, c, blocks) >= best_cost) continue;
            // Shared memory of a block on compute capability 8.6
            while (gemm_pipelined_most_bytes(4, complex, c) > 99 * 1024) c.k -= 4;
            c.blocks_per_sm = std::min(gemm_pipelined_blocks(4, complex, c, held + std::max(64, operands + (complex ? 24 : 30))), blocks);
            double const cost = gemm_pipelined_cost_of_lanes(complex, m, n, k, c, c.blocks_per_sm);
            if (best.m != 0 && cost >= best_cost) continue;
            best = c;
            best_cost = cost;
          }
        }
    }
  }
  return best;
}

/// The plan in single precision on tensor cores. Matrices of up to 128 rows are one tile, or two. Two warps or more share it, each with up
/// to 64 by 64, so that what a warp reads and rounds, or splits, serves the most products.
constexpr GemmPipelined gemm_pipelined_plan_of_rounded(Factors factors, std::int64_t m, std::int64_t n, std::int64_t k) {
  auto const divide = [](std::int64_t size, std::int64_t largest) {
    std::int64_t const parts = std::max<std::int64_t>((size + largest - 1) / largest, 1);
    return static_cast<int>((size + parts - 1) / parts);
  };
  auto const up = [](int size, int unit) { return (size + unit - 1) / unit * unit; };
  int const columns = divide(n, 128), terms = divide(k, 32);
  GemmPipelined best{.m = 0,
                     .n = 0,
                     .k = up(terms, 8),
                     .stages = static_cast<int>(std::clamp<std::int64_t>((k + terms - 1) / terms, 1, 2)),
                     .warps_down = 0,
                     .warps_across = 0,
                     .blocks_per_sm = 1,
                     .c_beside = 0,
                     .a = Lines::columns,
                     .b = Lines::columns,
                     .c = Lines::columns,
                     .structure = Structure::general,
                     .written = Written::whole,
                     .factors = factors};
  double best_cost = 0;
  for (int const parts : {2, 1}) {
    if (parts == 2 && (m <= 64 || m > 104)) continue;
    int const rows = parts == 2 ? 64 : divide(m, 128);
    for (int down = 1; down <= 8; ++down)
      for (int across = 1; down * across <= 8; ++across) {
        int const m_of_warp = up(up(rows, down) / down, 16), n_of_warp = up(up(columns, across) / across, 8);
        if (m_of_warp * n_of_warp > 64 * 64 || (down * across == 1 && m_of_warp * n_of_warp > 32 * 64)) continue;
        // Cycles of a multiprocessor per term: products, and reads with their rounding
        double const products = m_of_warp * n_of_warp / (factors == Factors::split ? 170.0 : 512.0);
        double const reads = (m_of_warp + n_of_warp) / (factors == Factors::split ? 24.0 : 32.0);
        double const cost = parts * down * across * (products + reads);
        if (best.m != 0 && cost >= best_cost) continue;
        best.m = m_of_warp * down;
        best.n = n_of_warp * across;
        best.warps_down = down;
        best.warps_across = across;
        best_cost = cost;
      }
  }
  int const operands = (best.m / best.warps_down / 4 + best.n / best.warps_across / 4) * (factors == Factors::split ? 2 : 1);
  best.blocks_per_sm = gemm_pipelined_blocks(4, false, best, best.m * best.n / best.threads() + operands + 32);
  return best;
}

/// Cost of a double-precision config with several tiles, without a unit: products, including those beyond the matrix, weighted for a
/// warp's reads per product, a tile's per sum, and warps too few to hide latency. The constants put configs in about the right order on an
/// H200.
constexpr double gemm_pipelined_cost_of_warps(bool complex, std::int64_t m, std::int64_t n, GemmPipelined const& c) {
  int const numbers = complex ? 2 : 1;
  double const work = static_cast<double>((m + c.m - 1) / c.m * c.m * ((n + c.n - 1) / c.n * c.n));
  double const rows = c.m / c.warps_down, columns = c.n / c.warps_across;
  double const reads = (rows + numbers * columns) / (rows * columns * numbers), warps = c.blocks_per_sm * c.threads() / 128.0;
  return work * (1 + 1.5 * reads) * (1 + 6.0 / c.m + 6.0 / c.n) / (1 - 0.9 / (warps * warps)) * (c.blocks_per_sm > 2 ? 1.0 : 1.05) *
         (c.m * c.n * numbers * 2 > 64 * c.threads() ? 1.03 : 1.0);
}

/// A tile shape for products of several tiles, and its relative time per element and term, without the time to move the matrices. The times
/// are for sizes, and so lines without gaps, of any length, and of multiples of 2, 4 and 16.
struct GemmPipelinedShape {
  int m, n, k, stages, warps_down, warps_across, blocks_per_sm;
  double times[4];
};
/// Fitted to times on an H100, most of a list together, so the work beyond the edges of a matrix decides. Double, matrices of up to 128
/// rows and columns:
inline constexpr GemmPipelinedShape gemm_pipelined_shapes_of_double_small[] = {{96, 48, 16, 3, 2, 2, 3, {2.15, 2.15, 2.15, 1.76}},
                                                                               {112, 64, 16, 3, 7, 1, 2, {1.88, 1.88, 1.88, 1.56}},
                                                                               {128, 64, 16, 3, 2, 2, 2, {1.86, 1.86, 1.86, 1.45}}};
/// Double, larger matrices:
inline constexpr GemmPipelinedShape gemm_pipelined_shapes_of_double[] = {
    {64, 64, 16, 3, 2, 2, 3, {4.07, 3.46, 2.83, 3.18}},  {96, 96, 16, 3, 2, 2, 2, {4.11, 2.94, 2.95, 3.44}},
    {64, 80, 16, 3, 4, 1, 3, {4.18, 3.28, 2.85, 3.26}},  {48, 96, 16, 3, 1, 4, 3, {5.89, 3.94, 3.25, 3.24}},
    {64, 56, 16, 2, 4, 1, 4, {4.08, 3.80, 3.03, 3.43}},  {80, 56, 8, 4, 5, 1, 3, {4.36, 4.25, 3.36, 3.98}},
    {64, 104, 16, 2, 4, 1, 3, {3.78, 3.01, 2.99, 3.34}}, {128, 48, 8, 4, 4, 1, 3, {3.83, 3.11, 2.90, 3.42}},
    {64, 88, 16, 3, 4, 1, 3, {5.18, 3.31, 3.12, 3.38}},  {128, 64, 8, 4, 4, 1, 2, {3.85, 3.07, 3.09, 3.52}},
    {64, 112, 16, 3, 2, 2, 2, {4.30, 3.21, 3.05, 3.32}}, {64, 72, 16, 3, 4, 1, 3, {4.28, 3.70, 3.08, 3.32}}};
/// Double complex, matrices of up to 128 rows and columns, and larger ones:
inline constexpr GemmPipelinedShape gemm_pipelined_shapes_of_double_complex_small[] = {
    {80, 40, 8, 3, 5, 1, 3, {20.34, 19.28, 19.28, 19.28}},
    {96, 32, 8, 3, 2, 2, 3, {17.31, 16.58, 16.58, 16.58}},
    {64, 32, 8, 3, 4, 1, 4, {17.06, 16.44, 16.44, 16.44}},
    {64, 40, 8, 3, 4, 1, 4, {16.24, 15.62, 15.62, 15.62}},
    {64, 56, 8, 3, 4, 1, 3, {16.25, 15.78, 15.78, 15.78}}};
inline constexpr GemmPipelinedShape gemm_pipelined_shapes_of_double_complex[] = {
    {64, 48, 16, 2, 2, 2, 3, {16.45, 14.65, 14.65, 14.65}}, {96, 32, 8, 3, 2, 2, 3, {16.70, 15.05, 15.05, 15.05}},
    {48, 48, 8, 3, 1, 3, 4, {17.37, 16.35, 16.35, 16.35}},  {64, 40, 8, 3, 4, 1, 4, {16.92, 15.62, 15.62, 15.62}},
    {64, 56, 8, 3, 4, 1, 3, {16.95, 15.57, 15.57, 15.57}},  {32, 56, 8, 3, 2, 1, 5, {18.84, 16.63, 16.63, 16.63}},
    {64, 32, 8, 3, 4, 1, 4, {17.61, 15.96, 15.96, 15.96}},  {32, 40, 8, 3, 2, 1, 6, {19.30, 16.53, 16.53, 16.53}},
    {80, 40, 8, 3, 5, 1, 3, {19.20, 18.29, 18.29, 18.29}}};
/// Single, and single complex:
inline constexpr GemmPipelinedShape gemm_pipelined_shapes_of_single[] = {
    {112, 112, 16, 2, 2, 2, 3, {4.56, 4.62, 4.60, 4.60}}, {128, 64, 16, 2, 2, 1, 4, {4.39, 4.47, 4.04, 4.04}},
    {96, 64, 16, 2, 2, 1, 6, {4.30, 4.34, 3.94, 3.94}},   {96, 96, 16, 2, 2, 2, 3, {4.53, 4.53, 4.29, 4.29}},
    {104, 72, 16, 2, 2, 1, 4, {4.72, 4.71, 4.59, 4.59}},  {72, 72, 16, 2, 2, 1, 6, {4.82, 4.82, 4.65, 4.65}},
    {128, 48, 16, 2, 2, 1, 6, {4.27, 4.28, 4.03, 4.03}},  {64, 64, 16, 2, 1, 1, 8, {5.12, 5.23, 4.21, 4.21}},
    {100, 40, 16, 2, 1, 1, 8, {5.19, 5.19, 4.63, 4.63}},  {88, 88, 16, 2, 2, 1, 4, {4.86, 4.89, 4.64, 4.64}},
    {144, 72, 16, 2, 4, 1, 3, {4.45, 4.45, 4.40, 4.40}},  {152, 80, 16, 2, 2, 2, 2, {4.91, 4.91, 4.91, 4.91}},
    {56, 56, 16, 2, 1, 1, 8, {5.75, 5.74, 5.06, 5.06}},   {112, 48, 16, 2, 2, 1, 6, {4.51, 4.51, 4.38, 4.38}},
    {152, 32, 16, 2, 2, 1, 6, {5.10, 5.10, 4.63, 4.63}},  {160, 32, 16, 2, 2, 1, 6, {5.10, 5.10, 4.63, 4.63}},
    {192, 64, 16, 2, 4, 1, 3, {4.08, 4.15, 3.97, 3.97}},  {88, 64, 16, 2, 2, 1, 6, {4.34, 4.36, 4.29, 4.29}}};
inline constexpr GemmPipelinedShape gemm_pipelined_shapes_of_single_complex[] = {
    {128, 64, 16, 2, 4, 1, 2, {16.00, 15.90, 15.90, 15.90}}, {48, 64, 16, 2, 2, 1, 6, {15.79, 15.57, 15.57, 15.57}},
    {32, 64, 16, 2, 1, 1, 8, {17.49, 16.17, 16.17, 16.17}},  {80, 48, 16, 2, 4, 1, 4, {16.07, 16.22, 16.22, 16.22}},
    {48, 48, 16, 2, 2, 1, 6, {16.70, 16.34, 16.34, 16.34}},  {80, 80, 8, 3, 4, 1, 3, {16.58, 16.84, 16.84, 16.84}},
    {56, 56, 16, 2, 2, 1, 6, {16.73, 17.16, 17.16, 17.16}},  {112, 72, 16, 2, 4, 1, 2, {16.70, 17.08, 17.08, 17.08}},
    {40, 40, 16, 2, 2, 1, 8, {16.75, 16.90, 16.90, 16.90}},  {32, 32, 16, 2, 1, 1, 12, {17.85, 16.85, 16.85, 16.85}}};

/// The shape of a list that takes least time.
constexpr GemmPipelined gemm_pipelined_plan_of_shapes(GemmPipelined const& given, int real_bytes, bool complex, std::int64_t m,
                                                      std::int64_t n, std::int64_t k) {
  GemmPipelined best = given;
  double best_time = 0;
  std::int64_t const all = m | n | k;
  int const alignment = all % 16 == 0 ? 3 : all % 4 == 0 ? 2 : all % 2 == 0 ? 1 : 0;
  auto const consider = [&](auto const& shapes) {
    for (GemmPipelinedShape const& s : shapes) {
      auto const tiles = static_cast<double>((m + s.m - 1) / s.m * ((n + s.n - 1) / s.n));
      double const time = tiles * s.m * s.n * s.times[alignment];
      if (best.m != 0 && time >= best_time) continue;
      best_time = time;
      best.m = s.m, best.n = s.n, best.k = k < s.k ? given.k : s.k;
      best.stages = static_cast<int>(std::clamp<std::int64_t>((k + best.k - 1) / best.k, 2, s.stages));
      best.warps_down = s.warps_down, best.warps_across = s.warps_across, best.blocks_per_sm = s.blocks_per_sm;
    }
  };
  bool const small = std::max(m, n) <= 128;
  if (real_bytes == 4 && complex)
    consider(gemm_pipelined_shapes_of_single_complex);
  else if (real_bytes == 4)
    consider(gemm_pipelined_shapes_of_single);
  else if (complex && small)
    consider(gemm_pipelined_shapes_of_double_complex_small);
  else if (complex)
    consider(gemm_pipelined_shapes_of_double_complex);
  else if (small)
    consider(gemm_pipelined_shapes_of_double_small);
  else
    consider(gemm_pipelined_shapes_of_double);
  return best;
}

/// The plan in double precision with few rows or columns, for several tiles: matrices are divided evenly into tiles of four, seven or eight
/// warps.
constexpr GemmPipelined gemm_pipelined_plan_of_warps(GemmPipelined const& given, bool complex, std::int64_t m, std::int64_t n) {
  auto const up = [](std::int64_t size, int unit) { return static_cast<int>((size + unit - 1) / unit * unit); };
  // Whether no smaller side, of 32 or more, gives as few tiles.
  auto const divides_evenly = [&](std::int64_t size, int side, int unit) {
    std::int64_t const parts = (size + side - 1) / side;
    return side <= 128 && parts <= (size + 31) / 32 && up((size + parts - 1) / parts, unit) == side;
  };
  int const numbers = complex ? 2 : 1;
  GemmPipelined best = given;
  double best_cost = 0;
  for (int down = 1; down <= 8; ++down)
    for (int across = 1; down * across <= 8; ++across) {
      if (down * across != 4 && down * across != 8 && down * across != 7) continue;
      GemmPipelined c = given;
      c.warps_down = down, c.warps_across = across;
      if (complex && std::max(m, n) > 128) c.k = 16, c.stages = 2;
      for (c.m = up(113, 16 * down); c.m > 0; c.m -= 16 * down) {
        if (!divides_evenly(m, c.m, 16 * down)) continue;
        for (c.n = up(121, 8 * across); c.n > 0; c.n -= 8 * across) {
          int const words = c.m * c.n * numbers * 2 / c.threads();
          if (!divides_evenly(n, c.n, 8 * across) || words > (complex ? 64 : 104)) continue;
          c.blocks_per_sm = gemm_pipelined_blocks(8, complex, c, std::max(words + 64, 136));
          if (gemm_pipelined_most_bytes(8, complex, c) > 99 * 1024 || c.blocks_per_sm * c.threads() < 256) continue;
          if ((m + c.m - 1) / c.m * c.m * ((n + c.n - 1) / c.n * c.n) > 2 * m * n) continue;
          double const cost = gemm_pipelined_cost_of_warps(complex, m, n, c);
          if (best.m != 0 && cost >= best_cost) continue;
          best = c;
          best_cost = cost;
        }
      }
    }
  return best;
}

/// No limit: as many blocks per multiprocessor as there is room for.
inline constexpr int any_blocks = 32;

/// The config for products of m-by-k and k-by-n matrices, none of them interleaved. The lines are left as columns, A as general and C as
/// whole.
///
/// Larger products take a tile of a list; other single-precision products use the plan of lanes. In double, matrices of up to 80 (complex:
/// 64) rows are one tile, so that A and B are read once; those with few rows or columns are divided evenly. A tile is divided among warps
/// so that, at the rates of compute capability 9.0, products and reads from shared memory take least time, while a lane has registers for
/// its sums. `real_bytes`: size of the real and imaginary parts. `blocks`: the most blocks per multiprocessor that there are.
constexpr GemmPipelined gemm_pipelined_plan(int real_bytes, bool complex, std::int64_t m, std::int64_t n, std::int64_t k,
                                            int blocks = any_blocks) {
  struct Most {
    int side_of_whole, m, n, k, held;
  };
  bool const single = real_bytes == 4;
  Most const most = complex ? Most{64, 64, 64, 8, 40} : Most{80, 64, 128, 16, 40};
  auto const divide = [](std::int64_t size, int largest) {
    std::int64_t const parts = std::max<std::int64_t>((size + largest - 1) / largest, 1);
    return static_cast<int>((size + parts - 1) / parts);
  };
  auto const up = [](int size, int unit) { return (size + unit - 1) / unit * unit; };
  bool const whole = m <= most.side_of_whole && n <= most.side_of_whole;
  int const rows = divide(m, whole ? most.side_of_whole : most.m), columns = divide(n, most.n), terms = divide(k, most.k);
  int const numbers = complex ? 2 : 1;
  GemmPipelined best{.m = 0,
                     .n = 0,
                     .k = up(terms, 4),
                     .stages = static_cast<int>(std::clamp<std::int64_t>((k + terms - 1) / terms, 2, 3)),
                     .warps_down = 0,
                     .warps_across = 0,
                     .blocks_per_sm = 1,
                     .c_beside = 0,
                     .a = Lines::columns,
                     .b = Lines::columns,
                     .c = Lines::columns,
                     .structure = Structure::general,
                     .written = Written::whole};
  // Single-precision products of few terms, or with few blocks per multiprocessor, have plans of their own.
  bool const of_shapes = single ? std::min(m, n) > 96 && k * numbers > 40 && blocks == any_blocks : std::min(m, n) > most.side_of_whole;
  if (of_shapes) return gemm_pipelined_plan_of_shapes(best, real_bytes, complex, m, n, k);
  if (single) return gemm_pipelined_plan_of_lanes(best, complex, m, n, k, blocks);
  if (!whole) {
    GemmPipelined const several = gemm_pipelined_plan_of_warps(best, complex, m, n);
    if (several.m != 0) return several;
  }
  double best_cost = 0;
  for (int down = 1; down <= 8; ++down)
    for (int across = 1; down * across <= 16; ++across) {
      int const m_of_warp = up(up(rows, down) / down, 16), n_of_warp = up(up(columns, across) / across, 8);
      if (m_of_warp * n_of_warp * numbers > 32 * most.held) continue;
      // Cycles of a multiprocessor per term of the tile: products, and half of the time of reads
      double const products = m_of_warp * n_of_warp / 128.0 * numbers * numbers;
      double const reads = (m_of_warp + numbers * n_of_warp) / 16.0 * numbers;
      double const cost = down * across * (products + 0.5 * reads);
      if (best.m != 0 && cost >= best_cost) continue;
      best.m = m_of_warp * down;
      best.n = n_of_warp * across;
      best.warps_down = down;
      best.warps_across = across;
      best_cost = cost;
    }
  best.blocks_per_sm =
      gemm_pipelined_blocks(real_bytes, complex, best, best.m * best.n * numbers / best.threads() * (real_bytes == 8 ? 2 : 1) + 64);
  return best;
}

}  // namespace myriad
