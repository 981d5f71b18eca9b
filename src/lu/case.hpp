#pragma once
#include <optional>

#include "case/case.hpp"
#include "myriad/lu.hpp"

namespace myriad::cases {

/// The info that a matrix of this kind must give, where the kind decides.
inline std::optional<std::int64_t> known_lu_info(Input input, std::int64_t m, std::int64_t n) {
  std::int64_t const steps = std::min(m, n);
  if (steps == 0 || input == Input::random || input == Input::dominant || input == Input::conditioned || input == Input::growth) return 0;
  if (input == Input::zero) return 1;
  if (finite_kind(input) && special_index(input, steps) >= 0) return special_index(input, steps) + 1;
  return std::nullopt;
}

/// abs(L) abs(U) of factors, with the rows of PA. The errors of an elimination and of solutions from it are bounded by u times this,
/// however much U has grown; over norm1(A) LAPACK fails, too, where it has.
template <typename W>
Dense<RealPartOf<W>> moduli_of_factors(Dense<W> const& lu) {
  return moduli(unit_lower(lu)) * moduli(upper(lu));
}
/// The same of A by an elimination in more precision.
template <typename W>
Dense<RealPartOf<W>> moduli_by_elimination(Dense<W> a) {
  std::vector<int> pivots;
  factor_lu(a, &pivots);
  return moduli_of_factors(a);
}

/// Whether the pivots are LAPACK's: at every step of an elimination that follows them in more precision, the chosen element is the largest
/// up to what rounding in T could hide; of kinds whose steps are exact it is the largest, of equals the first. The rest checks factors and
/// info.
template <typename T>
void verify_factors(Input input, Dense<Wide<T>> const& a, Dense<Wide<T>> const& lu, std::vector<int> const* pivots, std::optional<int> info,
                    Findings& found) {
  using W = Wide<T>;
  using R = RealPartOf<W>;
  std::int64_t const m = a.rows();
  std::int64_t const n = a.cols();
  std::int64_t const steps = std::min(m, n);
  if (!finite_kind(input)) {
    if (input == Input::nan && steps > 0) found.require(!all_finite(lu), "a NaN in A left no trace in its factors");
    return;
  }
  std::int64_t zero_pivot = 0;
  for (std::int64_t k = steps - 1; k >= 0; --k)
    if (lu(k, k) == W(0)) zero_pivot = k + 1;
  if (info) {
    found.equal("info", *info, zero_pivot);
    if (auto const known = known_lu_info(input, m, n)) found.equal("info", *info, *known);
  }
  if (pivots) {
    bool const exact = input == Input::ties || input == Input::zero;
    Dense<W> work = a;
    // The slack of an element is relative to the largest elements of its own column, since other columns may have grown by many orders of
    // magnitude. It is larger where a pivot was small in its column: then the multipliers are off, too.
    std::vector<R> largest(static_cast<std::size_t>(n), R(0));
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < m; ++i)
        largest[static_cast<std::size_t>(j)] = std::max(largest[static_cast<std::size_t>(j)], modulus1(a(i, j)));
    R amplified = 1;
    for (std::int64_t k = 0; k < steps; ++k) {
      std::int64_t const chosen = (*pivots)[static_cast<std::size_t>(k)] - 1;
      if (chosen < k || chosen >= m) {
        found.require(false, "pivot " + std::to_string(k + 1) + " is " + std::to_string(chosen + 1) + ", outside its column");
        return;
      }
      std::int64_t best = k;
      for (std::int64_t i = k + 1; i < m; ++i)
        if (modulus1(work(i, k)) > modulus1(work(best, k))) best = i;
      R const slack =
          exact ? R(0) : R(8 * static_cast<double>(steps) * unit_roundoff<T>) * amplified * largest[static_cast<std::size_t>(k)];
      bool const good =
          exact || modulus1(work(best, k)) == 0 ? chosen == best : modulus1(work(chosen, k)) >= modulus1(work(best, k)) - slack;
      if (!good) {
        found.require(false, "pivot " + std::to_string(k + 1) + " is row " + std::to_string(chosen + 1) + ", expected row " +
                                 std::to_string(best + 1));
        return;
      }
      if (chosen != k)
        for (std::int64_t j = 0; j < n; ++j) std::swap(work(k, j), work(chosen, j));
      if (work(k, k) == W(0)) continue;
      amplified = std::max(amplified, largest[static_cast<std::size_t>(k)] / modulus1(work(k, k)));
      W const inverse = W(1) / work(k, k);
      for (std::int64_t i = k + 1; i < m; ++i) work(i, k) *= inverse;
      for (std::int64_t j = k + 1; j < n; ++j)
        for (std::int64_t i = k + 1; i < m; ++i) {
          work(i, j) -= work(i, k) * work(k, j);
          largest[static_cast<std::size_t>(j)] = std::max(largest[static_cast<std::size_t>(j)], modulus1(work(i, j)));
        }
    }
  }
  if (!pivots && zero_pivot > 0) return;  // without interchanges there is no factorization then
  auto permuted = a;
  if (pivots) interchange_rows(permuted, *pivots, false);
  found.at_most("norm1(PA - LU) / (n norm1(abs(L) abs(U)) u)",
                quotient(norm1(permuted - unit_lower(lu) * upper(lu)), norm1(moduli_of_factors(lu))) /
                    (static_cast<double>(std::max<std::int64_t>(steps, 1)) * unit_roundoff<T>),
                3);
}

/// Factors of matrix b made in more precision and rounded, for the routines that start from factors.
template <typename T>
void make_factors(Problem const& p, std::int64_t b, std::uint64_t stream, Array<T>& factors, Array<int>& pivots) {
  Input const input = p.input_of(b);
  Input const kind = !p.pivots && finite_kind(input) && special_index(input, 1) < 0 && input != Input::growth ? Input::dominant : input;
  auto const n = factors.rows(b);
  auto const made = general(p, finite_kind(kind) ? kind : Input::random, b, stream, n, factors.cols(b));
  Dense<std::complex<double>> lu = made;
  std::vector<int> rows;
  factor_lu(lu, p.pivots ? &rows : nullptr);
  if (!finite_kind(kind) && n > 0) lu(n / 2, n / 2) = std::numeric_limits<double>::quiet_NaN();
  factors.assign(b, lu);
  for (std::int64_t i = 0; i < pivots.rows(b); ++i)
    pivots.set(b, i, 0, p.pivots ? rows[static_cast<std::size_t>(i)] : static_cast<int>(i + 1));
}

/// The matrix whose factors these are.
template <typename T>
Dense<Wide<T>> product_of_factors(Array<T> const& factors, Array<int> const& pivots, std::int64_t b) {
  auto const lu = factors.before_wide(b);
  auto a = unit_lower(lu) * upper(lu);
  interchange_rows(a, vector_of(pivots, b), true);
  return a;
}
template <typename T>
std::int64_t first_zero_on_diagonal(Dense<T> const& a) {
  for (std::int64_t i = 0; i < std::min(a.rows(), a.cols()); ++i)
    if (a(i, i) == T(0)) return i + 1;
  return 0;
}

template <typename T>
struct GetrfCase final : CaseRun {
  Array<T> a;
  Array<int> pivots, info;

  explicit GetrfCase(Problem const& p)
      : CaseRun(p),
        a(p, size_m, size_n),
        pivots(p, p.layout_beside(), size_min, size_one),
        info(p, Layout::column_major, size_one, size_one) {
    for (std::int64_t b = 0; b < p.count; ++b) a.assign(b, general(p, b, 1, a.rows(b), a.cols(b)));
    hold({&a}, Role::in_place);
    hold({&pivots}, Role::output);
    hold_info(info);
  }
  void run(Queue& queue) override { getrf(queue, a.view(), pivots.view(), info.data()); }

 protected:
  void verify(std::int64_t b, Findings& found) const override {
    auto const p = vector_of(pivots, b);
    verify_factors<T>(problem().input_of(b), a.before_wide(b), a.now_wide(b), &p, info.get(b, 0, 0), found);
  }
  double real_flops(Shape s) const override {
    double const m = static_cast<double>(std::max(s.m, s.n));
    double const n = static_cast<double>(std::min(s.m, s.n));
    return n * n * (m - n / 3);
  }
};

template <typename T>
struct GetrfNopivCase final : CaseRun {
  Array<T> a;
  Array<int> info;

  explicit GetrfNopivCase(Problem const& p) : CaseRun(p), a(p, size_m, size_n), info(p, Layout::column_major, size_one, size_one) {
    for (std::int64_t b = 0; b < p.count; ++b) {
      Input const input = p.input_of(b);
      auto made = general(p, input == Input::growth ? input : Input::dominant, b, 1, a.rows(b), a.cols(b));
      std::int64_t const steps = std::min(a.rows(b), a.cols(b));
      std::int64_t const special = input == Input::zero && steps > 0 ? 0 : special_index(input, steps);
      for (std::int64_t i = 0; special >= 0 && i < a.rows(b); ++i)
        made(i, special) = finite_kind(input) ? 0.0 : std::numeric_limits<double>::quiet_NaN();
      a.assign(b, made);
    }
    hold({&a}, Role::in_place);
    hold_info(info);
  }
  void run(Queue& queue) override { getrf_nopiv(queue, a.view(), info.data()); }

 protected:
  void verify(std::int64_t b, Findings& found) const override {
    Input const input = problem().input_of(b);
    Input const kind = !finite_kind(input)                                      ? Input::nan
                       : input == Input::zero                                   ? Input::singular_first
                       : special_index(input, 1) >= 0 || input == Input::growth ? input
                                                                                : Input::dominant;
    verify_factors<T>(kind, a.before_wide(b), a.now_wide(b), nullptr, info.get(b, 0, 0), found);
  }
  double real_flops(Shape s) const override {
    double const m = static_cast<double>(std::max(s.m, s.n));
    double const n = static_cast<double>(std::min(s.m, s.n));
    return n * n * (m - n / 3);
  }
};

template <typename T>
struct GetrsCase final : CaseRun {
  Array<T> a, b;
  Array<int> pivots;

  explicit GetrsCase(Problem const& p)
      : CaseRun(p), a(p, size_n, size_n), b(p, size_n, size_k), pivots(p, p.layout_beside(), size_n, size_one) {
    for (std::int64_t i = 0; i < p.count; ++i) {
      make_factors(p, i, 1, a, pivots);
      b.assign(i, general(p, Input::random, i, 2, b.rows(i), b.cols(i)));
    }
    hold({&b}, Role::in_place);
    hold({&a, &pivots}, Role::input);
  }
  void run(Queue& queue) override {
    getrs<T>(queue, problem().op, a.view(), problem().pivots ? Batch<int const>(pivots.view()) : Batch<int const>{}, b.view());
  }

 protected:
  void verify(std::int64_t i, Findings& found) const override {
    auto const factors = a.before_wide(i);
    auto const x = b.now_wide(i);
    if (x.rows() == 0 || x.cols() == 0) return;
    if (first_zero_on_diagonal(factors) > 0 || !all_finite(factors)) {
      found.require(!all_finite(x), "zero pivots or a NaN left no trace in X");
      return;
    }
    auto bound = moduli_of_factors(factors);
    interchange_rows(bound, vector_of(pivots, i), true);
    found.at_most(
        "norm1(B - op(A) X) / ((n + 2) norm1(op(abs(L) abs(U)) abs(X)) u)",
        solution_error<T>(applied(problem().op, product_of_factors(a, pivots, i)), x, b.before_wide(i), applied(problem().op, bound)), 3);
  }
  double real_flops(Shape s) const override { return 2.0 * static_cast<double>(s.n) * static_cast<double>(s.n) * static_cast<double>(s.k); }
};

template <typename T>
struct GesvCase final : CaseRun {
  Array<T> a, b;
  Array<int> pivots, info;

  explicit GesvCase(Problem const& p)
      : CaseRun(p),
        a(p, size_n, size_n),
        b(p, size_n, size_k),
        pivots(p, p.layout_beside(), size_n, size_one),
        info(p, Layout::column_major, size_one, size_one) {
    for (std::int64_t i = 0; i < p.count; ++i) {
      a.assign(i, general(p, i, 1, a.rows(i), a.cols(i)));
      b.assign(i, general(p, Input::random, i, 2, b.rows(i), b.cols(i)));
    }
    hold({&b, &a}, Role::in_place);
    hold({&pivots}, Role::output);
    hold_info(info);
  }
  void run(Queue& queue) override { gesv(queue, a.view(), problem().pivots ? pivots.view() : Batch<int>{}, b.view(), info.data()); }

 protected:
  void verify(std::int64_t i, Findings& found) const override {
    Input const input = problem().input_of(i);
    auto const before = a.before_wide(i);
    auto const x = b.now_wide(i);
    if (problem().pivots) {
      auto const rows = vector_of(pivots, i);
      verify_factors<T>(input, before, a.now_wide(i), &rows, info.get(i, 0, 0), found);
    } else {
      found.require(pivots.matrix_unchanged(i), "pivots were written that were not asked for");
    }
    if (info.get(i, 0, 0) > 0)
      found.require(b.matrix_unchanged(i), "B of a singular matrix was changed");
    else if (input == Input::nan)
      found.require(x.cols() == 0 || x.rows() == 0 || !all_finite(x), "a NaN in A left no trace in X");
    else if (finite_kind(input))
      found.at_most("norm1(B - A X) / ((n + 2) norm1(abs(L) abs(U) abs(X)) u)",
                    solution_error<T>(before, x, b.before_wide(i), moduli_by_elimination(before)), 3);
  }
  double real_flops(Shape s) const override {
    double const n = static_cast<double>(s.n);
    return 2.0 / 3.0 * n * n * n + 2 * n * n * static_cast<double>(s.k);
  }
};

template <typename T>
struct SolveCase final : CaseRun {
  Array<T> a, b, x;
  Array<int> info;

  explicit SolveCase(Problem const& p)
      : CaseRun(p), a(p, size_n, size_n), b(p, size_n, size_k), x(p, size_n, size_k), info(p, Layout::column_major, size_one, size_one) {
    for (std::int64_t i = 0; i < p.count; ++i) {
      a.assign(i, general(p, i, 1, a.rows(i), a.cols(i)));
      b.assign(i, general(p, Input::random, i, 2, b.rows(i), b.cols(i)));
    }
    hold({&x}, Role::output);
    hold_info(info);
    hold({&a, &b}, Role::input);
  }
  void run(Queue& queue) override { solve(queue, a.view(), b.view(), x.view(), info.data()); }

 protected:
  void verify(std::int64_t i, Findings& found) const override {
    Input const input = problem().input_of(i);
    auto const before = a.before_wide(i);
    auto const result = x.now_wide(i);
    bool const empty = result.rows() == 0 || result.cols() == 0;
    if (auto const known = known_lu_info(input, before.rows(), before.cols())) found.equal("info", info.get(i, 0, 0), *known);
    if (info.get(i, 0, 0) != 0) {
      for (auto const& value : result.elements()) found.require(real_part(value) != real_part(value), "X of a singular matrix is not NaN");
      found.require(input == Input::ties || known_lu_info(input, before.rows(), before.cols()).value_or(1) > 0,
                    "info of a regular matrix is not zero");
    } else if (input == Input::nan) {
      found.require(empty || !all_finite(result), "a NaN in A left no trace in X");
    } else if (finite_kind(input)) {
      found.at_most("norm1(B - A X) / ((n + 2) norm1(abs(L) abs(U) abs(X)) u)",
                    solution_error<T>(before, result, b.before_wide(i), moduli_by_elimination(before)), 3);
    }
  }
  double real_flops(Shape s) const override {
    double const n = static_cast<double>(s.n);
    return 2.0 / 3.0 * n * n * n + 2 * n * n * static_cast<double>(s.k);
  }
};

template <typename T>
struct GetriCase final : CaseRun {
  Array<T> a;
  Array<int> pivots, info;

  explicit GetriCase(Problem const& p)
      : CaseRun(p),
        a(p, size_n, size_n),
        pivots(p, p.layout_beside(), size_n, size_one),
        info(p, Layout::column_major, size_one, size_one) {
    for (std::int64_t i = 0; i < p.count; ++i) make_factors(p, i, 1, a, pivots);
    hold({&a}, Role::in_place);
    hold_info(info);
    hold({&pivots}, Role::input);
  }
  void run(Queue& queue) override {
    getri(queue, a.view(), problem().pivots ? Batch<int const>(pivots.view()) : Batch<int const>{}, info.data());
  }

 protected:
  void verify(std::int64_t i, Findings& found) const override {
    auto const factors = a.before_wide(i);
    std::int64_t const zero = first_zero_on_diagonal(factors);
    found.equal("info", info.get(i, 0, 0), zero);
    auto const result = a.now_wide(i);
    if (zero > 0)
      found.require(a.matrix_unchanged(i), "the factors of a singular matrix were changed");
    else if (!all_finite(factors))
      found.require(!all_finite(result), "a NaN left no trace in the inverse");
    else
      found.at_most("norm1(I - A X) / ((n + 2) norm1(abs(L) abs(U)) norm1(X) u)",
                    inverse_error<T>(product_of_factors(a, pivots, i), result, moduli_of_factors(factors)), 3);
  }
  double real_flops(Shape s) const override {
    double const n = static_cast<double>(s.n);
    return 4.0 / 3.0 * n * n * n;
  }
};

template <typename T>
struct InverseCase final : CaseRun {
  Array<T> a, x;
  Array<int> info;

  explicit InverseCase(Problem const& p)
      : CaseRun(p), a(p, size_n, size_n), x(p, size_n, size_n), info(p, Layout::column_major, size_one, size_one) {
    for (std::int64_t i = 0; i < p.count; ++i) a.assign(i, general(p, i, 1, a.rows(i), a.cols(i)));
    hold({&x}, Role::output);
    hold_info(info);
    hold({&a}, Role::input);
  }
  void run(Queue& queue) override { inverse(queue, a.view(), x.view(), info.data()); }

 protected:
  void verify(std::int64_t i, Findings& found) const override {
    Input const input = problem().input_of(i);
    auto const before = a.before_wide(i);
    auto const result = x.now_wide(i);
    if (auto const known = known_lu_info(input, before.rows(), before.cols())) found.equal("info", info.get(i, 0, 0), *known);
    if (info.get(i, 0, 0) != 0) {
      for (auto const& value : result.elements())
        found.require(real_part(value) != real_part(value), "the inverse of a singular matrix is not NaN");
    } else if (input == Input::nan) {
      found.require(before.rows() == 0 || !all_finite(result), "a NaN in A left no trace in its inverse");
    } else if (finite_kind(input)) {
      found.at_most("norm1(I - A X) / ((n + 2) norm1(abs(L) abs(U)) norm1(X) u)",
                    inverse_error<T>(before, result, moduli_by_elimination(before)), 3);
    }
  }
  double real_flops(Shape s) const override {
    double const n = static_cast<double>(s.n);
    return 2 * n * n * n;
  }
};

/// log2 abs and direction of a determinant, and how much a relative change of u in the factors changes it relatively.
template <typename T>
struct Determinant {
  using W = Wide<T>;
  W direction = 1;            ///< 0 for a singular matrix
  RealPartOf<W> log_abs = 0;  ///< natural logarithm
  double sensitivity = 1;     ///< sum of abs(A^-1) abs(L) abs(U), transposed, elementwise

  explicit Determinant(Dense<W> const& a) {
    Dense<W> lu = a;
    std::vector<int> pivots;
    if (factor_lu(lu, &pivots) != 0) {
      direction = 0;
      log_abs = -std::numeric_limits<RealPartOf<W>>::infinity();
      return;
    }
    for (std::int64_t i = 0; i < a.rows(); ++i) {
      auto const size = modulus(lu(i, i));
      direction *= lu(i, i) / size;
      log_abs += std::log(size);
      if (pivots[static_cast<std::size_t>(i)] != i + 1) direction = -direction;
    }
    auto inverse = identity<W>(a.rows());
    solve_lu(lu, pivots, inverse);
    auto bound = moduli(unit_lower(lu)) * moduli(upper(lu));
    interchange_rows(bound, pivots, true);
    for (std::int64_t j = 0; j < a.rows(); ++j)
      for (std::int64_t i = 0; i < a.rows(); ++i) sensitivity += static_cast<double>(modulus(inverse(j, i)) * bound(i, j));
  }
};

/// A general matrix scaled by a power of two so that its determinant has a moderate size.
inline Generated moderate(Problem const& p, std::int64_t b, std::int64_t n) {
  auto made = general(p, b, 1, n, n);
  Input const input = p.input_of(b);
  if ((input != Input::random && !(finite_kind(input) && special_index(input, 1) >= 0)) || n == 0) return made;
  bool const real = p.dtype == Dtype::f32 || p.dtype == Dtype::f64;
  double const scale = std::exp2(std::round(std::log2(std::sqrt((real ? 3.0 : 1.5) * std::exp(1.0) / static_cast<double>(n)))));
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < n; ++i) made(i, j) *= scale;
  return made;
}

template <typename T>
struct DetCase final : CaseRun {
  Array<T> a, determinant;

  explicit DetCase(Problem const& p) : CaseRun(p), a(p, size_n, size_n), determinant(p, Layout::column_major, size_one, size_one) {
    for (std::int64_t i = 0; i < p.count; ++i) a.assign(i, moderate(p, i, a.rows(i)));
    hold({&determinant}, Role::output);
    hold({&a}, Role::input);
  }
  void run(Queue& queue) override { det(queue, a.view(), determinant.data()); }

 protected:
  void verify(std::int64_t i, Findings& found) const override {
    using W = Wide<T>;
    T const got = determinant.get(i, 0, 0);
    auto const before = a.before_wide(i);
    Input const input = problem().input_of(i);
    if (!all_finite(before)) {
      if (input == Input::nan) found.require(!is_finite(got), "a NaN in A left no trace in its determinant");
      return;
    }
    Determinant<T> const expected(before);
    if (expected.direction == W(0)) {
      if (known_lu_info(input, before.rows(), before.cols()).value_or(0) > 0)
        found.require(got == T(0), "the determinant of a singular matrix is not zero");
      return;
    }
    // the product of the pivots may pass through extremes that only the range of T decides about
    double const range = std::log(static_cast<double>(std::numeric_limits<Real<T>>::max()));
    if (std::abs(static_cast<double>(expected.log_abs)) > range / 2 || input == Input::scaled || input == Input::graded) return;
    W const value = expected.direction * W(std::exp(expected.log_abs));
    double const n = static_cast<double>(std::max<std::int64_t>(before.rows(), 1));
    found.at_most("abs(det - reference) / (n abs(det) sum(abs(A^-1)^T abs(L) abs(U)) u)",
                  static_cast<double>(modulus(widened<W>(got) - value) / modulus(value)) / (n * expected.sensitivity * unit_roundoff<T>),
                  3);
  }
  double real_flops(Shape s) const override {
    double const n = static_cast<double>(s.n);
    return 2.0 / 3.0 * n * n * n;
  }
};

template <typename T>
struct LogdetCase final : CaseRun {
  Array<T> a, sign;
  Array<Real<T>> log_abs;

  explicit LogdetCase(Problem const& p)
      : CaseRun(p),
        a(p, size_n, size_n),
        sign(p, Layout::column_major, size_one, size_one),
        log_abs(p, Layout::column_major, size_one, size_one) {
    for (std::int64_t i = 0; i < p.count; ++i) a.assign(i, general(p, i, 1, a.rows(i), a.cols(i)));
    hold({&sign, &log_abs}, Role::output);
    hold({&a}, Role::input);
  }
  void run(Queue& queue) override { logdet(queue, a.view(), sign.data(), log_abs.data()); }

 protected:
  void verify(std::int64_t i, Findings& found) const override {
    using W = Wide<T>;
    T const got_sign = sign.get(i, 0, 0);
    Real<T> const got_log = log_abs.get(i, 0, 0);
    auto const before = a.before_wide(i);
    Input const input = problem().input_of(i);
    if (!all_finite(before)) {
      if (input == Input::nan) found.require(!is_finite(got_log) || !is_finite(got_sign), "a NaN in A left no trace in its determinant");
      return;
    }
    Determinant<T> const expected(before);
    if (expected.direction == W(0)) {
      if (known_lu_info(input, before.rows(), before.cols()).value_or(0) > 0)
        found.require(got_sign == T(0) && std::isinf(got_log) && got_log < 0, "a singular matrix has not sign 0 and logabs -infinity");
      return;
    }
    double const n = static_cast<double>(std::max<std::int64_t>(before.rows(), 1));
    double const allowed = n * expected.sensitivity * unit_roundoff<T>;
    double const size = std::abs(static_cast<double>(expected.log_abs));
    found.at_most(
        "abs(logabs - reference) / (n (sum(abs(A^-1)^T abs(L) abs(U)) + abs(logabs)) u)",
        static_cast<double>(modulus(static_cast<RealPartOf<W>>(got_log) - expected.log_abs)) / (allowed + n * size * unit_roundoff<T>), 3);
    found.at_most("abs(abs(sign) - 1) / (n u)", std::abs(static_cast<double>(modulus(widened<W>(got_sign))) - 1) / (n * unit_roundoff<T>),
                  30);
    if (3 * allowed < 0.5)
      found.at_most("abs(sign - reference) / (n sum(abs(A^-1)^T abs(L) abs(U)) u)",
                    static_cast<double>(modulus(widened<W>(got_sign) - expected.direction)) / allowed, 3);
  }
  double real_flops(Shape s) const override {
    double const n = static_cast<double>(s.n);
    return 2.0 / 3.0 * n * n * n;
  }
};

}  // namespace myriad::cases
