#pragma once
/// LU with partial pivoting of one matrix in the registers of one lane, and Gauss-Jordan there or by rows in those of several lanes of a
/// warp.
///
/// These and LuByPanels agree with LAPACK in the choice of pivots: the first of the largest |re| + |im| in the order of the interchanged
/// rows. NaN counts as larger than all numbers. A matrix with NaN or infinity may have NaN in places where LAPACK still has numbers.

#include "lu/lu_tiny_config.cuh"
#include "simt/divisor.hpp"

namespace myriad::simt {

/// A matrix whose M rows, with nrhs right-hand sides behind the N columns, are all in one lane. Rows are interchanged by selecting, so that
/// every index is a constant.
template <typename T, int M, int N, int nrhs, bool ragged>
struct LuInOneLane {
  static constexpr int held = M;
  static constexpr int width = N + nrhs;
  T a[M][width];
  int origin[M];
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
      if constexpr (pivoting) note(k, bring_pivot(k, bound_of(k, rows, real_steps), keep_lower ? 0 : k));
      auto const divisor = by_pivot<!pivoting>(k, real_steps);
      SIMT_UNROLL
      for (int i = 0; i < M; ++i) {
        if (i <= k) continue;
        a[i][k] = divisor.divide(a[i][k]);
        SIMT_UNROLL
        for (int j = 0; j < width; ++j)
          if (j > k) a[i][j] = subtract_product(a[i][j], a[i][k], a[k][j]);
      }
    }
  }

  /// Solves U x = y for the right-hand sides.
  SIMT_INLINE void substitute_back() {
    Divisor<T> divisor[M];
    SIMT_UNROLL
    for (int i = 0; i < M; ++i) divisor[i] = Divisor<T>(a[i][i]);
    SIMT_UNROLL
    for (int k = M - 1; k >= 0; --k) {
      SIMT_UNROLL
      for (int c = N; c < width; ++c) {
        a[k][c] = divisor[k].divide(a[k][c]);
        SIMT_UNROLL
        for (int i = 0; i < M; ++i)
          if (i < k) a[i][c] = subtract_product(a[i][c], a[i][k], a[k][c]);
      }
    }
  }

  /// Gauss-Jordan: A becomes its inverse with the columns in another order; `note(k, i)` is told that column k belongs to place i. Rows are
  /// divided by their pivots at the end, in the very order of GaussJordanAcrossLanes.
  template <typename Note>
  SIMT_INLINE void invert(int rows, int real_steps, Note note) {
    T diagonal[M];
    SIMT_UNROLL
    for (int k = 0; k < M; ++k) {
      bring_pivot(k, bound_of(k, rows, real_steps), 0);
      note(k, origin[k]);
      auto const divisor = by_pivot<false>(k, real_steps);
      diagonal[k] = a[k][k];
      a[k][k] = from_real<T>(1);
      SIMT_UNROLL
      for (int i = 0; i < M; ++i) {
        if (i == k) continue;
        T const l = divisor.divide(a[i][k]);
        a[i][k] = -l;
        SIMT_UNROLL
        for (int j = 0; j < N; ++j)
          if (j != k) a[i][j] = subtract_product(a[i][j], l, a[k][j]);
      }
    }
    SIMT_UNROLL
    for (int k = 0; k < M; ++k) {
      Divisor<T> const divisor(diagonal[k]);
      SIMT_UNROLL
      for (int j = 0; j < N; ++j) a[k][j] = divisor.divide(a[k][j]);
    }
  }

 private:
  /// Candidates for the pivot of step k stand above this row.
  SIMT_INLINE static int bound_of(int k, int rows, int real_steps) { return !ragged ? M : k < real_steps ? rows : k + 1; }

  template <bool by_zero>
  SIMT_INLINE Divisor<T, by_zero> by_pivot(int k, int real_steps) {
    if (a[k][k] == from_real<T>(0) && info == 0 && (!ragged || k < real_steps)) info = k + 1;
    return Divisor<T, by_zero>(a[k][k]);
  }

  /// Interchanges columns [from, width) of row k with those of the pivot's row; returns which row that is.
  SIMT_INLINE int bring_pivot(int k, int bound, int from) {
    auto best = ordered_bits(magnitude(a[k][k]));
    int p = k;
    SIMT_UNROLL
    for (int i = 0; i < M; ++i) {
      if (i <= k) continue;
      auto const bits = ordered_bits(magnitude(a[i][k]));
      if (bits > best && i < bound) {
        best = bits;
        p = i;
      }
    }
    SIMT_UNROLL
    for (int i = 0; i < M; ++i) {
      if (i <= k) continue;
      bool const here = p == i;
      exchange_if(here, origin[k], origin[i]);
      SIMT_UNROLL
      for (int j = 0; j < width; ++j)
        if (j >= from) exchange_if(here, a[k][j], a[i][j]);
    }
    return p;
  }
};

/// Gauss-Jordan of an N-by-N matrix of which lane l of `lanes` holds rows l, l + lanes, ... Rows stay where they are, and are renumbered.
/// The row of the pivot goes to the other lanes, and so does nothing else: by shuffles, which serve all matrices of a warp at once, where
/// there are several; else through shared memory, where a store by one lane costs as much as one by eight, but a load by all as much as
/// one.
///
/// Steps are a loop, so that code stays small enough for the instruction cache and compiles soon. For that the columns rotate: the column
/// at hand is always the first.
template <typename T, int N, int lanes, bool ragged>
struct GaussJordanAcrossLanes {
  static constexpr int held = ceil_div(N, lanes);
  static constexpr bool shuffles = lanes <= lu_shuffle_lanes;
  static constexpr int per_chunk = 16 / static_cast<int>(sizeof(T));
  static constexpr int buffered = ceil_div(N, per_chunk) * per_chunk;  // of a row in the buffer

  T a[held][N];
  int place[held];  ///< where each row stands after the interchanges; -1 where there is no row
  int lane;
  unsigned group;  ///< the lanes of this matrix
  T* buffer;       ///< of two rows, see LuTinyMemory
  struct {
    int rows, steps;
  } limit = {N, N};  ///< of a matrix of a ragged batch
  int info = 0;

  SIMT_INLINE GaussJordanAcrossLanes(int lane_of_matrix, T* buffer_of_matrix) : lane(lane_of_matrix), buffer(buffer_of_matrix) {
    group = lanes == 32 ? ~0u : ((1u << lanes % 32) - 1) << (lane_index() & ~(lanes - 1));
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) place[r] = exists(r) ? row(r) : -1;
  }
  SIMT_INLINE bool exists(int r) const { return N % lanes == 0 || row(r) < N; }
  SIMT_INLINE int row(int r) const { return lane + r * lanes; }
  SIMT_INLINE int position(int r) const { return place[r]; }
  SIMT_INLINE T& at(int r, int j) { return a[r][j]; }

  /// As LuInOneLane::invert. Rows are divided by their pivots at the end, so that in a step all rows but the pivot's are treated alike.
  template <typename Note>
  SIMT_INLINE void invert(int rows, int real_steps, Note note) {
    T diagonal[held];
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) diagonal[r] = from_real<T>(1);
    limit = {rows, real_steps};
    int p = decide(find_candidate(0));
    SIMT_LOOP
    for (int k = 0; k < N; ++k) {
      PivotRow const u(*this, k, p);
      T const pivot = u.first();
      T minus_l[held], last[held];
      multipliers(k, pivot, minus_l);
      SIMT_UNROLL
      for (int r = 0; r < held; ++r) {
        bool const is_pivot = place[r] == k;
        if (is_pivot) note(k, row(r));
        diagonal[r] = is_pivot ? pivot : diagonal[r];
        last[r] = is_pivot ? from_real<T>(1) : minus_l[r];
        minus_l[r] = is_pivot ? from_real<T>(0) : minus_l[r];
      }
      rotate(u, minus_l, 1, first_columns);
      Candidate const candidate = find_candidate(k + 1);
      rotate(u, minus_l, first_columns, N);
      SIMT_UNROLL
      for (int r = 0; r < held; ++r) a[r][N - 1] = last[r];
      p = decide(candidate);
    }
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) {
      Divisor<T> const divisor(diagonal[r]);
      SIMT_UNROLL
      for (int j = 0; j < N; ++j) a[r][j] = divisor.divide(a[r][j]);
    }
  }

 private:
  /// Columns that are brought up to date before the others, so that the next pivot is sought meanwhile: those of the first chunk of a row
  /// that has any but the column at hand.
  static constexpr int first_columns = larger(2, per_chunk);

  /// The row at position p, which becomes that of step k, on its way to all lanes.
  class PivotRow {
   public:
    SIMT_INLINE PivotRow(GaussJordanAcrossLanes& lu, int k, int p) {
      if constexpr (shuffles) {
        bool mine = false;
        SIMT_UNROLL
        for (int r = 0; r < held; ++r) {
          bool const chosen = lu.place[r] == p;
          mine = mine || chosen;
          SIMT_UNROLL
          for (int j = 0; j < N; ++j) row_[j] = r == 0 || chosen ? lu.a[r][j] : row_[j];
        }
        owner_ = lowest_bit(ballot(mine) & lu.group);
      } else {
        shared_ = lu.buffer + k % 2 * buffered;
        lu.store_row(shared_, p);
      }
      SIMT_UNROLL
      for (int r = 0; r < held; ++r) lu.place[r] = lu.place[r] == p ? k : lu.place[r] == k ? p : lu.place[r];
      if constexpr (!shuffles) sync_warp();
    }
    SIMT_INLINE T first() const { return shuffles ? shuffle(row_[0], owner_) : shared_[0]; }
    /// Calls use(j, element j) for columns [from, to), which begin with a chunk or with column 1.
    template <typename Use>
    SIMT_INLINE void for_each(int from, int to, Use use) const {
      if constexpr (shuffles) {
        SIMT_UNROLL
        for (int j = 1; j < N; ++j)
          if (j >= from && j < to) use(j, shuffle(row_[j], owner_));
      } else {
        SIMT_UNROLL
        for (int c = 0; c < N; c += per_chunk) {
          if (c + per_chunk <= from || c >= to) continue;
          Chunked<T> const part(load_chunk(shared_ + c));
          SIMT_UNROLL
          for (int i = 0; i < per_chunk; ++i)
            if (c + i >= from && c + i < to && c + i < N) use(c + i, part.x[i]);
        }
      }
    }

   private:
    T row_[shuffles ? N : 1];  ///< of the lane's row that is at p, if it is one of its rows
    int owner_;                ///< the lane that has it
    T* shared_;
  };

  /// Writes the row at position p to `u`.
  SIMT_INLINE void store_row(T* u, int p) const {
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) {
      if (place[r] != p) continue;
      SIMT_UNROLL
      for (int c = 0; c < N; c += per_chunk) {
        Chunked<T> part;
        SIMT_UNROLL
        for (int i = 0; i < per_chunk; ++i)
          if (c + i < N) part.x[i] = a[r][c + i];
        store_chunk(u + c, part.chunk);
      }
    }
  }

  /// Moves columns [from, to) one place forward and subtracts l times the row of the pivot from them.
  template <typename Row>
  SIMT_INLINE void rotate(Row const& u, T const (&minus_l)[held], int from, int to) {
    u.for_each(from, to, [&](int j, T y) {
      SIMT_UNROLL
      for (int r = 0; r < held; ++r) a[r][j - 1] = multiply_add(minus_l[r], y, a[r][j]);
    });
  }

  /// The search for the pivot of column k among positions k to bound - 1, by the leading 32 bits of magnitudes: these nearly always decide,
  /// and are one word per lane and round of the search instead of three.
  struct Candidate {
    int k, bound;
    int position;        ///< of this lane's best
    unsigned most;       ///< leading bits of the best of the matrix, plus one; zero where there is no candidate
    bool here, several;  ///< whether this lane has it, in more than one row
  };
  SIMT_INLINE Candidate find_candidate(int k) const {
    Candidate c{k, !ragged ? N : k < limit.steps ? limit.rows : k + 1, 0, 0, false, false};
    unsigned keys[held], best = 0;
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) {
      bool const eligible = place[r] >= k && (!ragged || place[r] < c.bound);
      keys[r] = eligible ? leading_bits(ordered_bits(magnitude(a[r][0]))) + 1 : 0;
      best = larger(best, keys[r]);
    }
    c.most = lanes == warp_size ? largest_of_warp(best) : best;
    SIMT_UNROLL
    for (int distance = lanes / 2; distance > 0 && lanes < warp_size; distance /= 2) c.most = larger(c.most, shuffle_xor(c.most, distance));
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) {
      bool const equal = keys[r] == c.most;
      c.several = c.several || (c.here && equal);
      c.here = c.here || equal;
      c.position = equal ? place[r] : c.position;
    }
    return c;
  }
  SIMT_INLINE int decide(Candidate const& c) const {
    unsigned const equal = ballot(c.here) & group;
    bool const unclear = c.most != 0 && (c.several || (equal & (equal - 1)) != 0);
    if (ballot(unclear) != 0) return decide_by_all_bits(c);
    return shuffle(c.position, lowest_bit(equal));
  }
  SIMT_INLINE int decide_by_all_bits(Candidate const& c) const {
    constexpr int nowhere = 1 << 20;
    auto best = ordered_bits(Real<T>(0));
    int p = nowhere;
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) {
      auto const bits = ordered_bits(magnitude(a[r][0]));
      if (place[r] >= c.k && place[r] < c.bound && (p == nowhere || bits > best || (bits == best && place[r] < p))) {
        best = bits;
        p = place[r];
      }
    }
    SIMT_LOOP
    for (int distance = lanes / 2; distance > 0; distance /= 2) {
      auto const bits = shuffle_xor(best, distance);
      int const q = shuffle_xor(p, distance);
      if (q != nowhere && (p == nowhere || bits > best || (bits == best && q < p))) {
        best = bits;
        p = q;
      }
    }
    return p;
  }

  /// The factors -l of the column at hand.
  SIMT_INLINE void multipliers(int k, T pivot, T (&minus_l)[held]) {
    if (pivot == from_real<T>(0) && info == 0 && (!ragged || k < limit.steps)) info = k + 1;
    Divisor<T> const divisor(-pivot);
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) minus_l[r] = a[r][0] * divisor.reciprocal_of_y;
    if (!divisor.usual()) {
      SIMT_UNROLL
      for (int r = 0; r < held; ++r) minus_l[r] = divisor.divide_unusual(a[r][0]);
    }
  }
};

}  // namespace myriad::simt
