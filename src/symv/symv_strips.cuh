#pragma once
/// y = alpha A x + beta y with a triangle of A in one launch and without workspace: each element beside the diagonal is read twice, of
/// which one comes from the L2 cache.

#include "symv/symv_strips_config.cuh"

namespace myriad {
namespace simt {

/// Some neighbouring rows of A x. In the triangle they are what is left and right of the diagonal: columns of the strip, of which lanes
/// have some rows each, and rows of the columns that cross the diagonal in the strip, of which each warp has one. The order of sums depends
/// on n and uplo alone.
template <typename T, SymvStrips C>
class SymvStrip : SymvMatrix<T, C.symmetry, C.layout> {
  using Matrix = SymvMatrix<T, C.symmetry, C.layout>;
  using Matrix::a_, Matrix::x_, Matrix::down_, Matrix::right_, Matrix::increment_, Matrix::lower_, Matrix::n_, Matrix::conjugates_x_;
  using Matrix::held_rows, Matrix::hermitian, Matrix::is_stored, Matrix::load_neighbours, Matrix::x;
  static constexpr int rows = C.rows(sizeof(T));
  static constexpr int lanes_of_column = rows / held_rows;
  static constexpr int columns_at_once = 32 / lanes_of_column;  ///< by a warp
  static constexpr int at_once = 8;                             ///< loads of a lane that are under way together

 public:
  SIMT_INLINE SymvStrip(SymvArguments<T> const& args, Index b, int n, int strip) : Matrix(args, b, n), first_(strip * rows) {}

  /// Calls store(i, sum) for every row of the strip. Ends with the block apart.
  template <typename Store>
  SIMT_INLINE void add(Store store) {
    bool const in_chunks =
        Matrix::columns_in_chunks() && reinterpret_cast<unsigned long long>(x_) % 16 == 0 && (increment_ == 1 || held_rows == 1);
    T const below = in_chunks ? column_sum<true>() : column_sum<false>();
    if (lane_index() == 0) of_columns()[warp()] = below;
    T beside[held_rows];
    if (in_chunks && first_ + rows <= n_)
      row_sums<true>(beside);
    else
      row_sums<false>(beside);
    if (lane_index() < lanes_of_column) {
      SIMT_UNROLL
      for (int r = 0; r < held_rows; ++r) of_rows()[warp() * rows + lane_index() * held_rows + r] = beside[r];
    }
    sync_block();
    int const i = first_ + thread_index();
    if (thread_index() < rows && i < n_) {
      T sum = of_rows()[thread_index()];
      SIMT_UNROLL
      for (int w = 1; w < rows; ++w) sum = sum + of_rows()[w * rows + thread_index()];
      store(i, sum + of_columns()[thread_index()]);
    }
  }

 private:
  SIMT_INLINE static int warp() { return thread_index() / 32; }
  SIMT_INLINE static T* of_rows() { return reinterpret_cast<T*>(shared_memory()); }
  SIMT_INLINE static T* of_columns() { return of_rows() + rows * rows; }

  /// What column `first_ + warp()` gives to the row of the same number: its elements beyond the strip, and the part of the row that is in
  /// the strip. In all lanes.
  template <bool in_chunks>
  SIMT_INLINE T column_sum() const {
    // Beyond the last column all is empty; no branch, since lanes meet at the end.
    bool const is_there = first_ + warp() < n_;
    int const j = smaller(first_ + warp(), n_ - 1), other = first_ + lane_index();
    T near = from_real<T>(0), x_near = near;
    if (is_there && lane_index() < rows && other < n_) {
      bool const stored = is_stored(j, other);
      near = load_global(a_ + (stored ? j * down_ + other * right_ : other * down_ + j * right_));
      if (hermitian) near = other == j ? from_real<T>(real_part(near)) : conjugate_if(!stored, near);
      x_near = x(other);
    }
    T const* const column = a_ + j * right_;
    int const begin = lower_ ? first_ + rows : 0, end = !is_there ? 0 : lower_ ? n_ : first_;
    int const whole = begin + larger(end - begin, 0) / held_rows * held_rows;
    T sum = from_real<T>(0);
    SIMT_LOOP
    for (int i0 = begin + lane_index() * held_rows, group = begin; group < whole;
         i0 += at_once * 32 * held_rows, group += at_once * 32 * held_rows) {
      T held[at_once][held_rows], factor[at_once][held_rows];
      SIMT_UNROLL
      for (int s = 0; s < at_once; ++s) {
        int const i = smaller(i0 + s * 32 * held_rows, whole - held_rows);
        if constexpr (in_chunks) {
          load_neighbours(held[s], column + i);
          Chunked<T> const chunk(load_chunk(x_ + i * (held_rows == 1 ? increment_ : 1)));
          SIMT_UNROLL
          for (int r = 0; r < held_rows; ++r) factor[s][r] = conjugate_if(conjugates_x_, chunk.x[r]);
        } else {
          SIMT_UNROLL
          for (int r = 0; r < held_rows; ++r) {
            held[s][r] = load_global(column + (i + r) * down_);
            factor[s][r] = x(i + r);
          }
        }
      }
      SIMT_UNROLL
      for (int s = 0; s < at_once; ++s) {
        if (i0 + s * 32 * held_rows >= whole) continue;
        SIMT_UNROLL
        for (int r = 0; r < held_rows; ++r) sum = multiply_add(conjugate_if(hermitian, held[s][r]), factor[s][r], sum);
      }
    }
    if (whole + lane_index() < end) {
      int const i = whole + lane_index();
      sum = multiply_add(conjugate_if(hermitian, load_global(column + i * down_)), x(i), sum);
    }
    sum = multiply_add(near, x_near, sum);
    SIMT_UNROLL
    for (int distance = 16; distance > 0; distance /= 2) sum = sum + shuffle_xor(sum, distance);
    return sum;
  }

  /// What the warp's columns beyond the strip give to the strip's rows; of these a lane has those from lane % lanes_of_column * held_rows
  /// on.
  template <bool in_chunks>
  SIMT_INLINE void row_sums(T (&sum)[held_rows]) const {
    int const i = first_ + lane_index() % lanes_of_column * held_rows;
    int const begin = lower_ ? 0 : smaller(first_ + rows, n_), end = lower_ ? first_ : n_;
    constexpr int step = rows * columns_at_once;
    SIMT_UNROLL
    for (int r = 0; r < held_rows; ++r) sum[r] = from_real<T>(0);
    SIMT_LOOP
    for (int group = begin + warp() * columns_at_once; group < end; group += at_once * step) {
      int const j0 = group + lane_index() / lanes_of_column;
      T held[at_once][held_rows], factor[at_once];
      SIMT_UNROLL
      for (int s = 0; s < at_once; ++s) {
        int const j = smaller(j0 + s * step, end - 1);
        if constexpr (in_chunks) {
          load_neighbours(held[s], a_ + (i + j * right_));
        } else {
          SIMT_UNROLL
          for (int r = 0; r < held_rows; ++r) held[s][r] = load_global(a_ + (smaller(i + r, n_ - 1) * down_ + j * right_));
        }
        factor[s] = x(j);
      }
      SIMT_UNROLL
      for (int s = 0; s < at_once; ++s) {
        if (j0 + s * step >= end) continue;
        SIMT_UNROLL
        for (int r = 0; r < held_rows; ++r) sum[r] = multiply_add(held[s][r], factor[s], sum[r]);
      }
    }
    SIMT_UNROLL
    for (int distance = 16; distance >= lanes_of_column; distance /= 2) {
      SIMT_UNROLL
      for (int r = 0; r < held_rows; ++r) sum[r] = sum[r] + shuffle_xor(sum[r], distance);
    }
  }

  int first_;  ///< row
};

}  // namespace simt

/// Launch: any number of blocks of C.threads(sizeof(T)) threads with C.shared_bytes(sizeof(T)) of dynamic shared memory. Passes over
/// matrices of more than args.most_rows_in_strips rows, and of args.most_rows_in_block and fewer.
template <typename T, SymvStrips C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads(sizeof(T)), 512 / C.threads(sizeof(T))) symv_strips(SymvArguments<T> const args) {
  using namespace simt;
  int const largest = smaller(static_cast<int>(args.y.rows), args.most_rows_in_strips);
  int const strips = ceil_div(largest, C.rows(sizeof(T)));
  SIMT_LOOP
  for (Index at = block_index(); at < args.y.count * strips; at += block_count()) {
    Index const b = at / strips;
    int const strip = static_cast<int>(at % strips), n = args.y.rows_of(b);
    if (n > args.most_rows_in_strips || n <= args.most_rows_in_block || strip * C.rows(sizeof(T)) >= n) continue;
    if (args.alpha == from_real<T>(0)) {  // A and x are not read
      int const i = strip * C.rows(sizeof(T)) + thread_index();
      if (thread_index() < C.rows(sizeof(T)) && i < n) symv_store(args, b, i, from_real<T>(0));
      continue;
    }
    SymvStrip<T, C> work(args, b, n, strip);
    work.add([&](int i, T sum) { symv_store(args, b, i, sum); });
    if (at + block_count() < args.y.count * strips) sync_block();
  }
}

}  // namespace myriad
