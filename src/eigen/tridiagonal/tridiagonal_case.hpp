#pragma once
#include "case/case.hpp"
#include "cholesky/case.hpp"
#include "eigen/case.hpp"
#include "qr/case.hpp"

namespace myriad::cases {

inline std::int64_t size_beside(Shape s) { return std::max<std::int64_t>(s.n - 1, 0); }

/// C = Q C, or Q^H C, with the reflectors of sytrd in elements `a(i, j)`. Uplo::upper stores above the diagonal what Uplo::lower stores
/// below it, with rows and columns reversed.
template <typename W, typename A>
void apply_q_of_sytrd(Uplo uplo, A const& a, std::vector<W> const& tau, bool adjoint_q, Dense<W>& c) {
  std::int64_t const n = c.rows(), last = n - 1;
  auto const at = [&](std::int64_t i) { return uplo == Uplo::lower ? i : last - i; };
  for (std::int64_t s = 0; s < last; ++s) {
    std::int64_t const r = adjoint_q ? s : last - 1 - s;
    W const made = tau[static_cast<std::size_t>(uplo == Uplo::lower ? r : last - 1 - r)];
    W const t = adjoint_q ? conjugate(made) : made;
    for (std::int64_t j = 0; j < c.cols(); ++j) {
      W sum = c(at(r + 1), j);
      for (std::int64_t i = r + 2; i < n; ++i) sum += conjugate(W(a(at(i), at(r)))) * c(at(i), j);
      sum *= t;
      c(at(r + 1), j) -= sum;
      for (std::int64_t i = r + 2; i < n; ++i) c(at(i), j) -= W(a(at(i), at(r))) * sum;
    }
  }
}

/// A random column, for checks of large matrices.
template <typename T>
Dense<Wide<T>> random_column(Problem const& p, std::int64_t b, std::int64_t n) {
  Random random(p, b, 7);
  Dense<Wide<T>> x(n, 1);
  for (std::int64_t i = 0; i < n; ++i) x(i, 0) = Wide<T>(static_cast<RealPartOf<Wide<T>>>(random.uniform()));
  return x;
}

/// Reflectors H = I - tau v v^H with 1 <= tau <= 2, made in linear time.
inline void make_large_reflectors(Generated& made, std::vector<std::complex<double>>& tau) {
  double const scale = 1 / std::sqrt(static_cast<double>(made.rows()));
  for (std::int64_t j = 0; j < made.cols(); ++j) {
    double sum = 1;
    for (std::int64_t i = j + 1; i < made.rows(); ++i) {
      made(i, j) *= scale;
      sum += std::norm(made(i, j));
    }
    tau.emplace_back(2 / sum);
  }
}

/// Reflectors in sytrd's layout, computed in higher precision and rounded; the rest is NaN.
template <typename T>
void make_reflectors_of_sytrd(Problem const& p, std::int64_t b, Array<T>& a, Array<T>& tau) {
  std::int64_t const n = a.rows(b), k = tau.rows(b);
  auto made = general(p, finite_kind(p.input_of(b)) ? p.input_of(b) : Input::random, b, 1, k, k);
  std::vector<std::complex<double>> made_tau;
  if (k <= 256)
    factor_qr(made, made_tau);
  else
    make_large_reflectors(made, made_tau);
  if (!finite_kind(p.input_of(b)) && k > 0) made_tau[0] = std::numeric_limits<double>::quiet_NaN();
  bool const lower = p.uplo == Uplo::lower;
  a.assign(b, general(p, Input::random, b, 3, n, n));
  for (std::int64_t j = 0; j < n && !p.timing; ++j)
    for (std::int64_t i = 0; i < n; ++i) a.set(b, i, j, marker<T>(0x0ff));
  for (std::int64_t j = 0; j < k; ++j)
    for (std::int64_t i = j + 1; i < k; ++i) a.set(b, lower ? i + 1 : n - 2 - i, lower ? j : n - 1 - j, scalar<T>(made(i, j)));
  for (std::int64_t i = 0; i < k; ++i) tau.set(b, lower ? i : k - 1 - i, 0, scalar<T>(made_tau[static_cast<std::size_t>(i)]));
}

/// Checks A = Q T Q^H. Elements that must not be read are NaN, and imaginary parts of the diagonal garbage.
template <typename T>
struct SytrdCase final : CaseRun {
  Array<T> a, tau;
  Array<Real<T>> d, e;

  explicit SytrdCase(Problem const& p)
      : CaseRun(p),
        a(p, size_n, size_n),
        tau(p, p.layout_beside(), size_beside, size_one),
        d(p, p.layout_beside(), size_n, size_one),
        e(p, p.layout_beside(), size_beside, size_one) {
    for (std::int64_t b = 0; b < p.count; ++b) assign_triangle(p, a, b, with_eigenvalues(p, b, 1, a.rows(b)));
    hold({&a}, Role::in_place);
    hold({&d, &e, &tau}, Role::output);
  }
  void run(Queue& queue) override { sytrd<T>(queue, problem().uplo, a.view(), d.view(), e.view(), tau.view()); }
  double bytes() const override { return 2 * triangle_bytes(a) + d.bytes() + e.bytes() + tau.bytes(); }

 protected:
  void verify(std::int64_t b, Findings& found) const override {
    using W = Wide<T>;
    std::int64_t const n = a.rows(b);
    found.require(other_triangle_unchanged(a, b, problem().uplo), "the other triangle was changed");
    if (found.of_a_part()) {
      verify_product_with_a_column(b, found);
      return;
    }
    auto const matrix = hermitian(problem().uplo, a.before_wide(b));
    auto const now = a.now_wide(b);
    auto const diagonal = wide_vector_of(d, b), beside = wide_vector_of(e, b);
    auto const t = wide_vector_of(tau, b);
    if (!all_finite(matrix)) {
      bool finite = true;
      for (auto const& x : diagonal) finite = finite && x == x;
      for (auto const& x : beside) finite = finite && x == x;
      found.require(!finite || !all_finite(hermitian(problem().uplo, now)), "a NaN or an infinity in A left no trace");
      return;
    }
    bool const lower = problem().uplo == Uplo::lower;
    Dense<W> product(n, n);  // T, then Q T, then Q T Q^H
    for (std::int64_t i = 0; i < n; ++i) {
      auto const at = static_cast<std::size_t>(i);
      product(i, i) = diagonal[at];
      found.require(now(i, i) == W(diagonal[at]), "the diagonal of A is not that of T");
      if (i + 1 == n) break;
      product(i + 1, i) = product(i, i + 1) = beside[at];
      found.require((lower ? now(i + 1, i) : now(i, i + 1)) == W(beside[at]), "what is beside the diagonal of A is not that of T");
      double const slack = 1e3 * unit_roundoff<T>;
      W const x = t[at];
      found.require(x == W(0) || (real_part(x) >= 1 - slack && modulus(x - W(1)) <= 1 + slack), "a tau is not LAPACK's");
    }
    apply_q_of_sytrd(problem().uplo, now, t, false, product);
    product = adjoint(product);
    apply_q_of_sytrd(problem().uplo, now, t, false, product);
    found.at_most("norm1(A - Q T Q^H) / (n norm1(A) u)", factor_error<T>(matrix - product, matrix, n), 30);
    auto q = identity<W>(n);
    apply_q_of_sytrd(problem().uplo, now, t, false, q);
    found.at_most("norm1(I - Q^H Q) / (n u)", orthogonality_error<T>(q), 30);
  }
  /// Large matrices: compares products with a random column, since copies would take gigabytes.
  void verify_product_with_a_column(std::int64_t b, Findings& found) const {
    using W = Wide<T>;
    std::int64_t const n = a.rows(b);
    Uplo const uplo = problem().uplo;
    auto const x = random_column<T>(problem(), b, n);
    Dense<W> expected(n, 1);
    RealPartOf<W> squares = 0;
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < n; ++i) {
        if (!in_triangle(uplo, i, j)) continue;
        W const element = i == j ? W(real_part(widened<W>(a.before(b, i, j)))) : widened<W>(a.before(b, i, j));
        expected(i, 0) += element * x(j, 0);
        if (i != j) expected(j, 0) += conjugate(element) * x(i, 0);
        squares += (i == j ? 1 : 2) * modulus(element) * modulus(element);
      }
    auto const now = [&](std::int64_t i, std::int64_t j) { return widened<W>(a.get(b, i, j)); };
    auto const diagonal = wide_vector_of(d, b), beside = wide_vector_of(e, b);
    auto const t = wide_vector_of(tau, b);
    auto y = x;
    apply_q_of_sytrd(uplo, now, t, true, y);
    Dense<W> product(n, 1);
    for (std::int64_t i = 0; i < n; ++i) {
      auto const at = static_cast<std::size_t>(i);
      product(i, 0) += diagonal[at] * y(i, 0);
      if (i + 1 == n) break;
      product(i, 0) += beside[at] * y(i + 1, 0);
      product(i + 1, 0) += beside[at] * y(i, 0);
    }
    apply_q_of_sytrd(uplo, now, t, false, product);
    found.at_most("norm2(A x - Q T Q^H x) / (n normF(A) norm2(x) u)",
                  quotient(column_norm2(expected - product, 0), std::sqrt(squares) * column_norm2(x, 0)) /
                      (static_cast<double>(n) * unit_roundoff<T>),
                  30);
  }
  double real_flops(Shape s) const override {
    double const n = static_cast<double>(s.n);
    return 4.0 / 3.0 * n * n * n;
  }
};

template <typename T>
struct OrgtrCase final : CaseRun {
  Array<T> a, tau;

  explicit OrgtrCase(Problem const& p) : CaseRun(p), a(p, size_n, size_n), tau(p, p.layout_beside(), size_beside, size_one) {
    for (std::int64_t b = 0; b < p.count; ++b) make_reflectors_of_sytrd(p, b, a, tau);
    hold({&a}, Role::in_place);
    hold({&tau}, Role::input);
  }
  void run(Queue& queue) override { orgtr<T>(queue, problem().uplo, a.view(), tau.view()); }
  double bytes() const override { return triangle_bytes(a) + a.bytes() + tau.bytes(); }

 protected:
  void verify(std::int64_t b, Findings& found) const override {
    auto const t = wide_vector_of(tau, b);
    auto const q = a.now_wide(b);
    for (auto const& x : t)
      if (x != x) {
        found.require(!all_finite(q), "a NaN in tau left no trace");
        return;
      }
    if (found.of_a_part()) {
      auto const x = random_column<T>(problem(), b, q.rows());
      auto expected = x;
      apply_q_of_sytrd(problem().uplo, a.before_wide(b), t, false, expected);
      found.at_most("norm2(Q x - reference) / (n norm2(x) u)",
                    quotient(column_norm2(q * x - expected, 0), column_norm2(x, 0)) / (static_cast<double>(q.rows()) * unit_roundoff<T>),
                    30);
      return;
    }
    auto expected = identity<Wide<T>>(q.rows());
    apply_q_of_sytrd(problem().uplo, a.before_wide(b), t, false, expected);
    found.at_most("norm1(Q - reference) / (n u)", factor_error<T>(q - expected, identity<Wide<T>>(1), q.rows()), 30);
    found.at_most("norm1(I - Q^H Q) / (n u)", orthogonality_error<T>(q), 30);
  }
  double real_flops(Shape s) const override {
    double const n = static_cast<double>(s.n);
    return 4.0 / 3.0 * n * n * n;
  }
};

/// The reflectors are those of an m-by-m (left) or n-by-n (right) matrix.
template <typename T>
struct OrmtrCase final : CaseRun {
  Array<T> a, tau, c;

  explicit OrmtrCase(Problem const& p)
      : CaseRun(p),
        a(p, order(p.side), order(p.side)),
        tau(
            p, p.layout_beside(), [of = order(p.side)](Shape s) { return std::max<std::int64_t>(of(s) - 1, 0); }, size_one),
        c(p, size_m, size_n) {
    for (std::int64_t b = 0; b < p.count; ++b) {
      make_reflectors_of_sytrd(p, b, a, tau);
      c.assign(b, general(p, Input::random, b, 2, c.rows(b), c.cols(b)));
    }
    hold({&c}, Role::in_place);
    hold({&tau, &a}, Role::input);  // tau first: an element of A may be NaN, which spoiling does not change
  }
  void run(Queue& queue) override { ormtr<T>(queue, problem().side, problem().uplo, op(), a.view(), tau.view(), c.view()); }
  double bytes() const override { return triangle_bytes(a) + tau.bytes() + 2 * c.bytes(); }
  /// Op::transpose is for real types only.
  [[nodiscard]] Op op() const { return is_complex<T> && problem().op == Op::transpose ? Op::conjugate_transpose : problem().op; }

 protected:
  void verify(std::int64_t b, Findings& found) const override {
    auto const t = wide_vector_of(tau, b);
    bool const left = problem().side == Side::left, adjoint_q = op() != Op::none;
    auto const result = left ? found.columns(c.now_wide(b)) : c.now_wide(b);
    if (result.rows() == 0 || result.cols() == 0) return;
    for (auto const& x : t)
      if (x != x) {
        found.require(!all_finite(result), "a NaN in tau left no trace");
        return;
      }
    auto const v = a.before_wide(b);
    auto const before = left ? found.columns(c.before_wide(b)) : c.before_wide(b);
    auto expected = left ? before : adjoint(before);  // C Q = (Q^H C^H)^H
    apply_q_of_sytrd(problem().uplo, v, t, adjoint_q == left, expected);
    if (!left) expected = adjoint(expected);
    found.at_most("norm1(op(Q) C - reference) / (n norm1(C) u)", factor_error<T>(result - expected, before, v.rows()), 30);
  }
  double real_flops(Shape s) const override {
    double const order = static_cast<double>(problem().side == Side::left ? s.m : s.n);
    double const others = static_cast<double>(problem().side == Side::left ? s.n : s.m);
    return 2 * order * order * others;
  }

 private:
  static Array<T>::Size order(Side side) { return side == Side::left ? size_m : size_n; }
};

}  // namespace myriad::cases
