#pragma once
/// y = alpha A x + beta y with a triangle of A, run by run of tiles on a GPU: what host and kernels share.

#include "symv/symv_matrix.cuh"
#include "symv/symv_tiles.cuh"

namespace myriad {

/// One compiled kernel. A panel of A is `warps` times `columns` columns wide, `columns` for each warp; of each column a lane reads 16
/// bytes of a tile.
struct SymvRuns {
  int warps, columns;
  int blocks_per_sm;  ///< for which registers have to suffice
  SymvColumns layout;
  Symmetry symmetry;
  constexpr bool operator==(SymvRuns const&) const = default;

  SIMT_INLINE constexpr int threads() const { return 32 * warps; }
  SIMT_INLINE constexpr int tile_columns() const { return warps * columns; }
  SIMT_INLINE constexpr int tile_rows(int element_bytes) const { return 32 * 16 / element_bytes; }
  /// Dynamic shared memory of a block: what one thread tells the others, the parts of x that belong to two panels, and row sums of every
  /// warp, of two tiles.
  SIMT_INLINE constexpr int shared_bytes(int element_bytes) const {
    return told_bytes + (2 * tile_columns() + 2 * warps * tile_rows(element_bytes)) * element_bytes;
  }
  /// The same, where a block has all of an n-by-n matrix: and behind them sums of rows and of columns.
  SIMT_INLINE constexpr int shared_bytes_of_matrix(int element_bytes, int n) const {
    int const r = tile_rows(element_bytes), c = tile_columns();
    return shared_bytes(element_bytes) + (simt::ceil_div(n, r) * r + simt::ceil_div(n, c) * c) * element_bytes;
  }

  static constexpr int told_bytes = 16;
  /// Blocks that run together on a GPU of 132 multiprocessors; see SymvShares.
  SIMT_INLINE constexpr int usual_blocks() const { return 132 * blocks_per_sm; }
};

/// How the tiles of a triangle are shared out: into pieces of some neighbours. Each of `blocks` blocks begins with one of the first, which
/// are three quarters of all tiles; then who has done a piece takes the next one, and these are ever smaller, so that at the end few wait
/// for the last. Column sums of a piece that are of one panel are added up in registers. All of it depends on n, uplo and the sizes of a
/// tile alone, so that sums of a matrix are the same in every batch and on every GPU.
struct SymvShares : SymvTriangle {
  int blocks;
  int pieces;

  SIMT_INLINE constexpr SymvShares(int n, int rows_of_tile, int columns_of_tile, int usual_blocks, bool is_lower)
      : SymvTriangle(n, rows_of_tile, columns_of_tile, is_lower), blocks(usual_blocks), pieces(count > 0 ? piece_of(count - 1) + 1 : 0) {}
  /// The same, where the number of pieces is known.
  SIMT_INLINE constexpr SymvShares(int n, int rows_of_tile, int columns_of_tile, int usual_blocks, bool is_lower, int known_pieces)
      : SymvTriangle(n, rows_of_tile, columns_of_tile, is_lower), blocks(usual_blocks), pieces(known_pieces) {}

  /// Pieces come in rounds of `blocks` that have as many tiles; of single tiles there is but one.
  struct Round {
    int blocks;
    int tile, piece;  ///< the first ones
    int size;         ///< of a piece
    int left;         ///< tiles from here on

    SIMT_INLINE constexpr Round(int count, int usual_blocks)
        : blocks(usual_blocks), tile(0), piece(0), size(simt::larger(count / 4 * 3 / usual_blocks, 1)), left(count) {}
    SIMT_INLINE constexpr bool has_tile(int t) const { return size == 1 || t < tile + size * blocks; }
    SIMT_INLINE constexpr bool has_piece(int p) const { return size == 1 || p < piece + blocks; }
    SIMT_INLINE constexpr void go_on() {
      tile += size * blocks;
      piece += blocks;
      left -= size * blocks;
      size = simt::larger(left / (2 * blocks), 1);
    }
  };
  /// The tiles [first, last) of a piece.
  struct Range {
    int first, last;
  };
  SIMT_INLINE constexpr Range tiles_of_piece(int piece) const {
    Round round(count, blocks);
    while (!round.has_piece(piece)) round.go_on();
    int const first = round.tile + (piece - round.piece) * round.size;
    return {first, simt::smaller(first + round.size, count)};
  }
  SIMT_INLINE constexpr int piece_of(int tile) const {
    Round round(count, blocks);
    while (!round.has_tile(tile)) round.go_on();
    return round.piece + (tile - round.tile) / round.size;
  }
  /// Neither it nor a smaller matrix has more pieces: the rounds halve what is left until 2^31 tiles are none.
  SIMT_INLINE constexpr int most_pieces() const { return simt::smaller(count, 24 * blocks); }

  /// Elements of workspace: the row sums of every tile, and behind them column sums of every piece and panel that meet. On the way through
  /// the tiles either the piece or the panel advances, or both, so that their sum is a number for the pair. With most_pieces() they suffice
  /// for all smaller matrices, too.
  SIMT_INLINE constexpr simt::Index elements(int pieces_there) const {
    return static_cast<simt::Index>(count) * rows + static_cast<simt::Index>(pieces_there + panels - 1) * columns;
  }
  SIMT_INLINE constexpr simt::Index row_sums(int tile) const { return static_cast<simt::Index>(tile) * rows; }
  SIMT_INLINE constexpr simt::Index column_sums(int piece, int panel) const {
    return static_cast<simt::Index>(count) * rows + static_cast<simt::Index>(piece + panel) * columns;
  }
};

}  // namespace myriad
