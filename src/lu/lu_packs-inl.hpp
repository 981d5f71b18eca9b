/// LU factorization, triangular solves and inversion on packs. Included once per SIMD target, hence no plain include guard.
///
/// Tried without gain (Xeon with AVX-512):
/// - The four interchanges of a panel as one permutation: as fast up to n = 16, slower above, since it looks at every row.
/// - Prefetching the next columns of a matrix into the L1 cache while it is loaded: no change.

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
  std::uint64_t picked[64];               ///< the rows other than k that some lane picked in step k
  bool any_row = false;                   ///< a pivot may be above its step: pivots are the caller's, not those of a factorization

  HWY_INLINE R const* of_step(int k) const { return rows + k * Pack<T>::lanes; }
  HWY_INLINE R* of_step(int k) { return rows + k * Pack<T>::lanes; }

  /// Makes `picked[k]` from `rows`.
  HWY_INLINE void note_picked(int k) {
    std::uint64_t set = 0;
    for (int lane = 0; lane < Pack<T>::lanes; ++lane) set |= std::uint64_t{1} << static_cast<int>(of_step(k)[lane]);
    picked[k] = set & ~(std::uint64_t{1} << k);
  }
};

/// Interchanges, in N columns, row k with each lane's pivot row. Where there are more rows below k than lanes, or pivots may be above k,
/// only the rows that some lane picked are touched. (One lane at a time with a fixed number of steps, to spare the mispredicted end of that
/// loop, was slower at n = 32, since lanes that pick the same row wait for one another's store.)
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
  if (m - k - 1 <= Pack<T>::lanes && !pivots.any_row) {
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

/// The search for the row of the largest element of a column, per lane; the lowest of equals. A NaN is larger than nothing, and nothing is
/// larger than one in the first row. Two independent searches, in every other row each, since a comparison has to wait for the one
/// before it.
template <typename T>
class PivotSearch {
  using R = typename Pack<T>::R;
  using V = typename Pack<T>::V;
  static constexpr typename Pack<T>::D d{};

 public:
  /// Starts with the element x in row k; the others follow one by one.
  HWY_INLINE PivotSearch(Pack<T> x, int k)
      : best_{abs1(x), abs1(x)}, row_{hn::Set(d, static_cast<R>(k)), hn::Set(d, static_cast<R>(k))}, next_(row_[0]) {}
  template <int which>
  HWY_INLINE void look_at(Pack<T> x) {
    auto const size = abs1(x);
    next_ = hn::Add(next_, hn::Set(d, R(1)));
    auto const larger = hn::Gt(size, best_[which]);
    best_[which] = hn::IfThenElse(larger, size, best_[which]);
    row_[which] = hn::IfThenElse(larger, next_, row_[which]);
  }
  [[nodiscard]] HWY_INLINE V row() const {
    auto const equal_and_lower = hn::And(hn::Eq(best_[1], best_[0]), hn::Lt(row_[1], row_[0]));
    return hn::IfThenElse(hn::Or(hn::Gt(best_[1], best_[0]), equal_and_lower), row_[1], row_[0]);
  }

 private:
  V best_[2], row_[2], next_;
};

/// Rows that differ from lane to lane: where their elements stand in a column of packs, and these elements of column j.
template <typename T>
using RowIndex = hn::Vec<hn::RebindToSigned<typename Pack<T>::D>>;
template <typename T>
HWY_INLINE RowIndex<T> index_of_rows(PackMatrix<T> a, typename Pack<T>::V rows) {
  using R = typename Pack<T>::R;
  constexpr typename Pack<T>::D d;
  return hn::ConvertTo(hn::RebindToSigned<typename Pack<T>::D>(), hn::MulAdd(rows, hn::Set(d, static_cast<R>(a.rs)), hn::Iota(d, 0)));
}
template <typename T>
HWY_INLINE Pack<T> load_rows(PackMatrix<T> a, RowIndex<T> index, int j) {
  using P = Pack<T>;
  constexpr typename P::D d;
  if constexpr (is_complex<T>)
    return {hn::GatherIndex(d, a.at(0, j), index), hn::GatherIndex(d, a.at(0, j) + P::lanes, index)};
  else
    return {hn::GatherIndex(d, a.at(0, j), index)};
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

/// Calls `f.operator()<W>(k)` for the panels of W columns, each from column k on, that `steps` columns are divided into.
template <typename F>
HWY_INLINE void for_each_panel(int steps, F const& f) {
  int k = 0;
  for (; k + 4 <= steps; k += 4) f.template operator()<4>(k);
  for (; k < steps; ++k) f.template operator()<1>(k);
}

/// How `factor` treats a matrix.
struct FactorOptions {
  bool pivoting = true;
  bool keep_lower = true;  ///< false: L is left with its rows in disorder, for callers that only want U and what stands beside it
};

/// Step k of the factorization within a panel of W columns whose S-th is column k, a row at a time: its interchange, the multipliers, and
/// the columns to the right; on the way the search for the next pivot row. Returns that row.
template <typename T, int W, int S, bool pivoting, bool ordinary>
HWY_INLINE typename Pack<T>::V eliminate(PackMatrix<T> panel, int k, int m, typename Pack<T>::V pivot_row, Pack<T> const (&u)[W],
                                         Divisor<T> const& pivot) {
  using P = Pack<T>;
  using R = typename P::R;
  constexpr typename P::D d;
  constexpr int next = S + 1 < W ? S + 1 : S;
  P top[W];
#pragma GCC unroll 4
  for (int j = 0; j < W; ++j) {
    top[j] = panel.load(k, j);
    panel.store(k, j, u[j]);
  }
  auto index = hn::Set(d, static_cast<R>(k));
  auto const row = [&](int i) HWY_ATTR {
    P x[W];
#pragma GCC unroll 4
    for (int j = 0; j < W; ++j) x[j] = panel.load(i, j);
    if constexpr (pivoting) {
      index = hn::Add(index, hn::Set(d, R(1)));
      auto const picked = hn::Eq(index, pivot_row);
#pragma GCC unroll 4
      for (int j = 0; j < W; ++j) x[j] = select(picked, top[j], x[j]);
    }
    if constexpr (!ordinary) x[S] = scale(x[S], pivot.power);
    x[S] = mul(x[S], pivot.inverse);
#pragma GCC unroll 4
    for (int j = S + 1; j < W; ++j) x[j] = neg_mul_add(x[S], u[j], x[j]);
#pragma GCC unroll 4
    for (int j = pivoting ? 0 : S; j < W; ++j) panel.store(i, j, x[j]);
    return x[next];
  };
  if (k + 1 >= m) return hn::Zero(d);
  PivotSearch<T> search(row(k + 1), k + 1);
  int i = k + 2;
  for (; i + 1 < m; i += 2) {
    search.template look_at<0>(row(i));
    search.template look_at<1>(row(i + 1));
  }
  if (i < m) search.template look_at<0>(row(i));
  return search.row();
}

/// Factors a panel of W columns that starts at column k0, in rows k0 to m - 1 (of `panel`, whose rows count from that of the matrix).
template <typename T, int W, bool pivoting>
HWY_NOINLINE typename Pack<T>::V factor_panel(PackMatrix<T> panel, int k0, int m, Pivots<T>& pivots, typename Pack<T>::V info,
                                              Ahead& ahead) {
  using P = Pack<T>;
  using R = typename P::R;
  constexpr typename P::D d;
  auto row = hn::Set(d, static_cast<R>(k0));
  if constexpr (pivoting) {
    PivotSearch<T> search(panel.load(k0, 0), k0);
    int i = k0 + 1;
    for (; i + 1 < m; i += 2) {
      search.template look_at<0>(panel.load(i, 0));
      search.template look_at<1>(panel.load(i + 1, 0));
    }
    if (i < m) search.template look_at<0>(panel.load(i, 0));
    row = search.row();
  }
  auto const step = [&]<int S>() HWY_ATTR {
    int const k = k0 + S;
    ahead.fetch();
    P u[W];
    if constexpr (pivoting) {
      hn::Store(row, d, pivots.of_step(k));
      auto const index = index_of_rows(panel, row);
#pragma GCC unroll 4
      for (int j = 0; j < W; ++j) u[j] = load_rows(panel, index, j);
    } else {
#pragma GCC unroll 4
      for (int j = 0; j < W; ++j) u[j] = panel.load(k, j);
    }
    Divisor<T> const pivot(pivot_divisor(u[S], k, pivoting, info));
    if (HWY_LIKELY(pivot.ordinary))
      row = eliminate<T, W, S, pivoting, true>(panel, k, m, row, u, pivot);
    else
      row = eliminate<T, W, S, pivoting, false>(panel, k, m, row, u, pivot);
    if constexpr (pivoting) pivots.note_picked(k);
  };
  step.template operator()<0>();
  if constexpr (W > 1) step.template operator()<1>();
  if constexpr (W > 2) step.template operator()<2>();
  if constexpr (W > 3) step.template operator()<3>();
  return info;
}

/// What the W steps from k0 on, a panel, do to N columns to its right: interchanges, rows of U, and the rest.
template <typename T, int N, int W, bool pivoting>
HWY_NOINLINE void update_columns(PackMatrix<T> panel, int k0, int m, Pivots<T> const& pivots, PackMatrix<T> c, Ahead& ahead) {
  ahead.fetch();
  int const k1 = k0 + W;
  if (pivoting)
    for (int k = k0; k < k1; ++k) swap_row<T, N>(c, k, m, pivots);
#pragma GCC unroll 4
  for (int j = 0; j < N; ++j) {
    Pack<T> top[W];
#pragma GCC unroll 4
    for (int s = 0; s < W; ++s) {
      top[s] = c.load(k0 + s, j);
#pragma GCC unroll 4
      for (int q = 0; q < s; ++q) top[s] = neg_mul_add(panel.load(k0 + s, q), top[q], top[s]);
      c.store(k0 + s, j, top[s]);
    }
  }
  ahead.fetch();
  gemm_sub_strip<T, N>(m - k1, W, panel.block(k1, 0), c.block(k0, 0), c.block(k1, 0));
}

/// PA = LU of the m-by-n packs in `a`, LAPACK's getrf. `columns` >= n columns take part in interchanges and updates: the columns beyond n
/// are right-hand sides, on return L^-1 P B. Returns info per lane.
///
/// Right-looking in panels; all that a panel does to a block of columns is done while the block is in the first cache, and a piece of what
/// lies `ahead` is fetched.
template <typename T, bool pivoting>
HWY_INLINE typename Pack<T>::V factor_by_panels(PackMatrix<T> a, int m, int n, int columns, Pivots<T>& pivots, Ahead ahead) {
  constexpr int width = tile_cols<T>;
  auto info = hn::Zero(typename Pack<T>::D());
  for_each_panel(std::min(m, n), [&]<int W>(int k0) HWY_ATTR {
    PackMatrix<T> const panel = a.block(0, k0);
    info = factor_panel<T, W, pivoting>(panel, k0, m, pivots, info, ahead);
    int j = k0 + W;
    for (; j + width <= columns; j += width) update_columns<T, width, W, pivoting>(panel, k0, m, pivots, a.block(0, j), ahead);
    for (; j < columns; ++j) update_columns<T, 1, W, pivoting>(panel, k0, m, pivots, a.block(0, j), ahead);
  });
  return info;
}

template <typename T>
HWY_NOINLINE typename Pack<T>::V factor(PackMatrix<T> a, int m, int n, int columns, FactorOptions options, Pivots<T>& pivots,
                                        Ahead ahead = {}) {
  if (!options.pivoting) return factor_by_panels<T, false>(a, m, n, columns, pivots, ahead);
  auto const info = factor_by_panels<T, true>(a, m, n, columns, pivots, ahead);
  // L's rows are put in order at the end, a block of columns at a time, while it is in the first cache.
  int const steps = std::min(m, n);
  if (options.keep_lower) for_each_panel(steps, [&]<int W>(int k) HWY_ATTR { swap_rows<T>(a.block(0, k), m, W, k + W, steps, pivots); });
  return info;
}

/// PA = LU of the N-by-N packs x (x[j][i]: row i of column j) in registers: the arithmetic of `factor` in the same order, unrolled. C - N
/// columns beyond are right-hand sides, which become L^-1 P B. r: the reciprocals of U's diagonal; `ordinary` becomes false where one of
/// them is not to be multiplied by (see Divisor).
template <typename T, int N, int C>
HWY_INLINE typename Pack<T>::V factor_registers(Pack<T> (&x)[C][N], Pack<T> (&r)[N], bool& ordinary, FactorOptions options,
                                                Pivots<T>& pivots) {
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
      if constexpr (N - 1 > P::lanes) pivots.note_picked(k);  // swap_row asks for it only then
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
    Divisor<T> const pivot(pivot_divisor(x[k][k], k, options.pivoting, info));
    r[k] = pivot.inverse;
    if (HWY_UNLIKELY(!pivot.ordinary)) {
      ordinary = false;
      r[k] = pivot.reciprocal();
#pragma GCC unroll 8
      for (int i = k + 1; i < N; ++i) x[k][i] = scale(x[k][i], pivot.power);
    }
#pragma GCC unroll 8
    for (int i = k + 1; i < N; ++i) x[k][i] = mul(x[k][i], pivot.inverse);
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
  bool ordinary = true;
  load_registers<T, N>(a, x);
  auto const info = options.pivoting ? factor_registers<T, N>(x, r, ordinary, {}, pivots)
                                     : factor_registers<T, N>(x, r, ordinary, {.pivoting = false}, pivots);
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
  bool ordinary = true;
  if (keep_factors) {
    info = factor_registers<T, N>(x, r, ordinary, {}, pivots);
    store_registers<T, N>(x, a);
  } else {
    info = factor_registers<T, N>(x, r, ordinary, {.keep_lower = false}, pivots);
  }
#pragma GCC unroll 8
  for (int k = N - 1; k >= 0; --k) {
    x[N][k] = HWY_LIKELY(ordinary) ? mul(x[N][k], r[k]) : Divisor<T>(x[k][k]).divide(x[N][k]);
#pragma GCC unroll 8
    for (int i = 0; i < k; ++i) x[N][i] = neg_mul_add(x[k][i], x[N][k], x[N][i]);
  }
#pragma GCC unroll 8
  for (int i = 0; i < N; ++i) x[N][i].store(b + i * P::size);
  return info;
}

/// How often `factor` fetches what lies ahead, at least: at every step, and twice in every block of columns that a panel updates.
template <typename T>
constexpr int pieces_of_factor(int n) {
  int const blocks = n / tile_cols<T>;
  return std::max(1, n + n / 4 * blocks - blocks);
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
        Divisor<T> const diagonal(conjugated ? conj(a.load(k, k)) : a.load(k, k));
        for (int j = 0; j < nrhs; ++j) b.store(k, j, diagonal.divide(b.load(k, j)));
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

/// How many panels for_each_panel makes.
constexpr int panels_of(int steps) { return steps / 4 + steps % 4; }

/// M rows of U^-1 from row i on, in N columns: `u` holds U in these columns, X what stands to their left, which is done; the rows below are
/// left as they are until then. `last`: the end of what stands to the left.
template <typename T, int M, int N>
HWY_INLINE void invert_upper_tile(PackMatrix<T> inverse, int i, int last, PackMatrix<T> diagonal, PackMatrix<T> u) {
  using P = Pack<T>;
  P x[M][N];
#pragma GCC unroll 4
  for (int r = 0; r < M; ++r)
#pragma GCC unroll 4
    for (int j = 0; j < N; ++j) x[r][j] = P::zero();
      // The triangle of U^-1 in these rows, then what stands to its right
#pragma GCC unroll 4
  for (int k = 0; k < M; ++k)
#pragma GCC unroll 4
    for (int j = 0; j < N; ++j) {
      P const other = u.load(i + k, j);
#pragma GCC unroll 4
      for (int r = 0; r <= k; ++r) x[r][j] = neg_mul_add(inverse.load(i + r, i + k), other, x[r][j]);
    }
  for (int k = i + M; k < last; ++k) {
    P row[M];
#pragma GCC unroll 4
    for (int r = 0; r < M; ++r) row[r] = inverse.load(i + r, k);
#pragma GCC unroll 4
    for (int j = 0; j < N; ++j) {
      P const other = u.load(k, j);
#pragma GCC unroll 4
      for (int r = 0; r < M; ++r) x[r][j] = neg_mul_add(row[r], other, x[r][j]);
    }
  }
  // Times the inverse of the triangle on the diagonal
#pragma GCC unroll 4
  for (int j = N - 1; j >= 0; --j) {
#pragma GCC unroll 4
    for (int r = 0; r < M; ++r) {
      P sum = mul(x[r][j], diagonal.load(j, j));
#pragma GCC unroll 4
      for (int k = 0; k < j; ++k) sum = mul_add(x[r][k], diagonal.load(k, j), sum);
      u.store(i + r, j, sum);
    }
  }
}

/// A^-1 up to the order of its columns, from the factors: U^-1 in place, then X L = U^-1 (LAPACK's getri), both by panels. `work` holds a
/// panel. Column interchanges are left to the caller. Meanwhile what lies `ahead` is fetched, a piece for every panel of both.
template <typename T>
HWY_NOINLINE void invert_general(PackMatrix<T> a, int n, typename Pack<T>::R* HWY_RESTRICT work, Ahead ahead) {
  using P = Pack<T>;
  constexpr int rows = tile_rows<T>;
  for_each_panel(n, [&]<int W>(int j0) HWY_ATTR {
    ahead.fetch();
    PackMatrix<T> const diagonal = a.block(j0, j0);
    // The triangle on the diagonal, column by column: x_j = -U^-1(0:j, 0:j) u_j / u_jj
#pragma GCC unroll 4
    for (int j = 0; j < W; ++j) {
      P const r = reciprocal(diagonal.load(j, j));
      diagonal.store(j, j, r);
      P w[W];
#pragma GCC unroll 4
      for (int i = 0; i < j; ++i) w[i] = neg(mul(diagonal.load(i, j), r));
#pragma GCC unroll 4
      for (int i = 0; i < j; ++i) {
        P sum = mul(diagonal.load(i, i), w[i]);
#pragma GCC unroll 4
        for (int k = i + 1; k < j; ++k) sum = mul_add(diagonal.load(i, k), w[k], sum);
        diagonal.store(i, j, sum);
      }
    }
    int i = 0;
    for (; i + rows <= j0; i += rows) invert_upper_tile<T, rows, W>(a, i, j0, diagonal, a.block(0, j0));
    for (; i < j0; ++i) invert_upper_tile<T, 1, W>(a, i, j0, diagonal, a.block(0, j0));
  });
  // X L = U^-1, from the last panel to the first
  auto const solve = [&]<int W>(int j0) HWY_ATTR {
    ahead.fetch();
    PackMatrix<T> const l = pack_matrix<T>(work, n);  // what stands below U in the panel
    for (int j = 0; j < W; ++j)
      for (int i = j0 + j + 1; i < n; ++i) {
        l.store(i, j, a.load(i, j0 + j));
        a.store(i, j0 + j, P::zero());
      }
    PackMatrix<T> const x = a.block(0, j0);
    int const behind = j0 + W;
    int j = 0;
    constexpr int cols = std::min(W, tile_cols<T>);
    for (; j + cols <= W; j += cols) gemm_sub_strip<T, cols>(n, n - behind, a.block(0, behind), l.block(behind, j), x.block(0, j));
    for (int i = 0; i < n; ++i) {
      P row[W];
#pragma GCC unroll 4
      for (int q = W - 1; q >= 0; --q) {
        row[q] = x.load(i, q);
#pragma GCC unroll 4
        for (int k = q + 1; k < W; ++k) row[q] = neg_mul_add(row[k], l.load(j0 + k, q), row[q]);
        x.store(i, q, row[q]);
      }
    }
  };
  int j0 = n;
  for (; j0 % 4 != 0; --j0) solve.template operator()<1>(j0 - 1);
  for (; j0 > 0; j0 -= 4) solve.template operator()<4>(j0 - 4);
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
    bool ordinary = true;
    info = factor_registers<T, N>(x, r, ordinary, {}, pivots);
  }
  invert_registers<T, N>(x, r);
  store_registers<T, N>(x, a);
  return info;
}

template <typename T>
HWY_INLINE void invert_packs(PackMatrix<T> a, int n, Pivots<T>& pivots, typename Pack<T>::R* HWY_RESTRICT work, Ahead ahead) {
  if (!if_unrolled<T>(n, [&]<int N>() HWY_ATTR { invert_fixed<T, N, true>(a, pivots); })) invert_general<T>(a, n, work, ahead);
}

}  // namespace myriad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard per target
