#pragma once
/// Finds singular triangles.

#include "simt/matrices.hpp"

namespace myriad {

template <typename T>
struct TrtriSizesArguments {
  simt::Matrices<T const> a;
  int* info;          ///< or null: first zero on the diagonal, from one
  simt::Index* rows;  ///< row_sizes and col_sizes of a batch like A in which singular matrices are empty
  simt::Index* cols;
};

/// Launch: any number of blocks of 128 threads; one warp per diagonal.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(128, 1) trtri_sizes(TrtriSizesArguments<T> const args) {
  using namespace simt;
  for (Index b = block_index() * 4 + thread_index() / 32; b < args.a.count; b += block_count() * 4) {
    int const n = args.a.rows_of(b);
    int info = 0;
    SIMT_LOOP
    for (int first = 0; first < n && info == 0; first += 32) {
      int const i = first + lane_index();
      unsigned const zeros = ballot(i < n && *args.a.at(b, smaller(i, n - 1), smaller(i, n - 1)) == from_real<T>(0));
      if (zeros != 0) info = first + lowest_bit(zeros) + 1;
    }
    if (lane_index() != 0) continue;
    if (args.info) args.info[b] = info;
    args.rows[b] = info != 0 ? 0 : n + args.a.row_offset;
    args.cols[b] = info != 0 ? 0 : n + args.a.col_offset;
  }
}

}  // namespace myriad
