#pragma once
/// A - V W^H - W V^H, of the triangle of A.

#include "eigen/tridiagonal_config.cuh"

namespace myriad {

/// Rows and columns from work.first on. A thread has a 4-by-4 part of the tile, sixteen apart in both directions: neighbours in a column of
/// A are those of neighbouring threads.
///
/// Launch: as many blocks as there are tiles in the largest matrix, of C.threads() threads with C.shared_bytes(sizeof(T)) of dynamic shared
/// memory.
template <typename T, TridiagonalUpdate C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads(), sizeof(T) == 16 ? 1 : 2) tridiagonal_update(TridiagonalWork<T> const work) {
  using namespace simt;
  TridiagonalMatrix<T> const& m = work.matrix;
  constexpr int part = C.tile / 16;
  int const n = work.rows(), first = work.first;
  int tile_row = 0;
  Index tile = block_index();
  for (; tile > tile_row; tile -= ++tile_row) continue;
  int const i0 = first + tile_row * C.tile, j0 = first + static_cast<int>(tile) * C.tile;
  if (i0 >= n) return;
  // Rows of V and W that the tile's rows and columns have.
  T* const of_rows = reinterpret_cast<T*>(shared_memory());
  T* const of_columns = of_rows + 2 * C.tile * C.depth;
  int const row = thread_index() % 16, column = thread_index() / 16;
  T sum[part][part];
  SIMT_UNROLL
  for (int r = 0; r < part; ++r) {
    SIMT_UNROLL
    for (int c = 0; c < part; ++c) sum[r][c] = from_real<T>(0);
  }
  SIMT_LOOP
  for (int k0 = 0; k0 < C.width; k0 += C.depth) {
    if (k0 > 0) sync_block();
    SIMT_UNROLL
    for (int at = thread_index(); at < C.tile * C.depth; at += C.threads()) {
      int const line = at % C.tile, k = at / C.tile, i = i0 + line, j = j0 + line;
      T const zero = from_real<T>(0);
      Index const from = (k0 + k) * m.ld;
      of_rows[at] = i < n ? m.v[i + from] : zero;
      of_rows[at + C.tile * C.depth] = i < n ? m.w[i + from] : zero;
      of_columns[at] = j < n ? conjugate(m.w[j + from]) : zero;
      of_columns[at + C.tile * C.depth] = j < n ? conjugate(m.v[j + from]) : zero;
    }
    sync_block();
    SIMT_UNROLL_BY(4)
    for (int k = 0; k < 2 * C.depth; ++k) {
      T left[part], right[part];
      SIMT_UNROLL
      for (int r = 0; r < part; ++r) left[r] = of_rows[k * C.tile + row + 16 * r];
      SIMT_UNROLL
      for (int c = 0; c < part; ++c) right[c] = of_columns[k * C.tile + column + 16 * c];
      SIMT_UNROLL
      for (int r = 0; r < part; ++r) {
        SIMT_UNROLL
        for (int c = 0; c < part; ++c) sum[r][c] = multiply_add(left[r], right[c], sum[r][c]);
      }
    }
  }
  SIMT_UNROLL
  for (int c = 0; c < part; ++c) {
    int const j = j0 + column + 16 * c;
    SIMT_UNROLL
    for (int r = 0; r < part; ++r) {
      int const i = i0 + row + 16 * r;
      if (i < n && i >= j) m.a[i + j * m.ld] = m.a[i + j * m.ld] - sum[r][c];
    }
  }
}

}  // namespace myriad
