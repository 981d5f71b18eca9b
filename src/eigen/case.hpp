#pragma once
#include "case/case.hpp"
#include "cholesky/case.hpp"
#include "myriad/eigen.hpp"

namespace myriad::cases {

/// A real symmetric tridiagonal matrix: its diagonal, and the squared moduli of the off-diagonal.
template <typename R>
struct Tridiagonal {
  std::vector<R> diagonal, squares;
};

/// Reduces a Hermitian matrix to tridiagonal form by reflections.
template <typename W>
Tridiagonal<RealPartOf<W>> tridiagonal(Dense<W> a) {
  using R = RealPartOf<W>;
  std::int64_t const n = a.rows();
  Tridiagonal<R> t;
  for (std::int64_t k = 0; k < n; ++k) {
    t.diagonal.push_back(real_part(a(k, k)));
    if (k + 1 == n) break;
    std::vector<W> v(static_cast<std::size_t>(n)), p(v);
    auto const at = [](std::vector<W>& x, std::int64_t i) -> W& { return x[static_cast<std::size_t>(i)]; };
    R tail = 0;
    for (std::int64_t i = k + 1; i < n; ++i) {
      at(v, i) = a(i, k);
      if (i > k + 1) tail += modulus(a(i, k)) * modulus(a(i, k));
    }
    R const first = modulus(a(k + 1, k));
    t.squares.push_back(first * first + tail);
    if (tail == 0) continue;
    // H = I - 2 v v^H / |v|^2 with v = x + sign(x_1) |x| e_1 brings x to a multiple of e_1.
    R const norm = std::sqrt(t.squares.back());
    at(v, k + 1) += first == 0 ? W(norm) : a(k + 1, k) * W(norm / first);
    R const scale = 2 / ((first + norm) * (first + norm) + tail);
    W dot = 0;
    for (std::int64_t i = k + 1; i < n; ++i) {
      for (std::int64_t j = k + 1; j < n; ++j) at(p, i) += a(i, j) * at(v, j);
      at(p, i) *= W(scale);
      dot += conjugate(at(v, i)) * at(p, i);
    }
    for (std::int64_t i = k + 1; i < n; ++i) at(p, i) -= W(scale / 2) * dot * at(v, i);
    for (std::int64_t j = k + 1; j < n; ++j)
      for (std::int64_t i = k + 1; i < n; ++i) a(i, j) -= at(v, i) * conjugate(at(p, j)) + at(p, i) * conjugate(at(v, j));
  }
  return t;
}

/// The number of eigenvalues below x, by Sylvester's law of inertia.
template <typename R>
std::int64_t eigenvalues_below(Tridiagonal<R> const& t, R x, R tiny) {
  std::int64_t below = 0;
  R pivot = 1;
  for (std::size_t i = 0; i < t.diagonal.size(); ++i) {
    pivot = t.diagonal[i] - x - (i == 0 ? R(0) : t.squares[i - 1] / pivot);
    if (std::abs(pivot) < tiny) pivot = -tiny;
    if (pivot < 0) ++below;
  }
  return below;
}

/// The eigenvalues of a Hermitian matrix, ascending, by bisection to far below the unit roundoff of T times the largest.
template <typename T, typename W>
std::vector<RealPartOf<W>> eigenvalues(Dense<W> const& a) {
  using R = RealPartOf<W>;
  auto const t = tridiagonal(a);
  R const bound = norm1(a);  // bound of every eigenvalue
  R const precision = bound * static_cast<R>(unit_roundoff<T>) / 64;
  R const tiny = std::max(bound * std::numeric_limits<R>::epsilon() * std::numeric_limits<R>::epsilon(), std::numeric_limits<R>::min());
  std::vector<R> values;
  for (std::int64_t k = 0; k < a.rows(); ++k) {
    R low = values.empty() ? -2 * bound : values.back() - precision, high = 2 * bound;
    while (high - low > precision) {
      R const middle = low + (high - low) / 2;
      (eigenvalues_below(t, middle, tiny) > k ? high : low) = middle;
    }
    values.push_back(low + (high - low) / 2);
  }
  return values;
}

/// Checks A Q = Q diag(w). Elements that must not be read are NaN, and imaginary parts of the diagonal garbage.
template <typename T>
struct SyevdCase final : CaseRun {
  Array<T> a;
  Array<Real<T>> w;
  Array<int> info;

  explicit SyevdCase(Problem const& p)
      : CaseRun(p), a(p, size_n, size_n), w(p, p.layout_beside(), size_n, size_one), info(p, Layout::column_major, size_one, size_one) {
    for (std::int64_t b = 0; b < p.count; ++b) assign_triangle(p, a, b, with_eigenvalues(p, b, 1, a.rows(b)));
    if (p.job == Job::vectors) {
      hold({&a}, Role::in_place);
      hold({&w}, Role::output);
    } else {
      hold({&w}, Role::output);
      hold({&a}, Role::destroyed);
    }
    hold_info(info);
  }
  void run(Queue& queue) override { syevd<T>(queue, problem().job, problem().uplo, a.view(), w.view(), info.data()); }
  double bytes() const override { return triangle_bytes(a) + w.bytes() + (problem().job == Job::vectors ? a.bytes() : 0); }

 protected:
  void verify(std::int64_t b, Findings& found) const override {
    bool const vectors = problem().job == Job::vectors;
    std::int64_t const n = a.rows(b);
    auto const matrix = hermitian(problem().uplo, a.before_wide(b));
    auto const values = wide_vector_of(w, b);
    auto const result = a.now_wide(b);
    if (!vectors) found.require(other_triangle_unchanged(a, b, problem().uplo), "the other triangle was changed");
    if (!all_finite(matrix)) {
      found.equal("info", info.get(b, 0, 0), n);
      for (auto const& value : values) found.require(value != value, "a value of a matrix that is not finite is not NaN");
      for (auto const& element : result.elements())
        found.require(!vectors || real_part(element) != real_part(element), "an element of Q of a matrix that is not finite is not NaN");
      return;
    }
    found.equal("info", info.get(b, 0, 0), 0);
    for (std::size_t i = 0; i + 1 < values.size(); ++i) found.require(values[i] <= values[i + 1], "the values do not ascend");
    if (vectors && found.of_a_part()) {
      verify_some_vectors(matrix, result, values, found);
      return;
    }
    auto const expected = eigenvalues<T>(matrix);
    double largest = 0, worst = 0;
    for (auto const& x : expected) largest = larger(largest, static_cast<double>(std::abs(x)));
    for (std::size_t i = 0; i < expected.size(); ++i)
      worst = larger(worst, quotient(static_cast<double>(std::abs(values[i] - expected[i])), largest));
    found.at_most("abs(w - w_ref) / (n norm2(A) u)", worst / (static_cast<double>(std::max<std::int64_t>(n, 1)) * unit_roundoff<T>), 30);
    if (!vectors) return;
    auto scaled = result;  // Q diag(w)
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < n; ++i) scaled(i, j) *= values[static_cast<std::size_t>(j)];
    found.at_most("norm1(A - Q diag(w) Q^H) / (n norm1(A) u)", factor_error<T>(matrix - scaled * adjoint(result), matrix, n), 30);
    found.at_most("norm1(I - Q^H Q) / (n u)", orthogonality_error<T>(result), 30);
  }
  /// Large matrices: compares the sum of all values with the trace, and checks some vectors.
  static void verify_some_vectors(Dense<Wide<T>> const& matrix, Dense<Wide<T>> const& q, std::vector<Wide<Real<T>>> const& values,
                                  Findings& found) {
    double const n = static_cast<double>(q.cols()), u = unit_roundoff<T>;
    double const norm2 = static_cast<double>(std::max(std::abs(values.front()), std::abs(values.back())));
    Wide<Real<T>> sum = 0;
    for (std::int64_t i = 0; i < q.cols(); ++i) sum += real_part(matrix(i, i)) - values[static_cast<std::size_t>(i)];
    found.at_most("abs(sum(w) - trace(A)) / (n norm2(A) u)", static_cast<double>(std::abs(sum)) / (n * norm2 * u), 30);
    auto const chosen = found.chosen(q.cols());
    auto const some = found.columns(q);
    auto residuals = matrix * some;
    auto products = adjoint(q) * some;  // columns of I
    for (std::int64_t j = 0; j < some.cols(); ++j) {
      std::int64_t const k = chosen[static_cast<std::size_t>(j)];
      products(k, j) -= 1;
      for (std::int64_t i = 0; i < some.rows(); ++i) residuals(i, j) -= values[static_cast<std::size_t>(k)] * some(i, j);
      found.at_most("norm2(A q - w q) / (n norm2(A) u)", static_cast<double>(column_norm2(residuals, j)) / (n * norm2 * u), 30);
      found.at_most("norm2(Q^H q - e) / (n u)", static_cast<double>(column_norm2(products, j)) / (n * u), 30);
    }
  }
  double real_flops(Shape s) const override {
    double const n = static_cast<double>(s.n);
    return (problem().job == Job::vectors ? 9.0 : 4.0 / 3.0) * n * n * n;
  }
};

}  // namespace myriad::cases
