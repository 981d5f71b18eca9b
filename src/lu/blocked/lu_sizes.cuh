#pragma once
/// Sizes without singular matrices, and determinants of factors, around LU of large matrices.

#include "lu/blocked/lu_sizes_config.cuh"
#include "lu/determinant.cuh"

namespace myriad {

/// Launch: any number of blocks of lu_sizes_threads threads; a warp looks at a diagonal.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(lu_sizes_threads, 1) lu_sizes(LuSizesArguments<T> const args) {
  using namespace simt;
  constexpr int warps = lu_sizes_threads / 32;
  for (Index b = block_index() * warps + thread_index() / 32; b < args.a.count; b += block_count() * warps) {
    int const n = smaller(args.a.rows_of(b), args.a.cols_of(b));
    int info = 0;
    SIMT_LOOP
    for (int first = 0; first < n && info == 0 && args.looks_for_zeros; first += 32) {
      int const i = first + lane_index();
      unsigned const zeros = ballot(i < n && *args.a.at(b, smaller(i, n - 1), smaller(i, n - 1)) == from_real<T>(0));
      if (zeros != 0) info = first + lowest_bit(zeros) + 1;
    }
    if (lane_index() != 0) continue;
    if (args.info) args.info[b] = info;
    SIMT_UNROLL
    for (int s = 0; s < lu_sizes_most; ++s)
      if (args.sizes[s]) args.sizes[s][b] = info != 0 ? 0 : n + args.more[s];
  }
}

/// Launch: any number of blocks of lu_sizes_threads threads; a warp has a matrix.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(lu_sizes_threads, 1) lu_determinant(LuDeterminantArguments<T> const args) {
  using namespace simt;
  constexpr int warps = lu_sizes_threads / 32;
  for (Index b = block_index() * warps + thread_index() / 32; b < args.a.count; b += block_count() * warps) {
    int const n = args.a.rows_of(b);
    int interchanges = 0;
    SIMT_LOOP
    for (int first = 0; first < n; first += 32) {
      int const k = first + lane_index();
      interchanges += count_bits(ballot(k < n && *args.pivots.at(b, smaller(k, n - 1), 0) != k + 1));
    }
    put_determinant<T>(
        n, interchanges % 2 != 0, args.a.conjugated, [&](int k) { return *args.a.at(b, k, k); }, args.sign_or_det + b,
        args.logabs ? args.logabs + b : nullptr);
  }
}

}  // namespace myriad
