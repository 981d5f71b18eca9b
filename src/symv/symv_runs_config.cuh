#pragma once
/// y = alpha A x + beta y with a triangle of A, by runs of tiles: config, shares of blocks and shared memory, shared by host and kernels.

#include "symv/symv_matrix.cuh"
#include "symv/symv_tiles.cuh"

namespace myriad {

/// One compiled kernel. A panel of A is `warps` times `columns` columns wide, with `columns` for each warp. Of each column of a tile a lane
/// loads 16 bytes.
struct SymvRuns {
  int warps, columns;
  int blocks_per_sm;  ///< resident blocks that registers must suffice for
  int pieces;         ///< of a matrix; see SymvShares
  SymvColumns layout;
  Symmetry symmetry;
  constexpr bool operator==(SymvRuns const&) const = default;

  SIMT_INLINE constexpr int threads() const { return 32 * warps; }
  SIMT_INLINE constexpr int tile_columns() const { return warps * columns; }
  SIMT_INLINE constexpr int tile_rows(int element_bytes) const { return 32 * 16 / element_bytes; }
  /// Dynamic shared memory of a block: x of two panels; row sums of every warp for two tiles; for each column the stored elements of 16
  /// bytes at the diagonal and at the last row; and 16 bytes of x for each lane.
  SIMT_INLINE constexpr int shared_bytes(int element_bytes) const {
    return (2 * tile_columns() + 2 * warps * tile_rows(element_bytes)) * element_bytes +
           (element_bytes < 16 ? 2 * 16 * tile_columns() : 0) + 16 * threads();
  }
  /// The same where a block has all of an n-by-n matrix; sums of rows and of columns follow.
  SIMT_INLINE constexpr int shared_bytes_of_matrix(int element_bytes, int n) const {
    int const r = tile_rows(element_bytes), c = tile_columns();
    return shared_bytes(element_bytes) + (simt::ceil_div(n, r) * r + simt::ceil_div(n, c) * c) * element_bytes;
  }
};

/// The division of a triangle's tiles into pieces of neighbours, some with one tile more than others, or into single tiles. A block has
/// consecutive pieces. Column sums of a piece in one panel are added in registers. The division depends on n, uplo and the tile size alone,
/// so the sums of a matrix are the same in every batch, on every GPU and with any number of blocks.
struct SymvShares : SymvTriangle {
  int pieces;
  int size, larger_pieces;  ///< tiles of a piece, and number of first pieces with one more

  SIMT_INLINE constexpr SymvShares(int n, int rows_of_tile, int columns_of_tile, int usual_pieces, bool is_lower)
      : SymvTriangle(n, rows_of_tile, columns_of_tile, is_lower),
        pieces(simt::smaller(count, usual_pieces)),
        size(simt::larger(count / usual_pieces, 1)),
        larger_pieces(count - pieces * size) {}

  /// The first tile of a piece; `count` for the number of pieces.
  SIMT_INLINE constexpr int first_tile(int piece) const { return piece * size + simt::smaller(piece, larger_pieces); }
  SIMT_INLINE constexpr int piece_of(int tile) const {
    int const of_larger = larger_pieces * (size + 1);
    return tile < of_larger ? tile / (size + 1) : larger_pieces + (tile - of_larger) / size;
  }
  /// A range [first, last) of tiles.
  struct Range {
    int first, last;
  };

  /// Elements of workspace: row sums of every tile, then column sums of every piece and panel that meet. From tile to tile the piece or the
  /// panel advances, or both, so their sum numbers the pair. It suffices for all smaller matrices, too.
  SIMT_INLINE constexpr simt::Index elements() const {
    return static_cast<simt::Index>(count) * rows + static_cast<simt::Index>(pieces + panels - 1) * columns;
  }
  SIMT_INLINE constexpr simt::Index row_sums(int tile) const { return static_cast<simt::Index>(tile) * rows; }
  SIMT_INLINE constexpr simt::Index column_sums(int piece, int panel) const {
    return static_cast<simt::Index>(count) * rows + static_cast<simt::Index>(piece + panel) * columns;
  }
};

}  // namespace myriad
