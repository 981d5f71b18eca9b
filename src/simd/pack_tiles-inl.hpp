/// Building blocks of tiled algorithms on packs. Included once per SIMD target, hence no plain include guard.

#if defined(MYRIAD_SIMD_PACK_TILES_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef MYRIAD_SIMD_PACK_TILES_INL_HPP
#undef MYRIAD_SIMD_PACK_TILES_INL_HPP
#else
#define MYRIAD_SIMD_PACK_TILES_INL_HPP
#endif

#include "simd/pack_blas-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace myriad::HWY_NAMESPACE {

/// c - a conj(b)
template <typename T>
HWY_INLINE Pack<T> neg_mul_conj_add(Pack<T> a, Pack<T> b, Pack<T> c) {
  if constexpr (is_complex<T>)
    return {hn::NegMulAdd(a.im, b.im, hn::NegMulAdd(a.re, b.re, c.re)), hn::MulAdd(a.re, b.im, hn::NegMulAdd(a.im, b.re, c.im))};
  else
    return {hn::NegMulAdd(a.v, b.v, c.v)};
}

/// c + conj(a) b
template <typename T>
HWY_INLINE Pack<T> conj_mul_add(Pack<T> a, Pack<T> b, Pack<T> c) {
  if constexpr (is_complex<T>)
    return {hn::MulAdd(a.im, b.im, hn::MulAdd(a.re, b.re, c.re)), hn::NegMulAdd(a.im, b.re, hn::MulAdd(a.re, b.im, c.im))};
  else
    return {hn::MulAdd(a.v, b.v, c.v)};
}

/// c - a b or c - conj(a) b
template <typename T, bool conj_a>
HWY_INLINE Pack<T> update(Pack<T> a, Pack<T> b, Pack<T> c) {
  if constexpr (conj_a && is_complex<T>)
    return {hn::NegMulAdd(a.im, b.im, hn::NegMulAdd(a.re, b.re, c.re)), hn::MulAdd(a.im, b.re, hn::NegMulAdd(a.re, b.im, c.im))};
  else
    return neg_mul_add(a, b, c);
}

template <typename T>
HWY_INLINE typename Pack<T>::V inverse_of_real(typename Pack<T>::V x) {
  return hn::Div(hn::Set(typename Pack<T>::D(), typename Pack<T>::R(1)), x);
}

/// Calls `f.operator()<N>(i)` for [first, last) in steps of Max, and the remainder in one step.
template <int Max, typename F>
HWY_INLINE void in_steps(int first, int last, F const& f) {
  int i = first;
  for (; last - i >= Max; i += Max) f.template operator()<Max>(i);
  if constexpr (Max > 1) {
    int const rest = last - i;
    if (rest == 1) f.template operator()<1>(i);
    if constexpr (Max > 2)
      if (rest == 2) f.template operator()<2>(i);
    if constexpr (Max > 3)
      if (rest == 3) f.template operator()<3>(i);
    static_assert(Max <= 4);
  }
}

/// Subtracts op(A) times rows [first, last) of B from rows i0 to i0 + M - 1 of N columns of B; if `solve`, then solves with the triangle on
/// A's diagonal there. op conjugates if `conjugated`. divide(k, row) divides row k, N packs, by the diagonal of op(A).
template <typename T, int M, int N, bool upper, bool conjugated, typename Divide>
HWY_INLINE void solve_tile(PackMatrix<T> a, int i0, int first, int last, bool solve, PackMatrix<T> b, Divide const& divide) {
  using P = Pack<T>;
  P x[M][N];
#pragma GCC unroll 4
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < N; ++j) x[i][j] = b.load(i0 + i, j);
  for (std::int64_t p = first; p < last; ++p) {
    P other[N];
#pragma GCC unroll 4
    for (int j = 0; j < N; ++j) other[j] = b.load(p, j);
#pragma GCC unroll 4
    for (int i = 0; i < M; ++i) {
      P const l = a.load(i0 + i, p);
#pragma GCC unroll 4
      for (int j = 0; j < N; ++j) x[i][j] = update<T, conjugated>(l, other[j], x[i][j]);
    }
  }
  if (solve) {
#pragma GCC unroll 4
    for (int step = 0; step < M; ++step) {
      int const k = upper ? M - 1 - step : step;
      divide(i0 + k, x[k]);
#pragma GCC unroll 4
      for (int other = step + 1; other < M; ++other) {
        int const i = upper ? M - 1 - other : other;
        P const l = a.load(i0 + i, i0 + k);
#pragma GCC unroll 4
        for (int j = 0; j < N; ++j) x[i][j] = update<T, conjugated>(l, x[k][j], x[i][j]);
      }
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < N; ++j) b.store(i0 + i, j, x[i][j]);
}

/// solve_tile for an A whose diagonal is real.
template <typename T, int M, int N, bool upper, bool conjugated>
HWY_INLINE void solve_tile(PackMatrix<T> a, int i0, int first, int last, bool solve, PackMatrix<T> b) {
  using R = typename Pack<T>::R;
  solve_tile<T, M, N, upper, conjugated>(a, i0, first, last, solve, b, [&](int k, Pack<T>(&row)[N]) HWY_ATTR {
    Divisor<R> const diagonal(Pack<R>{real_part(a.load(k, k))});
    if (HWY_UNLIKELY(!diagonal.ordinary)) {
#pragma GCC unroll 4
      for (int j = 0; j < N; ++j) row[j] = scale(row[j], diagonal.power);
    }
#pragma GCC unroll 4
    for (int j = 0; j < N; ++j) row[j] = scale(row[j], diagonal.inverse.v);
  });
}

}  // namespace myriad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard per target
