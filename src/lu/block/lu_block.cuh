#pragma once
/// LU of matrices of more than 32 rows, one in the shared memory of a block, of panels of larger ones, and determinants.
///
/// Panel by panel of columns. A thread has some rows of the panel in registers, which do not move: a thread knows the position of each of
/// its rows, and the row of a pivot is told to all through shared memory. A step is one barrier. Then rows are interchanged beside the
/// panel, a column to a thread, which also solves with the triangle of the panel; and the panel's product is subtracted from the rest, by
/// warps, a lane to a few rows.

#include "lu/block/lu_block_config.cuh"
#include "lu/block/pivot_of_block.cuh"
#include "lu/determinant.cuh"

namespace myriad {

/// The matrix of a block.
template <typename T, LuBlock C>
class LuOfBlock {
  static constexpr int panel = C.panel, held = C.held;
  /// Columns of a tile of the product that a warp subtracts at a time
  static constexpr int tile_columns = 4;
  static constexpr int tile_rows = simt::is_complex<T> ? 2 : 4;  ///< and rows of a lane

 public:
  int info = 0;      ///< the first zero pivot, counted from one
  bool odd = false;  ///< interchanges

  /// An m-by-n matrix with right-hand sides beside it
  SIMT_INLINE LuOfBlock(char* shared, int m, int n, int right)
      : m_(m),
        n_(n + right),
        steps_(simt::smaller(m, n)),
        memory_(sizeof(T), C, m, n + right),
        distance_(static_cast<int>(memory_.distance)),
        shared_(shared),
        data_(reinterpret_cast<T*>(shared)) {}

  SIMT_INLINE T& at(int i, int j) const { return data_[i + j * distance_]; }

  /// `note(k, p)` is called by one thread for every step.
  template <typename Note>
  SIMT_INLINE void factor(bool pivoting, Note note) {
    using namespace simt;
    SIMT_LOOP
    for (int k = 0; k < steps_; k += panel) {
      int const width = smaller(panel, steps_ - k);
      factor_panel(k, width, pivoting, note);
      sync_block();
      finish_columns(k, width);
      sync_block();
      if (m_ > k + width && n_ > k + width) {
        subtract_product_of_panel(k);
        sync_block();
      }
    }
  }

  /// Solves U X = Y for the right-hand sides of a square matrix, each by a warp: 32 rows at a time, a row to a lane, and what these take
  /// from the rows above.
  SIMT_INLINE void substitute_back() {
    using namespace simt;
    int const n = m_, lane = lane_index();
    SIMT_LOOP
    for (int j = n + shuffle(thread_index() / 32, 0); j < n_; j += C.warps()) {
      SIMT_LOOP
      for (int first = (n - 1) / 32 * 32; first >= 0; first -= 32) {
        int const i = smaller(first + lane, n - 1), number = smaller(n - first, 32);
        PivotDivisor<T> const divisor(at(i, i), true);
        T x = at(i, j);
        SIMT_UNROLL_BY(4)
        for (int k = number - 1; k >= 0; --k) {
          T const solved = shuffle(divisor.divide(x), k);
          if (lane < k) x = subtract_product(x, at(i, first + k), solved);
          if (lane == k) x = solved;
        }
        sync_warp();
        if (lane < number) at(i, j) = x;
        sync_warp();
        SIMT_LOOP
        for (int above = lane; above < first; above += 32) {
          T sum = at(above, j);
          SIMT_UNROLL_BY(8)
          for (int k = 0; k < number; ++k) sum = subtract_product(sum, at(above, first + k), at(first + k, j));
          at(above, j) = sum;
        }
        sync_warp();
      }
    }
  }

 private:
  SIMT_INLINE LuCandidate& candidate(int turn, int warp) const {
    return *reinterpret_cast<LuCandidate*>(shared_ + memory_.candidates + (turn % 2 * C.warps() + warp) * memory_.of_candidate);
  }
  SIMT_INLINE T* row_of_candidate(int turn, int warp) const { return reinterpret_cast<T*>(&candidate(turn, warp) + 1); }
  SIMT_INLINE int* pivots() const { return reinterpret_cast<int*>(shared_ + memory_.pivots); }

  template <typename Note>
  SIMT_INLINE void factor_panel(int k0, int width, bool pivoting, Note note) {
    using namespace simt;
    int const t = thread_index(), lane = lane_index();
    int const warp = shuffle(t / 32, 0);  // the compiler then knows that lanes agree
    T a[held][panel];
    int at_of[held];
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) {
      int const i = k0 + t + r * C.threads;
      at_of[r] = i < m_ ? i : -1;
      SIMT_UNROLL
      for (int c = 0; c < panel; ++c) a[r][c] = i < m_ && c < width ? at(i, k0 + c) : from_real<T>(0);
    }
    SIMT_UNROLL
    for (int j = 0; j < panel; ++j) {
      if (j >= width) break;
      int const k = k0 + j;
      LuCandidate mine{0, -1, 0};
      int mine_is = 0;
      SIMT_UNROLL
      for (int r = 0; r < held; ++r) {
        LuCandidate const next{pivoting ? ordered_bits(magnitude(a[r][j])) : 0, at_of[r] == k || (pivoting && at_of[r] > k) ? at_of[r] : -1,
                               0};
        if (is_better(next, mine)) mine = next, mine_is = r;
      }
      if (lane == lane_of_best<simt::Real<T>>(mine)) {
        candidate(j, warp) = mine;
        T* const row = row_of_candidate(j, warp);
        SIMT_UNROLL
        for (int r = 0; r < held; ++r)
          if (held == 1 || r == mine_is) {
            SIMT_UNROLL
            for (int c = j; c < panel; ++c) row[c] = a[r][c];
          }
      }
      sync_block();
      LuCandidate const of_lane = lane < C.warps() ? candidate(j, smaller(lane, C.warps() - 1)) : LuCandidate{0, -1, 0};
      int const winner = lane_of_best<simt::Real<T>>(of_lane), p = candidate(j, winner).at;
      T const* const row = row_of_candidate(j, winner);
      T u[panel];
      SIMT_UNROLL
      for (int c = j; c < panel; ++c) u[c] = row[c];
      if (t == 0) {
        pivots()[j] = p;
        note(k, p);
      }
      odd = odd != (p != k);
      if (info == 0 && u[j] == from_real<T>(0)) info = k + 1;
      PivotDivisor<T> const divisor(u[j], pivoting);
      SIMT_UNROLL
      for (int r = 0; r < held; ++r) {
        if (at_of[r] == p)
          at_of[r] = k;
        else if (at_of[r] == k)
          at_of[r] = p;
        if (at_of[r] <= k) continue;
        T const l = divisor.divide(a[r][j]);
        a[r][j] = l;
        SIMT_UNROLL
        for (int c = j + 1; c < panel; ++c) a[r][c] = subtract_product(a[r][c], l, u[c]);
      }
    }
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) {
      SIMT_UNROLL
      for (int c = 0; c < panel; ++c)
        if (at_of[r] >= 0 && c < width) at(at_of[r], k0 + c) = a[r][c];
    }
  }

  /// Interchanges rows of the columns beside the panel, and solves with its triangle for those to the right.
  SIMT_INLINE void finish_columns(int k0, int width) {
    using namespace simt;
    SIMT_LOOP
    for (int e = thread_index(); e < n_ - width; e += C.threads) {
      bool const right = e >= k0;
      T* const column = &at(k0, right ? e + width : e);
      T x[panel];
      SIMT_UNROLL
      for (int i = 0; i < panel; ++i)
        if (i < width) x[i] = column[i];
      SIMT_UNROLL
      for (int i = 0; i < panel; ++i) {
        if (i >= width) break;
        int const p = pivots()[i] - k0;
        if (p < width) {
          SIMT_UNROLL
          for (int other = i + 1; other < panel; ++other) exchange_if(p == other, x[i], x[other]);
        } else {
          T const up = column[p];
          column[p] = x[i];
          x[i] = up;
        }
      }
      if (right) {
        SIMT_UNROLL
        for (int j = 0; j < panel; ++j) {
          SIMT_UNROLL
          for (int i = j + 1; i < panel; ++i)
            if (i < width) x[i] = subtract_product(x[i], at(k0 + i, k0 + j), x[j]);
        }
      }
      SIMT_UNROLL
      for (int i = 0; i < panel; ++i)
        if (i < width) column[i] = x[i];
    }
  }

  /// A full panel: there are rows below and columns to the right of it.
  SIMT_INLINE void subtract_product_of_panel(int k0) {
    using namespace simt;
    constexpr int rows_of_tile = 32 * tile_rows;
    int const first = k0 + panel, rows = m_ - first, across = ceil_div(n_ - first, tile_columns), down = ceil_div(rows, rows_of_tile);
    int const warp = shuffle(thread_index() / 32, 0);
    SIMT_LOOP
    for (int tile = warp; tile < across * down; tile += C.warps()) {
      int const of_row = tile % down, i = first + of_row * rows_of_tile, j = first + tile / down * tile_columns;
      int const left = m_ - i;
      if (tile_rows == 4 && left > 64)
        subtract_tile<tile_rows>(k0, i, j);
      else if (left > 32)
        subtract_tile<2>(k0, i, j);
      else
        subtract_tile<1>(k0, i, j);
    }
  }
  template <int rows>
  SIMT_INLINE void subtract_tile(int k0, int i0, int j0) {
    using namespace simt;
    T sum[rows][tile_columns];
    int from[rows], columns[tile_columns];
    SIMT_UNROLL
    for (int r = 0; r < rows; ++r) {
      // Rows and columns beyond the matrix are those of the panel, which nobody writes now.
      int const i = i0 + lane_index() + 32 * r;
      from[r] = i < m_ ? i : k0;
    }
    SIMT_UNROLL
    for (int c = 0; c < tile_columns; ++c) columns[c] = (j0 + c < n_ ? j0 + c : k0) * distance_;
    SIMT_UNROLL
    for (int r = 0; r < rows; ++r) {
      SIMT_UNROLL
      for (int c = 0; c < tile_columns; ++c) sum[r][c] = data_[from[r] + columns[c]];
    }
    SIMT_UNROLL
    for (int k = 0; k < panel; ++k) {
      T l[rows], u[tile_columns];
      SIMT_UNROLL
      for (int r = 0; r < rows; ++r) l[r] = data_[from[r] + (k0 + k) * distance_];
      SIMT_UNROLL
      for (int c = 0; c < tile_columns; ++c) u[c] = data_[k0 + k + columns[c]];
      SIMT_UNROLL
      for (int r = 0; r < rows; ++r) {
        SIMT_UNROLL
        for (int c = 0; c < tile_columns; ++c) sum[r][c] = subtract_product(sum[r][c], l[r], u[c]);
      }
    }
    SIMT_UNROLL
    for (int r = 0; r < rows; ++r) {
      SIMT_UNROLL
      for (int c = 0; c < tile_columns; ++c)
        if (i0 + lane_index() + 32 * r < m_ && j0 + c < n_) data_[from[r] + columns[c]] = sum[r][c];
    }
  }

  int m_, n_;  ///< n with right-hand sides
  int steps_;
  LuBlockMemory memory_;
  int distance_;
  char* shared_;
  T* data_;
};

/// Calls use(i, j) for all elements of an m-by-n matrix, with the lanes of a warp along what is side by side in memory.
template <int threads, typename Use>
SIMT_INLINE void for_each_element_of_block(int m, int n, bool by_rows, Use use) {
  using namespace simt;
  int const lines = by_rows ? m : n, length = by_rows ? n : m;
  SIMT_LOOP
  for (int line = thread_index() / 32; line < lines; line += threads / 32) {
    SIMT_UNROLL_BY(4)
    for (int e = lane_index(); e < length; e += 32) use(by_rows ? line : e, by_rows ? e : line);
  }
}

/// Launch: any number of blocks of C.threads threads, with the bytes of LuBlockMemory for the largest matrix.
template <typename T, LuBlock C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads, C.blocks_per_sm) lu_block(LuBlockArguments<T> const args) {
  using namespace simt;
  for (Index b = block_index(); b < args.a.count; b += block_count()) {
    int const m = args.a.rows_of(b), n = args.a.cols_of(b), right = args.x.given() ? args.x.cols_of(b) : 0;
    if ((m == 0 || n == 0) && !args.sign_or_det) {  // of a ragged batch
      if (args.info && args.before == 0 && thread_index() == 0) args.info[b] = 0;
      continue;
    }
    LuOfBlock<T, C> lu(shared_memory(), m, n, right);
    Index const row = args.a.row_stride_of(b), column = args.a.col_stride_of(b);
    T const* const from = args.a.at(b, 0, 0);
    for_each_element_of_block<C.threads>(m, n, column < row,
                                         [&](int i, int j) { copy_async<T>(&lu.at(i, j), from + i * row + j * column); });
    if (right > 0 && m > 0) {
      Index const row_of_b = args.b.row_stride_of(b), column_of_b = args.b.col_stride_of(b);
      T const* const from_b = args.b.at(b, 0, 0);
      for_each_element_of_block<C.threads>(m, right, column_of_b < row_of_b, [&](int i, int j) {
        lu.at(i, n + j) = conjugate_if(args.b.conjugated, from_b[i * row_of_b + j * column_of_b]);
      });
    }
    wait_copies();
    sync_block();
    lu.factor(args.pivoting, [&](int k, int p) {
      if (args.pivots.given()) *args.pivots.at(b, k, 0) = args.before + p + 1;
    });
    if (args.result.given() && m > 0 && n > 0) {
      Index const row_of_result = args.result.row_stride_of(b), column_of_result = args.result.col_stride_of(b);
      T* const to = args.result.at(b, 0, 0);
      for_each_element_of_block<C.threads>(m, n, column_of_result < row_of_result,
                                           [&](int i, int j) { store_global(to + i * row_of_result + j * column_of_result, lu.at(i, j)); });
    }
    if (right > 0 && m > 0 && (lu.info == 0 || args.nan_where_singular)) {
      if (lu.info == 0) lu.substitute_back();
      sync_block();
      Index const row_of_x = args.x.row_stride_of(b), column_of_x = args.x.col_stride_of(b);
      T* const to = args.x.at(b, 0, 0);
      for_each_element_of_block<C.threads>(m, right, column_of_x < row_of_x, [&](int i, int j) {
        T const value = lu.info == 0 ? conjugate_if(args.x.conjugated, lu.at(i, n + j)) : not_a_number<T>();
        store_global(to + i * row_of_x + j * column_of_x, value);
      });
    }
    if (args.info && thread_index() == 0) {
      if (args.before == 0)
        args.info[b] = lu.info;
      else if (lu.info != 0 && args.info[b] == 0)
        args.info[b] = args.before + lu.info;
    }
    if (args.sign_or_det && thread_index() < 32)
      put_determinant<T>(
          n, lu.odd, args.a.conjugated, [&](int k) { return lu.at(k, k); }, args.sign_or_det + b, args.logabs ? args.logabs + b : nullptr);
    if (b + block_count() < args.a.count) sync_block();
  }
}

}  // namespace myriad
