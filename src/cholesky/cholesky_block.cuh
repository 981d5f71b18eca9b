#pragma once
/// Cholesky factors of matrices that a block has in shared memory, each read once and written once.
///
/// Panel by panel: every warp that has rows below factors the diagonal block of the panel for itself, in the registers of each thread,
/// which costs less than a barrier and a way through shared memory; a thread solves for whole rows. Then warps update 16 columns of 16 or
/// 32 rows at a time, by two panels at once but for the columns of the second of these. Every element gets its products in the order of
/// their columns, whatever the number of threads.
///
/// Right-hand sides B are B^H as rows below the matrix. These become (L^-1 B)^H as panels are solved for.

#include "cholesky/cholesky_block_config.cuh"
#include "cholesky/cholesky_rows.cuh"

namespace myriad {
namespace simt {

/// The diagonal block of a panel, in registers.
template <typename T>
struct CholeskyDiagonal {
  static constexpr int width = cholesky_panel;
  T below[width][width];
  Real<T> diagonal[width], inverse[width];
  int failed = 0;    ///< the number of the first pivot that is not positive, from one
  int replaced = 0;  ///< pivots below the floor

  /// row(i): the address of row i, 16 bytes at a time.
  template <typename Row>
  SIMT_INLINE void take(Row row) {
    constexpr int per_chunk = 16 / sizeof(T);
    SIMT_UNROLL
    for (int i = 0; i < width; ++i) {
      SIMT_UNROLL
      for (int j = 0; j <= i; j += per_chunk) {
        Chunked<T> const chunk(load_chunk(row(i) + j));
        SIMT_UNROLL
        for (int e = 0; e < per_chunk; ++e) {
          if (j + e < i) below[i][j + e] = chunk.x[e];
          if (j + e == i) diagonal[i] = real_part(chunk.x[e]);
        }
      }
    }
  }
  /// With a floor, each of the first `rows` pivots that is below it becomes the floor.
  template <bool has_floor>
  SIMT_INLINE void factor(Real<T> floor, int rows) {
    SIMT_UNROLL
    for (int k = 0; k < width; ++k) {
      if constexpr (has_floor) {
        if (k < rows && diagonal[k] < floor) {
          diagonal[k] = floor;
          ++replaced;
        }
      }
      if (!(diagonal[k] > 0) && failed == 0) failed = k + 1;
      auto by = CholeskyPivot<Real<T>>::usual(diagonal[k]);
      if (!has_usual_reciprocal(magnitude(diagonal[k]))) by = CholeskyPivot<Real<T>>(diagonal[k]);
      diagonal[k] = by.root;
      inverse[k] = by.inverse_of_root;
      SIMT_UNROLL
      for (int i = k + 1; i < width; ++i) {
        below[i][k] = inverse[k] * below[i][k];
        SIMT_UNROLL
        for (int j = k + 1; j < i; ++j) below[i][j] = multiply_add(-below[i][k], conjugate(below[j][k]), below[i][j]);
        diagonal[i] = real_part(multiply_add(-below[i][k], conjugate(below[i][k]), from_real<T>(diagonal[i])));
      }
    }
  }
  /// x becomes x L^-H.
  SIMT_INLINE void solve(T (&x)[width]) const {
    SIMT_UNROLL
    for (int k = 0; k < width; ++k) {
      x[k] = inverse[k] * x[k];
      SIMT_UNROLL
      for (int j = k + 1; j < width; ++j) x[j] = multiply_add(-x[k], conjugate(below[j][k]), x[j]);
    }
  }
};

/// The update of columns [first, end) by panels before these: C -= L L^H.
template <typename T>
struct CholeskyUpdate {
  static constexpr int per_chunk = 16 / sizeof(T), columns = 16;
  CholeskyBlockMemory const& memory;
  T* const tile;
  int const panel, panels;  ///< the first column of the first panel, and how many there are
  int const end, row_end;

  /// 8 `octets` rows and 16 columns from there on, as far as they exist.
  template <int octets>
  SIMT_INLINE void run(int row0, int column0) const {
    if constexpr (is_same<T, double>)
      by_tensor_cores<octets>(row0, column0);
    else
      by_lanes<octets>(row0, column0);
  }

 private:
  SIMT_INLINE bool exists(int i, int j) const { return i < row_end && j < end && i >= j / cholesky_panel * cholesky_panel; }
  SIMT_INLINE T* row(int i) const { return tile + memory.place(smaller(i, memory.rows - 1), panel); }
  /// The distance from a row of one panel to the same row of the next.
  SIMT_INLINE int next_panel() const { return memory.place(0, panel + cholesky_panel) - memory.place(0, panel); }

  /// A lane has `octets` rows and 4 columns, which it reads 16 bytes at a time.
  template <int octets>
  SIMT_INLINE void by_lanes(int row0, int column0) const {
    int const down = row0 + lane_index() % 8, right = column0 + lane_index() / 8 * per_chunk;
    auto const column = [&](int v) { return right + v / per_chunk * (4 * per_chunk) + v % per_chunk; };
    T sum[octets][4];
    SIMT_UNROLL
    for (int u = 0; u < octets; ++u) {
      SIMT_UNROLL
      for (int v = 0; v < 4; v += per_chunk) {
        Chunked<T> chunk;
        if (exists(down + 8 * u, column(v))) chunk.chunk = load_chunk(tile + memory.place(down + 8 * u, column(v)));
        SIMT_UNROLL
        for (int e = 0; e < per_chunk; ++e) sum[u][v + e] = chunk.x[e];
      }
    }
    T const *left[octets], *above[4];
    SIMT_UNROLL
    for (int u = 0; u < octets; ++u) left[u] = row(down + 8 * u);
    SIMT_UNROLL
    for (int v = 0; v < 4; ++v) above[v] = row(column(v));
    SIMT_LOOP
    for (int p = 0; p < panels; ++p) {
      int const begin = p * next_panel();
      SIMT_UNROLL_BY(2)
      for (int k = begin; k < begin + cholesky_panel; k += per_chunk) {
        Chunked<T> x[octets], y[4];
        SIMT_UNROLL
        for (int u = 0; u < octets; ++u) x[u].chunk = load_chunk(left[u] + k);
        SIMT_UNROLL
        for (int v = 0; v < 4; ++v) y[v].chunk = load_chunk(above[v] + k);
        SIMT_UNROLL
        for (int e = 0; e < per_chunk; ++e) {
          SIMT_UNROLL
          for (int u = 0; u < octets; ++u) {
            SIMT_UNROLL
            for (int v = 0; v < 4; ++v) sum[u][v] = multiply_add(-x[u].x[e], conjugate(y[v].x[e]), sum[u][v]);
          }
        }
      }
    }
    SIMT_UNROLL
    for (int u = 0; u < octets; ++u) {
      SIMT_UNROLL
      for (int v = 0; v < 4; v += per_chunk) {
        if (!exists(down + 8 * u, column(v))) continue;
        Chunked<T> chunk;
        SIMT_UNROLL
        for (int e = 0; e < per_chunk; ++e) chunk.x[e] = sum[u][v + e];
        store_chunk(tile + memory.place(down + 8 * u, column(v)), chunk.chunk);
      }
    }
  }

  /// In pieces of 16 by 8: see multiply_add_16x8. Terms are added in the same order.
  template <int octets>
  SIMT_INLINE void by_tensor_cores(int row0, int column0) const {
    constexpr int down = octets / 2, right = columns / 8;
    int const group = lane_index() / 4, part = lane_index() % 4;
    double sum[down][right][4];
    SIMT_UNROLL
    for (int u = 0; u < octets; ++u) {
      SIMT_UNROLL
      for (int v = 0; v < right; ++v) {
        int const i = row0 + 8 * u + group, j = column0 + 8 * v + 2 * part;
        Chunked<T> chunk;
        if (exists(i, j)) chunk.chunk = load_chunk(tile + memory.place(i, j));
        SIMT_UNROLL
        for (int e = 0; e < 2; ++e) sum[u / 2][v][u % 2 * 2 + e] = chunk.x[e];
      }
    }
    T const *left[octets], *above[right];
    SIMT_UNROLL
    for (int u = 0; u < octets; ++u) left[u] = row(row0 + 8 * u + group) + part;
    SIMT_UNROLL
    for (int v = 0; v < right; ++v) above[v] = row(column0 + 8 * v + group) + part;
    SIMT_LOOP
    for (int p = 0; p < panels; ++p) {
      int const begin = p * next_panel();
      double b[right][2];
      SIMT_UNROLL
      for (int v = 0; v < right; ++v) {
        SIMT_UNROLL
        for (int k = 0; k < 2; ++k) b[v][k] = above[v][begin + 4 * k];
      }
      SIMT_UNROLL
      for (int u = 0; u < down; ++u) {
        double a[2][2];
        SIMT_UNROLL
        for (int k = 0; k < 2; ++k) {
          SIMT_UNROLL
          for (int h = 0; h < 2; ++h) a[k][h] = -left[2 * u + h][begin + 4 * k];
        }
        SIMT_UNROLL
        for (int v = 0; v < right; ++v) multiply_add_16x8(a, b[v], sum[u][v]);
      }
    }
    SIMT_UNROLL
    for (int u = 0; u < octets; ++u) {
      SIMT_UNROLL
      for (int v = 0; v < right; ++v) {
        int const i = row0 + 8 * u + group, j = column0 + 8 * v + 2 * part;
        if (!exists(i, j)) continue;
        Chunked<T> chunk;
        SIMT_UNROLL
        for (int e = 0; e < 2; ++e) chunk.x[e] = sum[u / 2][v][u % 2 * 2 + e];
        store_chunk(tile + memory.place(i, j), chunk.chunk);
      }
    }
  }
};

/// Diagonal blocks that are factored ahead, in shared memory: the next one while that of a panel is in use.
template <typename T>
struct CholeskyAhead {
  static constexpr int width = cholesky_panel, per_chunk = 16 / sizeof(T);
  T* const factors;

  /// The diagonal block of the panel that begins at column `panel`: rows, and then the reciprocals of the diagonal.
  SIMT_INLINE T* of(int panel) const { return factors + panel / width % 2 * (width * (width + 1)); }
  SIMT_INLINE T element(int panel, int i, int j) const { return of(panel)[i * width + j]; }
  SIMT_INLINE void put(int panel, CholeskyDiagonal<T> const& diagonal) const {
    T* const to = of(panel);
    SIMT_UNROLL
    for (int i = 0; i < width; ++i) {
      SIMT_UNROLL
      for (int j = 0; j <= i; ++j) to[i * width + j] = i == j ? from_real<T>(diagonal.diagonal[i]) : diagonal.below[i][j];
      to[width * width + i] = from_real<T>(diagonal.inverse[i]);
    }
  }
  /// As CholeskyDiagonal::solve, for a row of the panel.
  SIMT_INLINE void solve(int panel, T* row) const {
    T const* const from = of(panel);
    T x[width], inverse[width];
    read(x, row);
    read(inverse, from + width * width);
    SIMT_UNROLL
    for (int j = 0; j < width; ++j) {
      T below[width];
      read(below, from + j * width);
      SIMT_UNROLL
      for (int k = 0; k < j; ++k) x[j] = multiply_add(-x[k], conjugate(below[k]), x[j]);
      x[j] = real_part(inverse[j]) * x[j];
    }
    SIMT_UNROLL
    for (int j = 0; j < width; j += per_chunk) {
      Chunked<T> chunk;
      SIMT_UNROLL
      for (int e = 0; e < per_chunk; ++e) chunk.x[e] = x[j + e];
      store_chunk(row + j, chunk.chunk);
    }
  }

 private:
  SIMT_INLINE static void read(T (&to)[width], T const* from) {
    SIMT_UNROLL
    for (int j = 0; j < width; j += per_chunk) {
      Chunked<T> const chunk(load_chunk(from + j));
      SIMT_UNROLL
      for (int e = 0; e < per_chunk; ++e) to[j + e] = chunk.x[e];
    }
  }
};

/// Right-hand sides from (L^-1 B)^H to X^H, each by a warp: 32 columns at a time, a column to a lane, and what these take from the columns
/// before. Other warps may call it for others; each needs a barrier before.
template <typename T>
SIMT_INLINE void cholesky_substitute_back(CholeskyBlockMemory const& memory, T* tile, int right_hand_side) {
  int const row = memory.columns + right_hand_side, lane = lane_index();
  SIMT_LOOP
  for (int first = (memory.columns - 1) / warp_size * warp_size; first >= 0; first -= warp_size) {
    int const number = smaller(memory.columns - first, warp_size), column = first + smaller(lane, number - 1);
    Real<T> const inverse = Real<T>(1) / real_part(tile[memory.place(column, column)]);
    T const* const below = tile + memory.place(first, column);
    T x = tile[memory.place(row, column)];
    SIMT_UNROLL_BY(4)
    for (int k = number - 1; k >= 0; --k) {
      T const solved = shuffle(inverse * x, k);
      if (lane < k) x = multiply_add(-solved, below[k * memory.row], x);
      if (lane == k) x = solved;
    }
    sync_warp();
    if (lane < number) tile[memory.place(row, column)] = x;
    sync_warp();
    SIMT_LOOP
    for (int before = lane; before < first; before += warp_size) {
      T const* const factor = tile + memory.place(first, before);
      T sum = tile[memory.place(row, before)];
      SIMT_LOOP
      for (int k = 0; k < number; k += cholesky_panel) {
        T const* const solved = tile + memory.place(row, first + k);
        SIMT_UNROLL
        for (int e = 0; e < cholesky_panel; ++e) sum = multiply_add(-solved[e], factor[(k + e) * memory.row], sum);
      }
      tile[memory.place(row, before)] = sum;
    }
    sync_warp();
  }
}

}  // namespace simt

/// Launch: any number of blocks of C.threads() threads with CholeskyBlockMemory(sizeof(T), args.a.rows, args.x.cols, C.warps).bytes of
/// dynamic shared memory.
template <typename T, CholeskyBlock C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads(), C.blocks_per_sm) cholesky_block(CholeskyBlockArguments<T> const args) {
  using namespace simt;
  using R = simt::Real<T>;
  constexpr int width = cholesky_panel, per_chunk = 16 / sizeof(T);
  int* const failed = reinterpret_cast<int*>(shared_memory());
  T* const factor = reinterpret_cast<T*>(shared_memory() + 16);  // of a diagonal block
  T* const tile = factor + CholeskyBlockMemory(sizeof(T), 0, 0, C.warps, C.ahead != 0).factor;
  int const thread = thread_index(), lane = lane_index(), warp = thread / warp_size;

  for (Index b = block_index(); b < args.a.count; b += block_count()) {
    int const n = args.a.rows_of(b), right = n > 0 && args.x.given() ? args.x.cols_of(b) : 0;
    if (args.first > 0 && (n == 0 || (args.info && args.info[b] != 0))) continue;
    CholeskyBlockMemory const memory(sizeof(T), n, right, C.warps, C.ahead != 0);  // of the tile
    /// Calls move(i, j, address) for the lower triangle, neighbouring threads for neighbours in the memory of A.
    auto const for_all = [&](auto const& matrices, auto move) {
      Index const down = matrices.row_stride_of(b), right = matrices.col_stride_of(b);
      auto* const matrix = matrices.at(b, 0, 0);
      SIMT_LOOP
      for (int line = warp; line < n; line += C.warps) {
        int const begin = C.lines == Lines::columns ? line / 8 * 8 : 0, end = C.lines == Lines::columns ? n : line + 1;
        SIMT_UNROLL_BY(4)
        for (int at = begin + lane; at < end; at += warp_size) {
          int const i = C.lines == Lines::columns ? at : line, j = C.lines == Lines::columns ? line : at;
          if (i >= j) move(i, j, matrix + i * down + j * right);
        }
      }
    };
    for_all(args.a, [&](int i, int j, T const* from) { copy_async(tile + memory.place(i, j), from); });
    // Filled up by rows of the unit matrix
    for (int i = n + warp; i < memory.columns; i += C.warps)
      for (int j = lane; j <= i; j += warp_size) tile[memory.place(i, j)] = from_real<T>(i == j ? 1 : 0);
    for (int r = warp; r < right; r += C.warps) {
      Index const down = args.b.row_stride_of(b);
      T const* const from = args.b.at(b, 0, r);
      for (int j = lane; j < memory.columns; j += warp_size)
        tile[memory.place(memory.columns + r, j)] = j < n ? conjugate_if(!args.b.conjugated, from[j * down]) : from_real<T>(0);
    }
    if (thread == 0) *failed = 0;
    wait_copies();
    sync_block();
    R least = -R(infinity());  // pivot
    int replaced = 0;          // in the first thread
    if constexpr (C.regularized != 0) {
      if (args.floor && args.floor[b] > R(0)) least = args.floor[b];
      if (args.jitter) {
        R const shift = args.jitter[b];
        for (int i = thread; i < n; i += C.threads()) {
          T* const diagonal = tile + memory.place(i, i);
          *diagonal = from_real<T>(real_part(*diagonal) + shift);
        }
        sync_block();
      }
    }

    /// Factors a panel, of which the last warp puts the diagonal block in place. All threads call it; whether there is a factor.
    auto const factor_panel = [&](int panel) {
      int const rest = panel + width;
      if (warp == 0 || rest + warp * warp_size < memory.rows) {
        CholeskyDiagonal<T> diagonal;
        diagonal.take([&](int i) { return tile + memory.place(panel + i, panel); });
        diagonal.template factor<C.regularized != 0>(least, n - panel);
        replaced += diagonal.replaced;
        if constexpr (C.warps == 1) sync_warp();
        if (thread == 0) {
          if (diagonal.failed != 0) {
            *failed = panel + diagonal.failed;
          } else {
            // Other warps may not have read the panel's diagonal block yet.
            SIMT_UNROLL
            for (int i = 0; i < width; ++i) {
              T* const row = C.warps == 1 ? tile + memory.place(panel + i, panel) : factor + i * width;
              SIMT_UNROLL
              for (int j = 0; j <= i; ++j) row[j] = i == j ? from_real<T>(diagonal.diagonal[i]) : diagonal.below[i][j];
            }
          }
        }
        SIMT_LOOP
        for (int i = rest + thread; i < memory.rows; i += C.threads()) {
          T* const row = tile + memory.place(i, panel);
          T x[width];
          SIMT_UNROLL
          for (int j = 0; j < width; j += per_chunk) {
            Chunked<T> const chunk(load_chunk(row + j));
            SIMT_UNROLL
            for (int e = 0; e < per_chunk; ++e) x[j + e] = chunk.x[e];
          }
          diagonal.solve(x);
          SIMT_UNROLL
          for (int j = 0; j < width; j += per_chunk) {
            Chunked<T> chunk;
            SIMT_UNROLL
            for (int e = 0; e < per_chunk; ++e) chunk.x[e] = x[j + e];
            store_chunk(row + j, chunk.chunk);
          }
        }
      }
      sync_block();
      if (*failed != 0) return false;
      if (C.warps > 1 && warp == C.warps - 1)
        for (int e = lane; e < width * width; e += warp_size)
          if (e / width >= e % width) tile[memory.place(panel + e / width, panel) + e % width] = factor[e];
      return true;
    };
    if constexpr (C.ahead != 0) {
      static_assert(C.regularized == 0);
      CholeskyAhead<T> const ahead{factor};
      // The first warp factors the diagonal block of a panel.
      auto const factor_diagonal = [&](int panel) {
        CholeskyDiagonal<T> diagonal;
        diagonal.take([&](int i) { return tile + memory.place(panel + i, panel); });
        diagonal.template factor<false>(least, n - panel);
        if (lane == 0) {
          if (diagonal.failed != 0) *failed = panel + diagonal.failed;
          ahead.put(panel, diagonal);
        }
      };
      if (warp == 0 && n > 0) factor_diagonal(0);
      sync_block();
      SIMT_LOOP
      for (int panel = 0; panel < n && *failed == 0; panel += width) {
        int const rest = panel + width;
        SIMT_LOOP
        for (int i = rest + thread; i < memory.rows; i += C.threads()) ahead.solve(panel, tile + memory.place(i, panel));
        if (warp == C.warps - 1)
          for (int e = lane; e < width * width; e += warp_size)
            if (e / width >= e % width)
              tile[memory.place(panel + e / width, panel) + e % width] = ahead.element(panel, e / width, e % width);
        sync_block();
        if (warp == 0) {
          if (rest < n) {
            CholeskyUpdate<T>{memory, tile, panel, 1, rest + width, rest + width}.template run<2>(rest, rest);
            sync_warp();
            factor_diagonal(rest);
          }
        } else {
          CholeskyUpdate<T> const update{memory, tile, panel, 1, memory.columns, memory.rows};
          int turn = 1;
          SIMT_LOOP
          for (int column = rest; column < memory.columns; column += update.columns) {
            SIMT_LOOP
            for (int row = larger(column, rest + width); row < memory.rows; row += 32) {
              if (turn == warp) {
                if (memory.rows - row > 16)
                  update.template run<4>(row, column);
                else
                  update.template run<2>(row, column);
              }
              turn = turn + 1 < C.warps ? turn + 1 : 1;
            }
          }
        }
        sync_block();
      }
    }
    SIMT_LOOP
    for (int panel = 0, panels = 0; C.ahead == 0 && panel < n; panel += width) {
      if (!factor_panel(panel)) break;
      // Every other panel updates the next one alone, and what is beyond together with that.
      int const rest = panel + width;
      panels = panels % 2 + 1;
      CholeskyUpdate<T> const update{memory,
                                     tile,
                                     panels == 1 ? panel : panel - width,
                                     panels,
                                     panels == 1 ? smaller(rest + width, memory.columns) : memory.columns,
                                     memory.rows};
      int turn = 0;
      SIMT_LOOP
      for (int column = rest; column < update.end; column += update.columns) {
        SIMT_LOOP
        for (int row = column; row < memory.rows; row += 32, ++turn) {
          if (turn % C.warps != warp) continue;
          if (memory.rows - row > 16)
            update.template run<4>(row, column);
          else
            update.template run<2>(row, column);
        }
      }
      sync_block();
    }
    for (int r = warp; r < right; r += C.warps) {
      if (*failed != 0 && !args.nan_where_not_definite) break;
      if (*failed == 0) cholesky_substitute_back(memory, tile, r);
      Index const down = args.x.row_stride_of(b);
      T* const to = args.x.at(b, 0, r);
      for (int j = lane; j < n; j += warp_size)
        store_global(to + j * down,
                     *failed == 0 ? conjugate_if(!args.x.conjugated, tile[memory.place(memory.columns + r, j)]) : not_a_number<T>());
    }
    if (args.factor.given()) for_all(args.factor, [&](int i, int j, T* to) { store_global(to, tile[memory.place(i, j)]); });
    if constexpr (C.regularized != 0)
      if (thread == 0 && args.replaced && replaced > 0) args.replaced[b] += replaced;
    if (thread == 0 && args.info && (args.first == 0 || *failed != 0)) args.info[b] = *failed != 0 ? args.first + *failed : 0;
    if (b + block_count() < args.a.count) sync_block();
  }
}

}  // namespace myriad
