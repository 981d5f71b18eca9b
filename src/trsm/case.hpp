#pragma once
#include "case/case.hpp"
#include "myriad/trsm.hpp"

namespace myriad::cases {

/// op(A) X = alpha B or X op(A) = alpha B; op is a view, and uplo names the triangle of what is viewed.
template <typename T>
struct TrsmCase final : CaseRun {
  T alpha;
  Array<T> a, b;

  explicit TrsmCase(Problem const& p)
      : CaseRun(p),
        alpha(scalar<T>(p.alpha)),
        a(p, p.side == Side::left ? size_m : size_n, p.side == Side::left ? size_m : size_n, p.op),
        b(p, size_m, size_n) {
    for (std::int64_t i = 0; i < p.count; ++i) {
      a.assign(i, triangular(p, i, 1, a.rows(i)));
      b.assign(i, general(p, Input::random, i, 2, b.rows(i), b.cols(i)));
    }
    hold({&b}, Role::in_place);
    hold({&a}, Role::input);
  }
  void run(Queue& queue) override { trsm(queue, problem().side, problem().uplo, problem().diag, alpha, a.view(), b.view()); }
  double bytes() const override { return 2 * b.bytes() + a.bytes() / 2; }

 protected:
  void verify(std::int64_t i, Findings& found) const override {
    using W = Wide<T>;
    auto const& p = problem();
    auto const x = b.now_wide(i);
    if (x.rows() == 0 || x.cols() == 0) return;
    if (alpha == T(0)) {
      found.require(norm1(x) == 0, "X is not zero with alpha = 0");
      return;
    }
    bool const damaged = p.diag == Diag::non_unit && special_index(p.input_of(i), a.rows(i)) >= 0;
    if (damaged) {
      if (p.input_of(i) != Input::infinite) found.require(!all_finite(x), "a singular A or a NaN left no trace in X");
      return;
    }
    auto const t = triangle(p.uplo, p.diag, a.before_wide(i));
    auto scaled = b.before_wide(i);
    for (std::int64_t q = 0; q < scaled.cols(); ++q)
      for (std::int64_t r = 0; r < scaled.rows(); ++r) scaled(r, q) *= widened<W>(alpha);
    bool const left = p.side == Side::left;
    auto const product = left ? t * x : x * t;
    auto const bound = left ? moduli(t) * moduli(x) : moduli(x) * moduli(t);
    double worst = 0;
    for (std::int64_t q = 0; q < x.cols(); ++q)
      for (std::int64_t r = 0; r < x.rows(); ++r) {
        auto const allowed =
            RealPartOf<W>(gamma_bound<T>(a.rows(i) + 2)) * bound(r, q) + RealPartOf<W>(gamma_bound<T>(2)) * modulus(scaled(r, q));
        worst = larger(worst, quotient(modulus(scaled(r, q) - product(r, q)), allowed));
      }
    found.at_most("abs(alpha B - A X) / (gamma(n + 2) abs(A) abs(X) + gamma(2) abs(alpha B))", worst, 1);
  }
  double real_flops(Shape s) const override {
    double const m = static_cast<double>(s.m);
    double const n = static_cast<double>(s.n);
    return problem().side == Side::left ? m * m * n : m * n * n;
  }
};

}  // namespace myriad::cases
