#pragma once
/// The reduction to tridiagonal form on a GPU: what host and kernels share.

#include "eigen/eigen_block_config.cuh"
#include "symv/symv_panels_config.cuh"

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
/// multiples of 16 bytes, brought to size one by a power of two; of an upper triangle rows and columns in the opposite order.
///
/// Columns go by panels (LAPACK's latrd): the matrix behind a panel stays as it is until the panel is done, and A - V W^H - W V^H takes its
/// place then.
template <typename T>
struct TridiagonalMatrix {
  simt::Index number;  ///< of the matrix in the batch
  T* a;
  simt::Index ld;
  T *v, *w;  ///< of the panel, each column ld elements
  T* x;      ///< the column at hand, before its reflector is known; zero above
  T* y;      ///< tau (A - V W^H - W V^H) v
  simt::Real<T>*d, *e;
  T* tau;
  T* products;             ///< of V and W with x
  simt::Real<T>* squares;  ///< of x, of every 32 rows
  T* y_by_v;               ///< of y^H v, of every 32 rows
  T* sums;                 ///< of the product of A with x; see symv
  simt::Real<T>* largest;  ///< of the elements of each block
  unsigned* arrived;       ///< see sync_grid
  T* pairs;                ///< what blocks hand each other, of each row four elements; see send_pair
};

/// What kernels of a large matrix are launched with.
template <typename T>
struct TridiagonalWork {
  TridiagonalArguments<T> batch;
  TridiagonalMatrix<T> matrix;
  int first;        ///< the column from which on there is work
  unsigned rounds;  ///< of sync_grid that were before

  SIMT_INLINE int rows() const { return batch.a.rows_of(matrix.number); }
};

/// The kernel that reduces the columns of a panel: any number of blocks, which run together.
struct TridiagonalPanel {
  int width;
  SymvPanels symv;
  constexpr bool operator==(TridiagonalPanel const&) const = default;

  SIMT_INLINE constexpr int threads() const { return symv.threads(); }
  /// Of sync_grid, where another panel follows.
  SIMT_INLINE constexpr unsigned rounds() const { return 3 * static_cast<unsigned>(width); }
  /// In elements: behind what the product with A takes, a row of V and of W, and room to add up numbers of threads.
  SIMT_INLINE constexpr int rows_at(int element_bytes) const { return symv.shared_bytes(element_bytes) / element_bytes; }
  SIMT_INLINE constexpr int sums_at(int element_bytes) const { return rows_at(element_bytes) + 2 * width; }
  SIMT_INLINE constexpr int shared_bytes(int element_bytes) const { return (sums_at(element_bytes) + threads()) * element_bytes; }
};

/// The kernel that reduces what is left once the blocks, one to a multiprocessor, hold all of it in their shared memories, each some
/// columns, rows above the diagonal too.
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

/// The kernels that bring the matrix to the workspace and back.
inline constexpr int tridiagonal_copy_threads = 256;

}  // namespace myriad
