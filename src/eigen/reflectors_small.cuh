#pragma once
/// Q of small matrices, formed or applied: reflectors one after the other to columns in registers.

#include "eigen/reflectors_config.cuh"

namespace myriad {

/// Rows and columns are counted without the first one (lower) or the last one (upper), of which Q has the unit vector. Reflector k has its
/// one in row k, and rows behind it (lower) or before it (upper). A product with a column has four sums, of every fourth row, so that the
/// bits do not depend on the number of lanes; rows, and reflectors, that are missing are zero.
///
/// Launch: any number of blocks of C.threads() threads with C.shared_bytes(sizeof(T)) of dynamic shared memory.
template <typename T, ReflectorsSmall C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads(), C.blocks_per_sm()) reflectors_small(ReflectorsArguments<T> const args) {
  using namespace simt;
  constexpr int line = C.line(), together = 8, sums = 4 / C.lanes;
  int const here = thread_index() % C.group(), column = here / C.lanes, lane = here % C.lanes;
  T* const tile = reinterpret_cast<T*>(shared_memory()) + thread_index() / C.group() * C.elements();
  T* const tau = tile + C.rows * line;
  int const first = args.lower ? 1 : 0;
  int const most = static_cast<int>(smaller<Index>(C.rows, larger<Index>(args.a.rows - 1, 0)));
  bool const c_by_rows = args.c.col_stride < args.c.row_stride, a_by_rows = args.a.col_stride < args.a.row_stride;
  bool const ascends = args.lower == args.adjoint;
  Index const chunks = C.forms() ? 1 : (args.c.cols + C.rows - 1) / C.rows;
  Index const total = (args.c.count + C.matrices - 1) / C.matrices * chunks;

  for (Index at = block_index(); at < total; at += block_count()) {
    Index const b = at / chunks * C.matrices + thread_index() / C.group();
    int const j0 = static_cast<int>(at % chunks) * C.rows;
    int n = b < args.c.count ? args.a.rows_of(b) : 0;
    if (n - 1 > C.rows) n = 0;  // another kernel's
    int const m = larger(n - 1, 0);
    int const columns = C.forms() ? m : n > 0 ? smaller(args.c.cols_of(b) - j0, C.rows) : 0;
    // Calls use(element of the tile, element of C) for what there is, neighbours in memory by neighbours.
    auto const for_each_of_c = [&](auto use) {
      if (m == 0 || columns <= 0) return;
      T* const c = args.c.at(b, first, C.forms() ? first : j0);
      Index const row_stride = args.c.row_stride_of(b), col_stride = args.c.col_stride_of(b);
      SIMT_UNROLL_BY(4)
      for (int k = here; k < C.rows * C.rows; k += C.group()) {
        int const i = c_by_rows ? k / C.rows : k % C.rows, j = c_by_rows ? k % C.rows : k / C.rows;
        if (i < m && j < columns) use(tile + i + j * line, c + i * row_stride + j * col_stride);
      }
    };

    T x[C.rows / C.lanes];
    auto const row = [&](int q) { return q * C.lanes + lane; };
    if constexpr (!C.forms()) {
      for_each_of_c([](T* to, T const* from) { copy_async(to, from); });
      wait_copies();
      sync_block();
      SIMT_UNROLL
      for (int q = 0; q < C.rows / C.lanes; ++q)
        x[q] = row(q) < m && column < columns ? tile[row(q) + column * line] : from_real<T>(0);
      sync_block();
    }

    SIMT_UNROLL_BY(4)
    for (int e = here; e < C.rows * C.rows; e += C.group()) {
      int const i = a_by_rows ? e / C.rows : e % C.rows, k = a_by_rows ? e % C.rows : e / C.rows;
      T v = from_real<T>(i == k && k < m ? 1 : 0);
      if (i < m && k < m && (args.lower ? i > k : i < k)) v = conjugate_if(args.conjugates_v(), *args.a.at(b, i + first, k + 1 - first));
      tile[i + k * line] = v;
    }
    for (int k = here; k < C.rows; k += C.group())
      tau[k] = k < m ? conjugate_if(args.conjugates_tau() != args.adjoint, *args.tau.at(b, k, 0)) : from_real<T>(0);
    sync_block();
    if constexpr (C.forms()) {
      int const one = column < m ? column : -1;  // of this matrix: what is the same for all would be kept in registers
      SIMT_UNROLL
      for (int q = 0; q < C.rows / C.lanes; ++q) x[q] = from_real<T>(row(q) == one ? 1 : 0);
    }

    SIMT_LOOP
    for (int step = 0; step < most; ++step) {
      int const k = ascends ? step : most - 1 - step;
      T const* const v = tile + k * line + lane;
      // Eight rows at a time, as far as the reflector has any there.
      int const from = args.lower ? k / together : 0, end = args.lower ? ceil_div(most, together) : k / together + 1;
      T sum[sums];
      SIMT_UNROLL
      for (int s = 0; s < sums; ++s) sum[s] = from_real<T>(0);
      SIMT_UNROLL
      for (int part = 0; part < C.rows / together; ++part) {
        if (part < from || part >= end) continue;
        SIMT_UNROLL
        for (int q = part * together / C.lanes; q < (part + 1) * together / C.lanes; ++q)
          sum[q % sums] = conjugate_multiply_add(v[q * C.lanes], x[q], sum[q % sums]);
      }
      T product = sum[0];
      if constexpr (sums == 2) product = sum[0] + sum[1];
      if constexpr (sums == 4) product = (sum[0] + sum[2]) + (sum[1] + sum[3]);
      SIMT_UNROLL
      for (int mask = C.lanes / 2; mask > 0; mask /= 2) product = product + shuffle_xor(product, mask);
      product = tau[k] * product;
      SIMT_UNROLL
      for (int part = 0; part < C.rows / together; ++part) {
        if (part < from || part >= end) continue;
        SIMT_UNROLL
        for (int q = part * together / C.lanes; q < (part + 1) * together / C.lanes; ++q)
          x[q] = subtract_product(x[q], v[q * C.lanes], product);
      }
    }

    sync_block();  // so that all have used the reflectors
    SIMT_UNROLL
    for (int q = 0; q < C.rows / C.lanes; ++q) tile[row(q) + column * line] = x[q];
    sync_block();
    for_each_of_c([](T const* from, T* to) { store_global(to, *from); });
    if constexpr (C.forms()) {
      int const corner = args.lower ? 0 : n - 1;
      for (int i = here; i < n; i += C.group()) {
        T const value = from_real<T>(i == corner ? 1 : 0);
        store_global(args.c.at(b, i, corner), value);
        store_global(args.c.at(b, corner, i), value);
      }
    }
    if (at + block_count() < total) sync_block();
  }
}

}  // namespace myriad
