#pragma once
/// Gauss-Jordan of one matrix by rows in the registers of several lanes of a warp.

#include "lu/lu_in_one_lane.cuh"
#include "lu/lu_tiny_config.cuh"
#include "lu/pivot_key.cuh"

namespace myriad::simt {

/// An N-by-N matrix of which lane l of `lanes` holds rows l, l + lanes, ... Rows stay where they are; position(r) says of which step each
/// was the pivot's.
///
/// The row of the pivot goes to the other lanes: by shuffles, which serve all matrices of a warp at once, where there are several; else
/// through shared memory, where a store by one lane costs as much as one by eight, but a load by all as much as one.
///
/// Steps are a loop, so that code stays small enough for the instruction cache and compiles soon. For that the columns rotate: the column
/// at hand is always the first.
template <typename T, int N, int lanes>
class GaussJordanAcrossLanes {
 public:
  static constexpr int held = ceil_div(N, lanes);
  static constexpr bool shuffles = lanes <= lu_shuffle_lanes;
  int info = 0;  ///< as LAPACK's

  /// `buffer`: of two rows, see LuTinyMemory.
  SIMT_INLINE GaussJordanAcrossLanes(int lane_of_matrix, T* buffer)
      : lane_(unknown(static_cast<unsigned>(lane_of_matrix))),
        first_lane_(unknown(static_cast<unsigned>(lane_index()) & ~(lanes - 1u))),
        buffer_(buffer) {
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) {
      alive_[r] = exists(r) ? eligible_bits : 0;
      place_[r] = 0;
      diagonal_[r] = from_real<T>(1);
    }
  }
  SIMT_INLINE bool exists(int r) const { return N % lanes == 0 || row(r) < N; }
  SIMT_INLINE int row(int r) const { return static_cast<int>(lane_) + r * lanes; }
  SIMT_INLINE int position(int r) const { return place_[r]; }
  SIMT_INLINE T& at(int r, int j) { return a_[r][j]; }

  /// A becomes its inverse with the columns in another order; `note(k, i)` is told that column k belongs to place i. Rows are divided by
  /// their pivots at the end, so that in a step all rows but the pivot's are treated alike. Of a ragged batch what is beyond the matrix is
  /// the identity, whose rows are zero where the matrix has columns.
  template <typename Note>
  SIMT_INLINE void invert(Note note) {
    unsigned key = find_pivot();
    SIMT_LOOP
    for (int k = 0; k < N; ++k) key = step(k, key, note);
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) divide_row(a_[r], diagonal_[r], info != 0);
  }

 private:
  static constexpr int per_chunk = 16 / static_cast<int>(sizeof(T));
  static constexpr int row_in_buffer = ceil_div(N, per_chunk) * per_chunk;
  /// Columns that are brought up to date before the others, so that the next pivot is sought meanwhile.
  static constexpr int first_columns = shuffles ? 2 : larger(2, per_chunk);

  /// Step k, of which the pivot's key is given: all columns but the first are brought up to date and move one place forward, and the first
  /// one behind them. Returns the key of the next pivot.
  template <typename Note>
  SIMT_INLINE unsigned step(int k, unsigned key, Note note) {
    bool const usual = has_usual_reciprocal<Real<T>>(key);
    unsigned pivot_row = row_of_key(key);
    if (ballot(!usual) != 0) {
      BestByAllBits<T> best;
      SIMT_UNROLL
      for (int r = 0; r < held; ++r) best.take(a_[r][0], alive_[r] != 0, static_cast<unsigned>(row(r)));
      best.take_of_lanes(lanes);
      pivot_row = usual ? pivot_row : best.row;
    }
    bool chosen[held];
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) chosen[r] = pivot_row == lane_ + r * lanes;
    PivotRow const u(*this, k, pivot_row, chosen);
    T const pivot = u.first();
    Divisor<T> divisor(pivot);
    T minus_l[held], last[held];
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) minus_l[r] = a_[r][0];
    if (!usual) {
      if (pivot == from_real<T>(0) && info == 0) info = k + 1;
      Real<T> const scale = divisor.make_usual();
      SIMT_UNROLL
      for (int r = 0; r < held; ++r) minus_l[r] = scale * minus_l[r];
    }
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) {
      T const quotient = minus_l[r] * -divisor.reciprocal_of_y;
      minus_l[r] = chosen[r] ? from_real<T>(0) : quotient;
      last[r] = chosen[r] ? from_real<T>(1) : quotient;
      alive_[r] = chosen[r] ? 0 : alive_[r];
      place_[r] = chosen[r] ? k : place_[r];
      diagonal_[r] = chosen[r] ? pivot : diagonal_[r];
      if (chosen[r]) note(k, row(r));
    }
    rotate(u, minus_l, 1, first_columns);
    unsigned const next = find_pivot();
    rotate(u, minus_l, first_columns, N);
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) a_[r][N - 1] = last[r];
    return next;
  }

  /// A row on its way to all lanes.
  class PivotRow {
   public:
    SIMT_INLINE PivotRow(GaussJordanAcrossLanes const& of, int k, unsigned row, bool const (&chosen)[held]) {
      if constexpr (shuffles) {
        owner_ = static_cast<int>(of.first_lane_ | row % lanes);
        SIMT_UNROLL
        for (int r = 0; r < held; ++r) {
          bool const passed = r == 0 || row / lanes == static_cast<unsigned>(r);
          SIMT_UNROLL
          for (int j = 0; j < N; ++j) mine_[j] = passed ? of.a_[r][j] : mine_[j];
        }
      } else {
        shared_ = of.buffer_ + (k & 1) * row_in_buffer;
        SIMT_UNROLL
        for (int r = 0; r < held; ++r) {
          if (!chosen[r]) continue;
          SIMT_UNROLL
          for (int c = 0; c < N; c += per_chunk) {
            Chunked<T> part;
            SIMT_UNROLL
            for (int i = 0; i < per_chunk; ++i)
              if (c + i < N) part.x[i] = of.a_[r][c + i];
            store_chunk(shared_ + c, part.chunk);
          }
        }
        sync_warp();
      }
    }
    SIMT_INLINE T first() const { return shuffles ? shuffle(mine_[0], owner_) : shared_[0]; }
    /// Calls use(j, element j) for columns [from, to), which begin with a chunk or with column 1.
    template <typename Use>
    SIMT_INLINE void for_each(int from, int to, Use use) const {
      if constexpr (shuffles) {
        SIMT_UNROLL
        for (int j = 1; j < N; ++j)
          if (j >= from && j < to) use(j, shuffle(mine_[j], owner_));
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
    T mine_[shuffles ? N : 1];  ///< of the lane's rows the one that is to go, if it is one of them
    int owner_ = 0;             ///< the lane that has it
    T* shared_ = nullptr;
  };

  /// Moves columns [from, to) one place forward and adds -l times the row of the pivot to them.
  SIMT_INLINE void rotate(PivotRow const& u, T const (&minus_l)[held], int from, int to) {
    u.for_each(from, to, [&](int j, T y) {
      SIMT_UNROLL
      for (int r = 0; r < held; ++r) a_[r][j - 1] = multiply_add(minus_l[r], y, a_[r][j]);
    });
  }

  /// The key of the next pivot, in the first column.
  SIMT_INLINE unsigned find_pivot() const {
    unsigned most = 0;
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) {
      unsigned const key = pivot_key(a_[r][0], alive_[r], static_cast<unsigned>(row(r)));
      most = r == 0 ? key : larger(most, key);
    }
    if constexpr (lanes == warp_size) return largest_of_warp(most);
    SIMT_UNROLL
    for (int distance = lanes / 2; distance > 0; distance /= 2) most = larger(most, shuffle_xor(most, distance));
    return most;
  }

  T a_[held][N];
  int place_[held];
  T diagonal_[held];      ///< the pivot of the row
  unsigned alive_[held];  ///< `eligible_bits`, until the row is one of a pivot
  unsigned lane_, first_lane_;
  T* buffer_;
};

}  // namespace myriad::simt
