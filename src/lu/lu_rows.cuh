#pragma once
/// LU with partial pivoting and Gauss-Jordan of one matrix in registers: in those of one lane, or by rows in those of several lanes of a
/// warp.
///
/// Both forms agree with LAPACK in the choice of pivots: the first of the largest |re| + |im| in the order of the interchanged rows. NaN
/// counts as larger than all numbers. A matrix with NaN or infinity may have NaN in places where LAPACK still has numbers.

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
  template <bool pivoting, bool keep_lower, typename Note, typename Finish>
  SIMT_INLINE void factor(int rows, int real_steps, Note note, Finish) {
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
  template <typename Finished>
  SIMT_INLINE void substitute_back(Finished) {
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
  /// divided by their pivots at the end, in the very order of LuAcrossLanes.
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

/// A matrix of which lane l of `lanes` holds rows l, l + lanes, ... Rows stay where they are, and are renumbered. The row of the pivot goes
/// to the other lanes through shared memory, and so does nothing else.
///
/// Steps are a loop, so that code stays small enough for the instruction cache and compiles soon. For that the columns rotate: the column
/// at hand is always the first. A column of L and U leaves the registers when it is finished, through `finish(r, k, value)`. `block` steps
/// at a time work on ever fewer columns.
template <typename T, int M, int N, int nrhs, int lanes, bool ragged>
struct LuAcrossLanes {
  static constexpr int held = ceil_div(M, lanes);
  static constexpr int steps = smaller(M, N);
  static constexpr int block = N <= 24 ? 4 : 8;  ///< fastest of 4, 8 and 16 at n = 16 and 32 (H200)
  static constexpr int per_chunk = 16 / static_cast<int>(sizeof(T));
  static constexpr int buffered = ceil_div(N, per_chunk) * per_chunk;  // of a row in the buffer; right-hand sides follow
  static constexpr int buffer_row = buffered + ceil_div(nrhs, per_chunk) * per_chunk;

  T a[held][N];
  T b[held][larger(nrhs, 1)];
  int place[held];  ///< where each row stands after the interchanges; -1 where there is no row
  int lane;
  unsigned group;  ///< the lanes of this matrix
  T* buffer;       ///< of two rows, see LuTinyMemory
  struct {
    int rows, steps;
  } limit = {M, steps};  ///< of a matrix of a ragged batch
  int info = 0;

  SIMT_INLINE LuAcrossLanes(int lane_of_matrix, T* buffer_of_matrix) : lane(lane_of_matrix), buffer(buffer_of_matrix) {
    group = lanes == 32 ? ~0u : ((1u << lanes % 32) - 1) << (lane_index() & ~(lanes - 1));
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) place[r] = exists(r) ? row(r) : -1;
  }
  SIMT_INLINE bool exists(int r) const { return M % lanes == 0 || row(r) < M; }
  SIMT_INLINE int row(int r) const { return lane + r * lanes; }
  SIMT_INLINE int position(int r) const { return place[r]; }
  SIMT_INLINE T& at(int r, int j) { return a[r][j]; }
  SIMT_INLINE T& rhs(int r, int j) { return b[r][j]; }

  /// As LuInOneLane::factor; a finished column goes to `finish(r, k, value)`.
  template <bool pivoting, bool keep_lower, typename Note, typename Finish>
  SIMT_INLINE void factor(int rows, int real_steps, Note note, Finish finish) {
    limit = {rows, real_steps};
    int p = pivoting ? decide(find_candidate(0)) : 0;
    factor_blocks<pivoting, keep_lower, 0>(p, note, finish);
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) {  // columns that never were at hand go back to their places
      SIMT_UNROLL
      for (int j = N - 1; j >= steps; --j) a[r][j] = a[r][j - steps];
    }
  }

  /// Solves U x = y, with U of what was finished: `finished(r, k)`.
  template <typename Finished>
  SIMT_INLINE void substitute_back(Finished finished) {
    Divisor<T> divisor[held];
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) divisor[r] = Divisor<T>(place[r] < 0 ? from_real<T>(1) : finished(r, place[r]));
    sync_warp();  // the first solution takes the place of the last row that was passed
    SIMT_LOOP
    for (int k = M - 1; k >= 0; --k) {
      T* const x = row_buffer(k);
      T u[held];
      SIMT_UNROLL
      for (int r = 0; r < held; ++r) {
        u[r] = place[r] < 0 ? from_real<T>(0) : finished(r, k);
        SIMT_UNROLL
        for (int c = 0; c < nrhs; ++c) {
          T const quotient = divisor[r].divide(b[r][c]);
          if (place[r] == k) x[c] = b[r][c] = quotient;
        }
      }
      sync_warp();
      SIMT_UNROLL
      for (int r = 0; r < held; ++r) {
        SIMT_UNROLL
        for (int c = 0; c < nrhs; ++c)
          if (place[r] < k) b[r][c] = subtract_product(b[r][c], u[r], x[c]);
      }
    }
  }

  /// As LuInOneLane::invert. Rows are divided by their pivots at the end, so that in a step all rows but the pivot's are treated alike.
  template <typename Note>
  SIMT_INLINE void invert(int rows, int real_steps, Note note) {
    T diagonal[held];
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) diagonal[r] = from_real<T>(1);
    limit = {rows, real_steps};
    int p = decide(find_candidate(0));
    SIMT_LOOP
    for (int k = 0; k < M; ++k) {
      T* const u = pass_row<N>(k, p);
      T const pivot = u[0];
      T minus_l[held], last[held];
      multipliers<false>(k, pivot, minus_l);
      SIMT_UNROLL
      for (int r = 0; r < held; ++r) {
        bool const is_pivot = place[r] == k;
        if (is_pivot) note(k, row(r));
        diagonal[r] = is_pivot ? pivot : diagonal[r];
        last[r] = is_pivot ? from_real<T>(1) : minus_l[r];
        minus_l[r] = is_pivot ? from_real<T>(0) : minus_l[r];
      }
      rotate<N, 0, first_chunks>(u, minus_l);
      Candidate const candidate = find_candidate(k + 1);
      rotate<N, first_chunks, ceil_div(N, per_chunk)>(u, minus_l);
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
  static constexpr int first_chunks = ceil_div(2, per_chunk);  ///< of a row that hold its first two elements

  template <bool pivoting, bool keep_lower, int first, typename Note, typename Finish>
  SIMT_INLINE void factor_blocks(int p, Note note, Finish finish) {
    if constexpr (first < steps) {
      constexpr int window = N - first;
      SIMT_LOOP
      for (int k = first; k < smaller(first + block, steps); ++k) {
        if constexpr (pivoting) note(k, p);
        T* const u = pass_row<window>(k, p);
        T minus_l[held];
        multipliers<!pivoting>(k, u[0], minus_l);
        SIMT_UNROLL
        for (int r = 0; r < held; ++r) {
          bool const below = place[r] > k;
          if (M % lanes == 0 || place[r] >= 0) finish(r, k, keep_lower && below ? -minus_l[r] : a[r][0]);
          minus_l[r] = below ? minus_l[r] : from_real<T>(0);
          SIMT_UNROLL
          for (int c = 0; c < nrhs; ++c) b[r][c] = multiply_add(minus_l[r], u[buffered + c], b[r][c]);
        }
        // The next pivot is sought while the other columns are still at work.
        rotate<window, 0, first_chunks>(u, minus_l);
        if constexpr (pivoting) {
          Candidate const candidate = find_candidate(k + 1);
          rotate<window, first_chunks, ceil_div(window, per_chunk)>(u, minus_l);
          p = decide(candidate);
        } else {
          rotate<window, first_chunks, ceil_div(window, per_chunk)>(u, minus_l);
          p = k + 1;
        }
      }
      factor_blocks<pivoting, keep_lower, first + block>(p, note, finish);
    }
  }

  /// Where the lanes pass the row of step k.
  SIMT_INLINE T* row_buffer(int k) const { return buffer + k % 2 * buffer_row; }

  /// Moves columns one place forward and subtracts l times u from them: those that belong to chunks [from, to) of u.
  template <int window, int from, int to>
  SIMT_INLINE void rotate(T const* u, T const (&minus_l)[held]) {
    SIMT_UNROLL
    for (int c = from; c < to; ++c) {
      Chunked<T> const part(load_chunk(u + c * per_chunk));
      SIMT_UNROLL
      for (int i = 0; i < per_chunk; ++i) {
        int const j = c * per_chunk + i;
        if (j == 0 || j >= window) continue;
        SIMT_UNROLL
        for (int r = 0; r < held; ++r) a[r][j - 1] = multiply_add(minus_l[r], part.x[i], a[r][j]);
      }
    }
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
    Candidate c{k, !ragged ? M : k < limit.steps ? limit.rows : k + 1, 0, 0, false, false};
    unsigned keys[held], best = 0;
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) {
      bool const eligible = place[r] >= k && (!ragged || place[r] < c.bound);
      keys[r] = eligible ? leading_bits(ordered_bits(magnitude(a[r][0]))) + 1 : 0;
      best = larger(best, keys[r]);
    }
    c.most = best;
    SIMT_UNROLL
    for (int distance = lanes / 2; distance > 0; distance /= 2) c.most = larger(c.most, shuffle_xor(c.most, distance));
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

  /// Gives the row at position p the position k and passes its first `window` columns, and its right-hand sides at `buffered`, to all
  /// lanes.
  template <int window>
  SIMT_INLINE T* pass_row(int k, int p) {
    T* const u = row_buffer(k);
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) {
      if (place[r] == p) {
        SIMT_UNROLL
        for (int c = 0; c < window; c += per_chunk) {
          Chunked<T> part;
          SIMT_UNROLL
          for (int i = 0; i < per_chunk; ++i)
            if (c + i < window) part.x[i] = a[r][c + i];
          store_chunk(u + c, part.chunk);
        }
        SIMT_UNROLL
        for (int c = 0; c < nrhs; ++c) u[buffered + c] = b[r][c];
      }
      place[r] = place[r] == p ? k : place[r] == k ? p : place[r];
    }
    sync_warp();
    return u;
  }

  /// The factors -l of the column at hand.
  template <bool by_zero>
  SIMT_INLINE void multipliers(int k, T pivot, T (&minus_l)[held]) {
    if (pivot == from_real<T>(0) && info == 0 && (!ragged || k < limit.steps)) info = k + 1;
    Divisor<T, by_zero> const divisor(pivot);
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) minus_l[r] = a[r][0] * -divisor.reciprocal_of_y;
    if (!divisor.usual()) {
      SIMT_UNROLL
      for (int r = 0; r < held; ++r) minus_l[r] = -divisor.divide_unusual(a[r][0]);
    }
  }
};

}  // namespace myriad::simt
