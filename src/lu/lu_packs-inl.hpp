/// LU factorization, triangular solves and inversion on packs. Included once per SIMD target, hence no plain include guard.

#if defined(MYRIAD_LU_PACKS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef MYRIAD_LU_PACKS_INL_HPP
#undef MYRIAD_LU_PACKS_INL_HPP
#else
#define MYRIAD_LU_PACKS_INL_HPP
#endif

#include <bit>

#include "simd/pack_blas-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace myriad::HWY_NAMESPACE {

/// The rows that some lane picked as pivot in one step, the step's own row left out. Rows are numbered below 64.
template <typename T>
HWY_INLINE std::uint64_t picked_rows(typename Pack<T>::R const* HWY_RESTRICT pivot_rows, int k) {
  std::uint64_t rows = 0;
  for (int lane = 0; lane < Pack<T>::lanes; ++lane) rows |= std::uint64_t{1} << static_cast<int>(pivot_rows[lane]);
  return rows & ~(std::uint64_t{1} << k);
}

/// In N columns, interchanges row k with each lane's pivot row. Only the rows in `rows` are touched: at most one per lane, however many
/// rows there are.
template <typename T, int N>
HWY_INLINE void swap_rows(PackMatrix<T> a, int k, typename Pack<T>::R const* HWY_RESTRICT pivot_rows, std::uint64_t rows) {
  constexpr typename Pack<T>::D d;
  auto const pivot = hn::Load(d, pivot_rows);
  Pack<T> top[N], from[N];
  for (int j = 0; j < N; ++j) from[j] = top[j] = a.load(k, j);
  for (; rows; rows &= rows - 1) {
    int const i = std::countr_zero(rows);
    auto const mask = hn::Eq(pivot, hn::Set(d, static_cast<typename Pack<T>::R>(i)));
    for (int j = 0; j < N; ++j) {
      Pack<T> const x = a.load(i, j);
      from[j] = select(mask, x, from[j]);
      a.store(i, j, select(mask, top[j], x));
    }
  }
  for (int j = 0; j < N; ++j) a.store(k, j, from[j]);
}

/// The interchanges of steps [first, last) (downwards when `backwards`), in n columns.
template <typename T>
HWY_INLINE void swap_rows(PackMatrix<T> a, int n, int first, int last, typename Pack<T>::R const* HWY_RESTRICT pivot_rows,
                          bool backwards = false) {
  constexpr int lanes = Pack<T>::lanes;
  constexpr int width = 4;
  for (int step = first; step < last; ++step) {
    int const k = backwards ? first + last - 1 - step : step;
    std::uint64_t const rows = picked_rows<T>(pivot_rows + k * lanes, k);
    if (!rows) continue;
    int j = 0;
    for (; j + width <= n; j += width) swap_rows<T, width>(a.block(0, j), k, pivot_rows + k * lanes, rows);
    for (; j < n; ++j) swap_rows<T, 1>(a.block(0, j), k, pivot_rows + k * lanes, rows);
  }
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

/// PA = LU of the m-by-n packs in `a`, LAPACK's getrf. `columns` >= n columns take part in interchanges and updates: the columns beyond n
/// are right-hand sides, on return L^-1 P B. pivot_rows: pack k holds each lane's pivot row of step k, counted from zero. Returns info per
/// lane.
///
/// Right-looking in panels, so that the trailing matrix is read and written once a panel.
template <typename T>
HWY_INLINE typename Pack<T>::V factor(PackMatrix<T> a, int m, int n, int columns, bool pivoting,
                                      typename Pack<T>::R* HWY_RESTRICT pivot_rows) {
  using P = Pack<T>;
  using R = typename P::R;
  constexpr typename P::D d;
  constexpr int panel = 4;
  auto info = hn::Zero(d);
  int const steps = std::min(m, n);
  for (int k0 = 0; k0 < steps; k0 += panel) {
    int const k1 = std::min(k0 + panel, steps);
    for (int k = k0; k < k1; ++k) {
      if (pivoting) {
        auto best = abs1(a.load(k, k));
        auto row = hn::Set(d, static_cast<R>(k));
        for (int i = k + 1; i < m; ++i) {
          auto const x = abs1(a.load(i, k));
          auto const larger = hn::Gt(x, best);
          best = hn::IfThenElse(larger, x, best);
          row = hn::IfThenElse(larger, hn::Set(d, static_cast<R>(i)), row);
        }
        hn::Store(row, d, pivot_rows + k * P::lanes);
        swap_rows<T>(a.block(0, k0), k1 - k0, k, k + 1, pivot_rows);
      }
      P const pivot = a.load(k, k);
      auto const zero = is_zero(pivot);
      if (HWY_UNLIKELY(!hn::AllFalse(d, zero)))
        info = hn::IfThenElse(hn::And(zero, hn::Eq(info, hn::Zero(d))), hn::Set(d, static_cast<R>(k + 1)), info);
      // With partial pivoting a zero pivot has only zeros below, which stay; without, the zero is left to make Inf and NaN.
      P const divisor = pivoting ? select(zero, P::set(T(1)), pivot) : pivot;
      scale_by_reciprocal<T>(a.block(k + 1, k), m - k - 1, divisor);
      gemm_sub<T>(m - k - 1, k1 - k - 1, 1, a.block(k + 1, k), a.block(k, k + 1), a.block(k + 1, k + 1));
    }
    if (pivoting) {
      swap_rows<T>(a, k0, k0, k1, pivot_rows);
      swap_rows<T>(a.block(0, k1), columns - k1, k0, k1, pivot_rows);
    }
    // Rows k0 to k1 - 1 of U, then the rest.
    for (int k = k0; k + 1 < k1; ++k) gemm_sub<T>(k1 - k - 1, columns - k1, 1, a.block(k + 1, k), a.block(k, k1), a.block(k + 1, k1));
    gemm_sub<T>(m - k1, columns - k1, k1 - k0, a.block(k1, k0), a.block(k0, k1), a.block(k1, k1));
  }
  return info;
}

/// B = U^-1 B for an n-by-n upper triangle, or B = L^-1 B (lower): forward or backward substitution by columns of B.
/// `conjugated` uses the conjugate of A.
template <typename T, bool upper, bool unit, bool conjugated = false>
HWY_INLINE void solve_triangle(PackMatrix<T> a, int n, PackMatrix<T> b, int nrhs) {
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
HWY_INLINE void solve_packs(Op op, PackMatrix<T> a, int n, typename Pack<T>::R const* HWY_RESTRICT pivot_rows, PackMatrix<T> b, int nrhs) {
  if (op == Op::none) {
    swap_rows<T>(b, nrhs, 0, n, pivot_rows);
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
    swap_rows<T>(b, nrhs, 0, n, pivot_rows, true);
  }
}

/// A^-1 up to the order of its columns, from the factors: U^-1 in place, then X L = U^-1 (LAPACK's getri). `work` holds n packs.
/// Column interchanges are left to the caller.
template <typename T>
HWY_INLINE void invert_packs(PackMatrix<T> a, int n, typename Pack<T>::R* HWY_RESTRICT work) {
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
    gemm_sub<T>(n, 1, n - j - 1, a.block(0, j + 1), column.block(j + 1, 0), a.block(0, j));
  }
}

}  // namespace myriad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard per target
