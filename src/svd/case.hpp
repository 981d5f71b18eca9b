#pragma once
#include "case/case.hpp"
#include "svd/bidiagonal/bidiagonal_case.hpp"
#include "svd/svd.hpp"

namespace myriad::cases {

/// The singular values of a matrix, descending, by rotations of its columns (one-sided Jacobi). Values of a matrix whose columns differ in
/// size by a diagonal factor have relative accuracy.
template <typename T, typename W>
std::vector<RealPartOf<W>> singular_values(Dense<W> a) {
  using R = RealPartOf<W>;
  if (a.rows() < a.cols()) a = adjoint(a);
  std::int64_t const m = a.rows(), n = a.cols();
  R const limit = static_cast<R>(unit_roundoff<T>) / 1000;
  bool rotates = true;
  for (int sweep = 0; rotates && sweep < 60; ++sweep) {
    rotates = false;
    for (std::int64_t p = 0; p < n; ++p)
      for (std::int64_t q = p + 1; q < n; ++q) {
        R of_p = 0, of_q = 0;
        W dot = 0;
        for (std::int64_t i = 0; i < m; ++i) {
          of_p += modulus(a(i, p)) * modulus(a(i, p));
          of_q += modulus(a(i, q)) * modulus(a(i, q));
          dot += conjugate(a(i, p)) * a(i, q);
        }
        R const size = modulus(dot);
        if (size <= limit * std::sqrt(of_p) * std::sqrt(of_q)) continue;
        rotates = true;
        R const cotangent = (of_q - of_p) / (2 * size);
        R const t = (cotangent < 0 ? R(-1) : R(1)) / (std::abs(cotangent) + std::sqrt(1 + cotangent * cotangent));
        R const c = 1 / std::sqrt(1 + t * t);
        W const turn = dot / W(size) * W(t);
        for (std::int64_t i = 0; i < m; ++i) {
          W const x = a(i, p), y = a(i, q);
          a(i, p) = W(c) * (x - conjugate(turn) * y);
          a(i, q) = W(c) * (y + turn * x);
        }
      }
  }
  std::vector<R> values;
  for (std::int64_t j = 0; j < n; ++j) values.push_back(column_norm2(a, j));
  std::sort(values.begin(), values.end(), std::greater<>());
  return values;
}

/// Checks A = U diag(s) V^H.
template <typename T>
struct GesvdCase final : CaseRun {
  Array<T> a, u, vt;
  Array<Real<T>> s;
  Array<int> info;

  explicit GesvdCase(Problem const& p)
      : CaseRun(p),
        a(p, size_m, size_n),
        u(p, wants_u(p.svd_job) ? size_m : none,
          !wants_u(p.svd_job)         ? none
          : p.svd_job == SvdJob::full ? size_m
                                      : size_min),
        vt(p,
           !wants_vt(p.svd_job)        ? none
           : p.svd_job == SvdJob::full ? size_n
                                       : size_min,
           wants_vt(p.svd_job) ? size_n : none),
        s(p, p.layout_beside(), size_min, size_one),
        info(p, Layout::column_major, size_one, size_one) {
    for (std::int64_t b = 0; b < p.count; ++b) a.assign(b, with_singular_values(p, b, 1, a.rows(b), a.cols(b)));
    if (wants_u(p.svd_job)) hold({&u}, Role::output);
    if (wants_vt(p.svd_job)) hold({&vt}, Role::output);
    hold({&s}, Role::output);
    hold({&a}, Role::destroyed);
    hold_info(info);
  }
  void run(Queue& queue) override { gesvd<T>(queue, problem().svd_job, a.view(), s.view(), u.view(), vt.view(), info.data()); }
  double bytes() const override { return a.bytes() + s.bytes() + u.bytes() + vt.bytes(); }

 protected:
  void verify(std::int64_t b, Findings& found) const override {
    using W = Wide<T>;
    using R = RealPartOf<W>;
    auto const before = a.before_wide(b);
    std::int64_t const m = before.rows(), n = before.cols(), k = std::min(m, n);
    auto const values = wide_vector_of(s, b);
    bool const has_u = wants_u(problem().svd_job), has_vt = wants_vt(problem().svd_job);
    auto const left = has_u ? u.now_wide(b) : Dense<W>(m, 0);
    auto const right = has_vt ? adjoint(vt.now_wide(b)) : Dense<W>(n, 0);
    if (!all_finite(before)) {
      found.equal("info", info.get(b, 0, 0), k);
      for (auto const& x : values) found.require(x != x, "a value of a matrix that is not finite is not NaN");
      for (auto const* const x : {&left, &right})
        for (auto const& element : x->elements())
          found.require(real_part(element) != real_part(element), "an element of U or V of a matrix that is not finite is not NaN");
      return;
    }
    found.equal("info", info.get(b, 0, 0), 0);
    for (std::int64_t i = 0; i < k; ++i) {
      auto const at = static_cast<std::size_t>(i);
      found.require(values[at] >= 0 && !std::signbit(values[at]), "a singular value is negative");
      found.require(i == 0 || values[at] <= values[at - 1], "the singular values do not descend");
    }
    double const size = static_cast<double>(std::max<std::int64_t>({m, n, 1})) * unit_roundoff<T>;
    if (found.of_a_part()) {
      verify_a_part(before, left, right, values, found, size);
      return;
    }
    if (has_u) found.at_most("norm1(I - U^H U) / (m u)", orthogonality_error<T>(left), 30);
    if (has_vt) found.at_most("norm1(I - V^H V) / (n u)", orthogonality_error<T>(right), 30);
    if (k == 0) return;
    if (has_u && has_vt) {
      Dense<W> product(m, k), v(n, k);  // U diag(s)
      for (std::int64_t j = 0; j < k; ++j) {
        for (std::int64_t i = 0; i < m; ++i) product(i, j) = left(i, j) * values[static_cast<std::size_t>(j)];
        for (std::int64_t i = 0; i < n; ++i) v(i, j) = right(i, j);
      }
      found.at_most("norm1(A - U diag(s) V^H) / (max(m, n) norm1(A) u)",
                    factor_error<T>(before - product * adjoint(v), before, std::max(m, n)), 30);
      return;
    }
    auto const expected = singular_values<T>(before);
    R worst = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) worst = std::max(worst, std::abs(values[i] - expected[i]));
    found.at_most("abs(s - s_ref) / (max(m, n) norm2(A) u)", quotient(worst, expected[0]) / size, 30);
    // One side alone: the columns of A V, or of A^H U, are orthogonal with norms s.
    for (bool const of_u : {true, false}) {
      if (!(of_u ? has_u : has_vt)) continue;
      auto const product = of_u ? adjoint(before) * left : before * right;
      auto gram = adjoint(product) * product;
      for (std::int64_t i = 0; i < k; ++i) gram(i, i) -= W(values[static_cast<std::size_t>(i)] * values[static_cast<std::size_t>(i)]);
      found.at_most(of_u ? "norm1(U^H A A^H U - S^2) / (max(m, n) norm2(A)^2 u)" : "norm1(V^H A^H A V - S^2) / (max(m, n) norm2(A)^2 u)",
                    quotient(norm1(gram), expected[0] * expected[0]) / size, 100);
    }
  }
  /// Large matrices: compares the sum of squares with that of A, and checks some vectors.
  static void verify_a_part(Dense<Wide<T>> const& before, Dense<Wide<T>> const& left, Dense<Wide<T>> const& right,
                            std::vector<Wide<Real<T>>> const& values, Findings& found, double size) {
    using W = Wide<T>;
    using R = RealPartOf<W>;
    R squares = 0, sum = 0, largest = values.empty() ? R(0) : values.front();
    if (largest == 0) return found.require(norm1(before) == 0, "the singular values are zero, A is not");
    for (auto const& x : before.elements()) squares += modulus(x / largest) * modulus(x / largest);
    for (auto const& x : values) sum += x / largest * (x / largest);
    found.at_most("abs(sum(s^2) - normF(A)^2) / (max(m, n) normF(A)^2 u)", static_cast<double>(std::abs(sum - squares) / squares) / size,
                  60);
    for (auto const* const x : {&left, &right}) {
      if (x->cols() == 0) continue;
      auto const chosen = found.chosen(x->cols());
      auto products = adjoint(*x) * found.columns(*x);  // columns of I
      for (std::int64_t j = 0; j < products.cols(); ++j) {
        products(chosen[static_cast<std::size_t>(j)], j) -= 1;
        found.at_most("norm2(V^H v - e) / (max(m, n) u)", static_cast<double>(column_norm2(products, j)) / size, 30);
      }
    }
    for (std::int64_t const c : found.chosen(static_cast<std::int64_t>(values.size()))) {
      if (left.cols() == 0 || right.cols() == 0) break;
      Dense<W> x(left.rows(), 1), y(right.rows(), 1);
      for (std::int64_t i = 0; i < x.rows(); ++i) x(i, 0) = values[static_cast<std::size_t>(c)] * left(i, c);
      for (std::int64_t i = 0; i < y.rows(); ++i) y(i, 0) = right(i, c);
      found.at_most("norm2(A v - s u) / (max(m, n) norm2(A) u)", static_cast<double>(column_norm2(before * y - x, 0) / largest) / size, 30);
    }
  }
  double real_flops(Shape s) const override {
    double const m = static_cast<double>(size_max(s)), n = static_cast<double>(size_min(s));
    double const values = 4 * n * n * (m - n / 3);
    return problem().svd_job == SvdJob::values ? values : values + 4 * m * n * n + 8 * n * n * n;
  }

 private:
  static std::int64_t none(Shape) { return 0; }
};

/// Checks X A X = X, A X A = A up to the cutoff, and the rank. Random matrices get a dominant diagonal, so that X is not much larger than
/// its error.
template <typename T>
struct PinvCase final : CaseRun {
  Array<T> a, x;
  Array<int> rank, info;

  explicit PinvCase(Problem const& p)
      : CaseRun(p),
        a(p, size_m, size_n),
        x(p, size_n, size_m),
        rank(p, Layout::column_major, size_one, size_one),
        info(p, Layout::column_major, size_one, size_one) {
    for (std::int64_t b = 0; b < p.count; ++b) {
      Input const input = p.input_of(b);
      std::int64_t const m = a.rows(b), n = a.cols(b);
      a.assign(b, input == Input::random ? general(p, Input::dominant, b, 1, m, n) : with_singular_values(p, b, 1, m, n));
    }
    hold({&x}, Role::output);
    hold({&a}, Role::input);
    hold({&rank}, Role::output);
    hold_info(info);
  }
  void run(Queue& queue) override { pinv<T>(queue, a.view(), Real<T>(-1), x.view(), rank.data(), info.data()); }

 protected:
  void verify(std::int64_t b, Findings& found) const override {
    using W = Wide<T>;
    auto const before = a.before_wide(b), now = x.now_wide(b);
    std::int64_t const m = before.rows(), n = before.cols(), k = std::min(m, n);
    if (!all_finite(before)) {
      found.equal("info", info.get(b, 0, 0), k);
      found.equal("rank", rank.get(b, 0, 0), 0);
      for (auto const& element : now.elements())
        found.require(real_part(element) != real_part(element), "an element of X of a matrix that is not finite is not NaN");
      return;
    }
    found.equal("info", info.get(b, 0, 0), 0);
    double const unit = unit_roundoff<T>, size = static_cast<double>(std::max<std::int64_t>({m, n, 1}));
    if (k == 0) return found.equal("rank", rank.get(b, 0, 0), 0);
    if (norm1(before) == 0) {
      found.equal("rank", rank.get(b, 0, 0), 0);
      return found.require(norm1(now) == 0, "X of a matrix of zeros is not zero");
    }
    Dense<W> const product = before * now;
    auto const of_a = norm1(before), of_x = norm1(now);
    double const scale = size * unit * (1 + static_cast<double>(of_a * of_x));
    found.at_most("norm1(A X A - A) / (max(m, n) norm1(A) (1 + norm1(A) norm1(X)) u)",
                  quotient(norm1(product * before - before), of_a) / scale, 30);
    found.at_most("norm1(X A X - X) / (max(m, n) norm1(X) (1 + norm1(A) norm1(X)) u)", quotient(norm1(now * product - now), of_x) / scale,
                  30);
    found.at_most("norm1(A X - (A X)^H) / (max(m, n) (1 + norm1(A) norm1(X)) u)",
                  static_cast<double>(norm1(product - adjoint(product))) / scale, 30);
    if (found.of_a_part()) return;
    // Values near the cutoff may fall on either side.
    auto const values = singular_values<T>(before);
    std::int64_t least = 0, most = 0;
    for (auto const value : values) {
      double const relative = static_cast<double>(value / values[0]) / (2 * size * unit);
      least += relative > 40;
      most += relative > 1.0 / 40;
    }
    found.require(rank.get(b, 0, 0) >= least && rank.get(b, 0, 0) <= most,
                  "rank is " + std::to_string(rank.get(b, 0, 0)) + ", expected " + std::to_string(least) + " to " + std::to_string(most));
  }
  double real_flops(Shape s) const override {
    double const m = static_cast<double>(size_max(s)), n = static_cast<double>(size_min(s));
    return 4 * n * n * (m - n / 3) + 4 * m * n * n + 8 * n * n * n + 2 * m * n * n;
  }
};

}  // namespace myriad::cases
