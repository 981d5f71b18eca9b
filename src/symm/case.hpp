#pragma once
#include "case/case.hpp"
#include "case/triangles.hpp"
#include "gemm/case.hpp"
#include "myriad/blas3.hpp"

namespace myriad::cases {

/// C = alpha A B + beta C or alpha B A + beta C, where A is symmetric or Hermitian. Its other triangle is NaN, and imaginary parts of a
/// Hermitian diagonal are garbage.
template <typename T, Symmetry symmetry>
struct SymmetricMatrixProductCase : CaseRun {
  T alpha, beta;
  Array<T> a, b, c;

  explicit SymmetricMatrixProductCase(Problem const& p)
      : CaseRun(p),
        alpha(scalar<T>(p.alpha)),
        beta(scalar<T>(p.beta)),
        a(p, p.side == Side::left ? size_m : size_n, p.side == Side::left ? size_m : size_n),
        b(p, size_m, size_n),
        c(p, size_m, size_n) {
    for (std::int64_t i = 0; i < p.count; ++i) {
      a.assign(i, triangular(p, i, 1, a.rows(i)));
      if (symmetry == Symmetry::hermitian) spoil_diagonal(a, i);
      b.assign(i, general(p, Input::random, i, 2, b.rows(i), b.cols(i)));
      if (beta != T(0)) c.assign(i, general(p, Input::random, i, 3, c.rows(i), c.cols(i)));  // else it stays NaN and must not be read
    }
    hold({&c}, beta != T(0) ? Role::in_place : Role::output);
    hold({&a, &b}, Role::input);
  }
  double bytes() const override { return triangle_bytes(a) + b.bytes() + (beta != T(0) ? 2 : 1) * c.bytes(); }

 protected:
  void verify(std::int64_t i, Findings& found) const override {
    auto const& p = problem();
    auto const result = found.columns(c.now_wide(i));
    if (result.rows() == 0 || result.cols() == 0) return;
    if (alpha != T(0) && !finite_kind(p.input_of(i))) {
      found.require(!all_finite(result), "NaN or infinity in A left no trace");
      return;
    }
    auto const whole = made_whole(symmetry, p.uplo, a.before_wide(i)), other = b.before_wide(i);
    bool const left = p.side == Side::left;
    // BLAS may add terms to beta C one by one.
    found.at_most(
        "abs(C - Cref) / (gamma(k + 2) (abs(alpha) abs(A) abs(B) + abs(beta C0))), k the order of A",
        product_error<T>({alpha, beta, left ? whole : other, found.columns(left ? other : whole), found.columns(c.before_wide(i))}, result,
                         whole.cols() + 2),
        1);
  }
  double real_flops(Shape s) const override {
    return 2.0 * static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(problem().side == Side::left ? s.m : s.n);
  }
};

template <typename T>
struct SymmCase final : SymmetricMatrixProductCase<T, Symmetry::symmetric> {
  using SymmetricMatrixProductCase<T, Symmetry::symmetric>::SymmetricMatrixProductCase;
  void run(Queue& queue) override {
    auto const& p = this->problem();
    symm(queue, p.side, p.uplo, this->alpha, this->a.view(), this->b.view(), this->beta, this->c.view());
  }
};

template <typename T>
struct HemmCase final : SymmetricMatrixProductCase<T, Symmetry::hermitian> {
  using SymmetricMatrixProductCase<T, Symmetry::hermitian>::SymmetricMatrixProductCase;
  void run(Queue& queue) override {
    auto const& p = this->problem();
    hemm(queue, p.side, p.uplo, this->alpha, this->a.view(), this->b.view(), this->beta, this->c.view());
  }
};

}  // namespace myriad::cases
