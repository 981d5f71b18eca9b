#pragma once
#include "case/case.hpp"
#include "cholesky/case.hpp"
#include "lu/case.hpp"
#include "myriad/mixed.hpp"

namespace myriad::cases {

/// Error of a refined solution X of A X = B: the largest max |b - A x| / ((n + sqrt(n)) norm(A) max |x| u) over the columns. Refinement
/// ends where its own residuals are below sqrt(n); these have rounding errors of n.
template <typename T>
double refined_error(Dense<Wide<T>> const& a, Dense<Wide<T>> const& x, Dense<Wide<T>> const& b) {
  if (a.cols() == 0) return 0;
  auto const residual = b - a * x;
  double norm = 0;
  for (std::int64_t i = 0; i < a.rows(); ++i) {
    double sum = 0;
    for (std::int64_t j = 0; j < a.cols(); ++j) sum += static_cast<double>(modulus(a(i, j)));
    norm = larger(norm, sum);
  }
  double const n = static_cast<double>(a.cols());
  double worst = 0;
  for (std::int64_t j = 0; j < b.cols(); ++j) {
    double most = 0, size = 0;
    for (std::int64_t i = 0; i < a.rows(); ++i) {
      most = larger(most, static_cast<double>(modulus(residual(i, j))));
      size = larger(size, static_cast<double>(modulus(x(i, j))));
    }
    worst = larger(worst, quotient(most, norm * size) / ((n + std::sqrt(n)) * unit_roundoff<T>));
  }
  return worst;
}

/// Whether `iter` can be what the routine reports of such a matrix.
template <typename T>
void verify_iter(Input input, int iter, int info, Findings& found) {
  bool const known = iter == -1 || iter == -2 || iter == -3 || iter == -31 || (iter >= 0 && iter <= 30);
  found.require(known, "iter has no meaning");
  found.require((iter == -1) == (sizeof(Real<T>) == 4), "iter says whether the elements are in single precision");
  found.require(iter < 0 || info == 0, "info of a matrix that was refined is not zero");
  found.require(iter < 0 || (input != Input::nan && input != Input::infinite), "a matrix with NaN or infinity was refined");
}

template <typename T>
struct GesvMixedCase final : CaseRun {
  Array<T> a, b, x;
  Array<int> pivots, iter, info;

  explicit GesvMixedCase(Problem const& p)
      : CaseRun(p),
        a(p, size_n, size_n),
        b(p, size_n, size_k),
        x(p, size_n, size_k),
        pivots(p, p.layout_beside(), size_n, size_one),
        iter(p, Layout::column_major, size_one, size_one),
        info(p, Layout::column_major, size_one, size_one) {
    for (std::int64_t i = 0; i < p.count; ++i) {
      a.assign(i, general(p, i, 1, a.rows(i), a.cols(i)));
      b.assign(i, general(p, Input::random, i, 2, b.rows(i), b.cols(i)));
    }
    hold({&x}, Role::output);
    hold({&a}, Role::in_place);
    hold({&pivots, &iter}, Role::output);
    hold_info(info);
    hold({&b}, Role::input);
  }
  void run(Queue& queue) override {
    gesv_mixed<T>(queue, a.view(), problem().pivots ? pivots.view() : Batch<int>{}, b.view(), x.view(), iter.data(), info.data());
  }

 protected:
  void verify(std::int64_t i, Findings& found) const override {
    Input const input = problem().input_of(i);
    auto const before = a.before_wide(i);
    auto const result = x.now_wide(i);
    int const of_iter = iter.get(i, 0, 0), of_info = info.get(i, 0, 0);
    if (before.rows() > 0)
      verify_iter<T>(input, of_iter, of_info, found);
    else
      found.require(of_info == 0, "info of an empty matrix is not zero");
    if (!problem().pivots) found.require(pivots.matrix_unchanged(i), "pivots were written that were not asked for");
    if (of_iter >= 0) {
      found.require(known_lu_info(input, before.rows(), before.cols()).value_or(0) == 0, "info of a singular matrix is zero");
      found.require(a.matrix_unchanged(i), "A was changed although X was refined");
      found.at_most("max(B - A X) / ((n + sqrt(n)) norm(A) max(X) u)", refined_error<T>(before, result, b.before_wide(i)), 3);
      return;
    }
    if (problem().pivots) {
      auto const rows = vector_of(pivots, i);
      verify_factors<T>(input, before, a.now_wide(i), &rows, of_info, found);
    } else if (auto const known = known_lu_info(input, before.rows(), before.cols())) {
      found.equal("info", of_info, *known);
    }
    if (of_info > 0)
      for (auto const& value : result.elements()) found.require(real_part(value) != real_part(value), "X of a singular matrix is not NaN");
    else if (input == Input::nan)
      found.require(result.cols() == 0 || result.rows() == 0 || !all_finite(result), "a NaN in A left no trace in X");
    else if (finite_kind(input))
      found.at_most("norm1(B - A X) / ((n + 2) norm1(abs(L) abs(U) abs(X)) u)",
                    solution_error<T>(before, result, b.before_wide(i), moduli_by_elimination(before)), 3);
  }
  double real_flops(Shape s) const override {
    double const n = static_cast<double>(s.n);
    return 2.0 / 3.0 * n * n * n + 2 * n * n * static_cast<double>(s.k);
  }
};

template <typename T>
struct PosvMixedCase final : CaseRun {
  Array<T> a, b, x;
  Array<int> iter, info;

  explicit PosvMixedCase(Problem const& p)
      : CaseRun(p),
        a(p, size_n, size_n),
        b(p, size_n, size_k),
        x(p, size_n, size_k),
        iter(p, Layout::column_major, size_one, size_one),
        info(p, Layout::column_major, size_one, size_one) {
    for (std::int64_t i = 0; i < p.count; ++i) {
      assign_triangle(p, a, i, positive(p, i, 1, a.rows(i)));
      b.assign(i, general(p, Input::random, i, 2, b.rows(i), b.cols(i)));
    }
    hold({&x}, Role::output);
    hold({&a}, Role::in_place);
    hold({&iter}, Role::output);
    hold_info(info);
    hold({&b}, Role::input);
  }
  void run(Queue& queue) override { posv_mixed<T>(queue, problem().uplo, a.view(), b.view(), x.view(), iter.data(), info.data()); }
  double bytes() const override { return triangle_bytes(a) + b.bytes() + x.bytes(); }

 protected:
  void verify(std::int64_t i, Findings& found) const override {
    Input const input = problem().input_of(i);
    auto const before = a.before_wide(i);
    auto const result = x.now_wide(i);
    int const of_iter = iter.get(i, 0, 0), of_info = info.get(i, 0, 0);
    if (before.rows() > 0) verify_iter<T>(input, of_iter, of_info, found);
    if (of_iter >= 0) {
      found.equal("info", of_info, cholesky_info<T>(problem().uplo, before));
      found.require(a.matrix_unchanged(i), "A was changed although X was refined");
      found.at_most("max(B - A X) / ((n + sqrt(n)) norm(A) max(X) u)",
                    refined_error<T>(hermitian(problem().uplo, before), result, b.before_wide(i)), 3);
      return;
    }
    verify_cholesky(input, problem().uplo, a, i, of_info, found);
    if (of_info > 0)
      for (auto const& value : result.elements())
        found.require(real_part(value) != real_part(value), "X of a matrix that is not positive definite is not NaN");
    else if (finite_kind(input))
      found.at_most("norm1(B - A X) / (n norm1(A) norm1(X) u)",
                    solution_error<T>(hermitian(problem().uplo, before), result, b.before_wide(i)), 30);
  }
  double real_flops(Shape s) const override {
    double const n = static_cast<double>(s.n);
    return n * n * n / 3 + 2 * n * n * static_cast<double>(s.k);
  }
};

}  // namespace myriad::cases
