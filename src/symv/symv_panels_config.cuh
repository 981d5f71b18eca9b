#pragma once
/// A x with a triangle of A, panel by panel on a GPU, for sytrd: what host and kernels share.

#include "symv/symv_matrix.cuh"
#include "symv/symv_tiles.cuh"

namespace myriad {

/// One compiled kernel. A panel of A is `warps` times `columns` columns wide, `columns` for each warp; of each column a lane reads 16
/// bytes of a tile.
struct SymvPanels {
  int warps, columns;
  int most_tiles;     ///< of a piece; see SymvTiles
  int blocks_per_sm;  ///< for which registers have to suffice
  SymvColumns layout;
  Symmetry symmetry;
  SymvVector vector;
  constexpr bool operator==(SymvPanels const&) const = default;

  SIMT_INLINE constexpr int threads() const { return 32 * warps; }
  SIMT_INLINE constexpr int tile_columns() const { return warps * columns; }
  SIMT_INLINE constexpr int tile_rows(int element_bytes) const { return 32 * 16 / element_bytes; }
  /// Dynamic shared memory of a block: the part of x that belongs to a panel, and behind it row sums of every warp, of two tiles.
  SIMT_INLINE constexpr int shared_bytes(int element_bytes) const {
    return (tile_columns() + 2 * warps * tile_rows(element_bytes)) * element_bytes;
  }
};

/// Tiles are divided into pieces of some neighbours, of which all but the last have as many. A block has a piece; column sums of a piece
/// that are of one panel are added up in registers. All of it depends on n, uplo and the sizes of a tile alone, so that sums of a matrix
/// are the same on every GPU.
struct SymvTiles : SymvTriangle {
  int tiles_of_piece;
  int pieces;       ///< not always more in larger matrices
  int most_pieces;  ///< in this one and all smaller ones

  SIMT_INLINE constexpr SymvTiles(int n, int rows_of_tile, int columns_of_tile, int most_tiles_of_piece, bool is_lower)
      : SymvTriangle(n, rows_of_tile, columns_of_tile, is_lower),
        tiles_of_piece(simt::larger(simt::smaller(count / enough_pieces, most_tiles_of_piece), 1)),
        pieces(simt::ceil_div(count, tiles_of_piece)),
        most_pieces(simt::larger(pieces, simt::smaller(count, 2 * enough_pieces - 1))) {}

  /// There are at least so many pieces where there are as many tiles: a GPU has about as many blocks at a time. A piece has one tile up to
  /// twice as many.
  static constexpr int enough_pieces = 256;

  /// Elements of workspace: the row sums of every tile, and behind them column sums of every piece and panel that meet. On the way through
  /// the tiles either the piece or the panel advances, or both, so that their sum is a number for the pair. As many suffice for all smaller
  /// matrices.
  SIMT_INLINE constexpr simt::Index elements() const {
    return static_cast<simt::Index>(count) * rows + static_cast<simt::Index>(most_pieces + panels - 1) * columns;
  }
  SIMT_INLINE constexpr simt::Index row_sums(int tile) const { return static_cast<simt::Index>(tile) * rows; }
  SIMT_INLINE constexpr simt::Index column_sums(int piece, int panel) const {
    return static_cast<simt::Index>(count) * rows + static_cast<simt::Index>(piece + panel) * columns;
  }
};

/// Who adds up what tiles have left: so many warps share the terms of `warp_size` rows.
struct SymvSums {
  int warps;
  int rows, columns, most_tiles;  ///< see SymvTiles
  constexpr bool operator==(SymvSums const&) const = default;

  /// Terms that are added one after the other.
  static constexpr int in_order = 8;
};

}  // namespace myriad
