#pragma once
/// A kernel for determinants of factors.

#include "lu/blocked/lu_determinant_config.cuh"
#include "lu/determinant.cuh"

namespace myriad {

/// Launch: any number of blocks of lu_determinant_threads threads; a warp has a matrix.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(lu_determinant_threads, 1) lu_determinant(LuDeterminantArguments<T> const args) {
  using namespace simt;
  constexpr int warps = lu_determinant_threads / 32;
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
