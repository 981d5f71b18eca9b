#pragma once
/// Triangular solves with LAPACK and BLAS, or by our own substitution where these lose accuracy: BLAS multiplies by reciprocals of the
/// diagonal, which overflow or lose bits if the diagonal is subnormal or, for complex types, near overflow.

#include <complex>
#include <cstdint>
#include <utility>

#include "core/lapack.hpp"
#include "core/scalar.hpp"

namespace myriad {

/// Whether BLAS may multiply by the reciprocals of a column-major matrix's diagonal. Zeros, infinities and NaN do not matter: dividing by
/// them gives no better result.
template <typename T>
bool has_ordinary_diagonal(lapack::Int n, T const* a, lapack::Int lda) {
  for (std::int64_t i = 0; i < n; ++i)
    if (T const x = a[i + i * lda]; !has_ordinary_reciprocal(x) && x != T(0) && is_finite(x)) return false;
  return true;
}

/// The first zero on the diagonal, counted from one; 0 if there is none.
template <typename T>
lapack::Int zero_on_diagonal(lapack::Int n, T const* a, lapack::Int lda) {
  for (std::int64_t i = 0; i < n; ++i)
    if (a[i + i * lda] == T(0)) return static_cast<lapack::Int>(i) + 1;
  return 0;
}

namespace detail {

/// The triangle op(A) of a column-major A; `lower`: whether op(A) is lower.
template <typename T>
struct TriangleView {
  TriangleView(Uplo uplo, Op op, T const* a, lapack::Int lda)
      : data(a),
        rs(op == Op::none ? 1 : lda),
        cs(op == Op::none ? lda : 1),
        conjugated(op == Op::conjugate_transpose),
        lower((uplo == Uplo::lower) == (op == Op::none)) {}
  T operator()(std::int64_t i, std::int64_t j) const {
    T const x = data[i * rs + j * cs];
    if constexpr (is_complex<T>)
      return conjugated ? std::conj(x) : x;
    else
      return x;
  }
  [[nodiscard]] TriangleView transposed() const {
    TriangleView turned = *this;
    std::swap(turned.rs, turned.cs);
    turned.lower = !lower;
    return turned;
  }

  T const* data;
  std::int64_t rs, cs;
  bool conjugated, lower;
};

/// B = A^-1 B for an n-by-n triangle and `sides` columns of B, whose element (i, j) is at i * rs + j * cs.
template <typename T>
void substitute(TriangleView<T> const& a, Diag diag, std::int64_t n, std::int64_t sides, T* b, std::int64_t rs, std::int64_t cs) {
  for (std::int64_t j = 0; j < sides; ++j) {
    T* const x = b + j * cs;
    for (std::int64_t step = 0; step < n; ++step) {
      std::int64_t const k = a.lower ? step : n - 1 - step;
      if (diag == Diag::non_unit) x[k * rs] = divide(x[k * rs], a(k, k));
      std::int64_t const first = a.lower ? k + 1 : 0, last = a.lower ? n : k;
      for (std::int64_t i = first; i < last; ++i) x[i * rs] -= a(i, k) * x[k * rs];
    }
  }
}

}  // namespace detail

/// BLAS's trsm: op(A) X = alpha B or X op(A) = alpha B, X replaces the m-by-n B.
template <Element T>
void solve_triangle(Side side, Uplo uplo, Op op, Diag diag, lapack::Int m, lapack::Int n, T alpha, T const* a, lapack::Int lda, T* b,
                    lapack::Int ldb) {
  if (diag == Diag::unit || alpha == T(0) || has_ordinary_diagonal(side == Side::left ? m : n, a, lda)) {
    lapack::trsm<T>(side, uplo, op, diag, m, n, alpha, a, lda, b, ldb);
    return;
  }
  for (std::int64_t j = 0; j < n && alpha != T(1); ++j)
    for (std::int64_t i = 0; i < m; ++i) b[i + j * ldb] *= alpha;
  detail::TriangleView<T> const triangle(uplo, op, a, lda);
  if (side == Side::left)
    detail::substitute(triangle, diag, m, n, b, 1, ldb);
  else
    detail::substitute(triangle.transposed(), diag, n, m, b, ldb, 1);
}

/// LAPACK's getrs.
template <Element T>
void solve_factored(Op op, lapack::Int n, lapack::Int nrhs, T const* a, lapack::Int lda, lapack::Int const* pivots, T* b, lapack::Int ldb) {
  if (has_ordinary_diagonal(n, a, lda)) {
    lapack::getrs<T>(op, n, nrhs, a, lda, pivots, b, ldb);
    return;
  }
  auto const interchange = [&](lapack::Int k) {
    for (std::int64_t j = 0; j < nrhs && pivots[k] != k + 1; ++j) std::swap(b[k + j * ldb], b[pivots[k] - 1 + j * ldb]);
  };
  for (lapack::Int k = 0; k < n && op == Op::none; ++k) interchange(k);
  for (Uplo const uplo : {op == Op::none ? Uplo::lower : Uplo::upper, op == Op::none ? Uplo::upper : Uplo::lower})
    solve_triangle<T>(Side::left, uplo, op, uplo == Uplo::lower ? Diag::unit : Diag::non_unit, n, nrhs, T(1), a, lda, b, ldb);
  for (lapack::Int k = n - 1; k >= 0 && op != Op::none; --k) interchange(k);
}

/// LAPACK's potrs.
template <Element T>
void solve_by_cholesky(Uplo uplo, lapack::Int n, lapack::Int nrhs, T const* a, lapack::Int lda, T* b, lapack::Int ldb) {
  if (has_ordinary_diagonal(n, a, lda)) {
    lapack::potrs<T>(uplo, n, nrhs, a, lda, b, ldb);
    return;
  }
  Op const first = uplo == Uplo::lower ? Op::none : Op::conjugate_transpose;
  Op const second = uplo == Uplo::lower ? Op::conjugate_transpose : Op::none;
  for (Op const op : {first, second}) solve_triangle<T>(Side::left, uplo, op, Diag::non_unit, n, nrhs, T(1), a, lda, b, ldb);
}

}  // namespace myriad
