#pragma once
/// Products of matrices on a GPU, tile by tile: config and shared memory, shared by host and kernel.

#include "gemm/gemm_arguments.cuh"
#include "simt/tile.hpp"

namespace myriad {

/// Whether a tile is all of C, with all terms in one sum, or a part.
enum class Extent : int { matrix, part };

/// One compiled kernel: a block has `matrices` tiles of C, each m-by-n and of another matrix, and sums k columns of A and rows of B at a
/// time. row_lanes times column_lanes threads share a tile; a thread's rows are row_lanes apart, its columns column_lanes.
struct GemmTiles {
  int m, n, k;
  int row_lanes, column_lanes;
  int matrices;
  int blocks_per_sm;  ///< resident blocks that registers must suffice for
  Extent extent;
  simt::Layout a, b, c;  ///< layouts of the batches of these names
  Structure structure;   ///< of A
  Written written;       ///< of C, for square tiles
  int scheduled;         ///< 1: blocks take the tiles that a schedule lists
  constexpr bool operator==(GemmTiles const&) const = default;

  SIMT_INLINE constexpr bool whole() const { return extent == Extent::matrix; }
  SIMT_INLINE constexpr int lanes() const { return row_lanes * column_lanes; }
  SIMT_INLINE constexpr int threads() const { return lanes() * matrices; }
  /// Whether every matrix has the sizes of a tile.
  SIMT_INLINE constexpr bool exact() const { return whole() && !simt::is_ragged(a) && !simt::is_ragged(b); }
};

/// The dynamic shared memory of a block: offsets of its tiles of B and C, in bytes.
struct GemmTilesMemory {
  int b, c;
  int bytes;

  SIMT_INLINE constexpr GemmTilesMemory(int element_bytes, GemmTiles const& t)
      : b(simt::TileShape(element_bytes, t.m, t.k, t.matrices, t.row_lanes, t.a).bytes),
        c(b + simt::TileShape(element_bytes, t.k, t.n, t.matrices, t.column_lanes, t.b, true).bytes),
        bytes(c + simt::TileShape(element_bytes, t.m, t.n, t.matrices, t.lanes(), t.c, true).bytes) {}
};

}  // namespace myriad
