#pragma once
#include "case/case.hpp"
#include "myriad/gemm.hpp"

namespace myriad::cases {

/// C = alpha op(A) op(B) + beta C; the operations are views.
template <typename T>
struct GemmCase final : CaseRun {
  T alpha, beta;
  Array<T> a, b, c;

  explicit GemmCase(Problem const& p)
      : CaseRun(p),
        alpha(scalar<T>(p.alpha)),
        beta(scalar<T>(p.beta)),
        a(p, size_m, size_k, p.op),
        b(p, size_k, size_n, p.op_b),
        c(p, size_m, size_n) {
    for (std::int64_t i = 0; i < p.count; ++i) {
      a.assign(i, general(p, i, 1, a.rows(i), a.cols(i)));
      b.assign(i, general(p, finite_kind(p.input_of(i)) ? p.input_of(i) : Input::random, i, 2, b.rows(i), b.cols(i)));
      if (beta != T(0)) c.assign(i, general(p, Input::random, i, 3, c.rows(i), c.cols(i)));  // else it stays NaN and must not be read
    }
    hold({&c}, beta != T(0) ? Role::in_place : Role::output);
    hold({&a, &b}, Role::input);
  }
  void run(Queue& queue) override { gemm(queue, alpha, a.view(), b.view(), beta, c.view()); }

 protected:
  void verify(std::int64_t i, Findings& found) const override {
    using W = Wide<T>;
    auto const result = c.now_wide(i);
    if (result.rows() == 0 || result.cols() == 0) return;
    auto const k = a.cols(i);
    bool const product = alpha != T(0) && k > 0;  // otherwise A and B are not read
    if (product && !finite_kind(problem().input_of(i))) {
      found.require(!all_finite(result), "NaN or infinity in A left no trace");
      return;
    }
    auto const before = c.before_wide(i);
    Dense<W> const x = product ? a.before_wide(i) : Dense<W>(result.rows(), 0);
    Dense<W> const y = product ? b.before_wide(i) : Dense<W>(0, result.cols());
    auto const xy = x * y;
    auto const bound = moduli(x) * moduli(y);
    W const wide_alpha = widened<W>(alpha);
    W const wide_beta = widened<W>(beta);
    double worst = 0;
    for (std::int64_t q = 0; q < result.cols(); ++q)
      for (std::int64_t r = 0; r < result.rows(); ++r) {
        W const kept = beta != T(0) ? wide_beta * before(r, q) : W(0);
        W const expected = wide_alpha * xy(r, q) + kept;
        auto const allowed =
            RealPartOf<W>(gamma_bound<T>(k + 2)) * modulus(wide_alpha) * bound(r, q) + RealPartOf<W>(gamma_bound<T>(2)) * modulus(kept);
        worst = larger(worst, quotient(modulus(result(r, q) - expected), allowed));
      }
    found.at_most("abs(C - Cref) / (gamma(k + 2) abs(alpha) abs(A) abs(B) + gamma(2) abs(beta C0))", worst, 1);
  }
  double real_flops(Shape s) const override { return 2.0 * static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k); }
};

}  // namespace myriad::cases
