/// LU factorization, triangular solves and inversion on packs. Included once per SIMD target, hence no plain include guard.

#if defined(MYRIAD_LU_PACKS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef MYRIAD_LU_PACKS_INL_HPP
#undef MYRIAD_LU_PACKS_INL_HPP
#else
#define MYRIAD_LU_PACKS_INL_HPP
#endif

#include <bit>

#include "simd/ahead.hpp"
#include "simd/pack_blas-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace myriad::HWY_NAMESPACE {

/// The pivot rows of one group, counted from zero. Row numbers stay below 64.
template <typename T>
struct Pivots {
  using R = typename Pack<T>::R;
  HWY_ALIGN R rows[64 * Pack<T>::lanes];  ///< pack k: each lane's pivot row of step k
  std::uint64_t picked[64];               ///< the rows below k that some lane picked in step k

  HWY_INLINE R const* of_step(int k) const { return rows + k * Pack<T>::lanes; }
  HWY_INLINE R* of_step(int k) { return rows + k * Pack<T>::lanes; }

  /// Makes `picked[k]` from `rows`.
  HWY_INLINE void note_picked(int k) {
    std::uint64_t set = 0;
    for (int lane = 0; lane < Pack<T>::lanes; ++lane) set |= std::uint64_t{1} << static_cast<int>(of_step(k)[lane]);
    picked[k] = set & ~(std::uint64_t{1} << k);
  }
};

/// In N columns, interchanges row k with each lane's pivot row. Where there are more rows below k than lanes, only the rows that some lane
/// picked are touched. (One lane at a time with a fixed number of steps, to spare the mispredicted end of that loop, was slower at
/// n = 32, since lanes that pick the same row wait for one another's store.)
template <typename T, int N>
HWY_INLINE void swap_row(PackMatrix<T> a, int k, int m, Pivots<T> const& pivots) {
  using R = typename Pack<T>::R;
  constexpr typename Pack<T>::D d;
  Pack<T> top[N], from[N];
  for (int j = 0; j < N; ++j) from[j] = top[j] = a.load(k, j);
  auto const exchange = [&](int i, auto mask) HWY_ATTR {
    for (int j = 0; j < N; ++j) {
      Pack<T> const x = a.load(i, j);
      from[j] = select(mask, x, from[j]);
      a.store(i, j, select(mask, top[j], x));
    }
  };
  auto const pivot = hn::Load(d, pivots.of_step(k));
  if (m - k - 1 <= Pack<T>::lanes) {
    for (int i = k + 1; i < m; ++i) exchange(i, hn::Eq(pivot, hn::Set(d, static_cast<R>(i))));
  } else {
    for (std::uint64_t rows = pivots.picked[k]; rows; rows &= rows - 1) {
      int const i = std::countr_zero(rows);
      exchange(i, hn::Eq(pivot, hn::Set(d, static_cast<R>(i))));
    }
  }
  for (int j = 0; j < N; ++j) a.store(k, j, from[j]);
}

/// The interchanges of steps [first, last) (downwards when `backwards`) in n columns of m rows.
template <typename T>
HWY_NOINLINE void swap_rows(PackMatrix<T> a, int m, int n, int first, int last, Pivots<T> const& pivots, bool backwards = false) {
  constexpr int width = tile_cols<T>;
  auto const step = [&](int s) { return backwards ? first + last - 1 - s : s; };
  int j = 0;
  for (; j + width <= n; j += width)
    for (int s = first; s < last; ++s) swap_row<T, width>(a.block(0, j), step(s), m, pivots);
  for (; j < n; ++j)
    for (int s = first; s < last; ++s) swap_row<T, 1>(a.block(0, j), step(s), m, pivots);
}

/// Scales a column by 1 / pivot. Where that would overflow (the pivot is below the smallest normal number over one), the lane divides
/// instead.
template <typename T>
HWY_INLINE void scale_by_reciprocal(PackMatrix<T> column, int m, Pack<T> pivot) {
  using R = typename Pack<T>::R;
  constexpr typename Pack<T>::D d;
  Pack<T> const r = reciprocal(pivot);
  auto const tiny = hn::Lt(abs1(pivot), hn::Set(d, std::numeric_limits<R>::min()));
  if (HWY_LIKELY(hn::AllFalse(d, tiny))) {
    for (int i = 0; i < m; ++i) column.store(i, 0, mul(column.load(i, 0), r));
  } else {
    for (int i = 0; i < m; ++i) {
      Pack<T> const x = column.load(i, 0);
      column.store(i, 0, select(tiny, divide(x, pivot), mul(x, r)));
    }
  }
}

/// The row of the largest element of column k in rows k to m - 1, per lane; the lowest of equals. A NaN is larger than nothing, and in row
/// k nothing is larger than it.
template <typename T>
HWY_INLINE typename Pack<T>::V find_pivot(PackMatrix<T> a, int k, int m) {
  using R = typename Pack<T>::R;
  constexpr typename Pack<T>::D d;
  // Two independent searches, in every other row each, since a comparison has to wait for the one before it.
  auto best = abs1(a.load(k, k)), best_odd = best;
  auto row = hn::Set(d, static_cast<R>(k)), row_odd = row;
  auto candidate = row;
  auto const one = hn::Set(d, R(1));
  auto const look_at = [&](int i, auto& best_so_far, auto& best_row) HWY_ATTR {
    auto const x = abs1(a.load(i, k));
    candidate = hn::Add(candidate, one);
    auto const larger = hn::Gt(x, best_so_far);
    best_so_far = hn::IfThenElse(larger, x, best_so_far);
    best_row = hn::IfThenElse(larger, candidate, best_row);
  };
  int i = k + 1;
  for (; i + 1 < m; i += 2) {
    look_at(i, best, row);
    look_at(i + 1, best_odd, row_odd);
  }
  if (i < m) look_at(i, best, row);
  auto const equal_and_lower = hn::And(hn::Eq(best_odd, best), hn::Lt(row_odd, row));
  return hn::IfThenElse(hn::Or(hn::Gt(best_odd, best), equal_and_lower), row_odd, row);
}

/// Notes a zero pivot of step k in info and returns what to divide by. With partial pivoting a zero pivot has only zeros below, which stay;
/// without, it is left to make Inf and NaN.
template <typename T>
HWY_INLINE Pack<T> pivot_divisor(Pack<T> pivot, int k, bool pivoting, typename Pack<T>::V& info) {
  constexpr typename Pack<T>::D d;
  auto const zero = is_zero(pivot);
  auto const first = hn::And(zero, hn::Eq(info, hn::Zero(d)));
  info = hn::IfThenElse(first, hn::Set(d, static_cast<typename Pack<T>::R>(k + 1)), info);
  return pivoting ? select(zero, Pack<T>::set(T(1)), pivot) : pivot;
}

/// How `factor` treats a matrix.
struct FactorOptions {
  bool pivoting = true;
  bool keep_lower = true;  ///< false: L is left with its rows in disorder, for callers that only want U and what stands beside it
};

/// PA = LU of the m-by-n packs in `a`, LAPACK's getrf. `columns` >= n columns take part in interchanges and updates: the columns beyond n
/// are right-hand sides, on return L^-1 P B. Returns info per
/// lane.
///
/// Right-looking in panels; all that a panel does to a block of columns is done while the block is in the first cache, and a piece of what
/// lies `ahead` is fetched.
template <typename T>
HWY_NOINLINE typename Pack<T>::V factor(PackMatrix<T> a, int m, int n, int columns, FactorOptions options, Pivots<T>& pivots,
                                        Ahead ahead = {}) {
  using P = Pack<T>;
  constexpr typename P::D d;
  constexpr int panel = 4;
  constexpr int width = tile_cols<T>;
  auto info = hn::Zero(d);
  int const steps = std::min(m, n);
  for (int k0 = 0; k0 < steps; k0 += panel) {
    int const k1 = std::min(k0 + panel, steps);
    for (int k = k0; k < k1; ++k) {
      if (options.pivoting) {
        hn::Store(find_pivot(a, k, m), d, pivots.of_step(k));
        pivots.note_picked(k);
        if (k1 - k0 == panel)
          swap_row<T, panel>(a.block(0, k0), k, m, pivots);
        else
          for (int j = k0; j < k1; ++j) swap_row<T, 1>(a.block(0, j), k, m, pivots);
      }
      scale_by_reciprocal<T>(a.block(k + 1, k), m - k - 1, pivot_divisor(a.load(k, k), k, options.pivoting, info));
      for (int j = k + 1; j < k1; ++j) gemm_sub_strip<T, 1>(m - k - 1, 1, a.block(k + 1, k), a.block(k, j), a.block(k + 1, j));
    }
    auto const update = [&]<int N>(int j) HWY_ATTR {
      ahead.fetch();
      for (int k = k0; k < k1; ++k) {
        if (options.pivoting) swap_row<T, N>(a.block(0, j), k, m, pivots);
      }
      // Rows k0 to k1 - 1 of U, then the rest.
      for (int k = k0; k + 1 < k1; ++k)
        for (int i = k + 1; i < k1; ++i) gemm_sub_tile<T, 1, N, false, false>(1, a.block(i, k), a.block(k, j), a.block(i, j));
      gemm_sub_strip<T, N>(m - k1, k1 - k0, a.block(k1, k0), a.block(k0, j), a.block(k1, j));
    };
    int j = k1;
    for (; j + width <= columns; j += width) update.template operator()<width>(j);
    for (; j < columns; ++j) update.template operator()<1>(j);
  }
  // L's rows are put in order at the end, a block of columns at a time, while it is in the first cache.
  if (options.pivoting && options.keep_lower) {
    for (int j = 0; j < steps; j += panel)
      swap_rows<T>(a.block(0, j), m, std::min(panel, steps - j), std::min(j + panel, steps), steps, pivots);
  }
  return info;
}

/// PA = LU of the N-by-N packs x (x[j][i]: row i of column j) in registers: the arithmetic of `factor` in the same order, unrolled. C - N
/// columns beyond are right-hand sides, which become L^-1 P B. r: the reciprocals of U's diagonal.
template <typename T, int N, int C>
HWY_INLINE typename Pack<T>::V factor_registers(Pack<T> (&x)[C][N], Pack<T> (&r)[N], FactorOptions options, Pivots<T>& pivots) {
  using P = Pack<T>;
  using R = typename P::R;
  constexpr typename P::D d;
  auto info = hn::Zero(d);
#pragma GCC unroll 8
  for (int k = 0; k < N; ++k) {
    if (options.pivoting) {
      auto best = abs1(x[k][k]);
      auto row = hn::Set(d, static_cast<R>(k));
#pragma GCC unroll 8
      for (int i = k + 1; i < N; ++i) {
        auto const size = abs1(x[k][i]);
        auto const larger = hn::Gt(size, best);
        best = hn::IfThenElse(larger, size, best);
        row = hn::IfThenElse(larger, hn::Set(d, static_cast<R>(i)), row);
      }
      hn::Store(row, d, pivots.of_step(k));
      typename P::M picked[N];
#pragma GCC unroll 8
      for (int i = k + 1; i < N; ++i) picked[i] = hn::Eq(row, hn::Set(d, static_cast<R>(i)));
#pragma GCC unroll 9
      for (int j = 0; j < C; ++j) {
        if (j < k && !options.keep_lower) continue;
        P const top = x[j][k];
#pragma GCC unroll 8
        for (int i = k + 1; i < N; ++i) {
          x[j][k] = select(picked[i], x[j][i], x[j][k]);
          x[j][i] = select(picked[i], top, x[j][i]);
        }
      }
    }
    P const divisor = pivot_divisor(x[k][k], k, options.pivoting, info);
    auto const tiny = hn::Lt(abs1(divisor), hn::Set(d, std::numeric_limits<R>::min()));
    r[k] = reciprocal(divisor);
    if (HWY_LIKELY(hn::AllFalse(d, tiny))) {
#pragma GCC unroll 8
      for (int i = k + 1; i < N; ++i) x[k][i] = mul(x[k][i], r[k]);
    } else {
#pragma GCC unroll 8
      for (int i = k + 1; i < N; ++i) x[k][i] = select(tiny, divide(x[k][i], divisor), mul(x[k][i], r[k]));
    }
#pragma GCC unroll 9
    for (int j = k + 1; j < C; ++j)
#pragma GCC unroll 8
      for (int i = k + 1; i < N; ++i) x[j][i] = neg_mul_add(x[k][i], x[j][k], x[j][i]);
  }
  return info;
}

template <typename T, int N, int C>
HWY_INLINE void load_registers(PackMatrix<T> a, Pack<T> (&x)[C][N]) {
#pragma GCC unroll 8
  for (int j = 0; j < N; ++j)
#pragma GCC unroll 8
    for (int i = 0; i < N; ++i) x[j][i] = a.load(i, j);
}
template <typename T, int N, int C>
HWY_INLINE void store_registers(Pack<T> const (&x)[C][N], PackMatrix<T> a) {
#pragma GCC unroll 8
  for (int j = 0; j < N; ++j)
#pragma GCC unroll 8
    for (int i = 0; i < N; ++i) a.store(i, j, x[j][i]);
}

/// `factor` for N-by-N matrices.
template <typename T, int N>
HWY_NOINLINE typename Pack<T>::V factor_fixed(PackMatrix<T> a, FactorOptions options, Pivots<T>& pivots) {
  Pack<T> x[N][N], r[N];
  load_registers<T, N>(a, x);
  auto const info = options.pivoting ? factor_registers<T, N>(x, r, {}, pivots) : factor_registers<T, N>(x, r, {.pivoting = false}, pivots);
  store_registers<T, N>(x, a);
  return info;
}

/// Solves A x = b for N-by-N matrices and one right-hand side, which becomes x. A is overwritten with its factors where `keep_factors`.
template <typename T, int N>
HWY_NOINLINE typename Pack<T>::V solve_fixed(PackMatrix<T> a, typename Pack<T>::R* HWY_RESTRICT b, bool keep_factors, Pivots<T>& pivots) {
  using P = Pack<T>;
  P x[N + 1][N], r[N];
  load_registers<T, N>(a, x);
#pragma GCC unroll 8
  for (int i = 0; i < N; ++i) x[N][i] = P::load(b + i * P::size);
  auto info = hn::Zero(typename P::D());
  if (keep_factors) {
    info = factor_registers<T, N>(x, r, {}, pivots);
    store_registers<T, N>(x, a);
  } else {
    info = factor_registers<T, N>(x, r, {.keep_lower = false}, pivots);
  }
#pragma GCC unroll 8
  for (int k = N - 1; k >= 0; --k) {
    x[N][k] = mul(x[N][k], r[k]);
#pragma GCC unroll 8
    for (int i = 0; i < k; ++i) x[N][i] = neg_mul_add(x[k][i], x[N][k], x[N][i]);
  }
#pragma GCC unroll 8
  for (int i = 0; i < N; ++i) x[N][i].store(b + i * P::size);
  return info;
}

/// Up to this size the algorithms are unrolled for the size at hand. Complex packs fill the registers sooner.
template <typename T>
inline constexpr int unrolled_size = is_complex<T> ? 4 : 8;

/// How often `factor` fetches what lies ahead.
template <typename T>
constexpr int blocks_of_factor(int n) {
  int const blocks = (n + tile_cols<T> - 1) / tile_cols<T>;
  return std::max(1, (n + 3) / 4 * blocks / 2);
}

/// Calls `f.operator()<N>()` where n is a size N for which the algorithms are unrolled, and says whether it is.
template <typename T, int N = unrolled_size<T>, typename F>
HWY_INLINE bool if_unrolled(std::int64_t n, F const& f) {
  if constexpr (N > 1) {
    if (n != N) return if_unrolled<T, N - 1>(n, f);
    f.template operator()<N>();
    return true;
  } else {
    return false;
  }
}

/// `factor` for a square matrix.
template <typename T>
HWY_INLINE typename Pack<T>::V factor_square(PackMatrix<T> a, int n, FactorOptions options, Pivots<T>& pivots, Ahead ahead = {}) {
  typename Pack<T>::V info;
  if (!if_unrolled<T>(n, [&]<int N>() HWY_ATTR { info = factor_fixed<T, N>(a, options, pivots); }))
    info = factor<T>(a, n, n, n, options, pivots, ahead);
  return info;
}

/// B = U^-1 B for an n-by-n upper triangle, or B = L^-1 B (lower): forward or backward substitution by columns of B.
/// `conjugated` uses the conjugate of A.
template <typename T, bool upper, bool unit, bool conjugated = false>
HWY_NOINLINE void solve_triangle(PackMatrix<T> a, int n, PackMatrix<T> b, int nrhs) {
  constexpr int block = 4;
  // Blocks of rows: solved in place, then the others are updated.
  for (int done = 0; done < n; done += block) {
    int const width = std::min(block, n - done);
    int const first = upper ? n - done - width : done;
    for (int step = 0; step < width; ++step) {
      int const k = upper ? first + width - 1 - step : first + step;
      int const i = upper ? first : k + 1;
      int const rest = upper ? k - first : first + width - k - 1;
      if constexpr (!unit) {
        Pack<T> const r = reciprocal(conjugated ? conj(a.load(k, k)) : a.load(k, k));
        for (int j = 0; j < nrhs; ++j) b.store(k, j, mul(b.load(k, j), r));
      }
      gemm_sub<T, conjugated>(rest, nrhs, 1, a.block(i, k), b.block(k, 0), b.block(i, 0));
    }
    if constexpr (upper)
      gemm_sub<T, conjugated>(first, nrhs, width, a.block(0, first), b.block(first, 0), b);
    else
      gemm_sub<T, conjugated>(n - first - width, nrhs, width, a.block(first + width, first), b.block(first, 0), b.block(first + width, 0));
  }
}

/// B = op(A)^-1 B from the factors of `factor`.
template <typename T>
HWY_NOINLINE void solve_packs(Op op, PackMatrix<T> a, int n, Pivots<T> const& pivots, PackMatrix<T> b, int nrhs) {
  if (op == Op::none) {
    swap_rows<T>(b, n, nrhs, 0, n, pivots);
    solve_triangle<T, false, true>(a, n, b, nrhs);
    solve_triangle<T, true, false>(a, n, b, nrhs);
  } else {
    if (is_complex<T> && op == Op::conjugate_transpose) {
      solve_triangle<T, false, false, true>(a.transposed(), n, b, nrhs);
      solve_triangle<T, true, true, true>(a.transposed(), n, b, nrhs);
    } else {
      solve_triangle<T, false, false>(a.transposed(), n, b, nrhs);
      solve_triangle<T, true, true>(a.transposed(), n, b, nrhs);
    }
    swap_rows<T>(b, n, nrhs, 0, n, pivots, true);
  }
}

/// A^-1 up to the order of its columns, from the factors: U^-1 in place, then X L = U^-1 (LAPACK's getri). `work` holds n packs. Column
/// interchanges are left to the caller.
template <typename T>
HWY_NOINLINE void invert_general(PackMatrix<T> a, int n, typename Pack<T>::R* HWY_RESTRICT work) {
  using P = Pack<T>;
  // U^-1, column by column: x_j = -U^-1(0:j, 0:j) u_j / u_jj
  for (int j = 0; j < n; ++j) {
    P const diagonal = reciprocal(a.load(j, j));
    a.store(j, j, diagonal);
    for (int i = 0; i < j; ++i) P(neg(mul(a.load(i, j), diagonal))).store(work + i * P::size);
    for (int i = 0; i < j; ++i) {
      P sum = mul(a.load(i, i), P::load(work + i * P::size));
      for (int k = i + 1; k < j; ++k) sum = mul_add(a.load(i, k), P::load(work + k * P::size), sum);
      a.store(i, j, sum);
    }
  }
  // X L = U^-1, from the last column to the first
  PackMatrix<T> const column{work, P::size, 0};
  for (int j = n - 2; j >= 0; --j) {
    for (int i = j + 1; i < n; ++i) {
      column.store(i, 0, a.load(i, j));
      a.store(i, j, P::zero());
    }
    gemm_sub_strip<T, 1>(n, n - j - 1, a.block(0, j + 1), column.block(j + 1, 0), a.block(0, j));
  }
}

/// `invert_general` in registers. r: the reciprocals of U's diagonal.
template <typename T, int N>
HWY_INLINE void invert_registers(Pack<T> (&x)[N][N], Pack<T> const (&r)[N]) {
  using P = Pack<T>;
#pragma GCC unroll 8
  for (int j = 0; j < N; ++j) {
    x[j][j] = r[j];
    P w[N];
#pragma GCC unroll 8
    for (int i = 0; i < j; ++i) w[i] = neg(mul(x[j][i], r[j]));
#pragma GCC unroll 8
    for (int i = 0; i < j; ++i) {
      P sum = mul(x[i][i], w[i]);
#pragma GCC unroll 8
      for (int k = i + 1; k < j; ++k) sum = mul_add(x[k][i], w[k], sum);
      x[j][i] = sum;
    }
  }
#pragma GCC unroll 8
  for (int j = N - 2; j >= 0; --j) {
    P l[N];
#pragma GCC unroll 8
    for (int i = j + 1; i < N; ++i) {
      l[i] = x[j][i];
      x[j][i] = P::zero();
    }
#pragma GCC unroll 8
    for (int i = 0; i < N; ++i)
#pragma GCC unroll 8
      for (int k = j + 1; k < N; ++k) x[j][i] = neg_mul_add(x[k][i], l[k], x[j][i]);
  }
}

/// A^-1 of N-by-N matrices up to the order of its columns, from A, or where `factored` from the factors.
template <typename T, int N, bool factored>
HWY_NOINLINE typename Pack<T>::V invert_fixed(PackMatrix<T> a, Pivots<T>& pivots) {
  Pack<T> x[N][N], r[N];
  load_registers<T, N>(a, x);
  auto info = hn::Zero(typename Pack<T>::D());
  if constexpr (factored) {
#pragma GCC unroll 8
    for (int k = 0; k < N; ++k) r[k] = reciprocal(x[k][k]);
  } else {
    info = factor_registers<T, N>(x, r, {}, pivots);
  }
  invert_registers<T, N>(x, r);
  store_registers<T, N>(x, a);
  return info;
}

template <typename T>
HWY_INLINE void invert_packs(PackMatrix<T> a, int n, Pivots<T>& pivots, typename Pack<T>::R* HWY_RESTRICT work) {
  if (!if_unrolled<T>(n, [&]<int N>() HWY_ATTR { invert_fixed<T, N, true>(a, pivots); })) invert_general<T>(a, n, work);
}

}  // namespace myriad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard per target
