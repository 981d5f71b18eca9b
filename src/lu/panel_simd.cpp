// LU of one narrow panel, vectors along its columns.

#include "lu/panel.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lu/panel_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

HWY_BEFORE_NAMESPACE();
namespace myriad::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using lapack::Int;

template <typename T>
HWY_INLINE Real<T> abs1(T x) {
  if constexpr (is_complex<T>)
    return std::abs(x.real()) + std::abs(x.imag());
  else
    return std::abs(x);
}

/// a b, without the look at NaN that std::complex takes.
template <typename T>
HWY_INLINE T product(T a, T b) {
  if constexpr (is_complex<T>)
    return T(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
  else
    return a * b;
}

/// The first of the m elements with the largest abs1; nothing is larger than a NaN in the first place, and a NaN is larger than nothing.
template <typename T>
HWY_INLINE Int largest(T const* x, Int m) {
  if constexpr (is_complex<T>) {
    Int best = 0;
    Real<T> size = abs1(x[0]);
    for (Int i = 1; i < m; ++i)
      if (Real<T> const other = abs1(x[i]); other > size) {
        size = other;
        best = i;
      }
    return best;
  } else {
    using D = hn::ScalableTag<T>;
    constexpr D d;
    constexpr Int lanes = static_cast<Int>(hn::MaxLanes(D()));
    if (std::isnan(x[0])) return 0;
    // Each lane keeps its first largest; what no vector covers comes last.
    auto size = hn::Set(d, T(-1));
    auto row = hn::Zero(d);
    auto candidate = hn::Iota(d, T(0));
    Int i = 0;
    for (; i + lanes <= m; i += lanes) {
      auto const other = hn::Abs(hn::LoadU(d, x + i));
      auto const larger = hn::Gt(other, size);
      size = hn::IfThenElse(larger, other, size);
      row = hn::IfThenElse(larger, candidate, row);
      candidate = hn::Add(candidate, hn::Set(d, static_cast<T>(lanes)));
    }
    HWY_ALIGN T sizes[lanes];
    HWY_ALIGN T rows[lanes];
    hn::Store(size, d, sizes);
    hn::Store(row, d, rows);
    T best_size = -1, best = 0;
    for (Int lane = 0; lane < lanes; ++lane)
      if (sizes[lane] > best_size || (sizes[lane] == best_size && rows[lane] < best)) {
        best_size = sizes[lane];
        best = rows[lane];
      }
    for (; i < m; ++i)
      if (std::abs(x[i]) > best_size) {
        best_size = std::abs(x[i]);
        best = static_cast<T>(i);
      }
    return static_cast<Int>(best);
  }
}

/// y = y - x s for m elements.
template <typename T>
HWY_INLINE void subtract_multiple(T const* HWY_RESTRICT x, T s, T* HWY_RESTRICT y, Int m) {
  if constexpr (is_complex<T>) {
    for (Int i = 0; i < m; ++i) y[i] -= product(x[i], s);
  } else {
    constexpr hn::ScalableTag<T> d;
    constexpr Int lanes = static_cast<Int>(hn::MaxLanes(hn::ScalableTag<T>()));
    auto const factor = hn::Set(d, s);
    Int i = 0;
    for (; i + lanes <= m; i += lanes) hn::StoreU(hn::NegMulAdd(hn::LoadU(d, x + i), factor, hn::LoadU(d, y + i)), d, y + i);
    for (; i < m; ++i) y[i] -= x[i] * s;
  }
}

template <typename T>
void factor_one_panel(PanelTask<T> const& t, std::int64_t, std::int64_t) {
  auto const column = [&](Int j) { return t.a + static_cast<std::int64_t>(j) * t.lda; };
  Int info = 0;
  for (Int k = 0; k < std::min(t.m, t.n); ++k) {
    T* const x = column(k);
    Int const row = k + largest(x + k, t.m - k);
    t.pivots[k] = row + 1;
    if (x[row] == T(0)) {
      if (info == 0) info = k + 1;
      continue;  // zeros below stay
    }
    if (row != k)
      for (Int j = 0; j < t.n; ++j) std::swap(column(j)[k], column(j)[row]);
    T const pivot = x[k];
    if (abs1(pivot) >= std::numeric_limits<Real<T>>::min()) {
      T const reciprocal = T(1) / pivot;
      for (Int i = k + 1; i < t.m; ++i) x[i] = product(x[i], reciprocal);
    } else {
      for (Int i = k + 1; i < t.m; ++i) x[i] /= pivot;
    }
    for (Int j = k + 1; j < t.n; ++j) subtract_multiple(x + k + 1, column(j)[k], column(j) + k + 1, t.m - k - 1);
  }
  *t.info = info;
}

/// Columns of B that are solved side by side.
inline constexpr int side_by_side = 8;

/// `width` columns of B, turned so that each of their rows is a vector: one by one they took much of the time of an LU at n = 64.
template <typename T>
HWY_INLINE void solve_columns(LowerTask<T> const& t, Int first, Int width) {
  using R = Real<T>;
  HWY_ALIGN R re[narrow][side_by_side] = {};
  HWY_ALIGN R im[is_complex<T> ? narrow : 1][side_by_side] = {};
  T* const b = t.b + static_cast<std::int64_t>(first) * t.ldb;
  for (Int j = 0; j < width; ++j)
    for (Int i = 0; i < t.m; ++i) {
      T const x = b[i + static_cast<std::int64_t>(j) * t.ldb];
      re[i][j] = std::real(x);
      if constexpr (is_complex<T>) im[i][j] = std::imag(x);
    }
  for (Int k = 0; k + 1 < t.m; ++k)
    for (Int i = k + 1; i < t.m; ++i) {
      T const l = t.l[i + static_cast<std::int64_t>(k) * t.ldl];
      if constexpr (is_complex<T>) {
        for (int j = 0; j < side_by_side; ++j) {
          re[i][j] -= l.real() * re[k][j] - l.imag() * im[k][j];
          im[i][j] -= l.real() * im[k][j] + l.imag() * re[k][j];
        }
      } else {
        for (int j = 0; j < side_by_side; ++j) re[i][j] -= l * re[k][j];
      }
    }
  for (Int j = 0; j < width; ++j)
    for (Int i = 0; i < t.m; ++i) {
      T& x = b[i + static_cast<std::int64_t>(j) * t.ldb];
      if constexpr (is_complex<T>)
        x = T(re[i][j], im[i][j]);
      else
        x = re[i][j];
    }
}

/// Vectors of one column of a real triangle with `narrow` rows, where the target has them.
template <typename T>
using ColumnTag = hn::CappedTag<Real<T>, narrow>;
template <typename T>
inline constexpr bool column_is_vector = !is_complex<T> && hn::MaxLanes(ColumnTag<T>()) == narrow;

/// W columns of B, each a vector: turning them as in solve_columns costs more than the arithmetic.
template <typename T, int W>
HWY_INLINE void solve_column_vectors(LowerTask<T> const& t, Int first) {
  constexpr ColumnTag<T> d;
  using V = hn::Vec<ColumnTag<T>>;
  constexpr hn::RebindToSigned<ColumnTag<T>> di;
  T* const b = t.b + static_cast<std::int64_t>(first) * t.ldb;
  V x[W];
#pragma GCC unroll 8
  for (int j = 0; j < W; ++j) x[j] = hn::LoadU(d, b + j * static_cast<std::int64_t>(t.ldb));
  auto const rows = hn::Iota(d, T(0));
#pragma GCC unroll 8
  for (int k = 0; k + 1 < narrow; ++k) {
    V const below =
        hn::IfThenElseZero(hn::Gt(rows, hn::Set(d, static_cast<T>(k))), hn::LoadU(d, t.l + k * static_cast<std::int64_t>(t.ldl)));
    auto const row_k = hn::IndicesFromVec(d, hn::Set(di, static_cast<hn::TFromD<decltype(di)>>(k)));
#pragma GCC unroll 8
    for (int j = 0; j < W; ++j) x[j] = hn::NegMulAdd(below, hn::TableLookupLanes(x[j], row_k), x[j]);
  }
#pragma GCC unroll 8
  for (int j = 0; j < W; ++j) hn::StoreU(x[j], d, b + j * static_cast<std::int64_t>(t.ldb));
}

template <typename T>
void solve_one_lower(LowerTask<T> const& t, std::int64_t, std::int64_t) {
  Int j = 0;
  if constexpr (column_is_vector<T>) {
    if (t.m == narrow) {
      for (; j + 4 <= t.n; j += 4) solve_column_vectors<T, 4>(t, j);
      for (; j < t.n; ++j) solve_column_vectors<T, 1>(t, j);
      return;
    }
  }
  for (; j + side_by_side <= t.n; j += side_by_side) solve_columns(t, j, side_by_side);
  if (j < t.n) solve_columns(t, j, t.n - j);
}

MYRIAD_LANES_IMPLEMENT(factor_one_panel, PanelTask)
MYRIAD_LANES_IMPLEMENT(solve_one_lower, LowerTask)

}  // namespace myriad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace myriad {
MYRIAD_LANES_DISPATCH(factor_one_panel, PanelTask)
MYRIAD_LANES_DISPATCH(solve_one_lower, LowerTask)
}  // namespace myriad
#endif
