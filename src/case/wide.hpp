#pragma once
/// Dense arithmetic of the oracles, in higher precision than the results under test.

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <vector>

#include "myriad/types.hpp"

namespace myriad::cases {

namespace detail {
template <typename T>
struct WideOf;
template <>
struct WideOf<float> {
  using type = double;
};
template <>
struct WideOf<double> {
  using type = long double;
};
template <>
struct WideOf<int> {
  using type = double;
};
template <>
struct WideOf<half> {
  using type = double;
};
template <>
struct WideOf<bfloat16> {
  using type = double;
};
template <>
struct WideOf<complex_half> {
  using type = std::complex<double>;
};
template <typename R>
struct WideOf<std::complex<R>> {
  using type = std::complex<typename WideOf<R>::type>;
};
}  // namespace detail

/// The type of the oracles: double for float and 16-bit types, long double for double, and their complex types.
template <typename T>
using Wide = typename detail::WideOf<T>::type;

template <typename T>
struct RealPart {
  using type = T;
};
template <typename R>
struct RealPart<std::complex<R>> {
  using type = R;
};
template <>
struct RealPart<complex_half> {
  using type = half;
};
/// The real type of any real or complex type.
template <typename W>
using RealPartOf = typename RealPart<W>::type;
template <typename W>
inline constexpr bool complex_type = !std::is_same_v<W, RealPartOf<W>>;

/// Unit roundoff of the element type T.
template <typename T>
inline constexpr double unit_roundoff = static_cast<double>(std::numeric_limits<Real<T>>::epsilon()) / 2;

template <typename W>
RealPartOf<W> modulus(W x) {
  if constexpr (complex_type<W>)
    return std::sqrt(x.real() * x.real() + x.imag() * x.imag());
  else
    return std::abs(x);
}
/// |re| + |im|, by which LAPACK chooses complex pivots.
template <typename W>
RealPartOf<W> modulus1(W x) {
  if constexpr (complex_type<W>)
    return std::abs(x.real()) + std::abs(x.imag());
  else
    return std::abs(x);
}
template <typename W>
W conjugate(W x) {
  if constexpr (complex_type<W>)
    return std::conj(x);
  else
    return x;
}
template <typename W>
RealPartOf<W> real_part(W x) {
  if constexpr (complex_type<W>)
    return x.real();
  else
    return x;
}
template <typename W>
bool is_finite(W x) {
  if constexpr (complex_type<W>)
    return std::isfinite(x.real()) && std::isfinite(x.imag());
  else
    return std::isfinite(x);
}
template <typename W, typename T>
W widened(T x) {
  if constexpr (complex_type<W> && complex_type<T>)
    return {static_cast<RealPartOf<W>>(x.real()), static_cast<RealPartOf<W>>(x.imag())};
  else
    return static_cast<W>(x);
}
/// The distance between numbers of the real type R around x.
template <typename R>
double unit_in_the_last_place(double x) {
  using Limits = std::numeric_limits<R>;
  if (x == 0) return static_cast<double>(Limits::denorm_min());
  int exponent = 0;
  std::frexp(x, &exponent);
  return std::ldexp(1.0, std::max(exponent, Limits::min_exponent) - Limits::digits);
}
/// The largest abs(got - expected) in units in the last place of the 16-bit type T, over real and imaginary part. Numbers too large for T
/// may have become infinite. With `rounded` the expected number is rounded to T.
template <typename T, typename W>
double units_off(W got, W expected, bool rounded) {
  using R = Real<T>;
  auto const of_part = [&](double x, double y) {
    if (rounded) y = static_cast<double>(R(static_cast<float>(y)));
    if (x == y) return 0.0;
    double const unit = unit_in_the_last_place<R>(y);
    double const largest = static_cast<double>(std::numeric_limits<R>::max());
    if (!rounded && std::isinf(x) && std::isfinite(y) && std::signbit(x) == std::signbit(y) && std::abs(y) + unit > largest) return 0.0;
    return std::abs(x - y) / unit;
  };
  if constexpr (complex_type<W>) {
    double const re = of_part(got.real(), expected.real()), im = of_part(got.imag(), expected.imag());
    return re > im || re != re ? re : im;
  } else {
    return of_part(got, expected);
  }
}
/// The larger of two, NaN if one of them is.
inline double larger(double x, double y) { return x > y || x != x ? x : y; }

/// A column-major matrix that owns its elements.
template <typename W>
class Dense {
 public:
  using R = RealPartOf<W>;
  Dense() = default;
  Dense(std::int64_t rows, std::int64_t cols) : rows_(rows), cols_(cols), elements_(static_cast<std::size_t>(rows * cols)) {}
  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] std::int64_t cols() const { return cols_; }
  W& operator()(std::int64_t i, std::int64_t j) { return elements_[static_cast<std::size_t>(i + j * rows_)]; }
  W const& operator()(std::int64_t i, std::int64_t j) const { return elements_[static_cast<std::size_t>(i + j * rows_)]; }
  [[nodiscard]] std::vector<W> const& elements() const { return elements_; }

 private:
  std::int64_t rows_ = 0;
  std::int64_t cols_ = 0;
  std::vector<W> elements_;
};

template <typename W>
Dense<W> identity(std::int64_t n) {
  Dense<W> a(n, n);
  for (std::int64_t i = 0; i < n; ++i) a(i, i) = 1;
  return a;
}
template <typename W>
Dense<W> adjoint(Dense<W> const& a) {
  Dense<W> h(a.cols(), a.rows());
  for (std::int64_t j = 0; j < a.cols(); ++j)
    for (std::int64_t i = 0; i < a.rows(); ++i) h(j, i) = conjugate(a(i, j));
  return h;
}
template <typename W>
Dense<W> transpose(Dense<W> const& a) {
  Dense<W> t(a.cols(), a.rows());
  for (std::int64_t j = 0; j < a.cols(); ++j)
    for (std::int64_t i = 0; i < a.rows(); ++i) t(j, i) = a(i, j);
  return t;
}
template <typename W>
Dense<W> applied(Op op, Dense<W> const& a) {
  return op == Op::none ? a : op == Op::transpose ? transpose(a) : adjoint(a);
}
/// Sums are kept in registers: this dominates the time of many tests, and storing a long double takes as long as multiplying several.
template <typename W>
Dense<W> operator*(Dense<W> const& a, Dense<W> const& b) {
  Dense<W> c(a.rows(), b.cols());
  for (std::int64_t j = 0; j < b.cols(); ++j)
    for (std::int64_t i = 0; i < a.rows(); ++i) {
      W sum(0);
      for (std::int64_t p = 0; p < a.cols(); ++p) sum += a(i, p) * b(p, j);
      c(i, j) = sum;
    }
  return c;
}
template <typename W>
Dense<W> operator-(Dense<W> a, Dense<W> const& b) {
  for (std::int64_t j = 0; j < a.cols(); ++j)
    for (std::int64_t i = 0; i < a.rows(); ++i) a(i, j) -= b(i, j);
  return a;
}
/// Elementwise moduli.
template <typename W>
Dense<RealPartOf<W>> moduli(Dense<W> const& a) {
  Dense<RealPartOf<W>> r(a.rows(), a.cols());
  for (std::int64_t j = 0; j < a.cols(); ++j)
    for (std::int64_t i = 0; i < a.rows(); ++i) r(i, j) = modulus(a(i, j));
  return r;
}
/// Sum of moduli of one column; a NaN makes it NaN.
template <typename W>
RealPartOf<W> column_norm1(Dense<W> const& a, std::int64_t j) {
  RealPartOf<W> sum = 0;
  for (std::int64_t i = 0; i < a.rows(); ++i) sum += modulus(a(i, j));
  return sum;
}
template <typename W>
RealPartOf<W> column_norm2(Dense<W> const& a, std::int64_t j) {
  RealPartOf<W> sum = 0;
  for (std::int64_t i = 0; i < a.rows(); ++i) sum += modulus(a(i, j)) * modulus(a(i, j));
  return std::sqrt(sum);
}
/// Largest column sum; a NaN makes it NaN.
template <typename W>
RealPartOf<W> norm1(Dense<W> const& a) {
  RealPartOf<W> norm = 0;
  for (std::int64_t j = 0; j < a.cols(); ++j) {
    auto const sum = column_norm1(a, j);
    if (sum > norm || sum != sum) norm = sum;
    if (norm != norm) return norm;
  }
  return norm;
}
template <typename W>
bool all_finite(Dense<W> const& a) {
  return std::all_of(a.elements().begin(), a.elements().end(), [](W const& x) { return is_finite(x); });
}
/// x / y for quotients of norms: 0 / 0 is 0.
template <typename R>
double quotient(R x, R y) {
  return x == 0 && y == 0 ? 0.0 : static_cast<double>(x / y);
}

/// Interchanges rows by LAPACK's pivots (counted from one), first to last or, with `undo`, last to first. Pivots out of range are skipped.
template <typename W>
void interchange_rows(Dense<W>& a, std::vector<int> const& pivots, bool undo) {
  auto const count = static_cast<std::int64_t>(pivots.size());
  for (std::int64_t s = 0; s < count; ++s) {
    std::int64_t const k = undo ? count - 1 - s : s;
    std::int64_t const p = pivots[static_cast<std::size_t>(k)] - 1;
    if (p < 0 || p >= a.rows() || p == k) continue;
    for (std::int64_t j = 0; j < a.cols(); ++j) std::swap(a(k, j), a(p, j));
  }
}

/// LU with LAPACK's choice of pivots, in place; returns the index of the first zero pivot, counted from one, or 0.
template <typename W>
std::int64_t factor_lu(Dense<W>& a, std::vector<int>* pivots) {
  std::int64_t const steps = std::min(a.rows(), a.cols());
  std::int64_t info = 0;
  if (pivots) pivots->assign(static_cast<std::size_t>(steps), 0);
  for (std::int64_t k = 0; k < steps; ++k) {
    std::int64_t p = k;
    if (pivots) {
      for (std::int64_t i = k + 1; i < a.rows(); ++i)
        if (modulus1(a(i, k)) > modulus1(a(p, k))) p = i;
      (*pivots)[static_cast<std::size_t>(k)] = static_cast<int>(p + 1);
      if (p != k)
        for (std::int64_t j = 0; j < a.cols(); ++j) std::swap(a(k, j), a(p, j));
    }
    if (a(k, k) == W(0)) {
      if (info == 0) info = k + 1;
      continue;
    }
    W const inverse = W(1) / a(k, k);
    for (std::int64_t i = k + 1; i < a.rows(); ++i) a(i, k) *= inverse;
    for (std::int64_t j = k + 1; j < a.cols(); ++j) {
      W const u = a(k, j);
      for (std::int64_t i = k + 1; i < a.rows(); ++i) a(i, j) -= a(i, k) * u;
    }
  }
  return info;
}

/// The unit lower trapezoidal factor in the result of getrf.
template <typename W>
Dense<W> unit_lower(Dense<W> const& a) {
  std::int64_t const k = std::min(a.rows(), a.cols());
  Dense<W> l(a.rows(), k);
  for (std::int64_t j = 0; j < k; ++j) {
    l(j, j) = 1;
    for (std::int64_t i = j + 1; i < a.rows(); ++i) l(i, j) = a(i, j);
  }
  return l;
}
/// The upper trapezoidal factor, on and above the diagonal.
template <typename W>
Dense<W> upper(Dense<W> const& a) {
  std::int64_t const k = std::min(a.rows(), a.cols());
  Dense<W> u(k, a.cols());
  for (std::int64_t j = 0; j < a.cols(); ++j)
    for (std::int64_t i = 0; i <= std::min(j, k - 1); ++i) u(i, j) = a(i, j);
  return u;
}

/// X with A X = B from LU factors made by factor_lu, in place.
template <typename W>
void solve_lu(Dense<W> const& lu, std::vector<int> const& pivots, Dense<W>& b) {
  interchange_rows(b, pivots, false);
  std::int64_t const n = lu.rows();
  for (std::int64_t c = 0; c < b.cols(); ++c) {
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = j + 1; i < n; ++i) b(i, c) -= lu(i, j) * b(j, c);
    for (std::int64_t j = n - 1; j >= 0; --j) {
      b(j, c) /= lu(j, j);
      for (std::int64_t i = 0; i < j; ++i) b(i, c) -= lu(i, j) * b(j, c);
    }
  }
}

/// Householder QR in place with LAPACK's reflectors; `tau` gets min(m, n) entries.
template <typename W>
void factor_qr(Dense<W>& a, std::vector<W>& tau) {
  using R = RealPartOf<W>;
  std::int64_t const m = a.rows();
  std::int64_t const n = a.cols();
  tau.assign(static_cast<std::size_t>(std::min(m, n)), W(0));
  for (std::int64_t k = 0; k < std::min(m, n); ++k) {
    R below = 0;
    for (std::int64_t i = k + 1; i < m; ++i) below += modulus(a(i, k)) * modulus(a(i, k));
    R imaginary = 0;
    if constexpr (complex_type<W>) imaginary = a(k, k).imag();
    if (below == 0 && imaginary == 0) continue;
    W const alpha = a(k, k);
    R const norm = std::sqrt(modulus(alpha) * modulus(alpha) + below);
    R const beta = real_part(alpha) >= 0 ? -norm : norm;
    W const t = (W(beta) - alpha) / W(beta);
    W const scale = W(1) / (alpha - W(beta));
    for (std::int64_t i = k + 1; i < m; ++i) a(i, k) *= scale;
    a(k, k) = W(beta);
    tau[static_cast<std::size_t>(k)] = t;
    for (std::int64_t j = k + 1; j < n; ++j) {
      W sum = a(k, j);
      for (std::int64_t i = k + 1; i < m; ++i) sum += conjugate(a(i, k)) * a(i, j);
      sum *= conjugate(t);
      a(k, j) -= sum;
      for (std::int64_t i = k + 1; i < m; ++i) a(i, j) -= a(i, k) * sum;
    }
  }
}

/// C := Q C (or Q^H C) with Q = H(1) ... H(k), H(i) = I - tau(i) v v^H from the first k columns of `a`.
template <typename W>
void apply_q(Dense<W> const& a, std::vector<W> const& tau, bool adjoint_q, Dense<W>& c) {
  auto const k = static_cast<std::int64_t>(tau.size());
  for (std::int64_t s = 0; s < k; ++s) {
    std::int64_t const r = adjoint_q ? s : k - 1 - s;
    W const t = adjoint_q ? conjugate(tau[static_cast<std::size_t>(r)]) : tau[static_cast<std::size_t>(r)];
    for (std::int64_t j = 0; j < c.cols(); ++j) {
      W sum = c(r, j);
      for (std::int64_t i = r + 1; i < c.rows(); ++i) sum += conjugate(a(i, r)) * c(i, j);
      sum *= t;
      c(r, j) -= sum;
      for (std::int64_t i = r + 1; i < c.rows(); ++i) c(i, j) -= a(i, r) * sum;
    }
  }
}

/// The full Hermitian matrix from its triangle `uplo`; imaginary parts of the diagonal are taken as zero.
template <typename W>
Dense<W> hermitian(Uplo uplo, Dense<W> const& a) {
  Dense<W> h(a.rows(), a.rows());
  for (std::int64_t j = 0; j < a.rows(); ++j)
    for (std::int64_t i = 0; i < a.rows(); ++i)
      h(i, j) = i == j ? W(real_part(a(i, i))) : (i > j) == (uplo == Uplo::lower) ? a(i, j) : conjugate(a(j, i));
  return h;
}
/// The triangle `uplo`, with zeros elsewhere and, with Diag::unit, ones on the diagonal.
template <typename W>
Dense<W> triangle(Uplo uplo, Diag diag, Dense<W> const& a) {
  Dense<W> t(a.rows(), a.cols());
  for (std::int64_t j = 0; j < a.cols(); ++j)
    for (std::int64_t i = 0; i < a.rows(); ++i)
      if (i == j)
        t(i, j) = diag == Diag::unit ? W(1) : a(i, j);
      else if ((i > j) == (uplo == Uplo::lower))
        t(i, j) = a(i, j);
  return t;
}

/// L with A = L L^H, lower triangular; returns LAPACK's info.
template <typename W>
std::int64_t factor_cholesky(Dense<W>& a) {
  for (std::int64_t j = 0; j < a.rows(); ++j) {
    RealPartOf<W> d = real_part(a(j, j));
    for (std::int64_t p = 0; p < j; ++p) d -= modulus(a(j, p)) * modulus(a(j, p));
    if (!(d > 0)) return j + 1;
    d = std::sqrt(d);
    a(j, j) = W(d);
    for (std::int64_t i = j + 1; i < a.rows(); ++i) {
      W sum = a(i, j);
      for (std::int64_t p = 0; p < j; ++p) sum -= a(i, p) * conjugate(a(j, p));
      a(i, j) = sum / W(d);
    }
    for (std::int64_t i = 0; i < j; ++i) a(i, j) = W(0);
  }
  return 0;
}

}  // namespace myriad::cases
