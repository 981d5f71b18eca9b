#pragma once
#include "case/case.hpp"
#include "lu/case.hpp"
#include "myriad/refine.hpp"

namespace myriad::cases {

/// The componentwise backward error of one column of X, in the widest arithmetic that there is.
template <typename T>
double reference_backward_error(Dense<Wide<T>> const& a, Dense<Wide<T>> const& x, Dense<Wide<T>> const& b, std::int64_t column) {
#if defined(__SIZEOF_FLOAT128__)
  __extension__ typedef __float128 Quad;  // long double does not hold the product of two doubles
#else
  using Quad = long double;
#endif
  double worst = 0;
  for (std::int64_t i = 0; i < a.rows(); ++i) {
    Quad re = real_part(b(i, column));
    Quad im = 0;
    if constexpr (complex_type<Wide<T>>) im = b(i, column).imag();
    long double scale = modulus1(b(i, column));
    for (std::int64_t j = 0; j < a.cols(); ++j) {
      auto const p = a(i, j);
      auto const q = x(j, column);
      scale += static_cast<long double>(modulus1(p)) * static_cast<long double>(modulus1(q));
      re -= static_cast<Quad>(real_part(p)) * static_cast<Quad>(real_part(q));
      if constexpr (complex_type<Wide<T>>) {
        re += static_cast<Quad>(p.imag()) * static_cast<Quad>(q.imag());
        im -= static_cast<Quad>(p.real()) * static_cast<Quad>(q.imag()) + static_cast<Quad>(p.imag()) * static_cast<Quad>(q.real());
      }
    }
    long double const residual = std::abs(static_cast<long double>(re)) + std::abs(static_cast<long double>(im));
    worst = larger(worst, quotient(residual, scale));
  }
  return worst;
}

/// Whether x is a power of two.
template <typename R>
bool power_of_two(R x) {
  int exponent = 0;
  return std::isfinite(x) && x > 0 && std::frexp(x, &exponent) == R(0.5);
}

template <typename T>
struct GeequCase final : CaseRun {
  Array<T> a;
  Array<Real<T>> r, c, rowcnd, colcnd, amax;
  Array<int> info;

  explicit GeequCase(Problem const& p)
      : CaseRun(p),
        a(p, size_m, size_n),
        r(p, size_m, size_one),
        c(p, size_n, size_one),
        rowcnd(p, Layout::column_major, size_one, size_one),
        colcnd(p, Layout::column_major, size_one, size_one),
        amax(p, Layout::column_major, size_one, size_one),
        info(p, Layout::column_major, size_one, size_one) {
    for (std::int64_t i = 0; i < p.count; ++i) a.assign(i, general(p, i, 1, a.rows(i), a.cols(i)));
    hold({&r, &c, &rowcnd, &colcnd, &amax}, Role::output);
    hold_info(info);
    hold({&a}, Role::input);
  }
  void run(Queue& queue) override { geequ(queue, a.view(), r.view(), c.view(), rowcnd.data(), colcnd.data(), amax.data(), info.data()); }

 protected:
  void verify(std::int64_t i, Findings& found) const override {
    auto const before = a.before_wide(i);
    std::int64_t const m = before.rows();
    std::int64_t const n = before.cols();
    Input const input = problem().input_of(i);
    if (m == 0 || n == 0 || !finite_kind(input)) return;
    double largest = 0;
    std::int64_t zero = 0;
    std::vector<double> row(static_cast<std::size_t>(m)), column(static_cast<std::size_t>(n));
    for (std::int64_t q = 0; q < n; ++q)
      for (std::int64_t p = 0; p < m; ++p) {
        double const size = static_cast<double>(modulus1(before(p, q)));
        row[static_cast<std::size_t>(p)] = std::max(row[static_cast<std::size_t>(p)], size);
        column[static_cast<std::size_t>(q)] = std::max(column[static_cast<std::size_t>(q)], size);
        largest = std::max(largest, size);
      }
    for (std::int64_t q = n - 1; q >= 0; --q)
      if (column[static_cast<std::size_t>(q)] == 0) zero = m + q + 1;
    for (std::int64_t p = m - 1; p >= 0; --p)
      if (row[static_cast<std::size_t>(p)] == 0) zero = p + 1;
    found.equal("info", info.get(i, 0, 0), zero);
    // For complex types either |re| + |im|, as LAPACK, or the modulus is an absolute value.
    double const low = is_complex<T> ? largest / std::sqrt(2.0) : largest;
    double const got = static_cast<double>(amax.get(i, 0, 0));
    found.require(got >= low * (1 - 4 * unit_roundoff<T>)&&got <= largest * (1 + 4 * unit_roundoff<T>), "amax is not the largest element");
    double row_low = HUGE_VAL, row_high = 0, col_low = HUGE_VAL, col_high = 0;
    for (std::int64_t p = 0; p < m; ++p) {
      double const scale = static_cast<double>(r.get(i, p, 0));
      found.require(power_of_two(scale), "a row scaling is not a power of two");
      if (zero > 0) {
        found.require(scale == 1, "a row scaling of a matrix with a zero row or column is not one");
        continue;
      }
      double const size = row[static_cast<std::size_t>(p)];
      found.require(scale * size > 0.49 && scale * size <= 2.01, "a scaled row has no largest element near one");
      row_low = std::min(row_low, scale);
      row_high = std::max(row_high, scale);
    }
    for (std::int64_t q = 0; q < n; ++q) {
      double const scale = static_cast<double>(c.get(i, q, 0));
      found.require(power_of_two(scale), "a column scaling is not a power of two");
      if (zero > 0) {
        found.require(scale == 1, "a column scaling of a matrix with a zero row or column is not one");
        continue;
      }
      double size = 0;
      for (std::int64_t p = 0; p < m; ++p)
        size = std::max(size, static_cast<double>(modulus1(before(p, q))) * static_cast<double>(r.get(i, p, 0)));
      found.require(scale * size > 0.49 && scale * size <= 2.01, "a scaled column has no largest element near one");
      col_low = std::min(col_low, scale);
      col_high = std::max(col_high, scale);
    }
    if (zero > 0) return;
    found.at_most("abs(rowcnd - min(r) / max(r)) / rowcnd", std::abs(static_cast<double>(rowcnd.get(i, 0, 0)) * row_high / row_low - 1),
                  1e-5);
    found.at_most("abs(colcnd - min(c) / max(c)) / colcnd", std::abs(static_cast<double>(colcnd.get(i, 0, 0)) * col_high / col_low - 1),
                  1e-5);
  }
  double real_flops(Shape s) const override { return static_cast<double>(s.m) * static_cast<double>(s.n); }
};

template <typename T>
struct LaqgeCase final : CaseRun {
  Array<T> a;
  Array<Real<T>> r, c;

  explicit LaqgeCase(Problem const& p) : CaseRun(p), a(p, size_m, size_n), r(p, size_m, size_one), c(p, size_n, size_one) {
    for (std::int64_t i = 0; i < p.count; ++i) {
      a.assign(i, general(p, i, 1, a.rows(i), a.cols(i)));
      Random random(p, i, 2);
      for (std::int64_t q = 0; q < r.rows(i); ++q) r.set(i, q, 0, static_cast<Real<T>>(1.5 + random.uniform()));
      for (std::int64_t q = 0; q < c.rows(i); ++q) c.set(i, q, 0, static_cast<Real<T>>(1.5 + random.uniform()));
    }
    hold({&a}, Role::in_place);
    hold({&r, &c}, Role::input);
  }
  void run(Queue& queue) override { laqge(queue, a.view(), Batch<Real<T> const>(r.view()), Batch<Real<T> const>(c.view())); }

 protected:
  void verify(std::int64_t i, Findings& found) const override {
    using W = Wide<T>;
    auto const before = a.before_wide(i);
    auto const now = a.now_wide(i);
    double worst = 0;
    for (std::int64_t q = 0; q < now.cols(); ++q)
      for (std::int64_t p = 0; p < now.rows(); ++p) {
        W const expected = before(p, q) * (RealPartOf<W>(r.get(i, p, 0)) * RealPartOf<W>(c.get(i, q, 0)));
        if (!is_finite(before(p, q)))
          found.require(!is_finite(now(p, q)), "a NaN or an infinity in A left no trace");
        else
          worst = larger(worst, quotient(modulus(now(p, q) - expected), RealPartOf<W>(gamma_bound<T>(2)) * modulus(expected)));
      }
    found.at_most("abs(r a c - reference) / (gamma(2) abs(r a c))", worst, 1);
  }
  double real_flops(Shape s) const override { return 2.0 * static_cast<double>(s.m) * static_cast<double>(s.n); }
};

/// X starts as the solution spoilt by a relative 1e-3 of its largest element, so that refinement has something to do.
template <typename T>
struct GerfsCase final : CaseRun {
  Array<T> a, af, b, x;
  Array<int> pivots;
  Array<Real<T>> ferr, berr;

  explicit GerfsCase(Problem const& p)
      : CaseRun(p),
        a(p, size_n, size_n),
        af(p, size_n, size_n),
        b(p, size_n, size_k),
        x(p, size_n, size_k),
        pivots(p, size_n, size_one),
        ferr(p, size_k, size_one),
        berr(p, size_k, size_one) {
    for (std::int64_t i = 0; i < p.count; ++i) {
      // make_factors draws the same matrix again for the factors
      make_factors(p, i, 1, af, pivots);
      auto const made = general(p, matrix_kind(i), i, 1, a.rows(i), a.cols(i));
      a.assign(i, made);
      auto const right = general(p, Input::random, i, 2, b.rows(i), b.cols(i));
      b.assign(i, right);
      auto lu = applied(p.op, made);
      std::vector<int> rows;
      auto solution = right;
      if (factor_lu(lu, &rows) == 0) solve_lu(lu, rows, solution);
      Random random(p, i, 3);
      for (std::int64_t q = 0; q < solution.cols(); ++q) {
        double size = 0;
        for (std::int64_t r = 0; r < solution.rows(); ++r) size = std::max(size, modulus(solution(r, q)));
        for (std::int64_t r = 0; r < solution.rows(); ++r) solution(r, q) += 1e-3 * size * random.uniform();
      }
      x.assign(i, solution);
    }
    hold({&x}, Role::in_place);
    hold({&ferr, &berr}, Role::output);
    hold({&a, &af, &b, &pivots}, Role::input);
  }
  void run(Queue& queue) override {
    gerfs<T>(queue, problem().op, a.view(), af.view(), problem().pivots ? Batch<int const>(pivots.view()) : Batch<int const>{}, b.view(),
             x.view(), ferr.view(), berr.view());
  }

 protected:
  void verify(std::int64_t i, Findings& found) const override {
    using W = Wide<T>;
    auto const right = b.before_wide(i);
    auto const result = x.now_wide(i);
    if (result.rows() == 0) {
      for (std::int64_t q = 0; q < berr.rows(i); ++q)
        found.require(berr.get(i, q, 0) == 0 && ferr.get(i, q, 0) == 0, "errors of an empty system are not zero");
      return;
    }
    Input const input = problem().input_of(i);
    auto const factors = af.before_wide(i);
    if (!finite_kind(input) || first_zero_on_diagonal(factors) > 0 || known_lu_info(input, 1, 1).value_or(0) > 0) return;
    auto const matrix = applied(problem().op, a.before_wide(i));
    auto lu = matrix;
    std::vector<int> rows;
    if (factor_lu(lu, &rows) != 0) return;
    auto exact = right;
    solve_lu(lu, rows, exact);
    double const n = static_cast<double>(result.rows());
    double const u = unit_roundoff<T>;
    for (std::int64_t q = 0; q < result.cols(); ++q) {
      double const error = reference_backward_error<T>(matrix, result, right, q);
      found.at_most("componentwise backward error / ((n + 1) u)", error / ((n + 1) * u), 3);
      found.at_most("abs(berr - reference) / ((n + 1) u)", std::abs(static_cast<double>(berr.get(i, q, 0)) - error) / ((n + 1) * u), 3);
      RealPartOf<W> difference = 0;
      RealPartOf<W> size = 0;
      for (std::int64_t r = 0; r < result.rows(); ++r) {
        difference = std::max(difference, modulus(result(r, q) - exact(r, q)));
        size = std::max(size, modulus(result(r, q)));
      }
      double const bound = static_cast<double>(ferr.get(i, q, 0));
      found.at_most("forward error / ferr", quotient(static_cast<double>(difference / size), bound), 1.5);
    }
  }
  double real_flops(Shape s) const override {
    double const n = static_cast<double>(s.n);
    return 4 * 6 * n * n * static_cast<double>(s.k);  // two sweeps, and about as much for the error bound
  }

 private:
  [[nodiscard]] Input matrix_kind(std::int64_t i) const {
    Input const input = problem().input_of(i);
    if (!problem().pivots && finite_kind(input) && special_index(input, 1) < 0) return Input::dominant;
    return finite_kind(input) ? input : Input::random;
  }
};

template <typename T>
struct BackwardErrorCase final : CaseRun {
  Array<T> a, x, b;
  Array<Real<T>> berr;

  /// B is A X rounded to T, so that the error to be found is of the order of u.
  explicit BackwardErrorCase(Problem const& p)
      : CaseRun(p), a(p, size_m, size_n), x(p, size_n, size_k), b(p, size_m, size_k), berr(p, size_k, size_one) {
    for (std::int64_t i = 0; i < p.count; ++i) {
      a.assign(i, general(p, i, 1, a.rows(i), a.cols(i)));
      x.assign(i, general(p, Input::random, i, 2, x.rows(i), x.cols(i)));
      b.assign(i, a.now_wide(i) * x.now_wide(i));
    }
    hold({&berr}, Role::output);
    hold({&a, &x, &b}, Role::input);
  }
  void run(Queue& queue) override { backward_error(queue, a.view(), x.view(), b.view(), berr.view()); }

 protected:
  void verify(std::int64_t i, Findings& found) const override {
    auto const matrix = a.before_wide(i);
    auto const solution = x.before_wide(i);
    auto const right = b.before_wide(i);
    for (std::int64_t q = 0; q < right.cols(); ++q) {
      double const got = static_cast<double>(berr.get(i, q, 0));
      double const expected = reference_backward_error<T>(matrix, solution, right, q);
      if (expected != expected || !all_finite(matrix)) {
        // infinity times a finite X gives infinity over infinity
        found.require(got != got || matrix.rows() == 0, "a NaN in A left no trace in the backward error");
        continue;
      }
      // For complex types the modulus of every term may be taken instead of |re| + |im|.
      double const slack = is_complex<T> ? 0.5 : 0.01;
      found.at_most("abs(berr - reference) / berr", quotient(std::abs(got - expected), expected), slack);
    }
  }
  double real_flops(Shape s) const override { return 4.0 * static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k); }
};

}  // namespace myriad::cases
