/// Householder reflections on packs. Included once per SIMD target, hence no plain include guard.
///
/// Reflectors are applied four at a time as I - V T V^H, so that what they are applied to is read and written once for all four. A matrix V
/// of reflectors is unit lower trapezoidal: what stands on and above its diagonal is not read.

#if defined(MYRIAD_QR_PACKS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef MYRIAD_QR_PACKS_INL_HPP
#undef MYRIAD_QR_PACKS_INL_HPP
#else
#define MYRIAD_QR_PACKS_INL_HPP
#endif

#include "simd/ahead.hpp"
#include "simd/pack_blas-inl.hpp"
#include "simd/pack_info-inl.hpp"
#include "simd/pack_tiles-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace myriad::HWY_NAMESPACE {

/// Reflectors that are applied together.
inline constexpr int reflector_block = 4;
/// Columns to which they are applied together.
template <typename T>
inline constexpr int reflected_columns = tile_registers / (reflector_block * (is_complex<T> ? 2 : 1));

/// The largest of `most` and the elements (of complex ones, their parts) of m-by-n packs.
template <typename T>
HWY_NOINLINE typename Pack<T>::V largest_element(PackMatrix<T> a, int m, int n, typename Pack<T>::V most) {
  auto other = most;
  for (int j = 0; j < n; ++j) {
    int i = 0;
    for (; i + 1 < m; i += 2) {
      most = hn::Max(most, abs_max(a.load(i, j)));
      other = hn::Max(other, abs_max(a.load(i + 1, j)));
    }
    if (i < m) most = hn::Max(most, abs_max(a.load(i, j)));
  }
  return hn::Max(most, other);
}

/// By which power of two a matrix with that largest element is scaled, per lane (see QrRange).
template <typename T>
HWY_INLINE typename Pack<T>::V range_scale(typename Pack<T>::V largest) {
  using R = typename Pack<T>::R;
  constexpr typename Pack<T>::D d;
  auto const small = hn::And(hn::Lt(largest, hn::Set(d, QrRange<R>::smallest)), hn::Gt(largest, hn::Zero(d)));
  auto const large = hn::And(hn::Gt(largest, hn::Set(d, QrRange<R>::largest)), hn::Le(largest, hn::Set(d, std::numeric_limits<R>::max())));
  auto const scale = hn::IfThenElse(large, hn::Set(d, QrRange<R>::down), hn::Set(d, R(1)));
  return hn::IfThenElse(small, hn::Set(d, QrRange<R>::up), scale);
}

/// Multiplies m-by-n packs by `factor`.
template <typename T>
HWY_NOINLINE void scale_packs(PackMatrix<T> a, int m, int n, typename Pack<T>::V factor) {
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < m; ++i) a.store(i, j, scale(a.load(i, j), factor));
}

/// Whether a lane is scaled.
template <typename T>
HWY_INLINE bool is_scaled(typename Pack<T>::V scale) {
  constexpr typename Pack<T>::D d;
  return !hn::AllTrue(d, hn::Eq(scale, hn::Set(d, typename Pack<T>::R(1))));
}

/// Takes back the scales of A and B from a solution.
template <typename T>
HWY_NOINLINE void unscale_solution(PackMatrix<T> x, int m, int n, typename Pack<T>::V a_scale, typename Pack<T>::V b_scale) {
  constexpr typename Pack<T>::D d;
  auto const one = hn::Set(d, typename Pack<T>::R(1));
  auto const opposite = hn::Eq(a_scale, b_scale);  // they cancel; applied one after the other they could overflow between
  scale_packs<T>(x, m, n, hn::IfThenElse(opposite, one, a_scale));
  scale_packs<T>(x, m, n, hn::IfThenElse(opposite, one, hn::Div(one, b_scale)));
}

/// The sum of squares of rows 1 to m - 1 of a column.
template <typename T>
HWY_INLINE typename Pack<T>::V tail_squares(PackMatrix<T> column, int m) {
  constexpr typename Pack<T>::D d;
  auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  int i = 1;
  for (; m - i >= 4; i += 4) {
    s0 = norm_add<T>(column.load(i, 0), s0);
    s1 = norm_add<T>(column.load(i + 1, 0), s1);
    s2 = norm_add<T>(column.load(i + 2, 0), s2);
    s3 = norm_add<T>(column.load(i + 3, 0), s3);
  }
  for (; i < m; ++i) s0 = norm_add<T>(column.load(i, 0), s0);
  return hn::Add(hn::Add(s0, s1), hn::Add(s2, s3));
}

/// LAPACK's larfg: the reflector H with H^H x = beta e1, beta real. x, of m >= 1 rows, is replaced by beta and v; returns tau.
template <typename T>
HWY_INLINE Pack<T> make_reflector(PackMatrix<T> x, int m) {
  using P = Pack<T>;
  using R = typename P::R;
  constexpr typename P::D d;
  // Between these the sum of squares has lost nothing to underflow or overflow; elsewhere the lane is scaled, the others by one.
  constexpr bool narrow = sizeof(R) == 4;
  auto const low = hn::Set(d, narrow ? R(0x1p-90) : static_cast<R>(0x1p-900));
  auto const high = hn::Set(d, narrow ? R(0x1p100) : static_cast<R>(0x1p900));
  auto const one = hn::Set(d, R(1));
  auto tail = tail_squares<T>(x, m);
  P alpha = x.load(0, 0);
  auto squares = norm_add<T>(alpha, tail);
  auto back = one;
  auto const unsafe = hn::Or(hn::Lt(squares, low), hn::Gt(squares, high));
  if (HWY_UNLIKELY(!hn::AllFalse(d, unsafe))) {
    auto const up = hn::Set(d, narrow ? R(0x1p100) : static_cast<R>(0x1p600));
    auto const down = hn::Set(d, narrow ? R(0x1p-80) : static_cast<R>(0x1p-600));
    auto const factor = hn::IfThenElse(hn::Lt(squares, low), up, hn::IfThenElse(hn::Gt(squares, high), down, one));
    back = hn::Div(one, factor);
    for (int i = 0; i < m; ++i) x.store(i, 0, scale<T>(x.load(i, 0), factor));
    tail = tail_squares<T>(x, m);
    alpha = x.load(0, 0);
    squares = norm_add<T>(alpha, tail);
  }
  auto none = hn::Eq(tail, hn::Zero(d));  // H = I
  if (HWY_UNLIKELY(!hn::AllFalse(d, none))) {
    // The squares may be zero where the elements are not.
    auto largest = hn::Zero(d);
    for (int i = 1; i < m; ++i) largest = hn::Max(largest, abs1<T>(x.load(i, 0)));
    none = hn::And(none, hn::Eq(largest, hn::Zero(d)));
    if constexpr (is_complex<T>) none = hn::And(none, hn::Eq(alpha.im, hn::Zero(d)));
  }
  auto const re = real_part<T>(alpha);
  auto const beta = hn::IfThenElse(none, re, hn::CopySign(hn::Sqrt(squares), hn::Neg(re)));
  P const difference = sub<T>(alpha, from_real<T>(beta));
  P const v_scale = reciprocal<T>(select<T>(none, P::set(T(1)), difference));
  auto const inverse = hn::Div(one, hn::IfThenElse(none, one, beta));
  P const tau = select<T>(none, P::zero(), scale<T>(neg<T>(difference), inverse));
  x.store(0, 0, from_real<T>(hn::Mul(beta, back)));
  for (int i = 1; i < m; ++i) x.store(i, 0, mul<T>(x.load(i, 0), v_scale));
  return tau;
}

/// The upper triangle T of H(0) ... H(N - 1) = I - V T V^H, V with m >= N rows: T(q, c) at t + (q*N + c) packs.
template <typename T, int N>
HWY_INLINE void triangular_factor(PackMatrix<T> v, int m, typename Pack<T>::R const* HWY_RESTRICT tau,
                                  typename Pack<T>::R* HWY_RESTRICT t) {
  using P = Pack<T>;
  P g[N][N];  // V^H V above the diagonal
#pragma GCC unroll 4
  for (int c = 1; c < N; ++c)
#pragma GCC unroll 4
    for (int q = 0; q < c; ++q) {
      g[q][c] = conj<T>(v.load(c, q));
#pragma GCC unroll 4
      for (int i = c + 1; i < N; ++i) g[q][c] = conj_mul_add<T>(v.load(i, q), v.load(i, c), g[q][c]);
    }
  if constexpr (N > 1)
    for (std::int64_t i = N; i < m; ++i) {
      P row[N];
#pragma GCC unroll 4
      for (int c = 0; c < N; ++c) row[c] = v.load(i, c);
#pragma GCC unroll 4
      for (int c = 1; c < N; ++c)
#pragma GCC unroll 4
        for (int q = 0; q < c; ++q) g[q][c] = conj_mul_add<T>(row[q], row[c], g[q][c]);
    }
  P x[N][N];
#pragma GCC unroll 4
  for (int c = 0; c < N; ++c) {
    x[c][c] = P::load(tau + c * P::size);
#pragma GCC unroll 4
    for (int q = 0; q < c; ++q) {
      P sum = mul<T>(x[q][q], g[q][c]);
#pragma GCC unroll 4
      for (int p = q + 1; p < c; ++p) sum = mul_add<T>(x[q][p], g[p][c], sum);
      x[q][c] = neg<T>(mul<T>(sum, x[c][c]));
    }
#pragma GCC unroll 4
    for (int q = 0; q <= c; ++q) x[q][c].store(t + (q * N + c) * P::size);
  }
}

/// C = (I - V T V^H) C, or its adjoint, for N columns C of m rows and B reflectors.
template <typename T, int B, int N, bool adjoint>
HWY_INLINE void reflect_tile(PackMatrix<T> v, int m, typename Pack<T>::R const* HWY_RESTRICT t, PackMatrix<T> c) {
  using P = Pack<T>;
  P w[B][N];
#pragma GCC unroll 4
  for (int q = 0; q < B; ++q)
#pragma GCC unroll 4
    for (int j = 0; j < N; ++j) {
      w[q][j] = c.load(q, j);
#pragma GCC unroll 4
      for (int i = q + 1; i < B; ++i) w[q][j] = conj_mul_add<T>(v.load(i, q), c.load(i, j), w[q][j]);
    }
  for (std::int64_t i = B; i < m; ++i) {
    P row[B];
#pragma GCC unroll 4
    for (int q = 0; q < B; ++q) row[q] = v.load(i, q);
#pragma GCC unroll 4
    for (int j = 0; j < N; ++j) {
      P const x = c.load(i, j);
#pragma GCC unroll 4
      for (int q = 0; q < B; ++q) w[q][j] = conj_mul_add<T>(row[q], x, w[q][j]);
    }
  }
#pragma GCC unroll 4
  for (int step = 0; step < B; ++step) {
    int const q = adjoint ? B - 1 - step : step;
#pragma GCC unroll 4
    for (int j = 0; j < N; ++j) {
      P const diagonal = P::load(t + (q * B + q) * P::size);
      P sum = mul<T>(adjoint ? conj<T>(diagonal) : diagonal, w[q][j]);
#pragma GCC unroll 4
      for (int other = 0; other < B; ++other) {
        if (adjoint && other < q) sum = conj_mul_add<T>(P::load(t + (other * B + q) * P::size), w[other][j], sum);
        if (!adjoint && other > q) sum = mul_add<T>(P::load(t + (q * B + other) * P::size), w[other][j], sum);
      }
      w[q][j] = sum;
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < B; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < N; ++j) {
      P x = sub<T>(c.load(i, j), w[i][j]);
#pragma GCC unroll 4
      for (int q = 0; q < i; ++q) x = neg_mul_add<T>(v.load(i, q), w[q][j], x);
      c.store(i, j, x);
    }
  for (std::int64_t i = B; i < m; ++i) {
    P row[B];
#pragma GCC unroll 4
    for (int q = 0; q < B; ++q) row[q] = v.load(i, q);
#pragma GCC unroll 4
    for (int j = 0; j < N; ++j) {
      P x = c.load(i, j);
#pragma GCC unroll 4
      for (int q = 0; q < B; ++q) x = neg_mul_add<T>(row[q], w[q][j], x);
      c.store(i, j, x);
    }
  }
}

/// Applies H(0) ... H(B - 1) of V, or its adjoint, to n columns.
template <typename T, bool adjoint>
HWY_NOINLINE void reflect(PackMatrix<T> v, int m, int reflectors, typename Pack<T>::R const* HWY_RESTRICT tau, PackMatrix<T> c, int n) {
  using P = Pack<T>;
  HWY_ALIGN typename P::R t[reflector_block * reflector_block * P::size];
  in_steps<reflector_block>(0, reflectors, [&]<int B>(int) HWY_ATTR {
    triangular_factor<T, B>(v, m, tau, t);
    in_steps<reflected_columns<T>>(0, n, [&]<int N>(int j) HWY_ATTR { reflect_tile<T, B, N, adjoint>(v, m, t, c.block(0, j)); });
  });
}

/// How often factor_qr fetches what lies ahead.
constexpr int blocks_of_qr(int m, int n) { return (std::min(m, n) + reflector_block - 1) / reflector_block; }

/// QR of the first n columns of m rows; `columns` >= n columns take part: on those beyond n only Q^H is applied. tau: min(m, n) packs.
/// Meanwhile what lies `ahead` is fetched.
template <typename T>
HWY_NOINLINE void factor_qr(PackMatrix<T> a, int m, int n, int columns, typename Pack<T>::R* HWY_RESTRICT tau, Ahead ahead = {}) {
  using P = Pack<T>;
  int const steps = std::min(m, n);
  for (int k0 = 0; k0 < steps; k0 += reflector_block) {
    int const k1 = std::min(k0 + reflector_block, steps);
    ahead.fetch();
    for (int k = k0; k < k1; ++k) {
      PackMatrix<T> const v = a.block(k, k);
      P const t = make_reflector<T>(v, m - k);
      t.store(tau + k * P::size);
      in_steps<reflected_columns<T>>(
          k + 1, k1, [&]<int N>(int j) HWY_ATTR { reflect_tile<T, 1, N, true>(v, m - k, tau + k * P::size, a.block(k, j)); });
    }
    if (k1 < columns) reflect<T, true>(a.block(k0, k0), m - k0, k1 - k0, tau + k0 * P::size, a.block(k0, k1), columns - k1);
  }
}

/// One step of X = R^-1 B: rows j to j + w - 1 are solved, those above updated. `r`: columns j to j + w - 1 of R, from row 0. The diagonal
/// of R is real.
template <typename T>
HWY_NOINLINE void solve_upper_step(PackMatrix<T> r, int j, int w, PackMatrix<T> b, int nrhs) {
  // The columns as if they stood at column j.
  PackMatrix<T> const a{r.data - j * r.cs, r.rs, r.cs};
  in_steps<4>(0, nrhs, [&]<int N>(int k) HWY_ATTR {
    in_steps<4>(0, w, [&]<int M>(int) HWY_ATTR { solve_tile<T, M, N, true, false>(a, j, 0, 0, true, b.block(0, k)); });
  });
  gemm_sub<T>(j, nrhs, w, r, b.block(j, 0), b);
}

/// One step of X = R^-H B, upwards: rows j to j + w - 1, less what the rows above, solved before, contribute.
template <typename T>
HWY_NOINLINE void solve_adjoint_step(PackMatrix<T> r, int j, int w, PackMatrix<T> b, int nrhs) {
  PackMatrix<T> const a = PackMatrix<T>{r.data - j * r.cs, r.rs, r.cs}.transposed();
  in_steps<4>(0, nrhs, [&]<int N>(int k) HWY_ATTR {
    in_steps<4>(0, w, [&]<int M>(int) HWY_ATTR { solve_tile<T, M, N, false, true>(a, j, 0, j, true, b.block(0, k)); });
  });
}

}  // namespace myriad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard per target
