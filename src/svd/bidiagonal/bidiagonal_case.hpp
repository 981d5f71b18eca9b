#pragma once
#include "case/case.hpp"
#include "eigen/tridiagonal/tridiagonal_case.hpp"
#include "myriad/svd.hpp"
#include "qr/case.hpp"
#include "svd/bidiagonal/bidiagonal.hpp"

namespace myriad::cases {

inline std::int64_t size_beside_min(Shape s) { return std::max<std::int64_t>(size_min(s) - 1, 0); }

/// C = Q C, or Q^H C, with the reflectors of gebrd in the columns of `v`, those of P being in the conjugate transposed matrix.
template <typename W>
void apply_q_of_gebrd(BidiagonalReflectors reflectors, Dense<W> const& v, std::vector<W> tau, bool adjoint_q, Dense<W>& c) {
  std::int64_t const shift = reflectors.shift(), count = reflectors.count(), order = v.rows();
  Dense<W> below(std::max<std::int64_t>(order - shift, 0), count), part(std::max<std::int64_t>(c.rows() - shift, 0), c.cols());
  for (std::int64_t j = 0; j < count; ++j)
    for (std::int64_t i = j; i < below.rows(); ++i) below(i, j) = v(i + shift, j);
  for (std::int64_t j = 0; j < c.cols(); ++j)
    for (std::int64_t i = 0; i < part.rows(); ++i) part(i, j) = c(i + shift, j);
  tau.resize(static_cast<std::size_t>(count));
  apply_q(below, tau, adjoint_q, part);
  for (std::int64_t j = 0; j < c.cols(); ++j)
    for (std::int64_t i = 0; i < part.rows(); ++i) c(i + shift, j) = part(i, j);
}

/// An m-by-n matrix for singular values. As `general`, but `scaled` comes near the ends of the type's range, and `singular_last` has
/// columns that repeat two.
[[nodiscard]] inline Generated with_singular_values(Problem const& p, std::int64_t b, std::uint64_t stream, std::int64_t m,
                                                    std::int64_t n) {
  Input const input = p.input_of(b);
  bool const single = p.dtype == Dtype::f32 || p.dtype == Dtype::c32;
  auto made = general(p, input == Input::singular_last ? Input::random : input, b, stream, m, n);
  if (input == Input::scaled) {
    int const far = static_cast<int>((p.first + b) % 3 - 1) * (single ? 60 : 900);
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < m; ++i) made(i, j) = {std::ldexp(made(i, j).real(), far), std::ldexp(made(i, j).imag(), far)};
  }
  if (input == Input::singular_last)
    for (std::int64_t j = 2; j < n; ++j)
      for (std::int64_t i = 0; i < m; ++i) made(i, j) = made(i, j % 2);
  return made;
}

/// Checks A = Q B P^H.
template <typename T>
struct GebrdCase final : CaseRun {
  Array<T> a, tauq, taup;
  Array<Real<T>> d, e;

  explicit GebrdCase(Problem const& p)
      : CaseRun(p),
        a(p, size_m, size_n),
        tauq(p, p.layout_beside(), size_min, size_one),
        taup(p, p.layout_beside(), size_min, size_one),
        d(p, p.layout_beside(), size_min, size_one),
        e(p, p.layout_beside(), size_beside_min, size_one) {
    for (std::int64_t b = 0; b < p.count; ++b) a.assign(b, with_singular_values(p, b, 1, a.rows(b), a.cols(b)));
    hold({&a}, Role::in_place);
    hold({&d, &e, &tauq, &taup}, Role::output);
  }
  void run(Queue& queue) override { gebrd<T>(queue, a.view(), d.view(), e.view(), tauq.view(), taup.view()); }

 protected:
  void verify(std::int64_t b, Findings& found) const override {
    using W = Wide<T>;
    auto const before = a.before_wide(b), now = a.now_wide(b);
    std::int64_t const m = now.rows(), n = now.cols(), k = std::min(m, n);
    if (k == 0) return;
    auto const diagonal = wide_vector_of(d, b), beside = wide_vector_of(e, b);
    auto const q_tau = wide_vector_of(tauq, b), p_tau = wide_vector_of(taup, b);
    bool const upper = m >= n;
    if (!all_finite(before)) {
      bool finite = all_finite(now);
      for (auto const& x : diagonal) finite = finite && is_finite(x);
      for (auto const& x : beside) finite = finite && is_finite(x);
      found.require(!finite, "a NaN or an infinity in A left no trace");
      return;
    }
    for (std::int64_t i = 0; i < k; ++i) {
      found.require(now(i, i) == W(diagonal[static_cast<std::size_t>(i)]), "the diagonal of A is not that of B");
      if (i + 1 < k)
        found.require((upper ? now(i, i + 1) : now(i + 1, i)) == W(beside[static_cast<std::size_t>(i)]),
                      "the off-diagonal of A is not that of B");
      double const slack = 1e3 * unit_roundoff<T>;
      for (W const x : {q_tau[static_cast<std::size_t>(i)], p_tau[static_cast<std::size_t>(i)]})
        found.require(x == W(0) || (real_part(x) >= 1 - slack && modulus(x - W(1)) <= 1 + slack), "a tau is not LAPACK's");
    }
    found.require((upper ? p_tau : q_tau).back() == W(0), "the last tau is not zero");
    BidiagonalReflectors const of_q{Vect::q, m, n}, of_p{Vect::p, n, m};
    auto const rows = adjoint(now);
    // B X, for X with n rows
    auto const times_b = [&](Dense<W> const& x) {
      Dense<W> y(m, x.cols());
      for (std::int64_t j = 0; j < x.cols(); ++j)
        for (std::int64_t i = 0; i < k; ++i) {
          auto const at = static_cast<std::size_t>(i);
          y(i, j) += diagonal[at] * x(i, j);
          if (i + 1 < k) (upper ? y(i, j) : y(i + 1, j)) += beside[at] * (upper ? x(i + 1, j) : x(i, j));
        }
      return y;
    };
    // Large matrices: the product with a random column
    auto const x = found.of_a_part() ? random_column<T>(problem(), b, n) : identity<W>(n);
    auto y = x;
    apply_q_of_gebrd(of_p, rows, p_tau, true, y);
    auto product = times_b(y);
    apply_q_of_gebrd(of_q, now, q_tau, false, product);
    double const size = static_cast<double>(std::max(m, n)) * unit_roundoff<T>;
    if (found.of_a_part()) {
      RealPartOf<W> squares = 0;
      for (auto const& element : before.elements()) squares += modulus(element) * modulus(element);
      found.at_most("norm2(A x - Q B P^H x) / (max(m, n) normF(A) norm2(x) u)",
                    quotient(column_norm2(before * x - product, 0), std::sqrt(squares) * column_norm2(x, 0)) / size, 30);
      return;
    }
    found.at_most("norm1(A - Q B P^H) / (max(m, n) norm1(A) u)", factor_error<T>(before - product, before, std::max(m, n)), 30);
    found.at_most("norm1(I - P^H P) / (n u)", orthogonality_error<T>(y), 30);
    auto q = identity<W>(m);
    apply_q_of_gebrd(of_q, now, q_tau, false, q);
    found.at_most("norm1(I - Q^H Q) / (m u)", orthogonality_error<T>(q), 30);
  }
  double real_flops(Shape s) const override {
    double const m = static_cast<double>(size_max(s)), n = static_cast<double>(size_min(s));
    return 4 * n * n * (m - n / 3);
  }
};

/// Reflectors in gebrd's layout, in the columns (Vect::q) or rows (Vect::p) of `a`; the rest is NaN.
template <typename T>
void make_reflectors_of_gebrd(Problem const& p, std::int64_t b, BidiagonalReflectors reflectors, Array<T>& a, Array<T>& tau) {
  bool const q = reflectors.vect == Vect::q;
  std::int64_t const count = reflectors.count(), length = std::max<std::int64_t>(reflectors.order - reflectors.shift(), 0);
  auto made = general(p, finite_kind(p.input_of(b)) ? p.input_of(b) : Input::random, b, 1, length, count);
  std::vector<std::complex<double>> made_tau;
  if (count <= 256)
    factor_qr(made, made_tau);
  else
    make_large_reflectors(made, made_tau);
  if (!finite_kind(p.input_of(b)) && count > 0) made_tau[0] = std::numeric_limits<double>::quiet_NaN();
  a.assign(b, general(p, Input::random, b, 3, a.rows(b), a.cols(b)));
  for (std::int64_t j = 0; j < a.cols(b) && !p.timing; ++j)
    for (std::int64_t i = 0; i < a.rows(b); ++i) a.set(b, i, j, marker<T>(0x0ff));
  for (std::int64_t j = 0; j < count; ++j)
    for (std::int64_t i = j + 1; i < length; ++i) {
      T const x = scalar<T>(q ? made(i, j) : std::conj(made(i, j)));
      q ? a.set(b, i + reflectors.shift(), j, x) : a.set(b, j, i + reflectors.shift(), x);
    }
  for (std::int64_t i = 0; i < tau.rows(b); ++i)
    tau.set(b, i, 0, i < count ? scalar<T>(made_tau[static_cast<std::size_t>(i)]) : p.timing || i == 0 ? T(0) : marker<T>(0x0ff));
}

/// The first `count` entries of a vector.
template <typename W>
std::vector<W> first_of(std::vector<W> x, std::int64_t count) {
  x.resize(static_cast<std::size_t>(count));
  return x;
}

/// Vect::q: a matrix of m rows and n columns gives Q, m by min(m, n); Vect::p: P^H, min(m, n) by n.
template <typename T>
struct OrgbrCase final : CaseRun {
  Array<T> a, tau;
  Array<T> sizes;  ///< k as a number of rows, so that it is placed as other sizes

  explicit OrgbrCase(Problem const& p)
      : CaseRun(p),
        a(p, p.vect == Vect::q ? size_m : size_min, p.vect == Vect::q ? size_min : size_n),
        tau(p, p.layout_beside(), size_min, size_one),
        sizes(p, Layout::column_major, p.vect == Vect::q ? size_n : size_m, size_one) {
    for (std::int64_t b = 0; b < p.count; ++b) make_reflectors_of_gebrd(p, b, reflectors(b), a, tau);
    hold({&a}, Role::in_place);
    hold({&tau, &sizes}, Role::input);
  }
  void run(Queue& queue) override { orgbr<T>(queue, problem().vect, {sizes.view().rows, sizes.view().row_sizes}, a.view(), tau.view()); }
  double bytes() const override { return 2 * a.bytes() + tau.bytes(); }

 protected:
  [[nodiscard]] BidiagonalReflectors reflectors(std::int64_t b) const {
    return {problem().vect, problem().vect == Vect::q ? a.rows(b) : a.cols(b), sizes.rows(b)};
  }
  void verify(std::int64_t b, Findings& found) const override {
    bool const q = problem().vect == Vect::q;
    auto const result = q ? a.now_wide(b) : adjoint(a.now_wide(b));
    auto const t = first_of(wide_vector_of(tau, b), reflectors(b).count());
    if (result.rows() == 0 || result.cols() == 0) return;
    for (auto const& x : t)
      if (x != x) {
        found.require(!all_finite(result), "a NaN in tau left no trace");
        return;
      }
    auto const v = q ? a.before_wide(b) : adjoint(a.before_wide(b));
    if (found.of_a_part()) {
      auto const x = random_column<T>(problem(), b, result.cols());
      Dense<Wide<T>> expected(result.rows(), 1);
      for (std::int64_t i = 0; i < x.rows(); ++i) expected(i, 0) = x(i, 0);
      apply_q_of_gebrd(reflectors(b), v, t, false, expected);
      found.at_most(
          "norm2(Q x - reference) / (m norm2(x) u)",
          quotient(column_norm2(result * x - expected, 0), column_norm2(x, 0)) / (static_cast<double>(result.rows()) * unit_roundoff<T>),
          30);
      return;
    }
    Dense<Wide<T>> expected(result.rows(), result.cols());
    for (std::int64_t i = 0; i < result.cols(); ++i) expected(i, i) = 1;
    apply_q_of_gebrd(reflectors(b), v, t, false, expected);
    found.at_most("norm1(Q - reference) / (m u)", factor_error<T>(result - expected, identity<Wide<T>>(1), result.rows()), 30);
    found.at_most("norm1(I - Q^H Q) / (m u)", orthogonality_error<T>(result), 30);
  }
  double real_flops(Shape s) const override {
    double const k = static_cast<double>(size_min(s)), order = static_cast<double>(problem().vect == Vect::q ? s.m : s.n);
    return 2 * k * k * (order - k / 3);
  }
};

/// C is m by n; the reflectors are those of a matrix with k columns (Vect::q) or rows (Vect::p).
template <typename T>
struct OrmbrCase final : CaseRun {
  Array<T> a, tau;
  Array<T> sizes;  ///< see OrgbrCase
  Array<T> c;

  explicit OrmbrCase(Problem const& p)
      : CaseRun(p),
        a(p, p.vect == Vect::q ? order(p) : some(p), p.vect == Vect::q ? some(p) : order(p)),
        tau(p, p.layout_beside(), some(p), size_one),
        sizes(p, Layout::column_major, size_k, size_one),
        c(p, size_m, size_n) {
    for (std::int64_t b = 0; b < p.count; ++b) {
      make_reflectors_of_gebrd(p, b, reflectors(b), a, tau);
      c.assign(b, general(p, Input::random, b, 2, c.rows(b), c.cols(b)));
    }
    hold({&c}, Role::in_place);
    hold({&tau, &a, &sizes}, Role::input);  // tau first: an element of A may be NaN, which spoiling does not change
  }
  void run(Queue& queue) override {
    ormbr<T>(queue, problem().vect, problem().side, op(), {sizes.view().rows, sizes.view().row_sizes}, a.view(), tau.view(), c.view());
  }
  double bytes() const override { return a.bytes() + tau.bytes() + 2 * c.bytes(); }
  /// Op::transpose is for real types only.
  [[nodiscard]] Op op() const { return is_complex<T> && problem().op == Op::transpose ? Op::conjugate_transpose : problem().op; }

 protected:
  [[nodiscard]] BidiagonalReflectors reflectors(std::int64_t b) const {
    return {problem().vect, problem().vect == Vect::q ? a.rows(b) : a.cols(b), sizes.rows(b)};
  }
  void verify(std::int64_t b, Findings& found) const override {
    auto const t = first_of(wide_vector_of(tau, b), reflectors(b).count());
    bool const left = problem().side == Side::left, adjoint_q = op() != Op::none;
    auto const result = left ? found.columns(c.now_wide(b)) : c.now_wide(b);
    if (result.rows() == 0 || result.cols() == 0) return;
    for (auto const& x : t)
      if (x != x) {
        found.require(!all_finite(result), "a NaN in tau left no trace");
        return;
      }
    auto const v = problem().vect == Vect::q ? a.before_wide(b) : adjoint(a.before_wide(b));
    auto const before = left ? found.columns(c.before_wide(b)) : c.before_wide(b);
    auto expected = left ? before : adjoint(before);  // C Q = (Q^H C^H)^H
    apply_q_of_gebrd(reflectors(b), v, t, adjoint_q == left, expected);
    if (!left) expected = adjoint(expected);
    found.at_most("norm1(op(Q) C - reference) / (r norm1(C) u)", factor_error<T>(result - expected, before, v.rows()), 30);
  }
  double real_flops(Shape s) const override {
    bool const left = problem().side == Side::left;
    double const rows = static_cast<double>(left ? s.m : s.n), others = static_cast<double>(left ? s.n : s.m);
    double const k = std::min(rows, static_cast<double>(s.k));
    return 4 * rows * others * k - 2 * others * k * k;
  }

 private:
  static Array<T>::Size order(Problem const& p) { return p.side == Side::left ? size_m : size_n; }
  static Array<T>::Size some(Problem const& p) {
    return [of = order(p)](Shape s) { return std::min(s.k, of(s)); };
  }
};

}  // namespace myriad::cases
