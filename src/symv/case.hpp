#pragma once
#include "case/case.hpp"
#include "case/triangles.hpp"
#include "gemm/case.hpp"
#include "myriad/blas2.hpp"

namespace myriad::cases {

/// y = alpha A x + beta y, A symmetric or Hermitian. The other triangle is NaN, and imaginary parts of a Hermitian diagonal are garbage.
template <typename T, Symmetry symmetry>
struct SymmetricProductCase : CaseRun {
  T alpha, beta;
  Array<T> a, x, y;

  explicit SymmetricProductCase(Problem const& p)
      : CaseRun(p),
        alpha(scalar<T>(p.alpha)),
        beta(scalar<T>(p.beta)),
        a(p, size_n, size_n, Op::none, p.timing && p.count == 1 ? (1 << 24) + 7 : std::numeric_limits<std::int64_t>::max()),
        x(p, size_n, size_one),
        y(p, size_n, size_one) {
    if (a.repeats()) {
      Random random(p, 0, 1);
      a.assign_each([&] { return scalar<T>({random.uniform(), random.uniform()}); });
    }
    for (std::int64_t i = 0; i < p.count; ++i) {
      if (!a.repeats()) a.assign(i, triangular(p, i, 1, a.rows(i)));
      if (symmetry == Symmetry::hermitian && !a.repeats()) spoil_diagonal(a, i);
      x.assign(i, general(p, Input::random, i, 2, x.rows(i), 1));
      if (beta != T(0)) y.assign(i, general(p, Input::random, i, 3, y.rows(i), 1));  // else it stays NaN and must not be read
    }
    hold({&y}, beta != T(0) ? Role::in_place : Role::output);
    hold({&a, &x}, Role::input);
  }
  double bytes() const override { return triangle_bytes(a) + x.bytes() + (beta != T(0) ? 2 : 1) * y.bytes(); }

 protected:
  void verify(std::int64_t i, Findings& found) const override {
    using W = Wide<T>;
    auto const& p = problem();
    auto const rows = found.chosen(a.rows(i));
    auto const those_of = [&](auto const& element, std::int64_t cols) {
      Dense<W> out(static_cast<std::int64_t>(rows.size()), cols);
      for (std::int64_t j = 0; j < cols; ++j)
        for (std::int64_t r = 0; r < out.rows(); ++r) out(r, j) = element(rows[static_cast<std::size_t>(r)], j);
      return out;
    };
    auto const now = y.now_wide(i), before = y.before_wide(i);
    auto const result = those_of(now, 1);
    if (result.rows() == 0) return;
    if (alpha != T(0) && !finite_kind(p.input_of(i))) {
      found.require(!all_finite(result), "NaN or infinity in A left no trace");
      return;
    }
    constexpr bool hermitian = symmetry == Symmetry::hermitian;
    auto const whole = those_of(
        [&](std::int64_t r, std::int64_t j) {
          if (r == j && hermitian) return W(real_part(widened<W>(a.before(i, r, j))));
          if (in_triangle(p.uplo, r, j)) return widened<W>(a.before(i, r, j));
          W const mirrored = widened<W>(a.before(i, j, r));
          return hermitian ? conjugate(mirrored) : mirrored;
        },
        a.rows(i));
    // BLAS adds terms to beta y one by one.
    found.at_most("abs(y - yref) / (gamma(n + 2) (abs(alpha) abs(A) abs(x) + abs(beta y0)))",
                  product_error<T>({alpha, beta, whole, x.before_wide(i), those_of(before, 1)}, result, whole.cols() + 2), 1);
  }
  double real_flops(Shape s) const override { return 2.0 * static_cast<double>(s.n) * static_cast<double>(s.n); }
};

template <typename T>
struct SymvCase final : SymmetricProductCase<T, Symmetry::symmetric> {
  using SymmetricProductCase<T, Symmetry::symmetric>::SymmetricProductCase;
  void run(Queue& queue) override {
    symv(queue, this->problem().uplo, this->alpha, this->a.view(), this->x.view(), this->beta, this->y.view());
  }
};

template <typename T>
struct HemvCase final : SymmetricProductCase<T, Symmetry::hermitian> {
  using SymmetricProductCase<T, Symmetry::hermitian>::SymmetricProductCase;
  void run(Queue& queue) override {
    hemv(queue, this->problem().uplo, this->alpha, this->a.view(), this->x.view(), this->beta, this->y.view());
  }
};

}  // namespace myriad::cases
