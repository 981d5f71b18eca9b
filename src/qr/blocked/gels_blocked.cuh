#pragma once
/// Least squares of large matrices: everything but the factorization, the products with Q and the triangular solves.

#include "qr/blocked/gels_blocked_config.cuh"
#include "qr/blocked/qr_scale.cuh"
#include "qr/range_scales.cuh"

namespace myriad {

/// Launch: any number of blocks of qr_blocked_threads threads.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(qr_blocked_threads, 4) gels_sizes(GelsSizes<T> const args) {
  using namespace simt;
  for (Index b = block_index() * qr_blocked_threads + thread_index(); b < args.f.count; b += block_count() * qr_blocked_threads) {
    int const p = args.f.rows_of(b), q = args.f.cols_of(b);
    bool const here = args.wide ? p > q : p >= q && q > 0;
    Index const right = here ? args.b.cols_of(b) : 0;
    args.rows[b] = here ? p + args.f.row_offset : 0;
    args.cols[b] = here ? q + args.f.col_offset : 0;
    args.square[b] = here ? q + args.f.row_offset : 0;
    args.right_rows[b] = here ? p : 0;
    args.right_top[b] = here ? q : 0;
    args.right_cols[b] = right;
  }
}

/// Brings B to the workspace; zeros where F has more rows than A.
///
/// Launch: any number of blocks of qr_blocked_threads threads.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(qr_blocked_threads, 4) gels_bring(GelsArguments<T> const args) {
  using namespace simt;
  for_each_qr_part(args.w, [&](Index b, int i0, int j0) {
    int const given = args.wide ? args.f.cols_of(b) : args.f.rows_of(b);
    for_each_of_qr_part(args.b, i0, j0, args.w.rows_of(b), args.w.cols_of(b), [&](int i, int j) {
      T const value = i < given ? conjugate_if(args.b.conjugated, load_global(args.b.at(b, i, j))) : from_real<T>(0);
      store_global(args.w.at(b, i, j), value);
    });
  });
}

/// Launch: any number of blocks of qr_blocked_threads threads with 4 * qr_blocked_threads bytes of dynamic shared memory.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(qr_blocked_threads, 4) gels_scale(GelsScale<T> const args) {
  using namespace simt;
  using R = simt::Real<T>;
  unsigned* const of_warps = reinterpret_cast<unsigned*>(shared_memory());
  for_each_qr_part(args.a, [&](Index b, int i0, int j0) {
    int const m = args.a.rows_of(b), n = args.a.cols_of(b);
    unsigned most = 0;
    SIMT_LOOP
    for (int c = 0; c < qr_chunks(m); ++c)
      for (int j = thread_index(); j < n; j += qr_blocked_threads)
        most = larger(most, args.largest[(b * qr_chunks(args.a.rows) + c) * args.a.cols + j]);
    most = largest_of_warp(most);
    if (lane_index() == 0) of_warps[thread_index() / warp_size] = most;
    sync_block();
    SIMT_UNROLL
    for (int w = 0; w < qr_blocked_threads / warp_size; ++w) most = larger(most, of_warps[w]);
    auto const scales = RangeScales<R>::of(most, most);
    short const exponent = args.right ? scales.of_b : scales.of_a;
    if (i0 == 0 && j0 == 0 && thread_index() == 0) args.scales[2 * b + (args.right ? 1 : 0)] = exponent;
    if (exponent != 0)
      for_each_of_qr_part(args.a, i0, j0, m, n, [&](int i, int j) {
        T* const element = args.a.at(b, i, j);
        store_global(element, power<R>(exponent) * load_global(element));
      });
    sync_block();
  });
}

/// Writes info, and what has become of the right-hand sides to B, unless R has a zero on its diagonal.
///
/// Launch: any number of blocks of qr_blocked_threads threads with 4 * qr_blocked_threads bytes of dynamic shared memory.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(qr_blocked_threads, 4) gels_give(GelsArguments<T> const args) {
  using namespace simt;
  using R = simt::Real<T>;
  unsigned* const of_warps = reinterpret_cast<unsigned*>(shared_memory());
  // Without right-hand sides there is info still.
  auto parts = args.w;
  parts.cols = larger<Index>(parts.cols, 1);
  for_each_qr_part(parts, [&](Index b, int i0, int j0) {
    int const p = args.f.rows_of(b), q = args.f.cols_of(b);
    // The first zero has the largest number here.
    unsigned zero = 0;
    SIMT_LOOP
    for (int k = thread_index(); k < q; k += qr_blocked_threads)
      if (load_global(args.f.at(b, k, k)) == from_real<T>(0)) zero = larger(zero, static_cast<unsigned>(q - k));
    zero = largest_of_warp(zero);
    if (lane_index() == 0) of_warps[thread_index() / warp_size] = zero;
    sync_block();
    SIMT_UNROLL
    for (int w = 0; w < qr_blocked_threads / warp_size; ++w) zero = larger(zero, of_warps[w]);
    if (args.info && p > 0 && i0 == 0 && j0 == 0 && thread_index() == 0) args.info[b] = zero == 0 ? 0 : q - static_cast<int>(zero) + 1;
    if (zero == 0) {
      int const of_a = q == 0 ? 0 : args.scales[2 * b], of_b = args.scales[2 * b + 1];
      for_each_of_qr_part(args.b, i0, j0, p, args.w.cols_of(b), [&](int i, int j) {
        bool const solution = args.wide || i < q;
        int const exponent = (solution ? of_a : 0) - of_b;
        store_global(args.b.at(b, i, j), conjugate_if(args.b.conjugated, power<R>(exponent) * load_global(args.w.at(b, i, j))));
      });
    }
    sync_block();
  });
}

}  // namespace myriad
