#pragma once
/// Gaussian elimination with partial pivoting of one matrix by one lane or several, for what needs U alone: solving and determinants.

#include "lu/lu_tiny_config.cuh"
#include "lu/pivot_search.cuh"
#include "simt/divisor.hpp"

namespace myriad::simt {

/// Right-looking elimination of an N-by-N matrix with right-hand sides, by panels of columns: a panel at a time is in registers, the rest
/// in shared memory. Lane l of `lanes` has the rows at positions l, l + lanes, ... of the order that the interchanges so far have made.
/// Within a panel rows are interchanged, by selects and shuffles, together with where they come from; columns to the right, and the
/// right-hand sides, are read in the order that the panel found and written in it. So a row's register and lane are known when the code is
/// compiled, hardly anything is computed for rows that are done, and what is written is where it belongs. Nothing is left of L.
template <typename T, int N, int nrhs, int lanes, int panel, bool ragged, typename Matrix, typename RightSides>
class Elimination {
 public:
  static constexpr int held = ceil_div(N, lanes);
  static_assert(lanes <= N, "a lane without a row would have none to read instead");

  T b[held][larger(nrhs, 1)];  ///< after `substitute_back` the solution
  int info = 0;                ///< as LAPACK's

  /// `right`: where the right-hand sides are.
  SIMT_INLINE Elimination(int lane_of_matrix, Matrix matrix, RightSides right)
      : lane_(lanes == 1 ? 0 : lane_of_matrix), first_lane_(lane_index() & ~(lanes - 1)), tile_(matrix), right_(right) {}
  SIMT_INLINE bool exists(int r) const { return N % lanes == 0 || position(r) < N; }
  SIMT_INLINE int position(int r) const { return lane_ + r * lanes; }
  SIMT_INLINE T pivot(int r) const { return exists(r) ? tile_(position(r), position(r)) : from_real<T>(1); }

  /// PA = LU, of which U and L^-1 P times the right-hand sides are left; `note(k, p)` is told that the rows at positions k and p changed
  /// places. Of a ragged batch the matrix has `rows` rows and `real_steps` steps; what is beyond is the identity.
  template <typename Note>
  SIMT_INLINE void factor(bool conjugate_matrix, bool conjugate_right, int rows, int real_steps, Note note) {
    SIMT_UNROLL
    for (int p = 0; p < ceil_div(N, panel); ++p) {
      int const first = p * panel;
      bool const conjugated = conjugate_matrix && first == 0;
      T a[held][panel];
      int from[held];  // the row's position before this panel
      SIMT_UNROLL
      for (int r = 0; r < held; ++r) {
        if (r < first / lanes) continue;
        from[r] = row_of(r);
        SIMT_UNROLL
        for (int j = 0; j < panel; ++j) a[r][j] = first + j < N ? conjugate_if(conjugated, tile_(from[r], first + j)) : from_real<T>(0);
      }
      SIMT_UNROLL
      for (int j = 0; j < panel; ++j)
        if (first + j < N) step(a, from, first, j, rows, real_steps, note);
      put(a, first);
      update<N, smaller(panel, sizeof(T) == 4 ? 4 : 2)>(a, from, first, first + panel, tile_, conjugated);
      update<nrhs, larger(nrhs, 1)>(a, from, first, 0, right_, conjugate_right && first == 0);
      sync_lanes();
    }
  }

  /// Solves U x = y for the right-hand sides.
  SIMT_INLINE void substitute_back() {
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) {
      SIMT_UNROLL
      for (int c = 0; c < nrhs; ++c) b[r][c] = right_(row_of(r), c);
    }
    SIMT_UNROLL
    for (int k = N - 1; k >= 0; --k) {
      int const of_k = k / lanes;
      T u[held];
      SIMT_UNROLL
      for (int r = 0; r <= of_k; ++r)
        if (lanes > 1 || r < k) u[r] = tile_(row_of(r), k);
      SIMT_UNROLL
      for (int c = 0; c < nrhs; ++c) {
        T x = b[of_k][c];
        if ((unusual_ >> k & 1) != 0) x = Divisor<T>(tile_(k, k)).make_usual() * x;
        x = of_lane(x * reciprocal_of_[of_k], k % lanes);
        SIMT_UNROLL
        for (int r = 0; r < of_k; ++r) b[r][c] = subtract_product(b[r][c], u[r], x);
        if (lanes > 1 && position(of_k) < k) b[of_k][c] = subtract_product(b[of_k][c], u[of_k], x);
        if (position(of_k) == k) b[of_k][c] = x;
      }
    }
  }

 private:
  /// The row at position(r); of those that do not exist another one of the lane, so that nobody writes it meanwhile.
  SIMT_INLINE int row_of(int r) const { return exists(r) ? position(r) : lane_; }
  template <typename U>
  SIMT_INLINE U of_lane(U x, int lane) const {
    if constexpr (lanes == 1)
      return x;
    else
      return shuffle(x, first_lane_ + lane);
  }
  SIMT_INLINE static void sync_lanes() {
    if constexpr (lanes > 1) sync_warp();
  }

  /// Step first + j on the columns of the panel.
  template <typename Note>
  SIMT_INLINE void step(T (&a)[held][panel], int (&from)[held], int first, int j, int rows, int real_steps, Note note) {
    int const k = first + j;
    int const of_k = k / lanes;
    int const p = find_pivot(a, j, k, !ragged ? N : k < real_steps ? rows : k + 1);
    note(k, p);
    T u[panel];  // the row of the pivot
    if constexpr (lanes == 1) {
      SIMT_UNROLL
      for (int r = 0; r < held; ++r) {
        if (r <= k) continue;
        exchange_if(p == r, from[k], from[r]);
        SIMT_UNROLL
        for (int c = 0; c < panel; ++c)
          if (first + c < N) exchange_if(p == r, a[k][c], a[r][c]);
      }
      SIMT_UNROLL
      for (int c = 0; c < panel; ++c) u[c] = a[k][c];
    } else {
      int const of_p = static_cast<int>(static_cast<unsigned>(p) / lanes);
      int const lane_of_p = static_cast<int>(static_cast<unsigned>(p) % lanes);
      bool const has_k = lane_ == k % lanes;
      auto const exchange = [&](auto element) {  // the rows at positions k and p; returns the latter's
        auto up = element(of_k);
        SIMT_UNROLL
        for (int r = 0; r < held; ++r)
          if (r > of_k) up = of_p == r ? element(r) : up;
        up = of_lane(up, lane_of_p);
        auto const down = of_lane(element(of_k), k % lanes);
        SIMT_UNROLL
        for (int r = 0; r < held; ++r)
          if (r >= of_k) element(r) = position(r) == p ? down : element(r);
        element(of_k) = has_k ? up : element(of_k);
        return up;
      };
      exchange([&](int r) -> int& { return from[r]; });
      SIMT_UNROLL
      for (int c = 0; c < panel; ++c)
        if (first + c < N) u[c] = exchange([&](int r) -> T& { return a[r][c]; });
    }
    // Rows that are done may share a register with others, whose results they do not take.
    auto const below = [&](int r) { return r > of_k || (lanes > 1 && r == of_k && position(r) > k); };
    Divisor<T> divisor(u[j]);
    if (!divisor.usual()) {
      if (u[j] == from_real<T>(0) && info == 0 && (!ragged || k < real_steps)) info = k + 1;
      unusual_ |= 1u << k;
      Real<T> const scale = divisor.make_usual();
      SIMT_UNROLL
      for (int r = 0; r < held; ++r)
        if (r >= of_k && below(r)) a[r][j] = scale * a[r][j];
    }
    if (lanes == 1 || lane_ == k % lanes) reciprocal_of_[of_k] = divisor.reciprocal_of_y;
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) {
      if (r < of_k || (lanes == 1 && r == of_k)) continue;
      T const l = a[r][j] * divisor.reciprocal_of_y;
      if (below(r)) a[r][j] = l;
      SIMT_UNROLL
      for (int c = 0; c < panel; ++c) {
        if (c <= j || first + c >= N) continue;
        T const less = subtract_product(a[r][c], l, u[c]);
        if (below(r)) a[r][c] = less;
      }
    }
  }

  /// The first row from position k up to `bound` that has the largest element in column j of the panel.
  SIMT_INLINE int find_pivot(T const (&a)[held][panel], int j, int k, int bound) const {
    if constexpr (lanes == 1) {
      return find_pivot_in_one_lane<held>(k, bound, [&](int i) { return a[i][j]; });
    } else {
      PivotSearch<T, held, lanes> search;
      SIMT_UNROLL
      for (int r = 0; r < held; ++r) {
        if (r < k / lanes) continue;
        int const i = position(r);
        bool const certain = r > k / lanes && !ragged && (N % lanes == 0 || r + 1 < held);
        search.take(r, a[r][j], certain || (i >= k && i < bound && exists(r)) ? ~0u : 0, static_cast<unsigned>(i), i);
      }
      return static_cast<int>(search.find());
    }
  }

  /// Writes what the panel has of U.
  SIMT_INLINE void put(T const (&a)[held][panel], int first) const {
    SIMT_UNROLL
    for (int j = 0; j < panel; ++j) {
      int const k = first + j;
      SIMT_UNROLL
      for (int r = 0; r < held; ++r) {
        if (k >= N || r < first / lanes || r > k / lanes) continue;
        if (position(r) <= k) tile_(position(r), k) = a[r][j];
      }
    }
  }

  /// The steps of the panel on columns [column, columns) of what is to its right, `at_a_time` at a time.
  template <int columns, int at_a_time, typename Right>
  SIMT_INLINE void update(T const (&a)[held][panel], int const (&from)[held], int first, int column, Right const& right,
                          bool conjugated) const {
    SIMT_LOOP
    for (; column + at_a_time <= columns; column += at_a_time) update_some<at_a_time>(a, from, first, column, right, conjugated);
    SIMT_LOOP
    for (; column < columns; ++column) update_some<1>(a, from, first, column, right, conjugated);
  }
  template <int some, typename Right>
  SIMT_INLINE void update_some(T const (&a)[held][panel], int const (&from)[held], int first, int column, Right const& right,
                               bool conjugated) const {
    T v[held][some];
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) {
      if (r < first / lanes) continue;
      SIMT_UNROLL
      for (int c = 0; c < some; ++c) v[r][c] = conjugate_if(conjugated, right(from[r], column + c));
    }
    sync_lanes();  // all have read
    SIMT_UNROLL
    for (int j = 0; j < panel; ++j) {
      int const k = first + j;
      if (k >= N) continue;
      SIMT_UNROLL
      for (int c = 0; c < some; ++c) {
        T const u = of_lane(v[k / lanes][c], k % lanes);
        SIMT_UNROLL
        for (int r = 0; r < held; ++r) {
          if (r < k / lanes || (lanes == 1 && r == k)) continue;
          T const less = subtract_product(v[r][c], a[r][j], u);
          if (r > k / lanes || position(r) > k) v[r][c] = less;
        }
      }
    }
    SIMT_UNROLL
    for (int c = 0; c < some; ++c) {
      SIMT_UNROLL
      for (int r = 0; r < held; ++r)
        if (r >= first / lanes && exists(r)) right(position(r), column + c) = v[r][c];
    }
  }

  int lane_, first_lane_;
  Matrix tile_;
  RightSides right_;
  T reciprocal_of_[held];  ///< of pivots, scaled where that of `unusual_` is set
  unsigned unusual_ = 0;   ///< a bit for each step
};

}  // namespace myriad::simt
