#pragma once
/// Products of matrices of 16-bit numbers on a GPU, as far as they come to shared memory as a whole or lie element by element: what host
/// and kernel share.

#include "gemm/tiles/gemm_tiles_config.cuh"

namespace myriad {

/// Where lines are in shared memory: as in memory; with room between them, so that those who read meet different banks; or as in memory
/// with chunks exchanged to the same end (simt::Swizzle), where sizes and layout admit it, else with room. Copies are fastest to places as
/// in memory.
enum class Places : int { as_in_memory, padded, swizzled };

/// One compiled kernel: a block has `matrices` tiles of C, each m-by-n and of another matrix, and sums k columns of A and rows of B at a
/// time. A tile belongs to warps_down times warps_across warps, which multiply on tensor cores; where these are none, to a lane.
struct GemmHalves {
  int m, n, k;
  int warps;  ///< of the block; where tiles belong to lanes as many as these fill
  int warps_down, warps_across;
  int matrices;       ///< as many to each group of warps_down times warps_across warps
  int blocks_per_sm;  ///< for which registers have to suffice
  Places places;
  Extent extent;
  simt::Layout a, b, c;  ///< layouts of the batches of the same names below
  int scheduled;         ///< 1: blocks take the tiles that a schedule lists
  constexpr bool operator==(GemmHalves const&) const = default;

  SIMT_INLINE constexpr bool whole() const { return extent == Extent::matrix; }
  SIMT_INLINE constexpr bool by_lanes() const { return warps_down == 0; }
  SIMT_INLINE constexpr int threads() const { return 32 * warps; }
  SIMT_INLINE constexpr int warps_of_tile() const { return warps_down * warps_across; }
  /// Whether every matrix has the sizes of a tile.
  SIMT_INLINE constexpr bool exact() const { return whole() && !simt::is_ragged(a) && !simt::is_ragged(b); }
  /// Tiles of tensor cores that a warp has down and across.
  SIMT_INLINE constexpr int down(bool complex) const { return simt::ceil_div(simt::ceil_div(m, complex ? 8 : 16), warps_down); }
  SIMT_INLINE constexpr int across() const { return simt::ceil_div(simt::ceil_div(n, 8), warps_across); }
  /// So many lanes read a matrix, as far as its place in shared memory goes: a warp reads two terms of a line at once.
  SIMT_INLINE constexpr int lanes() const { return by_lanes() ? 1 : 64; }
  /// Of a matrix of such a batch
  SIMT_INLINE constexpr bool swizzles(int element_bytes, int rows, int columns, simt::Layout layout) const {
    return places == Places::swizzled && !by_lanes() && simt::swizzle_of(element_bytes, rows, columns, layout).mask != 0;
  }
  SIMT_INLINE constexpr bool is_tight(int element_bytes, int rows, int columns, simt::Layout layout) const {
    return (places == Places::as_in_memory && simt::is_packed(layout)) || swizzles(element_bytes, rows, columns, layout);
  }
  SIMT_INLINE constexpr int bytes_of(int element_bytes, int rows, int columns, simt::Layout layout) const {
    return simt::TileShape(element_bytes, rows, columns, matrices, lanes(), layout, true, false,
                           is_tight(element_bytes, rows, columns, layout))
        .bytes;
  }
};

/// The dynamic shared memory of a block, one part after the other; in bytes.
struct GemmHalvesMemory {
  int b, c;
  int bytes;

  SIMT_INLINE constexpr GemmHalvesMemory(int element_bytes, int output_bytes, GemmHalves const& g)
      : b(g.bytes_of(element_bytes, g.m, g.k, g.a)),
        c(b + g.bytes_of(element_bytes, g.k, g.n, g.b)),
        bytes(c + g.bytes_of(output_bytes, g.m, g.n, g.c)) {}
};

}  // namespace myriad
