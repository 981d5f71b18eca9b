#pragma once
/// 16-bit products of matrices that fit shared memory as a whole, or that have no contiguous lines: config and shared memory, shared by
/// host and kernel.

#include "gemm/tiles/gemm_tiles_config.cuh"

namespace myriad {

/// The layout of lines in shared memory: as in global memory; padded, so that readers hit different banks; or as in global memory with
/// chunks swizzled to the same end (simt::Swizzle), where sizes and layout allow it, else padded. Copies are fastest without padding.
enum class Places : int { as_in_memory, padded, swizzled };

/// One compiled kernel: a block has `matrices` tiles of C, each m-by-n and of another matrix, and sums k columns of A and rows of B at a
/// time. warps_down times warps_across warps share a tile and multiply on tensor cores; if these are 0, a tile belongs to a lane.
struct GemmHalves {
  int m, n, k;
  int warps;  ///< of the block; where tiles belong to lanes, as many as these fill
  int warps_down, warps_across;
  int matrices;       ///< equally many for each group of warps_down times warps_across warps
  int blocks_per_sm;  ///< resident blocks that registers must suffice for
  Places places;
  Extent extent;
  simt::Layout a, b, c;  ///< layouts of the batches of these names
  int scheduled;         ///< 1: blocks take the tiles that a schedule lists
  constexpr bool operator==(GemmHalves const&) const = default;

  SIMT_INLINE constexpr bool whole() const { return extent == Extent::matrix; }
  SIMT_INLINE constexpr bool by_lanes() const { return warps_down == 0; }
  SIMT_INLINE constexpr int threads() const { return 32 * warps; }
  SIMT_INLINE constexpr int warps_of_tile() const { return warps_down * warps_across; }
  /// Whether every matrix has the sizes of a tile.
  SIMT_INLINE constexpr bool exact() const { return whole() && !simt::is_ragged(a) && !simt::is_ragged(b); }
  /// Tensor-core tiles of a warp, down and across.
  SIMT_INLINE constexpr int down(bool complex) const { return simt::ceil_div(simt::ceil_div(m, complex ? 8 : 16), warps_down); }
  SIMT_INLINE constexpr int across() const { return simt::ceil_div(simt::ceil_div(n, 8), warps_across); }
  /// Number of lanes that read a matrix, for its layout in shared memory: a warp reads two terms of a line at once.
  SIMT_INLINE constexpr int lanes() const { return by_lanes() ? 1 : 64; }
  /// Whether a matrix of such a batch is swizzled
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

/// The dynamic shared memory of a block: A, then B and C at these offsets; in bytes.
struct GemmHalvesMemory {
  int b, c;
  int bytes;

  SIMT_INLINE constexpr GemmHalvesMemory(int element_bytes, int output_bytes, GemmHalves const& g)
      : b(g.bytes_of(element_bytes, g.m, g.k, g.a)),
        c(b + g.bytes_of(element_bytes, g.k, g.n, g.b)),
        bytes(c + g.bytes_of(output_bytes, g.m, g.n, g.c)) {}
};

}  // namespace myriad
