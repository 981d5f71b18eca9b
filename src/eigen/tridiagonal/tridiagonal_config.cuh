#pragma once
/// Reduction to tridiagonal form on a GPU: declarations shared by host and kernels.

#include "eigen/eigen_block_config.cuh"
#include "simt/matrices.hpp"

namespace myriad {

/// Results of tridiagonal_block.
enum class TridiagonalResult : int {
  lapack,   ///< those of sytrd
  values,   ///< d, scaled, and e beside the diagonal, in the triangle that was read
  vectors,  ///< d, scaled; below the diagonal the reflectors, whole, tau on it and e above it
};

/// A batch and its results.
template <typename T>
struct TridiagonalArguments {
  simt::Matrices<T> a;
  simt::Matrices<simt::Real<T>> d, e;
  simt::Matrices<T> tau;
  bool lower;
  // The following are for tridiagonal_block:
  TridiagonalResult result = TridiagonalResult::lapack;
  int above = 0;  ///< matrices of so many rows or fewer are left to other kernels
};

/// One compiled kernel for matrices in the registers of a block. A thread has rows l, l + lanes, ... of columns g, g + groups, ... of the
/// lower triangle and of squares on the diagonal. Steps of `phase` columns of a thread share their code, in which what is done after them
/// is left out. A thread works on `at_once` of its columns at a time.
struct TridiagonalBlock {
  int lanes, groups, height, phase, at_once, blocks_per_sm;
  constexpr bool operator==(TridiagonalBlock const&) const = default;

  SIMT_INLINE constexpr int threads() const { return lanes * groups; }
  SIMT_INLINE constexpr int warps() const { return threads() / 32; }
  SIMT_INLINE constexpr int width() const { return lanes * height / groups; }
  SIMT_INLINE constexpr int rows() const { return lanes * height; }  ///< of the largest matrix
  /// Rows and columns of the squares on the diagonal.
  SIMT_INLINE constexpr int side() const { return simt::larger(lanes, groups); }
  /// The first row of a thread in or below the square that column c of a thread crosses, and the first one below it.
  SIMT_INLINE constexpr int first_row(int c) const { return c * groups / side() * side() / lanes; }
  SIMT_INLINE constexpr int first_row_below(int c) const { return first_row(c) + side() / lanes; }
  // Dynamic shared memory, in elements: x, v, w, the next column, sums of columns, each warp's sums of rows, tau, numbers of a reflector, d
  // and e, numbers of each warp, and where the matrix is.
  SIMT_INLINE constexpr int parts_at() const { return 5 * rows(); }
  SIMT_INLINE constexpr int taus_at() const { return parts_at() + warps() * rows(); }
  SIMT_INLINE constexpr int numbers_at() const { return taus_at() + rows(); }
  SIMT_INLINE constexpr int diagonal_at() const { return numbers_at() + 3; }
  SIMT_INLINE constexpr int words_at() const { return diagonal_at() + 2 * rows(); }
  SIMT_INLINE constexpr int places_at() const { return (words_at() + warps() + 1) / 2 * 2; }
  SIMT_INLINE constexpr int shared_bytes(int element_bytes) const { return (places_at() + 6) * element_bytes; }
};

/// One large matrix during its reduction, in the call's workspace: the lower triangle, scaled to norm one by a power of two, with columns
/// aligned to 16 bytes. For panels columns have zeros above the diagonal and behind the last row, see tridiagonal_margin. Rows and columns
/// of an upper triangle are reversed.
///
/// Panels of columns (LAPACK's latrd) are reduced until the rest fits in the shared memory of all blocks. The trailing matrix is not
/// changed during a panel; then A - V W^H - W V^H replaces it.
template <typename T>
struct TridiagonalMatrix {
  simt::Index number;  ///< index of the matrix in the batch
  T* a;
  simt::Index ld;
  // The following are for panels only:
  T *v, *w;                ///< leading dimension ld
  T* x;                    ///< the current column, before its reflector is known; zero above
  T* products;             ///< of V and W with x
  T* products_of_groups;   ///< the same, per 32 rows
  simt::Real<T>* squares;  ///< of x, per 32 rows
  simt::Real<T>* x_a_x;    ///< partial sums of x^H A x, per block
  T* sums;                 ///< partial sums of A x; see TridiagonalTiles
  // end of members for panels
  simt::Real<T>*d, *e;
  T* tau;
  simt::Real<T>* largest;  ///< largest element, per block
  unsigned* arrived;       ///< counter of panels' grid barriers, see sync_grid
  unsigned* others;        ///< counter for the resident part, see sync_blocks
  T* pairs;                ///< messages between blocks, four elements per row; see send_pair
};

/// Arguments of kernels of large matrices. Several matrices of a batch are in the workspace at a time.
template <typename T>
struct TridiagonalWork {
  TridiagonalArguments<T> batch;
  TridiagonalMatrix<T> matrix;  ///< the first one in the workspace, for panels the only one
  int count;                    ///< number of matrices in the workspace
  simt::Index stride;           ///< bytes of workspace per matrix
  int blocks;                   ///< blocks per matrix; for panels all blocks
  int width, margin;            ///< of panels; see tridiagonal_margin
  int resident;                 ///< maximum rows behind the last panel
  // The following are for a panel:
  int first;        ///< first column of the panel
  unsigned rounds;  ///< grid barriers before
  int held;         ///< tiles held in the shared memory of a block
  int kept;         ///< out of kept_of tiles that are read, number kept in the L2 cache
  static constexpr int kept_of = 64;

  SIMT_INLINE int rows() const { return rows_of(matrix.number); }
  SIMT_INLINE int rows_of(simt::Index number) const { return batch.a.rows_of(number); }
  /// Whether the matrix has the panel: in a ragged batch each matrix has the panels that it would have alone.
  SIMT_INLINE bool has_panel() const { return rows() - first > resident; }
  /// First column behind the panels of a matrix of n rows.
  SIMT_INLINE int behind_panels(int n) const { return simt::ceil_div(simt::larger(n - resident, 0), width) * width; }
  /// Matrix b in the workspace.
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

/// The kernel that reduces the columns of a panel: a cooperative launch of any number of blocks.
struct TridiagonalPanel {
  int width;
  int warps, columns;  ///< warps of a block, and columns of a warp in a tile
  int blocks_per_sm;   ///< for which registers must suffice
  constexpr bool operator==(TridiagonalPanel const&) const = default;

  SIMT_INLINE constexpr int threads() const { return 32 * warps; }
  SIMT_INLINE constexpr int tile_columns() const { return warps * columns; }
  SIMT_INLINE constexpr int tile_rows(int element_bytes) const { return 32 * 16 / element_bytes; }
  SIMT_INLINE constexpr int tile(int element_bytes) const { return tile_rows(element_bytes) * tile_columns(); }
  /// Grid barriers, if another panel follows.
  SIMT_INLINE constexpr unsigned rounds() const { return 2 * static_cast<unsigned>(width); }
  /// Shared memory, in elements: row sums of two tiles per warp, or in between two numbers per thread; x in the columns of a tile; one
  /// number per thread.
  SIMT_INLINE constexpr int x_at(int element_bytes) const { return 2 * warps * tile_rows(element_bytes); }
  SIMT_INLINE constexpr int parked_at(int element_bytes) const { return x_at(element_bytes) + tile_columns(); }
  /// Rows of V^H v, W^H v and of the next row of V and W; one number per warp; numbers broadcast by one warp.
  SIMT_INLINE constexpr int factors_at(int element_bytes) const { return parked_at(element_bytes) + 2 * threads(); }
  SIMT_INLINE constexpr int of_warps_at(int element_bytes) const { return factors_at(element_bytes) + 4 * width; }
  SIMT_INLINE constexpr int told_at(int element_bytes) const { return of_warps_at(element_bytes) + 3 * warps; }
  /// x, V and W for the rows of a group.
  SIMT_INLINE constexpr int group_at(int element_bytes) const { return told_at(element_bytes) + 4; }
  /// Tiles.
  SIMT_INLINE constexpr int tiles_at(int element_bytes) const { return (group_at(element_bytes) + 32 * (2 * width + 2) + 3) / 4 * 4; }
  SIMT_INLINE constexpr int shared_bytes(int element_bytes, int held_tiles) const {
    return (tiles_at(element_bytes) + held_tiles * tile(element_bytes)) * element_bytes;
  }
};

/// Partition of the lower triangle of a matrix of n rows for matrix-vector products: into panels of columns, from left to right, and these
/// into tiles, from the top, numbered in this order. The last tiles stay in the shared memory of the blocks, several per block. The others
/// are read for every product, in pieces of consecutive tiles; column sums of a piece within one panel are accumulated in registers.
struct TridiagonalTiles {
  int rows, columns;  ///< of a tile; columns are a multiple of rows
  int tile_rows;      ///< number of tiles that cover the rows
  int panels;
  int count;  ///< of tiles
  int read;   ///< number of tiles that are not held
  int shift;  ///< a piece has 2^shift tiles
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

  /// Index of the first tile of a panel.
  SIMT_INLINE constexpr int before(int panel) const { return panel * tile_rows - panel * (panel - 1) / 2 * (columns / rows); }
  SIMT_INLINE constexpr int tiles_of(int panel) const { return tile_rows - first_row(panel); }
  /// First row of tiles of a panel.
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

  /// Elements of workspace: the row sums of every tile, then column sums of every intersecting pair of piece and panel, and of every held
  /// tile. In order of the tiles the piece or the panel advances, or both, so their sum indexes the pair.
  SIMT_INLINE constexpr simt::Index elements() const {
    return static_cast<simt::Index>(count) * rows + static_cast<simt::Index>(count + panels) * columns;
  }
  SIMT_INLINE constexpr simt::Index row_sums(int tile) const { return static_cast<simt::Index>(tile) * rows; }
  SIMT_INLINE constexpr simt::Index column_sums(int tile, int panel) const {
    int const place = tile < read ? (tile >> shift) + panel : pieces + panels + tile - read;
    return static_cast<simt::Index>(count) * rows + static_cast<simt::Index>(place) * columns;
  }
  /// Column sums of a panel: number and offset.
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

/// The kernel that reduces the rest once it fits in the shared memory of all blocks, one per multiprocessor. Each block holds some full
/// columns, including rows above the diagonal. Matrices that do not need all blocks are reduced concurrently, each by a group of blocks.
struct TridiagonalResident {
  int row_parts, column_parts;  ///< partition of a block's columns among warps
  constexpr bool operator==(TridiagonalResident const&) const = default;

  static constexpr int at_once = 4;  ///< columns that a warp processes at a time
  SIMT_INLINE constexpr int threads() const { return 32 * row_parts * column_parts; }
  /// Elements of shared memory for m rows: the columns, v, the previous v, w, and sums of every part.
  SIMT_INLINE static constexpr int columns(int m, int blocks) { return simt::ceil_div(m, blocks); }
  SIMT_INLINE constexpr int sums_at(int m, int blocks) const { return (columns(m, blocks) + 3) * m; }
  static constexpr int told = 3;  ///< elements that one thread broadcasts
  SIMT_INLINE constexpr int told_at(int m, int blocks) const { return sums_at(m, blocks) + row_parts * columns(m, blocks); }
  /// Including two sums per warp.
  SIMT_INLINE constexpr int elements(int m, int blocks) const { return told_at(m, blocks) + told + 2 * threads() / 32; }
};

/// The kernel that updates the trailing matrix: one block per tile of 64 by 64.
struct TridiagonalUpdate {
  int width;
  constexpr bool operator==(TridiagonalUpdate const&) const = default;

  static constexpr int tile = 64;
  static constexpr int line = tile + 4;  ///< column stride in shared memory: four doubles of each of four columns are in different banks
  SIMT_INLINE static constexpr int threads() { return 256; }
  SIMT_INLINE constexpr int shared_bytes(int element_bytes) const { return 4 * line * width * element_bytes; }
  /// Tiles of the triangle of n rows.
  SIMT_INLINE static constexpr simt::Index tiles(int n) {
    simt::Index const rows = simt::ceil_div(n, tile);
    return rows * (rows + 1) / 2;
  }
};

/// Zero rows and columns behind the last ones; elements above the diagonal are zero, too. So tiles of panels need no bounds checks.
inline constexpr int tridiagonal_margin = 128;

/// Threads of the kernels that copy matrices to the workspace and back.
inline constexpr int tridiagonal_copy_threads = 256;

}  // namespace myriad
