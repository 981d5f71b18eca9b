#pragma once
/// y = alpha A x + beta y for few small matrices with a triangle of A: a warp to a row, which reads all that it needs at once.

#include "symv/symv_rows_config.cuh"

namespace myriad {
namespace simt {

/// One row of A x, in the order of symv_whole or, as `whole_warps` is 0, of symv_strips.
template <typename T, SymvRows C, int whole_warps>
class SymvRowOfWarp : SymvMatrix<T, C.symmetry, C.layout> {
  using Matrix = SymvMatrix<T, C.symmetry, C.layout>;
  using Matrix::a_, Matrix::down_, Matrix::right_, Matrix::n_, Matrix::lower_;
  using Matrix::held_rows, Matrix::hermitian, Matrix::is_stored, Matrix::x;
  static constexpr bool whole = whole_warps > 0;
  static constexpr int group = whole ? SymvWhole{}.columns_at_once(sizeof(T)) : symv_columns_of_group;
  static constexpr int lanes = whole ? whole_warps : 32;  ///< that have groups, one after the other
  static constexpr int columns = ceil_div(C.most_rows, lanes*group) * group, rows = C.most_rows / 32;
  static_assert(whole || (lanes * group == 2 * symv_columns_of_panel && C.most_rows == lanes * group));

 public:
  using Matrix::Matrix;

  /// In all lanes.
  SIMT_INLINE T sum(int i) const {
    T along[columns], below[rows], x_along[columns], x_below[rows];
    SIMT_UNROLL
    for (int c = 0; c < columns; ++c) along[c] = load_global_if(is_along(i, column(c)), a_ + (i * down_ + column(c) * right_));
    SIMT_UNROLL
    for (int r = 0; r < rows; ++r) below[r] = load_global_if(is_below(row(r), i), a_ + (row(r) * down_ + i * right_));
    SIMT_UNROLL
    for (int c = 0; c < columns; ++c) x_along[c] = x(smaller(column(c), n_ - 1));
    SIMT_UNROLL
    for (int r = 0; r < rows; ++r) x_below[r] = x(smaller(row(r), n_ - 1));
    T part = from_real<T>(0), beside = part;
    SIMT_UNROLL
    for (int c = 0; c < columns; ++c) {
      T const element = hermitian && column(c) == i ? from_real<T>(real_part(along[c])) : along[c];
      T const next = multiply_add(element, x_along[c], part);
      if (is_along(i, column(c))) part = next;
    }
    SIMT_UNROLL
    for (int r = 0; r < rows; ++r) {
      T const next = multiply_add(conjugate_if(hermitian, below[r]), x_below[r], beside);
      if (is_below(row(r), i)) beside = next;
    }
    SIMT_UNROLL
    for (int distance = 16; distance > 0; distance /= 2) beside = beside + shuffle_xor(beside, distance);
    return of_groups(i, part) + beside;
  }

 private:
  SIMT_INLINE static int column(int c) { return lane_index() * group + c % group + c / group * (lanes * group); }
  SIMT_INLINE static int row(int r) {
    return whole ? lane_index() + 32 * r : (r / held_rows * 32 + lane_index()) * held_rows + r % held_rows;
  }
  SIMT_INLINE bool is_along(int i, int j) const { return lane_index() < lanes && is_stored(i, j); }
  SIMT_INLINE bool is_below(int i, int j) const { return i != j && is_stored(i, j); }

  SIMT_INLINE T of_groups(int i, T part) const {
    T total = from_real<T>(0);
    if constexpr (whole) {
      total = shuffle(part, 0);
      SIMT_UNROLL
      for (int lane = 1; lane < lanes; ++lane) total = total + shuffle(part, lane);
    } else {
      SIMT_UNROLL
      for (int distance = 1; distance < 16; distance *= 2) part = part + shuffle_xor(part, distance);
      SIMT_UNROLL
      for (int p = 0; p < 2; ++p) {
        T const next = total + shuffle(part, 16 * p);
        if (lower_ ? p * symv_columns_of_panel <= i : p >= i / symv_columns_of_panel && p * symv_columns_of_panel < n_) total = next;
      }
    }
    return total;
  }
};

}  // namespace simt

/// Launch: any number of blocks of C.threads() threads. All matrices have more than symv_most_rows_in_order rows, and at most C.most_rows.
template <typename T, SymvRows C, int whole_warps>
SIMT_KERNEL void SIMT_BOUNDS(C.threads(), 1) symv_rows(SymvArguments<T> const args) {
  using namespace simt;
  int const n = static_cast<int>(args.y.rows), groups = ceil_div(n, C.warps);
  SIMT_LOOP
  for (Index at = block_index(); at < args.y.count * groups; at += block_count()) {
    Index const b = at / groups;
    int const i = static_cast<int>(at % groups) * C.warps + thread_index() / 32;
    if (i >= n) continue;
    T const sum = args.alpha == from_real<T>(0) ? from_real<T>(0) : SymvRowOfWarp<T, C, whole_warps>(args, b, n).sum(i);
    if (lane_index() == 0) symv_store(args, b, i, sum);
  }
}

}  // namespace myriad
