#pragma once
/// Triangular solves with one right-hand side, row by row: a warp has a matrix, and prefetches its columns.

#include "simt/divisor.hpp"
#include "trsm/trsm_columns_config.cuh"
#include "trsm/trsm_vector_config.cuh"

namespace myriad {

/// Divisions and sums are those of trsm_tiny, in the same order.
///
/// Launch: blocks for args.b.count warps, of C.threads() threads.
template <typename T, TrsmVector C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads(), C.blocks_per_sm) trsm_vector(TrsmColumnsArguments<T> const args) {
  using namespace simt;
  constexpr int held = ceil_div(C.n, 32), at_once = C.columns;
  static_assert(32 % (2 * at_once) == 0);
  int const lane = lane_index();
  Index const b = block_index() * C.warps + shuffle(thread_index() / 32, 0);
  if (b >= args.b.count) return;
  int const rows = args.b.rows_of(b);
  if (rows == 0 || args.b.cols_of(b) == 0) return;  // ragged batch
  bool const reads_a = !(args.alpha == from_real<T>(0));
  T* const right = args.b.at(b, 0, 0);
  Index const right_stride = args.b.row_stride_of(b);
  T const* const matrix = reads_a ? args.a.at(b, 0, 0) : nullptr;
  Index const stride = reads_a ? args.a.col_stride_of(b) : 0, row_stride = C.row_stride == 1 ? 1 : reads_a ? args.a.row_stride_of(b) : 0;

  // Columns in the order of use, each with the rows that it still changes
  constexpr int of_round = 32 / at_once;
  int const groups = ceil_div(rows, 32) * of_round;
  auto const number = [&](int group, int t) { return C.lower ? group * at_once + t : (groups - group) * at_once - 1 - t; };
  auto const ask = [&](T(&to)[at_once][held], int group) {
    SIMT_UNROLL
    for (int t = 0; t < at_once; ++t) {
      int const k = number(group, t);
      T const* const column = matrix + (k * stride + lane * row_stride);
      SIMT_UNROLL
      for (int r = 0; r < held; ++r) {
        int const i = lane + 32 * r;
        to[t][r] = from_real<T>(0);
        if (k < rows && (C.lower ? i > k && i < rows : i < k)) to[t][r] = load_global(column + 32 * r * row_stride);
      }
    }
  };
  T x[held], reciprocals[held], factors[2][at_once][held];
  simt::Real<T> scales[held];
  if (reads_a) {
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) {
      int const i = lane + 32 * r;
      reciprocals[r] = from_real<T>(1);
      x[r] = from_real<T>(0);
      if (i < rows && !args.unit) reciprocals[r] = load_global(matrix + i * (stride + row_stride));
      if (i < rows) x[r] = right[i * right_stride];
    }
    ask(factors[0], 0);
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) {
      Divisor<T, true> divisor(conjugate_if(args.a.conjugated, reciprocals[r]));
      scales[r] = divisor.usual() ? simt::Real<T>(1) : divisor.make_usual();
      reciprocals[r] = divisor.reciprocal_of_y;
      x[r] = args.alpha * x[r];
    }
    auto const solve = [&](T const(&factor)[at_once][held], int group, int round) {
      SIMT_UNROLL
      for (int t = 0; t < at_once; ++t) {
        int const k = number(group, t);
        if (k >= rows) continue;
        SIMT_UNROLL
        for (int r = 0; r < held; ++r) {
          if (r != round) continue;
          // Multiplying by the reciprocal of a complex one would turn the other part of an infinite number into NaN.
          T const quotient = simt::is_complex<T> && args.unit ? x[r] : (scales[r] * x[r]) * reciprocals[r];
          if (lane == k % 32) x[r] = quotient;
          T const solution = shuffle(quotient, k % 32);
          SIMT_UNROLL
          for (int s = 0; s < held; ++s) {
            if (C.lower ? s < r : s > r) continue;
            bool const remains = s != r || (C.lower ? lane > k % 32 : lane < k % 32);
            if (remains) x[s] = subtract_product(x[s], conjugate_if(args.a.conjugated, factor[t][s]), solution);
          }
        }
      }
    };
    int group = 0;
    SIMT_UNROLL
    for (int turn = 0; turn < held; ++turn) {
      int const round = C.lower ? turn : held - 1 - turn;
      if (32 * round >= rows) continue;
      SIMT_LOOP
      for (int pair = 0; pair < of_round; pair += 2, group += 2) {
        ask(factors[1], group + 1);
        solve(factors[0], group, round);
        ask(factors[0], group + 2);
        solve(factors[1], group + 1, round);
      }
    }
  }
  SIMT_UNROLL
  for (int r = 0; r < held; ++r) {
    int const i = lane + 32 * r;
    if (i < rows) right[i * right_stride] = reads_a ? x[r] : from_real<T>(0);
  }
}

}  // namespace myriad
