#pragma once
/// The plan of gemm_halves_warpgroups: its config for 16-bit products on compute capability 9.0 with lines at multiples of 16 bytes.
///
/// Tried without gain (H100):
/// - One tile (192 by 128) for all sizes: up to 1.22 times slower than the choice below.
/// - As many blocks as multiprocessors (132): with 2, 3, 4, 6 or 12 tiles to a matrix most blocks wait for those with whole tiles (n = 288:
///   465 ns, with 131 blocks 225).

#include <algorithm>
#include <cstdint>

#include "gemm/halves/gemm_halves_warpgroups_config.cuh"
#include "simt/boxes.hpp"

namespace myriad {

/// Whether products that can use gemm_halves_warpgroups do: those of one tile, if there are as many as multiprocessors, and large ones.
/// Between them the other kernels were faster. Few rows, columns or terms were not timed.
constexpr bool gemm_halves_warpgroups_pays(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t count, int multiprocessors) {
  std::int64_t const side = std::max(m, n);
  return std::min({m, n, k}) >= 64 && (side > 256 || (side > 128 && side <= 192 && count >= multiprocessors));
}

/// Facts that a config depends on beside the sizes.
struct GemmHalvesWarpgroupsOperands {
  Lines a, b;
  bool whole_sectors;  ///< lines begin at multiples of 32 bytes, the unit of memory reads
  int shared_memory;   ///< available to a block
};

/// The config for C of m by n: one tile if its sums and stages fit. With several tiles, the tile that in half was least behind the best one
/// at such sizes on an H100; with 32-bit C none was timed. C has two stages if A and B keep the least number of theirs, so that C is loaded
/// and stored while a tile is summed. `columns` is 0 where nothing fits.
constexpr GemmHalvesWarpgroups gemm_halves_warpgroups_plan(int output_bytes, std::int64_t m, std::int64_t n,
                                                           GemmHalvesWarpgroupsOperands const& operands) {
  auto const parts = [](std::int64_t size, int of) { return static_cast<int>((size + of - 1) / of); };
  GemmHalvesWarpgroups g{.warpgroups = 0, .columns = 0, .stages = 0, .c_stages = 0, .a = operands.a, .b = operands.b};
  auto const fits = [&](int warpgroups, int columns, int least_stages) {
    g.warpgroups = std::min(parts(m, 64), warpgroups), g.columns = std::min(parts(n, 32) * 32, columns);
    GemmHalvesWarpgroups most = g;  // the most shared memory of all layouts
    most.a = Lines::columns, most.b = Lines::rows;
    for (most.c_stages = g.c_stages = 2; g.c_stages > 0; most.c_stages = --g.c_stages)
      for (most.stages = g.stages = 8; g.stages >= least_stages; most.stages = --g.stages)
        if (GemmHalvesWarpgroupsMemory(output_bytes, most).bytes <= operands.shared_memory) return true;
    return false;
  };
  std::int64_t const side = std::max(m, n);
  if (side <= 192 && fits(3, 192, 3)) return g;
  if (output_bytes == 2) {
    bool const wide = operands.whole_sectors ? side > 352 && side <= 448 : side > 384;
    if (wide && fits(2, 256, 2)) return g;
    if (!wide && !operands.whole_sectors && fits(3, 192, 3)) return g;
    if (operands.whole_sectors && side > 512 && fits(2, 128, 3)) return g;
  }
  if (fits(3, 128, 3)) return g;
  g.columns = 0;
  return g;
}

/// The description for a tensor map; `lines`: the direction in which x is contiguous, `lines_of_box`: its lines in a box.
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
          // A single matrix has no next one, but a tensor map needs a number of bytes.
          .matrix_further = (x.batch_stride == 0 ? (by_columns ? x.col_stride : x.row_stride) : x.batch_stride) * size,
          .lines_of_box = lines_of_box};
}

}  // namespace myriad
