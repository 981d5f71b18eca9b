#pragma once
#include "case/case.hpp"
#include "case/triangles.hpp"
#include "gemm/case.hpp"
#include "myriad/blas2.hpp"
#include "myriad/blas3.hpp"
#include "myriad/trsm.hpp"

namespace myriad::cases {

/// op(A) and B, for products and solves; op is a view, and uplo is the triangle of the view.
template <typename T>
struct TriangleCase : CaseRun {
  T alpha;
  Array<T> a, b;

  explicit TriangleCase(Problem const& p, std::int64_t (*columns)(Shape) = size_n)
      : CaseRun(p),
        alpha(scalar<T>(p.alpha)),
        a(p, p.side == Side::left ? size_m : size_n, p.side == Side::left ? size_m : size_n, p.op),
        b(p, size_m, columns) {
    for (std::int64_t i = 0; i < p.count; ++i) {
      a.assign(i, triangular(p, i, 1, a.rows(i)));
      b.assign(i, general(p, Input::random, i, 2, b.rows(i), b.cols(i)));
    }
    hold({&b}, Role::in_place);
    hold({&a}, Role::input);
  }
  double bytes() const override { return 2 * b.bytes() + triangle_bytes(a); }

 protected:
  double real_flops(Shape s) const override {
    double const m = static_cast<double>(s.m);
    double const n = b.view().cols == 1 ? 1 : static_cast<double>(s.n);
    return problem().side == Side::left ? m * m * n : m * n * n;
  }

  /// Checks a solution.
  void verify_solution(std::int64_t i, Findings& found) const {
    using W = Wide<T>;
    auto const& p = problem();
    bool const left = p.side == Side::left;
    auto const x = left ? found.columns(b.now_wide(i)) : b.now_wide(i);
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
    auto scaled = left ? found.columns(b.before_wide(i)) : b.before_wide(i);
    for (std::int64_t q = 0; q < scaled.cols(); ++q)
      for (std::int64_t r = 0; r < scaled.rows(); ++r) scaled(r, q) *= widened<W>(alpha);
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

  /// Checks a product.
  void verify_product(std::int64_t i, Findings& found) const {
    auto const& p = problem();
    auto const result = found.columns(b.now_wide(i));
    if (result.rows() == 0 || result.cols() == 0) return;
    if (alpha != T(0) && p.diag == Diag::non_unit && !finite_kind(p.input_of(i))) {
      found.require(!all_finite(result), "NaN or infinity in A left no trace");
      return;
    }
    auto const t = triangle(p.uplo, p.diag, a.before_wide(i)), before = b.before_wide(i);
    bool const left = p.side == Side::left;
    found.at_most("abs(B - alpha A B0) / (gamma(n + 2) abs(alpha) abs(A) abs(B0))",
                  product_error<T>({alpha, T(0), left ? t : before, found.columns(left ? before : t), found.columns(before)}, result), 1);
  }
};

/// op(A) X = alpha B or X op(A) = alpha B.
template <typename T>
struct TrsmCase final : TriangleCase<T> {
  explicit TrsmCase(Problem const& p) : TriangleCase<T>(p) {}
  void run(Queue& queue) override {
    auto const& p = this->problem();
    trsm(queue, p.side, p.uplo, p.diag, this->alpha, this->a.view(), this->b.view());
  }

 protected:
  void verify(std::int64_t i, Findings& found) const override { this->verify_solution(i, found); }
};

/// op(A) x = b.
template <typename T>
struct TrsvCase final : TriangleCase<T> {
  explicit TrsvCase(Problem const& p) : TriangleCase<T>(p, size_one) {}
  void run(Queue& queue) override { trsv<T>(queue, this->problem().uplo, this->problem().diag, this->a.view(), this->b.view()); }

 protected:
  void verify(std::int64_t i, Findings& found) const override { this->verify_solution(i, found); }
};

/// B = alpha op(A) B or alpha B op(A).
template <typename T>
struct TrmmCase final : TriangleCase<T> {
  explicit TrmmCase(Problem const& p) : TriangleCase<T>(p) {}
  void run(Queue& queue) override {
    auto const& p = this->problem();
    trmm(queue, p.side, p.uplo, p.diag, this->alpha, this->a.view(), this->b.view());
  }

 protected:
  void verify(std::int64_t i, Findings& found) const override { this->verify_product(i, found); }
};

/// x = op(A) x.
template <typename T>
struct TrmvCase final : TriangleCase<T> {
  explicit TrmvCase(Problem const& p) : TriangleCase<T>(p, size_one) {}
  void run(Queue& queue) override { trmv<T>(queue, this->problem().uplo, this->problem().diag, this->a.view(), this->b.view()); }

 protected:
  void verify(std::int64_t i, Findings& found) const override { this->verify_product(i, found); }
};

/// The inverse of a triangle, in place.
template <typename T>
struct TrtriCase final : CaseRun {
  Array<T> a;
  Array<int> info;

  explicit TrtriCase(Problem const& p) : CaseRun(p), a(p, size_n, size_n), info(p, Layout::column_major, size_one, size_one) {
    for (std::int64_t i = 0; i < p.count; ++i) a.assign(i, triangular(p, i, 1, a.rows(i)));
    hold({&a}, Role::in_place);
    hold_info(info);
  }
  void run(Queue& queue) override { trtri(queue, problem().uplo, problem().diag, a.view(), info.data()); }
  double bytes() const override { return 2 * triangle_bytes(a); }

 protected:
  void verify(std::int64_t i, Findings& found) const override {
    auto const& p = problem();
    bool const unit = p.diag == Diag::unit;
    found.require(other_triangle_unchanged(a, i, p.uplo), "the other triangle was changed");
    for (std::int64_t r = 0; r < a.rows(i) && unit; ++r) found.require(a.element_unchanged(i, r, r), "a unit diagonal was changed");
    auto const t = triangle(p.uplo, p.diag, a.before_wide(i));
    std::int64_t zero = 0;
    for (std::int64_t r = t.rows(); r > 0; --r)
      if (t(r - 1, r - 1) == Wide<T>(0)) zero = r;
    found.equal("info", info.get(i, 0, 0), zero);
    auto const result = triangle(p.uplo, p.diag, a.now_wide(i));
    if (zero > 0)
      found.require(a.matrix_unchanged(i), "a singular matrix was changed");
    else if (!all_finite(t))
      found.require(p.input_of(i) == Input::infinite || !all_finite(result), "a NaN left no trace in the inverse");
    else
      found.at_most("norm1(I - A X) / (n norm1(A) norm1(X) u)", inverse_error<T>(t, result), 30);
  }
  double real_flops(Shape s) const override {
    double const n = static_cast<double>(s.n);
    return n * n * n / 3;
  }
};

}  // namespace myriad::cases
