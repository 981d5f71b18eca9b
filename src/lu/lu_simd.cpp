// LU of small matrices, one matrix per vector lane. See simd/pack-inl.hpp for how matrices become packs.

#include "lu/lu.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lu/lu_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "lu/lu_packs-inl.hpp"
#include "lu/solve_column-inl.hpp"
#include "simd/pack-inl.hpp"
#include "simd/pack_info-inl.hpp"
#include "simd/pack_neighbours-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace myriad::HWY_NAMESPACE {

/// Writes the pivots of `steps` steps, counted from one, for the active lanes.
template <typename T>
HWY_NOINLINE void store_pivots(Batch<int> const& batch, Group const& group, int steps, Pivots<T> const& pivots) {
  constexpr typename Pack<T>::D d;
  constexpr hn::Rebind<std::int32_t, typename Pack<T>::D> d32;
  constexpr int lanes = Pack<T>::lanes;
  HWY_ALIGN std::int32_t rows[64 * lanes];
  for (int k = 0; k < steps; ++k) {
    auto const row = hn::Add(hn::Load(d, pivots.of_step(k)), hn::Set(d, typename Pack<T>::R(1)));
    if constexpr (sizeof(typename Pack<T>::R) == 8)
      hn::Store(hn::DemoteTo(d32, row), d32, rows + k * lanes);
    else
      hn::Store(hn::ConvertTo(d32, row), d32, rows + k * lanes);
  }
  for (int lane = 0; lane < group.active; ++lane) {
    std::int64_t const b = group.index[static_cast<std::size_t>(lane)];
    int* const p = batch.matrix(b);
    std::int64_t const step = batch.row_stride_of(b);
    for (int k = 0; k < steps; ++k) p[k * step] = rows[k * lanes + lane];
  }
}

/// Reads the pivots of `steps` steps; without pivots every row stays in its place.
template <typename T>
void load_pivots(Batch<int const> const& batch, Group const& group, int steps, Pivots<T>& pivots) {
  pivots.any_row = false;
  for (int lane = 0; lane < Pack<T>::lanes; ++lane) {
    std::int64_t const b = group.index[static_cast<std::size_t>(lane)];
    int const* const p = batch.data || batch.pointers ? batch.matrix(b) : nullptr;
    std::int64_t const step = p ? batch.row_stride_of(b) : 0;
    for (int k = 0; k < steps; ++k) pivots.of_step(k)[lane] = static_cast<typename Pack<T>::R>(p ? p[k * step] - 1 : k);
  }
  for (int k = 0; k < steps; ++k) {
    pivots.note_picked(k);
    pivots.any_row |= (pivots.picked[k] & ((std::uint64_t{1} << k) - 1)) != 0;
  }
}

/// store_pivots for N steps of neighbours.
template <typename T, int N>
HWY_INLINE void store_pivots_of(Batch<int> const& batch, std::int64_t first, int active, Pivots<T> const& pivots) {
  constexpr typename Pack<T>::D d;
  constexpr hn::Rebind<std::int32_t, typename Pack<T>::D> d32;
  constexpr int lanes = Pack<T>::lanes;
  HWY_ALIGN std::int32_t rows[N * lanes];
#pragma GCC unroll 8
  for (int k = 0; k < N; ++k) {
    auto const row = hn::Add(hn::Load(d, pivots.of_step(k)), hn::Set(d, typename Pack<T>::R(1)));
    if constexpr (sizeof(typename Pack<T>::R) == 8)
      hn::Store(hn::DemoteTo(d32, row), d32, rows + k * lanes);
    else
      hn::Store(hn::ConvertTo(d32, row), d32, rows + k * lanes);
  }
  std::int64_t const step = batch.row_stride;
  int* p = batch.matrix(first);
  for (int lane = 0; lane < active; ++lane) {
#pragma GCC unroll 8
    for (int k = 0; k < N; ++k) p[k * step] = rows[k * lanes + lane];
    p = p + batch.batch_stride;
  }
}

/// Whether neighbours can be found in a batch without looking at each of them.
template <typename T>
bool evenly_spaced(Batch<T> const& batch) {
  return !batch.pointers && !batch.ragged() && !batch.row_strides && !batch.col_strides;
}

template <typename T, int N>
void getrf_neighbours(GetrfTask<T> const& task, std::int64_t begin, std::int64_t end) {
  using P = Pack<T>;
  auto* const ws = static_cast<typename P::R*>(lane_workspace());
  Pivots<T> pivots;
  for (std::int64_t k = begin; k < end; k += P::lanes) {
    Neighbours<T> const a(task.a, k, end);
    a.template load<N * N>(ws);
    a.fetch_behind(N * N);
    auto const info = factor_fixed<T, N>(pack_matrix<T>(ws, N), {.pivoting = task.pivoting}, pivots);
    a.template store<N * N>(ws, a.lanes());
    if (task.pivoting) store_pivots_of<T, N>(task.pivots, k, a.active(), pivots);
    write_info<T>(task.info, k, a.active(), info);
  }
}

template <typename T>
void getrf_lanes(GetrfTask<T> const& task, std::int64_t begin, std::int64_t end) {
  using P = Pack<T>;
  if (in_one_piece(task.a) && task.a.rows == task.a.cols && (!task.pivoting || evenly_spaced(task.pivots)) &&
      if_unrolled<T>(task.a.rows, [&]<int N>() HWY_ATTR { getrf_neighbours<T, N>(task, begin, end); }))
    return;
  auto* const ws = static_cast<typename P::R*>(lane_workspace());
  Pivots<T> pivots;
  for_each_group(P::lanes, begin, end, shapes(task.a), lu_fits_lanes<T>, [&](Group const& group) HWY_ATTR {
    auto const m = static_cast<int>(task.a.rows_of(group.index[0]));
    auto const n = static_cast<int>(task.a.cols_of(group.index[0]));
    int const ld = pack_ld(m);
    load_group<T>(GroupView<T const>(task.a, group, P::lanes), m, n, ws, ld);
    auto const info = m == n ? factor_square<T>(pack_matrix<T>(ws, ld), n, {.pivoting = task.pivoting}, pivots,
                                                ahead_of(task.a, group, P::lanes, end, pieces_of_factor<T>(n)))
                             : factor<T>(pack_matrix<T>(ws, ld), m, n, n, {.pivoting = task.pivoting}, pivots);
    store_group<T>(GroupView<T>(task.a, group, P::lanes), m, n, ws, ld);
    if (task.pivoting) store_pivots<T>(task.pivots, group, std::min(m, n), pivots);
    write_info<T>(task.info, group, info);
  });
}

/// How many right-hand sides fit into the workspace beside an n-by-n matrix.
template <typename T>
int columns_beside(int n) {
  constexpr std::int64_t packs = lane_workspace_bytes / static_cast<std::int64_t>(sizeof(typename Pack<T>::R) * Pack<T>::size);
  return static_cast<int>(packs / std::max(pack_ld(n), 1)) - n;
}

/// Up to so many right-hand sides are solved one by one, which reads the factors once and interleaved ones where they lie.
inline constexpr int few_columns = 2;

template <typename T>
void getrs_lanes(GetrsTask<T> const& task, std::int64_t begin, std::int64_t end) {
  using P = Pack<T>;
  auto* const ws = static_cast<typename P::R*>(lane_workspace());
  Pivots<T> pivots;
  for_each_group(P::lanes, begin, end, shapes(task.a, task.b), lu_fits_lanes<T>, [&](Group const& group) HWY_ATTR {
    auto const n = static_cast<int>(task.b.rows_of(group.index[0]));
    auto const nrhs = static_cast<int>(task.b.cols_of(group.index[0]));
    int const ld = pack_ld(n);
    auto* const b = ws + ld * n * P::size;
    GroupView<T const> const factors(task.a, group, P::lanes);
    GroupView<T> const target(task.b, group, P::lanes);
    GroupView<T const> const source(task.b, group, P::lanes);
    if (nrhs <= few_columns && task.op == Op::none) {
      PackMatrix<T> a = pack_matrix<T>(ws, ld);
      if (auto const* const in_place = packs_in_place<T>(factors))
        a = {const_cast<typename P::R*>(in_place), factors.rs[0], factors.cs[0]};  // only read
      else
        load_group<T>(factors, n, n, ws, ld);
      load_group<T>(source, n, nrhs, b, ld);
      for (int j = 0; j < nrhs; ++j) {
        auto* const x = b + j * ld * P::size;
        swap_column<T>(task.pivots, group, n, x);
        solve_column<T, false, true>(a, n, x);
        solve_column<T, true, false>(a, n, x);
      }
      store_group<T>(target, n, nrhs, b, ld);
      return;
    }
    load_group<T>(factors, n, n, ws, ld);
    load_pivots<T>(task.pivots, group, n, pivots);
    int const most = columns_beside<T>(n);
    for (int j = 0; j < nrhs; j += most) {
      int const width = std::min(most, nrhs - j);
      load_group<T>(source.at(0, j, P::lanes), n, width, b, ld);
      solve_packs<T>(task.op, pack_matrix<T>(ws, ld), n, pivots, pack_matrix<T>(b, ld), width);
      store_group<T>(target.at(0, j, P::lanes), n, width, b, ld);
    }
  });
}

/// A bit for every lane of `mask`.
template <typename T>
HWY_INLINE std::uint32_t lanes_of(typename Pack<T>::M mask) {
  constexpr typename Pack<T>::D d;
  HWY_ALIGN typename Pack<T>::R flag[Pack<T>::lanes];
  hn::Store(hn::IfThenElseZero(mask, hn::Set(d, typename Pack<T>::R(1))), d, flag);
  std::uint32_t lanes = 0;
  for (int lane = 0; lane < Pack<T>::lanes; ++lane)
    if (flag[lane] != 0) lanes |= 1U << lane;
  return lanes;
}

/// Takes the lanes of `mask` out of a view.
template <typename T>
HWY_INLINE void skip_lanes(GroupView<T>& view, typename Pack<T>::M mask) {
  std::uint32_t const lanes = lanes_of<T>(mask);
  for (int lane = 0; lane < Pack<T>::lanes; ++lane)
    if (lanes >> lane & 1) view.skip(lane);
}

template <typename T, int N>
void gesv_neighbours(GesvTask<T> const& task, std::int64_t begin, std::int64_t end) {
  using P = Pack<T>;
  constexpr typename P::D d;
  auto* const ws = static_cast<typename P::R*>(lane_workspace());
  auto* const b = ws + N * N * P::size;
  Pivots<T> pivots;
  for (std::int64_t k = begin; k < end; k += P::lanes) {
    Neighbours<T const> const a(task.a, k, end);
    a.template load<N * N>(ws);
    a.fetch_behind(N * N);
    Neighbours<T const> const right(task.b, k, end);
    right.template load<N>(b);
    right.fetch_behind(N);
    auto const info = solve_fixed<T, N>(pack_matrix<T>(ws, N), b, false, pivots);
    std::uint32_t stored = a.lanes();
    auto const singular = hn::Ne(info, hn::Zero(d));
    if (HWY_UNLIKELY(!hn::AllFalse(d, singular))) {
      if (task.nan_where_singular)
        fill_nan<T>(singular, b, N);
      else
        stored &= ~lanes_of<T>(singular);
    }
    Neighbours<T> const x(task.x, k, end);
    x.template store<N>(b, stored);
    x.fetch_behind(N);
    write_info<T>(task.info, k, a.active(), info);
  }
}

template <typename T>
void gesv_lanes(GesvTask<T> const& task, std::int64_t begin, std::int64_t end) {
  using P = Pack<T>;
  constexpr typename P::D d;
  auto* const ws = static_cast<typename P::R*>(lane_workspace());
  Pivots<T> pivots;
  bool const write_factors = task.factors.data || task.factors.pointers;
  bool const write_pivots = task.pivots.data || task.pivots.pointers;
  if (!write_factors && !write_pivots && task.x.cols == 1 && in_one_piece(task.a) && in_one_piece(task.b) && in_one_piece(task.x) &&
      if_unrolled<T>(task.a.rows, [&]<int N>() HWY_ATTR { gesv_neighbours<T, N>(task, begin, end); }))
    return;
  for_each_group(P::lanes, begin, end, shapes(task.a, task.x), lu_fits_lanes<T>, [&](Group const& group) HWY_ATTR {
    auto const n = static_cast<int>(task.x.rows_of(group.index[0]));
    auto const nrhs = static_cast<int>(task.x.cols_of(group.index[0]));
    int const ld = pack_ld(n);
    auto* const b = ws + ld * n * P::size;
    GroupView<T const> const source(task.b, group, P::lanes);
    GroupView<T> target(task.x, group, P::lanes);
    PackMatrix<T> const a = pack_matrix<T>(ws, ld);
    // The first right-hand sides stand beside A while it is factored, which saves their forward substitution a pass of its own.
    int const most = columns_beside<T>(n);
    int width = std::min(most, nrhs);
    load_group<T>(GroupView<T const>(task.a, group, P::lanes), n, n, ws, ld);
    load_group<T>(source, n, width, b, ld);
    auto info = hn::Zero(d);
    if (!(nrhs == 1 && if_unrolled<T>(n, [&]<int N>() HWY_ATTR { info = solve_fixed<T, N>(a, b, write_factors, pivots); }))) {
      info = factor<T>(a, n, n, n + width, {.keep_lower = write_factors || width < nrhs}, pivots,
                       ahead_of(task.a, group, P::lanes, end, pieces_of_factor<T>(n)));
      if (width <= few_columns)
        for (int j = 0; j < width; ++j) solve_column<T, true, false>(a, n, b + j * ld * P::size);
      else
        solve_triangle<T, true, false>(a, n, pack_matrix<T>(b, ld), width);
    }
    auto const singular = hn::Ne(info, hn::Zero(d));
    bool const any_singular = !hn::AllFalse(d, singular);
    if (any_singular && !task.nan_where_singular) skip_lanes<T>(target, singular);
    for (int j = 0; j < nrhs;) {
      if (any_singular && task.nan_where_singular) fill_nan<T>(singular, b, ld * width);
      store_group<T>(target.at(0, j, P::lanes), n, width, b, ld);
      j += width;
      width = std::min(most, nrhs - j);
      if (width == 0) break;
      load_group<T>(source.at(0, j, P::lanes), n, width, b, ld);
      solve_packs<T>(Op::none, a, n, pivots, pack_matrix<T>(b, ld), width);
    }
    if (write_factors) store_group<T>(GroupView<T>(task.factors, group, P::lanes), n, n, ws, ld);
    if (write_pivots) store_pivots<T>(task.pivots, group, n, pivots);
    write_info<T>(task.info, group, info);
  });
}

/// Where the interchanges of the pivots, undone, take each column.
template <typename T>
struct ColumnPlaces {
  std::uint8_t of[max_lanes][64];

  HWY_INLINE ColumnPlaces(int n, Pivots<T> const& pivots) {
    for (int lane = 0; lane < Pack<T>::lanes; ++lane) {
      for (int k = 0; k < n; ++k) of[lane][k] = static_cast<std::uint8_t>(k);
      for (int k = 0; k < n; ++k) std::swap(of[lane][k], of[lane][static_cast<int>(pivots.of_step(k)[lane])]);
    }
  }
};

/// Takes the columns of n-by-n packs to their places, row by row: faster than one interchange after the other (AVX-512, n = 32: a row-major
/// inverse took 1.28 times as long with these as without interchanges).
template <typename T>
HWY_NOINLINE void interchange_columns(PackMatrix<T> a, int n, Pivots<T> const& pivots) {
  using P = Pack<T>;
  using D = hn::RebindToSigned<typename P::D>;
  ColumnPlaces<T> const place(n, pivots);
  HWY_ALIGN hn::TFromD<D> source[64 * P::lanes];
  for (int k = 0; k < n; ++k)
    for (int lane = 0; lane < P::lanes; ++lane) source[place.of[lane][k] * P::lanes + lane] = static_cast<hn::TFromD<D>>(k * a.cs + lane);
  HWY_ALIGN typename P::R row[64 * P::size];
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) load_rows<T>(a.block(i, 0), hn::Load(D(), source + j * P::lanes), 0).store(row + j * P::size);
    for (int j = 0; j < n; ++j) a.store(i, j, P::load(row + j * P::size));
  }
}

/// Stores an inverse, each of its columns in its place. Column by column, so that nothing is moved for it.
template <typename T>
HWY_INLINE void store_with_columns_interchanged(GroupView<T> const& view, int n, Pivots<T> const& pivots,
                                                typename Pack<T>::R* HWY_RESTRICT ws, int ld) {
  using P = Pack<T>;
  ColumnPlaces<T> const place(n, pivots);
  for (int j = 0; j < n; ++j) {
    GroupView<T> column = view;
    column.adjacent = false;
    for (int lane = 0; lane < P::lanes; ++lane) column.base[lane] += place.of[lane][j] * view.cs[lane];
    store_group<T>(column, n, 1, ws + j * ld * P::size, ld);
  }
}

template <typename T, int N>
void inverse_neighbours(InverseTask<T> const& task, std::int64_t begin, std::int64_t end) {
  using P = Pack<T>;
  using R = typename P::R;
  constexpr typename P::D d;
  constexpr hn::RebindToSigned<typename P::D> integers;
  auto* const ws = static_cast<R*>(lane_workspace());
  Pivots<T> pivots;
  HWY_ALIGN hn::TFromD<decltype(integers)> offset[N * P::lanes];
  for (std::int64_t k = begin; k < end; k += P::lanes) {
    Neighbours<T const> const a(task.a, k, end);
    a.template load<N * N>(ws);
    a.fetch_behind(N * N);
    auto const info = invert_fixed<T, N, false>(pack_matrix<T>(ws, N), pivots);
    auto const singular = hn::Ne(info, hn::Zero(d));
    if (HWY_UNLIKELY(!hn::AllFalse(d, singular))) fill_nan<T>(singular, ws, N * N);
    // Every column goes where the interchanges of the pivots, undone, take it.
    typename P::V column[N];
#pragma GCC unroll 8
    for (int j = 0; j < N; ++j) column[j] = hn::Set(d, static_cast<R>(j * N));
#pragma GCC unroll 8
    for (int j = 0; j < N; ++j) {
      auto const pivot = hn::Load(d, pivots.of_step(j));
      auto const own = column[j];
#pragma GCC unroll 8
      for (int i = j + 1; i < N; ++i) {
        auto const picked = hn::Eq(pivot, hn::Set(d, static_cast<R>(i)));
        column[j] = hn::IfThenElse(picked, column[i], column[j]);
        column[i] = hn::IfThenElse(picked, own, column[i]);
      }
      hn::Store(hn::ConvertTo(integers, column[j]), integers, offset + j * P::lanes);
    }
    Neighbours<T> const x(task.x, k, end);
    x.fetch_behind(N * N);
    for (int j = 0; j < N; ++j)
      x.template store<N>(ws + j * N * P::size, x.lanes(), [&](int lane) HWY_ATTR { return std::int64_t{offset[j * P::lanes + lane]}; });
    write_info<T>(task.info, k, a.active(), info);
  }
}

/// Whether every matrix that is inverted in lanes fits into the workspace beside a panel of four columns.
template <typename T>
constexpr bool panel_fits_beside_inverse() {
  constexpr std::int64_t packs = lane_workspace_bytes / lane_element_bytes<T>;
  for (int n = 1; n <= 64; ++n)
    if (lu_fits_lanes<T>({n, n, 0, 0}) && (pack_ld(n) + 4) * n > packs) return false;
  return true;
}

template <typename T>
void inverse_lanes(InverseTask<T> const& task, std::int64_t begin, std::int64_t end) {
  static_assert(panel_fits_beside_inverse<T>());
  using P = Pack<T>;
  constexpr typename P::D d;
  if (task.factor && in_one_piece(task.a) && in_one_piece(task.x) &&
      if_unrolled<T>(task.a.rows, [&]<int N>() HWY_ATTR { inverse_neighbours<T, N>(task, begin, end); }))
    return;
  auto* const ws = static_cast<typename P::R*>(lane_workspace());
  Pivots<T> pivots;
  for_each_group(P::lanes, begin, end, shapes(task.a), lu_fits_lanes<T>, [&](Group const& group) HWY_ATTR {
    auto const n = static_cast<int>(task.a.rows_of(group.index[0]));
    int const ld = pack_ld(n);
    PackMatrix<T> const packs = pack_matrix<T>(ws, ld);
    GroupView<T> view(task.x, group, P::lanes);
    load_group<T>(GroupView<T const>(task.a, group, P::lanes), n, n, ws, ld);
    auto info = hn::Zero(d);
    if (task.factor) {
      info = factor_square<T>(packs, n, {}, pivots, ahead_of(task.a, group, P::lanes, end, pieces_of_factor<T>(n)));
    } else {
      load_pivots<T>(task.pivots, group, n, pivots);
      for (int k = n - 1; k >= 0; --k)
        info = hn::IfThenElse(is_zero(packs.load(k, k)), hn::Set(d, static_cast<typename P::R>(k + 1)), info);
    }
    invert_packs<T>(packs, n, pivots, ws + ld * n * P::size, ahead_of(task.x, group.index[0], P::lanes, end, 2 * panels_of(n)));
    auto const singular = hn::Ne(info, hn::Zero(d));
    if (!hn::AllFalse(d, singular)) {
      if (task.factor)
        fill_nan<T>(singular, ws, ld * n);
      else
        skip_lanes<T>(view, singular);
    }
    // Columns that lie in one piece are stored where they belong; else they are interchanged before.
    if (view.rs[0] == 1 && !view.adjacent) {
      store_with_columns_interchanged<T>(view, n, pivots, ws, ld);
    } else {
      interchange_columns<T>(packs, n, pivots);
      store_group<T>(view, n, n, ws, ld);
    }
    write_info<T>(task.info, group, info);
  });
}

/// The determinants of those lanes in which no partial product leaves the range. Returns a bit for each of them.
template <typename T>
HWY_INLINE std::uint32_t det_of_factors(DetTask<T> const& task, Group const& group, PackMatrix<T> lu, int n, Pivots<T> const& pivots) {
  using P = Pack<T>;
  using R = typename P::R;
  constexpr typename P::D d;
  constexpr bool narrow = sizeof(R) == 4;
  auto const least = hn::Set(d, narrow ? R(0x1p-90) : static_cast<R>(0x1p-900));
  auto const most = hn::Set(d, narrow ? R(0x1p120) : static_cast<R>(0x1p1000));
  P product = P::set(T(1));
  auto within = hn::Eq(least, least);
  for (int k = 0; k < n; ++k) {
    product = mul(product, lu.load(k, k));
    auto const interchanged = hn::Ne(hn::Load(d, pivots.of_step(k)), hn::Set(d, static_cast<R>(k)));
    product = select(interchanged, neg(product), product);
    auto const size = abs1(product);
    within = hn::And(within, hn::And(hn::Ge(size, least), hn::Le(size, most)));
  }
  HWY_ALIGN R dets[P::size];
  product.store(dets);
  std::uint32_t const lanes = lanes_of<T>(within);
  for (int lane = 0; lane < group.active; ++lane) {
    if (!(lanes >> lane & 1)) continue;
    T& det = task.sign_or_det[group.index[static_cast<std::size_t>(lane)]];
    if constexpr (is_complex<T>)
      det = T(dets[lane], dets[P::lanes + lane]);
    else
      det = dets[lane];
  }
  return lanes;
}

template <typename T>
void det_lanes(DetTask<T> const& task, std::int64_t begin, std::int64_t end) {
  using P = Pack<T>;
  using R = typename P::R;
  auto* const ws = static_cast<R*>(lane_workspace());
  Pivots<T> pivots;
  for_each_group(P::lanes, begin, end, shapes(task.a), lu_fits_lanes<T>, [&](Group const& group) HWY_ATTR {
    auto const n = static_cast<int>(task.a.rows_of(group.index[0]));
    int const ld = pack_ld(n);
    load_group<T>(GroupView<T const>(task.a, group, P::lanes), n, n, ws, ld);
    factor_square<T>(pack_matrix<T>(ws, ld), n, {.keep_lower = false}, pivots,
                     ahead_of(task.a, group, P::lanes, end, pieces_of_factor<T>(n)));
    std::uint32_t const done = task.logabs ? 0 : det_of_factors<T>(task, group, pack_matrix<T>(ws, ld), n, pivots);
    for (int lane = 0; lane < group.active; ++lane) {
      if (done >> lane & 1) continue;
      DiagonalProduct<T> product(task.logabs != nullptr);
      for (int k = 0; k < n; ++k) {
        R const* const u = ws + (k + k * ld) * P::size + lane;
        if constexpr (is_complex<T>)
          product.multiply(T(u[0], u[P::lanes]));
        else
          product.multiply(u[0]);
        if (static_cast<int>(pivots.of_step(k)[lane]) != k) product.negate();
      }
      std::int64_t const b = group.index[static_cast<std::size_t>(lane)];
      task.sign_or_det[b] = product.sign_or_det();
      if (task.logabs) task.logabs[b] = product.logabs();
    }
  });
}

MYRIAD_LANES_IMPLEMENT(getrf_lanes, GetrfTask)
MYRIAD_LANES_IMPLEMENT(getrs_lanes, GetrsTask)
MYRIAD_LANES_IMPLEMENT(gesv_lanes, GesvTask)
MYRIAD_LANES_IMPLEMENT(inverse_lanes, InverseTask)
MYRIAD_LANES_IMPLEMENT(det_lanes, DetTask)

}  // namespace myriad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace myriad {
MYRIAD_LANES_DISPATCH(getrf_lanes, GetrfTask)
MYRIAD_LANES_DISPATCH(getrs_lanes, GetrsTask)
MYRIAD_LANES_DISPATCH(gesv_lanes, GesvTask)
MYRIAD_LANES_DISPATCH(inverse_lanes, InverseTask)
MYRIAD_LANES_DISPATCH(det_lanes, DetTask)
}  // namespace myriad
#endif
