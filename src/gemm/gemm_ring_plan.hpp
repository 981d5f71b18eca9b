#pragma once
/// Which kernel is used for a product on a GPU that is too large to be in shared memory as a whole.

#include <algorithm>
#include <cstdint>

#include "gemm/gemm_ring_config.cuh"

namespace myriad {

/// Products of m-by-k and k-by-n matrices, none of them interleaved. The lines are left as columns,
/// A as general and C as whole.
///
/// Not tuned. Matrices of up to 96 (double), 128 (single, 16 bits) or 64 (complex) rows are a tile, so that A and B are read once; larger
/// ones are divided evenly. Of the ways to divide a tile among warps, that is taken which by the rates of compute capability 9.0 needs
/// least time for products and for reads from shared memory, while a lane has registers for its sums. `real_bytes`: of the elements' real
/// and imaginary parts.
constexpr GemmRing gemm_ring_plan(int real_bytes, bool complex, std::int64_t m, std::int64_t n, std::int64_t k) {
  struct Most {
    int side_of_whole, m, n, k, held;
  };
  bool const single = real_bytes == 4, half = real_bytes == 2;
  Most const most = half      ? complex ? Most{128, 128, 64, 16, 64} : Most{128, 128, 128, 32, 64}
                         : single ? complex ? Most{64, 64, 64, 16, 64} : Most{128, 128, 128, 16, 64}
                         : complex ? Most{64, 64, 64, 8, 40}
                              : Most{96, 64, 128, 16, 40};
  auto const divide = [](std::int64_t size, int largest) {
    std::int64_t const parts = std::max<std::int64_t>((size + largest - 1) / largest, 1);
    return static_cast<int>((size + parts - 1) / parts);
  };
  auto const up = [](int size, int unit) { return (size + unit - 1) / unit * unit; };
  bool const whole = m <= most.side_of_whole && n <= most.side_of_whole;
  int const rows = divide(m, whole ? most.side_of_whole : most.m), columns = divide(n, most.n), terms = divide(k, most.k);
  int const element_bytes = real_bytes * (complex ? 2 : 1), numbers = complex ? 2 : 1;
  int const tile_rows = half ? 16 / numbers : single ? 8 : 16;
  GemmRing best{.m = 0,
                .n = 0,
                .k = up(terms, half ? 16 / numbers : 4),
                .stages = static_cast<int>(std::clamp<std::int64_t>((k + terms - 1) / terms, 2, 3)),
                .warps_down = 0,
                .warps_across = 0,
                .blocks_per_sm = 1,
                .a = Lines::columns,
                .b = Lines::columns,
                .c = Lines::columns,
                .structure = Structure::general,
                .written = Written::whole,
                .a_unit = 1,
                .b_unit = 1,
                .c_unit = 1};
  double best_cost = 0;
  for (int down = 1; down <= 8; ++down)
    for (int across = 1; down * across <= 16; ++across) {
      int const m_of_warp = up(up(rows, down) / down, tile_rows), n_of_warp = up(up(columns, across) / across, 8);
      if (m_of_warp * n_of_warp * numbers > 32 * most.held) continue;
      // Cycles of a multiprocessor for a term of the tile: its products, and half of what its reads take
      double const products = m_of_warp * n_of_warp / (half ? 1024.0 : 128.0) * numbers * numbers;
      double const reads = half     ? (m_of_warp + n_of_warp) / (complex ? 32.0 : 43.0)
                           : single ? m_of_warp / 4.0 / gemm_ring_together(element_bytes, m_of_warp / 4) +
                                          1.0 * n_of_warp / 8 * 2 / gemm_ring_together(element_bytes, n_of_warp / 8)
                                    : (m_of_warp + numbers * n_of_warp) / 16.0 * numbers;
      double const cost = down * across * (products + 0.5 * reads);
      if (best.m != 0 && cost >= best_cost) continue;
      best.m = m_of_warp * down;
      best.n = n_of_warp * across;
      best.warps_down = down;
      best.warps_across = across;
      best_cost = cost;
    }
  // As many blocks as the shared memory of compute capability 9.0 admits (228 KiB, 1 of them the driver's in each block), but not so many
  // that sums, the next operands and what else there is find no registers. A quarter of the warps shares a quarter of these.
  int const words = best.m * best.n * numbers / best.threads() * (real_bytes == 8 ? 2 : 1);
  best.blocks_per_sm = std::clamp(233472 / (GemmRingMemory(real_bytes, complex, best).bytes + 1024), 1, 32);
  auto const registers = [&](int blocks) { return 512 / up(blocks * best.threads() / 32, 4) * 4 / 8 * 8; };
  while (best.blocks_per_sm > 1 && registers(best.blocks_per_sm) < words + 64) --best.blocks_per_sm;
  return best;
}

}  // namespace myriad
