#pragma once
/// The plan of gemm_bulk: the products that it computes, and its config for each.
///
/// Tried without gain (H100 and H200):
/// - Bank conflicts counted lane by lane in the cost: no better choice of configs.
/// - Few lanes with many sums each, which read least from shared memory: up to 1.4 times slower than more warps with smaller ones.

#include <algorithm>
#include <cstdint>
#include <limits>

#include "gemm/bulk/gemm_bulk_config.cuh"

namespace myriad {

/// Whether a product of m-by-k and k-by-n matrices uses gemm_bulk; no batch may be ragged, and the GPU must have bulk copies and enough
/// shared memory for a block. True at sizes at which, by its plan or a config of the table, it was faster than gemm_pipelined on an H200
/// or, larger ones, on an H100, or as fast within 2%. Where k is a multiple of 8, gemm_pipelined copies no single elements, and lanes have
/// bank conflicts here, few at odd multiples. At some multiples of 4 the tiles of gemm_pipelined are full in single.
constexpr bool gemm_bulk_pays(int real_bytes, bool complex, std::int64_t m, std::int64_t n, std::int64_t k) {
  std::int64_t const largest = std::max({m, n, k});
  if (std::min({m, n, k}) <= 32 || largest > 132) return false;
  if (real_bytes == 8) return k % 8 != 0 && (!complex || largest <= 47);
  if (k % 8 == 0 && (k % 16 == 0 || largest <= (complex ? 80 : 98))) return false;
  if (complex) return largest <= 88 || (largest > 96 && largest <= 100);
  auto const fills = [](std::int64_t size) { return size >= 44 && size <= 52; };
  bool const tiles_are_full = m % 4 == 0 && k % 4 == 0 && fills(m) && fills(n);
  return largest <= 120 && !tiles_are_full;
}

/// Registers per lane that a config is to have.
constexpr int gemm_bulk_registers(int real_bytes, bool complex, GemmBulk const& g) {
  int const numbers = complex ? 2 : 1, fours = simt::ceil_div(g.k * numbers, 4);
  int const needed = real_bytes == 8 ? 4 * fours + (complex ? 32 : 16) + 46
                                     : numbers * (g.held_rows * g.held_columns + g.unit * (g.held_rows + g.held_columns)) +
                                           (g.unit * numbers == 4 ? 24 : 36);  // operands of several terms are not all live at once
  return std::min((needed + 7) / 8 * 8, 255);
}
/// As many blocks as registers and shared memory of compute capability 9.0 admit.
constexpr int gemm_bulk_most_blocks(int real_bytes, bool complex, GemmBulk const& g) {
  int const bytes = GemmBulkMemory(real_bytes * (complex ? 2 : 1), g).bytes;
  return std::clamp(std::min(233472 / (bytes + 1024), 65536 / (g.threads() * gemm_bulk_registers(real_bytes, complex, g))), 1, 32);
}
/// As many blocks as leave lanes all registers that they are to have: each quarter of a multiprocessor has a quarter of the warps and of
/// the registers. Tensor cores do with fewer.
constexpr int gemm_bulk_blocks(int real_bytes, bool complex, GemmBulk const& g) {
  int const words = gemm_bulk_registers(real_bytes, complex, g);
  int blocks = gemm_bulk_most_blocks(real_bytes, complex, g);
  while (g.held_rows != 0 && blocks > 1 && simt::ceil_div(blocks * g.threads() / 32, 4) * 32 * words > 16384) --blocks;
  return blocks;
}

/// All columns at once if two blocks have room for that, in real; else stages of some columns, for one product in each of two blocks, or
/// ahead in one block.
constexpr GemmBulk gemm_bulk_plan_of_warps(bool complex, GemmBulk const& given) {
  int const element_bytes = complex ? 16 : 8;
  auto const with_blocks = [&](GemmBulk g) {
    g.blocks_per_sm = gemm_bulk_blocks(8, complex, g);
    return g;
  };
  GemmBulk whole = given;
  whole.columns = (given.n + 15) / 16 * 16;
  whole.stages = 1;
  whole = with_blocks(whole);
  if (!complex && whole.blocks_per_sm > 1) return whole;
  GemmBulk best = with_blocks(given);
  int const blocks = best.blocks_per_sm;
  while (best.stages < (blocks > 1 ? std::min(best.parts(), 4) : 6)) {
    GemmBulk more = best;
    ++more.stages;
    if (GemmBulkMemory(element_bytes, more).bytes > 227 * 1024 || gemm_bulk_blocks(8, complex, more) < blocks) break;
    best = more;
  }
  return best;
}

/// Estimated cycles, squared, of a single-precision product on a multiprocessor of compute capability 9.0: the sum of the squares of
/// instruction issue, shared-memory reads, global traffic, and the time that one block waits for its terms and for itself. Fitted to times
/// of configs on an H200 and an H100: the config it selects was 4 to 6% slower than the fastest on average.
constexpr double gemm_bulk_cost_of_lanes(bool complex, GemmBulk const& g) {
  int const numbers = complex ? 2 : 1;
  double const products = g.held_rows * g.held_columns * numbers * numbers, terms = g.k, parts = g.parts(), warps = parts * g.warps();
  double const issued = warps * terms * (products + 2.5) / 4;
  double const read = warps * terms * numbers * (0.49 * g.held_rows + 0.47 * g.held_columns / g.unit);
  double const moved = (terms * (g.m + g.n) + (g.c_shared != 0 ? 2.0 : 2.3) * g.m * g.n) * 4 * numbers / 15;
  double const begins = g.blocks_per_sm > 1 ? 1190 : g.a_stages > 1 ? 0 : g.stages > 1 ? 6500 : 25000;
  double const waits =
      (parts * terms * (36.0 / g.unit + 1.25 * products) + (g.stages > 1 ? 0 : (parts - 1) * 4800) + begins) / g.blocks_per_sm;
  return issued * issued + read * read + moved * moved + waits * waits;
}

/// Cost of a config, without a unit. In double: the products, weighted for warps too few to hide latency, for the number of parts, each of
/// which is waited for, and for blocks that idle while they wait.
constexpr double gemm_bulk_cost(int real_bytes, bool complex, GemmBulk const& g) {
  if (real_bytes == 4) return gemm_bulk_cost_of_lanes(complex, g);
  int const warps = g.blocks_per_sm * g.warps();
  bool const one = g.blocks_per_sm == 1 && g.stages == 1;
  double const work = g.parts() * g.warps() * static_cast<double>(g.k) * simt::ceil_div(g.columns, 8);
  return work * (1 + 6.0 / warps / warps) * (1 + 0.03 * g.parts()) * (one ? 2 : 1) * (g.blocks_per_sm > 1 ? 1 : 1.1);
}

/// The config of least cost. Where several blocks share a multiprocessor, each has one product and nothing to load beyond it.
constexpr GemmBulk gemm_bulk_plan_of_lanes(bool complex, GemmBulk const& given) {
  int const element_bytes = complex ? 8 : 4, numbers = complex ? 2 : 1;
  GemmBulk best = given;
  double best_cost = 0;
  for (int parts = 1; parts <= 4; ++parts)
    for (int rows = given.a == Lines::columns ? given.unit : 1; rows <= 16; rows += given.a == Lines::columns ? given.unit : 1)
      for (int columns = 1; columns <= 16; ++columns) {
        if (rows * columns * numbers > 80) continue;
        GemmBulk g = given;
        g.columns = (g.n + parts - 1) / parts;
        g.held_rows = rows, g.held_columns = columns;
        if (g.warps() > 12) continue;
        for (g.c_shared = 0; g.c_shared <= 1; ++g.c_shared)
          for (bool const ahead : {false, true}) {
            g.stages = ahead ? std::min(parts, 2) + 1 : std::min(parts, 2);
            g.a_stages = ahead && parts == 1 ? 2 : 1;
            if (GemmBulkMemory(element_bytes, g).bytes > 227 * 1024) continue;
            g.blocks_per_sm = ahead ? 1 : gemm_bulk_blocks(4, complex, g);
            double const cost = gemm_bulk_cost_of_lanes(complex, g);
            if (best.held_rows != 0 && cost >= best_cost) continue;
            best = g;
            best_cost = cost;
          }
      }
  return best;
}

/// With several blocks per multiprocessor each has one product, so that blocks that wait and blocks that multiply take turns; in the
/// prototype on an H200 that was 3 to 10% faster than persistent blocks. A single block is persistent and copies ahead (4 to 10%).
constexpr std::int64_t gemm_bulk_grid(GemmBulk const& g, std::int64_t count, int multiprocessors) {
  return g.blocks_per_sm > 1 ? std::min<std::int64_t>(count, std::numeric_limits<std::int32_t>::max())
                             : std::min<std::int64_t>(count, multiprocessors);
}

/// `unit`: see GemmBulk.
constexpr GemmBulk gemm_bulk_plan(int real_bytes, bool complex, int m, int n, int k, Lines a, int unit) {
  GemmBulk const given{.m = m, .n = n, .k = k, .columns = 16, .stages = 2, .a_stages = 1, .blocks_per_sm = 1, .a = a};
  if (real_bytes == 8) return gemm_bulk_plan_of_warps(complex, given);
  GemmBulk g = given;
  g.unit = unit;
  return gemm_bulk_plan_of_lanes(complex, g);
}

}  // namespace myriad
