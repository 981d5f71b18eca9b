#pragma once
/// Substitution with the triangles of one matrix; the rows of right-hand sides are distributed over the lanes of a warp.

#include "simt/divisor.hpp"

namespace myriad::simt {

/// Right-hand sides; lane l of `lanes` has rows l, l + lanes, ... Shuffles broadcast each solution.
template <typename T, int N, int nrhs, int lanes>
struct TrsmAcrossLanes {
  static constexpr int held = ceil_div(N, lanes);
  T x[held][nrhs];
  int lane;

  SIMT_INLINE explicit TrsmAcrossLanes(int lane_of_matrix) : lane(lane_of_matrix) {}
  SIMT_INLINE bool exists(int r) const { return N % lanes == 0 || row(r) < N; }
  SIMT_INLINE int row(int r) const { return lane + r * lanes; }

  /// x = A^-1 x with the lower or upper triangle of A; `a(i, j)` returns its elements. Zeros on the diagonal give infinity and NaN.
  template <bool lower, bool unit, typename Element>
  SIMT_INLINE void substitute(Element a) {
    Divisor<T, true> divisor[held];
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) divisor[r] = Divisor<T, true>(unit || !exists(r) ? from_real<T>(1) : a(row(r), row(r)));
    int const group = lane_index() - lane;
    SIMT_UNROLL
    for (int round = 0; round < held; ++round) {
      int const r = lower ? round : held - 1 - round;
      SIMT_LOOP
      for (int turn = 0; turn < lanes; ++turn) {
        int const owner = lower ? turn : lanes - 1 - turn;
        int const k = owner + r * lanes;
        if (N % lanes != 0 && k >= N) continue;
        T solution[nrhs];
        SIMT_UNROLL
        for (int c = 0; c < nrhs; ++c) {
          T const quotient = unit ? x[r][c] : divisor[r].divide(x[r][c]);
          if (lane == owner) x[r][c] = quotient;
          solution[c] = lanes == 1 ? quotient : shuffle(quotient, group + owner);
        }
        SIMT_UNROLL
        for (int s = 0; s < held; ++s) {
          if (lower ? s < r : s > r) continue;
          bool const remains = exists(s) && (s != r || (lower ? lane > owner : lane < owner));
          T const factor = exists(s) ? a(row(s), k) : from_real<T>(0);
          SIMT_UNROLL
          for (int c = 0; c < nrhs; ++c) x[s][c] = remains ? subtract_product(x[s][c], factor, solution[c]) : x[s][c];
        }
      }
    }
  }

  /// The first i, from one, for which element (i, i) of the first `rows` is zero; 0 if none is.
  template <typename Element>
  SIMT_INLINE int zero_on_diagonal(int rows, Element a) const {
    constexpr int none = N + 1;
    int first = none;
    SIMT_UNROLL
    for (int r = held - 1; r >= 0; --r)
      if (exists(r) && row(r) < rows && a(row(r), row(r)) == from_real<T>(0)) first = row(r) + 1;
    SIMT_UNROLL
    for (int distance = lanes / 2; distance > 0; distance /= 2) first = smaller(first, shuffle_xor(first, distance));
    return first == none ? 0 : first;
  }
};

/// Place of row i after the interchanges `pivot(k)` of the first `steps` rows or, with `backwards`, before them. Pivots out of range are
/// ignored.
template <int N, bool backwards, typename Pivot>
SIMT_INLINE int place_after(int i, int steps, Pivot pivot) {
  SIMT_LOOP
  for (int turn = 0; turn < steps; ++turn) {
    int const k = backwards ? steps - 1 - turn : turn;
    int const p = pivot(k);
    if (static_cast<unsigned>(p) < static_cast<unsigned>(N)) i = i == k ? p : i == p ? k : i;
  }
  return i;
}

/// Moves row i of `rows` to `place(i)`, through a tile whose elements `at` returns.
template <typename Rows, typename At, typename Place>
SIMT_INLINE void exchange_rows(Rows& rows, At at, Place place) {
  constexpr int nrhs = static_cast<int>(sizeof(rows.x[0]) / sizeof(rows.x[0][0]));
  sync_warp();  // all lanes have read the elements that are now overwritten
  SIMT_UNROLL
  for (int r = 0; r < Rows::held; ++r) {
    if (!rows.exists(r)) continue;
    int const i = place(r);
    SIMT_UNROLL
    for (int c = 0; c < nrhs; ++c) at(i, c) = rows.x[r][c];
  }
  sync_warp();
  SIMT_UNROLL
  for (int r = 0; r < Rows::held; ++r) {
    if (!rows.exists(r)) continue;
    SIMT_UNROLL
    for (int c = 0; c < nrhs; ++c) rows.x[r][c] = at(rows.row(r), c);
  }
}

}  // namespace myriad::simt
