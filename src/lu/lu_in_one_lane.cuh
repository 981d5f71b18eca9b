#pragma once
/// LU with partial pivoting and Gauss-Jordan of one matrix in the registers of one lane.
///
/// LU here, LuByPanels and Elimination agree with LAPACK in the choice of pivots: the first of the largest |re| + |im| in the order of the
/// interchanged rows. NaN counts as larger than all numbers. A matrix with NaN or infinity may have NaN in places where LAPACK still has
/// numbers.

#include "lu/lu_tiny_config.cuh"
#include "lu/pivot_key.cuh"
#include "lu/pivot_search.cuh"
#include "simt/divisor.hpp"

namespace myriad::simt {

/// Divides a row of an inverse by its pivot; of a singular matrix it becomes NaN.
template <typename T, int N>
SIMT_INLINE void divide_row(T (&row)[N], T pivot, bool singular) {
  Divisor<T> divisor(pivot);
  if (!divisor.usual()) {
    Real<T> const scale = divisor.make_usual();
    SIMT_UNROLL
    for (int j = 0; j < N; ++j) row[j] = scale * row[j];
  }
  if (singular) divisor.reciprocal_of_y = not_a_number<T>();
  SIMT_UNROLL
  for (int j = 0; j < N; ++j) row[j] = row[j] * divisor.reciprocal_of_y;
}

/// A matrix whose M rows, with nrhs right-hand sides behind the N columns, are all in one lane. Rows are interchanged by selecting, so that
/// every index is a constant.
template <typename T, int M, int N, int nrhs, bool ragged>
struct LuInOneLane {
  static constexpr int held = M;
  static constexpr int width = N + nrhs;
  T a[M][width];
  int origin[M];       ///< of Gauss-Jordan: the rows as they were given
  T reciprocal_of[M];  ///< of LU: of pivots, scaled where that of `unusual` is set
  unsigned unusual = 0;
  int info = 0;

  SIMT_INLINE LuInOneLane(int, T*) {
    SIMT_UNROLL
    for (int i = 0; i < M; ++i) origin[i] = i;
  }
  static constexpr bool exists(int) { return true; }
  SIMT_INLINE int row(int r) const { return r; }       ///< of the matrix, before the interchanges
  SIMT_INLINE int position(int r) const { return r; }  ///< after them
  SIMT_INLINE T& at(int r, int j) { return a[r][j]; }
  SIMT_INLINE T& rhs(int r, int j) { return a[r][N + j]; }

  /// PA = LU; `note(k, p)` is told that rows k and p changed places. Of a ragged batch the matrix has `rows` rows and `real_steps` steps;
  /// what is beyond is the identity.
  template <bool pivoting, bool keep_lower, typename Note>
  SIMT_INLINE void factor(int rows, int real_steps, Note note) {
    SIMT_UNROLL
    for (int k = 0; k < smaller(M, N); ++k) {
      if constexpr (pivoting) note(k, exchange_pivot(k, bound_of(k, rows, real_steps), keep_lower ? 0 : k));
      by_pivot<!pivoting>(k, k + 1, k < real_steps);
      SIMT_UNROLL
      for (int i = 0; i < M; ++i) {
        if (i <= k) continue;
        a[i][k] = a[i][k] * reciprocal_of[k];
        SIMT_UNROLL
        for (int j = 0; j < width; ++j)
          if (j > k) a[i][j] = subtract_product(a[i][j], a[i][k], a[k][j]);
      }
    }
  }

  /// Solves U x = y for the right-hand sides.
  SIMT_INLINE void substitute_back() {
    SIMT_UNROLL
    for (int k = M - 1; k >= 0; --k) {
      if ((unusual >> k & 1) != 0) {
        SIMT_UNROLL
        for (int c = N; c < width; ++c) a[k][c] = Divisor<T>(a[k][k]).make_usual() * a[k][c];
      }
      SIMT_UNROLL
      for (int c = N; c < width; ++c) {
        a[k][c] = a[k][c] * reciprocal_of[k];
        SIMT_UNROLL
        for (int i = 0; i < M; ++i)
          if (i < k) a[i][c] = subtract_product(a[i][c], a[i][k], a[k][c]);
      }
    }
  }

  /// Gauss-Jordan: A becomes its inverse with the columns in another order; `note(k, i)` is told that column k belongs to place i. Rows are
  /// divided by their pivots at the end.
  template <typename Note>
  SIMT_INLINE void invert(Note note) {
    T diagonal[M];
    SIMT_UNROLL
    for (int k = 0; k < M; ++k) {
      exchange_pivot_by_key(k);
      note(k, origin[k]);
      by_pivot<false>(k, 0, true);
      diagonal[k] = a[k][k];
      a[k][k] = from_real<T>(1);
      SIMT_UNROLL
      for (int i = 0; i < M; ++i) {
        if (i == k) continue;
        T const l = a[i][k] * reciprocal_of[k];
        a[i][k] = -l;
        SIMT_UNROLL
        for (int j = 0; j < N; ++j)
          if (j != k) a[i][j] = subtract_product(a[i][j], l, a[k][j]);
      }
    }
    SIMT_UNROLL
    for (int k = 0; k < M; ++k) divide_row(a[k], diagonal[k], info != 0);
  }

 private:
  /// Candidates for the pivot of step k stand above this row.
  SIMT_INLINE static int bound_of(int k, int rows, int real_steps) { return !ragged ? M : k < real_steps ? rows : k + 1; }

  /// The divisor of rows `from` and below in step k. Where its reciprocal is not usual, column k of these rows is scaled.
  template <bool by_zero>
  SIMT_INLINE void by_pivot(int k, int from, bool real_step) {
    Divisor<T, by_zero> divisor(a[k][k]);
    if (!divisor.usual()) {
      if (a[k][k] == from_real<T>(0) && info == 0 && (!ragged || real_step)) info = k + 1;
      unusual |= 1u << k;
      Real<T> const scale = divisor.make_usual();
      SIMT_UNROLL
      for (int i = 0; i < M; ++i)
        if (i >= from && i != k) a[i][k] = scale * a[i][k];
    }
    reciprocal_of[k] = divisor.reciprocal_of_y;
  }

  /// Interchanges row k with that of the pivot as Gauss-Jordan chooses it. Of a ragged batch what is beyond the matrix is the identity,
  /// whose rows are zero where the matrix has columns.
  SIMT_INLINE void exchange_pivot_by_key(int k) {
    unsigned most = 0;
    SIMT_UNROLL
    for (int i = 0; i < M; ++i)
      if (i >= k) most = larger(most, pivot_key(a[i][k], eligible_bits, static_cast<unsigned>(origin[i])));
    unsigned row = row_of_key(most);
    if (!has_usual_reciprocal<Real<T>>(most)) {
      BestByAllBits<T> best;
      SIMT_UNROLL
      for (int i = 0; i < M; ++i) best.take(a[i][k], i >= k, static_cast<unsigned>(origin[i]));
      row = best.row;
    }
    SIMT_UNROLL
    for (int i = 0; i < M; ++i) {
      if (i <= k) continue;
      bool const here = static_cast<unsigned>(origin[i]) == row;
      exchange_if(here, origin[k], origin[i]);
      SIMT_UNROLL
      for (int j = 0; j < width; ++j) exchange_if(here, a[k][j], a[i][j]);
    }
  }

  /// Interchanges columns [from, width) of row k with those of the pivot's row; returns which row that is.
  SIMT_INLINE int exchange_pivot(int k, int bound, int from) {
    int const p = find_pivot_in_one_lane<M>(k, bound, [&](int i) { return a[i][k]; });
    SIMT_UNROLL
    for (int i = 0; i < M; ++i) {
      if (i <= k) continue;
      SIMT_UNROLL
      for (int j = 0; j < width; ++j)
        if (j >= from) exchange_if(p == i, a[k][j], a[i][j]);
    }
    return p;
  }
};

}  // namespace myriad::simt
