#pragma once
/// LU of matrices whose rows are the threads of a block.
///
/// Some columns at a time are in registers. From these the columns to the left are subtracted, eight at a time; then eight after the other
/// are factored by one warp, and subtracted from the rest. Rows do not move: their positions are kept, and so are the factors in the order
/// in which the rows were, until the end.
///
/// The eight rows of U of such a step are solved for by every warp for itself, a column to a lane, so that a step of columns to the left
/// has one barrier. In double the products are those of tensor cores.
///
/// An element gets its products one after the other, by the number of the column: sizes and configs do not change bits.

#include "lu/block/lu_rows_config.cuh"
#include "lu/block/pivot_of_block.cuh"

namespace myriad {

template <typename T, LuRows C>
struct LuRowsShared {
  static constexpr int width_stride = LuRowsMemory<T>::width_stride(C);
  LuRowsMemory<T> memory;
  char* shared;
  int warps;

  SIMT_INLINE LuRowsShared(char* at, int m, int n, int of_block) : memory(C, m, n, of_block), shared(at), warps(of_block) {}
  SIMT_INLINE T& panel(int i, int c) const { return reinterpret_cast<T*>(shared)[c * memory.panel_stride + i]; }
  SIMT_INLINE T& ordered(int i, int c) const { return reinterpret_cast<T*>(shared)[c * memory.ordered_stride + i]; }
  SIMT_INLINE T* triangle(int turn) const {
    return reinterpret_cast<T*>(shared + memory.triangles) + turn % 2 * lu_rows_step * width_stride;
  }
  SIMT_INLINE T* of_warp() const { return reinterpret_cast<T*>(shared + memory.of_warps + simt::thread_index() / 32 * memory.of_warp); }
  /// L of the rows of pivots [k0, k0 + 8) in these columns, column by column.
  SIMT_INLINE T* diagonal(int k0) const { return reinterpret_cast<T*>(shared + memory.diagonal) + k0 * lu_rows_step; }
  SIMT_INLINE LuRowsCandidate<T>& candidate(int turn, int warp) const {
    return reinterpret_cast<LuRowsCandidate<T>*>(shared + memory.candidates)[turn % 2 * warps + warp];
  }
  SIMT_INLINE int* positions() const { return reinterpret_cast<int*>(shared + memory.positions); }
  /// The numbers of the rows of pivots, and the positions from which these came.
  SIMT_INLINE int* order() const { return reinterpret_cast<int*>(shared + memory.order); }
  SIMT_INLINE int* interchanges() const { return reinterpret_cast<int*>(shared + memory.interchanges); }

  /// Solves for rows of U, from `triangle`, into the memory of the warp.
  SIMT_INLINE void solve(T const* triangle, int k0, int count, int columns) const {
    using namespace simt;
    constexpr int side = 16 / static_cast<int>(sizeof(T));
    T* const out = of_warp();
    T const* const l = diagonal(k0);
    SIMT_UNROLL
    for (int first = 0; first < C.width; first += 32) {
      int const c = first + lane_index();
      if (c >= columns) continue;
      T y[lu_rows_step];
      SIMT_UNROLL
      for (int i = 0; i < lu_rows_step; ++i) y[i] = triangle[(i < count ? i : 0) * width_stride + c];
      SIMT_UNROLL
      for (int k = 0; k + 1 < lu_rows_step; ++k) {
        T of_k[lu_rows_step];
        SIMT_UNROLL
        for (int i = (k + 1) / side * side; i < lu_rows_step; i += side) {
          Chunk const chunk = load_chunk(l + k * lu_rows_step + i);
          memcpy(&of_k[i], &chunk, 16);
        }
        SIMT_UNROLL
        for (int i = k + 1; i < lu_rows_step; ++i) y[i] = i < count ? subtract_product(y[i], of_k[i], y[k]) : y[i];
      }
      SIMT_UNROLL
      for (int i = 0; i < lu_rows_step; ++i) out[i * width_stride + c] = y[i];
    }
    sync_warp();
  }
};

/// Columns in registers, a row to a thread.
template <typename T, LuRows C>
class LuColumnsByRows {
  static constexpr int step = lu_rows_step, pieces = C.width / step;
  using Shared = LuRowsShared<T, C>;

 public:
  /// Loads element (i, c) from from[i * row + c * column], for i and c in the matrix.
  SIMT_INLINE void load(int m, int columns, T const* from, simt::Index row, simt::Index column) {
    bool const is_in = simt::thread_index() < m;
    from += simt::thread_index() * row;
    SIMT_UNROLL
    for (int v = 0; v < pieces; ++v) {
      SIMT_UNROLL
      for (int c = v * step; c < (v + 1) * step; ++c) x_[c] = simt::from_real<T>(0);
      if (v * step >= columns) continue;
      SIMT_UNROLL
      for (int c = v * step; c < (v + 1) * step; ++c, from += column)
        if (is_in && c < columns) x_[c] = *from;
    }
  }
  /// Takes the first eight columns out of them, to the panel.
  SIMT_INLINE void take_first(Shared const& shared) {
    SIMT_UNROLL
    for (int c = 0; c < step; ++c) shared.panel(simt::thread_index(), c) = x_[c];
    SIMT_UNROLL
    for (int c = step; c < C.width; ++c) x_[c - step] = x_[c];
  }
  /// L of eight columns: this thread's row.
  struct Left {
    T l[step];
    SIMT_INLINE void load(int m, T const* from, simt::Index row, simt::Index column) {
      int const i = simt::thread_index();
      from += i * row;
      SIMT_UNROLL
      for (int k = 0; k < step; ++k, from += column) l[k] = i < m ? *from : simt::from_real<T>(0);
    }
  };
  /// Subtracts columns [k0, k0 + count) of L from the first `some` pieces.
  SIMT_INLINE void subtract(Shared const& shared, Left const& left, int k0, int count, int turn, int some) {
    using namespace simt;
    constexpr int side = 16 / static_cast<int>(sizeof(T));
    T* const triangle = shared.triangle(turn);
    int const p = shared.positions()[thread_index()] - k0;
    bool const is_of_step = p >= 0 && p < count;
    if (is_of_step) {
      SIMT_UNROLL
      for (int v = 0; v < pieces; ++v)
        if (v < some) {
          SIMT_UNROLL
          for (int c = 0; c < step; ++c) triangle[p * Shared::width_stride + v * step + c] = x_[v * step + c];
        }
    }
    sync_block();
    shared.solve(triangle, k0, count, some * step);
    T const* const u = shared.of_warp();
    if (p >= count) {
      SIMT_UNROLL
      for (int v = 0; v < pieces; ++v) {
        if (v >= some) break;
        SIMT_UNROLL
        for (int k = 0; k < step; ++k) {
          T of_u[step];
          SIMT_UNROLL
          for (int c = 0; c < step; c += side) {
            Chunk const chunk = load_chunk(u + k * Shared::width_stride + v * step + c);
            memcpy(&of_u[c], &chunk, 16);
          }
          SIMT_UNROLL
          for (int c = 0; c < step; ++c) x_[v * step + c] = subtract_product(x_[v * step + c], left.l[k], of_u[c]);
        }
      }
    }
    if (is_of_step) {
      SIMT_UNROLL
      for (int v = 0; v < pieces; ++v)
        if (v < some) {
          SIMT_UNROLL
          for (int c = 0; c < step; ++c) x_[v * step + c] = u[p * Shared::width_stride + v * step + c];
        }
    }
    sync_warp();
  }

 private:
  T x_[C.width];
};

/// The same for double, as tensor cores have it (see multiply_add_16x8): rows 16 u + 8 h + g of the warp and columns 8 v + t and 8 v + t +
/// 4 belong to lane 4 g + t.
template <LuRows C>
class LuColumnsByTensorCores {
  static constexpr int step = lu_rows_step, pieces = C.width / step;
  using T = double;
  using Shared = LuRowsShared<T, C>;

  SIMT_INLINE static int group() { return simt::lane_index() / 4; }
  SIMT_INLINE static int part() { return simt::lane_index() % 4; }
  SIMT_INLINE static int row(int u, int h) { return simt::thread_index() / 32 * 32 + 16 * u + 8 * h + group(); }

 public:
  SIMT_INLINE void load(int m, int columns, T const* from, simt::Index row_stride, simt::Index column) {
    T const* of_rows[2][2];
    SIMT_UNROLL
    for (int u = 0; u < 2; ++u) {
      SIMT_UNROLL
      for (int h = 0; h < 2; ++h) of_rows[u][h] = from + row(u, h) * row_stride + part() * column;
    }
    SIMT_UNROLL
    for (int v = 0; v < pieces; ++v) {
      SIMT_UNROLL
      for (int half = 0; half < 2; ++half) {
        bool const is_in = step * v + part() + 4 * half < columns;
        SIMT_UNROLL
        for (int u = 0; u < 2; ++u) {
          SIMT_UNROLL
          for (int h = 0; h < 2; ++h) {
            x_[u][v][2 * h + half] = is_in && row(u, h) < m ? *of_rows[u][h] : 0.0;
            of_rows[u][h] += 4 * column;
          }
        }
      }
    }
  }
  SIMT_INLINE void take_first(Shared const& shared) {
    SIMT_UNROLL
    for (int u = 0; u < 2; ++u) {
      SIMT_UNROLL
      for (int e = 0; e < 4; ++e) shared.panel(row(u, e / 2), part() + 4 * (e % 2)) = x_[u][0][e];
    }
    SIMT_UNROLL
    for (int v = 1; v < pieces; ++v) {
      SIMT_UNROLL
      for (int u = 0; u < 2; ++u) {
        SIMT_UNROLL
        for (int e = 0; e < 4; ++e) x_[u][v - 1][e] = x_[u][v][e];
      }
    }
  }
  struct Left {
    T l[2][2][2];  ///< as operand A
    SIMT_INLINE void load(int m, T const* from, simt::Index row_stride, simt::Index column) {
      SIMT_UNROLL
      for (int u = 0; u < 2; ++u) {
        SIMT_UNROLL
        for (int h = 0; h < 2; ++h) {
          T const* const of_row = from + row(u, h) * row_stride + part() * column;
          SIMT_UNROLL
          for (int k = 0; k < 2; ++k) l[u][k][h] = row(u, h) < m ? of_row[k * 4 * column] : 0.0;
        }
      }
    }
  };
  SIMT_INLINE void subtract(Shared const& shared, Left const& left, int k0, int count, int turn, int some) {
    using namespace simt;
    T* const triangle = shared.triangle(turn);
    int p[2][2];
    SIMT_UNROLL
    for (int u = 0; u < 2; ++u) {
      SIMT_UNROLL
      for (int h = 0; h < 2; ++h) {
        p[u][h] = shared.positions()[row(u, h)] - k0;
        if (p[u][h] < 0 || p[u][h] >= count) continue;
        T* const to = triangle + p[u][h] * Shared::width_stride + part();
        SIMT_UNROLL
        for (int v = 0; v < pieces; ++v)
          if (v < some) {
            to[v * step] = x_[u][v][2 * h];
            to[v * step + 4] = x_[u][v][2 * h + 1];
          }
      }
    }
    sync_block();
    shared.solve(triangle, k0, count, some * step);
    T const* const of_u = shared.of_warp();
    bool const upper = ballot(p[0][0] >= count || p[0][1] >= count) != 0, lower = ballot(p[1][0] >= count || p[1][1] >= count) != 0;
    SIMT_UNROLL
    for (int v = 0; v < pieces; ++v) {
      if (v >= some) break;
      T b[2];
      SIMT_UNROLL
      for (int k = 0; k < 2; ++k) b[k] = -of_u[(part() + 4 * k) * Shared::width_stride + v * step + group() / 2 + 4 * (group() % 2)];
      SIMT_UNROLL
      for (int u = 0; u < 2; ++u) {
        if (u == 0 ? !upper : !lower) continue;
        T sum[4];
        SIMT_UNROLL
        for (int e = 0; e < 4; ++e) sum[e] = x_[u][v][e];
        multiply_add_16x8(left.l[u], b, sum);
        SIMT_UNROLL
        for (int e = 0; e < 4; ++e) x_[u][v][e] = p[u][e / 2] >= count ? sum[e] : x_[u][v][e];
      }
    }
    SIMT_UNROLL
    for (int u = 0; u < 2; ++u) {
      SIMT_UNROLL
      for (int h = 0; h < 2; ++h) {
        if (p[u][h] < 0 || p[u][h] >= count) continue;
        T const* const from = of_u + p[u][h] * Shared::width_stride + part();
        SIMT_UNROLL
        for (int v = 0; v < pieces; ++v)
          if (v < some) {
            x_[u][v][2 * h] = from[v * step];
            x_[u][v][2 * h + 1] = from[v * step + 4];
          }
      }
    }
    sync_warp();
  }

 private:
  T x_[2][pieces][4];
};

template <typename T, LuRows C>
struct LuColumnsOf {
  using type = LuColumnsByRows<T, C>;
};
template <LuRows C>
struct LuColumnsOf<double, C> {
  using type = LuColumnsByTensorCores<C>;
};

/// Factors the panel: eight columns in shared memory, of which a thread has a row in registers, the next column first. A barrier for every
/// column. Each lane knows the reciprocal of its element before it is known which is the pivot.
template <typename T, LuRows C>
SIMT_INLINE void lu_factor_panel(LuRowsShared<T, C> const& shared, int k0, int steps, bool pivoting, int& info) {
  using namespace simt;
  using R = simt::Real<T>;
  constexpr int step = lu_rows_step;
  int const t = thread_index(), lane = lane_index(), warp = shuffle(t / 32, 0), warps = shared.warps;
  int at = shared.positions()[t];
  T a[step];
  SIMT_UNROLL
  for (int c = 0; c < step; ++c) a[c] = shared.panel(t, c);
  int const count = smaller(step, steps - k0);
  SIMT_UNROLL_BY(2)
  for (int j = 0; j < count; ++j) {
    int const k = k0 + j;
    LuCandidate const mine{pivoting ? ordered_bits(magnitude(a[0])) : 0, at == k || (pivoting && at > k) ? at : -1, t};
    PivotDivisor<T> const divisor(mine.at >= 0 ? a[0] : from_real<T>(1), pivoting);
    if (lane == lane_of_best<R>(mine)) {
      LuRowsCandidate<T>& candidate = shared.candidate(j, warp);
      candidate.candidate = mine;
      candidate.usual = divisor.usual;
      candidate.scale = divisor.scale;
      candidate.inverse = divisor.inverse;
      SIMT_UNROLL
      for (int c = 0; c < step; ++c) candidate.elements[c] = a[c];
    }
    sync_block();
    LuCandidate const of_lane = lane < warps ? shared.candidate(j, lane).candidate : LuCandidate{0, -1, 0};
    LuRowsCandidate<T> const& pivot = shared.candidate(j, lane_of_best<R>(of_lane));
    T u[step];
    SIMT_UNROLL
    for (int c = 0; c < step; ++c) u[c] = pivot.elements[c];
    int const p = pivot.candidate.at;
    if (info == 0 && u[0] == from_real<T>(0)) info = k + 1;
    if (at == p) {
      SIMT_UNROLL
      for (int c = 0; c < step; ++c)
        if (c < step - j) shared.panel(t, j + c) = a[c];
      shared.order()[k] = t;
      shared.interchanges()[k] = p;
    }
    at = at == p ? k : at == k ? p : at;
    if (pivot.usual == 0) a[0] = pivot.scale * a[0];
    T const l = a[0] * pivot.inverse;
    if (at > k) shared.panel(t, j) = l;
    SIMT_UNROLL
    for (int c = 1; c < step; ++c) a[c - 1] = subtract_product(a[c], l, u[c]);
  }
  // Rows that were left over have columns beyond the steps: of a matrix with more rows than columns these are none of its own.
  shared.positions()[t] = at;
  sync_block();
  for (int e = t; e < step * step; e += 32 * warps) {
    int const i = e % step, k = e / step;
    if (i > k && i < count) shared.diagonal(k0)[e] = shared.panel(shared.order()[k0 + i], k);
  }
}

/// The matrix of a block.
template <typename T, LuRows C>
class LuByRows {
  static constexpr int step = lu_rows_step;
  using Columns = typename LuColumnsOf<T, C>::type;

 public:
  int info = 0;  ///< the first zero pivot, counted from one; of the first warp

  SIMT_INLINE LuByRows(LuRowsShared<T, C> const& shared, int m, int n, T* factors, simt::Index row, simt::Index column)
      : shared_(shared), m_(m), n_(n), steps_(simt::smaller(m, n)), factors_(factors), row_(row), column_(column) {}

  SIMT_INLINE T& factor_at(int i, int j) const { return factors_[i * row_ + j * column_]; }

  SIMT_INLINE void factor(bool pivoting, T const* from, simt::Index row_of_a, simt::Index column_of_a) {
    using namespace simt;
    int const t = thread_index();
    shared_.positions()[t] = t < m_ ? t : -1;
    int turn = 0;
    SIMT_LOOP
    for (int j0 = 0; j0 < n_; j0 += C.width) {
      int const columns = smaller(C.width, n_ - j0), pieces = ceil_div(columns, step);
      Columns x;
      x.load(m_, columns, from + j0 * column_of_a, row_of_a, column_of_a);
      typename Columns::Left left;
      SIMT_LOOP
      for (int k0 = 0; k0 < smaller(j0, steps_); k0 += step) {
        left.load(m_, &factor_at(0, k0), row_, column_);
        x.subtract(shared_, left, k0, smaller(step, steps_ - k0), turn++, pieces);
      }
      SIMT_LOOP
      for (int piece = 0; piece < pieces; ++piece) {
        int const k0 = j0 + piece * step;
        x.take_first(shared_);
        sync_block();
        if (k0 < steps_) {
          lu_factor_panel(shared_, k0, steps_, pivoting, info);
        }
        if (t < m_) {
          SIMT_UNROLL
          for (int c = 0; c < step; ++c)
            if (k0 + c < n_) factor_at(t, k0 + c) = shared_.panel(t, c);
        }
        bool const subtracts = k0 < steps_ && piece + 1 < pieces;
        if (subtracts) {
          left.load(32 * shared_.warps, &shared_.panel(0, 0), 1, shared_.memory.panel_stride);
          x.subtract(shared_, left, k0, smaller(step, steps_ - k0), turn++, pieces - piece - 1);
        } else {
          // The panel is written again.
          sync_block();
        }
      }
    }
  }

  /// Rows of columns [j0, j0 + C.ordered()) to their positions. `full`: the matrix has these columns.
  template <bool full>
  SIMT_INLINE void put_in_order(int j0) const {
    using namespace simt;
    constexpr int columns = C.ordered();
    int const t = thread_index(), at = shared_.positions()[t];
    T* const of_row = &factor_at(t, j0);
    T x[columns];
    if (t < m_) {
      T const* from = of_row;
      SIMT_UNROLL
      for (int c = 0; c < columns; ++c, from += column_) x[c] = full || j0 + c < n_ ? *from : from_real<T>(0);
      SIMT_UNROLL
      for (int c = 0; c < columns; ++c) shared_.ordered(at, c) = x[c];
    }
    sync_block();
    if (t < m_) {
      T* to = of_row;
      SIMT_UNROLL
      for (int c = 0; c < columns; ++c, to += column_)
        if (full || j0 + c < n_) store_global(to, shared_.ordered(t, c));
    }
    sync_block();
  }

 private:
  LuRowsShared<T, C> const& shared_;
  int m_, n_, steps_;
  T* factors_;
  simt::Index row_, column_;
};

/// Launch: any number of blocks of 32 * args.warps threads, with the bytes of LuRowsMemory for the largest matrix.
template <typename T, LuRows C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads, C.blocks_per_sm) lu_rows(LuRowsArguments<T> const args) {
  using namespace simt;
  int const t = thread_index();
  for (Index b = block_index(); b < args.a.count; b += block_count()) {
    int const m = args.a.rows_of(b), n = args.a.cols_of(b);
    if (m == 0 || n == 0) {  // of a ragged batch
      if (args.info && args.before == 0 && t == 0) args.info[b] = 0;
      continue;
    }
    LuRowsShared<T, C> const shared(shared_memory(), m, n, args.warps);
    LuByRows<T, C> lu(shared, m, n, args.result.at(b, 0, 0), args.result.row_stride_of(b), args.result.col_stride_of(b));
    lu.factor(args.pivoting, args.a.at(b, 0, 0), args.a.row_stride_of(b), args.a.col_stride_of(b));
    if (args.pivoting) {
      SIMT_LOOP
      for (int j0 = 0; j0 < n; j0 += C.ordered()) {
        if (j0 + C.ordered() <= n)
          lu.template put_in_order<true>(j0);
        else
          lu.template put_in_order<false>(j0);
      }
      if (args.pivots.given())
        for (int k = t; k < smaller(m, n); k += 32 * args.warps) *args.pivots.at(b, k, 0) = args.before + shared.interchanges()[k] + 1;
    }
    if (args.info && t == 0) {
      if (args.before == 0)
        args.info[b] = lu.info;
      else if (lu.info != 0 && args.info[b] == 0)
        args.info[b] = args.before + lu.info;
    }
    if (b + block_count() < args.a.count) sync_block();
  }
}

}  // namespace myriad
