#pragma once
/// y = alpha A x + beta y for few small matrices with a triangle of A: one warp per row, which loads all that it needs at once.

#include "symv/symv_rows_config.cuh"

namespace myriad {
namespace simt {

/// One row of A x, in the summation order of symv_whole up to 128 rows, and of symv_strips beyond.
template <typename T, SymvRows C>
class SymvRowOfWarp : SymvMatrix<T, C.symmetry, C.layout> {
  using Matrix = SymvMatrix<T, C.symmetry, C.layout>;
  using Matrix::a_, Matrix::down_, Matrix::right_, Matrix::n_, Matrix::lower_, Matrix::x_, Matrix::increment_, Matrix::conjugates_x_;
  using Matrix::held_rows, Matrix::hermitian;
  static constexpr bool whole = C.most_rows <= 128;
  static constexpr int group = whole ? 4 : symv_columns_of_group;
  static constexpr int lanes = C.most_rows / group;  ///< that have a group of columns each
  static constexpr int rows = C.most_rows / 32;      ///< of each lane
  static_assert(lanes <= 32 && (whole || C.most_rows == 2 * symv_columns_of_panel));

 public:
  using Matrix::Matrix;

  /// The sum of row i, in all lanes.
  SIMT_INLINE T sum(int i) const {
    // Ranges of stored elements: along the row with the diagonal, and down the column without it.
    int const along_begin = lower_ ? 0 : i, along_end = lower_ ? i + 1 : n_, below_begin = lower_ ? i + 1 : 0, below_end = lower_ ? n_ : i;
    int const j0 = lane_index() * group, i0 = lane_index() * (whole ? 1 : held_rows);
    T along[group], below[rows], x_along[group], x_below[rows];
    T const* from = a_ + (i * down_ + j0 * right_);
    SIMT_UNROLL
    for (int c = 0; c < group; ++c) {
      along[c] = load_global_if(is_in(j0 + c, along_begin, along_end), from);
      from += right_;
    }
    from = a_ + (i0 * down_ + i * right_);
    SIMT_UNROLL
    for (int r = 0; r < rows; ++r) below[r] = load_global_if(is_in(i0 + step(r), below_begin, below_end), from + step(r) * down_);
    T const* const x_here = x_ + j0 * increment_;
    SIMT_UNROLL
    for (int c = 0; c < group; ++c) x_along[c] = load_global_if(is_in(j0 + c, along_begin, along_end), x_here + c * increment_);
    T const* const x_there = x_ + i0 * increment_;
    SIMT_UNROLL
    for (int r = 0; r < rows; ++r) x_below[r] = load_global_if(is_in(i0 + step(r), below_begin, below_end), x_there + step(r) * increment_);
    // Elements that are not stored were loaded as zero, and so were their factors: they add nothing.
    T part = from_real<T>(0), beside = part;
    SIMT_UNROLL
    for (int c = 0; c < group; ++c) {
      T const element = hermitian && j0 + c == i ? from_real<T>(real_part(along[c])) : along[c];
      part = multiply_add(element, conjugate_if(conjugates_x_, x_along[c]), part);
    }
    SIMT_UNROLL
    for (int r = 0; r < rows; ++r)
      beside = multiply_add(conjugate_if(hermitian, below[r]), conjugate_if(conjugates_x_, x_below[r]), beside);
    SIMT_UNROLL
    for (int distance = 16; distance > 0; distance /= 2) beside = beside + shuffle_xor(beside, distance);
    return of_groups(i, part) + beside;
  }

 private:
  SIMT_INLINE static bool is_in(int k, int begin, int end) { return k >= begin && k < end; }
  /// Distance from a lane's first row to its r-th row.
  SIMT_INLINE static constexpr int step(int r) { return whole ? 32 * r : r / held_rows * (32 * held_rows) + r % held_rows; }

  SIMT_INLINE T of_groups(int i, T part) const {
    constexpr int lanes_of_panel = whole ? lanes : lanes / 2;
    SIMT_UNROLL
    for (int distance = 1; distance < lanes_of_panel; distance *= 2) part = part + shuffle_xor(part, distance);
    T total = shuffle(part, 0);
    if constexpr (!whole) {
      constexpr int second = symv_columns_of_panel;
      T const other = shuffle(part, lanes_of_panel);
      bool const has_first = lower_ || i < second, has_second = lower_ ? i >= second : n_ > second;
      total = from_real<T>(0) + (has_first ? total : other);
      if (has_first && has_second) total = total + other;
    }
    return total;
  }
};

}  // namespace simt

/// Launch: any number of blocks of C.threads() threads. All matrices have more than symv_most_rows_in_order rows, and at most C.most_rows.
template <typename T, SymvRows C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads(), 1) symv_rows(SymvArguments<T> const args) {
  using namespace simt;
  int const n = static_cast<int>(args.y.rows), groups = ceil_div(n, C.warps);
  SIMT_LOOP
  for (Index at = block_index(); at < args.y.count * groups; at += block_count()) {
    Index const b = at / groups;
    int const i = static_cast<int>(at % groups) * C.warps + thread_index() / 32;
    if (i >= n) continue;
    T const sum = args.alpha == from_real<T>(0) ? from_real<T>(0) : SymvRowOfWarp<T, C>(args, b, n).sum(i);
    if (lane_index() == 0) symv_store(args, b, i, sum);
  }
}

}  // namespace myriad
