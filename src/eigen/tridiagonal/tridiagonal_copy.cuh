#pragma once
/// Copies large matrices to the workspace of their reduction and back.

#include "eigen/tridiagonal/tridiagonal_config.cuh"

namespace myriad {
namespace simt {

/// Element (i, j), i >= j, in the reduction's order.
template <typename T>
SIMT_INLINE T* tridiagonal_element(TridiagonalWork<T> const& work, Index number, int n, int i, int j) {
  bool const lower = work.batch.lower;
  return work.batch.a.at(number, lower ? i : n - 1 - i, lower ? j : n - 1 - j);
}

/// The matrix of a block, and the block's index among its work.blocks blocks.
template <typename T>
struct TridiagonalCopy {
  TridiagonalMatrix<T> matrix;
  int n, part;

  SIMT_INLINE explicit TridiagonalCopy(TridiagonalWork<T> const& work)
      : matrix(work.matrix_of(block_index() / work.blocks)),
        n(work.rows_of(matrix.number)),
        part(static_cast<int>(block_index() % work.blocks)) {}
};

/// Calls use(i, j) for elements of the lower triangle, columns by blocks and rows by threads.
template <typename Use>
SIMT_INLINE void for_each_of_triangle(int n, int part, int parts, Use use) {
  SIMT_LOOP
  for (int j = part; j < n; j += parts) {
    SIMT_UNROLL_BY(4)
    for (int i = j + thread_index(); i < n; i += tridiagonal_copy_threads) use(i, j);
  }
}

/// The maximum over the block, in all threads.
template <typename R>
SIMT_INLINE R largest_of_block(R value) {
  auto top = ordered_bits(value);
  SIMT_UNROLL
  for (int mask = 16; mask > 0; mask /= 2) top = larger(top, shuffle_xor(top, mask));
  R* const of_warps = reinterpret_cast<R*>(shared_memory());
  if (lane_index() == 0) of_warps[thread_index() / 32] = number_of(top);
  sync_block();
  SIMT_UNROLL
  for (int w = 0; w < tridiagonal_copy_threads / 32; ++w) top = larger(top, ordered_bits(of_warps[w]));
  return number_of(top);
}

/// The factor that scales the matrix to norm one; NaN if it has NaN or infinity.
template <typename R>
SIMT_INLINE R tridiagonal_scale(R const* largest, int blocks) {
  auto top = ordered_bits(R(0));
  SIMT_LOOP
  for (int k = thread_index(); k < blocks; k += tridiagonal_copy_threads) top = larger(top, ordered_bits(largest[k]));
  R const size = largest_of_block(number_of(top));
  return !(size < R(infinity())) ? R(quiet_nan()) : size == R(0) ? R(1) : reciprocal_power(size);
}

}  // namespace simt

/// The largest element that each block finds. Launch: work.blocks blocks of tridiagonal_copy_threads threads per matrix, with 128 bytes of
/// dynamic shared memory.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(tridiagonal_copy_threads, 1) tridiagonal_largest(TridiagonalWork<T> const work) {
  using namespace simt;
  using R = simt::Real<T>;
  TridiagonalCopy<T> const copy(work);
  TridiagonalMatrix<T> const& m = copy.matrix;
  int const n = copy.n;
  auto top = ordered_bits(R(0));
  for_each_of_triangle(n, copy.part, work.blocks, [&](int i, int j) {
    T const value = *tridiagonal_element(work, m.number, n, i, j);
    top = larger(top, ordered_bits(magnitude(real_part(value))));
    if constexpr (is_complex<T>)
      if (i != j) top = larger(top, ordered_bits(magnitude(value.im)));
  });
  R const largest = largest_of_block(number_of(top));
  if (thread_index() == 0) m.largest[copy.part] = largest;
}

/// Loads the matrices, and sets the margin to zero. Launch: as tridiagonal_largest, which must run before.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(tridiagonal_copy_threads, 1) tridiagonal_load(TridiagonalWork<T> const work) {
  using namespace simt;
  using R = simt::Real<T>;
  TridiagonalCopy<T> const copy(work);
  TridiagonalMatrix<T> const& m = copy.matrix;
  int const n = copy.n;
  R const scale = tridiagonal_scale(m.largest, work.blocks);
  bool const finite = scale == scale;
  SIMT_LOOP
  for (int j = copy.part; j < n + work.margin; j += work.blocks) {
    SIMT_UNROLL_BY(4)
    for (int i = (work.margin > 0 ? larger(j + 1 - work.margin, 0) : j) + thread_index(); i < (work.margin > 0 ? m.ld : n);
         i += tridiagonal_copy_threads) {
      T value = from_real<T>(0);
      if (finite && i >= j && i < n) value = scale * *tridiagonal_element(work, m.number, n, i, j);
      m.a[i + j * m.ld] = i == j ? from_real<T>(real_part(value)) : value;
    }
  }
  SIMT_LOOP
  for (int i = copy.part * tridiagonal_copy_threads + thread_index(); i < m.ld; i += work.blocks * tridiagonal_copy_threads) {
    if (work.margin > 0) m.x[i] = from_real<T>(0);
    SIMT_UNROLL
    for (int k = 0; k < 4; ++k) m.pairs[i + k * m.ld] = from_real<T>(0);
    if (i == 0) *m.arrived = *m.others = 0;
  }
}

/// Launch: as tridiagonal_load.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(tridiagonal_copy_threads, 1) tridiagonal_store(TridiagonalWork<T> const work) {
  using namespace simt;
  using R = simt::Real<T>;
  TridiagonalCopy<T> const copy(work);
  TridiagonalMatrix<T> const& m = copy.matrix;
  int const n = copy.n;
  R const scale = tridiagonal_scale(m.largest, work.blocks);
  R const back = scale == scale ? reciprocal_power(scale) : scale;  // a matrix with NaN gets NaN in all results
  T const nothing = scale == scale ? from_real<T>(0) : not_a_number<T>();
  for_each_of_triangle(n, copy.part, work.blocks, [&](int i, int j) {
    T const value = i == j ? from_real<T>(back * m.d[i]) : i == j + 1 ? from_real<T>(back * m.e[j]) : m.a[i + j * m.ld] + nothing;
    store_global(tridiagonal_element(work, m.number, n, i, j), value);
  });
  TridiagonalArguments<T> const& args = work.batch;
  SIMT_LOOP
  for (int k = copy.part * tridiagonal_copy_threads + thread_index(); k < n; k += work.blocks * tridiagonal_copy_threads) {
    *args.d.at(m.number, args.lower ? k : n - 1 - k, 0) = back * m.d[k];
    if (k + 1 >= n) continue;
    int const to = args.lower ? k : n - 2 - k;
    *args.e.at(m.number, to, 0) = back * m.e[k];
    *args.tau.at(m.number, to, 0) = conjugate_if(args.tau.conjugated != args.a.conjugated, m.tau[k] + nothing);
  }
}

}  // namespace myriad
