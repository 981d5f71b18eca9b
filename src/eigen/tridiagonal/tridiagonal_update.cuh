#pragma once
/// A - V W^H - W V^H, for the triangle of A.

#include "eigen/tridiagonal/tridiagonal_config.cuh"

namespace myriad {
namespace simt {

/// A tile of 64 by 64 elements in the registers of 256 threads. A thread has 4 by 4 elements, sixteen apart in both directions, so that
/// consecutive threads have consecutive rows.
template <typename T>
class TridiagonalTile {
  static constexpr int part = 4;
  T sum_[part][part] = {};

  SIMT_INLINE static int row(int r) { return thread_index() % 16 + 16 * r; }
  SIMT_INLINE static int column(int c) { return thread_index() / 16 + 16 * c; }

 public:
  /// Subtracts the product of `depth` columns of 64 rows and the adjoint of as many others; columns are `line` elements apart.
  SIMT_INLINE void subtract(T const* left, T const* right, int line, int depth) {
    SIMT_UNROLL_BY(4)
    for (int k = 0; k < depth; ++k) {
      T x[part], y[part];
      SIMT_UNROLL
      for (int r = 0; r < part; ++r) x[r] = -left[k * line + row(r)];
      SIMT_UNROLL
      for (int c = 0; c < part; ++c) y[c] = conjugate(right[k * line + column(c)]);
      SIMT_UNROLL
      for (int r = 0; r < part; ++r) {
        SIMT_UNROLL
        for (int c = 0; c < part; ++c) sum_[r][c] = multiply_add(x[r], y[c], sum_[r][c]);
      }
    }
  }
  /// Calls use(row, column, element) for every element of this thread.
  template <typename Use>
  SIMT_INLINE void for_each(Use use) {
    SIMT_UNROLL
    for (int c = 0; c < part; ++c) {
      SIMT_UNROLL
      for (int r = 0; r < part; ++r) use(row(r), column(c), sum_[r][c]);
    }
  }
};

/// The same with tensor-core products of 8-by-4 and 4-by-8 matrices: a warp has 32 rows and 16 columns, four by two products. They are
/// transposed, so that a lane's two elements are adjacent in a column.
template <>
class TridiagonalTile<double> {
  static constexpr int row_parts = 4, column_parts = 2;
  double sum_[row_parts][column_parts][2] = {};

  SIMT_INLINE static int first_row() { return thread_index() / 32 % 2 * 32; }
  SIMT_INLINE static int first_column() { return thread_index() / 64 * 16; }

 public:
  SIMT_INLINE void subtract(double const* left, double const* right, int line, int depth) {
    int const g = lane_index() / 4, t = lane_index() % 4;
    SIMT_UNROLL_BY(2)
    for (int k = 0; k < depth; k += 4) {
      double x[row_parts], y[column_parts];
      SIMT_UNROLL
      for (int r = 0; r < row_parts; ++r) x[r] = -left[(k + t) * line + first_row() + 8 * r + g];
      SIMT_UNROLL
      for (int c = 0; c < column_parts; ++c) y[c] = right[(k + t) * line + first_column() + 8 * c + g];
      SIMT_UNROLL
      for (int r = 0; r < row_parts; ++r) {
        SIMT_UNROLL
        for (int c = 0; c < column_parts; ++c) multiply_add_8x8x4(y[c], x[r], sum_[r][c], sum_[r][c]);
      }
    }
  }
  template <typename Use>
  SIMT_INLINE void for_each(Use use) {
    int const g = lane_index() / 4, t = lane_index() % 4;
    SIMT_UNROLL
    for (int r = 0; r < row_parts; ++r) {
      SIMT_UNROLL
      for (int c = 0; c < column_parts; ++c) {
        SIMT_UNROLL
        for (int e = 0; e < 2; ++e) use(first_row() + 8 * r + 2 * t + e, first_column() + 8 * c + g, sum_[r][c][e]);
      }
    }
  }
};

}  // namespace simt

/// Updates rows and columns behind the panel that begins at work.first, one tile per block. Elements behind the last row are also loaded;
/// they affect only results that are not stored.
///
/// Launch: as many blocks as there are tiles in the largest matrix, of C.threads() threads with C.shared_bytes(sizeof(T)) of dynamic shared
/// memory.
template <typename T, TridiagonalUpdate C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads(), sizeof(T) == 16 ? 1 : 3) tridiagonal_update(TridiagonalWork<T> const work) {
  using namespace simt;
  TridiagonalMatrix<T> const& m = work.matrix;
  if (!work.has_panel()) return;
  int const n = work.rows(), first = work.first + C.width;
  int tile_row = 0;
  Index tile = block_index();
  for (; tile > tile_row; tile -= ++tile_row) continue;
  int const i0 = first + tile_row * C.tile, j0 = first + static_cast<int>(tile) * C.tile;
  if (i0 >= n) return;
  // Elements of V and W in the tile's rows and columns, in the order of multiplication.
  T* const of_rows = reinterpret_cast<T*>(shared_memory());
  T* const of_columns = of_rows + 2 * C.line * C.width;
  constexpr int held = 16 / static_cast<int>(sizeof(T)), chunks = C.tile / held;
  SIMT_UNROLL_BY(4)
  for (int at = thread_index(); at < chunks * C.width; at += C.threads()) {
    int const line = at % chunks * held, k = at / chunks;
    Index const from = k * m.ld + line;
    int const v = k * C.line + line, w = v + C.line * C.width;
    copy_async_16(of_rows + v, m.v + i0 + from);
    copy_async_16(of_rows + w, m.w + i0 + from);
    copy_async_16(of_columns + v, m.w + j0 + from);
    copy_async_16(of_columns + w, m.v + j0 + from);
  }
  // All loads of A come before any store, which for the compiler could alias them.
  TridiagonalTile<T> element;
  element.for_each([&](int row, int column, T& value) {
    int const i = i0 + row, j = j0 + column;
    value = i < n && i >= j ? m.a[i + j * m.ld] : from_real<T>(0);
  });
  wait_copies();
  sync_block();
  element.subtract(of_rows, of_columns, C.line, 2 * C.width);
  element.for_each([&](int row, int column, T value) {
    int const i = i0 + row, j = j0 + column;
    if (i < n && i >= j) m.a[i + j * m.ld] = value;
  });
}

}  // namespace myriad
