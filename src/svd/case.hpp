#pragma once
#include "case/case.hpp"
#include "svd/bidiagonal/bidiagonal_case.hpp"
#include "svd/svd.hpp"

namespace myriad::cases {

/// Rotates the columns of a matrix that is not wide until they are orthogonal (one-sided Jacobi), and those of V, if it is given. Their
/// lengths are the singular values, with relative accuracy where the columns differ in size by a diagonal factor.
template <typename T, typename W>
void orthogonalize(Dense<W>& a, Dense<W>* v) {
  using R = RealPartOf<W>;
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
        for (Dense<W>* const x : {&a, v})
          for (std::int64_t i = 0; x && i < x->rows(); ++i) {
            W const of_i = (*x)(i, p), of_j = (*x)(i, q);
            (*x)(i, p) = W(c) * (of_i - conjugate(turn) * of_j);
            (*x)(i, q) = W(c) * (of_j + turn * of_i);
          }
      }
  }
}

/// The singular values of a matrix, descending.
template <typename T, typename W>
std::vector<RealPartOf<W>> singular_values(Dense<W> a) {
  if (a.rows() < a.cols()) a = adjoint(a);
  orthogonalize<T>(a, static_cast<Dense<W>*>(nullptr));
  std::vector<RealPartOf<W>> values;
  for (std::int64_t j = 0; j < a.cols(); ++j) values.push_back(column_norm2(a, j));
  std::sort(values.begin(), values.end(), std::greater<>());
  return values;
}

/// Checks A = U diag(s) V^H, of gesvd or gejsv.
template <typename T>
struct SvdCase : CaseRun {
  Array<T> a, u, vt;
  Array<Real<T>> s;
  Array<int> info;

  /// `graded` makes random matrices B D or D B, see GejsvCase.
  SvdCase(Problem const& p, bool graded)
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
    for (std::int64_t b = 0; b < p.count; ++b) {
      std::int64_t const m = a.rows(b), n = a.cols(b);
      if (!graded || p.input_of(b) != Input::random) {
        a.assign(b, with_singular_values(p, b, 1, m, n));
        continue;
      }
      auto x = general(p, Input::dominant, b, 1, m, n);
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t i = 0; i < m; ++i) x(i, j) *= grade(m < n ? i : j);
      a.assign(b, x);
    }
    if (wants_u(p.svd_job)) hold({&u}, Role::output);
    if (wants_vt(p.svd_job)) hold({&vt}, Role::output);
    hold({&s}, Role::output);
    hold({&a}, Role::destroyed);
    hold_info(info);
  }
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
  /// Element i of D: powers of two from 1 to 2^-40, in no order
  static double grade(std::int64_t i) { return std::ldexp(1.0, -static_cast<int>(13 * i % 41)); }
  double real_flops(Shape s) const override {
    double const m = static_cast<double>(size_max(s)), n = static_cast<double>(size_min(s));
    double const values = 4 * n * n * (m - n / 3);
    return problem().svd_job == SvdJob::values ? values : values + 4 * m * n * n + 8 * n * n * n;
  }

 private:
  static std::int64_t none(Shape) { return 0; }
};

template <typename T>
struct GesvdCase final : SvdCase<T> {
  explicit GesvdCase(Problem const& p) : SvdCase<T>(p, false) {}
  void run(Queue& queue) override {
    gesvd<T>(queue, this->problem().svd_job, this->a.view(), this->s.view(), this->u.view(), this->vt.view(), this->info.data());
  }
};

/// Checks also that the values of A = B D or D B, with a well-conditioned B and a diagonal D on the shorter side, have small relative
/// errors.
template <typename T>
struct GejsvCase final : SvdCase<T> {
  using SvdCase<T>::a;
  using SvdCase<T>::s;

  explicit GejsvCase(Problem const& p) : SvdCase<T>(p, true) {}
  void run(Queue& queue) override {
    gejsv<T>(queue, this->problem().svd_job, a.view(), s.view(), this->u.view(), this->vt.view(), this->info.data());
  }

 protected:
  void verify(std::int64_t b, Findings& found) const override {
    SvdCase<T>::verify(b, found);
    if (found.of_a_part() || this->problem().input_of(b) != Input::random) return;
    using W = Wide<T>;
    using R = RealPartOf<W>;
    auto const before = a.before_wide(b);
    std::int64_t const m = before.rows(), n = before.cols();
    if (std::min(m, n) == 0 || std::min(m, n) > 64) return;  // the reference takes seconds
    Dense<W> of_b(m, n);
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < m; ++i) of_b(i, j) = before(i, j) / W(R(this->grade(m < n ? i : j)));
    auto const expected = singular_values<T>(before), values_of_b = singular_values<T>(of_b), values = wide_vector_of(s, b);
    R worst = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) worst = std::max(worst, std::abs(values[i] - expected[i]) / expected[i]);
    double const condition = static_cast<double>(values_of_b.front() / values_of_b.back());
    found.at_most("abs(s - s_ref) / (max(m, n) s_ref cond(B) u)",
                  static_cast<double>(worst) / (static_cast<double>(std::max(m, n)) * condition * unit_roundoff<T>), 30);
  }
};

/// Checks the number of values above `relative` times the largest one. Values near the cutoff may fall on either side.
template <typename T, typename R>
void verify_rank(int rank, std::vector<R> const& values, double relative, double size, Findings& found) {
  std::int64_t least = 0, most = 0;
  double const slack = 80 * size * unit_roundoff<T>;
  for (auto const value : values) {
    double const here = values[0] > 0 ? static_cast<double>(value / values[0]) : 0;
    least += here > relative + slack;
    most += here > 0 && here > std::min(relative / 40, relative - slack);
  }
  found.require(rank >= least && rank <= most,
                "rank is " + std::to_string(rank) + ", expected " + std::to_string(least) + " to " + std::to_string(most));
}

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
    verify_rank<T>(rank.get(b, 0, 0), singular_values<T>(before), 2 * size * unit, size, found);
  }
  double real_flops(Shape s) const override {
    double const m = static_cast<double>(size_max(s)), n = static_cast<double>(size_min(s));
    return 4 * n * n * (m - n / 3) + 4 * m * n * n + 8 * n * n * n + 2 * m * n * n;
  }
};

/// Checks singular values, rank, that X is the truncated solution of least norm, and the residuals. The cutoff is 1/100 and random matrices
/// get a dominant diagonal, so that X is not much larger than its error.
template <typename T>
struct GelsdCase final : CaseRun {
  static constexpr double rcond = 0.01;
  Array<T> a, b;
  Array<Real<T>> s;
  Array<int> rank, info;

  explicit GelsdCase(Problem const& p)
      : CaseRun(p),
        a(p, size_m, size_n),
        b(p, size_max, size_k),
        s(p, p.layout_beside(), size_min, size_one),
        rank(p, Layout::column_major, size_one, size_one),
        info(p, Layout::column_major, size_one, size_one) {
    for (std::int64_t q = 0; q < p.count; ++q) {
      Input const input = p.input_of(q);
      a.assign(q, input == Input::random ? general(p, Input::dominant, q, 1, a.rows(q), a.cols(q))
                                         : with_singular_values(p, q, 1, a.rows(q), a.cols(q)));
      b.assign(q, general(p, Input::random, q, 2, b.rows(q), b.cols(q)));
    }
    hold({&b}, Role::in_place);
    hold({&a}, Role::destroyed);
    hold({&s, &rank}, Role::output);
    hold_info(info);
  }
  void run(Queue& queue) override { gelsd<T>(queue, a.view(), b.view(), s.view(), Real<T>(rcond), rank.data(), info.data()); }

 protected:
  void verify(std::int64_t q, Findings& found) const override {
    using W = Wide<T>;
    using R = RealPartOf<W>;
    auto const before = a.before_wide(q), b0 = b.before_wide(q), b1 = b.now_wide(q);
    std::int64_t const m = before.rows(), n = before.cols(), k = std::min(m, n), columns = b1.cols();
    auto const values = wide_vector_of(s, q);
    int const r = rank.get(q, 0, 0);
    auto const part = [&](Dense<W> const& x, std::int64_t first, std::int64_t rows) {
      Dense<W> out(rows, columns);
      for (std::int64_t j = 0; j < columns; ++j)
        for (std::int64_t i = 0; i < rows; ++i) out(i, j) = x(first + i, j);
      return out;
    };
    auto const x = part(b1, 0, n), right = part(b0, 0, m);
    if (!all_finite(before)) {
      found.equal("info", info.get(q, 0, 0), k);
      found.equal("rank", r, 0);
      for (auto const& value : values) found.require(value != value, "a value of a matrix that is not finite is not NaN");
      for (auto const& element : x.elements())
        found.require(real_part(element) != real_part(element), "an element of X of a matrix that is not finite is not NaN");
      return;
    }
    found.equal("info", info.get(q, 0, 0), 0);
    if (k == 0) {
      found.equal("rank", r, 0);
      found.require(norm1(x) == 0, "X of an empty system is not zero");
      found.require(n > 0 || norm1(b1 - b0) == 0, "B of a matrix without columns has changed");
      return;
    }
    double const u = unit_roundoff<T>, size = static_cast<double>(std::max(m, n));
    auto const residual = right - before * x;
    if (m > n && r == n)  // LAPACK promises it for full rank only; tests of hard cases check more
      for (std::int64_t j = 0; j < columns; ++j) {
        R expected = 0, got = 0;
        R const scale = column_norm1(right, j) + norm1(before) * column_norm1(x, j);
        for (std::int64_t i = 0; i < m; ++i) expected += modulus(residual(i, j)) * modulus(residual(i, j));
        for (std::int64_t i = n; i < m; ++i) got += modulus(b1(i, j)) * modulus(b1(i, j));
        found.at_most("abs(sum of squares below X - norm(b - A x)^2) / (m (norm1(b) + norm1(A) norm1(x))^2 u)",
                      quotient(modulus(got - expected), scale * scale) / (size * u), 30);
      }
    if (found.of_a_part()) return;
    // A V = G, or A^H V = G for a wide matrix, and columns of G are orthogonal.
    auto g = m < n ? adjoint(before) : before;
    auto v = identity<W>(k);
    orthogonalize<T>(g, &v);
    std::vector<std::int64_t> order;
    std::vector<R> expected;
    for (std::int64_t j = 0; j < k; ++j) {
      order.push_back(j);
      expected.push_back(column_norm2(g, j));
    }
    std::sort(order.begin(), order.end(),
              [&](auto i, auto j) { return expected[static_cast<std::size_t>(i)] > expected[static_cast<std::size_t>(j)]; });
    std::sort(expected.begin(), expected.end(), std::greater<>());
    R const largest = expected[0];
    R worst = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) worst = std::max(worst, std::abs(values[i] - expected[i]));
    found.at_most("abs(s - s_ref) / (max(m, n) norm2(A) u)", quotient(worst, largest) / (size * u), 30);
    verify_rank<T>(r, expected, rcond, size, found);
    if (r < 0 || r > k) return;
    if (r == 0) return found.require(norm1(x) == 0, "X of a matrix of zeros is not zero");
    // X = V S^-1 U^H B of the first r values
    Dense<W> solution(n, columns);
    auto const& of_left = m < n ? v : g;
    auto const& of_right = m < n ? g : v;
    for (std::int64_t c = 0; c < r; ++c) {
      std::int64_t const from = order[static_cast<std::size_t>(c)];
      R const value = expected[static_cast<std::size_t>(c)];
      for (std::int64_t j = 0; j < columns; ++j) {
        W sum = 0;
        for (std::int64_t i = 0; i < m; ++i) sum += conjugate(of_left(i, from)) * right(i, j);
        sum = sum / W(value) / W(value);
        for (std::int64_t i = 0; i < n; ++i) solution(i, j) += of_right(i, from) * sum;
      }
    }
    auto const at = static_cast<std::size_t>(r);
    R const least = expected[at - 1], next = r < k ? expected[at] : R(0);
    double const condition = static_cast<double>(largest / least), gap = static_cast<double>((least - next) / least);
    if (gap < 1e-3) return;  // X depends on which of two values is cut off
    auto const left_over = right - before * solution;
    for (std::int64_t j = 0; j < columns; ++j) {
      R error = 0;
      for (std::int64_t i = 0; i < n; ++i) error += modulus(x(i, j) - solution(i, j));
      R const scale = column_norm1(solution, j) + column_norm1(left_over, j) / least;
      found.at_most("norm1(x - x_ref) gap / (max(m, n) cond (norm1(x) + norm1(b - A x) / s_r) u)",
                    quotient(error, scale) * gap / (size * condition * u), 30);
    }
  }
  double real_flops(Shape shape) const override {
    double const m = static_cast<double>(size_max(shape)), n = static_cast<double>(size_min(shape)), k = static_cast<double>(shape.k);
    return 4 * n * n * (m - n / 3) + 4 * m * n * n + 8 * n * n * n + 2 * (m + n) * n * k;
  }
};

/// Numbers that the singular values give, one per matrix.
template <typename T, typename Number>
struct OfValuesCase : CaseRun {
  Array<T> a;
  Array<Number> number;
  Array<int> info;

  explicit OfValuesCase(Problem const& p)
      : CaseRun(p),
        a(p, size_m, size_n),
        number(p, Layout::column_major, size_one, size_one),
        info(p, Layout::column_major, size_one, size_one) {
    for (std::int64_t b = 0; b < p.count; ++b) a.assign(b, with_singular_values(p, b, 1, a.rows(b), a.cols(b)));
    hold({&number}, Role::output);
    hold({&a}, Role::input);
    hold_info(info);
  }

 protected:
  /// `values` are null for a matrix with NaN or infinity.
  virtual void verify_number(Number got, std::vector<RealPartOf<Wide<T>>> const* values, double size, Findings& found) const = 0;

  void verify(std::int64_t b, Findings& found) const override {
    auto const before = a.before_wide(b);
    std::int64_t const m = before.rows(), n = before.cols();
    bool const finite = all_finite(before);
    found.equal("info", info.get(b, 0, 0), finite ? 0 : std::min(m, n));
    Number const got = number.get(b, 0, 0);
    if (!finite) return verify_number(got, nullptr, 0, found);
    if (std::min(m, n) == 0) return found.require(got == Number(0), "the number of a matrix without elements is not zero");
    if (found.of_a_part()) return;
    auto const values = singular_values<T>(before);
    verify_number(got, &values, static_cast<double>(std::max(m, n)), found);
  }
  double real_flops(Shape s) const override {
    double const m = static_cast<double>(size_max(s)), n = static_cast<double>(size_min(s));
    return 4 * n * n * (m - n / 3);
  }
};

template <typename T>
struct MatrixRankCase final : OfValuesCase<T, int> {
  using OfValuesCase<T, int>::OfValuesCase;
  void run(Queue& queue) override { matrix_rank<T>(queue, this->a.view(), 0, -1, this->number.data(), this->info.data()); }

 protected:
  void verify_number(int got, std::vector<RealPartOf<Wide<T>>> const* values, double size, Findings& found) const override {
    if (!values) return found.equal("rank", got, 0);
    verify_rank<T>(got, *values, 2 * size * unit_roundoff<T>, size, found);
  }
};

template <typename T>
struct CondCase final : OfValuesCase<T, Real<T>> {
  using OfValuesCase<T, Real<T>>::OfValuesCase;
  void run(Queue& queue) override { cond<T>(queue, this->a.view(), this->number.data(), this->info.data()); }

 protected:
  void verify_number(Real<T> got, std::vector<RealPartOf<Wide<T>>> const* values, double size, Findings& found) const override {
    if (!values) return found.require(got != got, "the condition number of a matrix that is not finite is not NaN");
    auto const largest = values->front(), least = values->back();
    double const unit = size * unit_roundoff<T>;
    if (largest == 0) return found.require(std::isinf(got), "the condition number of a matrix of zeros is not infinity");
    if (static_cast<double>(least / largest) < 100 * unit)  // then it depends on rounding errors
      return found.require(static_cast<double>(got) > 1 / (200 * unit), "the condition number of a nearly singular matrix is not large");
    double const expected = static_cast<double>(largest / least);
    found.at_most("abs(cond - cond_ref) / (max(m, n) cond^2 u)",
                  std::abs(static_cast<double>(got) - expected) / (expected * expected * unit), 30);
  }
};

template <typename T>
struct Norm2Case final : OfValuesCase<T, Real<T>> {
  using OfValuesCase<T, Real<T>>::OfValuesCase;
  void run(Queue& queue) override { norm2<T>(queue, this->a.view(), this->number.data(), this->info.data()); }

 protected:
  void verify_number(Real<T> got, std::vector<RealPartOf<Wide<T>>> const* values, double size, Findings& found) const override {
    using R = RealPartOf<Wide<T>>;
    if (!values) return found.require(got != got, "the norm of a matrix that is not finite is not NaN");
    found.at_most("abs(norm - norm_ref) / (max(m, n) norm u)",
                  quotient(std::abs(R(got) - values->front()), values->front()) / (size * unit_roundoff<T>), 30);
  }
};

}  // namespace myriad::cases
