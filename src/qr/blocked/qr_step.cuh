#pragma once
/// QR of a panel that no block holds, a launch for each column.

#include "qr/blocked/qr_blocked_config.cuh"
#include "reflectors/reflector.cuh"

namespace myriad {

/// What step k changes in a column and the product of that column with column k + 1 are one pass, by qr_rows_of_block rows to a block. The
/// columns are near one (see QrPass): a vector whose sum of squares is lost is lost in their rounding, and taken for zero.
///
/// Launch: any number of blocks of qr_blocked_threads threads with qr_step_bytes(sizeof(T)) of dynamic shared memory.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(qr_blocked_threads, sizeof(T) == 16 ? 1 : 2) qr_step(QrStepArguments<T> const args) {
  using namespace simt;
  using R = simt::Real<T>;
  constexpr int held = qr_rows_of_block / qr_blocked_threads, warps = qr_blocked_threads / warp_size, at_once = 4;
  T* const gains = reinterpret_cast<T*>(shared_memory());  // of the columns; in place k the tail
  T* const sums = gains + qr_step_columns;                 // of the warps
  int const k = args.step, lane = lane_index(), warp = thread_index() / warp_size, all_chunks = qr_chunks(args.a.rows);
  SIMT_LOOP
  for (Index item = block_index(); item < args.a.count * all_chunks; item += block_count()) {
    Index const b = item / all_chunks;
    int const chunk = static_cast<int>(item % all_chunks), m = args.a.rows_of(b), n = args.a.cols_of(b), steps = smaller(m, n);
    int const first = chunk * qr_rows_of_block;
    if (k >= steps || first >= m || first + qr_rows_of_block <= k) continue;
    bool const goes_on = k + 1 < steps;
    Index const row_stride = args.a.row_stride_of(b), col_stride = args.a.col_stride_of(b);
    T* const a = args.a.at(b, 0, 0);
    T const* const head = args.head_of(k, b);
    T* const next_head = args.head_of(k + 1, b);

    // Sums over the parts, which do not depend on who takes them
    if (k >= 0) {
      int const first_chunk = k / qr_rows_of_block, chunks = qr_chunks(m);
      SIMT_LOOP
      for (int j = k + warp; j < n; j += warps) {
        T sum = from_real<T>(0);
        SIMT_LOOP
        for (int c = first_chunk + lane; c < chunks; c += warp_size) sum = sum + args.products_of(k, b, c)[j];
        SIMT_UNROLL
        for (int mask = warp_size / 2; mask > 0; mask /= 2) sum = sum + shuffle_xor(sum, mask);
        if (lane == 0) gains[j] = sum;
      }
      sync_block();
    }
    R beta = R(0);
    T v_scale = from_real<T>(0), tau = from_real<T>(0);
    if (k >= 0) {
      T const alpha = head[k];
      R const tail = real_part(gains[k]);
      R const re = real_part(alpha);
      R squares = multiply_add(re, re, tail);
      if constexpr (simt::is_complex<T>) squares = multiply_add(alpha.im, alpha.im, squares);
      Reflector<T> reflector(alpha, tail);
      // NaN is no small number.
      bool nothing = tail == R(0) || (!reflector.usual && squares < R(1));
      if constexpr (simt::is_complex<T>) nothing = (!reflector.usual && squares < R(1)) || (tail == R(0) && alpha.im == R(0));
      if (nothing) reflector = Reflector<T>(alpha, R(Reflector<T>::identity));
      beta = reflector.beta;
      tau = reflector.tau();
      v_scale = nothing ? from_real<T>(0) : reflector.v_scale;
      sync_block();
      if (int const j = k + 1 + thread_index(); j < n) gains[j] = reflector.gain(head[j], gains[j]);
      sync_block();
    }

    auto const row = [&](int r) { return first + thread_index() + r * qr_blocked_threads; };
    auto const at = [&](int i, int j) { return a + i * row_stride + j * col_stride; };
    T x[held], y[held];
    T const next_factor = k >= 0 && goes_on ? gains[k + 1] * v_scale : from_real<T>(0);
    R tail = R(0);
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) {
      int const i = row(r);
      x[r] = y[r] = from_real<T>(0);
      if (i >= m) continue;
      if (k >= 0) {
        if (i > k) {
          x[r] = load_global(at(i, k));
          store_global(at(i, k), v_scale * x[r]);
        } else if (i == k) {
          store_global(at(k, k), from_real<T>(beta));
          store_global(args.tau.at(b, k, 0), conjugate_if(args.tau.conjugated, tau));
        }
      }
      if (!goes_on || i < k) continue;
      if (i == k) {
        store_global(at(k, k + 1), head[k + 1] + gains[k + 1]);
        continue;
      }
      T const value = multiply_add(next_factor, x[r], load_global(at(i, k + 1)));
      if (k >= 0) store_global(at(i, k + 1), value);
      if (i == k + 1) {
        store_global(next_head + k + 1, value);
      } else {
        y[r] = value;
        tail = multiply_add(real_part(value), real_part(value), tail);
        if constexpr (simt::is_complex<T>) tail = multiply_add(value.im, value.im, tail);
      }
    }
    auto const keep = [&](int j, T sum) {
      SIMT_UNROLL
      for (int mask = warp_size / 2; mask > 0; mask /= 2) sum = sum + shuffle_xor(sum, mask);
      if (lane == 0) sums[j * warps + warp] = sum;
    };
    if (goes_on) keep(k + 1, from_real<T>(tail));
    SIMT_LOOP
    for (int j0 = goes_on ? k + 2 : k + 1; j0 < n; j0 += at_once) {
      T sum[at_once], factor[at_once];
      SIMT_UNROLL
      for (int c = 0; c < at_once; ++c) {
        sum[c] = from_real<T>(0);
        factor[c] = k >= 0 && j0 + c < n ? gains[j0 + c] * v_scale : from_real<T>(0);
      }
      SIMT_UNROLL
      for (int r = 0; r < held; ++r) {
        int const i = row(r);
        if (i >= m || i < k) continue;
        SIMT_UNROLL
        for (int c = 0; c < at_once; ++c) {
          int const j = j0 + c;
          if (j >= n) continue;
          if (i == k) {
            store_global(at(k, j), head[j] + gains[j]);
            continue;
          }
          T const value = multiply_add(factor[c], x[r], load_global(at(i, j)));
          if (k >= 0) store_global(at(i, j), value);
          if (goes_on && i == k + 1) store_global(next_head + j, value);
          sum[c] = conjugate_multiply_add(y[r], value, sum[c]);
        }
      }
      if (goes_on) {
        SIMT_UNROLL
        for (int c = 0; c < at_once; ++c)
          if (j0 + c < n) keep(j0 + c, sum[c]);
      }
    }
    sync_block();
    if (goes_on) {
      if (int const j = k + 1 + thread_index(); j < n) {
        T sum = sums[j * warps];
        SIMT_UNROLL
        for (int w = 1; w < warps; ++w) sum = sum + sums[j * warps + w];
        store_global(args.products_of(k + 1, b, chunk) + j, sum);
      }
    }
    sync_block();
  }
}

}  // namespace myriad
