// Cholesky of small matrices, one matrix per vector lane. See simd/pack-inl.hpp for how matrices become packs.
//
// A matrix that does not fit the workspace goes through it in panels of columns, left-looking: a panel is loaded, updated with the columns
// of L to its left, which are read again from where the matrix lies, factored and stored. One that fits is a single panel.

#include "cholesky/cholesky.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cholesky/cholesky_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cholesky/cholesky_packs-inl.hpp"
#include "simd/pack-inl.hpp"
#include "simd/pack_neighbours-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace myriad::HWY_NAMESPACE {

/// More panels than any matrix has.
inline constexpr int max_panels = 64;

/// The workspace of one group: a panel of A, tiles of L to its left, and right-hand sides.
template <typename T>
class Space {
  using P = Pack<T>;
  using R = typename P::R;
  static constexpr int packs = static_cast<int>(lane_workspace_bytes / static_cast<std::int64_t>(sizeof(R) * P::size));
  static constexpr int most_sides = 8;

 public:
  static constexpr int tile = 16;  ///< columns, and rows below a panel's own, of L that are loaded at a time

  Space(int n, int nrhs)
      : n_(n), sides_(std::min(nrhs, n * (pack_ld(n) + most_sides) <= packs ? packs / std::max(n, 1) - pack_ld(n) : most_sides)) {}

  /// Columns of the panel that starts at column j.
  [[nodiscard]] int width(int j) const {
    int const m = n_ - j;
    int const available = packs - n_ * sides_;
    int const columns = j > 0 ? m * tile : 0;  // of L to the left, beside this panel's own
    if (m * pack_ld(m) + columns <= available) return m;
    int const rest = available - tile * tile;
    return rest / (pack_ld(m) + tile) / 4 * 4;
  }
  /// Right-hand sides that are carried at a time.
  [[nodiscard]] int sides() const { return sides_; }

  [[nodiscard]] PackMatrix<T> b() const { return pack_matrix<T>(base_, std::max(n_, 1)); }
  [[nodiscard]] R* panel() const { return base_ + n_ * sides_ * P::size; }
  /// Behind the panel at column j.
  [[nodiscard]] R* tiles(int j) const { return panel() + pack_ld(n_ - j) * width(j) * P::size; }

 private:
  int n_;
  int sides_;
  R* base_ = static_cast<R*>(lane_workspace());
};

/// Small matrices whose elements lie side by side: they are loaded whole, which takes fewer steps than column by column, and only the
/// elements of the lower triangle are stored. N: the size where the compiler is to know it, else 0.
template <typename T, int N = 0>
class Compact {
  using P = Pack<T>;
  using R = typename P::R;
  static constexpr int parts = is_complex<T> ? 2 : 1;

 public:
  /// Whether all matrices of an n-by-n batch can be treated so.
  static bool suits(Batch<T> const& a, int n) {
#if HWY_TARGET == HWY_AVX3  // where stores can leave out elements
    bool const columns = a.row_stride == 1 && a.col_stride == n;
    bool const rows = a.col_stride == 1 && a.row_stride == n;
    return (columns || rows) && n > 1 && n < 16 && n * parts <= P::lanes && !a.ragged() && !a.row_strides && !a.col_strides &&
           a.batch_stride != 1;
#else
    (void)a, (void)n;
    return false;
#endif
  }

  Compact(Batch<T> const& a, int n) : n_(n), by_rows_(a.row_stride != 1) {
    constexpr int width = P::lanes / 2;
    for (int e = 0; e < n * n * parts; ++e) {
      int const q = e / parts;
      bool const lower = by_rows_ ? q / n >= q % n : q % n >= q / n;
      if (lower) bits_[e / width] = static_cast<std::uint8_t>(bits_[e / width] | 1U << e % width);
    }
  }

  /// Where the packs go, and how they are found.
  [[nodiscard]] PackMatrix<T> packs(R* ws) const {
    PackMatrix<T> const by_columns = pack_matrix<T>(ws, n());
    return by_rows_ ? by_columns.transposed() : by_columns;
  }

  HWY_INLINE void load(Neighbours<T> const& group, R* ws) const {
    load_run<R>(group.bases(), 0, length(), [&](std::int64_t e) HWY_ATTR { return ws + e * P::lanes; });
  }

  HWY_INLINE void store(Neighbours<T> const& group, R const* ws) const {
    if (HWY_LIKELY(group.active() == P::lanes))
      store_lanes(group, ws, [](int) HWY_ATTR { return true; });
    else
      store_lanes(group, ws, [&](int lane) HWY_ATTR { return lane < group.active(); });
  }

 private:
  [[nodiscard]] HWY_INLINE int n() const { return N ? N : n_; }
  [[nodiscard]] HWY_INLINE int length() const { return n() * n() * parts; }

  /// In half vectors, so that a step of either element type has its own byte of bits.
  template <typename Stored>
  HWY_INLINE void store_lanes(Neighbours<T> const& group, R const* ws, Stored stored) const {
#if HWY_TARGET == HWY_AVX3
    constexpr typename P::D d;
    constexpr HalfOf<R> half;
    constexpr int width = half_lanes<R>;
    for (int e = 0; e < length(); e += width) {
      if (!bits_[e / width]) continue;
      typename P::V x[width];
      for (int r = 0; r < width; ++r) x[r] = e + r < length() ? hn::Load(d, ws + (e + r) * P::lanes) : hn::Zero(d);
      auto const mask = hn::LoadMaskBits(half, bits_ + e / width);
      transpose_to_halves<R>(x);
      scatter_halves<R>([&](int lane, int v, bool upper) HWY_ATTR {
        if (stored(lane)) store_half<R>(x[v], upper, mask, group.base(lane) + e);
      });
    }
#else
    (void)group, (void)ws, (void)stored;
#endif
  }

  int n_;
  bool by_rows_;
  std::uint8_t bits_[64] = {};
};

template <typename T>
HWY_INLINE PackMatrix<T> load_panel(Space<T> const& space, GroupView<T const> const& view, int n, int j) {
  int const m = n - j;
  load_group<T>(j == 0 ? view : view.at(j, j, Pack<T>::lanes), m, space.width(j), space.panel(), pack_ld(m), Part::lower);
  return pack_matrix<T>(space.panel(), pack_ld(m));
}

/// Updates the panel at column j with all columns to its left.
template <typename T>
HWY_NOINLINE void update_from_left(Space<T> const& space, GroupView<T const> const& view, int n, int j, PackMatrix<T> panel) {
  using P = Pack<T>;
  constexpr int tile = Space<T>::tile;
  int const w = space.width(j);
  auto* const columns = space.tiles(j);
  auto* const rows = columns + w * tile * P::size;
  for (int k = 0; k < j; k += tile) {
    int const depth = std::min(tile, j - k);
    load_group<T>(view.at(j, k, P::lanes), w, depth, columns, w);
    PackMatrix<T> const l_columns = pack_matrix<T>(columns, w);
    update_panel<T>(panel, w, 0, w, depth, l_columns, l_columns);
    for (int i = j + w; i < n; i += tile) {
      int const m = std::min(tile, n - i);
      load_group<T>(view.at(i, k, P::lanes), m, depth, rows, m);
      update_panel<T>(panel, w, i - j, i - j + m, depth, pack_matrix<T>(rows, m), l_columns);
    }
  }
}

/// Factors the matrices of `view`, calling `with_panel(panel, j)` for every panel of L. Of several panels each has to be stored then, in
/// the matrices of `view`. Returns info.
template <typename T, typename F>
HWY_INLINE typename Pack<T>::V factor_group(Space<T> const& space, GroupView<T const> const& view, int n, Ahead const& ahead,
                                            F const& with_panel) {
  using P = Pack<T>;
  constexpr typename P::D d;
  auto info = hn::Zero(d);
  for (int j = 0; j < n; j += space.width(j)) {
    PackMatrix<T> const panel = load_panel<T>(space, view, n, j);
    if (j > 0) update_from_left<T>(space, view, n, j, panel);
    info = factor_panel<T>(panel, n - j, space.width(j), j + 1, info, j == 0 ? ahead : Ahead());
    with_panel(panel, j);
  }
  return info;
}

/// Stores the panel of L at column j.
template <typename T>
HWY_INLINE void store_panel(Space<T> const& space, GroupView<T> const& view, int n, int j, PackMatrix<T> panel) {
  store_group<T>(j == 0 ? view : view.at(j, j, Pack<T>::lanes), n - j, space.width(j), panel.data, pack_ld(n - j), Part::lower);
}

/// L^-H B for the right-hand sides in the workspace, from the last panel to the first; the last is still there.
template <typename T>
HWY_INLINE void solve_back(Space<T> const& space, GroupView<T const> const& view, int n, PackMatrix<T> b, int nrhs) {
  int starts[max_panels];
  int count = 0;
  for (int j = 0; j < n; j += space.width(j)) starts[count++] = j;
  for (int k = count - 1; k >= 0; --k) {
    int const j = starts[k];
    PackMatrix<T> const panel = k == count - 1 ? pack_matrix<T>(space.panel(), pack_ld(n - j)) : load_panel<T>(space, view, n, j);
    solve_backward<T>(panel, n - j, space.width(j), b.block(j, 0), nrhs);
  }
}

/// potrf of a batch that Compact suits.
template <typename T, int N>
void potrf_compact(PotrfTask<T> const& task, int n, std::int64_t begin, std::int64_t end) {
  using P = Pack<T>;
  Compact<T, N> const compact(task.a, n);
  auto* const ws = static_cast<typename P::R*>(lane_workspace());
  PackMatrix<T> const packs = compact.packs(ws);
  for (std::int64_t k = begin; k < end; k += P::lanes) {
    Neighbours<T> const group(task.a, k, end);
    compact.load(group, ws);
    group.fetch_behind(N ? N * N : n * n);
    auto info = hn::Zero(typename P::D());
    if constexpr (N > 0)
      info = factor_fixed<T, N>(packs);
    else
      info = factor_panel<T>(packs, n, n, 1, info, Ahead());
    compact.store(group, ws);
    write_info<T>(task.info, k, group.active(), info);
  }
}

template <typename T>
void potrf_lanes(PotrfTask<T> const& task, std::int64_t begin, std::int64_t end) {
  using P = Pack<T>;
  if (int const n = static_cast<int>(task.a.rows); Compact<T>::suits(task.a, n)) {
    if (!if_unrolled<T>(n, [&]<int N>() HWY_ATTR { potrf_compact<T, N>(task, n, begin, end); })) potrf_compact<T, 0>(task, n, begin, end);
    return;
  }
  for_each_group(P::lanes, begin, end, shapes(task.a), cholesky_fits_lanes<T>, [&](Group const& group) HWY_ATTR {
    auto const n = static_cast<int>(task.a.rows_of(group.index[0]));
    Space<T> const space(n, 0);
    GroupView<T> const target(task.a, group, P::lanes);
    auto const info =
        factor_group<T>(space, GroupView<T const>(task.a, group, P::lanes), n, ahead_of(task.a, group, P::lanes, end, tiles_of_panel<T>(n)),
                        [&](PackMatrix<T> panel, int j) HWY_ATTR { store_panel<T>(space, target, n, j, panel); });
    write_info<T>(task.info, group, info);
  });
}

template <typename T>
void potrs_lanes(PotrsTask<T> const& task, std::int64_t begin, std::int64_t end) {
  using P = Pack<T>;
  for_each_group(P::lanes, begin, end, shapes(task.a, task.b), cholesky_fits_lanes<T>, [&](Group const& group) HWY_ATTR {
    auto const n = static_cast<int>(task.b.rows_of(group.index[0]));
    auto const nrhs = static_cast<int>(task.b.cols_of(group.index[0]));
    if (n == 0 || nrhs == 0) return;
    Space<T> const space(n, nrhs);
    GroupView<T const> const a(task.a, group, P::lanes);
    GroupView<T const> const source(task.b, group, P::lanes);
    GroupView<T> const target(task.b, group, P::lanes);
    bool const whole = space.width(0) == n;
    for (int first = 0; first < nrhs; first += space.sides()) {
      int const sides = std::min(space.sides(), nrhs - first);
      load_group<T>(first == 0 ? source : source.at(0, first, P::lanes), n, sides, space.b().data, n);
      for (int j = 0; j < n; j += space.width(j)) {
        if (!whole || first == 0) load_panel<T>(space, a, n, j);
        solve_forward<T>(pack_matrix<T>(space.panel(), pack_ld(n - j)), n - j, space.width(j), space.b().block(j, 0), sides);
      }
      solve_back<T>(space, a, n, space.b(), sides);
      store_group<T>(first == 0 ? target : target.at(0, first, P::lanes), n, sides, space.b().data, n);
    }
  });
}

template <typename T>
void posv_lanes(PosvTask<T> const& task, std::int64_t begin, std::int64_t end) {
  using P = Pack<T>;
  constexpr typename P::D d;
  bool const writes_factor = task.writes_factor();
  auto* const fits = writes_factor ? cholesky_fits_lanes<T> : cholesky_solve_fits_lanes<T>;
  for_each_group(P::lanes, begin, end, shapes(task.a, task.x), fits, [&](Group const& group) HWY_ATTR {
    auto const n = static_cast<int>(task.x.rows_of(group.index[0]));
    auto const nrhs = static_cast<int>(task.x.cols_of(group.index[0]));
    Space<T> const space(n, nrhs);
    GroupView<T const> const a(task.a, group, P::lanes);
    GroupView<T const> const source(task.b, group, P::lanes);
    GroupView<T> target(task.x, group, P::lanes);
    // The first right-hand sides are solved forward panel by panel, while A is factored.
    int sides = n > 0 ? std::min(space.sides(), nrhs) : 0;
    if (sides > 0) load_group<T>(source, n, sides, space.b().data, n);
    auto const info = factor_group<T>(space, a, n, ahead_of(task.a, group, P::lanes, end, tiles_of_panel<T>(n)),
                                      [&](PackMatrix<T> panel, int j) HWY_ATTR {
                                        if (writes_factor) store_panel<T>(space, GroupView<T>(task.factor, group, P::lanes), n, j, panel);
                                        solve_forward<T>(panel, n - j, space.width(j), space.b().block(j, 0), sides);
                                      });
    write_info<T>(task.info, group, info);
    if (!task.nan_where_not_definite) keep_failed<T>(target, info);
    auto const failed = hn::Ne(info, hn::Zero(d));
    bool const fills_nan = task.nan_where_not_definite && !hn::AllFalse(d, failed);
    bool const whole = space.width(0) == n;
    for (int first = 0; sides > 0;) {
      solve_back<T>(space, a, n, space.b(), sides);
      if (fills_nan) fill_nan<T>(failed, space.b().data, n * sides);
      store_group<T>(target.at(0, first, P::lanes), n, sides, space.b().data, n);
      first += sides;
      sides = std::min(space.sides(), nrhs - first);
      if (sides <= 0) break;
      load_group<T>(source.at(0, first, P::lanes), n, sides, space.b().data, n);
      for (int j = 0; j < n; j += space.width(j)) {
        if (!whole) load_panel<T>(space, a, n, j);
        solve_forward<T>(pack_matrix<T>(space.panel(), pack_ld(n - j)), n - j, space.width(j), space.b().block(j, 0), sides);
      }
    }
  });
}

template <typename T>
void potri_lanes(PotrfTask<T> const& task, std::int64_t begin, std::int64_t end) {
  using P = Pack<T>;
  constexpr typename P::D d;
  for_each_group(P::lanes, begin, end, shapes(task.a), cholesky_inverse_fits_lanes<T>, [&](Group const& group) HWY_ATTR {
    auto const n = static_cast<int>(task.a.rows_of(group.index[0]));
    Space<T> const space(n, 0);
    PackMatrix<T> const a = load_panel<T>(space, GroupView<T const>(task.a, group, P::lanes), n, 0);
    auto info = hn::Zero(d);
    for (int k = 0; k < n; ++k) info = first_failure<T>(info, hn::Eq(real_part(a.load(k, k)), hn::Zero(d)), k + 1);
    invert_lower<T>(a, n);
    multiply_adjoint_lower<T>(a, n);
    GroupView<T> target(task.a, group, P::lanes);
    keep_failed<T>(target, info);
    store_group<T>(target, n, n, a.data, pack_ld(n), Part::lower);
    write_info<T>(task.info, group, info);
  });
}

MYRIAD_LANES_IMPLEMENT(potrf_lanes, PotrfTask)
MYRIAD_LANES_IMPLEMENT(potrs_lanes, PotrsTask)
MYRIAD_LANES_IMPLEMENT(posv_lanes, PosvTask)
MYRIAD_LANES_IMPLEMENT(potri_lanes, PotrfTask)

}  // namespace myriad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace myriad {
MYRIAD_LANES_DISPATCH(potrf_lanes, PotrfTask)
MYRIAD_LANES_DISPATCH(potrs_lanes, PotrsTask)
MYRIAD_LANES_DISPATCH(posv_lanes, PosvTask)
MYRIAD_LANES_DISPATCH(potri_lanes, PotrfTask)
}  // namespace myriad
#endif
