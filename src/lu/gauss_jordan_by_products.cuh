#pragma once
/// Gauss-Jordan of one matrix of doubles in the registers of a warp, by products of tiles on tensor cores.

#include "lu/lu_tiny_config.cuh"
#include "lu/pivot_key.cuh"

namespace myriad::simt {

/// An N-by-N matrix as tiles of 8 by 8, of which lane 4 g + t has column g of rows 2 t and 2 t + 1.
///
/// Columns are taken four at a time. These go to shared memory and from there a row to each lane, where the four steps change them alone;
/// then they hold what the steps together do to every row: row i of the others becomes what it was plus the product of row i of the four
/// with the rows of the four pivots as they were before, and the row of a pivot such a product without what it was. That is one product of
/// tiles, on tensor cores. Rows stay where they are; rows are divided by their pivots at the end.
///
/// Steps that are gathered so round otherwise than one by one: results have other bits than those of GaussJordanAcrossLanes.
template <int N>
class GaussJordanByProducts {
 public:
  static constexpr int tiles = ceil_div(N, 8);
  static constexpr int panel = 4;
  int info = 0;  ///< as LAPACK's

  /// `buffer`: of LuTinyMemory's size, aligned to 16 bytes.
  SIMT_INLINE GaussJordanByProducts(int lane, double* buffer)
      : lane_(lane), column_(lane / 4), pair_(lane % 4 * 2), buffer_(buffer), alive_(lane < N ? eligible_bits : 0) {}

  /// Element (i, j) is at matrix[i * row_step + j * column_step].
  template <int row_step, int column_step>
  SIMT_INLINE void get(double const* matrix) {
    SIMT_UNROLL
    for (int j = 0; j < tiles; ++j) {
      SIMT_UNROLL
      for (int i = 0; i < tiles; ++i) {
        double const* const from = matrix + (row(i, 0) * row_step + column(j) * column_step);
        if (row_step == 1 && column_step % 2 == 0 && N % 2 == 0) {
          a_[i][j][0] = a_[i][j][1] = 0;
          if (exists(i, j, 0)) get_pair(from, a_[i][j]);
        } else {
          SIMT_UNROLL
          for (int e = 0; e < 2; ++e) a_[i][j][e] = exists(i, j, e) ? from[e * row_step] : 0;
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

  /// Calls store(i, j, x) for the elements x of the inverse that this lane has.
  template <typename Store>
  SIMT_INLINE void put(Store store) {
    Divisor<double> divisor(diagonal_);
    double const scale = divisor.usual() ? 1 : divisor.make_usual();
    double const factor = info != 0 ? not_a_number<double>() : divisor.reciprocal_of_y;
    bool const scaled = ballot(scale != 1) != 0;
    int column_of_inverse[tiles];
    SIMT_UNROLL
    for (int j = 0; j < tiles; ++j) column_of_inverse[j] = shuffle(row_of_step_, column(j));
    SIMT_UNROLL
    for (int i = 0; i < tiles; ++i) {
      SIMT_UNROLL
      for (int e = 0; e < 2; ++e) {
        int const row_of_inverse = shuffle(place_, row(i, e));
        double const of_row = shuffle(factor, row(i, e));
        if (scaled) {
          double const first = shuffle(scale, row(i, e));
          SIMT_UNROLL
          for (int j = 0; j < tiles; ++j) a_[i][j][e] = first * a_[i][j][e];
        }
        SIMT_UNROLL
        for (int j = 0; j < tiles; ++j)
          if (exists(i, j, e)) store(row_of_inverse, column_of_inverse[j], a_[i][j][e] * of_row);
      }
    }
  }

 private:
  static constexpr int pitch = lu_products_pitch(N);
  SIMT_INLINE int row(int tile, int e) const { return 8 * tile + pair_ + e; }
  SIMT_INLINE int column(int tile) const { return 8 * tile + column_; }
  SIMT_INLINE bool exists(int i, int j, int e) const { return (8 * i + 8 <= N || row(i, e) < N) && (8 * j + 8 <= N || column(j) < N); }

  /// Steps `first` and the three that follow, on all columns. Their columns are the first or the second half of the first tiles; after the
  /// second the tiles move one place forward, and the first behind the others.
  template <int half>
  SIMT_INLINE void eliminate(int first) {
    bool const in_panel = column_ / 4 == half;
    // Two buffers in turn: a lane may still read that of the steps before.
    double* const columns = buffer_ + half * (panel * pitch);
    double* const rows = buffer_ + 2 * panel * pitch;
    SIMT_UNROLL
    for (int i = 0; i < tiles; ++i)
      if (in_panel) put_pair(columns + column_ % 4 * pitch + row(i, 0), a_[i][0]);
    sync_warp();
    double a[panel];  // of the row of this lane
    SIMT_UNROLL
    for (int j = 0; j < panel; ++j) a[j] = lane_ < 8 * tiles ? columns[j * pitch + lane_] : 0;
    SIMT_UNROLL
    for (int j = 0; j < panel; ++j)
      if (N % 8 == 0 || first + j < N) take_row<0, 2 * tiles>(step(a, first, j), rows + j * pitch + column_);
    SIMT_UNROLL
    for (int j = 0; j < panel; ++j)
      if (lane_ < 8 * tiles) columns[j * pitch + lane_] = a[j];
    sync_warp();
    double factors[tiles];
    SIMT_UNROLL
    for (int i = 0; i < tiles; ++i) factors[i] = columns[pair_ / 2 * pitch + 8 * i + column_];
    SIMT_UNROLL
    for (int i = 0; i < tiles; ++i)
      if (in_panel) get_pair(columns + column_ % 4 * pitch + row(i, 0), a_[i][0]);
    double former[tiles][2];
    SIMT_UNROLL
    for (int j = 0; j < tiles; ++j) {
      // Columns of the panel are done, and where there are no four steps the others have no row.
      bool const given = (j > 0 || !in_panel) && (N % 8 == 0 || first + pair_ / 2 < N);
      double const of_pivots = given ? rows[pair_ / 2 * pitch + column(j)] : 0;
      SIMT_UNROLL
      for (int i = 0; i < tiles; ++i) {
        multiply_add_8x8x4(of_pivots, factors[i], a_[i][j]);
        SIMT_UNROLL
        for (int e = 0; e < 2 && half == 1; ++e) (j == 0 ? former[i][e] : a_[i][j - 1][e]) = a_[i][j][e];
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
    unsigned const key = largest_of_warp(pivot_key(a[j], alive_, static_cast<unsigned>(lane_)));
    bool const usual = has_usual_reciprocal<double>(key);
    unsigned pivot_row = row_of_key(key);
    if (!usual) {
      BestByAllBits<double> best;
      best.take(a[j], alive_ != 0, static_cast<unsigned>(lane_));
      best.take_of_lanes(warp_size);
      pivot_row = best.row;
    }
    bool const chosen = static_cast<unsigned>(lane_) == pivot_row;
    double u[panel];
    SIMT_UNROLL
    for (int c = 0; c < panel; ++c) u[c] = shuffle(a[c], static_cast<int>(pivot_row));
    Divisor<double> divisor(u[j]);
    double l = a[j];
    if (!usual) {
      if (u[j] == 0 && info == 0) info = first + j + 1;
      l = divisor.make_usual() * l;
    }
    l = l * -divisor.reciprocal_of_y;
    double const minus_l = chosen ? 0 : l;
    SIMT_UNROLL
    for (int c = 0; c < panel; ++c)
      if (c != j) a[c] = multiply_add(minus_l, u[c], a[c]);
    a[j] = chosen ? 1 : l;
    alive_ = chosen ? 0 : alive_;
    place_ = chosen ? first + j : place_;
    diagonal_ = chosen ? u[j] : diagonal_;
    row_of_step_ = lane_ == first + j ? static_cast<int>(pivot_row) : row_of_step_;
    return pivot_row;
  }

  /// Moves a row, which is 8 i + 2 t + e with 2 i + e in [low, high), to `to`, every eighth element to one lane's, and leaves zeros.
  template <int low, int high>
  SIMT_INLINE void take_row(unsigned row, double* to) {
    if constexpr (high - low > 1) {
      constexpr int middle = (low + high) / 2;
      if (row / 8 * 2 + row % 2 < middle)  // the same in all lanes
        take_row<low, middle>(row, to);
      else
        take_row<middle, high>(row, to);
    } else {
      bool const mine = static_cast<unsigned>(pair_) / 2 == row % 8 / 2;
      SIMT_UNROLL
      for (int j = 0; j < tiles; ++j) {
        double& x = a_[low / 2][j][low % 2];
        if (mine) to[8 * j] = x;
        x = mine ? 0 : x;
      }
    }
  }

  SIMT_INLINE static void put_pair(double* to, double const (&x)[2]) {
    Chunked<double> pair;
    pair.x[0] = x[0];
    pair.x[1] = x[1];
    store_chunk(to, pair.chunk);
  }
  SIMT_INLINE static void get_pair(double const* from, double (&x)[2]) {
    Chunked<double> const pair(load_chunk(from));
    x[0] = pair.x[0];
    x[1] = pair.x[1];
  }

  int lane_, column_, pair_;
  double* buffer_;
  double a_[tiles][tiles][2];
  // Of the row with the number of the lane
  unsigned alive_;       ///< `eligible_bits`, until it is the row of a pivot
  int place_ = 0;        ///< the step of which it is
  double diagonal_ = 1;  ///< the pivot
  int row_of_step_ = 0;  ///< of the step with the number of the lane: the row of its pivot
};

}  // namespace myriad::simt
