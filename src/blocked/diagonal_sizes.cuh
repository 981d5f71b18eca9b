#pragma once
/// A kernel that finds sizes of diagonals, and zeros on them.

#include "blocked/diagonal_sizes_config.cuh"

namespace myriad {

/// Launch: any number of blocks of diagonal_sizes_threads threads; a warp looks at a diagonal.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(diagonal_sizes_threads, 1) diagonal_sizes(DiagonalSizesArguments<T> const args) {
  using namespace simt;
  constexpr int warps = diagonal_sizes_threads / 32;
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
    for (int s = 0; s < diagonal_sizes_most; ++s)
      if (args.sizes[s]) args.sizes[s][b] = info != 0 ? 0 : n + args.more[s];
  }
}

}  // namespace myriad
