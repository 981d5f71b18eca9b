#pragma once
/// Kernels of large eigenproblems other than reduction, tridiagonal problem and back-transformation.

#include "eigen/eigen_large_config.cuh"

namespace myriad {

/// Splits a ragged batch into small and large matrices.
///
/// Launch: any number of blocks of eigen_large_threads threads.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(eigen_large_threads, 1) eigen_sizes(EigenSizes<T> const sizes) {
  using namespace simt;
  Matrices<T> const& a = sizes.a;
  for (Index b = block_index() * eigen_large_threads + thread_index(); b < a.count; b += block_count() * eigen_large_threads) {
    int const n = a.rows_of(b);
    bool const is_large = n > sizes.limit;
    int const small = is_large ? 0 : n, large = is_large ? n : 0;
    sizes.small_rows[b] = small + a.row_offset;
    sizes.small_columns[b] = small + a.col_offset;
    sizes.large_rows[b] = large + a.row_offset;
    sizes.large_columns[b] = large + a.col_offset;
    sizes.large[b] = large;
  }
}

namespace simt {

/// Calls use(diagonal, address) for the elements of the triangle of matrix b; block `part` of `parts` has every parts-th line.
template <typename T, typename Use>
SIMT_INLINE void for_each_in_triangle(EigenLarge<T> const& work, Index b, int part, Use use) {
  int const n = work.rows_of(b);
  Index const row_stride = work.a.row_stride_of(b), col_stride = work.a.col_stride_of(b);
  // Lines are contiguous in memory: columns or rows, from or up to the diagonal.
  bool const by_rows = col_stride < row_stride, from_diagonal = work.lower != by_rows;
  Index const along = by_rows ? col_stride : row_stride, apart = by_rows ? row_stride : col_stride;
  T* const first = work.a.at(b, 0, 0);
  SIMT_LOOP
  for (int line = part; line < n; line += work.parts) {
    SIMT_UNROLL_BY(4)
    for (int k = (from_diagonal ? line : 0) + thread_index(); k < (from_diagonal ? n : line + 1); k += eigen_large_threads)
      use(k == line, first + line * apart + k * along);
  }
}

/// The maximum over the block, in all threads.
template <typename R>
SIMT_INLINE R largest_of_all(R value) {
  auto top = ordered_bits(value);
  SIMT_UNROLL
  for (int mask = 16; mask > 0; mask /= 2) top = larger(top, shuffle_xor(top, mask));
  R* const of_warps = reinterpret_cast<R*>(shared_memory());
  sync_block();
  if (lane_index() == 0) of_warps[thread_index() / 32] = number_of(top);
  sync_block();
  SIMT_UNROLL
  for (int w = 0; w < eigen_large_threads / 32; ++w) top = larger(top, ordered_bits(of_warps[w]));
  return number_of(top);
}

}  // namespace simt

/// The largest element that each block finds.
///
/// Launch: any number of blocks of eigen_large_threads threads with 128 bytes of dynamic shared memory.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(eigen_large_threads, 1) eigen_largest(EigenLarge<T> const work) {
  using namespace simt;
  using R = simt::Real<T>;
  for (Index at = block_index(); at < work.parts * work.tridiagonal.count; at += block_count()) {
    auto top = ordered_bits(R(0));
    for_each_in_triangle(work, at / work.parts, static_cast<int>(at % work.parts), [&](bool diagonal, T* from) {
      T const value = *from;
      top = larger(top, ordered_bits(magnitude(real_part(value))));
      if constexpr (simt::is_complex<T>)
        if (!diagonal) top = larger(top, ordered_bits(magnitude(value.im)));
    });
    R const largest = largest_of_all(number_of(top));
    if (thread_index() == 0) work.largest[at] = largest;
  }
}

/// Scales matrices near overflow or underflow to norm one by a power of two. `scale` of a matrix gets the inverse factor.
///
/// Launch: as eigen_largest.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(eigen_large_threads, 1) eigen_scale(EigenLarge<T> const work) {
  using namespace simt;
  using R = simt::Real<T>;
  constexpr R most = power_of_two<R, 500, 60>, least = power_of_two<R, -500, -60>;
  for (Index at = block_index(); at < work.parts * work.tridiagonal.count; at += block_count()) {
    Index const b = at / work.parts;
    auto top = ordered_bits(R(0));
    for (int k = thread_index(); k < work.parts; k += eigen_large_threads)
      top = larger(top, ordered_bits(work.largest[b * work.parts + k]));
    R const size = largest_of_all(number_of(top));
    bool const scales = size > R(0) && size < R(infinity()) && !(size > least && size < most);
    R const scale = scales ? reciprocal_power(size) : R(1);
    if (thread_index() == 0 && at % work.parts == 0) work.tridiagonal.scales[b] = reciprocal_power(scale);
    if (!scales) continue;
    for_each_in_triangle(work, b, static_cast<int>(at % work.parts), [&](bool diagonal, T* to) {
      T const value = *to;
      store_global(to, diagonal ? from_real<T>(scale * real_part(value)) : scale * value);
    });
  }
}

/// Converts real vectors to complex ones. Blocks divide the columns.
///
/// Launch: any number of blocks of eigen_large_threads threads.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(eigen_large_threads, 1) eigen_widen(EigenLarge<T> const work) {
  using namespace simt;
  StedcWork<simt::Real<T>> const& t = work.tridiagonal;
  for (Index at = block_index(); at < t.n * t.count; at += block_count()) {
    Index const b = at / t.n, j = at % t.n;
    int const n = t.rows_of(b);
    if (j >= n) continue;
    SIMT_UNROLL_BY(4)
    for (int i = thread_index(); i < n; i += eigen_large_threads)
      work.vectors[b * work.vectors_stride + i + j * t.ld] = from_real<T>(t.q[b * t.stride + i + j * t.ld]);
  }
}

/// Writes the vectors to A, with columns in the order of the values; NaN if the matrix had NaN or infinity.
///
/// Launch: any number of blocks of eigen_large_threads threads with 32 * 33 elements of dynamic shared memory.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(eigen_large_threads, 1) eigen_write(EigenLarge<T> const work) {
  using namespace simt;
  constexpr int side = eigen_large_side, pitch = side + 1, lines = eigen_large_threads / side;
  StedcWork<simt::Real<T>> const& t = work.tridiagonal;
  T* const tile = reinterpret_cast<T*>(shared_memory());
  Index const across = ceil_div(t.n, side);
  int const along = thread_index() % side, line = thread_index() / side;
  for (Index at = block_index(); at < across * across * t.count; at += block_count()) {
    Index const b = at / (across * across);
    int const i0 = static_cast<int>(at % across) * side, j0 = static_cast<int>(at / across % across) * side, n = t.rows_of(b);
    if (i0 >= n || j0 >= n) continue;
    bool const finite = t.backs[b] == t.backs[b];
    SIMT_UNROLL
    for (int l = line; l < side; l += lines)
      if (i0 + along < n && j0 + l < n)
        tile[along + l * pitch] = work.vectors[b * work.vectors_stride + i0 + along + t.order[b * t.line + j0 + l] * t.ld];
    sync_block();
    Index const row_stride = work.a.row_stride_of(b), col_stride = work.a.col_stride_of(b);
    bool const by_rows = col_stride < row_stride;
    T* const first = work.a.at(b, i0, j0);
    SIMT_UNROLL
    for (int l = line; l < side; l += lines) {
      int const i = by_rows ? l : along, j = by_rows ? along : l;
      if (i0 + i < n && j0 + j < n) store_global(first + i * row_stride + j * col_stride, finite ? tile[i + j * pitch] : not_a_number<T>());
    }
    sync_block();
  }
}

}  // namespace myriad
