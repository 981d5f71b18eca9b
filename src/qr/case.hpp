#pragma once
#include "case/case.hpp"
#include "myriad/qr.hpp"

namespace myriad::cases {

/// A factor of geqrf, made in more precision and rounded; `tau` has as many entries as reflectors are wanted.
template <typename T>
void make_reflectors(Problem const& p, std::int64_t b, Array<T>& a, Array<T>& tau) {
  auto made = general(p, finite_kind(p.input_of(b)) ? p.input_of(b) : Input::random, b, 1, a.rows(b), a.cols(b));
  std::vector<std::complex<double>> made_tau;
  factor_qr(made, made_tau);
  if (!finite_kind(p.input_of(b)) && tau.rows(b) > 0) made_tau[0] = std::numeric_limits<double>::quiet_NaN();
  a.assign(b, made);
  for (std::int64_t i = 0; i < tau.rows(b); ++i) tau.set(b, i, 0, scalar<T>(made_tau[static_cast<std::size_t>(i)]));
}

template <typename T>
struct GeqrfCase final : CaseRun {
  Array<T> a, tau;

  explicit GeqrfCase(Problem const& p) : CaseRun(p), a(p, size_m, size_n), tau(p, p.layout_beside(), size_min, size_one) {
    for (std::int64_t b = 0; b < p.count; ++b) a.assign(b, general(p, b, 1, a.rows(b), a.cols(b)));
    hold({&a}, Role::in_place);
    hold({&tau}, Role::output);
  }
  void run(Queue& queue) override { geqrf(queue, a.view(), tau.view()); }

 protected:
  void verify(std::int64_t b, Findings& found) const override {
    using W = Wide<T>;
    auto const before = a.before_wide(b);
    auto const now = a.now_wide(b);
    auto const t = wide_vector_of(tau, b);
    auto const k = static_cast<std::int64_t>(t.size());
    if (k == 0) return;
    if (!finite_kind(problem().input_of(b))) {
      found.require(!all_finite(now), "a NaN or an infinity in A left no trace in its factors");
      return;
    }
    Dense<W> qr(now.rows(), now.cols());
    for (std::int64_t j = 0; j < now.cols(); ++j)
      for (std::int64_t i = 0; i <= std::min(j, now.rows() - 1); ++i) qr(i, j) = now(i, j);
    apply_q(now, t, false, qr);
    found.at_most("norm1(A - Q R) / (m norm1(A) u)", factor_error<T>(before - qr, before, before.rows()), 30);
    Dense<W> q(now.rows(), k);
    for (std::int64_t i = 0; i < k; ++i) q(i, i) = 1;
    apply_q(now, t, false, q);
    found.at_most("norm1(I - Q^H Q) / (m u)", orthogonality_error<T>(q), 30);
    // LAPACK's choice of reflector: R has a real diagonal of the sign opposite to alpha's, so that abs(tau - 1) <= 1 <= re(tau), or tau is
    // zero.
    double const slack = 1e3 * unit_roundoff<T>;
    for (std::int64_t i = 0; i < k; ++i) {
      W const x = t[static_cast<std::size_t>(i)];
      found.require(x == W(0) || (real_part(x) >= 1 - slack && modulus(x - W(1)) <= 1 + slack),
                    "tau(" + std::to_string(i + 1) + ") is not LAPACK's");
      found.require(modulus(now(i, i)) == modulus(real_part(now(i, i))), "R has a diagonal element that is not real");
    }
  }
  double real_flops(Shape s) const override {
    double const m = static_cast<double>(std::max(s.m, s.n));
    double const n = static_cast<double>(std::min(s.m, s.n));
    return 2 * n * n * (m - n / 3);
  }
};

/// The reflectors are columns of an m-by-k (left) or n-by-k (right) matrix.
template <typename T>
struct OrmqrCase final : CaseRun {
  Array<T> a, tau, c;

  explicit OrmqrCase(Problem const& p)
      : CaseRun(p),
        a(p, p.side == Side::left ? size_m : size_n, reflectors(p.side)),
        tau(p, p.layout_beside(), reflectors(p.side), size_one),
        c(p, size_m, size_n) {
    for (std::int64_t b = 0; b < p.count; ++b) {
      make_reflectors(p, b, a, tau);
      c.assign(b, general(p, Input::random, b, 2, c.rows(b), c.cols(b)));
    }
    hold({&c}, Role::in_place);
    hold({&a, &tau}, Role::input);
  }
  void run(Queue& queue) override { ormqr<T>(queue, problem().side, op(), a.view(), tau.view(), c.view()); }
  /// Op::transpose is for real types only.
  [[nodiscard]] Op op() const { return is_complex<T> && problem().op == Op::transpose ? Op::conjugate_transpose : problem().op; }

 protected:
  void verify(std::int64_t b, Findings& found) const override {
    auto const t = wide_vector_of(tau, b);
    auto const result = c.now_wide(b);
    if (result.rows() == 0 || result.cols() == 0) return;
    if (!t.empty() && t[0] != t[0]) {
      found.require(!all_finite(result), "a NaN in tau left no trace");
      return;
    }
    auto const v = a.before_wide(b);
    auto const before = c.before_wide(b);
    bool const adjoint_q = op() != Op::none;
    Dense<Wide<T>> expected = before;
    if (problem().side == Side::left) {
      apply_q(v, t, adjoint_q, expected);
    } else {  // C Q = (Q^H C^H)^H
      expected = adjoint(before);
      apply_q(v, t, !adjoint_q, expected);
      expected = adjoint(expected);
    }
    auto const size = std::max<std::int64_t>(v.rows(), 1);
    found.at_most("norm1(op(Q) C - reference) / (m norm1(C) u)", factor_error<T>(result - expected, before, size), 30);
  }
  double real_flops(Shape s) const override {
    double const rows = static_cast<double>(problem().side == Side::left ? s.m : s.n);
    double const others = static_cast<double>(problem().side == Side::left ? s.n : s.m);
    double const k = std::min(rows, static_cast<double>(s.k));
    return 4 * rows * others * k - 2 * others * k * k;
  }

 private:
  static Array<T>::Size reflectors(Side side) {
    return [side](Shape s) { return std::min(s.k, side == Side::left ? s.m : s.n); };
  }
};

/// m >= n >= k.
template <typename T>
struct OrgqrCase final : CaseRun {
  Array<T> a, tau;

  explicit OrgqrCase(Problem const& p) : CaseRun(p), a(p, size_m, size_n), tau(p, p.layout_beside(), size_k, size_one) {
    for (std::int64_t b = 0; b < p.count; ++b) make_reflectors(p, b, a, tau);
    hold({&a}, Role::in_place);
    hold({&tau}, Role::input);
  }
  void run(Queue& queue) override { orgqr<T>(queue, a.view(), tau.view()); }

 protected:
  void verify(std::int64_t b, Findings& found) const override {
    auto const t = wide_vector_of(tau, b);
    auto const q = a.now_wide(b);
    if (q.rows() == 0 || q.cols() == 0) return;
    if (!t.empty() && t[0] != t[0]) {
      found.require(!all_finite(q), "a NaN in tau left no trace");
      return;
    }
    Dense<Wide<T>> expected(q.rows(), q.cols());
    for (std::int64_t i = 0; i < q.cols(); ++i) expected(i, i) = 1;
    apply_q(a.before_wide(b), t, false, expected);
    found.at_most("norm1(Q - reference) / (m u)", factor_error<T>(q - expected, identity<Wide<T>>(1), q.rows()), 30);
    found.at_most("norm1(I - Q^H Q) / (m u)", orthogonality_error<T>(q), 30);
  }
  double real_flops(Shape s) const override {
    double const m = static_cast<double>(s.m);
    double const n = static_cast<double>(s.n);
    double const k = static_cast<double>(s.k);
    return 4 * m * n * k - 2 * (m + n) * k * k + 4.0 / 3.0 * k * k * k;
  }
};

/// Some columns of every third matrix are fixed.
template <typename T>
struct Geqp3Case final : CaseRun {
  Array<T> a, tau;
  Array<int> jpvt;

  explicit Geqp3Case(Problem const& p)
      : CaseRun(p), a(p, size_m, size_n), tau(p, p.layout_beside(), size_min, size_one), jpvt(p, p.layout_beside(), size_n, size_one) {
    for (std::int64_t b = 0; b < p.count; ++b) {
      a.assign(b, general(p, b, 1, a.rows(b), a.cols(b)));
      for (std::int64_t j = 0; j < jpvt.rows(b); ++j) jpvt.set(b, j, 0, (p.first + b) % 3 == 1 && j % 4 == 2 && !p.timing ? 1 : 0);
    }
    hold({&a, &jpvt}, Role::in_place);
    hold({&tau}, Role::output);
  }
  void run(Queue& queue) override { geqp3(queue, a.view(), jpvt.view(), tau.view()); }

 protected:
  void verify(std::int64_t b, Findings& found) const override {
    using W = Wide<T>;
    auto const given = a.before_wide(b), now = a.now_wide(b);
    std::int64_t const m = given.rows(), n = given.cols(), k = std::min(m, n);
    std::vector<char> seen(static_cast<std::size_t>(n), 0);
    Dense<W> before(m, n);
    std::int64_t fixed = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      int const place = jpvt.get(b, j, 0);
      if (place < 1 || place > n || seen[static_cast<std::size_t>(place - 1)]++) return found.require(false, "jpvt is no permutation");
      for (std::int64_t i = 0; i < m; ++i) before(i, j) = given(i, place - 1);
    }
    for (std::int64_t j = 0; j < n; ++j)
      if (jpvt.before(b, j, 0) != 0) found.equal("a fixed column", jpvt.get(b, fixed++, 0), j + 1);
    if (k == 0) return;
    if (!finite_kind(problem().input_of(b))) {
      found.require(!all_finite(now), "a NaN or an infinity in A left no trace in its factors");
      return;
    }
    auto const t = wide_vector_of(tau, b);
    Dense<W> qr(m, n), q(m, k);
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i <= std::min(j, m - 1); ++i) qr(i, j) = now(i, j);
    // No column has a larger norm than the one that was chosen.
    double const slack = static_cast<double>(norm1(given)) * static_cast<double>(m) * unit_roundoff<T>;
    for (std::int64_t j = fixed; j < n; ++j) {
      double squares = 0;
      for (std::int64_t i = std::min(j, k - 1); i >= fixed; --i) {
        double const size = static_cast<double>(modulus(qr(i, j))) / slack, chosen = static_cast<double>(modulus(qr(i, i))) / slack;
        squares += size * size;
        found.require(!(slack > 0) || std::sqrt(squares) <= chosen * (1 + 1e-3) + 100,
                      "column " + std::to_string(j + 1) + " was larger than the one chosen at step " + std::to_string(i + 1));
      }
    }
    apply_q(now, t, false, qr);
    found.at_most("norm1(A P - Q R) / (m norm1(A) u)", factor_error<T>(before - qr, before, m), 30);
    for (std::int64_t i = 0; i < k; ++i) q(i, i) = 1;
    apply_q(now, t, false, q);
    found.at_most("norm1(I - Q^H Q) / (m u)", orthogonality_error<T>(q), 30);
  }
  double real_flops(Shape s) const override {
    double const m = static_cast<double>(std::max(s.m, s.n)), n = static_cast<double>(std::min(s.m, s.n));
    return 2 * n * n * (m - n / 3);
  }
};

/// The condition number of a matrix of full row rank, from its Gram matrix; 1 if that is singular.
template <typename W>
double condition_of_rows(Dense<W> const& a) {
  auto const gram = a * adjoint(a);
  auto inverse = identity<W>(a.rows());
  auto lu = gram;
  std::vector<int> pivots;
  if (factor_lu(lu, &pivots) != 0) return 1;
  solve_lu(lu, pivots, inverse);
  return std::sqrt(static_cast<double>(norm1(gram) * norm1(inverse)));
}
/// The part of X outside the range of A^H, for A of full row rank.
template <typename W>
RealPartOf<W> norm1_outside_rows(Dense<W> const& a, Dense<W> const& x) {
  auto q = adjoint(a);
  std::vector<W> tau;
  factor_qr(q, tau);
  auto projected = x;
  apply_q(q, tau, true, projected);
  RealPartOf<W> outside = 0;
  for (std::int64_t j = 0; j < x.cols(); ++j) {
    RealPartOf<W> sum = 0;
    for (std::int64_t r = a.rows(); r < a.cols(); ++r) sum += modulus(projected(r, j));
    outside = std::max(outside, sum);
  }
  return outside;
}

template <typename T>
struct GelsCase final : CaseRun {
  Array<T> a, b;
  Array<int> info;

  explicit GelsCase(Problem const& p)
      : CaseRun(p), a(p, size_m, size_n), b(p, size_max, size_k), info(p, Layout::column_major, size_one, size_one) {
    for (std::int64_t i = 0; i < p.count; ++i) {
      bool const wide = a.rows(i) < a.cols(i);
      Input const input = p.input_of(i) == Input::ties ? Input::random : p.input_of(i);  // those may be rank deficient
      auto const made = wide ? adjoint(general(p, input, i, 1, a.cols(i), a.rows(i))) : general(p, input, i, 1, a.rows(i), a.cols(i));
      a.assign(i, made);
      b.assign(i, general(p, Input::random, i, 2, b.rows(i), b.cols(i)));
    }
    hold({&b, &a}, Role::in_place);
    hold_info(info);
  }
  void run(Queue& queue) override { gels(queue, a.view(), b.view(), info.data()); }

 protected:
  void verify(std::int64_t i, Findings& found) const override {
    using W = Wide<T>;
    using R = RealPartOf<W>;
    Input const input = problem().input_of(i);
    auto const before = a.before_wide(i);
    std::int64_t const m = before.rows();
    std::int64_t const n = before.cols();
    auto const b0 = b.before_wide(i);
    auto const b1 = b.now_wide(i);
    std::int64_t const zero = input == Input::zero ? std::min<std::int64_t>({m, n, 1})
                              : finite_kind(input) ? special_index(input, std::min(m, n)) + 1
                                                   : 0;
    bool const near_singular = input == Input::scaled || input == Input::graded;  // whose last pivots may vanish by rounding
    if (m > 0 && n > 0 && norm1(before) == 0 && info.get(i, 0, 0) == 0) {
      found.require(norm1(b1) == 0, "a zero matrix has neither info nor X = 0, as LAPACK");
      return;
    }
    if (!near_singular && b1.cols() > 0) found.equal("info", info.get(i, 0, 0), zero);
    if (info.get(i, 0, 0) != 0 || b1.cols() == 0 || n == 0) return;
    Dense<W> x(n, b1.cols());
    for (std::int64_t j = 0; j < x.cols(); ++j)
      for (std::int64_t r = 0; r < n; ++r) x(r, j) = b1(r, j);
    if (m == 0) {
      found.require(norm1(x) == 0, "X of an empty system is not zero");
      return;
    }
    if (!finite_kind(input)) {
      if (input == Input::nan) found.require(!all_finite(x), "a NaN in A left no trace in X");
      return;
    }
    Dense<W> right(m, b1.cols());
    for (std::int64_t j = 0; j < right.cols(); ++j)
      for (std::int64_t r = 0; r < m; ++r) right(r, j) = b0(r, j);
    auto const residual = right - before * x;
    double const size = static_cast<double>(std::max(m, n));
    double const u = unit_roundoff<T>;
    R const norm = norm1(before);
    if (m == n) {
      found.at_most("norm1(B - A X) / (n norm1(A) norm1(X) u)", solution_error<T>(before, x, right), 30);
    } else if (m > n) {
      // The residual is orthogonal to the range of A.
      found.at_most("norm1(A^H (B - A X)) / (m norm1(A) norm1(B) u)",
                    quotient(norm1(adjoint(before) * residual), norm * (norm1(right) + norm * norm1(x))) / (size * u), 30);
      for (std::int64_t j = 0; j < right.cols(); ++j) {
        R expected = 0;
        R got = 0;
        R const scale = column_norm1(right, j) + norm * column_norm1(x, j);  // X may differ by a backward error of A
        for (std::int64_t r = 0; r < m; ++r) expected += modulus(residual(r, j)) * modulus(residual(r, j));
        for (std::int64_t r = n; r < m; ++r) got += modulus(b1(r, j)) * modulus(b1(r, j));
        found.at_most("abs(sum of squares below X - norm(b - A x)^2) / (m (norm1(b) + norm1(A) norm1(x))^2 u)",
                      quotient(modulus(got - expected), scale * scale) / (size * u), 30);
      }
    } else {
      found.at_most("norm1(B - A X) / (n norm1(A) norm1(X) u)", solution_error<T>(before, x, right), 30);
      // X has least norm: it lies in the range of A^H.
      auto const outside = norm1_outside_rows(before, x);
      found.at_most("norm1(X outside the range of A^H) / (n cond(A) norm1(X) u)",
                    quotient(outside, norm1(x)) / (size * condition_of_rows(before) * u), 30);
    }
  }
  double real_flops(Shape s) const override {
    double const m = static_cast<double>(std::max(s.m, s.n));
    double const n = static_cast<double>(std::min(s.m, s.n));
    return 2 * n * n * (m - n / 3) + 4 * m * n * static_cast<double>(s.k);
  }
};

/// Every third matrix of random elements has half of the rank that its size allows.
template <typename T>
struct GelsyCase final : CaseRun {
  Array<T> a, b;
  Array<int> jpvt, rank;

  explicit GelsyCase(Problem const& p)
      : CaseRun(p),
        a(p, size_m, size_n),
        b(p, size_max, size_k),
        jpvt(p, p.layout_beside(), size_n, size_one),
        rank(p, Layout::column_major, size_one, size_one) {
    for (std::int64_t i = 0; i < p.count; ++i) {
      if (low_rank(i) > 0)
        a.assign(i, factor(i, 3, a.rows(i), low_rank(i)) * factor(i, 4, low_rank(i), a.cols(i)));
      else
        a.assign(i, general(p, i, 1, a.rows(i), a.cols(i)));
      b.assign(i, general(p, Input::random, i, 2, b.rows(i), b.cols(i)));
      for (std::int64_t j = 0; j < jpvt.rows(i); ++j) jpvt.set(i, j, 0, 0);
    }
    hold({&b, &a, &jpvt}, Role::in_place);
    hold({&rank}, Role::output);
  }
  void run(Queue& queue) override { gelsy<T>(queue, a.view(), b.view(), jpvt.view(), rcond(problem().bounds()), rank.data()); }

 protected:
  void verify(std::int64_t i, Findings& found) const override {
    auto const before = a.before_wide(i), b0 = b.before_wide(i), b1 = b.now_wide(i);
    std::int64_t const m = before.rows(), n = before.cols(), k = std::min(m, n), got = rank.get(i, 0, 0);
    Dense<Wide<T>> x(n, b1.cols()), right(m, b1.cols());
    for (std::int64_t j = 0; j < x.cols(); ++j) {
      for (std::int64_t r = 0; r < n; ++r) x(r, j) = b1(r, j);
      for (std::int64_t r = 0; r < m; ++r) right(r, j) = b0(r, j);
    }
    if (!all_finite(before)) {
      found.equal("rank", got, 0);
      for (auto const& element : x.elements())
        found.require(real_part(element) != real_part(element), "an element of X of a matrix that is not finite is not NaN");
      return;
    }
    if (norm1(before) == 0) {
      found.equal("rank", got, 0);
      found.require(norm1(x) == 0, "X of a matrix of zeros is not zero");
      return;
    }
    Input const input = problem().input_of(i);
    if (low_rank(i) > 0)
      found.equal("rank", got, low_rank(i));
    else if (input == Input::dominant || input == Input::conditioned)
      found.equal("rank", got, k);
    else
      found.require(got >= 1 && got <= k, "the rank is " + std::to_string(got));
    if (x.cols() == 0) return;
    double const size = static_cast<double>(std::max(m, n)), u = unit_roundoff<T>;
    // A matrix of lower rank loses a part of norm rcond, which the bound must allow.
    double const of_rank = got < k ? 16 * static_cast<double>(size_max(problem().bounds())) : 1;
    auto const norm = norm1(before);
    found.at_most("norm1(A^H (B - A X)) / (max(m, n) norm1(A) (norm1(B) + norm1(A) norm1(X)) u)",
                  quotient(norm1(adjoint(before) * (right - before * x)), norm * (norm1(right) + norm * norm1(x))) / (size * of_rank * u),
                  30);
    if (got == m) found.at_most("norm1(B - A X) / (n norm1(A) norm1(X) u)", solution_error<T>(before, x, right), 30);
    if (low_rank(i) == 0 && (got < m || m >= n)) return;
    auto const row_space = low_rank(i) > 0 ? factor(i, 4, low_rank(i), n) : before;
    double const condition =
        condition_of_rows(row_space) * (low_rank(i) > 0 ? condition_of_rows(adjoint(factor(i, 3, m, low_rank(i)))) : 1);
    found.at_most("norm1(X outside the range of A^H) / (max(m, n) cond(A) norm1(X) u)",
                  quotient(norm1_outside_rows(row_space, x), norm1(x)) / (size * condition * u), 30);
  }
  double real_flops(Shape s) const override {
    double const m = static_cast<double>(std::max(s.m, s.n)), n = static_cast<double>(std::min(s.m, s.n));
    return 2 * n * n * (m - n / 3) + 4 * m * n * static_cast<double>(s.k);
  }

 private:
  static Real<T> rcond(Shape s) {
    return static_cast<Real<T>>(16 * static_cast<double>(std::max<std::int64_t>(size_max(s), 1)) * unit_roundoff<T>);
  }
  /// The rank of matrix i if that is made lower, else 0.
  [[nodiscard]] std::int64_t low_rank(std::int64_t i) const {
    bool const chosen = (problem().first + i) % 3 == 1 && problem().input_of(i) == Input::random;
    return chosen ? std::min(a.rows(i), a.cols(i)) / 2 : 0;
  }
  /// A factor of small multiples of 1/8, so that products are exact, of full rank.
  [[nodiscard]] Dense<Wide<T>> factor(std::int64_t i, std::uint64_t stream, std::int64_t rows, std::int64_t cols) const {
    Random random(problem(), i, stream);
    Dense<Wide<T>> out(rows, cols);
    for (std::int64_t j = 0; j < cols; ++j)
      for (std::int64_t r = 0; r < rows; ++r)
        out(r, j) = Wide<T>(static_cast<double>(random.below(17) - 8) / 8 +
                            (r == j ? std::ceil(2 * std::sqrt(static_cast<double>(std::min(rows, cols)))) : 0));
    return out;
  }
};

}  // namespace myriad::cases
