#pragma once
/// The plans of symv and hemv on GPUs: kernels and configs for each size.
///
/// Tried without gain (H200):
/// - Up to 256 rows, twice as many columns to a lane: 8 us instead of 5 at 128 rows.
/// - Runs with loads ahead by cp.async or bulk copies, two tiles in registers, or tiles of other shapes: at most 3 points of the copy rate
///   faster, most slower at 4096 rows.
/// - Runs of ever smaller pieces by tickets: 1 to 4 points for loads alone from 16384 rows on, but the whole kernel spills 200 bytes.
/// - Two launches that overlap instead of one with a grid barrier: 1 to 2 us slower.
/// - Loads kept in the registers that they came to, as in double complex: up to 4% slower in the other types.

#include <algorithm>
#include <cstdint>

#include "symv/symv_rows_config.cuh"
#include "symv/symv_runs_config.cuh"
#include "symv/symv_strips_config.cuh"
#include "symv/symv_tiny_config.cuh"
#include "symv/symv_whole_config.cuh"

namespace myriad {

/// The config for matrices of up to 32 rows, from registers and the shared memory of a block, not measured. Layouts are left as packed
/// columns.
constexpr SymvTiny symv_tiny_plan(Symmetry symmetry, int n) {
  int const lanes = n <= 2 ? 1 : n <= 4 ? 2 : n <= 8 ? 4 : n <= 16 ? 8 : 16;
  constexpr auto packed = simt::Layout::packed_columns;
  return {.n = n, .lanes = lanes, .matrices = 64 / lanes, .symmetry = symmetry, .a = packed, .x = packed, .y = packed};
}

/// One block has all of a matrix of more than 32 and at most this many rows.
constexpr int symv_most_rows_in_block = 128;

constexpr SymvWhole symv_whole_plan(Symmetry symmetry, SymvColumns layout, int n) {
  return {.warps = 8, .rows_of_lane = (std::min(n, symv_most_rows_in_block) + 31) / 32, .layout = layout, .symmetry = symmetry};
}

/// Most rows of a matrix that goes row by row where there are few matrices: all loads of a row are in flight at once, and no warp waits for
/// another. The bits are those of symv_whole, or of symv_strips.
constexpr int symv_most_rows_by_rows = 256;
constexpr SymvRows symv_rows_plan(Symmetry symmetry, SymvColumns layout, int n) {
  return {.most_rows = n <= 64 ? 64 : n <= 128 ? 128 : 256, .layout = layout, .symmetry = symmetry};
}

/// Most rows of larger matrices that go by strips, in one launch without a grid barrier, although elements beside the diagonal are read
/// twice; or one block per matrix, where there are at least symv_least_matrices_of_blocks. Measured on an H200.
constexpr int symv_most_rows_in_strips(int element_bytes) { return element_bytes == 16 ? 1536 : 2048; }
constexpr std::int64_t symv_least_matrices_of_blocks = 48;  ///< fewer count as few

/// The config for still larger matrices. A multiprocessor has two blocks of 8 warps, with 128 registers per thread. A lane has 16 loads of
/// 16 bytes in flight: 128 KB in all. In double complex it has 8, since 16 sums would leave no registers; three blocks, with 80 registers,
/// spill. There are four pieces for each block resident on 132 multiprocessors; on other GPUs the blocks' shares are nearly equal, too.
constexpr SymvRuns symv_runs_plan(int element_bytes, Symmetry symmetry, SymvColumns layout) {
  bool const wide = element_bytes == 16;
  return {.warps = 8, .columns = wide ? 8 : 16, .blocks_per_sm = 2, .pieces = 4 * 2 * 132, .layout = layout, .symmetry = symmetry};
}
/// The config of symv_matrices, one block per matrix: a panel has symv_columns_of_panel columns.
constexpr SymvRuns symv_matrices_plan(int element_bytes, Symmetry symmetry, SymvColumns layout) {
  bool const wide = element_bytes == 16;
  return {
      .warps = wide ? 16 : 8, .columns = wide ? 8 : 16, .blocks_per_sm = wide ? 1 : 2, .pieces = 1, .layout = layout, .symmetry = symmetry};
}

constexpr SymvShares symv_shares(int element_bytes, SymvRuns const& c, int n, bool lower) {
  return {n, c.tile_rows(element_bytes), c.tile_columns(), c.pieces, lower};
}

/// Number of matrices that take at most 256 MB of workspace together; at least one.
constexpr std::int64_t symv_matrices_at_a_time(int element_bytes, std::int64_t elements) {
  constexpr std::int64_t most_bytes = 256 << 20;
  return std::max<std::int64_t>(most_bytes / (elements * element_bytes), 1);
}

}  // namespace myriad
