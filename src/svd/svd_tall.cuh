#pragma once
/// Singular value decompositions of tall matrices by QR of their parts. QR of the parts, and of the R of all parts one below the other, and
/// the singular value decomposition of the last R are those of other kernels.

#include "simt/powers.hpp"
#include "svd/svd_tall_config.cuh"

namespace myriad {

/// Launch: any number of blocks of svd_tall_threads threads.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(svd_tall_threads, 1) svd_tall_parts(SvdTallParts<T> const work) {
  using namespace simt;
  for (Index at = block_index() * svd_tall_threads + thread_index(); at < work.a.count * work.parts;
       at += block_count() * svd_tall_threads) {
    Index const p = at % work.parts, begin = svd_tall_begin(work.a.rows, work.parts, p);
    work.pointers[at] = work.a.at(at / work.parts, static_cast<int>(begin), 0);
    work.rows[at] = svd_tall_begin(work.a.rows, work.parts, p + 1) - begin;
  }
}

/// Launch: any number of blocks of svd_tall_threads threads.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(svd_tall_threads, 1) svd_tall_stack(SvdTallStack<T> const work) {
  using namespace simt;
  using R = simt::Real<T>;
  int const n = static_cast<int>(work.a.cols);
  Index const square = n * n, of_matrix = square * work.parts;
  for (Index e = block_index() * svd_tall_threads + thread_index(); e < work.a.count * of_matrix; e += block_count() * svd_tall_threads) {
    Index const b = e / of_matrix;
    Index const of_all = e % of_matrix;
    int const p = static_cast<int>(of_all / square), i = static_cast<int>(of_all / n % n), j = static_cast<int>(of_all % n);
    T value = from_real<T>(0);
    if (j >= i) value = *work.a.at(b, static_cast<int>(svd_tall_begin(work.a.rows, work.parts, p)) + i, j);
    if (work.exponents) {
      int const* const exponents = work.exponents + b * work.parts;
      int least = exponents[0];
      SIMT_LOOP
      for (int q = 1; q < work.parts; ++q) least = smaller(least, exponents[q]);
      if (int const by = least - exponents[p]; by != 0) value = power<R>(by) * value;
      if (of_all == 0) work.exponent[b] = least;
    }
    store_global(work.to + e, value);
  }
}

/// Launch: any number of blocks of svd_tall_threads threads.
template <typename R>
SIMT_KERNEL void SIMT_BOUNDS(svd_tall_threads, 1) svd_tall_values(SvdTallValues<R> const work) {
  using namespace simt;
  Index const n = work.s.rows;
  for (Index at = block_index() * svd_tall_threads + thread_index(); at < work.s.count * n; at += block_count() * svd_tall_threads) {
    Index const b = at / n;
    int const exponent = work.exponent[b];
    if (exponent == 0) continue;
    R* const value = work.s.at(b, static_cast<int>(at % n), 0);
    store_global(value, power<R>(-exponent) * *value);
  }
}

/// The rows of U of a part are Q [W; 0] = [W; 0] - V M with M = T V^H [W; 0], which follows from T^-1: its diagonal is 1 / tau, and what is
/// above is that of V^H V. A block has a part, a warp columns of M, a lane a row of these; then a thread has rows of U.
///
/// Launch: any number of blocks of C.threads threads with SvdTallMemory(sizeof(T), C).bytes of dynamic shared memory.
template <typename T, SvdTallKernel C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads, 512 / C.threads) svd_tall_vectors(SvdTallVectors<T> const work) {
  using namespace simt;
  constexpr SvdTallMemory memory(sizeof(T), C);
  constexpr int N = C.columns, line = memory.line, of_warp = N / C.warps(), rows = C.rows(sizeof(T));
  T* const factors = reinterpret_cast<T*>(shared_memory()) + memory.factors;
  T* const top = reinterpret_cast<T*>(shared_memory()) + memory.top;
  T* const heads = reinterpret_cast<T*>(shared_memory()) + memory.heads;
  int const n = static_cast<int>(work.a.cols), lane = lane_index(), first_column = thread_index() / 32 * of_warp;

  for (Index at = block_index(); at < work.a.count * work.parts; at += block_count()) {
    Index const b = at / work.parts, begin = svd_tall_begin(work.a.rows, work.parts, at % work.parts);
    int const m = static_cast<int>(svd_tall_begin(work.a.rows, work.parts, at % work.parts + 1) - begin);
    Index const row_stride = work.a.row_stride_of(b), col_stride = work.a.col_stride_of(b);
    T const* const a = work.a.at(b, static_cast<int>(begin), 0);
    SIMT_LOOP
    for (int e = thread_index(); e < N * N; e += C.threads) {
      int const i = e / N, j = e % N;
      bool const inside = i < n && j < n;
      top[i * line + j] = load_global_if(inside, work.top + (at * n + i) * n + j);
      factors[i * line + j] = load_global_if(inside && j < i, work.gram + (at * n + i) * n + j);
      // The other way round, as matrices mostly are by columns.
      heads[j * line + i] = load_global_if(inside && i < j, a + j * row_stride + i * col_stride);
    }
    T const tau = load_global_if(lane < n, work.tau + at * n + lane);
    sync_block();
    T m_of[of_warp];
    SIMT_UNROLL
    for (int s = 0; s < of_warp; ++s) m_of[s] = lane < N ? top[lane * line + first_column + s] : from_real<T>(0);
    SIMT_LOOP
    for (int i = 1; i < n; ++i) {
      T const v = lane < i ? heads[i * line + lane] : from_real<T>(0);
      SIMT_UNROLL
      for (int s = 0; s < of_warp; ++s) m_of[s] = conjugate_multiply_add(v, top[i * line + first_column + s], m_of[s]);
    }
    SIMT_LOOP
    for (int k = n - 1; k >= 0; --k) {
      T const product = lane < k ? conjugate(factors[k * line + lane]) : from_real<T>(0), tau_k = shuffle(tau, k);
      SIMT_UNROLL
      for (int s = 0; s < of_warp; ++s) {
        T const solved = tau_k * shuffle(m_of[s], k);
        m_of[s] = lane == k ? solved : subtract_product(m_of[s], product, solved);
      }
    }
    sync_block();
    SIMT_UNROLL
    for (int s = 0; s < of_warp; ++s)
      if (lane < N) factors[(first_column + s) * N + lane] = lane < n ? m_of[s] : from_real<T>(0);
    sync_block();
    Index const to_row_stride = work.u.row_stride_of(b), to_col_stride = work.u.col_stride_of(b);
    T* const u = work.u.at(b, static_cast<int>(begin), 0);
    SIMT_LOOP
    for (int i0 = thread_index(); i0 < m; i0 += rows * C.threads) {
      T v[rows][N];
      SIMT_UNROLL
      for (int r = 0; r < rows; ++r) {
        int const i = i0 + r * C.threads;
        T const* place = a + i * row_stride;
        SIMT_UNROLL
        for (int k = 0; k < N; ++k) {
          v[r][k] = load_global_if(i < m && k < n && k < i, place);
          place += col_stride;
        }
        SIMT_UNROLL
        for (int k = 0; k < N; ++k)
          if (i == k) v[r][k] = from_real<T>(1);
      }
      SIMT_LOOP
      for (int c = 0; c < n; c += 2) {
        T sum[rows][2];
        SIMT_UNROLL
        for (int r = 0; r < rows; ++r) {
          int const i = i0 + r * C.threads;
          SIMT_UNROLL
          for (int d = 0; d < 2; ++d) sum[r][d] = i < n ? top[i * line + c + d] : from_real<T>(0);
        }
        constexpr int per_chunk = 16 / static_cast<int>(sizeof(T));
        SIMT_UNROLL
        for (int k = 0; k < N; k += per_chunk) {
          SIMT_UNROLL
          for (int d = 0; d < 2; ++d) {
            Chunked<T> const part(load_chunk(factors + (c + d) * N + k));
            SIMT_UNROLL
            for (int r = 0; r < rows; ++r) {
              SIMT_UNROLL
              for (int p = 0; p < per_chunk; ++p) sum[r][d] = subtract_product(sum[r][d], v[r][k + p], part.x[p]);
            }
          }
        }
        SIMT_UNROLL
        for (int r = 0; r < rows; ++r) {
          int const i = i0 + r * C.threads;
          SIMT_UNROLL
          for (int d = 0; d < 2; ++d)
            if (i < m && c + d < n)
              store_global(u + i * to_row_stride + (c + d) * to_col_stride, conjugate_if(work.u.conjugated, sum[r][d]));
        }
      }
    }
    sync_block();
  }
}

}  // namespace myriad
