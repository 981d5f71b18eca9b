#pragma once
/// Checks of singular value decompositions.

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>

#include "check_results.hpp"
#include "core/dtype.hpp"

namespace myriad::cli {

/// norm1(I - X X^H) for the rows of X, or norm1(I - X^H X) for its columns.
template <typename T>
double orthonormality_error(Matrices<T> const& x, std::int64_t b, bool of_rows) {
  Sizes const& sizes = x.sizes();
  std::int64_t const rows = sizes.rows_of(b), cols = sizes.cols_of(b), size = of_rows ? rows : cols;
  T const* const data = x.matrix(b);
  auto const at = [&](std::int64_t i, std::int64_t k) { return of_rows ? data[i * cols + k] : data[k * cols + i]; };
  return product_error<T>(
      size, size, of_rows ? cols : rows, [](std::int64_t i, std::int64_t j) { return T(i == j ? 1 : 0); },
      [&](std::int64_t i, std::int64_t k) { return conjugate(at(i, k)); }, [&](std::int64_t k, std::int64_t j) { return at(j, k); });
}

/// x 2^exponent
template <typename T>
[[nodiscard]] T scaled(T x, int exponent) {
  if constexpr (is_complex<T>)
    return {std::ldexp(x.real(), exponent), std::ldexp(x.imag(), exponent)};
  else
    return std::ldexp(x, exponent);
}

/// The largest of norm1(A - U diag(s) V^H) / norm1(A), norm1(I - U^H U) and norm1(I - V^H V), where A is matrix b of `a` times 2^exponent.
template <typename T>
Verified svd_error(Batch<T const> const& a, Matrices<T> const& u, Matrices<Real<T>> const& s, Matrices<T> const& vt, std::int64_t b,
                   int exponent = 0) {
  std::int64_t const m = a.rows_of(b), n = a.cols_of(b), k = std::min(m, n), ldu = u.sizes().cols_of(b);
  double worst = product_error<T>(
      m, n, k, [&](std::int64_t i, std::int64_t j) { return scaled(Wide<T>(element(a, b, i, j)), exponent); },
      [&](std::int64_t i, std::int64_t l) { return Wide<T>(u.matrix(b)[i * ldu + l]) * Wide<T>(s.matrix(b)[l]); },
      [&](std::int64_t l, std::int64_t j) { return vt.matrix(b)[l * n + j]; });
  keep_larger(worst, orthonormality_error(u, b, false));
  keep_larger(worst, orthonormality_error(vt, b, true));
  return {.error = worst, .bound = rounding_bound<T>(std::max(m, n))};
}

/// norm of a matrix: the root of the sum of squares of x(i, j)
template <typename T, typename X>
[[nodiscard]] Real<Wide<T>> frobenius_norm(std::int64_t rows, std::int64_t cols, X&& x) {
  Real<Wide<T>> sum = 0;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < cols; ++j) sum += std::norm(Wide<T>(x(i, j)));
  return std::sqrt(sum);
}

}  // namespace myriad::cli
