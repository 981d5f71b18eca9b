// Triangular systems of small matrices, one matrix per vector lane. See simd/pack-inl.hpp for how matrices become packs.
//
// The triangle is loaded into the workspace in panels of rows, in the order of the solution, and right-hand sides in chunks. If all panels
// fit, they stay there for all chunks. An upper triangle is treated as a lower one with rows and columns counted from the end.

#include "trsm/trsm.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "trsm/trsm_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "simd/ahead.hpp"
#include "simd/pack-inl.hpp"
#include "simd/pack_tiles-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace myriad::HWY_NAMESPACE {

/// The workspace of one group: reciprocals of the diagonal, right-hand sides, panels of A.
template <typename T>
class TriangleSpace {
  using P = Pack<T>;
  using R = typename P::R;
  static constexpr int packs = static_cast<int>(lane_workspace_bytes / static_cast<std::int64_t>(sizeof(R) * P::size));
  static constexpr int few_sides = 8;

 public:
  static constexpr int height = trsm_panel<T>;  ///< rows of a panel; the last one may have fewer

  TriangleSpace(int n, int nrhs) : n_(n), nrhs_(nrhs), b_(n * P::size), panels_(b_) {
    if (n == 0 || nrhs == 0) return;
    int all = 0, largest = 0;
    for (int first = 0; first < n; first += height) {
      all += panel_size(first);
      largest = std::max(largest, panel_size(first));
    }
    int const rest = packs - n;
    whole_ = all + pack_ld(n) * std::min(nrhs, few_sides) <= rest;
    sides_ = (rest - (whole_ ? all : largest)) / pack_ld(n);
    sides_ = sides_ < nrhs ? sides_ / tile_cols<T> * tile_cols<T> : nrhs;
    panels_ += pack_ld(n) * sides_ * P::size;
  }

  [[nodiscard]] bool is_for(int n, int nrhs) const { return n == n_ && nrhs == nrhs_; }
  /// Whether all of A stays in the workspace.
  [[nodiscard]] bool whole() const { return whole_; }
  /// Right-hand sides per chunk.
  [[nodiscard]] int sides() const { return sides_; }
  /// Rows of the panel that starts at row `first`.
  [[nodiscard]] int rows(int first) const { return std::min(height, n_ - first); }

  /// Reciprocals of the diagonal, in the order of the solution.
  [[nodiscard]] R* inverse() const { return base_; }
  [[nodiscard]] PackMatrix<T> b() const { return pack_matrix<T>(base_ + b_, pack_ld(n_)); }
  /// The panel that starts at row `first`, in the order of the solution: columns 0 to first + rows(first) - 1.
  [[nodiscard]] PackMatrix<T> panel(int first) const {
    int before = 0;
    if (whole_)
      for (int i = 0; i < first; i += height) before += panel_size(i);
    return pack_matrix<T>(base_ + panels_ + before * P::size, pack_ld(rows(first)));
  }

 private:
  [[nodiscard]] int panel_size(int first) const { return pack_ld(rows(first)) * (first + rows(first)); }

  int n_, nrhs_;
  int b_, panels_;  // offsets in reals
  int sides_ = 0;
  bool whole_ = false;
  R* base_ = static_cast<R*>(lane_workspace());
};

/// load_group of the m-by-n block at (i, j).
template <typename T>
HWY_INLINE void load_block(GroupView<T const> const& view, int i, int j, int m, int n, PackMatrix<T> to, Part part = Part::all) {
  if (m == 0 || n == 0) return;
  std::int64_t const ld = to.cs / Pack<T>::size;
  if (i == 0 && j == 0)
    load_group<T>(view, m, n, to.data, ld, part);  // without copying the view, whose loads would stall on its recent stores
  else
    load_group<T>(view.at(i, j, Pack<T>::lanes), m, n, to.data, ld, part);
}

/// Rows and columns of m-by-n packs counted from the end.
template <typename T>
HWY_INLINE PackMatrix<T> reversed(PackMatrix<T> a, int m, int n) {
  return {a.at(m - 1, n - 1), -a.rs, -a.cs};
}

/// Loads the triangle's part of the panel at row `first`; neither the other triangle nor, if `unit`, the diagonal.
template <typename T>
HWY_NOINLINE void load_panel(TriangleSpace<T> const& space, GroupView<T const> const& view, int n, int first, bool upper, bool unit) {
  int const rows = space.rows(first);
  int const skip = unit ? 1 : 0;
  PackMatrix<T> const panel = space.panel(first);
  if (upper) {
    int const top = n - first - rows;  // row and column of the diagonal block in A
    load_block<T>(view, top, top + skip, rows - skip, rows - skip, panel.block(0, skip), Part::upper);
    load_block<T>(view, top, top + rows, rows, first, panel.block(0, rows));
  } else {
    load_block<T>(view, first, 0, rows, first, panel);
    load_block<T>(view, first + skip, first, rows - skip, rows - skip, panel.block(skip, first), Part::lower);
  }
}

/// Solves for the rows of a panel, given the rows before them. inverse: reciprocals of the diagonal, which are not used unless all of it is
/// `ordinary` (see Divisor).
template <typename T>
HWY_NOINLINE void solve_panel(PackMatrix<T> panel, int first, int rows, typename Pack<T>::R const* HWY_RESTRICT inverse, bool ordinary,
                              bool unit, PackMatrix<T> b, int nrhs, Ahead& ahead) {
  using P = Pack<T>;
  PackMatrix<T> const a = panel.block(-first, 0);
  in_steps<tile_cols<T>>(0, nrhs, [&]<int N>(int j) HWY_ATTR {
    constexpr int most = N == 1 ? 4 : tile_rows<T>;
    PackMatrix<T> const x = b.block(0, j);
    in_steps<most>(first, first + rows, [&]<int M>(int i) HWY_ATTR {
      ahead.fetch();
      solve_tile<T, M, N, false, false>(a, i, 0, i, true, x, [&](int k, P(&row)[N]) HWY_ATTR {
        if (unit) return;
        if (HWY_UNLIKELY(!ordinary)) {
          Divisor<T> const diagonal(a.load(k, k));
          for (int q = 0; q < N; ++q) row[q] = diagonal.divide(row[q]);
          return;
        }
        P const r = P::load(inverse + k * P::size);
#pragma GCC unroll 4
        for (int q = 0; q < N; ++q) row[q] = mul(row[q], r);
      });
    });
  });
}

/// Whether triangles are loaded with the other triangle, which is then ignored: for small contiguous matrices this takes fewer steps than
/// column by column.
template <typename T>
bool is_compact(Batch<T const> const& a) {
  std::int64_t const n = a.rows;
  bool const columns = a.row_stride == 1 && a.col_stride == n, rows = a.col_stride == 1 && a.row_stride == n;
  bool const small = n > 1 && n < 16 && n * (is_complex<T> ? 2 : 1) <= Pack<T>::lanes;
  return small && (columns || rows) && !a.ragged() && !a.row_strides && !a.col_strides;
}

template <typename T>
void trsm_lanes(TrsmTask<T> const& task, std::int64_t begin, std::int64_t end) {
  using P = Pack<T>;
  bool const upper = task.uplo == Uplo::upper, unit = task.diag == Diag::unit;
  bool const compact = is_compact(task.a), by_rows = compact && task.a.row_stride != 1;
  Batch<T const> const triangles = by_rows ? transposed(task.a) : task.a;
  P const alpha = P::set(task.alpha);
  TriangleSpace<T> space(0, 0);
  for_each_group(P::lanes, begin, end, shapes(task.a, task.b), trsm_fits_lanes<T>, [&](Group const& group) HWY_ATTR {
    auto const n = static_cast<int>(task.b.rows_of(group.index[0]));
    auto const nrhs = static_cast<int>(task.b.cols_of(group.index[0]));
    if (n == 0 || nrhs == 0) return;
    if (!space.is_for(n, nrhs)) space = TriangleSpace<T>(n, nrhs);
    GroupView<T const> const a(triangles, group, P::lanes);
    GroupView<T const> const source(task.b, group, P::lanes);
    GroupView<T> const target(task.b, group, P::lanes);
    PackMatrix<T> const stored = space.b();
    std::int64_t const ld = stored.cs / P::size;
    PackMatrix<T> const b = upper ? PackMatrix<T>{stored.at(n - 1, 0), -stored.rs, stored.cs} : stored;
    Ahead ahead = ahead_of(task.a, group, P::lanes, end, (n + 3) / 4);
    bool ordinary = true;
    for (int j = 0; j < nrhs; j += space.sides()) {
      int const sides = std::min(space.sides(), nrhs - j);
      if (task.alpha == T(0)) {
        for (int q = 0; q < sides; ++q)
          for (int i = 0; i < n; ++i) stored.store(i, q, P::zero());
      } else {
        load_block<T>(source, 0, j, n, sides, stored);
        if (task.alpha != T(1))
          for (int q = 0; q < sides; ++q)
            for (int i = 0; i < n; ++i) stored.store(i, q, mul(stored.load(i, q), alpha));
        for (int i = 0; i < n; i += space.height) {
          int const rows = space.rows(i);
          bool const load = j == 0 || !space.whole();
          PackMatrix<T> panel = space.panel(i);
          if (load && compact)
            load_block<T>(a, 0, 0, n, n, panel);
          else if (load)
            load_panel<T>(space, a, n, i, upper, unit);
          if (by_rows) panel = panel.transposed();
          if (upper) panel = reversed<T>(panel, rows, i + rows);
          if (load && !unit)
            for (int k = 0; k < rows; ++k) {
              Divisor<T> const diagonal(panel.load(k, i + k));
              ordinary &= diagonal.ordinary;
              diagonal.inverse.store(space.inverse() + (i + k) * P::size);
            }
          solve_panel<T>(panel, i, rows, space.inverse(), ordinary, unit, b, sides, ahead);
        }
      }
      if (j == 0)
        store_group<T>(target, n, sides, stored.data, ld);
      else
        store_group<T>(target.at(0, j, P::lanes), n, sides, stored.data, ld);
    }
  });
}

MYRIAD_LANES_IMPLEMENT(trsm_lanes, TrsmTask)

}  // namespace myriad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace myriad {
MYRIAD_LANES_DISPATCH(trsm_lanes, TrsmTask)
}  // namespace myriad
#endif
