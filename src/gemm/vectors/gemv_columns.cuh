#pragma once
/// y = alpha A x + beta y for many matrices by columns: one row per lane, from global memory to registers.

#include "gemm/vectors/gemv_config.cuh"

namespace myriad {

/// Computes element i of y = alpha A x + beta y of matrix b by one lane. Columns of A are contiguous and may begin anywhere; x and y have
/// any stride. Sums are those of gemv.
template <typename T, GemvColumns C>
SIMT_INLINE void gemv_of_lane(GemmArguments<T> const& args, simt::Index b, int i) {
  using namespace simt;
  int const depth = args.depth == 0 ? 0 : args.a.cols_of(b);
  bool const reads_y = !(args.beta == from_real<T>(0));
  T const former = reads_y ? *args.c.at(b, i, 0) : from_real<T>(0);

  T sum = from_real<T>(0);
  if (depth > 0) {
    T const* a = args.a.at(b, i, 0);
    T const* x = args.b.at(b, 0, 0);
    Index const stride = args.a.col_stride_of(b), x_stride = args.b.row_stride_of(b);
    auto const add = [&](T const& left, T const& right) {
      sum = multiply_add(conjugate_if(args.a.conjugated, left), conjugate_if(args.b.conjugated, right), sum);
    };
    T left[C.terms], right[C.terms];
    int remain = depth;
    SIMT_LOOP
    for (; remain >= C.terms; remain -= C.terms) {
      SIMT_UNROLL
      for (int t = 0; t < C.terms; ++t, a += stride) left[t] = load_global(a);
      SIMT_UNROLL
      for (int t = 0; t < C.terms; ++t, x += x_stride) right[t] = load_global(x);
      SIMT_UNROLL
      for (int t = 0; t < C.terms; ++t) add(left[t], right[t]);
    }
    if (remain > 0) {
      SIMT_UNROLL
      for (int t = 0; t < C.terms; ++t, a += stride) {
        left[t] = from_real<T>(0);
        if (t < remain) left[t] = load_global(a);
      }
      SIMT_UNROLL
      for (int t = 0; t < C.terms; ++t, x += x_stride) {
        right[t] = from_real<T>(0);
        if (t < remain) right[t] = load_global(x);
      }
      SIMT_UNROLL
      for (int t = 0; t < C.terms; ++t)
        if (t < remain) add(left[t], right[t]);
    }
  }
  store_global(args.c.at(b, i, 0), gemm_element<Written::whole>(args, reads_y, false, depth, sum, former));
}

/// The lanes of a warp have neighbouring rows, also of several matrices.
///
/// Launch: blocks for args.c.count * args.c.rows threads, with a schedule any number, of C.threads() threads.
template <typename T, GemvColumns C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads(), C.blocks_per_sm) gemv_columns(GemmArguments<T> const args) {
  using namespace simt;
  GemvPlaces<1, C.scheduled != 0, 32> const places(args);
  Index at = block_index() * C.threads() + thread_index();
  if constexpr (C.scheduled != 0) {
    SIMT_LOOP
    for (; at - lane_index() < places.count(args); at += block_count() * C.threads()) {
      GemvPlace const place = places.at(args, at, lane_index());
      if (place.rows > 0) gemv_of_lane<T, C>(args, place.b, place.i0);
    }
  } else {
    GemvPlace const place = places.at(args, at, lane_index());
    if (place.rows > 0) gemv_of_lane<T, C>(args, place.b, place.i0);
  }
}

}  // namespace myriad
