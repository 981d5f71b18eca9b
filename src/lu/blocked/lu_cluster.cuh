#pragma once
/// LU of a matrix, or of a panel, by a cluster of blocks that have its rows, one to a thread.
///
/// Some columns at a time, a panel, are in registers. From these the columns to the left are subtracted, eight at a time: the blocks send
/// each other the rows of U, and every warp solves with the triangle of L for itself. Then the panel is factored column by column. Each
/// block sends its best candidate with its row to all others, so that a column has one barrier of the cluster, and all agree on the pivot.
/// Rows do not move: a thread knows the position of its row. Factors are in the result in the order in which the rows were, and are put in
/// order at the end.
///
/// An element gets its products one after the other, by the number of the column, as in lu_rows: sizes, configs and the number of blocks do
/// not change bits.

#include "lu/block/pivot_of_block.cuh"
#include "lu/blocked/lu_cluster_config.cuh"

namespace myriad {

template <typename T, LuCluster C>
class LuOfCluster {
  static constexpr int step = lu_cluster_step, width = C.width;
  using Memory = LuClusterMemory<T, width>;
  using Candidate = LuClusterCandidate<T, width>;
  static constexpr int of_chunk = 16 / static_cast<int>(sizeof(T)), row_stride = Memory::row_stride;
  static constexpr int half = (width / 2 + step - 1) / step * step;
  static_assert(width % step == 0 && width <= 32);

 public:
  int info = 0;  ///< the first zero pivot, counted from one

  SIMT_INLINE LuOfCluster(char* shared, int m, int n, int warps, T* factors, simt::Index row, simt::Index column)
      : memory_(simt::smaller(m, n), warps),
        shared_(shared),
        m_(m),
        n_(n),
        steps_(simt::smaller(m, n)),
        warps_(warps),
        blocks_(simt::cluster_blocks()),
        rank_(simt::block_in_cluster()),
        warp_(simt::shuffle(simt::thread_index() / 32, 0)),
        i_(rank_ * 32 * warps + simt::thread_index()),
        at_(i_ < m ? i_ : -1),
        mine_(factors + i_ * row),
        row_(row),
        column_(column) {}

  /// `note(k, p)`: for every step, by one thread of the cluster.
  template <typename Note>
  SIMT_INLINE void factor(bool pivoting, T const* from, simt::Index row_of_a, simt::Index column_of_a, Note note) {
    using namespace simt;
    from += i_ * row_of_a;
    SIMT_LOOP
    for (int j0 = 0; j0 < n_; j0 += width) {
      int const columns = smaller(width, n_ - j0);
      load_row(from + j0 * column_of_a, column_of_a, columns);
      SIMT_LOOP
      for (int k0 = 0; k0 < smaller(j0, steps_); k0 += step) subtract(k0);
      if (at_ >= 0 && at_ < smaller(j0, steps_)) store_row(mine_ + j0 * column_, columns);
      SIMT_LOOP
      for (int k = 0; k < columns && j0 + k < steps_; k += step) {
        if (columns - k > half)
          factor_columns<width>(j0 + k, columns - k, pivoting, note);
        else
          factor_columns<half>(j0 + k, columns - k, pivoting, note);
      }
    }
  }

  /// Rows to their positions.
  SIMT_INLINE void put_in_order() {
    using namespace simt;
    SIMT_LOOP
    for (int j0 = 0; j0 < n_; j0 += width) {
      int const columns = smaller(width, n_ - j0);
      load_row(mine_ + j0 * column_, column_, columns);
      sync_cluster();
      if (at_ >= 0 && at_ != i_) store_row(mine_ + (at_ - i_) * row_ + j0 * column_, columns);
    }
  }

 private:
  SIMT_INLINE T& panel(int t, int c) const { return reinterpret_cast<T*>(shared_)[c * memory_.panel_stride + t]; }
  SIMT_INLINE T* arriving(int turn) const { return reinterpret_cast<T*>(shared_ + memory_.arriving + turn * Memory::of_rows); }
  SIMT_INLINE T* leaving() const { return reinterpret_cast<T*>(shared_ + memory_.leaving); }
  SIMT_INLINE T* solved() const { return reinterpret_cast<T*>(shared_ + memory_.solved + warp_ * Memory::of_rows); }
  /// L of the rows of pivots [k0, k0 + 8) in these columns, column by column.
  SIMT_INLINE T* triangle(int k0) const { return reinterpret_cast<T*>(shared_ + memory_.triangles) + k0 * step; }
  SIMT_INLINE Candidate& of_warp(int turn, int warp) const {
    return reinterpret_cast<Candidate*>(shared_ + memory_.of_warps)[turn * warps_ + warp];
  }
  SIMT_INLINE Candidate& of_block(int turn, int rank) const {
    return reinterpret_cast<Candidate*>(shared_ + memory_.of_blocks)[turn * lu_cluster_blocks + rank];
  }
  /// The numbers of the rows of pivots
  SIMT_INLINE int* order() const { return reinterpret_cast<int*>(shared_ + memory_.order); }
  /// The positions of the rows of eight pivots
  SIMT_INLINE int* interchanges() const { return reinterpret_cast<int*>(shared_ + memory_.interchanges); }

  // Addresses one after the other, since registers do not hold all of them.
  SIMT_INLINE void load_row(T const* from, simt::Index column, int columns) {
    SIMT_UNROLL
    for (int c = 0; c < width; ++c, from += column) x_[c] = at_ >= 0 && c < columns ? *from : simt::from_real<T>(0);
  }
  SIMT_INLINE void store_row(T* to, int columns) const {
    SIMT_UNROLL
    for (int c = 0; c < width; ++c, to += column_)
      if (c < columns) simt::store_global(to, x_[c]);
  }

  /// Subtracts the products of columns [k0, k0 + 8).
  SIMT_INLINE void subtract(int k0) {
    using namespace simt;
    int const count = smaller(step, steps_ - k0), p = at_ - k0, lane = lane_index();
    turn_ ^= 1;
    if (p >= 0 && p < count) {
      SIMT_UNROLL
      for (int c = 0; c < width; c += of_chunk) {
        Chunked<T> part;
        SIMT_UNROLL
        for (int e = 0; e < of_chunk; ++e) part.x[e] = x_[c + e];
        store_chunk(leaving() + p * row_stride + c, part.chunk);
      }
    }
    T l[step];
    SIMT_UNROLL
    for (int k = 0; k < step; ++k) l[k] = p >= count ? mine_[(k0 + k) * column_] : from_real<T>(0);
    sync_warp();
    SIMT_LOOP
    for (unsigned owners = ballot(p >= 0 && p < count); owners != 0; owners &= owners - 1) {
      int const at = shuffle(p, lowest_bit(owners)) * row_stride + smaller(lane, width - 1);
      T const value = leaving()[at];
      SIMT_UNROLL
      for (int rank = 0; rank < lu_cluster_blocks; ++rank)
        if (rank < blocks_ && lane < width) *in_block_of_cluster(arriving(turn_) + at, rank) = value;
    }
    sync_cluster();
    solve(triangle(k0), arriving(turn_), count);
    T const* const of_u = solved();
    if (p >= count) {
      SIMT_UNROLL
      for (int c = 0; c < width; c += of_chunk) {
        SIMT_UNROLL
        for (int k = 0; k < step; ++k) {
          Chunked<T> const u(load_chunk(of_u + k * row_stride + c));
          SIMT_UNROLL
          for (int e = 0; e < of_chunk; ++e) x_[c + e] = k < count ? subtract_product(x_[c + e], l[k], u.x[e]) : x_[c + e];
        }
      }
    } else if (p >= 0) {
      SIMT_UNROLL
      for (int c = 0; c < width; c += of_chunk) {
        Chunked<T> const u(load_chunk(of_u + p * row_stride + c));
        SIMT_UNROLL
        for (int e = 0; e < of_chunk; ++e) x_[c + e] = u.x[e];
      }
    }
    sync_warp();
  }

  /// Rows of U of a step from those that have arrived, a column to a lane.
  SIMT_INLINE void solve(T const* l, T const* from, int count) const {
    using namespace simt;
    int const c = lane_index();
    if (c < width) {
      T y[step];
      SIMT_UNROLL
      for (int i = 0; i < step; ++i) y[i] = from[(i < count ? i : 0) * row_stride + c];
      SIMT_UNROLL
      for (int k = 0; k + 1 < step; ++k) {
        SIMT_UNROLL
        for (int i = k + 1; i < step; ++i)
          if (i < count) y[i] = subtract_product(y[i], l[k * step + i], y[k]);
      }
      SIMT_UNROLL
      for (int i = 0; i < step; ++i) solved()[i * row_stride + c] = y[i];
    }
    sync_warp();
  }

  /// Factors eight columns of a panel, of which `columns` are left, at most `left`.
  template <int left, typename Note>
  SIMT_INLINE void factor_columns(int k0, int columns, bool pivoting, Note note) {
    using namespace simt;
    int const count = smaller(step, smaller(columns, steps_ - k0));
    SIMT_LOOP
    for (int j = 0; j < count; ++j) factor_column<left>(k0, j, pivoting);
    // Global stores come after the cluster barriers of these columns, since a cluster barrier waits for stores. Triangles are read after
    // the next cluster barrier.
    sync_block();
    int const rows = 32 * warps_, lane = lane_index();
    if (int const t = thread_index(); rank_ == 0 && t < count) note(k0 + t, interchanges()[t]);
    SIMT_UNROLL
    for (int j = 0; j < step; ++j)
      if (j < count && at_ > k0 + j) store_global(mine_ + (k0 + j) * column_, panel(thread_index(), j));
    SIMT_LOOP
    for (int j = warp_; j < count; j += warps_) {
      int const row = order()[k0 + j];
      if (row / rows != rank_) continue;
      if (lane < columns - j) store_global(mine_ + (row - i_) * row_ + (k0 + j + lane) * column_, leaving()[j * row_stride + lane]);
      // Row j of the triangle
      T const l = panel(row % rows, smaller(lane, step - 1));
      SIMT_UNROLL
      for (int rank = 0; rank < lu_cluster_blocks; ++rank)
        if (rank < blocks_ && lane < j) *in_block_of_cluster(triangle(k0) + lane * step + j, rank) = l;
    }
    sync_block();
  }

  /// Each lane knows the reciprocal of its element before it is known which is the pivot.
  template <int left>
  SIMT_INLINE void factor_column(int k0, int j, bool pivoting) {
    using namespace simt;
    using R = simt::Real<T>;
    int const k = k0 + j, t = thread_index(), lane = lane_index();
    turn_ ^= 1;
    LuCandidate const best{pivoting ? ordered_bits(magnitude(x_[0])) : 0, at_ == k || (pivoting && at_ > k) ? at_ : -1, 0};
    PivotDivisor<T> const divisor(best.at >= 0 ? x_[0] : from_real<T>(1), pivoting);
    if (lane == lane_of_best<R>(best)) {
      Candidate& out = of_warp(turn_, warp_);
      out.candidate = best;
      out.usual = divisor.usual;
      out.row = i_;
      out.scale = divisor.scale;
      out.inverse = divisor.inverse;
      SIMT_UNROLL
      for (int c = 0; c < left; c += of_chunk) {
        Chunked<T> part;
        SIMT_UNROLL
        for (int e = 0; e < of_chunk; ++e) part.x[e] = x_[c + e];
        store_chunk(out.elements + c, part.chunk);
      }
    }
    sync_block();
    if (warp_ < blocks_) {
      LuCandidate const of_lane = lane < warps_ ? of_warp(turn_, lane).candidate : LuCandidate{0, -1, 0};
      int const winner = lane_of_best<R>(of_lane);
      char const* const from = reinterpret_cast<char const*>(&of_warp(turn_, winner));
      constexpr int chunks = static_cast<int>(sizeof(Candidate) - (width - left) * sizeof(T)) / 16;
      static_assert(chunks <= 32);
      SIMT_LOOP
      for (int rank = warp_; rank < blocks_; rank += warps_)
        if (lane < chunks)
          store_chunk(in_block_of_cluster(reinterpret_cast<char*>(&of_block(turn_, rank_)), rank) + 16 * lane,
                      load_chunk(from + 16 * lane));
    }
    sync_cluster();
    LuCandidate const of_lane = lane < blocks_ ? of_block(turn_, lane).candidate : LuCandidate{0, -1, 0};
    int const winner = lane_of_best<R>(of_lane);
    Candidate const& pivot = of_block(turn_, winner);
    int const p = pivot.candidate.at, row = pivot.row;
    T const first = pivot.elements[0];
    if (info == 0 && first == from_real<T>(0)) info = k + 1;
    if (t == 0) {
      order()[k] = row;
      interchanges()[j] = p;
    }
    // The row of U waits in the block that has it.
    if (winner == rank_ && warp_ == j % warps_ && lane < left) leaving()[j * row_stride + lane] = pivot.elements[lane];
    at_ = at_ == p ? k : at_ == k ? p : at_;
    if (pivot.usual == 0) x_[0] = pivot.scale * x_[0];
    T const l = x_[0] * pivot.inverse;
    panel(t, j) = l;
    SIMT_UNROLL
    for (int c = 0; c < left; c += of_chunk) {
      Chunked<T> const u(load_chunk(pivot.elements + c));
      SIMT_UNROLL
      for (int e = 0; e < of_chunk; ++e)
        if (c + e > 0) x_[c + e - 1] = subtract_product(x_[c + e], l, u.x[e]);
    }
  }

  Memory memory_;
  char* shared_;
  int m_, n_, steps_, warps_, blocks_, rank_, warp_;
  int i_;   ///< the row of this thread
  int at_;  ///< its position; negative: there is none
  int turn_ = 0;
  T* mine_;
  simt::Index row_, column_;
  T x_[width];
};

/// Launch: any number of clusters of up to lu_cluster_blocks blocks of 32 * args.warps threads, with the bytes of LuClusterMemory for the
/// largest matrix, whose rows are at most the threads of a cluster.
template <typename T, LuCluster C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads, 1) lu_cluster(LuClusterArguments<T> const args) {
  using namespace simt;
  bool const first = thread_index() == 0 && block_in_cluster() == 0;
  sync_cluster();  // all blocks have started: see in_block_of_cluster
  for (Index b = block_index() / cluster_blocks(); b < args.a.count; b += block_count() / cluster_blocks()) {
    int const m = args.a.rows_of(b), n = args.a.cols_of(b);
    if (m == 0 || n == 0) {  // of a ragged batch
      if (args.info && args.before == 0 && first) args.info[b] = 0;
      continue;
    }
    LuOfCluster<T, C> lu(shared_memory(), m, n, args.warps, args.result.at(b, 0, 0), args.result.row_stride_of(b),
                         args.result.col_stride_of(b));
    lu.factor(args.pivoting, args.a.at(b, 0, 0), args.a.row_stride_of(b), args.a.col_stride_of(b), [&](int k, int p) {
      if (args.pivots.given()) *args.pivots.at(b, k, 0) = args.before + p + 1;
    });
    if (args.pivoting) lu.put_in_order();
    if (args.info && first) {
      if (args.before == 0)
        args.info[b] = lu.info;
      else if (lu.info != 0 && args.info[b] == 0)
        args.info[b] = args.before + lu.info;
    }
    // Shared memory is written again, and must stay while others write to it.
    sync_cluster();
  }
}

}  // namespace myriad
