#pragma once
/// Reduction to tridiagonal form of matrices in the shared memory of a block, each read once and written once.

#include "eigen/tridiagonal/reduction_block.cuh"
#include "eigen/tridiagonal/tridiagonal_config.cuh"

namespace myriad {

/// Launch: any number of blocks of C.threads() threads with EigenBlockMemory(sizeof(T), sizeof(Real<T>), C, args.a.rows).bytes of dynamic
/// shared memory.
template <typename T, EigenBlock C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads(), 1) tridiagonal_block(TridiagonalArguments<T> const args) {
  using namespace simt;
  using R = simt::Real<T>;
  EigenBlockMemory const memory(sizeof(T), sizeof(R), C, static_cast<int>(args.a.rows));
  T* const tile = reinterpret_cast<T*>(shared_memory());
  int const line = memory.line;
  int const thread = thread_index(), lane = lane_index(), warp = thread / warp_size;

  for (Index b = block_index(); b < args.a.count; b += block_count()) {
    int const n = args.a.rows_of(b);
    Index const apart = C.by_rows() ? args.a.row_stride_of(b) : args.a.col_stride_of(b);
    // An upper triangle is a lower one with rows and columns in the opposite order.
    auto const place = [&](int i) { return args.lower ? i : n - 1 - i; };
    auto const at = [&](int i, int j) -> T& { return tile[place(i) + place(j) * line]; };
    /// Calls `move(i, j, address)` for all elements, indexed as by `at`, with coalesced accesses.
    auto const for_all = [&](auto move) {
      for (int near = lane; near < n; near += warp_size) {
        T* const first = args.a.at(b, C.by_rows() ? 0 : near, C.by_rows() ? near : 0);
        SIMT_UNROLL_BY(4)
        for (int other = warp; other < n; other += C.threads() / warp_size)
          move(place(C.by_rows() ? other : near), place(C.by_rows() ? near : other), first + other * apart);
      }
    };
    for_all([&](int i, int j, T* from) { copy_async(&at(i, j), from); });
    wait_copies();
    sync_block();
    R* const d = reinterpret_cast<R*>(shared_memory() + memory.diagonal);
    R* const e = d + n;
    ReductionByBlock<T, C.n, C.threads(), decltype(at)> reduction(at, n, d, e, shared_memory() + memory.work);
    R const back = reduction.make_whole(true);
    reduction.reduce();
    T const nothing = back == back ? from_real<T>(0) : not_a_number<T>();  // a matrix with NaN gets NaN in all results
    for_all([&](int i, int j, T* to) {
      if (i < j) return;
      store_global(to, i == j ? from_real<T>(back * d[i]) : i == j + 1 ? from_real<T>(back * e[j]) : at(i, j) + nothing);
    });
    if (thread < n) {
      *args.d.at(b, place(thread), 0) = back * d[thread];
      if (thread + 1 < n) {
        int const k = args.lower ? thread : n - 2 - thread;
        *args.e.at(b, k, 0) = back * e[thread];
        T const tau = thread < n - columns_without_reflector<T> ? at(thread, thread) : from_real<T>(0);
        *args.tau.at(b, k, 0) = conjugate_if(args.tau.conjugated != args.a.conjugated, tau + nothing);
      }
    }
    if (b + block_count() < args.a.count) sync_block();
  }
}

}  // namespace myriad
