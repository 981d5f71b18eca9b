#pragma once
#include "case/case.hpp"
#include "case/triangles.hpp"
#include "gemm/case.hpp"
#include "myriad/blas3.hpp"

namespace myriad::cases {

/// C = alpha A A' + beta C or (`of_two`) C = alpha A B' + alpha' B A' + beta C; the operations are views. ' is the transpose or, where C is
/// Hermitian, the conjugate transpose. The other triangle of C is NaN, and imaginary parts of a Hermitian diagonal are garbage.
template <typename T, Symmetry symmetry, bool of_two>
struct SymmetricUpdateCase : CaseRun {
  static constexpr bool hermitian = symmetry == Symmetry::hermitian;
  T alpha, beta;
  Array<T> a, b, c;

  explicit SymmetricUpdateCase(Problem const& p)
      : CaseRun(p),
        alpha(scalar<T>(hermitian && !of_two ? p.alpha.real() : p.alpha)),
        beta(scalar<T>(hermitian ? p.beta.real() : p.beta)),
        a(p, size_n, size_k, p.op),
        b(
            p, size_n, [](Shape s) { return of_two ? s.k : 0; }, p.op_b),
        c(p, size_n, size_n) {
    for (std::int64_t i = 0; i < p.count; ++i) {
      a.assign(i, general(p, i, 1, a.rows(i), a.cols(i)));
      if (of_two) b.assign(i, general(p, finite_kind(p.input_of(i)) ? p.input_of(i) : Input::random, i, 2, b.rows(i), b.cols(i)));
      if (beta != T(0)) assign_triangle(p, c, i, general(p, Input::random, i, 3, c.rows(i), c.cols(i)), symmetry);
    }
    hold({&c}, beta != T(0) ? Role::in_place : Role::output);
    hold({&a, &b}, Role::input);
  }
  double bytes() const override { return (of_two ? 2 : 1) * a.bytes() + (beta != T(0) ? 2 : 1) * triangle_bytes(c); }

 protected:
  void verify(std::int64_t i, Findings& found) const override {
    using W = Wide<T>;
    auto const& p = problem();
    bool const adds = alpha != T(0) && a.cols(i) > 0;
    found.require(other_triangle_unchanged(c, i, p.uplo), "the other triangle was changed");
    if (!adds && beta == T(1)) {
      found.require(c.matrix_unchanged(i), "C was changed with nothing to add");
      return;
    }
    auto const now = c.now_wide(i);
    if (now.rows() == 0) return;
    auto const result = found.columns(made_whole(symmetry, p.uplo, now));
    if (adds && !finite_kind(p.input_of(i))) {
      found.require(!all_finite(result), "NaN or infinity in A left no trace");
      return;
    }
    if constexpr (is_complex<T> && hermitian)
      for (std::int64_t r = 0; r < now.rows(); ++r) found.require(now(r, r).imag() == 0, "the diagonal of a Hermitian C is not real");
    auto const before = found.columns(made_whole(symmetry, p.uplo, c.before_wide(i)));
    auto const turned = [&](Dense<W> const& x) { return found.columns(hermitian ? adjoint(x) : transpose(x)); };
    auto const left = a.before_wide(i);
    // BLAS may add terms to beta C one by one.
    if constexpr (of_two) {
      auto const right = b.before_wide(i);
      W const factor = widened<W>(alpha), other = hermitian ? conjugate(factor) : factor;
      found.at_most("abs(C - Cref) / (gamma(2k + 2) (abs(alpha) (abs(A) abs(B)' + abs(B) abs(A)') + abs(beta C0)))",
                    product_error<T>({alpha == T(0) ? T(0) : T(1), beta, beside(left, factor, right, other),
                                      turned(beside(right, W(1), left, W(1))), before},
                                     result, 2 * left.cols() + 2),
                    1);
    } else {
      found.at_most("abs(C - Cref) / (gamma(k + 2) (abs(alpha) abs(A) abs(A)' + abs(beta C0)))",
                    product_error<T>({alpha, beta, left, turned(left), before}, result, left.cols() + 2), 1);
    }
  }
  double real_flops(Shape s) const override {
    return (of_two ? 2.0 : 1.0) * static_cast<double>(s.n) * static_cast<double>(s.n + 1) * static_cast<double>(s.k);
  }

 private:
  /// (of_x x, of_y y): both matrices times their factors, side by side.
  static Dense<Wide<T>> beside(Dense<Wide<T>> const& x, Wide<T> of_x, Dense<Wide<T>> const& y, Wide<T> of_y) {
    Dense<Wide<T>> both(x.rows(), x.cols() + y.cols());
    for (std::int64_t r = 0; r < x.rows(); ++r) {
      for (std::int64_t q = 0; q < x.cols(); ++q) both(r, q) = of_x * x(r, q);
      for (std::int64_t q = 0; q < y.cols(); ++q) both(r, x.cols() + q) = of_y * y(r, q);
    }
    return both;
  }
};

template <typename T>
struct SyrkCase final : SymmetricUpdateCase<T, Symmetry::symmetric, false> {
  using SymmetricUpdateCase<T, Symmetry::symmetric, false>::SymmetricUpdateCase;
  void run(Queue& queue) override { syrk(queue, this->problem().uplo, this->alpha, this->a.view(), this->beta, this->c.view()); }
};

template <typename T>
struct HerkCase final : SymmetricUpdateCase<T, Symmetry::hermitian, false> {
  using SymmetricUpdateCase<T, Symmetry::hermitian, false>::SymmetricUpdateCase;
  void run(Queue& queue) override {
    herk(queue, this->problem().uplo, std::real(this->alpha), this->a.view(), std::real(this->beta), this->c.view());
  }
};

template <typename T>
struct Syr2kCase final : SymmetricUpdateCase<T, Symmetry::symmetric, true> {
  using SymmetricUpdateCase<T, Symmetry::symmetric, true>::SymmetricUpdateCase;
  void run(Queue& queue) override {
    syr2k(queue, this->problem().uplo, this->alpha, this->a.view(), this->b.view(), this->beta, this->c.view());
  }
};

template <typename T>
struct Her2kCase final : SymmetricUpdateCase<T, Symmetry::hermitian, true> {
  using SymmetricUpdateCase<T, Symmetry::hermitian, true>::SymmetricUpdateCase;
  void run(Queue& queue) override {
    her2k(queue, this->problem().uplo, this->alpha, this->a.view(), this->b.view(), std::real(this->beta), this->c.view());
  }
};

}  // namespace myriad::cases
