#pragma once
#include "case/case.hpp"
#include "case/triangles.hpp"
#include "myriad/cholesky.hpp"

namespace myriad::cases {

/// L (or U^H) from the triangle that potrf left.
template <typename T>
Dense<Wide<T>> lower_factor(Uplo uplo, Dense<Wide<T>> const& a) {
  auto const t = triangle(uplo, Diag::non_unit, a);
  return uplo == Uplo::lower ? t : adjoint(t);
}

/// The info of a matrix of that kind: the first leading minor that is not positive definite.
template <typename T>
std::int64_t cholesky_info(Uplo uplo, Dense<Wide<T>> const& a) {
  auto work = hermitian(uplo, a);
  return factor_cholesky(work);
}

template <typename T>
void verify_cholesky(Input input, Uplo uplo, Array<T> const& a, std::int64_t b, int info, Findings& found) {
  found.require(other_triangle_unchanged(a, b, uplo), "the other triangle was changed");
  auto const before = a.before_wide(b);
  if (input == Input::infinite) return;
  found.equal("info", info, cholesky_info<T>(uplo, before));
  if (info != 0) return;
  auto const now = a.now_wide(b);
  auto const l = lower_factor<T>(uplo, now);
  auto const whole = hermitian(uplo, before);
  for (std::int64_t i = 0; i < l.rows(); ++i)
    found.require(real_part(l(i, i)) > 0 && modulus(l(i, i)) == real_part(l(i, i)), "a diagonal element of the factor is not positive");
  found.at_most("norm1(A - L L^H) / (n norm1(A) u)", factor_error<T>(whole - l * adjoint(l), whole, l.rows()), 30);
}

/// A factor made in more precision and rounded; the singular kinds get a zero on its diagonal.
template <typename T>
void make_cholesky(Problem const& p, std::int64_t b, Array<T>& a) {
  Problem regular = p;
  if (special_index(p.input_of(b), 1) >= 0 || p.input_of(b) == Input::zero) regular.input = regular.bad = Input::random;
  auto made = positive(regular, b, 1, a.rows(b));
  factor_cholesky(made);
  Input const input = p.input_of(b);
  std::int64_t const special = input == Input::zero && made.rows() > 0 ? 0 : special_index(input, made.rows());
  if (special >= 0) made(special, special) = finite_kind(input) ? 0.0 : std::numeric_limits<double>::quiet_NaN();
  a.assign(b, p.uplo == Uplo::lower ? made : adjoint(made));
  for (std::int64_t j = 0; j < a.cols(b) && !p.timing; ++j)
    for (std::int64_t i = 0; i < a.rows(b); ++i)
      if (i != j && (i > j) != (p.uplo == Uplo::lower)) a.set(b, i, j, marker<T>(0x0ff));
}

template <typename T>
struct PotrfCase final : CaseRun {
  Array<T> a;
  Array<int> info;

  explicit PotrfCase(Problem const& p) : CaseRun(p), a(p, size_n, size_n), info(p, Layout::column_major, size_one, size_one) {
    for (std::int64_t b = 0; b < p.count; ++b) assign_triangle(p, a, b, positive(p, b, 1, a.rows(b)));
    hold({&a}, Role::in_place);
    hold_info(info);
  }
  void run(Queue& queue) override { potrf(queue, problem().uplo, a.view(), info.data()); }
  double bytes() const override { return 2 * triangle_bytes(a); }

 protected:
  void verify(std::int64_t b, Findings& found) const override {
    verify_cholesky(problem().input_of(b), problem().uplo, a, b, info.get(b, 0, 0), found);
  }
  double real_flops(Shape s) const override {
    double const n = static_cast<double>(s.n);
    return n * n * n / 3;
  }
};

template <typename T>
struct PotrsCase final : CaseRun {
  Array<T> a, b;

  explicit PotrsCase(Problem const& p) : CaseRun(p), a(p, size_n, size_n), b(p, size_n, size_k) {
    for (std::int64_t i = 0; i < p.count; ++i) {
      make_cholesky(p, i, a);
      b.assign(i, general(p, Input::random, i, 2, b.rows(i), b.cols(i)));
    }
    hold({&b}, Role::in_place);
    hold({&a}, Role::input);
  }
  void run(Queue& queue) override { potrs<T>(queue, problem().uplo, a.view(), b.view()); }
  double bytes() const override { return triangle_bytes(a) + 2 * b.bytes(); }

 protected:
  void verify(std::int64_t i, Findings& found) const override {
    auto const l = lower_factor<T>(problem().uplo, a.before_wide(i));
    auto const x = b.now_wide(i);
    if (x.rows() == 0 || x.cols() == 0) return;
    bool singular = !all_finite(l);
    for (std::int64_t r = 0; r < l.rows(); ++r) singular = singular || real_part(l(r, r)) == 0;
    if (singular)
      found.require(!all_finite(x), "a zero or a NaN on the diagonal of the factor left no trace in X");
    else
      found.at_most("norm1(B - A X) / (n norm1(A) norm1(X) u)", solution_error<T>(l * adjoint(l), x, b.before_wide(i)), 30);
  }
  double real_flops(Shape s) const override { return 2.0 * static_cast<double>(s.n) * static_cast<double>(s.n) * static_cast<double>(s.k); }
};

template <typename T>
struct PosvCase final : CaseRun {
  Array<T> a, b;
  Array<int> info;

  explicit PosvCase(Problem const& p)
      : CaseRun(p), a(p, size_n, size_n), b(p, size_n, size_k), info(p, Layout::column_major, size_one, size_one) {
    for (std::int64_t i = 0; i < p.count; ++i) {
      assign_triangle(p, a, i, positive(p, i, 1, a.rows(i)));
      b.assign(i, general(p, Input::random, i, 2, b.rows(i), b.cols(i)));
    }
    hold({&b, &a}, Role::in_place);
    hold_info(info);
  }
  void run(Queue& queue) override { posv(queue, problem().uplo, a.view(), b.view(), info.data()); }
  double bytes() const override { return 2 * triangle_bytes(a) + 2 * b.bytes(); }

 protected:
  void verify(std::int64_t i, Findings& found) const override {
    Input const input = problem().input_of(i);
    verify_cholesky(input, problem().uplo, a, i, info.get(i, 0, 0), found);
    if (info.get(i, 0, 0) > 0)
      found.require(b.matrix_unchanged(i), "B was changed although A is not positive definite");
    else if (finite_kind(input))
      found.at_most("norm1(B - A X) / (n norm1(A) norm1(X) u)",
                    solution_error<T>(hermitian(problem().uplo, a.before_wide(i)), b.now_wide(i), b.before_wide(i)), 30);
  }
  double real_flops(Shape s) const override {
    double const n = static_cast<double>(s.n);
    return n * n * n / 3 + 2 * n * n * static_cast<double>(s.k);
  }
};

template <typename T>
struct SolvePositiveDefiniteCase final : CaseRun {
  Array<T> a, b, x;
  Array<int> info;

  explicit SolvePositiveDefiniteCase(Problem const& p)
      : CaseRun(p), a(p, size_n, size_n), b(p, size_n, size_k), x(p, size_n, size_k), info(p, Layout::column_major, size_one, size_one) {
    for (std::int64_t i = 0; i < p.count; ++i) {
      assign_triangle(p, a, i, positive(p, i, 1, a.rows(i)));
      b.assign(i, general(p, Input::random, i, 2, b.rows(i), b.cols(i)));
    }
    hold({&x}, Role::output);
    hold_info(info);
    hold({&a, &b}, Role::input);
  }
  void run(Queue& queue) override { solve_positive_definite<T>(queue, problem().uplo, a.view(), b.view(), x.view(), info.data()); }
  double bytes() const override { return triangle_bytes(a) + b.bytes() + x.bytes(); }

 protected:
  void verify(std::int64_t i, Findings& found) const override {
    auto const before = a.before_wide(i);
    auto const result = x.now_wide(i);
    Input const input = problem().input_of(i);
    if (input != Input::infinite) found.equal("info", info.get(i, 0, 0), cholesky_info<T>(problem().uplo, before));
    if (info.get(i, 0, 0) != 0)
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

template <typename T>
struct PotriCase final : CaseRun {
  Array<T> a;
  Array<int> info;

  explicit PotriCase(Problem const& p) : CaseRun(p), a(p, size_n, size_n), info(p, Layout::column_major, size_one, size_one) {
    for (std::int64_t b = 0; b < p.count; ++b) make_cholesky(p, b, a);
    hold({&a}, Role::in_place);
    hold_info(info);
  }
  void run(Queue& queue) override { potri(queue, problem().uplo, a.view(), info.data()); }
  double bytes() const override { return 2 * triangle_bytes(a); }

 protected:
  void verify(std::int64_t b, Findings& found) const override {
    Uplo const uplo = problem().uplo;
    found.require(other_triangle_unchanged(a, b, uplo), "the other triangle was changed");
    auto const l = lower_factor<T>(uplo, a.before_wide(b));
    std::int64_t const zero = first_zero(l);
    found.equal("info", info.get(b, 0, 0), zero);
    auto const result = hermitian(uplo, a.now_wide(b));
    if (zero > 0)
      found.require(a.matrix_unchanged(b), "a factor with a zero on its diagonal was changed");
    else if (!all_finite(l))
      found.require(!all_finite(result), "a NaN left no trace in the inverse");
    else
      found.at_most("norm1(I - A X) / (n norm1(A) norm1(X) u)", inverse_error<T>(l * adjoint(l), result), 30);
  }
  double real_flops(Shape s) const override {
    double const n = static_cast<double>(s.n);
    return 2.0 / 3.0 * n * n * n;
  }

 private:
  static std::int64_t first_zero(Dense<Wide<T>> const& l) {
    for (std::int64_t i = 0; i < l.rows(); ++i)
      if (l(i, i) == Wide<T>(0)) return i + 1;
    return 0;
  }
};

/// Shifts and floors of a batch: none, either and both take turns. Floors are near the largest element of a matrix, since elements grow
/// without bound with small ones; no pivot is just that large.
template <typename R>
struct RegularizationArrays {
  Array<R> jitter, floor;
  Array<int> replaced;

  explicit RegularizationArrays(Problem const& p)
      : jitter(p, Layout::column_major, size_one, size_one),
        floor(p, Layout::column_major, size_one, size_one),
        replaced(p, Layout::column_major, size_one, size_one) {}
  /// Sets jitter and floor of matrix b of a problem.
  void set(Problem const& p, std::int64_t b, Generated const& a) {
    std::int64_t const turn = p.first + b;
    double largest = 0;
    for (auto const& element : a.elements())
      if (std::isfinite(std::abs(element))) largest = std::max(largest, std::abs(element));
    jitter.set(b, 0, 0, turn % 3 == 1 ? static_cast<R>(0.012345 * largest) : R(0));
    floor.set(b, 0, 0, turn % 4 == 0 ? static_cast<R>(0.83719 * largest) : turn % 4 == 1 ? static_cast<R>(0.21137 * largest) : R(0));
  }
};

/// The info of a Hermitian matrix with pivots that are at least the floor, if that is positive.
template <typename W>
std::int64_t regularized_info(Dense<W> a, RealPartOf<W> floor) {
  for (std::int64_t k = 0; k < a.rows(); ++k) {
    RealPartOf<W> pivot = real_part(a(k, k));
    if (floor > 0 && pivot < floor) pivot = floor;
    if (!(pivot > 0)) return k + 1;
    for (std::int64_t j = k + 1; j < a.rows(); ++j) {
      W const l = a(k, j) / pivot;
      for (std::int64_t i = k + 1; i < a.rows(); ++i) a(i, j) -= a(i, k) * l;
    }
  }
  return 0;
}

/// Returns A + jitter I + E, of which the factors are; E from these.
template <typename T>
Dense<Wide<T>> verify_regularized(Input input, Uplo uplo, Array<T> const& a, RegularizationArrays<Real<T>> const& arrays, std::int64_t b,
                                  int info, Findings& found) {
  using R = RealPartOf<Wide<T>>;
  found.require(other_triangle_unchanged(a, b, uplo), "the other triangle was changed");
  auto whole = hermitian(uplo, a.before_wide(b));
  R const floor = arrays.floor.get(b, 0, 0);
  for (std::int64_t k = 0; k < whole.rows(); ++k) whole(k, k) += R(arrays.jitter.get(b, 0, 0));
  if (input == Input::infinite) return whole;
  found.equal("info", info, regularized_info(whole, floor));
  if (info != 0) return whole;
  auto const l = lower_factor<T>(uplo, a.now_wide(b));
  auto const product = l * adjoint(l);
  std::int64_t replaced = 0;
  for (std::int64_t k = 0; k < l.rows(); ++k) {
    R const diagonal = real_part(l(k, k)), added = real_part(product(k, k) - whole(k, k));
    found.require(diagonal > 0 && modulus(l(k, k)) == diagonal, "a diagonal element of the factor is not positive");
    if (!(floor > 0) || std::abs(static_cast<double>(diagonal * diagonal / floor - 1)) > 4 * unit_roundoff<T>) continue;
    ++replaced;
    found.require(added >= -R(30 * static_cast<double>(l.rows()) * unit_roundoff<T>) * norm1(product), "a pivot was made smaller");
    whole(k, k) += added;
  }
  found.equal("the number of replaced pivots", arrays.replaced.get(b, 0, 0), replaced);
  found.at_most("norm1(A + E - L L^H) / (n norm1(L L^H) u)", factor_error<T>(whole - product, product, l.rows()), 30);
  return whole;
}

template <typename T>
struct PotrfRegularizedCase final : CaseRun {
  Array<T> a;
  RegularizationArrays<Real<T>> arrays;
  Array<int> info;

  explicit PotrfRegularizedCase(Problem const& p)
      : CaseRun(p), a(p, size_n, size_n), arrays(p), info(p, Layout::column_major, size_one, size_one) {
    for (std::int64_t b = 0; b < p.count; ++b) {
      auto const made = positive(p, b, 1, a.rows(b));
      assign_triangle(p, a, b, made);
      arrays.set(p, b, made);
    }
    hold({&a}, Role::in_place);
    hold({&arrays.replaced}, Role::output);
    hold_info(info);
    hold({&arrays.jitter, &arrays.floor}, Role::input);
  }
  void run(Queue& queue) override {
    potrf_regularized<T>(queue, problem().uplo, a.view(), arrays.jitter.data(), arrays.floor.data(), arrays.replaced.data(), info.data());
  }
  double bytes() const override { return 2 * triangle_bytes(a); }

 protected:
  void verify(std::int64_t b, Findings& found) const override {
    verify_regularized(problem().input_of(b), problem().uplo, a, arrays, b, info.get(b, 0, 0), found);
  }
  double real_flops(Shape s) const override {
    double const n = static_cast<double>(s.n);
    return n * n * n / 3;
  }
};

template <typename T>
struct PosvRegularizedCase final : CaseRun {
  Array<T> a, b;
  RegularizationArrays<Real<T>> arrays;
  Array<int> info;

  explicit PosvRegularizedCase(Problem const& p)
      : CaseRun(p), a(p, size_n, size_n), b(p, size_n, size_k), arrays(p), info(p, Layout::column_major, size_one, size_one) {
    for (std::int64_t i = 0; i < p.count; ++i) {
      auto const made = positive(p, i, 1, a.rows(i));
      assign_triangle(p, a, i, made);
      arrays.set(p, i, made);
      b.assign(i, general(p, Input::random, i, 2, b.rows(i), b.cols(i)));
    }
    hold({&b, &a}, Role::in_place);
    hold({&arrays.replaced}, Role::output);
    hold_info(info);
    hold({&arrays.jitter, &arrays.floor}, Role::input);
  }
  void run(Queue& queue) override {
    posv_regularized<T>(queue, problem().uplo, a.view(), b.view(), arrays.jitter.data(), arrays.floor.data(), arrays.replaced.data(),
                        info.data());
  }
  double bytes() const override { return 2 * triangle_bytes(a) + 2 * b.bytes(); }

 protected:
  void verify(std::int64_t i, Findings& found) const override {
    Input const input = problem().input_of(i);
    auto const whole = verify_regularized(input, problem().uplo, a, arrays, i, info.get(i, 0, 0), found);
    if (info.get(i, 0, 0) > 0)
      found.require(b.matrix_unchanged(i), "B was changed although there is no factor");
    else if (finite_kind(input))
      found.at_most("norm1(B - A X) / (n norm1(A) norm1(X) u)", solution_error<T>(whole, b.now_wide(i), b.before_wide(i)), 30);
  }
  double real_flops(Shape s) const override {
    double const n = static_cast<double>(s.n);
    return n * n * n / 3 + 2 * n * n * static_cast<double>(s.k);
  }
};

}  // namespace myriad::cases
