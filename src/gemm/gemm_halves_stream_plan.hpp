#pragma once
/// Which kernel is used on a GPU for products of 16-bit numbers whose A is in registers.

#include <algorithm>
#include <cstdint>

#include "gemm/gemm_halves_stream_config.cuh"

namespace myriad {

/// Whether products of m-by-k and k-by-n matrices, none of them ragged or interleaved and C by columns, go through gemm_halves_stream,
/// where a block finds the shared memory. So many bytes of every matrix may be moved at once. What the other kernels have been measured to
/// do faster is left to them: most products of up to 64 rows, and real ones of which 8 bytes are moved at once.
constexpr bool gemm_halves_streams(bool complex, std::int64_t m, std::int64_t n, std::int64_t k, int bytes_at_once) {
  std::int64_t const largest = std::max({m, n, k});
  bool const fits = std::max(m, k) <= (complex ? 128 : 256) && n <= 256 && std::min({m, n, k}) > 0;
  if (largest <= 64) return fits && largest > 60 && (complex ? bytes_at_once == 16 : bytes_at_once < 8);
  return fits && (complex || bytes_at_once != 8);
}

/// What of a config is not in the sizes.
struct GemmHalvesStreamOperands {
  Lines a, b;
  int a_unit, b_unit, c_unit;
};

/// The most words that a bank gives when lane (g, t) of a warp reads word g * by_g + t * by_t.
constexpr int words_of_a_bank(int by_g, int by_t) {
  int words[32]{}, most = 0;
  for (int lane = 0; lane < 32; ++lane) {
    int const word = lane / 4 * by_g + lane % 4 * by_t;
    bool again = false;
    for (int other = 0; other < lane; ++other) again = again || other / 4 * by_g + other % 4 * by_t == word;
    if (!again) most = std::max(most, ++words[word % 32]);
  }
  return most;
}

/// Sets what follows from the rest.
constexpr void gemm_halves_stream_complete(GemmHalvesStream& g, int element_bytes, int output_bytes, bool complex) {
  // Rows and columns of tiles so that lanes meet in banks as seldom as may be
  int const all_tiles = g.warps * g.down, half = complex ? 1 : 2;
  double best = 0;
  for (int r = half; r <= half * all_tiles; r += half)
    for (int s = 1; s <= 8; s *= 2) {
      int const row_step = complex || g.a_unit == 0 ? r : 0;
      if (all_tiles % (r / half) != 0 || g.columns % (8 * s) != 0) continue;
      if (g.b_unit != 0 && s > 1) continue;
      // Of odd numbers of terms one column begins at a word and the next one does not: all lanes have the same kind.
      if (!complex && g.b_unit == 0 && s == 1 && g.k % 2 == 1) continue;
      GemmHalvesStreamMemory const memory(element_bytes, output_bytes, complex, g);
      int const a_pitch = memory.a.pitch, b_pitch = memory.b.pitch, c_pitch = memory.c.pitch;
      double const of_a = g.a == Lines::columns ? words_of_a_bank(r / half, a_pitch) : words_of_a_bank(r * a_pitch / half, 1);
      double const of_b = g.b == Lines::columns ? words_of_a_bank(s * b_pitch / half, 1) : words_of_a_bank(s / half, b_pitch);
      double const of_c = words_of_a_bank(r / half, s * c_pitch * 2 / half);
      double const cost = of_a * g.m * g.k + of_b * g.warps * g.n * g.k + of_c * 2 * g.m * g.n;
      if (best != 0 && cost >= best) continue;
      best = cost;
      g.row_step = row_step;
      g.column_step = s;
    }
  int const steps = g.terms(complex) / (complex ? 8 : 16), words = steps * (complex ? 2 : 4);
  int const registers = 56 + g.down * words + (g.columns % 16 == 0 ? 2 : 1) * (4 * g.down + 2 * steps);
  g.blocks_per_sm = std::clamp(std::min({233472 / (GemmHalvesStreamMemory(element_bytes, output_bytes, complex, g).bytes + 1024),
                                         65536 / (g.threads() * std::min(registers, 255)), 2048 / g.threads()}),
                               1, 32);
}

/// Not tuned.
constexpr GemmHalvesStream gemm_halves_stream_plan(int element_bytes, int output_bytes, bool complex, int m, int n, int k,
                                                   GemmHalvesStreamOperands const& operands) {
  auto const up = [](int size, int unit) { return (size + unit - 1) / unit * unit; };
  GemmHalvesStream g{.m = m,
                     .n = n,
                     .k = k,
                     .columns = 0,
                     .stages = 2,
                     .warps = 0,
                     .down = 1,
                     .row_step = 0,
                     .column_step = 1,
                     .blocks_per_sm = 1,
                     .a = operands.a,
                     .b = operands.b,
                     .a_unit = operands.a_unit,
                     .b_unit = operands.b_unit,
                     .c_unit = operands.c_unit};
  int const tile_rows = complex ? 8 : 16, tiles = (m + tile_rows - 1) / tile_rows;
  bool const whole_b = g.b_unit == 0 && g.b == Lines::rows;
  // As many warps as there are tiles, or half of them where there is much to read from shared memory for a product: all measured.
  if (tiles > 1 && (complex || k > 128 || g.b_unit == 0)) g.down = 2;
  while ((tiles + g.down - 1) / g.down > 16) ++g.down;
  g.warps = (tiles + g.down - 1) / g.down;
  g.down = (tiles + g.warps - 1) / g.warps;
  g.columns = whole_b || n <= 64 ? up(n, 16) : 32;
  auto const bytes = [&] { return GemmHalvesStreamMemory(element_bytes, output_bytes, complex, g).bytes; };
  int const most_stages = std::min(g.chunks() + 1, 4);
  while (g.stages < most_stages) {
    ++g.stages;
    if (bytes() > 112 * 1024) {
      --g.stages;
      break;
    }
  }
  gemm_halves_stream_complete(g, element_bytes, output_bytes, complex);
  return g;
}

}  // namespace myriad
