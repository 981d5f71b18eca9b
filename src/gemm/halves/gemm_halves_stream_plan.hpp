#pragma once
/// The plan of gemm_halves_stream: its config for 16-bit products with A in registers.

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "gemm/halves/gemm_halves_stream_config.cuh"

namespace myriad {

/// Whether products of m-by-k and k-by-n matrices, none of them ragged or interleaved and C by columns, use gemm_halves_stream, if its
/// shared memory fits a block. `bytes_at_once`: bytes of every matrix that may be moved at once. Where these are 16, other kernels were
/// measured to be as fast up to 64 rows (complex: 44). Products of up to 32 rows never use it.
constexpr bool gemm_halves_streams(bool complex, std::int64_t m, std::int64_t n, std::int64_t k, int bytes_at_once) {
  std::int64_t const largest = std::max({m, n, k});
  bool const fits = std::max(m, n) <= 256 && k <= (complex ? 128 : 256) && std::min({m, n, k}) > 0;
  return fits && largest > (bytes_at_once < 16 ? 32 : complex ? 44 : 64);
}

/// Facts that a config depends on beside the sizes.
struct GemmHalvesStreamOperands {
  Lines a, b;
  int a_unit, b_unit, c_unit;
  int words;
};

/// Registers of a lane, or an upper bound.
constexpr int gemm_halves_stream_registers(GemmHalvesStream const& g, bool complex) {
  bool const twice = !complex && g.b_unit == 0 && g.b == Lines::columns && g.words == 0 && g.k % 2 == 1 && g.has_both_orders();
  int const steps = g.terms(complex) / (complex ? 8 : 16);
  return 16 + (twice ? 2 : 1) * g.down * 4 * steps + (complex ? 16 : 8) * g.down + 2 * steps;
}

/// Sets the members that follow from the others.
constexpr void gemm_halves_stream_complete(GemmHalvesStream& g, int element_bytes, int output_bytes, bool complex) {
  // Lanes hit different banks if columns of B begin 16 bytes apart, modulo 128.
  int const of_chunk = 16 / element_bytes;
  g.column_step = g.b_unit == 0 && g.b == Lines::columns ? of_chunk / std::gcd(of_chunk, g.k) : 1;
  int const registers = gemm_halves_stream_registers(g, complex);
  int const bytes = GemmHalvesStreamMemory(element_bytes, output_bytes, complex, g).bytes;
  g.blocks_per_sm = std::clamp(
      std::min({233472 / (bytes + 1024), 65536 / (g.threads() * std::min((registers + 7) / 8 * 8, 255)), 2048 / g.threads()}), 1, 32);
}

/// The config, by measurement on an H200, not by a search.
constexpr GemmHalvesStream gemm_halves_stream_plan(int element_bytes, int output_bytes, bool complex, int m, int n, int k,
                                                   GemmHalvesStreamOperands const& operands) {
  auto const up = [](int size, int unit) { return (size + unit - 1) / unit * unit; };
  GemmHalvesStream g{.m = m,
                     .n = n,
                     .k = k,
                     .columns = up(n, 8),
                     .stages = 1,
                     .warps = 0,
                     .down = 1,
                     .column_step = 1,
                     .words = operands.words,
                     .blocks_per_sm = 1,
                     .a = operands.a,
                     .b = operands.b,
                     .a_unit = operands.a_unit,
                     .b_unit = operands.b_unit,
                     .c_unit = operands.c_unit};
  int const tiles = (m + 15) / 16;
  auto const bytes = [&] { return GemmHalvesStreamMemory(element_bytes, output_bytes, complex, g).bytes; };
  auto const divide = [&](int down) {
    g.warps = (tiles + down - 1) / down;
    g.down = (tiles + g.warps - 1) / g.warps;
  };
  constexpr int of_one_block = 227 * 1024, of_two_blocks = 113 * 1024, of_four_blocks = 56 * 1024;
  divide(tiles <= 3 ? 3 : 2);
  if (bytes() <= of_two_blocks) {
    if (complex && bytes() > of_four_blocks) divide(1);
  } else {
    if (complex && tiles % 2 == 1 && m % 16 == 0) divide(1);
    bool const whole_b = g.b_unit == 0 && g.b == Lines::rows;
    auto const fits = [&](int columns, int least_stages, int most_bytes) {
      g.columns = whole_b ? up(n, 16) : columns;
      for (g.stages = std::min(g.chunks() + 1, 4); g.stages > least_stages && bytes() > most_bytes;) --g.stages;
      return bytes() <= most_bytes;
    };
    if (!fits(32, 2, of_two_blocks) && !fits(16, 2, of_two_blocks) && !fits(32, 3, of_one_block)) fits(16, 2, of_one_block);
  }
  gemm_halves_stream_complete(g, element_bytes, output_bytes, complex);
  return g;
}

}  // namespace myriad
