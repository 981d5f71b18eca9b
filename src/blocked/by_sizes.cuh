#pragma once
/// Kernels that divide a ragged batch into classes of sizes.

#include "blocked/by_sizes_config.cuh"

namespace myriad {

/// Launch: any number of blocks of by_sizes_threads threads, one thread per matrix. T only names the kernel.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(by_sizes_threads, 1) select_sizes(SelectSizesArguments const args) {
  using namespace simt;
  for (Index b = block_index() * by_sizes_threads + thread_index(); b < args.a.count; b += block_count() * by_sizes_threads) {
    int const n = args.a.rows_of(b);
    bool const is_in = n > args.above && n <= args.upto;
    args.a_rows[b] = args.a.row_offset + (is_in ? n : 0);
    args.a_cols[b] = args.a.col_offset + (is_in ? args.a.cols_of(b) : 0);
    args.b_rows[b] = args.b.row_offset + (is_in ? n : 0);
    args.b_cols[b] = args.b.col_offset + (is_in ? args.b.cols_of(b) : 0);
  }
}

/// Launch: as select_sizes.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(by_sizes_threads, 1) select_info(SelectInfoArguments const args) {
  using namespace simt;
  for (Index b = block_index() * by_sizes_threads + thread_index(); b < args.a.count; b += block_count() * by_sizes_threads) {
    int which = 0;
    while (which + 1 < by_sizes_classes && args.a.rows_of(b) > args.limits[which]) ++which;
    args.info[b] = args.of_classes[which * args.a.count + b];
  }
}

}  // namespace myriad
