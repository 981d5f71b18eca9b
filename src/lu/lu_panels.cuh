#pragma once
/// LU with partial pivoting of one matrix by panels of columns: a panel at a time is in the registers of several lanes, the rest in shared
/// memory.
///
/// Tried without gain (H200): rows left where they were loaded until the end, 1.3 to 1.8 times the wavefronts of shared memory.

#include "lu/lu_tiny_config.cuh"
#include "lu/pivot_search.cuh"
#include "simt/divisor.hpp"

namespace myriad::simt {

/// A matrix in the tile of a block: element (i, j) and where it lies.
template <typename Tile, typename T>
struct MatrixInTile {
  T* first;
  SIMT_INLINE T& operator()(int i, int j) const { return first[i * Tile::row_step + j * Tile::column_step]; }
};

/// Left-looking LU of an M-by-N matrix with right-hand sides: what earlier panels do to a panel is done when it is loaded into registers.
/// Lane l of `lanes` then has the rows at positions l, l + lanes, ... of the order that the interchanges so far have made, so that rows of
/// earlier pivots are in known registers and go to the other lanes by shuffles without a choice. Within a panel rows stay where they are.
/// A finished panel goes back into the tile in the order of positions that it leaves behind, so that the next panel, and whoever reads U,
/// finds its rows in the banks of its lanes.
template <typename T, int M, int N, int nrhs, int lanes, int panel, bool ragged, typename Matrix, typename RightSides>
class LuByPanels {
 public:
  static constexpr int held = ceil_div(M, lanes);
  static constexpr int steps = smaller(M, N);
  static constexpr int panels = ceil_div(N, panel);
  static_assert(M <= 32 && lanes <= 32 && panels <= lu_most_panels);

  T b[held][larger(nrhs, 1)];  ///< right-hand sides, as they are loaded and, after `factor`, L^-1 P times these
  int info = 0;                ///< as LAPACK's

  /// `right`: where the right-hand sides were in shared memory; they go through it when rows change places. `order`: room for M words.
  SIMT_INLINE LuByPanels(int lane_of_matrix, Matrix matrix, RightSides right, unsigned* order)
      : lane_(lane_of_matrix), first_lane_(lane_index() & ~(lanes - 1)), tile_(matrix), right_(right), order_(order) {
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) where_[r] = exists(r) ? static_cast<unsigned>(position(r)) : 0;
  }
  SIMT_INLINE bool exists(int r) const { return M % lanes == 0 || position(r) < M; }
  SIMT_INLINE int position(int r) const { return lane_ + r * lanes; }
  /// Element j of the row at position(r).
  SIMT_INLINE T factors(int r, int j) const { return tile_(row_of_panel(r, j / panel), j); }
  SIMT_INLINE T pivot(int r) const { return exists(r) ? tile_(position(r), position(r)) : from_real<T>(1); }

  /// PA = LU; `note(k, p)` is told that the rows at positions k and p changed places. Within a panel a row's number is its position when
  /// the panel began, and its place that after the interchanges so far. Of a ragged batch the matrix has `rows` rows and `real_steps`
  /// steps; what is beyond is the identity.
  template <bool pivoting, typename Note>
  SIMT_INLINE void factor(bool conjugated, int rows, int real_steps, Note note) {
    SIMT_LOOP
    for (int p = 0; p < panels; ++p) {
      int const first = p * panel;
      T a[held][panel];
      SIMT_UNROLL
      for (int r = 0; r < held; ++r) {
        int const loaded = row_of_panel(r, -1);
        SIMT_UNROLL
        for (int j = 0; j < panel; ++j)
          a[r][j] = in_matrix(first, j) ? conjugate_if(conjugated, tile_(loaded, first + j)) : from_real<T>(0);
      }
      if (p > 0) apply(a, p);
      int place[held];
      SIMT_UNROLL
      for (int r = 0; r < held; ++r) place[r] = position(r);
      if (first < steps) factor_panel<pivoting>(a, place, first, rows, real_steps, note);
      sync_warp();  // all have read the rows of the panel
      SIMT_UNROLL
      for (int r = 0; r < held; ++r) {
        if (!exists(r)) continue;
        SIMT_UNROLL
        for (int j = 0; j < panel; ++j)
          if (in_matrix(first, j)) tile_(place[r], first + j) = a[r][j];
        SIMT_UNROLL
        for (int c = 0; c < nrhs; ++c) right_(place[r], c) = b[r][c];
        order_[place[r]] = where_[r] | (p + 1 < panels ? static_cast<unsigned>(place[r]) << 5 * (p + 1) : 0);
      }
      sync_warp();
      SIMT_UNROLL
      for (int r = 0; r < held; ++r) {
        int const i = exists(r) ? position(r) : 0;
        where_[r] = order_[i];
        SIMT_UNROLL
        for (int c = 0; c < nrhs; ++c) b[r][c] = right_(i, c);
      }
      sync_warp();
    }
  }

  /// Solves U x = y for the right-hand sides.
  SIMT_INLINE void substitute_back() {
    Divisor<T> divisor[held];
    Real<T> scale[held];
    int row[held];
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) {
      row[r] = exists(r) ? position(r) : 0;
      divisor[r] = Divisor<T>(pivot(r));
      scale[r] = divisor[r].usual() ? Real<T>(1) : divisor[r].make_usual();
    }
    SIMT_UNROLL
    for (int rr = held - 1; rr >= 0; --rr) {
      SIMT_UNROLL_BY(unrolled)
      for (int t = lanes - 1; t >= 0; --t) {
        if (M % lanes != 0 && rr * lanes + t >= M) continue;
        T u[held];
        SIMT_UNROLL
        for (int r = 0; r <= rr; ++r) u[r] = tile_(row[r], rr * lanes + t);
        SIMT_UNROLL
        for (int c = 0; c < nrhs; ++c) {
          T const x = shuffle((scale[rr] * b[rr][c]) * divisor[rr].reciprocal_of_y, first_lane_ + t);
          SIMT_UNROLL
          for (int r = 0; r < rr; ++r) b[r][c] = subtract_product(b[r][c], u[r], x);
          T const less = subtract_product(b[rr][c], u[rr], x);
          b[rr][c] = lane_ < t ? less : b[rr][c];
        }
      }
    }
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) {
      SIMT_UNROLL
      for (int c = 0; c < nrhs; ++c) b[r][c] = (scale[r] * b[r][c]) * divisor[r].reciprocal_of_y;
    }
  }

  /// Permutes the rows of the tile into the order of positions.
  SIMT_INLINE void sort_rows(bool conjugated) const {
    SIMT_UNROLL
    for (int p = 0; p < panels; ++p) {
      T a[held][panel];
      SIMT_UNROLL
      for (int r = 0; r < held; ++r) {
        SIMT_UNROLL
        for (int j = 0; j < panel; ++j)
          a[r][j] = in_matrix(p * panel, j) ? conjugate_if(conjugated, factors(r, p * panel + j)) : from_real<T>(0);
      }
      sync_warp();
      SIMT_UNROLL
      for (int r = 0; r < held; ++r) {
        SIMT_UNROLL
        for (int j = 0; j < panel; ++j)
          if (exists(r) && in_matrix(p * panel, j)) tile_(position(r), p * panel + j) = a[r][j];
      }
    }
  }

 private:
  static constexpr int unrolled = smaller(lanes, 4);  ///< steps of loops over the rows of all lanes

  SIMT_INLINE static bool in_matrix(int first, int j) { return N % panel == 0 || first + j < N; }

  /// The row of the tile in which the columns of panel p (-1: of those that had no turn yet) of the row at position(r) are.
  SIMT_INLINE int row_of_panel(int r, int p) const {
    if (p == panels - 1) return exists(r) ? position(r) : 0;
    return static_cast<int>(where_[r] >> 5 * (p + 1) & 31);
  }

  /// The steps of panels 0 to p - 1 on columns that had none.
  SIMT_INLINE void apply(T (&a)[held][panel], int p) const {
    SIMT_LOOP
    for (int of = 0; of < p; ++of) {
      int row[held];
      SIMT_UNROLL
      for (int r = 0; r < held; ++r) row[r] = row_of_panel(r, of);
      SIMT_UNROLL
      for (int rr = 0; rr < held; ++rr) {
        int const until = smaller((rr + 1) * lanes, smaller(of * panel + panel, steps));
        SIMT_LOOP
        for (int from = larger(rr * lanes, of * panel); from < until; from += unrolled) {
          SIMT_UNROLL
          for (int i = 0; i < unrolled; ++i) {
            int const k = from + i;
            if ((panel % unrolled != 0 || steps % unrolled != 0) && k >= until) continue;
            T l[held];
            SIMT_UNROLL
            for (int r = rr; r < held; ++r) l[r] = tile_(row[r], k);
            l[rr] = position(rr) > k ? l[rr] : from_real<T>(0);
            SIMT_UNROLL
            for (int j = 0; j < panel; ++j) {
              T const u = shuffle(a[rr][j], first_lane_ + k % lanes);
              SIMT_UNROLL
              for (int r = rr; r < held; ++r) a[r][j] = subtract_product(a[r][j], l[r], u);
            }
          }
        }
      }
    }
  }

  /// Steps [first, first + panel) on the columns of the panel. Rows are told apart by the positions that they had before.
  template <bool pivoting, typename Note>
  SIMT_INLINE void factor_panel(T (&a)[held][panel], int (&place)[held], int first, int rows, int real_steps, Note note) {
    unsigned number[held];
    unsigned alive[held];  // all bits, until the row is one of a pivot
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) {
      number[r] = static_cast<unsigned>(position(r));
      alive[r] = position(r) >= first && exists(r) ? ~0u : 0;
    }
    SIMT_UNROLL
    for (int j = 0; j < panel; ++j) {
      int const k = first + j;
      if (steps % panel != 0 && k >= steps) break;
      unsigned winner = static_cast<unsigned>(k);
      if constexpr (pivoting) {
        PivotSearch<T, held, lanes> search;
        SIMT_UNROLL
        for (int r = 0; r < held; ++r)
          search.take(r, a[r][j], !ragged || place[r] < (k < real_steps ? rows : k + 1) ? alive[r] : 0, number[r], place[r]);
        winner = search.find();
      }
      unsigned const of_owner = winner / lanes;
      int const owner = first_lane_ + static_cast<int>(winner % lanes);
      T u[panel]{}, y[larger(nrhs, 1)]{};
      int p = place[0];
      SIMT_UNROLL
      for (int r = 0; r < held; ++r) {
        bool const chosen = r == 0 || of_owner == static_cast<unsigned>(r);
        p = chosen ? place[r] : p;
        SIMT_UNROLL
        for (int c = j; c < panel; ++c) u[c] = chosen ? a[r][c] : u[c];
        SIMT_UNROLL
        for (int c = 0; c < nrhs; ++c) y[c] = chosen ? b[r][c] : y[c];
      }
      SIMT_UNROLL
      for (int c = j; c < panel; ++c) u[c] = shuffle(u[c], owner);
      SIMT_UNROLL
      for (int c = 0; c < nrhs; ++c) y[c] = shuffle(y[c], owner);
      if constexpr (pivoting) {
        p = shuffle(p, owner);
        note(k, p);
      }
      SIMT_UNROLL
      for (int r = 0; r < held; ++r) {
        bool const chosen = winner == number[r];
        if constexpr (pivoting) {
          place[r] = place[r] == k ? p : place[r];
          place[r] = chosen ? k : place[r];
        }
        alive[r] = unknown(chosen ? 0 : alive[r]);
      }
      Divisor<T, !pivoting> divisor(u[j]);
      if (!divisor.usual()) {
        if (u[j] == from_real<T>(0) && info == 0 && (!ragged || k < real_steps)) info = k + 1;
        Real<T> const scale = divisor.make_usual();
        SIMT_UNROLL
        for (int r = 0; r < held; ++r)
          if (alive[r] != 0) a[r][j] = scale * a[r][j];
      }
      SIMT_UNROLL
      for (int r = 0; r < held; ++r) {
        T const l = a[r][j] * divisor.reciprocal_of_y;
        a[r][j] = choose(alive[r], l, a[r][j]);
        T const minus_l = minus_where(alive[r], l);
        SIMT_UNROLL
        for (int c = j + 1; c < panel; ++c) a[r][c] = multiply_add(minus_l, u[c], a[r][c]);
        SIMT_UNROLL
        for (int c = 0; c < nrhs; ++c) b[r][c] = multiply_add(minus_l, y[c], b[r][c]);
      }
    }
  }

  int lane_, first_lane_;
  Matrix tile_;
  RightSides right_;
  unsigned* order_;       ///< what a row's lane hands to the lane of its new position
  unsigned where_[held];  ///< five bits each: the row as it was loaded, and its row in panels 0, 1, ...
};

}  // namespace myriad::simt
