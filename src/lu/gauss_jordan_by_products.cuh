#pragma once
/// Gauss-Jordan of one matrix of doubles in the registers of a warp, by products of tiles on tensor cores.
///
/// Tried without gain (H200): the bits of single steps, 9.57 ns at n = 32 where rows across lanes took 8.67.

#include "lu/lu_tiny_config.cuh"
#include "lu/pivot_key.cuh"

namespace myriad::simt {

/// An N-by-N matrix as tiles of 8 by 8, of which lane 4 g + t has column g of rows 2 t and 2 t + 1.
///
/// Columns are taken four at a time. These go through shared memory, a row to each lane, and the four steps change them alone; then they
/// hold what the steps together do to every row: the product of row i of the four with the rows of the four pivots as they were before is
/// added to row i, and takes the place of the row of a pivot. That is one product of tiles, on tensor cores. Rows stay where they are, and
/// are divided by their pivots at the end.
///
/// Steps that are gathered so round otherwise than one by one: results have other bits than those of GaussJordanAcrossLanes.
template <int N>
class GaussJordanByProducts {
 public:
  int info = 0;  ///< as LAPACK's

  /// `buffer`: of LuTinyMemory's size, aligned to 16 bytes.
  SIMT_INLINE GaussJordanByProducts(int lane, double* buffer)
      : lane_(lane), column_(lane / 4), pair_(lane % 4), buffer_(buffer), place_(lane < N ? -1 : N) {}

  /// Element (i, j) is at matrix[i * row_step + j * column_step].
  template <int row_step, int column_step>
  SIMT_INLINE void get(double const* matrix) {
    SIMT_UNROLL
    for (int j = 0; j < tiles; ++j) {
      SIMT_UNROLL
      for (int i = 0; i < tiles; ++i) {
        double const* const from = matrix + (row(i, 0) * row_step + column(j) * column_step);
        a_[i][j][0] = a_[i][j][1] = 0;
        if (row_step == 1 && column_step % 2 == 0 && N % 2 == 0) {
          if (exists(i, j, 0)) get_pair(from, a_[i][j]);
        } else {
          SIMT_UNROLL
          for (int e = 0; e < 2; ++e)
            if (exists(i, j, e)) a_[i][j][e] = from[e * row_step];
        }
      }
    }
  }

  /// A becomes its inverse with rows and columns in another order; see put.
  SIMT_INLINE void invert() {
    SIMT_LOOP
    for (int first = 0; first < N; first += 8) {
      eliminate<0>(first);
      eliminate<1>(first + panel);
    }
  }

  /// Calls store(i, j, x) for the elements of the inverse that this lane has. They may go where the buffer was.
  template <typename Store>
  SIMT_INLINE void put(Store store) {
    Divisor<double> divisor(diagonal_);
    double const scale = divisor.usual() ? 1 : divisor.make_usual();
    if (ballot(scale != 1) != 0) multiply_rows(scale);
    int const row_of_step = find_row_of_step();
    multiply_rows(info != 0 ? not_a_number<double>() : divisor.reciprocal_of_y);
    sync_warp();  // all have read
    int column_at[tiles];
    SIMT_UNROLL
    for (int j = 0; j < tiles; ++j) column_at[j] = shuffle(row_of_step, column(j));
    SIMT_UNROLL
    for (int i = 0; i < tiles; ++i) {
      SIMT_UNROLL
      for (int e = 0; e < 2; ++e) {
        int const row_of_inverse = shuffle(place_, row(i, e));
        SIMT_UNROLL
        for (int j = 0; j < tiles; ++j)
          if (exists(i, j, e)) store(row_of_inverse, column_at[j], a_[i][j][e]);
      }
    }
  }

 private:
  static constexpr int tiles = ceil_div(N, 8);
  static constexpr int panel = 4;
  static constexpr LuProductsBuffer places{N};

  SIMT_INLINE int row(int tile, int e) const { return 8 * tile + 2 * pair_ + e; }
  SIMT_INLINE int column(int tile) const { return 8 * tile + column_; }
  SIMT_INLINE bool exists(int i, int j, int e) const { return (8 * i + 8 <= N || row(i, e) < N) && (8 * j + 8 <= N || column(j) < N); }

  /// Steps `first` and the three that follow, on all columns. Theirs are the first or the second half of the first tiles; after the second
  /// the tiles move one place forward, and the first behind the others.
  template <int half>
  SIMT_INLINE void eliminate(int first) {
    bool const in_panel = column_ / 4 == half;
    double* const columns = buffer_;
    double* const factors = buffer_ + places.factors;
    double* const rows = buffer_ + places.rows;
    SIMT_UNROLL
    for (int i = 0; i < tiles; ++i) {
      if (!in_panel) continue;
      put_pair(columns + (column_ % 4 * places.columns_pitch + row(i, 0)), a_[i][0][0], a_[i][0][1]);
      a_[i][0][0] = a_[i][0][1] = 0;
    }
    sync_warp();
    double a[panel];  // of the row of this lane
    SIMT_UNROLL
    for (int j = 0; j < panel; ++j) a[j] = lane_ < 8 * tiles ? columns[j * places.columns_pitch + lane_] : 0;
    SIMT_UNROLL
    for (int j = 0; j < panel; ++j)
      if (N % 8 == 0 || first + j < N) take_row<0, 2 * tiles>(step(a, first, j), rows + j * places.rows_pitch);
    SIMT_UNROLL
    for (int j = 0; j < panel; ++j)
      if (lane_ < 8 * tiles) factors[j * places.columns_pitch + lane_] = a[j];
    sync_warp();
    double factor[tiles];
    SIMT_UNROLL
    for (int i = 0; i < tiles; ++i) factor[i] = factors[pair_ * places.columns_pitch + column(i)];  // of row 8 i + g, step t
    double former[tiles][2];
    SIMT_UNROLL
    for (int j = 0; j < tiles; j += 2) {
      double of_pivots[2];
      get_pair(rows + (pair_ * places.rows_pitch + j * 8 + column_ * 2), of_pivots);
      SIMT_UNROLL
      for (int h = 0; h < 2; ++h) {
        if (j + h >= tiles) continue;
        // The four columns themselves become the factors: what they had is zero, and their rows of pivots are those of the identity. Steps
        // beyond N have no row.
        if (N % 8 != 0 && first + pair_ >= N) of_pivots[h] = 0;
        if (j + h == 0 && in_panel) of_pivots[h] = column_ % 4 == pair_ ? 1 : 0;
        SIMT_UNROLL
        for (int i = 0; i < tiles; ++i) {
          double(&next)[2] = half == 0 ? a_[i][j + h] : j + h == 0 ? former[i] : a_[i][larger(j + h, 1) - 1];
          multiply_add_8x8x4(of_pivots[h], factor[i], a_[i][j + h], next);
        }
      }
    }
    SIMT_UNROLL
    for (int i = 0; i < tiles && half == 1; ++i) {
      SIMT_UNROLL
      for (int e = 0; e < 2; ++e) a_[i][tiles - 1][e] = former[i][e];
    }
  }

  /// Step first + j on the columns of the panel. Returns the row of the pivot.
  SIMT_INLINE unsigned step(double (&a)[panel], int first, int j) {
    // Every lane takes the reciprocal of its own element, while the pivot is sought.
    Divisor<double> divisor(a[j]);
    unsigned const key = largest_of_warp(pivot_key(a[j], place_ < 0 ? eligible_bits : 0, static_cast<unsigned>(lane_)));
    unsigned pivot_row = row_of_key(key);
    double quotient = a[j];
    if (!has_usual_reciprocal<double>(key)) {
      BestByAllBits<double> best;
      best.take(a[j], place_ < 0, static_cast<unsigned>(lane_));
      best.take_of_lanes(warp_size);
      pivot_row = best.row;
      if (shuffle(a[j], static_cast<int>(pivot_row)) == 0 && info == 0) info = first + j + 1;
      quotient = shuffle(divisor.make_usual(), static_cast<int>(pivot_row)) * quotient;
    }
    bool const chosen = static_cast<unsigned>(lane_) == pivot_row;
    // The row of the pivot, with its reciprocal, goes through shared memory by 16 bytes: shuffles of four doubles would keep the same pipe
    // busy for twice as long. Two places in turn, so that a barrier a step is enough.
    double* const passed = buffer_ + places.passed + j % 2 * panel;
    SIMT_UNROLL
    for (int c = 0; c < panel; c += 2)
      if (chosen) put_pair(passed + c, c == j ? divisor.reciprocal_of_y : a[c], c + 1 == j ? divisor.reciprocal_of_y : a[c + 1]);
    sync_warp();
    double u[panel];
    SIMT_UNROLL
    for (int c = 0; c < panel; c += 2) get_pair(passed + c, u[c], u[c + 1]);
    quotient = chosen ? 0 : quotient * u[j];
    SIMT_UNROLL
    for (int c = 0; c < panel; ++c)
      if (c != j) a[c] = subtract_product(a[c], quotient, u[c]);
    place_ = chosen ? first + j : place_;
    diagonal_ = chosen ? a[j] : diagonal_;
    a[j] = chosen ? 1 : -quotient;
    return pivot_row;
  }

  /// Moves a row, which is 8 i + 2 t + e with 2 i + e in [low, high), to `to`, where columns 8 j + g of even j are followed by those 8
  /// further on, and leaves zeros.
  template <int low, int high>
  SIMT_INLINE void take_row(unsigned row, double* to) {
    if constexpr (high - low > 1) {
      constexpr int middle = (low + high) / 2;
      if (row / 8 * 2 + row % 2 < middle)  // the same in all lanes
        take_row<low, middle>(row, to);
      else
        take_row<middle, high>(row, to);
    } else {
      constexpr int i = low / 2, e = low % 2;
      bool const mine = static_cast<unsigned>(pair_) == row % 8 / 2;
      SIMT_UNROLL
      for (int j = 0; j < tiles; ++j) {
        if (mine) to[j / 2 * 16 + column_ * 2 + j % 2] = a_[i][j][e];
        a_[i][j][e] = mine ? 0 : a_[i][j][e];
      }
    }
  }

  /// The row of the pivot of the step with the number of the lane.
  SIMT_INLINE int find_row_of_step() {
    sync_warp();
    if (lane_ < N) buffer_[place_] = lane_;
    sync_warp();
    return lane_ < N ? static_cast<int>(buffer_[lane_]) : 0;
  }

  /// Multiplies each row by the factor of the lane with its number.
  SIMT_INLINE void multiply_rows(double factor) {
    sync_warp();
    buffer_[lane_] = factor;
    sync_warp();
    SIMT_UNROLL
    for (int i = 0; i < tiles; ++i) {
      double of_rows[2];
      get_pair(buffer_ + row(i, 0), of_rows);
      SIMT_UNROLL
      for (int j = 0; j < tiles; ++j) {
        SIMT_UNROLL
        for (int e = 0; e < 2; ++e) a_[i][j][e] = a_[i][j][e] * of_rows[e];
      }
    }
  }

  SIMT_INLINE static void put_pair(double* to, double x, double y) {
    Chunked<double> pair;
    pair.x[0] = x;
    pair.x[1] = y;
    store_chunk(to, pair.chunk);
  }
  SIMT_INLINE static void get_pair(double const* from, double& x, double& y) {
    Chunked<double> const pair(load_chunk(from));
    x = pair.x[0];
    y = pair.x[1];
  }
  SIMT_INLINE static void get_pair(double const* from, double (&x)[2]) { get_pair(from, x[0], x[1]); }

  int lane_, column_, pair_;
  double* buffer_;
  double a_[tiles][tiles][2];
  // For the row with the number of the lane
  int place_;            ///< the step of which it is the pivot's row; -1: none yet; N: it does not exist
  double diagonal_ = 1;  ///< the pivot
};

}  // namespace myriad::simt
