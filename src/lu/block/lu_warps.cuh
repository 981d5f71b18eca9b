#pragma once
/// LU of matrices that one, two or four warps hold.
///
/// The first columns of a matrix are in shared memory, the others in registers: groups of eight are dealt to the warps. The warp that owns
/// eight columns factors them alone, with its rows over the lanes, while the others subtract the eight before from theirs. Rows do not
/// move: marks say which are the pivots of a step. When the columns of shared memory are done, rows of pivots are dropped from the
/// registers.
///
/// Rows of U are stored as soon as they are known, the others at the end, when the order of the rows is.
///
/// An element gets its products one after the other, by the number of the column, as in lu_rows: the bits are the same.

#include "lu/block/lu_warps_config.cuh"
#include "lu/block/pivot_of_block.cuh"

namespace myriad {

template <typename T, LuWarps C>
struct LuWarpsShared {
  static_assert(C.rows % 16 == 0 && C.left % 16 == 0 && C.right() % (lu_warps_step * C.warps) == 0);
  static constexpr int step = lu_warps_step;
  static constexpr LuWarpsMemory<T> memory{C};
  static_assert(C.pieces() * step <= 32, "a lane has a column of the rows of U of a warp");
  static_assert(memory.rows_at + 2 * C.rows * static_cast<int>(sizeof(short)) <= memory.marks, "rows_at fits where diagonals were");
  static constexpr int u_stride = LuWarpsMemory<T>::u_stride;
  char* shared;

  SIMT_INLINE T* left() const { return reinterpret_cast<T*>(shared); }
  SIMT_INLINE T* right() const { return reinterpret_cast<T*>(shared + memory.right); }
  /// Memory for rows of U of columns, column by column, where a piece of the right part will be, and from there to that of the next.
  SIMT_INLINE T* u(int piece) const { return right() + piece * step * memory.right_stride; }
  static constexpr int u_distance = C.warps * step * memory.right_stride;
  SIMT_INLINE static constexpr int u_at(int column) { return column / step * u_distance + column % step * u_stride; }
  /// L of the rows of the pivots of a step, column by column.
  SIMT_INLINE T* diagonal(int turn) const { return reinterpret_cast<T*>(shared + memory.diagonals) + turn % C.turns() * step * step; }
  /// For each row its number in the step, or -1.
  SIMT_INLINE signed char* marks(int turn) const {
    return reinterpret_cast<signed char*>(shared + memory.marks) + turn % C.turns() * C.rows;
  }
  /// Passed when the panel is factored.
  SIMT_INLINE simt::Mbarrier& factored(int panel) const { return reinterpret_cast<simt::Mbarrier*>(shared + memory.factored)[panel]; }
  /// The rows that end at each position, in the left and in the right part.
  SIMT_INLINE short* rows_at(int part) const { return reinterpret_cast<short*>(shared + memory.rows_at) + part * C.rows; }
  SIMT_INLINE short* positions() const { return reinterpret_cast<short*>(shared + memory.positions); }
  SIMT_INLINE short* positions_of_right() const { return reinterpret_cast<short*>(shared + memory.positions_of_right); }
  SIMT_INLINE short* rows_of_right() const { return reinterpret_cast<short*>(shared + memory.rows_of_right); }
  SIMT_INLINE short* order() const { return reinterpret_cast<short*>(shared + memory.order); }
  SIMT_INLINE short* interchanges() const { return reinterpret_cast<short*>(shared + memory.interchanges); }
  SIMT_INLINE int& info() const { return *reinterpret_cast<int*>(shared + memory.info); }
  /// The pointers and strides of the result, which would be spilled from registers.
  SIMT_INLINE LuWarpsResult<T>& result() const { return *reinterpret_cast<LuWarpsResult<T>*>(shared + memory.result); }
};

/// Eight numbers, aligned to 16 bytes.
template <typename T>
SIMT_INLINE void load_eight(T (&x)[8], T const* from) {
  constexpr int side = 16 / static_cast<int>(sizeof(T));
  SIMT_UNROLL
  for (int i = 0; i < 8; i += side) {
    simt::Chunk const chunk = simt::load_chunk(from + i);
    memcpy(&x[i], &chunk, 16);
  }
}
template <typename T>
SIMT_INLINE void store_eight(T* to, T const (&x)[8]) {
  constexpr int side = 16 / static_cast<int>(sizeof(T));
  SIMT_UNROLL
  for (int i = 0; i < 8; i += side) {
    simt::Chunk chunk;
    memcpy(&chunk, &x[i], 16);
    simt::store_chunk(to + i, chunk);
  }
}

/// Columns of registers, a row to a lane: lane l has rows l, l + 32, ....
template <typename T, LuWarps C>
class LuPiecesByRows {
  static constexpr int step = lu_warps_step, held = (C.rows + 31) / 32, held_right = (C.right() + 31) / 32, pieces = C.pieces();
  using Shared = LuWarpsShared<T, C>;
  SIMT_INLINE static bool is_row(int r, int rows) { return 32 * (r + 1) <= rows || row(r) < rows; }
  SIMT_INLINE static int row(int r) { return simt::lane_index() + 32 * r; }

 public:
  /// Loads element (i, c) of piece v from from[i * row + (c + v * distance) * column], for i < m and c + v * distance < columns.
  SIMT_INLINE void load(int m, int columns, int distance, T const* from, simt::Index row_stride, simt::Index column) {
    SIMT_UNROLL
    for (int v = 0; v < pieces; ++v) {
      T const* of_column = from + v * distance * column + simt::lane_index() * row_stride;
      SIMT_UNROLL
      for (int c = 0; c < step; ++c, of_column += column) {
        SIMT_UNROLL
        for (int r = 0; r < held; ++r)
          x_[r][v * step + c] = simt::load_changing_if(row(r) < m && v * distance + c < columns, of_column + 32 * r * row_stride);
      }
    }
  }
  /// Rows of pivots of these pieces, to u.
  template <bool of_right>
  SIMT_INLINE void extract(signed char const* marks, T* u, int some) const {
    SIMT_UNROLL
    for (int r = 0; r < (of_right ? held_right : held); ++r) {
      int const mark = is_row(r, of_right ? C.right() : C.rows) ? marks[row(r)] : -1;
      if (mark < 0) continue;
      SIMT_UNROLL
      for (int v = 0; v < pieces; ++v)
        if (v < some) {
          SIMT_UNROLL
          for (int c = 0; c < step; ++c) u[Shared::u_at(v * step + c) + mark] = x_[r][v * step + c];
        }
    }
  }
  template <int held_now>
  SIMT_INLINE static void load_l(T (&l)[held_now][step], T const* from, int stride, int rows) {
    SIMT_UNROLL
    for (int r = 0; r < held_now; ++r) {
      SIMT_UNROLL
      for (int k = 0; k < step; ++k) l[r][k] = is_row(r, rows) ? from[k * stride + row(r)] : simt::from_real<T>(0);
    }
  }
  template <bool of_right>
  SIMT_INLINE void subtract(T const* left, int stride, int, T const* u, int some) {
    using namespace simt;
    constexpr int now = of_right ? held_right : held;
    T l[now][step];
    load_l<now>(l, left, stride, of_right ? C.right() : C.rows);
    SIMT_UNROLL
    for (int v = 0; v < pieces; ++v) {
      if (v >= some) break;
      SIMT_UNROLL
      for (int c = v * step; c < (v + 1) * step; ++c) {
        T of_u[step];
        load_eight(of_u, u + Shared::u_at(c));
        SIMT_UNROLL
        for (int r = 0; r < now; ++r) {
          SIMT_UNROLL
          for (int k = 0; k < step; ++k) x_[r][c] = subtract_product(x_[r][c], l[r][k], of_u[k]);
        }
      }
    }
  }
  /// The same of columns in shared memory: piece v begins at to + v * distance.
  SIMT_INLINE static void subtract_from(T* to, int distance, T const* left, int stride, int, T const* u, int some) {
    using namespace simt;
    T l[held][step];
    load_l<held>(l, left, stride, C.rows);
    SIMT_LOOP
    for (int v = 0; v < some; ++v) {
      SIMT_UNROLL_BY(4)
      for (int c = 0; c < step; ++c) {
        T of_u[step];
        load_eight(of_u, u + Shared::u_at(v * step + c));
        T* const column = to + v * distance + c * stride;
        SIMT_UNROLL
        for (int r = 0; r < held; ++r) {
          if (!is_row(r, C.rows)) continue;
          T x = column[row(r)];
          SIMT_UNROLL
          for (int k = 0; k < step; ++k) x = subtract_product(x, l[r][k], of_u[k]);
          column[row(r)] = x;
        }
      }
    }
  }
  /// Drops the rows of pivots: row i becomes row positions[i] - C.left, by way of `to`, the memory of these columns.
  SIMT_INLINE void compact(short const* positions, T* to, int distance) {
    constexpr int stride = Shared::memory.right_stride;
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) {
      int const q = (is_row(r, C.rows) ? positions[row(r)] : -1) - C.left;
      if (q < 0) continue;
      SIMT_UNROLL
      for (int v = 0; v < pieces; ++v) {
        SIMT_UNROLL
        for (int c = 0; c < step; ++c) to[v * distance + c * stride + q] = x_[r][v * step + c];
      }
    }
    simt::sync_warp();
    SIMT_UNROLL
    for (int r = 0; r < held_right; ++r) {
      if (!is_row(r, C.right())) continue;
      SIMT_UNROLL
      for (int v = 0; v < pieces; ++v) {
        SIMT_UNROLL
        for (int c = 0; c < step; ++c) x_[r][v * step + c] = to[v * distance + c * stride + row(r)];
      }
    }
    simt::sync_warp();
  }
  /// Takes the first piece out, to the memory of these columns.
  SIMT_INLINE void take_first(T* to) {
    SIMT_UNROLL
    for (int r = 0; r < held_right; ++r) {
      SIMT_UNROLL
      for (int c = 0; c < step; ++c)
        if (is_row(r, C.right())) to[c * Shared::memory.right_stride + row(r)] = x_[r][c];
      SIMT_UNROLL
      for (int c = step; c < pieces * step; ++c) x_[r][c - step] = x_[r][c];
    }
    simt::sync_warp();
  }

 private:
  T x_[held][pieces * step];
};

/// The same for double, as tensor cores have it (see multiply_add_16x8): rows 16 u + 8 h + g belong to lanes 4 g + t, with columns first(t)
/// and first(t) ^ 2, so that neither columns nor rows of U meet in a bank.
template <LuWarps C>
class LuPiecesByTensorCores {
  static constexpr int step = lu_warps_step, tiles = C.rows / 16, tiles_right = C.right() / 16, pieces = C.pieces();
  using T = double;
  using Shared = LuWarpsShared<T, C>;
  SIMT_INLINE static int group() { return simt::lane_index() / 4; }
  SIMT_INLINE static int part() { return simt::lane_index() % 4; }
  SIMT_INLINE static int row(int u, int h) { return 16 * u + 8 * h + group(); }
  /// Column n of a product: 0, 2, 1, 3, 6, 4, 7, 5.
  SIMT_INLINE static int column(int n) { return n % 2 == 0 ? n / 2 + n / 4 * 4 : n / 2 + 2; }

 public:
  SIMT_INLINE void load(int m, int columns, int distance, T const* from, simt::Index row_stride, simt::Index column_stride) {
    SIMT_UNROLL
    for (int v = 0; v < pieces; ++v) {
      SIMT_UNROLL
      for (int half = 0; half < 2; ++half) {
        int const c = v * distance + column(2 * part() + half);
        bool const is_in = c < columns;
        T const* of_column = from + c * column_stride + group() * row_stride;
        SIMT_UNROLL
        for (int u = 0; u < tiles; ++u) {
          SIMT_UNROLL
          for (int h = 0; h < 2; ++h, of_column += 8 * row_stride)
            x_[u][v][2 * h + half] = simt::load_changing_if(is_in && row(u, h) < m, of_column);
        }
      }
    }
  }
  template <bool of_right>
  SIMT_INLINE void extract(signed char const* marks, T* u_of_warp, int some) const {
    T* const to = u_of_warp + column(2 * part()) * Shared::u_stride;
    T* const second = u_of_warp + column(2 * part() + 1) * Shared::u_stride;
    constexpr int now = of_right ? tiles_right : tiles;
    int marks_of_rows[now][2];
    SIMT_UNROLL
    for (int u = 0; u < now; ++u) {
      SIMT_UNROLL
      for (int h = 0; h < 2; ++h) marks_of_rows[u][h] = marks[row(u, h)];
    }
    SIMT_UNROLL
    for (int u = 0; u < now; ++u) {
      SIMT_UNROLL
      for (int h = 0; h < 2; ++h) {
        int const mark = marks_of_rows[u][h];
        if (mark < 0) continue;
        SIMT_UNROLL
        for (int v = 0; v < pieces; ++v)
          if (v < some) {
            to[v * Shared::u_distance + mark] = x_[u][v][2 * h];
            second[v * Shared::u_distance + mark] = x_[u][v][2 * h + 1];
          }
      }
    }
  }
  SIMT_INLINE static void load_l(T (&l)[2][2], T const* from, int stride, int u) {
    SIMT_UNROLL
    for (int k = 0; k < 2; ++k) {
      SIMT_UNROLL
      for (int h = 0; h < 2; ++h) l[k][h] = from[(part() + 4 * k) * stride + row(u, h)];
    }
  }
  SIMT_INLINE static void load_u(T (&b)[2], T const* u, int v) {
    SIMT_UNROLL
    for (int k = 0; k < 2; ++k) b[k] = -u[v * Shared::u_distance + column(group()) * Shared::u_stride + part() + 4 * k];
  }
  template <bool of_right>
  SIMT_INLINE void subtract(T const* left, int stride, int m, T const* u_of_warp, int some) {
    T b[pieces][2];
    SIMT_UNROLL
    for (int v = 0; v < pieces; ++v)
      if (v < some) load_u(b[v], u_of_warp, v);
    SIMT_UNROLL
    for (int u = 0; u < (of_right ? tiles_right : tiles); ++u) {
      if (16 * u >= m) break;
      T l[2][2];
      load_l(l, left, stride, u);
      SIMT_UNROLL
      for (int v = 0; v < pieces; ++v)
        if (v < some) simt::multiply_add_16x8(l, b[v], x_[u][v]);
    }
  }
  SIMT_INLINE static void subtract_from(T* to, int distance, T const* left, int stride, int m, T const* u_of_warp, int some) {
    T b[pieces][2];
    SIMT_UNROLL
    for (int v = 0; v < pieces; ++v)
      if (v < some) load_u(b[v], u_of_warp, v);
    to += column(2 * part()) * stride;
    int const to_second = (column(2 * part() + 1) - column(2 * part())) * stride;
    // Tiles that are loaded together, for their latency.
    constexpr int together = tiles * pieces > 10 ? 1 : 2;
    SIMT_LOOP
    for (int u0 = 0; 16 * u0 < m; u0 += together) {
      T l[together][2][2], x[together][pieces][4];
      SIMT_UNROLL
      for (int u = 0; u < together; ++u) {
        if (16 * (u0 + u) >= m) break;
        load_l(l[u], left, stride, u0 + u);
        SIMT_UNROLL
        for (int v = 0; v < pieces; ++v) {
          if (v >= some) break;
          SIMT_UNROLL
          for (int h = 0; h < 2; ++h) {
            x[u][v][2 * h] = to[v * distance + row(u0 + u, h)];
            x[u][v][2 * h + 1] = to[v * distance + to_second + row(u0 + u, h)];
          }
        }
      }
      SIMT_UNROLL
      for (int u = 0; u < together; ++u) {
        if (16 * (u0 + u) >= m) break;
        SIMT_UNROLL
        for (int v = 0; v < pieces; ++v) {
          if (v >= some) break;
          simt::multiply_add_16x8(l[u], b[v], x[u][v]);
          SIMT_UNROLL
          for (int h = 0; h < 2; ++h) {
            to[v * distance + row(u0 + u, h)] = x[u][v][2 * h];
            to[v * distance + to_second + row(u0 + u, h)] = x[u][v][2 * h + 1];
          }
        }
      }
    }
  }
  SIMT_INLINE void compact(short const* positions, T* to, int distance) {
    constexpr int stride = Shared::memory.right_stride;
    SIMT_UNROLL
    for (int u = 0; u < tiles; ++u) {
      SIMT_UNROLL
      for (int h = 0; h < 2; ++h) {
        int const q = positions[row(u, h)] - C.left;
        if (q < 0) continue;
        SIMT_UNROLL
        for (int v = 0; v < pieces; ++v) {
          SIMT_UNROLL
          for (int half = 0; half < 2; ++half) to[v * distance + column(2 * part() + half) * stride + q] = x_[u][v][2 * h + half];
        }
      }
    }
    simt::sync_warp();
    SIMT_UNROLL
    for (int u = 0; u < tiles_right; ++u) {
      SIMT_UNROLL
      for (int v = 0; v < pieces; ++v) {
        SIMT_UNROLL
        for (int e = 0; e < 4; ++e) x_[u][v][e] = to[v * distance + column(2 * part() + e % 2) * stride + row(u, e / 2)];
      }
    }
    simt::sync_warp();
  }
  SIMT_INLINE void take_first(T* to) {
    SIMT_UNROLL
    for (int u = 0; u < tiles_right; ++u) {
      SIMT_UNROLL
      for (int e = 0; e < 4; ++e) to[column(2 * part() + e % 2) * Shared::memory.right_stride + row(u, e / 2)] = x_[u][0][e];
      SIMT_UNROLL
      for (int v = 1; v < pieces; ++v) {
        SIMT_UNROLL
        for (int e = 0; e < 4; ++e) x_[u][v - 1][e] = x_[u][v][e];
      }
    }
    simt::sync_warp();
  }

 private:
  T x_[tiles][pieces][4];
};

template <typename T, LuWarps C>
struct LuPiecesOf {
  using type = LuPiecesByRows<T, C>;
};
template <LuWarps C>
struct LuPiecesOf<double, C> {
  using type = LuPiecesByTensorCores<C>;
};

/// The matrix of a block.
template <typename T, LuWarps C>
class LuByWarps {
  static constexpr int step = lu_warps_step;
  using Shared = LuWarpsShared<T, C>;
  using Pieces = typename LuPiecesOf<T, C>::type;
  static constexpr int left_stride = Shared::memory.left_stride, right_stride = Shared::memory.right_stride;

 public:
  SIMT_INLINE LuByWarps(Shared const& shared, int m, int n, int phase)
      : shared_(shared),
        m_(m),
        n_(n),
        steps_(simt::smaller(m, n)),
        warp_(C.warps == 1 ? 0 : simt::shuffle(simt::thread_index() / 32, 0)),
        phase_(phase) {}

  SIMT_INLINE void factor(T const* from, simt::Index row, simt::Index column) {
    using namespace simt;
    int const lane = lane_index();
    for (int c = warp_; c < smaller(C.left, (n_ + step - 1) / step * step); c += C.warps) {
      SIMT_UNROLL
      for (int i0 = 0; i0 < C.rows; i0 += 32) {
        int const i = i0 + lane;
        if (i0 + 32 > C.rows && i >= C.rows) continue;
        T* const to = shared_.left() + c * left_stride + i;
        if (i < m_ && c < n_)
          copy_async(to, from + i * row + c * column);
        else
          *to = from_real<T>(0);
      }
    }
    Pieces x;
    int const first = C.left + warp_ * step;
    if (C.left < n_) x.load(m_, n_ - first, C.warps * step, from + first * column, row, column);
    for (int i = thread_index(); i < C.rows; i += 32 * C.warps) shared_.positions()[i] = static_cast<short>(i < m_ ? i : -1);
    if (thread_index() == 0) shared_.info() = 0;
    wait_copies();
    sync();

    int const end = smaller(C.left, steps_);
    T* const u = shared_.u(warp_);
    SIMT_LOOP
    for (int k0 = -step; k0 < end; k0 += step) {
      wait_for_panel(k0);
      int const next = k0 / step + 1, turn = next + 1;  // of the panel that is factored, and the turn of the one that is subtracted
      bool const factors = next * step < end && (C.warps == 1 || next % C.warps == warp_);
      int const passes = factors && C.warps > 1 && k0 >= 0 ? 2 : 1;
      SIMT_LOOP
      for (int pass = 0; pass < passes; ++pass) {
        bool const only_next = passes == 2 && pass == 0;
        if (k0 >= 0) {
          // Own columns in shared memory: with two passes the next ones, whose rows of U are stored later, then the others.
          if (pass == 1) {
            store_rows(k0, 1, next * step, u);
            sync_warp();
          }
          int const from_panel = pass == 1 ? next + C.warps : C.warps == 1 ? next : next + (warp_ - next % C.warps + C.warps) % C.warps;
          int const end_panel = only_next ? next + 1 : (smaller(C.left, n_) + step - 1) / step;
          T const* const l = shared_.left() + k0 * left_stride;
          SIMT_LOOP
          for (int panel = from_panel; panel < end_panel; panel += C.pieces() * C.warps) {
            int const some = smaller(C.pieces(), (end_panel - panel + C.warps - 1) / C.warps);
            gather(panel, some, k0, u);
            solve(turn, some, u);
            if (!only_next) store_rows(k0, some, panel * step, u);
            if (k0 + step < m_)
              Pieces::subtract_from(shared_.left() + panel * step * left_stride, C.warps * step * left_stride, l, left_stride, m_, u, some);
            sync_warp();
          }
          int const some = only_next ? 0 : pieces_from(0);
          if (some > 0) {
            x.template extract<false>(shared_.marks(turn), u, some);
            sync_warp();
            solve(turn, some, u);
            store_rows(k0, some, first, u);
            if (k0 + step < m_) x.template subtract<false>(l, left_stride, m_, u, some);
            sync_warp();
          }
        }
        if (factors && pass == 0)
          factor_panel<(C.rows + 31) / 32, C.rows>(shared_.left() + next * step * left_stride, left_stride, shared_.positions(),
                                                   next * step, turn + 1);
      }
    }
    sync();
    if (steps_ > C.left) factor_right(x);
    put_in_order();
    // Panels that there were not.
    if (C.warps > 1 && thread_index() == 0)
      for (int panel = ceil_div(steps_, step); panel < C.rows / step; ++panel) arrive_at_mbarrier(&shared_.factored(panel));
  }

 private:
  SIMT_INLINE void wait_for_panel(int k0) const {
    if (C.warps > 1 && k0 >= 0) simt::wait_for_phase(&shared_.factored(k0 / step), phase_);
  }
  SIMT_INLINE static void sync() {
    if (C.warps == 1)
      simt::sync_warp();
    else
      simt::sync_block();
  }
  /// Pieces of the warp that are not factored before piece `first` of all.
  SIMT_INLINE int pieces_from(int first) const {
    int const all = simt::ceil_div(simt::larger(n_ - C.left, 0), step);
    int const mine = C.warps == 1 ? first : first + (warp_ - first % C.warps + C.warps) % C.warps;
    return all <= mine ? 0 : (all - mine + C.warps - 1) / C.warps;
  }

  SIMT_INLINE void factor_right(Pieces& x) {
    using namespace simt;
    int const rows = m_ - C.left;
    x.compact(shared_.positions(), shared_.right() + warp_ * step * right_stride, C.warps * step * right_stride);
    for (int i = thread_index(); i < C.rows; i += 32 * C.warps) {
      int const q = shared_.positions()[i] - C.left;
      if (q >= 0) shared_.rows_of_right()[q] = static_cast<short>(i);
      if (i < C.right()) shared_.positions_of_right()[i] = static_cast<short>(i < rows ? C.left + i : -1);
    }
    sync();
    SIMT_LOOP
    for (int k0 = C.left - step; k0 < steps_; k0 += step) {
      if (k0 >= C.left) wait_for_panel(k0);
      int const panel = (k0 - C.left) / step, next = panel + 1, turn = k0 / step + 2;
      bool const factors = k0 + step < steps_ && (C.warps == 1 || next % C.warps == warp_);
      int const passes = factors && C.warps > 1 && k0 >= C.left ? 2 : 1;
      SIMT_LOOP
      for (int pass = 0; pass < passes; ++pass) {
        int const first = next + (pass == 1 ? C.warps : 0);
        bool const only_next = passes == 2 && pass == 0;
        int const some = k0 < C.left ? 0 : only_next ? 1 : pieces_from(first);
        // Rows of U of the next columns are stored later, if there is memory for them beside these columns.
        bool const later = passes == 2 && next + C.warps < C.right() / step;
        if (pass == 1 && later) {
          store_rows(k0, 1, C.left + next * step, shared_.u(next + C.warps));
          sync_warp();
        }
        if (some > 0) {
          int const mine = C.warps == 1 ? first : first + (warp_ - first % C.warps + C.warps) % C.warps;
          T const* const l = shared_.right() + (k0 - C.left) * right_stride;
          T* const u = shared_.u(only_next && later ? mine + C.warps : mine);
          x.template extract<true>(shared_.marks(turn), u, some);
          sync_warp();
          solve(turn, some, u);
          if (!only_next || !later) store_rows(k0, some, C.left + mine * step, u);
          if (k0 + step < m_) x.template subtract<true>(l, right_stride, rows, u, some);
          sync_warp();
        }
        if (factors && pass == 0) {
          T* const to = shared_.right() + next * step * right_stride;
          x.take_first(to);
          factor_panel<(C.right() + 31) / 32, C.right()>(to, right_stride, shared_.positions_of_right(), k0 + step, turn + 1);
        }
      }
    }
    sync();
  }

  /// Rows of pivots of pieces in shared memory, to u.
  SIMT_INLINE void gather(int panel, int some, int k0, T* u) const {
    using namespace simt;
    int const c = lane_index();
    if (c < some * step) {
      T const* const column = shared_.left() + ((panel + c / step * C.warps) * step + c % step) * left_stride;
      int const count = smaller(step, steps_ - k0);
      T y[step];
      SIMT_UNROLL
      for (int i = 0; i < step; ++i) y[i] = column[shared_.order()[k0 + (i < count ? i : 0)]];
      store_eight(u + Shared::u_at(c), y);
    }
    sync_warp();
  }

  /// Solves for the rows of U in u.
  SIMT_INLINE void solve(int turn, int some, T* u) const {
    using namespace simt;
    int const lane = lane_index();
    if (lane < some * step) {
      T y[step];
      load_eight(y, u + Shared::u_at(lane));
      T const* const l = shared_.diagonal(turn);
      SIMT_UNROLL
      for (int k = 0; k + 1 < step; ++k) {
        T of_k[step];
        constexpr int side = 16 / static_cast<int>(sizeof(T));
        SIMT_UNROLL
        for (int i = (k + 1) / side * side; i < step; i += side) {
          Chunk const chunk = load_chunk(l + k * step + i);
          memcpy(&of_k[i], &chunk, 16);
        }
        SIMT_UNROLL
        for (int i = k + 1; i < step; ++i) y[i] = subtract_product(y[i], of_k[i], y[k]);
      }
      store_eight(u + Shared::u_at(lane), y);
    }
    sync_warp();
  }
  /// Stores these rows of U. The first piece begins at column `first`.
  SIMT_INLINE void store_rows(int k0, int some, int first, T const* u) const {
    using namespace simt;
    int const lane = lane_index(), count = smaller(step, steps_ - k0);
    auto const [factors, row_stride, column_stride] = shared_.result();
    bool const by_rows = column_stride == 1;
    int const i = by_rows ? lane / 8 : lane % 8, c0 = by_rows ? lane % 8 : lane / 8;
    SIMT_LOOP
    for (int v = 0; v < some; ++v) {
      int const j0 = first + v * C.warps * step;
      T* const to = factors + (k0 + i) * row_stride + (j0 + c0) * column_stride;
      SIMT_UNROLL
      for (int half = 0; half < 2; ++half) {
        int const at_i = by_rows ? i + 4 * half : i, at_c = by_rows ? c0 : c0 + 4 * half;
        if (at_i < count && j0 + at_c < n_)
          store_global(to + half * 4 * (by_rows ? row_stride : column_stride), u[v * Shared::u_distance + at_c * Shared::u_stride + at_i]);
      }
    }
  }

  /// The columns of a panel that are not factored yet, with its rows over the lanes: lane l has rows l, l + 32, ....
  template <int held>
  struct Panel {
    T a[held][step];
    int at[held];  ///< positions
  };

  /// Factors column j, the k-th of the matrix, where one row is the pivot by its leading bits and its reciprocal is usual. False: nothing
  /// has changed. `left`: columns of the panel, j included.
  template <int held>
  SIMT_INLINE bool factor_usual_column(Panel<held>& panel, T* column, int stride, int k, int left, signed char* marks) const {
    using namespace simt;
    constexpr unsigned sign = 1u << 31;
    unsigned best = 0, second = 0;
    int slot = 0;
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) {
      unsigned const key = panel.at[r] >= k ? leading_bits_of_magnitude(panel.a[r][0]) | sign : 0;
      if (r > 0) second = larger(second, smaller(best, key));
      if (r > 0) slot = key > best ? r : slot;
      best = larger(best, key);
    }
    unsigned const most = largest_of_warp(best);
    auto const of_slot = [&](int c) {
      T x = panel.a[0][c];
      SIMT_UNROLL
      for (int r = 1; r < held; ++r) x = slot == r ? panel.a[r][c] : x;
      return x;
    };
    T const candidate = of_slot(0);
    int x_at = panel.at[0];
    SIMT_UNROLL
    for (int r = 1; r < held; ++r) x_at = slot == r ? panel.at[r] : x_at;
    T const inverse_of_lane = reciprocal(candidate);
    unsigned const lanes = ballot(best == most);
    int const source = lowest_bit(lanes);
    // The position of the pivot, and whether the lane has another row like it.
    constexpr int twice = 1 << 20;
    int const p = shuffle(held > 1 && second == best ? x_at | twice : x_at, source);
    T const inverse = shuffle(inverse_of_lane, source);
    if ((lanes & (lanes - 1)) != 0 || p >= twice || !has_usual_reciprocal<simt::Real<T>>(most & ~sign)) return false;
    int const row = lane_index() + 32 * slot;
    if (lane_index() == source) {
      column[row] = candidate;
      shared_.order()[k] = static_cast<short>(row);
      shared_.interchanges()[k] = static_cast<short>(p);
      marks[row] = static_cast<signed char>(k % step);
    }
    T l[held];
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) {
      panel.at[r] = panel.at[r] == p ? k : panel.at[r] == k ? p : panel.at[r];
      l[r] = panel.a[r][0] * inverse;
      if (panel.at[r] > k) column[lane_index() + 32 * r] = l[r];
    }
    SIMT_UNROLL
    for (int c = 1; c < left; ++c) {
      T const u = shuffle(of_slot(c), source);
      if (lane_index() == source) column[c * stride + row] = u;
      SIMT_UNROLL
      for (int r = 0; r < held; ++r) panel.a[r][c - 1] = subtract_product(panel.a[r][c], l[r], u);
    }
    return true;
  }

  /// The same for any column, by all bits.
  template <int held>
  SIMT_INLINE void factor_column(Panel<held>& panel, T* column, int stride, int k, int left, signed char* marks) const {
    using namespace simt;
    LuCandidate best{0, -1, 0};
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) {
      LuCandidate const next{ordered_bits(magnitude(panel.a[r][0])), panel.at[r] >= k ? panel.at[r] : -1, r};
      if (is_better(next, best)) best = next;
    }
    int const source = lane_of_best<simt::Real<T>>(best), slot = best.unused, row = lane_index() + 32 * slot;
    T u[step];
    SIMT_UNROLL
    for (int c = 0; c < step; ++c) {
      u[c] = panel.a[0][c];
      SIMT_UNROLL
      for (int r = 1; r < held; ++r) u[c] = slot == r ? panel.a[r][c] : u[c];
      u[c] = shuffle(u[c], source);
    }
    int const p = shuffle(best.at, source);
    PivotDivisor<T> const divisor(u[0], true);
    if (lane_index() == 0 && u[0] == from_real<T>(0) && shared_.info() == 0) shared_.info() = k + 1;
    if (lane_index() == source) {
      SIMT_UNROLL
      for (int c = 0; c < step; ++c)
        if (c < left) column[c * stride + row] = u[c];
      shared_.order()[k] = static_cast<short>(row);
      shared_.interchanges()[k] = static_cast<short>(p);
      marks[row] = static_cast<signed char>(k % step);
    }
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) {
      panel.at[r] = panel.at[r] == p ? k : panel.at[r] == k ? p : panel.at[r];
      T const l = divisor.divide(panel.a[r][0]);
      if (panel.at[r] > k) column[lane_index() + 32 * r] = l;
      SIMT_UNROLL
      for (int c = 1; c < step; ++c) panel.a[r][c - 1] = subtract_product(panel.a[r][c], l, u[c]);
    }
  }

  /// Factors eight columns by one warp. `rows`: of their memory.
  template <int held, int rows>
  SIMT_INLINE void factor_panel(T* columns, int stride, short* positions, int k0, int turn) const {
    using namespace simt;
    int const lane = lane_index(), count = smaller(step, steps_ - k0);
    signed char* const marks = shared_.marks(turn);
    Panel<held> panel;
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) {
      int const i = lane + 32 * r;
      bool const is_in = 32 * (r + 1) <= rows || i < rows;
      panel.at[r] = is_in ? positions[i] : -1;
      if (is_in) marks[i] = -1;
      SIMT_UNROLL
      for (int c = 0; c < step; ++c) panel.a[r][c] = is_in ? columns[c * stride + i] : from_real<T>(0);
    }
    sync_warp();
    int done = 0;
    if (count == step) {
      SIMT_UNROLL
      for (int j = 0; j < step; ++j) {
        if (!factor_usual_column(panel, columns + j * stride, stride, k0 + j, step - j, marks)) break;
        done = j + 1;
      }
    }
    SIMT_LOOP
    for (int j = done; j < count; ++j) factor_column(panel, columns + j * stride, stride, k0 + j, step - j, marks);
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) {
      int const i = lane + 32 * r;
      if (32 * (r + 1) <= rows || i < rows) positions[i] = static_cast<short>(panel.at[r]);
    }
    sync_warp();
    SIMT_UNROLL
    for (int e = lane; e < step * step; e += 32) {
      int const i = e % step, k = e / step;
      if (i > k && i < count) shared_.diagonal(turn)[e] = columns[k * stride + shared_.order()[k0 + i]];
    }
    sync_warp();
    if (C.warps > 1 && lane == 0) arrive_at_mbarrier(&shared_.factored(k0 / step));
  }

  /// Stores the columns of the steps from their first row on.
  SIMT_INLINE void put_in_order() const {
    using namespace simt;
    int const lane = lane_index();
    constexpr int held = (C.rows + 31) / 32;
    bool const has_right = steps_ > C.left;
    // The rows at positions of this lane, of the left and of the right part.
    short* const rows = shared_.rows_at(0);
    short* const rows_right = shared_.rows_at(1);
    for (int i = thread_index(); i < C.rows; i += 32 * C.warps) {
      if (!has_right) {
        int const p = shared_.positions()[i];
        if (p >= 0) rows[p] = static_cast<short>(i);
      } else {
        if (i < C.left) rows[i] = shared_.order()[i];
        int const p = i < C.right() ? shared_.positions_of_right()[i] : -1;
        if (p >= 0) {
          rows[p] = shared_.rows_of_right()[i];
          rows_right[p] = static_cast<short>(i);
        }
      }
    }
    sync();
    int from[held];
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) {
      int const i = lane + 32 * r;
      from[r] = i < m_ ? rows[i] : 0;
    }
    store<held>(shared_.left(), left_stride, 0, smaller(C.left, simt::ceil_div(steps_, step) * step), from);
    if (!has_right) return;
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) {
      int const i = lane + 32 * r;
      from[r] = i >= C.left && i < m_ ? rows_right[i] : 0;
    }
    store<held>(shared_.right(), right_stride, C.left, simt::ceil_div(steps_, step) * step, from);
  }
  template <int held>
  SIMT_INLINE void store(T const* columns, int stride, int first, int end, int const (&from)[held]) const {
    using namespace simt;
    int const lane = lane_index(), last = smaller(end, n_);
    auto const [factors, row_stride, column_stride] = shared_.result();
    SIMT_LOOP
    for (int c0 = first + warp_ * step; c0 < last; c0 += C.warps * step) {
      bool stores[held];
      SIMT_UNROLL
      for (int r = 0; r < held; ++r) stores[r] = lane + 32 * r >= c0 && lane + 32 * r < m_;
      T const* column = columns + (c0 - first) * stride;
      T* to = factors + lane * row_stride + c0 * column_stride;
      SIMT_UNROLL
      for (int c = 0; c < step; ++c, column += stride, to += column_stride) {
        if (c0 + c >= last) break;
        SIMT_UNROLL
        for (int r = 0; r < held; ++r)
          if (stores[r]) store_global(to + 32 * r * row_stride, column[from[r]]);
      }
    }
  }

  Shared const& shared_;
  int m_, n_, steps_, warp_;
  int phase_;  ///< of the mbarriers: matrices before this one
};

/// Launch: any number of blocks of 32 * C.warps threads, with the bytes of LuWarpsMemory.
template <typename T, LuWarps C>
SIMT_KERNEL void SIMT_BOUNDS(32 * C.warps, C.blocks_per_sm) lu_warps(LuWarpsArguments<T> const args) {
  using namespace simt;
  int const t = thread_index();
  LuWarpsShared<T, C> const shared{shared_memory()};
  if (C.warps > 1) {
    for (int panel = t; panel < C.rows / lu_warps_step; panel += 32 * C.warps) begin_mbarrier(&shared.factored(panel), 1);
    sync_block();
  }
  int phase = 0;
  for (Index b = block_index(); b < args.a.count; b += block_count()) {
    int const m = args.a.rows_of(b), n = args.a.cols_of(b);
    if (m == 0 || n == 0) {  // of a ragged batch
      if (args.info && t == 0) args.info[b] = 0;
      continue;
    }
    if (t == 0) shared.result() = {args.result.at(b, 0, 0), args.result.row_stride_of(b), args.result.col_stride_of(b)};
    LuByWarps<T, C> lu(shared, m, n, phase);
    ++phase;
    lu.factor(args.a.at(b, 0, 0), args.a.row_stride_of(b), args.a.col_stride_of(b));
    if (args.pivots.given())
      for (int k = t; k < smaller(m, n); k += 32 * C.warps) *args.pivots.at(b, k, 0) = shared.interchanges()[k] + 1;
    if (args.info && t == 0) args.info[b] = shared.info();
    if (b + block_count() < args.a.count) {
      if (C.warps == 1)
        sync_warp();
      else
        sync_block();
    }
  }
}

}  // namespace myriad
