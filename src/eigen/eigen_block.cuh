#pragma once
/// Eigenproblems of matrices that tridiagonal_block has reduced, in the shared memory of a block: those of the tridiagonal matrix, and the
/// back-transformation of the vectors. In a ragged batch matrices of up to 32 rows have not been reduced.

#include "eigen/back_transformation.cuh"
#include "eigen/divide_and_conquer/divide_and_conquer.cuh"
#include "eigen/eigen_block_config.cuh"
#include "eigen/eigen_rows.cuh"

namespace myriad {

/// Blocks per multiprocessor, limited by registers. Steps depend on each other, so several blocks hide latency; with still fewer registers,
/// spills cost more than that saves: 3 blocks of 96 rows in single took 1.3 times as long on an H100.
template <typename T>
constexpr int eigen_blocks_at_a_time(EigenJob job, int n) {
  constexpr int bytes = sizeof(T);
  if (job == EigenJob::values) return bytes <= 8 ? 16 : 12;
  if (n == 64) return bytes == 16 ? 2 : simt::is_complex<T> ? 3 : 4;
  return n == 96 && !simt::is_complex<T> ? 2 : 1;
}

/// Launch: any number of blocks of C.threads() threads with EigenBlockMemory(sizeof(T), sizeof(Real<T>), C, args.a.rows).bytes of dynamic
/// shared memory.
template <typename T, EigenBlock C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads(), eigen_blocks_at_a_time<T>(C.job, C.n)) eigen_block(EigenArguments<T> const args) {
  using namespace simt;
  using R = simt::Real<T>;
  EigenBlockMemory const memory(sizeof(T), sizeof(R), C, static_cast<int>(args.a.rows));
  T* const tile = reinterpret_cast<T*>(shared_memory());
  int const line = memory.line;
  auto const at = [&](int i, int j) -> T& { return tile[i + j * line]; };
  int const thread = thread_index(), lane = lane_index(), warp = thread / warp_size;
  char* const work = shared_memory() + memory.work;

  for (Index b = block_index(); b < args.a.count; b += block_count()) {
    int const n = args.a.rows_of(b);
    R* const d = reinterpret_cast<R*>(shared_memory() + memory.diagonal);
    R* const e = d + n;
    Index const apart = C.by_rows() ? args.a.row_stride_of(b) : args.a.col_stride_of(b);
    /// Calls `move(i, j, address)` for all elements, with coalesced accesses.
    auto const for_all = [&](auto move) {
      for (int near = lane; near < n; near += warp_size) {
        T* const first = args.a.at(b, C.by_rows() ? 0 : near, C.by_rows() ? near : 0);
        SIMT_UNROLL_BY(4)
        for (int other = warp; other < n; other += C.threads() / warp_size)
          move(C.by_rows() ? other : near, C.by_rows() ? near : other, first + other * apart);
      }
    };
    R back;
    int info = 0;
    if (n <= 32) {
      // The same algorithm as eigen_tiny, for the same bits.
      for_all([&](int i, int j, T* from) { copy_async(&at(i, j), from); });
      wait_copies();
      sync_block();
      R* const result = reinterpret_cast<R*>(work);
      if (warp == 0) {
        EigenAcrossLanes<T, 32, 32, true, decltype(at)> eigen(at, n, lane, work);
        eigen.d = d;
        eigen.e = e;
        back = eigen.make_whole(args.lower, true);
        eigen.reduce();
        if constexpr (C.vectors()) eigen.form_q();
        eigen.template iterate<C.vectors(), most_eigen_sweeps>();
        if (lane == 0) {
          result[0] = back;
          result[1] = R(eigen.info);
        }
      }
      sync_block();
      back = result[0];
      info = static_cast<int>(result[1]);
    } else {
      back = real_part(*args.a.at(b, n - 1, n - 1));
      bool const above = C.vectors() || !args.lower, finite = back == back;
      for (int k = thread; k < n; k += C.threads()) {
        d[k] = finite ? *args.w.at(b, k, 0) : R(0);
        if (k + 1 < n) e[k] = finite ? real_part(*args.a.at(b, above ? k : k + 1, above ? k + 1 : k)) : R(0);
      }
      sync_block();
      if constexpr (C.vectors()) {
        // Real vectors of a complex matrix use the second half of the tile.
        R* const vectors = reinterpret_cast<R*>(tile) + (is_complex<T> ? n * line : 0);
        auto const q = [&](int i, int j) -> R& { return vectors[i + j * line]; };
        DivideAndConquer<R, C.n, C.threads(), decltype(q)> divide(q, n, d, e, work);
        info = divide.template solve<most_eigen_sweeps>();
        ReflectorsByBlock<T, C.n, C.threads()>::apply(n, q, at, args.a.at(b, 0, 0), args.a.row_stride_of(b), args.a.col_stride_of(b), work);
      } else {
        if (warp == 0) {
          EigenAcrossLanes<R, C.n, 32, true, R& (*)(int, int)> eigen(nullptr, n, lane, work);
          eigen.d = d;
          eigen.e = e;
          eigen.template iterate<false, most_eigen_sweeps>();
          info = eigen.info;
        }
      }
    }
    sync_block();
    int* const places = reinterpret_cast<int*>(work);
    bool const bad = !(back == back);
    if (thread == 0 && args.info) args.info[b] = bad ? n : info;
    for (int k = thread; k < n; k += C.threads()) {
      R const value = d[k];
      int place = 0;
      SIMT_UNROLL_BY(4)
      for (int j = 0; j < n; ++j) place += d[j] < value || (d[j] == value && j < k) ? 1 : 0;
      places[k] = place;
      store_global(args.w.at(b, place, 0), back * value);
    }
    if constexpr (C.vectors()) {
      sync_block();
      for (int near = lane; near < n; near += warp_size) {
        T* const first = args.a.at(b, C.by_rows() ? 0 : near, C.by_rows() ? places[near] : 0);
        SIMT_UNROLL_BY(4)
        for (int other = warp; other < n; other += C.threads() / warp_size) {
          T const value = at(C.by_rows() ? other : near, C.by_rows() ? near : other);
          store_global(first + (C.by_rows() ? other : places[other]) * apart, bad ? not_a_number<T>() : value);
        }
      }
    }
    if (b + block_count() < args.a.count) sync_block();
  }
}

}  // namespace myriad
