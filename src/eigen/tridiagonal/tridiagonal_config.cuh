#pragma once
/// The reduction to tridiagonal form on a GPU: what host and kernels share.

#include "eigen/eigen_block_config.cuh"
#include "simt/matrices.hpp"

namespace myriad {

/// A batch, and where its results go.
template <typename T>
struct TridiagonalArguments {
  simt::Matrices<T> a;
  simt::Matrices<simt::Real<T>> d, e;
  simt::Matrices<T> tau;
  bool lower;
};

/// One large matrix of the batch while it is reduced, all in the workspace of the call: the lower triangle, by columns that begin at
/// multiples of 16 bytes and, where columns go by panels, have zeros above the diagonal and behind the last row, see tridiagonal_margin,
/// brought to size one by a power of two; of an upper triangle rows and columns in the opposite order.
///
/// Columns go by panels (LAPACK's latrd), as many as it takes until multiprocessors hold what is left: the matrix behind a panel stays as
/// it is until the panel is done, and A - V W^H - W V^H takes its place then.
template <typename T>
struct TridiagonalMatrix {
  simt::Index number;  ///< of the matrix in the batch
  T* a;
  simt::Index ld;
  // From here on for panels alone
  T *v, *w;                ///< each column ld elements
  T* x;                    ///< the column at hand, before its reflector is known; zero above
  T* products;             ///< of V and W with x
  T* products_of_groups;   ///< the same of every 32 rows
  simt::Real<T>* squares;  ///< of x, of every 32 rows
  simt::Real<T>* x_a_x;    ///< of x^H A x, of every block
  T* sums;                 ///< of the product of A with x; see TridiagonalTiles
  // to here
  simt::Real<T>*d, *e;
  T* tau;
  simt::Real<T>* largest;  ///< of the elements of each block
  unsigned* arrived;       ///< blocks of panels, see sync_grid, and
  unsigned* others;        ///< of what comes behind them, see sync_blocks
  T* pairs;                ///< what blocks hand each other, of each row four elements; see send_pair
};

/// Arguments of kernels of large matrices. Some of a batch are in the workspace at a time, side by side.
template <typename T>
struct TridiagonalWork {
  TridiagonalArguments<T> batch;
  TridiagonalMatrix<T> matrix;  ///< the first one of those in the workspace, and the only one for panels
  int count;                    ///< of these
  simt::Index stride;           ///< bytes of the workspace of each
  int blocks;                   ///< that a matrix has to itself; of panels all
  int width, margin;            ///< of panels; see tridiagonal_margin
  int resident;                 ///< rows that are left behind the last panel at most
  // For a panel
  int first;        ///< the column from which on there is work
  unsigned rounds;  ///< of sync_grid that were before
  int held;         ///< tiles in the shared memory of a block
  int kept;         ///< of kept_of tiles that are read so many stay in the second cache
  static constexpr int kept_of = 64;

  SIMT_INLINE int rows() const { return rows_of(matrix.number); }
  SIMT_INLINE int rows_of(simt::Index number) const { return batch.a.rows_of(number); }
  /// Whether the matrix has the panel: in a ragged batch each has those that it would have alone.
  SIMT_INLINE bool has_panel() const { return rows() - first > resident; }
  /// Where columns of a matrix of n rows go by panels no longer.
  SIMT_INLINE int behind_panels(int n) const { return simt::ceil_div(simt::larger(n - resident, 0), width) * width; }
  /// Matrix b of those in the workspace.
  SIMT_INLINE TridiagonalMatrix<T> matrix_of(simt::Index b) const {
    TridiagonalMatrix<T> m = matrix;
    m.number += b;
    move(b, m.a, m.v, m.w, m.x, m.products, m.products_of_groups, m.squares, m.x_a_x, m.sums);
    move(b, m.d, m.e, m.tau, m.largest, m.arrived, m.others, m.pairs);
    return m;
  }

 private:
  template <typename... Pointers>
  SIMT_INLINE void move(simt::Index b, Pointers&... pointers) const {
    ((pointers = reinterpret_cast<Pointers>(reinterpret_cast<char*>(pointers) + b * stride)), ...);
  }
};

/// The kernel that reduces the columns of a panel: any number of blocks, which run together.
struct TridiagonalPanel {
  int width;
  int warps, columns;  ///< of a block, and of a warp in a tile
  int blocks_per_sm;   ///< for which registers have to suffice
  constexpr bool operator==(TridiagonalPanel const&) const = default;

  SIMT_INLINE constexpr int threads() const { return 32 * warps; }
  SIMT_INLINE constexpr int tile_columns() const { return warps * columns; }
  SIMT_INLINE constexpr int tile_rows(int element_bytes) const { return 32 * 16 / element_bytes; }
  SIMT_INLINE constexpr int tile(int element_bytes) const { return tile_rows(element_bytes) * tile_columns(); }
  /// Rounds of sync_grid, where another panel follows.
  SIMT_INLINE constexpr unsigned rounds() const { return 2 * static_cast<unsigned>(width); }
  /// Shared memory, in elements. Sums of the rows of two tiles, which every warp has, or two numbers of every thread in between; what x is
  /// in the columns of a tile; one number of every thread.
  SIMT_INLINE constexpr int x_at(int element_bytes) const { return 2 * warps * tile_rows(element_bytes); }
  SIMT_INLINE constexpr int parked_at(int element_bytes) const { return x_at(element_bytes) + tile_columns(); }
  /// Rows of V^H v, W^H v and of the next row of V and W; numbers of warps; those that one warp has for all.
  SIMT_INLINE constexpr int factors_at(int element_bytes) const { return parked_at(element_bytes) + 2 * threads(); }
  SIMT_INLINE constexpr int of_warps_at(int element_bytes) const { return factors_at(element_bytes) + 4 * width; }
  SIMT_INLINE constexpr int told_at(int element_bytes) const { return of_warps_at(element_bytes) + 3 * warps; }
  /// x, V and W in the rows of a group.
  SIMT_INLINE constexpr int group_at(int element_bytes) const { return told_at(element_bytes) + 4; }
  /// Tiles.
  SIMT_INLINE constexpr int tiles_at(int element_bytes) const { return (group_at(element_bytes) + 32 * (2 * width + 2) + 3) / 4 * 4; }
  SIMT_INLINE constexpr int shared_bytes(int element_bytes, int held_tiles) const {
    return (tiles_at(element_bytes) + held_tiles * tile(element_bytes)) * element_bytes;
  }
};

/// How the lower triangle of a matrix of n rows is divided for the product with a vector: into panels of columns, from left to right, these
/// into tiles, from the top, numbered in this order. The last of them stay in the shared memories of the blocks, some to each; the others
/// are read for every product, in pieces of neighbours, and column sums of a piece that are of one panel are added up in registers.
struct TridiagonalTiles {
  int rows, columns;  ///< of a tile; columns are a multiple of rows
  int tile_rows;      ///< how many tiles cover the rows
  int panels;
  int count;  ///< of tiles
  int read;   ///< of these are not held
  int shift;  ///< a piece has two to the power of this
  int pieces;

  SIMT_INLINE constexpr TridiagonalTiles(int n, int rows_of_tile, int columns_of_tile, int blocks, int held_by_block)
      : rows(rows_of_tile),
        columns(columns_of_tile),
        tile_rows(simt::ceil_div(n, rows)),
        panels(simt::ceil_div(n, columns)),
        count(before(panels - 1) + tiles_of(panels - 1)),
        read(simt::larger(count - blocks * held_by_block, 0)),
        shift(read >= 8 * blocks   ? 2
              : read >= 4 * blocks ? 1
                                   : 0),
        pieces((read + of_piece() - 1) >> shift) {}

  SIMT_INLINE constexpr int of_piece() const { return 1 << shift; }

  /// Number of the first tile of a panel.
  SIMT_INLINE constexpr int before(int panel) const { return panel * tile_rows - panel * (panel - 1) / 2 * (columns / rows); }
  SIMT_INLINE constexpr int tiles_of(int panel) const { return tile_rows - first_row(panel); }
  /// The row of tiles in which a panel begins.
  SIMT_INLINE constexpr int first_row(int panel) const { return panel * (columns / rows); }
  SIMT_INLINE constexpr int panel_of(int tile) const {
    int low = 0, high = panels - 1;
    while (low < high) {
      int const middle = (low + high + 1) / 2;
      if (before(middle) <= tile)
        low = middle;
      else
        high = middle - 1;
    }
    return low;
  }

  /// Elements of workspace: the row sums of every tile, and behind them column sums of every piece and panel that meet and of every tile
  /// that is held. On the way through the tiles either the piece or the panel advances, or both, so that their sum is a number for the
  /// pair.
  SIMT_INLINE constexpr simt::Index elements() const {
    return static_cast<simt::Index>(count) * rows + static_cast<simt::Index>(count + panels) * columns;
  }
  SIMT_INLINE constexpr simt::Index row_sums(int tile) const { return static_cast<simt::Index>(tile) * rows; }
  SIMT_INLINE constexpr simt::Index column_sums(int tile, int panel) const {
    int const place = tile < read ? (tile >> shift) + panel : pieces + panels + tile - read;
    return static_cast<simt::Index>(count) * rows + static_cast<simt::Index>(place) * columns;
  }
  /// Column sums of a panel: how many there are, and where.
  SIMT_INLINE constexpr int pieces_of(int panel) const {
    int const first = before(panel), end = first + tiles_of(panel), end_read = simt::smaller(end, read);
    int const of_read = first < end_read ? ((end_read - 1) >> shift) - (first >> shift) + 1 : 0;
    return of_read + end - simt::smaller(end, simt::larger(first, read));
  }
  SIMT_INLINE constexpr simt::Index column_sums_of(int panel, int number) const {
    int const first = before(panel), end_read = simt::smaller(first + tiles_of(panel), read);
    int const of_read = first < end_read ? ((end_read - 1) >> shift) - (first >> shift) + 1 : 0;
    return number < of_read ? column_sums(simt::larger(first, ((first >> shift) + number) << shift), panel)
                            : column_sums(simt::larger(first, read) + number - of_read, panel);
  }
};

/// The kernel that reduces what is left once blocks, one to a multiprocessor, hold all of it in their shared memories, each some columns,
/// rows above the diagonal too. Matrices that do not need all blocks are reduced at the same time, each by a group of blocks.
struct TridiagonalResident {
  int row_parts, column_parts;  ///< of warps that share what a block has
  constexpr bool operator==(TridiagonalResident const&) const = default;

  static constexpr int at_once = 4;  ///< columns of a warp
  SIMT_INLINE constexpr int threads() const { return 32 * row_parts * column_parts; }
  /// Elements of shared memory for m rows: the columns, v, that of the step before and w, and sums of every part.
  SIMT_INLINE static constexpr int columns(int m, int blocks) { return simt::ceil_div(m, blocks); }
  SIMT_INLINE constexpr int sums_at(int m, int blocks) const { return (columns(m, blocks) + 3) * m; }
  static constexpr int told = 3;  ///< elements that one thread has for all
  SIMT_INLINE constexpr int told_at(int m, int blocks) const { return sums_at(m, blocks) + row_parts * columns(m, blocks); }
  /// And two sums of every warp.
  SIMT_INLINE constexpr int elements(int m, int blocks) const { return told_at(m, blocks) + told + 2 * threads() / 32; }
};

/// The kernel that brings the matrix behind a panel up to date: a block to a tile of 64 by 64.
struct TridiagonalUpdate {
  int width;
  constexpr bool operator==(TridiagonalUpdate const&) const = default;

  static constexpr int tile = 64;
  static constexpr int line =
      tile + 4;  ///< from a column to the next in shared memory: four doubles of each of four columns meet all banks
  SIMT_INLINE static constexpr int threads() { return 256; }
  SIMT_INLINE constexpr int shared_bytes(int element_bytes) const { return 4 * line * width * element_bytes; }
  /// Tiles of the triangle of n rows.
  SIMT_INLINE static constexpr simt::Index tiles(int n) {
    simt::Index const rows = simt::ceil_div(n, tile);
    return rows * (rows + 1) / 2;
  }
};

/// So many rows and columns behind the last ones, and elements above the diagonal, are there and zero, so that tiles of panels need no
/// edges.
inline constexpr int tridiagonal_margin = 128;

/// The kernels that bring the matrix to the workspace and back.
inline constexpr int tridiagonal_copy_threads = 256;

}  // namespace myriad
