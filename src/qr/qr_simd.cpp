// QR of small matrices, one matrix per vector lane. See simd/pack-inl.hpp for how matrices become packs.
//
// A matrix that does not fit the workspace goes through it in panels of columns, left-looking: the reflectors of the columns to the left
// are read again, a block at a time, from where the matrix lies.

#include "qr/qr.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "qr/qr_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "qr/qr_packs-inl.hpp"
#include "simd/pack-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace myriad::HWY_NAMESPACE {

/// The workspace of one group: the taus, a block of reflectors, and columns of m rows.
template <typename T>
class QrSpace {
  using P = Pack<T>;
  using R = typename P::R;
  static constexpr int packs = static_cast<int>(lane_workspace_bytes / static_cast<std::int64_t>(sizeof(R) * P::size));

 public:
  QrSpace(int m, int steps) : m_(m), ld_(pack_ld(std::max(m, 1))), steps_(steps) {}

  /// How many columns there is space for.
  [[nodiscard]] int columns() const { return (packs - steps_) / ld_ - reflector_block; }
  [[nodiscard]] int ld() const { return ld_; }
  [[nodiscard]] R* tau() const { return base_; }
  [[nodiscard]] PackMatrix<T> block() const { return pack_matrix<T>(base_ + steps_ * P::size, ld_); }
  [[nodiscard]] PackMatrix<T> panel() const { return pack_matrix<T>(base_ + (steps_ + reflector_block * ld_) * P::size, ld_); }

 private:
  int m_;
  int ld_;
  int steps_;
  R* base_ = static_cast<R*>(lane_workspace());
};

/// Reflectors k0 and following, a block of them, applied to rows k0 to m - 1 of n columns. They stand in the panel (`kept`) or are read
/// from the matrices in `view`.
template <typename T, bool adjoint>
HWY_INLINE void reflect_with_block(QrSpace<T> const& space, GroupView<T const> const& view, bool kept, int m, int k0, int count,
                                   PackMatrix<T> c, int n) {
  PackMatrix<T> const v = kept ? space.panel().block(k0, k0) : space.block();
  if (!kept) load_group<T>(view.at(k0, k0, Pack<T>::lanes), m - k0, count, v.data, space.ld(), Part::lower);
  reflect<T, adjoint>(v, m - k0, count, space.tau() + k0 * Pack<T>::size, c.block(k0, 0), n);
}

/// Q C or Q^H C for n columns in the workspace, Q with the first k reflectors of `view`.
template <typename T>
HWY_INLINE void apply_q(QrSpace<T> const& space, GroupView<T const> const& view, bool kept, int m, int k, bool adjoint, PackMatrix<T> c,
                        int n) {
  if (adjoint) {
    for (int k0 = 0; k0 < k; k0 += reflector_block)
      reflect_with_block<T, true>(space, view, kept, m, k0, std::min(reflector_block, k - k0), c, n);
  } else {
    for (int k0 = (k - 1) / reflector_block * reflector_block; k0 >= 0 && k > 0; k0 -= reflector_block)
      reflect_with_block<T, false>(space, view, kept, m, k0, std::min(reflector_block, k - k0), c, n);
  }
}

/// QR of a group in place; `beside` further columns, from column n of the workspace on, are multiplied by Q^H where all fits at once.
/// Returns whether it did: then the whole factorization is in the workspace, and not yet stored. before(columns, w): called for the w
/// columns of A in the workspace before they are factored, where all fits at once.
template <typename T, typename Before>
HWY_INLINE bool factor_group(QrSpace<T> const& space, GroupView<T const> const& source, GroupView<T> const& target, int m, int n,
                             int beside, Ahead const& ahead, Before const& before) {
  using P = Pack<T>;
  int const steps = std::min(m, n);
  PackMatrix<T> const panel = space.panel();
  if (n + beside <= space.columns()) {
    load_group<T>(source, m, n, panel.data, space.ld());
    before(panel, n);
    factor_qr<T>(panel, m, n, n + beside, space.tau(), ahead);
    return true;
  }
  int const most = space.columns() / reflector_block * reflector_block;
  for (int j = 0; j < n; j += most) {
    int const w = std::min(most, n - j);
    load_group<T>(source.at(0, j, P::lanes), m, w, panel.data, space.ld());
    apply_q<T>(space, source, false, m, std::min(j, steps), true, panel, w);
    if (j < steps) factor_qr<T>(panel.block(j, 0), m - j, w, w, space.tau() + j * P::size);
    store_group<T>(target.at(0, j, P::lanes), m, w, panel.data, space.ld());
  }
  return false;
}

/// Multiplies the m-by-n matrices of `view` by a power of two, in place.
template <typename T>
HWY_NOINLINE void scale_in_place(QrSpace<T> const& space, GroupView<T const> const& source, GroupView<T> const& target, int m, int n,
                                 typename Pack<T>::V scale) {
  for (int j = 0; j < n; j += space.columns()) {
    int const w = std::min(space.columns(), n - j);
    PackMatrix<T> const panel = space.panel();
    load_group<T>(source.at(0, j, Pack<T>::lanes), m, w, panel.data, space.ld());
    scale_packs<T>(panel, m, w, scale);
    store_group<T>(target.at(0, j, Pack<T>::lanes), m, w, panel.data, space.ld());
  }
}

/// The largest elements of the m-by-n matrices of `view`.
template <typename T>
HWY_NOINLINE typename Pack<T>::V largest_element(QrSpace<T> const& space, GroupView<T const> const& view, int m, int n) {
  auto most = hn::Zero(typename Pack<T>::D());
  for (int j = 0; j < n; j += space.columns()) {
    int const w = std::min(space.columns(), n - j);
    load_group<T>(view.at(0, j, Pack<T>::lanes), m, w, space.panel().data, space.ld());
    most = largest_element<T>(space.panel(), m, w, most);
  }
  return most;
}

/// The taus of k reflectors as packs.
template <typename T>
HWY_INLINE void load_taus(Batch<T const> const& tau, Group const& group, int k, typename Pack<T>::R* HWY_RESTRICT packs) {
  load_group<T>(GroupView<T const>(tau, group, Pack<T>::lanes), k, 1, packs, std::max(k, 1));
}

template <typename T>
void geqrf_lanes(GeqrfTask<T> const& task, std::int64_t begin, std::int64_t end) {
  using P = Pack<T>;
  for_each_group(P::lanes, begin, end, shapes(task.a), geqrf_fits_lanes<T>, [&](Group const& group) HWY_ATTR {
    auto const m = static_cast<int>(task.a.rows_of(group.index[0]));
    auto const n = static_cast<int>(task.a.cols_of(group.index[0]));
    int const steps = std::min(m, n);
    if (steps == 0) return;
    QrSpace<T> const space(m, steps);
    GroupView<T> const target(task.a, group, P::lanes);
    if (factor_group<T>(space, GroupView<T const>(task.a, group, P::lanes), target, m, n, 0,
                        ahead_of(task.a, group, P::lanes, end, blocks_of_qr(m, n)), [](PackMatrix<T>, int) HWY_ATTR {}))
      store_group<T>(target, m, n, space.panel().data, space.ld());
    store_group<T>(GroupView<T>(task.tau, group, P::lanes), steps, 1, space.tau(), steps);
  });
}

template <typename T>
void ormqr_lanes(OrmqrTask<T> const& task, std::int64_t begin, std::int64_t end) {
  using P = Pack<T>;
  for_each_group(P::lanes, begin, end, ormqr_shapes<T>(task.a, task.tau, task.c), ormqr_fits_lanes<T>, [&](Group const& group) HWY_ATTR {
    auto const m = static_cast<int>(task.c.rows_of(group.index[0]));
    auto const n = static_cast<int>(task.c.cols_of(group.index[0]));
    if (m == 0 || n == 0) return;
    auto const k = static_cast<int>(reflectors_of<T>(task.a, task.tau, group.index[0]));
    if (k == 0) return;
    QrSpace<T> const space(m, k);
    GroupView<T const> const a(task.a, group, P::lanes);
    load_taus<T>(task.tau, group, k, space.tau());
    GroupView<T const> const source(task.c, group, P::lanes);
    GroupView<T> const target(task.c, group, P::lanes);
    for (int j = 0; j < n; j += space.columns()) {
      int const w = std::min(space.columns(), n - j);
      load_group<T>(source.at(0, j, P::lanes), m, w, space.panel().data, space.ld());
      apply_q<T>(space, a, false, m, k, task.adjoint, space.panel(), w);
      store_group<T>(target.at(0, j, P::lanes), m, w, space.panel().data, space.ld());
    }
  });
}

template <typename T>
void orgqr_lanes(OrgqrTask<T> const& task, std::int64_t begin, std::int64_t end) {
  using P = Pack<T>;
  for_each_group(P::lanes, begin, end, shapes(task.a, task.tau), geqrf_fits_lanes<T>, [&](Group const& group) HWY_ATTR {
    auto const m = static_cast<int>(task.a.rows_of(group.index[0]));
    auto const n = static_cast<int>(task.a.cols_of(group.index[0]));
    if (n == 0) return;
    auto const k = static_cast<int>(reflectors_of<T>(task.a, task.tau, group.index[0]));
    QrSpace<T> const space(m, k);
    load_taus<T>(task.tau, group, k, space.tau());
    GroupView<T const> const source(task.a, group, P::lanes);
    GroupView<T> const target(task.a, group, P::lanes);
    PackMatrix<T> const q = space.panel();
    // From the last panel to the first: what a panel overwrites are reflectors that those before it do not need.
    int const most = n <= space.columns() ? n : space.columns() / reflector_block * reflector_block;
    for (int j = (n - 1) / most * most; j >= 0; j -= most) {
      int const w = std::min(most, n - j);
      for (int c = 0; c < w; ++c)
        for (int i = 0; i < m; ++i) q.store(i, c, i == j + c ? P::set(T(1)) : P::zero());
      int const last = std::min(k, j + w);  // later reflectors do not touch these columns
      for (int k0 = (last - 1) / reflector_block * reflector_block; k0 >= 0 && last > 0; k0 -= reflector_block) {
        int const first = std::max(0, k0 - j);  // nor this block those before its own
        reflect_with_block<T, false>(space, source, false, m, k0, std::min(reflector_block, k - k0), q.block(0, first), w - first);
      }
      store_group<T>(target.at(0, j, P::lanes), m, w, q.data, space.ld());
    }
  });
}

/// X = R^-1 B or R^-H B for n-by-n R, which stands in the panel (`kept`) or is read from the matrices, a block of columns at a time.
template <typename T, bool adjoint>
HWY_INLINE void solve_r(QrSpace<T> const& space, GroupView<T const> const& view, bool kept, int n, PackMatrix<T> b, int nrhs) {
  constexpr int block = reflector_block;
  for (int done = 0; done < n; done += block) {
    int const j = adjoint ? done : (n - 1 - done) / block * block;
    int const w = std::min(block, n - j);
    PackMatrix<T> const r = kept ? space.panel().block(0, j) : space.block();
    if (!kept) load_group<T>(view.at(0, j, Pack<T>::lanes), j + w, w, r.data, space.ld());
    if constexpr (adjoint)
      solve_adjoint_step<T>(r, j, w, b, nrhs);
    else
      solve_upper_step<T>(r, j, w, b, nrhs);
  }
}

template <typename T>
void gels_lanes(GelsTask<T> const& task, std::int64_t begin, std::int64_t end) {
  using P = Pack<T>;
  constexpr typename P::D d;
  for_each_group(P::lanes, begin, end, shapes(task.a, task.b), gels_fits_lanes<T>, [&](Group const& group) HWY_ATTR {
    std::int64_t const first = group.index[0];
    bool const tall = task.a.rows_of(first) >= task.a.cols_of(first);
    Batch<T> const a = tall ? task.a : conjugate_transposed(task.a);
    auto const m = static_cast<int>(a.rows_of(first));
    auto const n = static_cast<int>(a.cols_of(first));
    auto const nrhs = static_cast<int>(task.b.cols_of(first));
    if (m == 0) {
      write_info<T>(task.info, group, hn::Zero(d));
      return;
    }
    QrSpace<T> const space(m, n);
    GroupView<T const> const factors(a, group, P::lanes);
    GroupView<T const> const source(task.b, group, P::lanes);
    GroupView<T> target(task.b, group, P::lanes);
    // Right-hand sides of tall matrices are multiplied by Q^H while A is factored, as far as they fit beside it.
    int const room = space.columns() - n;
    int const beside = tall && room > 0 ? std::min(room, nrhs) : 0;
    int sides = beside;
    PackMatrix<T> b = space.panel().block(0, n);
    GroupView<T> const stored(a, group, P::lanes);
    auto const one = hn::Set(d, typename P::R(1));
    auto a_scale = one, b_scale = one;
    if (n + beside > space.columns()) {
      a_scale = range_scale<T>(largest_element<T>(space, factors, m, n));
      if (HWY_UNLIKELY(is_scaled<T>(a_scale))) scale_in_place<T>(space, factors, stored, m, n, a_scale);
    }
    auto const load_sides = [&](int j, int count) HWY_ATTR {
      load_group<T>(source.at(0, j, P::lanes), tall ? m : n, count, b.data, space.ld());
      b_scale = range_scale<T>(largest_element<T>(b, tall ? m : n, count, hn::Zero(d)));
      if (HWY_UNLIKELY(is_scaled<T>(b_scale))) scale_packs<T>(b, tall ? m : n, count, b_scale);
    };
    if (beside > 0) load_sides(0, beside);
    bool const whole = factor_group<T>(space, factors, stored, m, n, beside, ahead_of(task.a, group, P::lanes, end, blocks_of_qr(m, n)),
                                       [&](PackMatrix<T> panel, int w) HWY_ATTR {
                                         a_scale = range_scale<T>(largest_element<T>(panel, m, w, hn::Zero(d)));
                                         if (HWY_UNLIKELY(is_scaled<T>(a_scale))) scale_packs<T>(panel, m, w, a_scale);
                                       });
    auto info = hn::Zero(d);
    for (int k = 0; k < n; ++k) {
      Pack<T> diagonal = whole ? space.panel().load(k, k) : Pack<T>::zero();
      if (!whole) {
        load_group<T>(factors.at(k, k, P::lanes), 1, 1, space.block().data, 1);
        diagonal = space.block().load(0, 0);
      }
      info = first_failure<T>(info, is_zero<T>(diagonal), k + 1);
    }
    write_info<T>(task.info, group, info);
    keep_failed<T>(target, info);
    // Where A and right-hand sides fit together A stays, else they have the space for themselves. It is stored when it is not needed any
    // more, since that conjugates it where the batch is conjugated.
    bool const keep = whole && room > 0;
    if (!keep) b = space.panel();
    if (whole && !keep) store_group<T>(stored, m, n, space.panel().data, space.ld());
    int const most = keep ? room : space.columns();
    for (int j = 0; j < nrhs; j += sides) {
      if (j > 0 || beside == 0) {
        sides = std::min(most, nrhs - j);
        load_sides(j, sides);
        if (tall) apply_q<T>(space, factors, keep, m, n, true, b, sides);
      }
      if (tall) {
        solve_r<T, false>(space, factors, keep, n, b, sides);
      } else {
        solve_r<T, true>(space, factors, keep, n, b, sides);
        for (int c = 0; c < sides; ++c)
          for (int i = n; i < m; ++i) b.store(i, c, P::zero());
        apply_q<T>(space, factors, keep, m, n, false, b, sides);
      }
      if (HWY_UNLIKELY(is_scaled<T>(a_scale) || is_scaled<T>(b_scale))) {
        unscale_solution<T>(b, tall ? n : m, sides, a_scale, b_scale);
        if (tall) scale_packs<T>(b.block(n, 0), m - n, sides, hn::Div(one, b_scale));  // what is left of B there
      }
      store_group<T>(target.at(0, j, P::lanes), m, sides, b.data, space.ld());
    }
    if (keep) store_group<T>(stored, m, n, space.panel().data, space.ld());
  });
}

MYRIAD_LANES_IMPLEMENT(geqrf_lanes, GeqrfTask)
MYRIAD_LANES_IMPLEMENT(ormqr_lanes, OrmqrTask)
MYRIAD_LANES_IMPLEMENT(orgqr_lanes, OrgqrTask)
MYRIAD_LANES_IMPLEMENT(gels_lanes, GelsTask)

}  // namespace myriad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace myriad {
MYRIAD_LANES_DISPATCH(geqrf_lanes, GeqrfTask)
MYRIAD_LANES_DISPATCH(ormqr_lanes, OrmqrTask)
MYRIAD_LANES_DISPATCH(orgqr_lanes, OrgqrTask)
MYRIAD_LANES_DISPATCH(gels_lanes, GelsTask)
}  // namespace myriad
#endif
