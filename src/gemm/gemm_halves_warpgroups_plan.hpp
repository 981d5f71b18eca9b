#pragma once
/// Which kernel is used on a GPU of compute capability 9.0 for products of 16-bit numbers whose lines begin at multiples of 16 bytes.

#include <algorithm>
#include <cstdint>
#include <limits>

#include "gemm/gemm_halves_warpgroups_config.cuh"
#include "simt/boxes.hpp"

namespace myriad {

/// Whether such products go through gemm_halves_warpgroups. Not yet: of what it does, C = A B + C of matrices by columns alone has been run
/// on a GPU (docs/performance.md). A build may say so, to time it: -DMYRIAD_HALVES_BY_WARPGROUPS=true.
#ifdef MYRIAD_HALVES_BY_WARPGROUPS
inline constexpr bool gemm_halves_by_warpgroups = MYRIAD_HALVES_BY_WARPGROUPS;
#else
inline constexpr bool gemm_halves_by_warpgroups = false;
#endif

/// C has more rows or columns than this.
inline constexpr std::int64_t gemm_halves_warpgroups_above = 128;
/// Lines that are an odd multiple of 16 bytes apart begin in the middle of what memory is read by: up to so many rows and columns they were
/// slower in a prototype.
inline constexpr std::int64_t gemm_halves_warpgroups_odd_above = 256;

/// Whether products go that way that can. `bytes`: what all distances from line to line are multiples of.
constexpr bool gemm_halves_warpgroups_pays(std::int64_t m, std::int64_t n, std::int64_t bytes) {
  return std::max(m, n) > (bytes % 32 == 0 ? gemm_halves_warpgroups_above : gemm_halves_warpgroups_odd_above);
}

/// What of a config is not in the sizes.
struct GemmHalvesWarpgroupsOperands {
  Lines a, b;
  int shared_memory;  ///< that a block may have
};

/// For C of m by n. By reasoning, not timed: of the tiles whose sums are in registers (up to 128 by 256 or 192 by 192), and for which there
/// is room for three parts, so that copies of two are under way, those for which A and B are read from the second cache the fewest times;
/// then those with the fewest products of what is not there; then the smallest.
constexpr GemmHalvesWarpgroups gemm_halves_warpgroups_plan(int output_bytes, std::int64_t m, std::int64_t n,
                                                           GemmHalvesWarpgroupsOperands const& operands) {
  auto const parts = [](std::int64_t size, std::int64_t of) { return (size + of - 1) / of; };
  // Beside another tile whole boxes of C: what is of the other one in a box would be stored as it was read.
  auto const whole_of = [&](std::int64_t across) { return across > 1 ? std::max(32, 128 / output_bytes) : 32; };
  GemmHalvesWarpgroups best{};
  std::int64_t best_reads = std::numeric_limits<std::int64_t>::max(), best_columns = best_reads;
  std::int64_t const least = parts(n, 256);
  for (int warpgroups = 1; warpgroups <= 3; ++warpgroups)
    for (std::int64_t across = least; across <= 2 * least + 2; ++across) {
      GemmHalvesWarpgroups g{.warpgroups = warpgroups,
                             .columns = static_cast<int>(parts(parts(n, across), whole_of(across)) * whole_of(across)),
                             .stages = 8,
                             .c_stages = 2,
                             .a = operands.a,
                             .b = operands.b};
      if (warpgroups == 3 && g.columns > 192) continue;
      auto const fits = [&](int stages, int c_stages) {
        g.stages = stages, g.c_stages = c_stages;
        return GemmHalvesWarpgroupsMemory(output_bytes, g).bytes <= operands.shared_memory;
      };
      for (int stages = 8; stages >= 4 && !fits(stages, 2); --stages) {
      }
      if (!fits(g.stages, 2))
        for (int stages = 8; stages >= 3 && !fits(stages, 1); --stages) {
        }
      if (!fits(g.stages, g.c_stages)) continue;
      std::int64_t const reads = n * parts(m, g.rows()) + m * parts(n, g.columns), columns = parts(n, g.columns) * g.columns;
      if (reads > best_reads || (reads == best_reads && columns >= best_columns)) continue;
      best = g;
      best_reads = reads;
      best_columns = columns;
    }
  return best;
}

/// What tensor maps are made of; `lines` is how x lies, `lines_of_box` how much of it a box has.
template <typename T>
constexpr simt::BoxedMatrices gemm_boxes(simt::Matrices<T> const& x, Lines lines, int lines_of_box) {
  bool const by_columns = lines == Lines::columns;
  constexpr simt::Index size = sizeof(T);
  return {.data = x.data,
          .element_bytes = sizeof(T),
          .length = by_columns ? x.rows : x.cols,
          .lines = by_columns ? x.cols : x.rows,
          .matrices = x.batch_stride == 0 ? 1 : x.count,
          .line_further = (by_columns ? x.col_stride : x.row_stride) * size,
          // Of one there is no next one, but a number of bytes there has to be.
          .matrix_further = (x.batch_stride == 0 ? (by_columns ? x.col_stride : x.row_stride) : x.batch_stride) * size,
          .lines_of_box = lines_of_box};
}

}  // namespace myriad
