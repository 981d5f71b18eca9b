#pragma once
#include "case/case.hpp"
#include "myriad/blas2.hpp"
#include "myriad/gemm.hpp"

namespace myriad::cases {

/// The product of one matrix as the oracle sees it, before the run.
template <typename T>
struct ProductOf {
  Compute<T> alpha, beta;
  Dense<Wide<T>> a, b, before;
  double of_factors = 0;  ///< relative error that factors may have
};

/// Elementwise abs(C - Cref) / (gamma(k + 2) abs(alpha) abs(A) abs(B) + gamma(2) abs(beta C0)), with C = `result`, C0 = `before` and gamma
/// of the compute type. Where terms are added to beta C0 one by one, `roundings_of_before` is more than 2. A 16-bit result is rounded once
/// more: it is right within a unit in the last place, and otherwise that unit is added to the bound. With `exact_sums` no sum or product
/// needs more bits than the compute type has, and C must be the nearest number.
template <typename T, typename Output = T>
double product_error(ProductOf<T> const& product, Dense<Wide<T>> const& result, std::int64_t roundings_of_before = 2,
                     bool exact_sums = false) {
  using W = Wide<T>;
  using C = Compute<T>;
  bool const reads = product.alpha != C(0) && product.a.cols() > 0;  // otherwise A and B are not read
  auto const x = reads ? product.a : Dense<W>(result.rows(), 0);
  auto const y = reads ? product.b : Dense<W>(0, result.cols());
  auto const xy = x * y;
  auto const bound = moduli(x) * moduli(y);
  auto const k = product.a.cols();
  W const alpha = widened<W>(product.alpha);
  W const beta = widened<W>(product.beta);
  double worst = 0;
  for (std::int64_t q = 0; q < result.cols(); ++q)
    for (std::int64_t r = 0; r < result.rows(); ++r) {
      W const kept = product.beta != C(0) ? beta * product.before(r, q) : W(0);
      W const expected = alpha * xy(r, q) + kept;
      auto allowed = RealPartOf<W>(gamma_bound<C>(k + 2) + product.of_factors) * modulus(alpha) * bound(r, q) +
                     RealPartOf<W>(gamma_bound<C>(roundings_of_before)) * modulus(kept);
      if constexpr (HalfElement<Output>) {
        double const off = units_off<Output>(result(r, q), expected, exact_sums);
        if (exact_sums || off <= 1) {
          worst = larger(worst, off);
          continue;
        }
        // The unit of the modulus is at least that of each part.
        allowed += (is_complex<Output> ? std::sqrt(2.0) : 1.0) * unit_in_the_last_place<Real<Output>>(modulus(expected));
      }
      worst = larger(worst, quotient(modulus(result(r, q) - expected), allowed));
    }
  return worst;
}

/// C = alpha op(A) op(B) + beta C; the operations are views. With 16-bit A and B, C may have the compute type.
template <typename T, typename Output>
struct GemmCaseInto final : CaseRun {
  using Scalar = Compute<T>;
  Scalar alpha, beta;
  Array<T> a, b;
  Array<Output> c;

  explicit GemmCaseInto(Problem const& p)
      : CaseRun(p),
        alpha(scalar<Scalar>(p.alpha)),
        beta(scalar<Scalar>(p.beta)),
        a(p, size_m, size_k, p.op),
        b(p, size_k, size_n, p.op_b),
        c(p, size_m, size_n) {
    for (std::int64_t i = 0; i < p.count; ++i) {
      a.assign(i, general(p, i, 1, a.rows(i), a.cols(i)));
      b.assign(i, general(p, finite_kind(p.input_of(i)) ? p.input_of(i) : Input::random, i, 2, b.rows(i), b.cols(i)));
      if (beta != Scalar(0)) c.assign(i, general(p, Input::random, i, 3, c.rows(i), c.cols(i)));  // else it stays NaN and must not be read
    }
    hold({&c}, beta != Scalar(0) ? Role::in_place : Role::output);
    hold({&a, &b}, Role::input);
  }
  void run(Queue& queue) override {
    if constexpr (HalfElement<T>)
      gemm<T>(queue, alpha, a.view(), b.view(), beta, c.view());
    else
      gemm<T>(queue, alpha, a.view(), b.view(), beta, c.view(), problem().arithmetic);
    // Tensor cores truncate where others round: the error is up to a unit in the last place, not half of one.
    limit = HalfElement<T> && !HalfElement<Output> && queue.backend() == Backend::gpu ? 2 : 1;
  }

 protected:
  double limit = 1;

  void verify(std::int64_t i, Findings& found) const override {
    auto const result = found.columns(c.now_wide(i));
    if (result.rows() == 0 || result.cols() == 0) return;
    if (alpha != Scalar(0) && a.cols(i) > 0 && !finite_kind(problem().input_of(i))) {
      found.require(!all_finite(result), "NaN or infinity in A left no trace");
      return;
    }
    Arithmetic const arithmetic = problem().arithmetic;
    double const of_factors = arithmetic == Arithmetic::standard ? 0.0 : arithmetic == Arithmetic::tf32 ? 0x1p-10 : 0x1p-20;
    ProductOf<T> const product{alpha, beta, a.before_wide(i), found.columns(b.before_wide(i)), found.columns(c.before_wide(i)), of_factors};
    // Then all numbers are multiples of 1/8. alpha and beta must be multiples of 1/4, as they are wherever this is used.
    bool const exact_sums = HalfElement<Output> && problem().input_of(i) == Input::random && !problem().timing;
    if (exact_sums)
      found.require(product_error<T, Output>(product, result, 2, true) == 0, "C is not the exact result rounded once");
    else
      found.at_most(HalfElement<Output> ? "abs(C - Cref) / (gamma(k + 2) abs(alpha) abs(A) abs(B) + gamma(2) abs(beta C0) + a last place)"
                                        : "abs(C - Cref) / (gamma(k + 2) abs(alpha) abs(A) abs(B) + gamma(2) abs(beta C0))",
                    product_error<T, Output>(product, result), limit);
  }
  double real_flops(Shape s) const override { return 2.0 * static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k); }
};
template <typename T>
using GemmCase = GemmCaseInto<T, T>;

/// y = alpha op(A) x + beta y; the operation is a view.
template <typename T>
struct GemvCase final : CaseRun {
  T alpha, beta;
  Array<T> a, x, y;

  explicit GemvCase(Problem const& p)
      : CaseRun(p),
        alpha(scalar<T>(p.alpha)),
        beta(scalar<T>(p.beta)),
        a(p, size_m, size_n, p.op),
        x(p, size_n, size_one),
        y(p, size_m, size_one) {
    for (std::int64_t i = 0; i < p.count; ++i) {
      a.assign(i, general(p, i, 1, a.rows(i), a.cols(i)));
      x.assign(i, general(p, finite_kind(p.input_of(i)) ? p.input_of(i) : Input::random, i, 2, x.rows(i), 1));
      if (beta != T(0)) y.assign(i, general(p, Input::random, i, 3, y.rows(i), 1));  // else it stays NaN and must not be read
    }
    hold({&y}, beta != T(0) ? Role::in_place : Role::output);
    hold({&a, &x}, Role::input);
  }
  void run(Queue& queue) override { gemv(queue, alpha, a.view(), x.view(), beta, y.view()); }

 protected:
  void verify(std::int64_t i, Findings& found) const override {
    auto const result = y.now_wide(i);
    if (result.rows() == 0) return;
    if (alpha != T(0) && a.cols(i) > 0 && !finite_kind(problem().input_of(i))) {
      found.require(!all_finite(result), "NaN or infinity in A left no trace");
      return;
    }
    found.at_most("abs(y - yref) / (gamma(n + 2) abs(alpha) abs(A) abs(x) + gamma(2) abs(beta y0))",
                  product_error<T>({alpha, beta, a.before_wide(i), x.before_wide(i), y.before_wide(i)}, result), 1);
  }
  double real_flops(Shape s) const override { return 2.0 * static_cast<double>(s.m) * static_cast<double>(s.n); }
};

/// A = alpha x op(y)^T + A: y is a column, a row viewed as one, or the conjugate of a row, which makes it gerc.
template <typename T>
struct GerCase final : CaseRun {
  T alpha;
  Array<T> x, y, a;

  explicit GerCase(Problem const& p)
      : CaseRun(p), alpha(scalar<T>(p.alpha)), x(p, size_m, size_one), y(p, size_n, size_one, p.op), a(p, size_m, size_n) {
    for (std::int64_t i = 0; i < p.count; ++i) {
      x.assign(i, general(p, i, 1, x.rows(i), 1));
      y.assign(i, general(p, finite_kind(p.input_of(i)) ? p.input_of(i) : Input::random, i, 2, y.rows(i), 1));
      a.assign(i, general(p, Input::random, i, 3, a.rows(i), a.cols(i)));
    }
    hold({&a}, Role::in_place);
    hold({&x, &y}, Role::input);
  }
  void run(Queue& queue) override { ger(queue, alpha, x.view(), y.view(), a.view()); }

 protected:
  void verify(std::int64_t i, Findings& found) const override {
    auto const result = a.now_wide(i);
    if (result.rows() == 0 || result.cols() == 0) return;
    if (alpha == T(0)) {
      found.require(a.matrix_unchanged(i), "alpha = 0 changed A");
      return;
    }
    if (!finite_kind(problem().input_of(i))) {
      found.require(!all_finite(result), "NaN or infinity in x left no trace");
      return;
    }
    found.at_most("abs(A - Aref) / (gamma(3) abs(alpha) abs(x) abs(y)^T + gamma(2) abs(A0))",
                  product_error<T>({alpha, T(1), x.before_wide(i), transpose(y.before_wide(i)), a.before_wide(i)}, result), 1);
  }
  double real_flops(Shape s) const override { return 2.0 * static_cast<double>(s.m) * static_cast<double>(s.n); }
};

}  // namespace myriad::cases
