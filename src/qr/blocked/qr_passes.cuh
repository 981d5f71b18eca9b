#pragma once
/// Passes over large matrices before and after they are factored: scales, and right-hand sides of least squares.

#include "qr/blocked/qr_blocked_config.cuh"
#include "qr/range_scales.cuh"
#include "simt/powers.hpp"

namespace myriad {

/// The exponent by which a column is scaled whose largest part has these leading bits; 0: not at all.
template <typename R>
SIMT_INLINE int qr_column_exponent(unsigned largest) {
  using namespace simt;
  constexpr int bias = exponent_bias<R>;
  int const exponent = static_cast<int>(largest >> leading_fraction<R>) - bias;
  if (largest == 0 || exponent > bias || (exponent >= -16 && exponent <= 16)) return 0;
  return smaller(larger(-exponent, 1 - bias), bias - 1);
}

/// Calls use(b, first row, first column) for every part of a matrix, of qr_rows_of_block rows and qr_columns_of_block columns.
template <typename T, typename Use>
SIMT_INLINE void for_each_qr_part(simt::Matrices<T> const& a, Use use) {
  using namespace simt;
  Index const chunks = qr_chunks(a.rows), strips = (a.cols + qr_columns_of_block - 1) / qr_columns_of_block;
  SIMT_LOOP
  for (Index at = block_index(); at < a.count * chunks * strips; at += block_count())
    use(at / (chunks * strips), static_cast<int>(at / strips % chunks) * qr_rows_of_block,
        static_cast<int>(at % strips) * qr_columns_of_block);
}

/// Calls use(i, j) for the elements of such a part that this thread has: neighbours in the memory of `a` are neighbours in a warp.
template <typename T, typename Use>
SIMT_INLINE void for_each_of_qr_part(simt::Matrices<T> const& a, int i0, int j0, int m, int n, Use use) {
  using namespace simt;
  int const lane = lane_index(), warp = thread_index() / warp_size;
  constexpr int warps = qr_blocked_threads / warp_size;
  int const i_end = smaller(i0 + qr_rows_of_block, m), j_end = smaller(j0 + qr_columns_of_block, n);
  bool const by_rows = a.col_stride < a.row_stride;
  int const lines = by_rows ? i_end : j_end, length = by_rows ? j_end : i_end, first = by_rows ? j0 : i0;
  SIMT_LOOP
  for (int line = (by_rows ? i0 : j0) + warp; line < lines; line += warps) {
    SIMT_UNROLL_BY(2)
    for (int at = first + lane; at < length; at += warp_size) use(by_rows ? line : at, by_rows ? at : line);
  }
}

/// The largest of the numbers of a block's threads, to all threads. Warps share them by `of_warps`.
SIMT_INLINE unsigned largest_of_qr_block(unsigned most, unsigned* of_warps) {
  using namespace simt;
  most = largest_of_warp(most);
  if (lane_index() == 0) of_warps[thread_index() / warp_size] = most;
  sync_block();
  SIMT_UNROLL
  for (int w = 0; w < qr_blocked_threads / warp_size; ++w) most = larger(most, of_warps[w]);
  return most;
}

/// Finds the largest part of each column, by parts.
template <typename T>
SIMT_INLINE void measure_qr_columns(QrPassesArguments<T> const& args) {
  using namespace simt;
  static_assert(qr_columns_of_block == warp_size);
  constexpr int warps = qr_blocked_threads / warp_size;
  unsigned* const of_warps = reinterpret_cast<unsigned*>(shared_memory());
  int const lane = lane_index(), warp = thread_index() / warp_size;
  bool const by_rows = args.a.col_stride < args.a.row_stride;
  for_each_qr_part(args.a, [&](Index b, int i0, int j0) {
    int const m = smaller(i0 + qr_rows_of_block, args.a.rows_of(b)), n = smaller(j0 + qr_columns_of_block, args.a.cols_of(b));
    Index const row_stride = args.a.row_stride_of(b), col_stride = args.a.col_stride_of(b);
    T const* const from = args.a.at(b, 0, 0);
    unsigned* const to = args.largest + (b * qr_chunks(args.a.rows) + i0 / qr_rows_of_block) * args.a.cols;
    auto const bits = [&](int i, int j) { return leading_bits_of_parts(load_global(from + i * row_stride + j * col_stride)); };
    if (by_rows) {
      unsigned most = 0;
      if (j0 + lane < n) {
        SIMT_UNROLL_BY(4)
        for (int i = i0 + warp; i < m; i += warps) most = larger(most, bits(i, j0 + lane));
      }
      of_warps[thread_index()] = most;
      sync_block();
      if (warp == 0 && j0 + lane < n) {
        SIMT_UNROLL
        for (int w = 0; w < warps; ++w) most = larger(most, of_warps[w * warp_size + lane]);
        store_global(to + j0 + lane, most);
      }
      sync_block();
    } else {
      SIMT_LOOP
      for (int j = j0 + warp; j < n; j += warps) {
        unsigned most = 0;
        SIMT_UNROLL_BY(4)
        for (int i = i0 + lane; i < m; i += warp_size) most = larger(most, bits(i, j));
        most = largest_of_warp(most);
        if (lane == 0) store_global(to + j, most);
      }
    }
  });
}

/// Scales the columns whose largest parts are far from one, or, `back`, those of R.
template <typename T>
SIMT_INLINE void scale_qr_columns(QrPassesArguments<T> const& args) {
  using namespace simt;
  using R = simt::Real<T>;
  bool const back = args.pass == QrPass::columns_of_r_back;
  int* const exponents = reinterpret_cast<int*>(shared_memory());
  for_each_qr_part(args.a, [&](Index b, int i0, int j0) {
    int const m = smaller(i0 + qr_rows_of_block, args.a.rows_of(b)), n = smaller(j0 + qr_columns_of_block, args.a.cols_of(b));
    if (i0 >= m || j0 >= n || (back && i0 >= n)) return;
    if (int const j = j0 + thread_index(); thread_index() < qr_columns_of_block && j < n) {
      unsigned most = 0;
      int const chunks = qr_chunks(args.a.rows_of(b));
      SIMT_LOOP
      for (int c = 0; c < chunks; ++c) most = larger(most, args.largest[(b * qr_chunks(args.a.rows) + c) * args.a.cols + j]);
      exponents[thread_index()] = qr_column_exponent<R>(most);
    }
    sync_block();
    // Few matrices have any.
    SIMT_LOOP
    for (int j = j0; j < n; ++j) {
      int const exponent = exponents[j - j0];
      if (exponent == 0) continue;
      int const end = back ? smaller(m, j + 1) : m;
      SIMT_LOOP
      for (int i = i0 + thread_index(); i < end; i += qr_blocked_threads) {
        T* const element = args.a.at(b, i, j);
        store_global(element, power<R>(back ? -exponent : exponent) * load_global(element));
      }
    }
    sync_block();
  });
}

/// Scales matrices whose largest part is near the ends of the range.
template <typename T>
SIMT_INLINE void scale_qr_matrices(QrPassesArguments<T> const& args) {
  using namespace simt;
  using R = simt::Real<T>;
  for_each_qr_part(args.a, [&](Index b, int i0, int j0) {
    int const m = args.a.rows_of(b), n = args.a.cols_of(b);
    unsigned most = 0;
    SIMT_LOOP
    for (int c = 0; c < qr_chunks(m); ++c)
      for (int j = thread_index(); j < n; j += qr_blocked_threads)
        most = larger(most, args.largest[(b * qr_chunks(args.a.rows) + c) * args.a.cols + j]);
    most = largest_of_qr_block(most, reinterpret_cast<unsigned*>(shared_memory()));
    auto const scales = RangeScales<R>::of(most, most);
    short const exponent = args.right ? scales.of_b : scales.of_a;
    if (i0 == 0 && j0 == 0 && thread_index() == 0) args.exponents[2 * b + (args.right ? 1 : 0)] = exponent;
    if (exponent != 0)
      for_each_of_qr_part(args.a, i0, j0, m, n, [&](int i, int j) {
        T* const element = args.a.at(b, i, j);
        store_global(element, power<R>(exponent) * load_global(element));
      });
    sync_block();
  });
}

template <typename T>
SIMT_INLINE void find_gels_sizes(QrPassesArguments<T> const& args) {
  using namespace simt;
  GelsSizes const& to = args.sizes;
  for (Index b = block_index() * qr_blocked_threads + thread_index(); b < args.a.count; b += block_count() * qr_blocked_threads) {
    int const p = args.a.rows_of(b), q = args.a.cols_of(b);
    bool const here = args.wide ? p > q : p >= q && q > 0;
    to.rows[b] = here ? p + args.a.row_offset : 0;
    to.cols[b] = here ? q + args.a.col_offset : 0;
    to.square[b] = here ? q + args.a.row_offset : 0;
    to.right_rows[b] = here ? p : 0;
    to.right_top[b] = here ? q : 0;
    to.right_cols[b] = here ? args.b.cols_of(b) : 0;
  }
}
template <typename T>
SIMT_INLINE void load_gels_right(QrPassesArguments<T> const& args) {
  using namespace simt;
  for_each_qr_part(args.w, [&](Index b, int i0, int j0) {
    int const given = args.wide ? args.a.cols_of(b) : args.a.rows_of(b);
    for_each_of_qr_part(args.b, i0, j0, args.w.rows_of(b), args.w.cols_of(b), [&](int i, int j) {
      T const value = i < given ? conjugate_if(args.b.conjugated, load_global(args.b.at(b, i, j))) : from_real<T>(0);
      store_global(args.w.at(b, i, j), value);
    });
  });
}
template <typename T>
SIMT_INLINE void store_gels_right(QrPassesArguments<T> const& args) {
  using namespace simt;
  using R = simt::Real<T>;
  // Without right-hand sides there is info still.
  auto parts = args.w;
  parts.cols = larger<Index>(parts.cols, 1);
  for_each_qr_part(parts, [&](Index b, int i0, int j0) {
    int const p = args.a.rows_of(b), q = args.a.cols_of(b);
    // The first zero has the largest number here.
    unsigned zero = 0;
    SIMT_LOOP
    for (int k = thread_index(); k < q; k += qr_blocked_threads)
      if (load_global(args.a.at(b, k, k)) == from_real<T>(0)) zero = larger(zero, static_cast<unsigned>(q - k));
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
SIMT_KERNEL void SIMT_BOUNDS(qr_blocked_threads, 4) qr_passes(QrPassesArguments<T> const args) {
  switch (args.pass) {
    case QrPass::measure:
      return measure_qr_columns(args);
    case QrPass::columns:
    case QrPass::columns_of_r_back:
      return scale_qr_columns(args);
    case QrPass::matrices:
      return scale_qr_matrices(args);
    case QrPass::sizes:
      return find_gels_sizes(args);
    case QrPass::load:
      return load_gels_right(args);
    case QrPass::store:
      return store_gels_right(args);
  }
}

}  // namespace myriad
