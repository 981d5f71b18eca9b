/// Cholesky factorization, triangular solves and inversion on packs. Included once per SIMD target, hence no plain include guard.
///
/// Everything goes by tiles that stay in registers from their first load to their only store. Each element is updated in ascending order,
/// one multiply-add at a time, whatever the tiles, so that tiles and panels do not change the bits.

#if defined(MYRIAD_CHOLESKY_PACKS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef MYRIAD_CHOLESKY_PACKS_INL_HPP
#undef MYRIAD_CHOLESKY_PACKS_INL_HPP
#else
#define MYRIAD_CHOLESKY_PACKS_INL_HPP
#endif

#include "simd/ahead.hpp"
#include "simd/pack_blas-inl.hpp"
#include "simd/pack_info-inl.hpp"
#include "simd/pack_tiles-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace myriad::HWY_NAMESPACE {

/// 1 / root of a positive number. The division does not wait for the root, which takes a third off the time between two pivots.
template <typename T>
HWY_INLINE typename Pack<T>::V inverse_of_root(typename Pack<T>::V x, typename Pack<T>::V root) {
  using R = typename Pack<T>::R;
  constexpr typename Pack<T>::D d;
  auto const r = hn::Mul(root, inverse_of_real<T>(x));
  // Where 1 / x overflows, or x is infinite, the lane divides by the root.
  auto const ordinary = hn::And(hn::Ge(x, hn::Set(d, std::numeric_limits<R>::min())), hn::Le(x, hn::Set(d, std::numeric_limits<R>::max())));
  if (HWY_LIKELY(hn::AllTrue(d, ordinary))) return r;
  return hn::IfThenElse(ordinary, r, inverse_of_real<T>(root));
}

/// Makes the root of the pivot x, column `number` counted from one, and returns its reciprocal. A pivot that is not positive goes to info
/// and is replaced by one, so that the lane goes on.
template <typename T>
HWY_INLINE typename Pack<T>::V factor_pivot(Pack<T>& x, int number, typename Pack<T>::V& info) {
  using R = typename Pack<T>::R;
  constexpr typename Pack<T>::D d;
  auto const pivot = real_part(x);
  auto const positive = hn::Gt(pivot, hn::Zero(d));
  info = first_failure<T>(info, hn::Not(positive), number);
  auto const safe_pivot = hn::IfThenElse(positive, pivot, hn::Set(d, R(1)));
  auto const root = hn::Sqrt(safe_pivot);
  x = from_real<T>(root);
  return inverse_of_root<T>(safe_pivot, root);
}

/// Factors the N-by-N tile `c` after k columns, to whose left its rows stand in `l`. inverse: the reciprocals of the diagonal.
/// `number`: of the tile's first column, counted from one.
template <typename T, int N>
HWY_INLINE typename Pack<T>::V factor_diagonal(int k, PackMatrix<T> l, PackMatrix<T> c, typename Pack<T>::R* HWY_RESTRICT inverse,
                                               int number, typename Pack<T>::V info) {
  using P = Pack<T>;
  constexpr typename P::D d;
  P x[N][N];
#pragma GCC unroll 4
  for (int j = 0; j < N; ++j)
#pragma GCC unroll 4
    for (int i = j; i < N; ++i) x[i][j] = c.load(i, j);
  for (std::int64_t p = 0; p < k; ++p) {
    P row[N];
#pragma GCC unroll 4
    for (int i = 0; i < N; ++i) row[i] = l.load(i, p);
#pragma GCC unroll 4
    for (int j = 0; j < N; ++j)
#pragma GCC unroll 4
      for (int i = j; i < N; ++i) x[i][j] = neg_mul_conj_add(row[i], row[j], x[i][j]);
  }
#pragma GCC unroll 4
  for (int j = 0; j < N; ++j) {
    auto const r = factor_pivot<T>(x[j][j], number + j, info);
    hn::Store(r, d, inverse + j * P::lanes);
    c.store(j, j, x[j][j]);
#pragma GCC unroll 4
    for (int i = j + 1; i < N; ++i) {
      x[i][j] = scale(x[i][j], r);
      c.store(i, j, x[i][j]);
    }
#pragma GCC unroll 4
    for (int q = j + 1; q < N; ++q)
#pragma GCC unroll 4
      for (int i = q; i < N; ++i) x[i][q] = neg_mul_conj_add(x[i][j], x[q][j], x[i][q]);
  }
  return info;
}

/// M rows of L below the N-by-N tile `diagonal`, after k columns: their own stand in `l`, those of the diagonal tile in `l_diagonal`.
template <typename T, int M, int N>
HWY_INLINE void factor_below(int k, PackMatrix<T> l, PackMatrix<T> l_diagonal, PackMatrix<T> c, PackMatrix<T> diagonal,
                             typename Pack<T>::R const* HWY_RESTRICT inverse) {
  using P = Pack<T>;
  constexpr typename P::D d;
  P x[M][N];
#pragma GCC unroll 4
  for (int j = 0; j < N; ++j)
#pragma GCC unroll 4
    for (int i = 0; i < M; ++i) x[i][j] = c.load(i, j);
  for (std::int64_t p = 0; p < k; ++p) {
    P row[M];
#pragma GCC unroll 4
    for (int i = 0; i < M; ++i) row[i] = l.load(i, p);
#pragma GCC unroll 4
    for (int j = 0; j < N; ++j) {
      P const other = l_diagonal.load(j, p);
#pragma GCC unroll 4
      for (int i = 0; i < M; ++i) x[i][j] = neg_mul_conj_add(row[i], other, x[i][j]);
    }
  }
#pragma GCC unroll 4
  for (int j = 0; j < N; ++j) {
#pragma GCC unroll 4
    for (int q = 0; q < j; ++q) {
      P const other = diagonal.load(j, q);
#pragma GCC unroll 4
      for (int i = 0; i < M; ++i) x[i][j] = neg_mul_conj_add(x[i][q], other, x[i][j]);
    }
    auto const r = hn::Load(d, inverse + j * P::lanes);
#pragma GCC unroll 4
    for (int i = 0; i < M; ++i) {
      x[i][j] = scale(x[i][j], r);
      c.store(i, j, x[i][j]);
    }
  }
}

/// How often factor_panel fetches what lies ahead, for w columns of as many rows: once for every tile.
template <typename T>
constexpr int tiles_of_panel(int w) {
  int tiles = 0;
  for (int j = 0; j < w; j += tile_cols<T>) tiles += 1 + (std::max(w - j - tile_cols<T>, 0) + tile_rows<T> - 1) / tile_rows<T>;
  return tiles;
}

/// Factors the panel of w columns and m >= w rows; `number`: of its first column, counted from one. Returns info. Meanwhile what lies
/// `ahead` is fetched.
template <typename T>
HWY_NOINLINE typename Pack<T>::V factor_panel(PackMatrix<T> a, int m, int w, int number, typename Pack<T>::V info, Ahead ahead) {
  using P = Pack<T>;
  HWY_ALIGN typename P::R inverse[4 * P::lanes];
  in_steps<tile_cols<T>>(0, w, [&]<int N>(int j) HWY_ATTR {
    ahead.fetch();
    info = factor_diagonal<T, N>(j, a.block(j, 0), a.block(j, j), inverse, number + j, info);
    in_steps<tile_rows<T>>(j + N, m, [&]<int M>(int i) HWY_ATTR {
      ahead.fetch();
      factor_below<T, M, N>(j, a.block(i, 0), a.block(j, 0), a.block(i, j), a.block(j, j), inverse);
    });
  });
  return info;
}

/// factor_panel for N-by-N matrices, in registers: the same arithmetic in the same order.
template <typename T, int N>
HWY_NOINLINE typename Pack<T>::V factor_fixed(PackMatrix<T> a) {
  using P = Pack<T>;
  constexpr typename P::D d;
  auto info = hn::Zero(d);
  P x[N][N];
#pragma GCC unroll 8
  for (int j = 0; j < N; ++j)
#pragma GCC unroll 8
    for (int i = j; i < N; ++i) x[i][j] = a.load(i, j);
#pragma GCC unroll 8
  for (int j = 0; j < N; ++j) {
    auto const r = factor_pivot<T>(x[j][j], j + 1, info);
#pragma GCC unroll 8
    for (int i = j + 1; i < N; ++i) x[i][j] = scale(x[i][j], r);
#pragma GCC unroll 8
    for (int q = j + 1; q < N; ++q)
#pragma GCC unroll 8
      for (int i = q; i < N; ++i) x[i][q] = neg_mul_conj_add(x[i][j], x[q][j], x[i][q]);
  }
#pragma GCC unroll 8
  for (int j = 0; j < N; ++j)
#pragma GCC unroll 8
    for (int i = j; i < N; ++i) a.store(i, j, x[i][j]);
  return info;
}

/// The lower trapezoid of a panel (m rows, w columns) less L_rows L_columns^H, for its rows [first, last). `l` holds k columns of these
/// rows, `l_columns` of the panel's first w rows.
template <typename T>
HWY_NOINLINE void update_panel(PackMatrix<T> a, int w, int first, int last, int k, PackMatrix<T> l, PackMatrix<T> l_columns) {
  in_steps<tile_cols<T>>(0, std::min(w, last), [&]<int N>(int j) HWY_ATTR {
    in_steps<tile_rows<T>>(std::max(first, j), last, [&]<int M>(int i) HWY_ATTR {
      gemm_sub_tile<T, M, N, false, true>(k, l.block(i - first, 0), l_columns.block(j, 0).transposed(), a.block(i, j));
    });
  });
}

/// Forward substitution with a panel of L (w columns, m >= w rows): the first w rows of B are solved, the others updated.
template <typename T>
HWY_NOINLINE void solve_forward(PackMatrix<T> a, int m, int w, PackMatrix<T> b, int nrhs) {
  in_steps<4>(0, nrhs, [&]<int N>(int j) HWY_ATTR {
    constexpr int rows = N == 1 ? 4 : tile_rows<T>;
    PackMatrix<T> const x = b.block(0, j);
    in_steps<rows>(0, w, [&]<int M>(int i) HWY_ATTR { solve_tile<T, M, N, false, false>(a, i, 0, i, true, x); });
    in_steps<rows>(w, m, [&]<int M>(int i) HWY_ATTR { solve_tile<T, M, N, false, false>(a, i, 0, w, false, x); });
  });
}

/// Backward substitution with L^H of the same panel: the first w rows of B are solved, the others are.
template <typename T>
HWY_NOINLINE void solve_backward(PackMatrix<T> a, int m, int w, PackMatrix<T> b, int nrhs) {
  in_steps<4>(0, nrhs, [&]<int N>(int j) HWY_ATTR {
    constexpr int rows = N == 1 ? 4 : tile_rows<T>;
    PackMatrix<T> const x = b.block(0, j);
    PackMatrix<T> const adjoint = a.transposed();
    // From the end: what does not fill a tile comes last, at the top.
    in_steps<rows>(0, w, [&]<int M>(int done) HWY_ATTR { solve_tile<T, M, N, true, true>(adjoint, w - done - M, w - done, m, true, x); });
  });
}

/// L^-1 in place, one tile of columns after the other: what stands to the left of a tile is not needed any more.
template <typename T>
HWY_NOINLINE void invert_lower(PackMatrix<T> a, int n) {
  using P = Pack<T>;
  in_steps<tile_cols<T>>(0, n, [&]<int N>(int j0) HWY_ATTR {
    // The diagonal tile; above its diagonal go zeros, which are multiplied below.
    P x[N][N];
#pragma GCC unroll 4
    for (int j = 0; j < N; ++j) {
      x[j][j] = from_real<T>(inverse_of_real<T>(real_part(a.load(j0 + j, j0 + j))));
#pragma GCC unroll 4
      for (int i = j + 1; i < N; ++i) {
        P sum = P::zero();
#pragma GCC unroll 4
        for (int p = j; p < i; ++p) sum = neg_mul_add(a.load(j0 + i, j0 + p), x[p][j], sum);
        x[i][j] = scale(sum, inverse_of_real<T>(real_part(a.load(j0 + i, j0 + i))));
      }
    }
    auto const store_diagonal = [&]() HWY_ATTR {
      for (int j = 0; j < N; ++j)
        for (int i = 0; i < N; ++i) a.store(j0 + i, j0 + j, i >= j ? x[i][j] : P::zero());
    };
    in_steps<tile_rows<T>>(j0 + N, n, [&]<int M>(int i0) HWY_ATTR {
      P y[M][N];
#pragma GCC unroll 4
      for (int i = 0; i < M; ++i)
#pragma GCC unroll 4
        for (int j = 0; j < N; ++j) {
          y[i][j] = P::zero();
#pragma GCC unroll 4
          for (int p = j; p < N; ++p) y[i][j] = neg_mul_add(a.load(i0 + i, j0 + p), x[p][j], y[i][j]);
        }
      for (std::int64_t p = j0 + N; p < i0; ++p) {
        P other[N];
#pragma GCC unroll 4
        for (int j = 0; j < N; ++j) other[j] = a.load(p, j0 + j);
#pragma GCC unroll 4
        for (int i = 0; i < M; ++i) {
          P const l = a.load(i0 + i, p);
#pragma GCC unroll 4
          for (int j = 0; j < N; ++j) y[i][j] = neg_mul_add(l, other[j], y[i][j]);
        }
      }
#pragma GCC unroll 4
      for (int k = 0; k < M; ++k) {
        auto const r = inverse_of_real<T>(real_part(a.load(i0 + k, i0 + k)));
#pragma GCC unroll 4
        for (int j = 0; j < N; ++j) {
          y[k][j] = scale(y[k][j], r);
          a.store(i0 + k, j0 + j, y[k][j]);
        }
#pragma GCC unroll 4
        for (int i = k + 1; i < M; ++i) {
          P const l = a.load(i0 + i, i0 + k);
#pragma GCC unroll 4
          for (int j = 0; j < N; ++j) y[i][j] = neg_mul_add(l, y[k][j], y[i][j]);
        }
      }
    });
    store_diagonal();
  });
}

/// The lower triangle of L^H L in place, by rows of tiles from the top: those above are not needed any more.
template <typename T>
HWY_NOINLINE void multiply_adjoint_lower(PackMatrix<T> a, int n) {
  using P = Pack<T>;
  constexpr int tile = tile_cols<T>;
  in_steps<tile>(0, n, [&]<int M>(int i0) HWY_ATTR {
    in_steps<tile>(0, i0, [&]<int N>(int j0) HWY_ATTR {
      P x[M][N];
#pragma GCC unroll 4
      for (int i = 0; i < M; ++i)
#pragma GCC unroll 4
        for (int j = 0; j < N; ++j) {
          x[i][j] = P::zero();
#pragma GCC unroll 4
          for (int p = i; p < M; ++p) x[i][j] = conj_mul_add(a.load(i0 + p, i0 + i), a.load(i0 + p, j0 + j), x[i][j]);
        }
      for (std::int64_t p = i0 + M; p < n; ++p) {
        P other[N];
#pragma GCC unroll 4
        for (int j = 0; j < N; ++j) other[j] = a.load(p, j0 + j);
#pragma GCC unroll 4
        for (int i = 0; i < M; ++i) {
          P const l = a.load(p, i0 + i);
#pragma GCC unroll 4
          for (int j = 0; j < N; ++j) x[i][j] = conj_mul_add(l, other[j], x[i][j]);
        }
      }
#pragma GCC unroll 4
      for (int i = 0; i < M; ++i)
#pragma GCC unroll 4
        for (int j = 0; j < N; ++j) a.store(i0 + i, j0 + j, x[i][j]);
    });
    P x[M][M];
#pragma GCC unroll 4
    for (int j = 0; j < M; ++j)
#pragma GCC unroll 4
      for (int i = j; i < M; ++i) {
        x[i][j] = P::zero();
#pragma GCC unroll 4
        for (int p = i; p < M; ++p) x[i][j] = conj_mul_add(a.load(i0 + p, i0 + i), a.load(i0 + p, i0 + j), x[i][j]);
      }
    for (std::int64_t p = i0 + M; p < n; ++p) {
      P row[M];
#pragma GCC unroll 4
      for (int i = 0; i < M; ++i) row[i] = a.load(p, i0 + i);
#pragma GCC unroll 4
      for (int j = 0; j < M; ++j)
#pragma GCC unroll 4
        for (int i = j; i < M; ++i) x[i][j] = conj_mul_add(row[i], row[j], x[i][j]);
    }
#pragma GCC unroll 4
    for (int j = 0; j < M; ++j) {
      a.store(i0 + j, i0 + j, from_real<T>(real_part(x[j][j])));
#pragma GCC unroll 4
      for (int i = j + 1; i < M; ++i) a.store(i0 + i, i0 + j, x[i][j]);
    }
  });
}

}  // namespace myriad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard per target
