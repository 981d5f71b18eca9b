#pragma once
/// LU of narrow panels in global memory, of any number of rows: one pass over the rows for each step, which also finds the next pivot.

#include "lu/block/pivot_of_block.cuh"
#include "lu/blocked/lu_tall_config.cuh"

namespace myriad {

/// Launch: any number of blocks of C.threads threads with C.bytes(sizeof(T)) of dynamic shared memory; a block has a panel.
template <typename T, LuTall C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads, 1) lu_tall(LuTallArguments<T> const args) {
  using namespace simt;
  using R = simt::Real<T>;
  auto* const candidates = reinterpret_cast<LuCandidate*>(shared_memory());
  T* const row_of_pivot = reinterpret_cast<T*>(shared_memory() + C.row());
  int const t = thread_index(), lane = lane_index(), warp = t / 32;
  for (Index b = block_index(); b < args.a.count; b += block_count()) {
    int const m = args.a.rows_of(b), n = args.a.cols_of(b), steps = smaller(m, n);
    T* const a = args.a.at(b, 0, 0);
    Index const row = args.a.row_stride_of(b), column = args.a.col_stride_of(b);
    auto const candidate = [&](int i, T x) { return LuCandidate{args.pivoting ? ordered_bits(magnitude(x)) : 0, i, 0}; };
    LuCandidate best{0, -1, 0};
    SIMT_LOOP
    for (int i = t; i < m && n > 0; i += C.threads) {
      LuCandidate const next = candidate(i, a[i * row]);
      if (is_better(next, best)) best = next;
    }
    int info = 0;
    SIMT_LOOP
    for (int k = 0; k < steps; ++k) {
      if (lane == lane_of_best<R>(best)) candidates[warp] = best;
      sync_block();
      LuCandidate const of_lane = lane < C.warps() ? candidates[smaller(lane, C.warps() - 1)] : LuCandidate{0, -1, 0};
      int const p = shuffle(of_lane.at, lane_of_best<R>(of_lane));
      if (t < n) {
        T* const up = a + k * row + t * column;
        T* const pivot = a + p * row + t * column;
        T const x = *pivot;
        *pivot = *up;
        *up = x;
        row_of_pivot[t] = x;
      }
      if (t == 0 && args.pivots.given()) *args.pivots.at(b, k, 0) = args.before + p + 1;
      sync_block();
      T u[C.width];
      SIMT_UNROLL
      for (int c = 0; c < C.width; ++c) u[c] = c < n ? row_of_pivot[c] : from_real<T>(0);
      T pivot = u[0];
      SIMT_UNROLL
      for (int c = 1; c < C.width; ++c)
        if (c == k) pivot = u[c];
      if (info == 0 && pivot == from_real<T>(0)) info = k + 1;
      PivotDivisor<T> const divisor(pivot, args.pivoting);
      best.at = -1;
      SIMT_LOOP
      for (int i = k + 1 + t; i < m; i += C.threads) {
        T* const mine = a + i * row;
        T const l = divisor.divide(mine[k * column]);
        mine[k * column] = l;
        SIMT_UNROLL
        for (int c = 1; c < C.width; ++c) {
          if (c <= k || c >= n) continue;
          T const x = subtract_product(mine[c * column], l, u[c]);
          mine[c * column] = x;
          if (c == k + 1) {
            LuCandidate const next = candidate(i, x);
            if (is_better(next, best)) best = next;
          }
        }
      }
      // The row of this pivot has been read, and the rows of the next one are written.
      sync_block();
    }
    if (args.info && t == 0) {
      if (args.before == 0)
        args.info[b] = info;
      else if (info != 0 && args.info[b] == 0)
        args.info[b] = args.before + info;
    }
    if (b + block_count() < args.a.count) sync_block();
  }
}

}  // namespace myriad
