#pragma once
/// Prepares panels of reflectors of large matrices for products.

#include "reflectors/reflectors_config.cuh"

namespace myriad {

/// Copies V, with explicit ones and zeros, without the other elements of the matrix.
///
/// Launch: any number of blocks of reflectors_copy_threads threads with 32 * 33 elements of dynamic shared memory.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(reflectors_copy_threads, 4) reflectors_load(ReflectorsPanels<T> const work) {
  using namespace simt;
  ReflectorsArguments<T> const& args = work.batch;
  T* const tile = reinterpret_cast<T*>(shared_memory());
  constexpr int side = 32, pitch = side + 1, lines = reflectors_copy_threads / side;
  int const along = thread_index() % side, line = thread_index() / side;
  bool const by_rows = args.a.col_stride < args.a.row_stride;
  Index const count = args.a.count, strips = (work.ld + side - 1) / side;
  for (Index at = block_index(); at < strips * work.panels * count; at += block_count()) {
    Index const number = at / strips, b = number % count;
    int const panel = work.first + static_cast<int>(number / count), r0 = static_cast<int>(at % strips) * side;
    int const n = work.order(b), rows = work.rows_of(n, panel), reflectors = work.reflectors(b, n), shift = args.shift_of(b, n);
    if (r0 == 0 && thread_index() == 0) {
      work.rows[number] = rows;
      if (work.c_rows && number < count) {
        work.c_rows[b] = n == 0 ? 0 : n + args.c.row_offset;
        work.c_columns[b] = n == 0 ? 0 : args.c.cols_of(b) + args.c.col_offset;
        work.columns[b] = n == 0 ? 0 : args.c.cols_of(b);
      }
    }
    if (r0 >= rows) continue;
    SIMT_LOOP
    for (int k0 = 0; k0 < work.width; k0 += side) {
      SIMT_UNROLL
      for (int l = 0; l < side; l += lines) {
        int const r = by_rows ? line + l : along, k = by_rows ? along : line + l;
        // Row i of the matrix, and the reflector, whose one is in row `unit`. A lower triangle stores reflector k in column k, an upper one
        // in column k + 1.
        int const place = panel * work.width, i = args.lower ? place + r0 + r : r0 + r;
        int const reflector = args.lower ? place + k0 + k : place + work.width - 1 - k0 - k;
        int const unit = args.lower ? reflector + shift : reflector;
        T value = from_real<T>(0);
        if (reflector < reflectors && i < n) {
          if (i == unit)
            value = from_real<T>(1);
          else if (args.lower ? i > unit : i < unit)
            value = conjugate_if(args.conjugates_v(), *args.a.at(b, i, args.lower ? reflector : reflector + 1));
        }
        tile[r + k * pitch] = value;
      }
      sync_block();
      SIMT_UNROLL
      for (int l = 0; l < side; l += lines)
        if (r0 + along < rows)
          store_global(work.v + (number * work.width + k0 + line + l) * work.ld + r0 + along, tile[along + (line + l) * pitch]);
      sync_block();
    }
  }
}

/// T from V^H V: column j is -tau_j T(:, :j) (V^H v_j)(:j), with tau_j below. Rows are independent: one per lane, 32 per warp. Columns are
/// computed in blocks of 32: first the contribution of previous blocks, then columns within the block, one after the other.
///
/// Launch: any number of blocks of work.width threads with ReflectorsPanels<T>::factor_bytes of dynamic shared memory.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(128, 1) reflectors_factor(ReflectorsPanels<T> const work) {
  using namespace simt;
  constexpr int side = 32;
  ReflectorsArguments<T> const& args = work.batch;
  int const width = work.width, blocks = width / side, warp = thread_index() / side, lane = lane_index();
  T* const shared = reinterpret_cast<T*>(shared_memory());
  T* const tau = shared + work.blocks_at(blocks) + side;
  // Block (i, j), stored by rows of 32 elements
  auto const block = [&](int i, int j) { return shared + work.blocks_at(j) + i * side * side; };
  Index const count = args.a.count;
  for (Index number = block_index(); number < work.panels * count; number += block_count()) {
    Index const b = number % count;
    int const place = (work.first + static_cast<int>(number / count)) * width, reflectors = work.reflectors(b, work.order(b));
    T* const factor = work.factors + number * width * width;
    int const reflector = args.lower ? place + thread_index() : place + width - 1 - thread_index();
    tau[thread_index()] = reflector < reflectors ? conjugate_if(args.conjugates_tau(), *args.tau.at(b, reflector, 0)) : from_real<T>(0);
    // Row `thread` of V^H V is a column of the stored blocks.
    SIMT_UNROLL_BY(8)
    for (int l = 0; l < (warp + 1) * side; ++l)
      block(l / side, warp)[l % side * side + lane] = l < thread_index() ? conjugate(factor[thread_index() + l * width]) : from_real<T>(0);
    if (thread_index() < side) shared[work.blocks_at(blocks) + thread_index()] = from_real<T>(0);
    sync_block();
    T* const row = factor + thread_index();
    SIMT_LOOP
    for (int j = 0; j < warp * side; ++j) store_global(row + j * width, from_real<T>(0));
    SIMT_LOOP
    for (int q = warp; q < blocks; ++q) {
      T sum[side];
      SIMT_UNROLL
      for (int j = 0; j < side; ++j) sum[j] = from_real<T>(0);
      SIMT_LOOP
      for (int p = warp; p < q; ++p) {
        T const* const products = block(p, q);
        SIMT_UNROLL_BY(8)
        for (int l = 0; l < side; ++l) {
          T const t = row[(p * side + l) * width];
          SIMT_UNROLL
          for (int j = 0; j < side; ++j) sum[j] = multiply_add(t, products[l * side + j], sum[j]);
        }
      }
      // The sums shift down, so that the first one belongs to the current column; sums behind the block are not used.
      T const* const products = block(q, q);
      SIMT_LOOP
      for (int l = 0; l < side; ++l) {
        T const own = tau[q * side + l];
        T const t = q > warp || lane < l ? -own * sum[0] : lane == l ? own : from_real<T>(0);
        row[(q * side + l) * width] = t;
        SIMT_UNROLL
        for (int j = 1; j < side; ++j) sum[j - 1] = multiply_add(t, products[l * side + l + j], sum[j]);
        sum[side - 1] = from_real<T>(0);
      }
    }
    if (number + block_count() < work.panels * count) sync_block();
  }
}

/// Sets columns [args.first, args.end) of C to those of a unit matrix. Skipped matrices are not changed.
///
/// Launch: any number of blocks of reflectors_copy_threads threads.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(reflectors_copy_threads, 4) reflectors_identity(ReflectorsIdentity<T> const args) {
  using namespace simt;
  Matrices<T> const& c = args.work.batch.c;
  bool const by_rows = c.col_stride < c.row_stride;
  int const lines = by_rows ? static_cast<int>(c.rows) : args.end - args.first;
  SIMT_LOOP
  for (Index at = block_index(); at < lines * c.count; at += block_count()) {
    Index const b = at / lines;
    int const line = static_cast<int>(at % lines), n = args.work.order(b), end = smaller(args.end, c.cols_of(b));
    Index const row_stride = c.row_stride_of(b), col_stride = c.col_stride_of(b);
    int const i0 = by_rows ? line : 0, j0 = args.first + (by_rows ? 0 : line);
    if (i0 >= n || j0 >= end) continue;
    T* const to = c.at(b, i0, j0);
    int const length = by_rows ? end - j0 : n, diagonal = by_rows ? i0 - j0 : j0;
    Index const stride = by_rows ? col_stride : row_stride;
    SIMT_UNROLL_BY(4)
    for (int k = thread_index(); k < length; k += reflectors_copy_threads)
      store_global(to + k * stride, from_real<T>(k == diagonal ? 1 : 0));
  }
}

}  // namespace myriad
