#pragma once
/// Least squares of large matrices: everything but the factorization, scaling, the products with Q and the triangular solves.

#include "qr/blocked/gels_blocked_config.cuh"
#include "qr/blocked/qr_scale.cuh"

namespace myriad {

template <typename T>
SIMT_INLINE void find_gels_sizes(GelsArguments<T> const& args) {
  using namespace simt;
  GelsSizes const& to = args.sizes;
  for (Index b = block_index() * qr_blocked_threads + thread_index(); b < args.f.count; b += block_count() * qr_blocked_threads) {
    int const p = args.f.rows_of(b), q = args.f.cols_of(b);
    bool const here = args.wide ? p > q : p >= q && q > 0;
    to.rows[b] = here ? p + args.f.row_offset : 0;
    to.cols[b] = here ? q + args.f.col_offset : 0;
    to.square[b] = here ? q + args.f.row_offset : 0;
    to.right_rows[b] = here ? p : 0;
    to.right_top[b] = here ? q : 0;
    to.right_cols[b] = here ? args.b.cols_of(b) : 0;
  }
}
template <typename T>
SIMT_INLINE void bring_gels_right(GelsArguments<T> const& args) {
  using namespace simt;
  for_each_qr_part(args.w, [&](Index b, int i0, int j0) {
    int const given = args.wide ? args.f.cols_of(b) : args.f.rows_of(b);
    for_each_of_qr_part(args.b, i0, j0, args.w.rows_of(b), args.w.cols_of(b), [&](int i, int j) {
      T const value = i < given ? conjugate_if(args.b.conjugated, load_global(args.b.at(b, i, j))) : from_real<T>(0);
      store_global(args.w.at(b, i, j), value);
    });
  });
}
template <typename T>
SIMT_INLINE void give_gels_right(GelsArguments<T> const& args) {
  using namespace simt;
  using R = simt::Real<T>;
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
    zero = largest_of_qr_block(zero, reinterpret_cast<unsigned*>(shared_memory()));
    if (args.info && p > 0 && i0 == 0 && j0 == 0 && thread_index() == 0) args.info[b] = zero == 0 ? 0 : q - static_cast<int>(zero) + 1;
    if (zero == 0) {
      int const of_a = q == 0 ? 0 : args.exponents[2 * b], of_b = args.exponents[2 * b + 1];
      for_each_of_qr_part(args.b, i0, j0, p, args.w.cols_of(b), [&](int i, int j) {
        bool const solution = args.wide || i < q;
        int const exponent = (solution ? of_a : 0) - of_b;
        store_global(args.b.at(b, i, j), conjugate_if(args.b.conjugated, power<R>(exponent) * load_global(args.w.at(b, i, j))));
      });
    }
    sync_block();
  });
}

/// Launch: any number of blocks of qr_blocked_threads threads with 4 * qr_blocked_threads bytes of dynamic shared memory.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(qr_blocked_threads, 4) gels_blocked(GelsArguments<T> const args) {
  if (args.job == GelsJob::sizes)
    find_gels_sizes(args);
  else if (args.job == GelsJob::bring)
    bring_gels_right(args);
  else
    give_gels_right(args);
}

}  // namespace myriad
