#pragma once
/// One case per routine: makes inputs, checks results, counts flops and bytes. Used by tests, benchmark and program.

#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "case/generate.hpp"
#include "case/problem.hpp"
#include "case/storage.hpp"
#include "case/wide.hpp"
#include "myriad/queue.hpp"

namespace myriad::cases {

/// Result of a check of a batch.
struct Outcome {
  bool pass = true;
  double worst = 0;          ///< largest ratio of a quantity to its limit, over all matrices; NaN if one was NaN. Above 1 fails
  std::int64_t matrix = -1;  ///< the first that failed, else the worst
  std::string what{};        ///< the quantity or the property, for that matrix
  std::string problem{};     ///< `Problem::text`, seed included
  /// One line: "passed, worst ..." or the failure.
  [[nodiscard]] std::string text() const;
};

/// Collects the findings about one matrix. With `of_a_part` only a few columns or rows of large matrices are checked.
class Findings {
 public:
  explicit Findings(bool of_a_part = false) : of_a_part_(of_a_part) {}
  [[nodiscard]] bool of_a_part() const { return of_a_part_; }
  /// Indices of columns or rows to check, out of `size`: some, evenly spaced, with of_a_part, else all.
  [[nodiscard]] std::vector<std::int64_t> chosen(std::int64_t size) const;
  /// The chosen columns.
  template <typename W>
  [[nodiscard]] Dense<W> columns(Dense<W> const& a) const {
    auto const columns = chosen(a.cols());
    Dense<W> out(a.rows(), static_cast<std::int64_t>(columns.size()));
    for (std::int64_t j = 0; j < out.cols(); ++j)
      for (std::int64_t i = 0; i < a.rows(); ++i) out(i, j) = a(i, columns[static_cast<std::size_t>(j)]);
    return out;
  }
  /// Requires `value` to be at most `limit`; NaN fails.
  void at_most(char const* what, double value, double limit);
  /// Requires a property.
  void require(bool holds, std::string const& what);
  /// Requires two integers to be equal.
  void equal(char const* what, std::int64_t got, std::int64_t expected);

  [[nodiscard]] bool pass() const { return pass_; }
  [[nodiscard]] double worst() const { return worst_; }
  [[nodiscard]] std::string const& what() const { return what_; }

 private:
  bool of_a_part_;
  bool pass_ = true;
  double worst_ = 0;
  std::string what_ = "all quantities";
};

/// The damage that `CaseRun::spoil` does.
enum class Spoil { result, result_nan, info, padding, input };

/// A problem with its memory, ready to run any number of times.
class CaseRun {
 public:
  explicit CaseRun(Problem const& problem) : problem_(problem) {}
  virtual ~CaseRun() = default;
  CaseRun(CaseRun const&) = delete;
  CaseRun& operator=(CaseRun const&) = delete;

  /// Calls the routine once. The arrays are fresh after construction and after `prepare`.
  virtual void run(Queue& queue) = 0;
  /// Restores every array to its state before the first run: inputs, NaN in outputs, canaries in the padding.
  void prepare();
  /// Checks the results of the last run, for every `step`-th matrix.
  [[nodiscard]] Outcome check(std::int64_t step = 1) const;

  /// Moves the operands to the queue's memory, `count` matrices each, filled by repeating those of the problem. `run` then uses these; the
  /// host keeps those of the problem, in a layout without gaps. With `behind_pointers` matrices, and vectors with their layout, are passed
  /// as arrays of pointers.
  void place(Queue& queue, std::int64_t count, bool behind_pointers = false);
  /// Restores all inputs, the overwritten ones last.
  void refresh(Queue& queue);
  /// Sets outputs to NaN.
  void poison(Queue& queue);
  /// Checks the results of the last run for up to `some` matrices at the beginning, in the middle and at the end, with all cores; only a
  /// part of large matrices.
  [[nodiscard]] Outcome check_placed(Queue& queue, std::int64_t some);

  /// Damages results of the last run: the result or info of matrix b, padding, or an input; false if there is none.
  bool spoil(std::int64_t b, Spoil kind);
  /// The bytes of all results of matrix b, whatever the layout.
  [[nodiscard]] std::string result(std::int64_t b) const;

  /// Name of the operand, and its part, whose memory begins at p.
  [[nodiscard]] std::string operand_at(void const* p) const;

  [[nodiscard]] Problem const& problem() const { return problem_; }
  /// Floating-point operations of the whole batch; a complex product counts six, a complex sum two.
  [[nodiscard]] double flops() const;
  /// Minimum bytes moved: every input read once, every output written once; without pivots and info.
  [[nodiscard]] virtual double bytes() const;

 protected:
  /// Use of an array by a run; `destroyed`: the matrices hold no result afterwards.
  enum class Role { input, output, in_place, destroyed };
  void hold(std::initializer_list<ArrayBase*> arrays, Role role);
  void hold_info(ArrayBase& info) {
    hold({&info}, Role::output);
    info_ = &info;
  }
  /// Checks the results of matrix b; adds to `found`.
  virtual void verify(std::int64_t b, Findings& found) const = 0;
  /// Real multiplications and additions of a real matrix of that shape.
  [[nodiscard]] virtual double real_flops(Shape s) const = 0;

 private:
  struct Held {
    ArrayBase* array;
    Role role;
    [[nodiscard]] bool is_result() const { return role == Role::output || role == Role::in_place; }
  };
  Problem problem_;
  std::vector<Held> held_;
  ArrayBase* info_ = nullptr;
  std::int64_t placed_ = 0;  ///< matrices
};

/// Calls f with the run as its own type if that is one of Cases<T>.
template <typename T, template <typename> typename... Cases, typename F>
void for_case_of(CaseRun& run, F const& f) {
  auto const attempt = [&](auto* c) {
    if (c) f(*c);
  };
  (attempt(dynamic_cast<Cases<T>*>(&run)), ...);
}

/// An entry of the list of cases.
struct Case {
  std::string_view routine;
  std::string_view family;
  std::string_view variants;  ///< options of the routine, as letters: see `has`
  std::string_view on_gpu;    ///< GPU support and measurement, as letters: see `has_on_gpu`
  FixShape fix;
  std::unique_ptr<CaseRun> (*make)(Problem const&);

  /// Options of the routine: 'o' op(A), 'q' op(B), 'u' uplo, 's' side, 'd' diag, 'a' alpha, 'b' beta, 'v' job, 'j' job of the SVD, 'f'
  /// factor of gebrd, 'p' pivots may be empty, 'k' k (right-hand sides or inner size), 'r' rectangular matrices, 'x' exact singularity
  /// gives info, 'h' Hermitian inputs, 'w' also for 16-bit types, 'i' k defaults to n.
  [[nodiscard]] bool has(char variant) const { return variants.find(variant) != std::string_view::npos; }
  /// 'm': has kernels and is measured; 'a': they support any size, not only up to 32 rows and columns; 't': `myriad tune` can tune them.
  /// Measurements: '+' with beta = 1, 'c' with cold caches, '1' with one right-hand side and also with n, 'u' with either triangle.
  [[nodiscard]] bool has_on_gpu(char what) const { return on_gpu.find(what) != std::string_view::npos; }
  /// The problem for a benchmark, in the queue's memory: see `place`. As many distinct matrices are made as have `elements` elements.
  [[nodiscard]] std::unique_ptr<CaseRun> placed(Queue& queue, Problem problem, bool behind_pointers = false,
                                                std::int64_t elements = 1 << 20) const;
  /// A run of this problem (its `fix` is set here).
  [[nodiscard]] std::unique_ptr<CaseRun> operator()(Problem problem) const {
    problem.fix = fix;
    return make(problem);
  }
};

/// All routines, one line each.
[[nodiscard]] std::span<Case const> all_cases();
/// The case of that name, or null.
[[nodiscard]] Case const* find_case(std::string_view routine);

// Sizes of arrays
inline std::int64_t size_m(Shape s) { return s.m; }
inline std::int64_t size_n(Shape s) { return s.n; }
inline std::int64_t size_k(Shape s) { return s.k; }
inline std::int64_t size_min(Shape s) { return std::min(s.m, s.n); }
inline std::int64_t size_max(Shape s) { return std::max(s.m, s.n); }
inline std::int64_t size_one(Shape) { return 1; }
// Shapes that routines take
inline Shape square(Shape s) { return {s.n, s.n, s.k}; }
inline Shape tall(Shape s) { return {std::max(s.m, s.n), std::min(s.m, s.n), std::min({s.k, s.m, s.n})}; }

/// The scalar of a problem in the type of the batch.
template <typename T>
T scalar(std::complex<double> x) {
  if constexpr (is_complex<T>)
    return T(static_cast<Real<T>>(x.real()), static_cast<Real<T>>(x.imag()));
  else
    return static_cast<T>(x.real());
}

/// The entries of a vector of matrix b as plain values.
template <typename T>
std::vector<T> vector_of(Array<T> const& x, std::int64_t b) {
  std::vector<T> v;
  for (std::int64_t i = 0; i < x.rows(b); ++i) v.push_back(x.get(b, i, 0));
  return v;
}
template <typename T>
std::vector<Wide<T>> wide_vector_of(Array<T> const& x, std::int64_t b) {
  std::vector<Wide<T>> v;
  for (std::int64_t i = 0; i < x.rows(b); ++i) v.push_back(widened<Wide<T>>(x.get(b, i, 0)));
  return v;
}

/// Whether an input has no NaN and no infinity.
inline bool finite_kind(Input input) { return input != Input::nan && input != Input::infinite; }

/// Error of a solution X of A X = B: the largest norm1(b - A x) / (n norm1(A) norm1(x) u) over the columns.
template <typename T>
double solution_error(Dense<Wide<T>> const& a, Dense<Wide<T>> const& x, Dense<Wide<T>> const& b) {
  if (a.cols() == 0) return 0;
  auto const residual = b - a * x;
  auto const norm = norm1(a);
  double worst = 0;
  for (std::int64_t j = 0; j < b.cols(); ++j)
    worst =
        larger(worst, quotient(column_norm1(residual, j), norm * column_norm1(x, j)) / (static_cast<double>(a.cols()) * unit_roundoff<T>));
  return worst;
}
/// Error of a solution X from factors: the largest norm1(b - A x) / ((n + 2) norm1(bound abs(x)) u), `bound` being abs(L) abs(U).
template <typename T>
double solution_error(Dense<Wide<T>> const& a, Dense<Wide<T>> const& x, Dense<Wide<T>> const& b, Dense<RealPartOf<Wide<T>>> const& bound) {
  if (a.cols() == 0) return 0;
  auto const residual = b - a * x;
  auto const sums = bound * moduli(x);
  double worst = 0;
  for (std::int64_t j = 0; j < b.cols(); ++j)
    worst =
        larger(worst, quotient(column_norm1(residual, j), column_norm1(sums, j)) / (static_cast<double>(a.cols() + 2) * unit_roundoff<T>));
  return worst;
}
/// norm1(difference) / (n norm1(a) u).
template <typename T>
double factor_error(Dense<Wide<T>> const& difference, Dense<Wide<T>> const& a, std::int64_t n) {
  return quotient(norm1(difference), norm1(a)) / (static_cast<double>(std::max<std::int64_t>(n, 1)) * unit_roundoff<T>);
}
/// Error of an inverse X: norm1(I - A X) / (n norm1(A) norm1(X) u).
template <typename T>
double inverse_error(Dense<Wide<T>> const& a, Dense<Wide<T>> const& x) {
  return quotient(norm1(identity<Wide<T>>(a.rows()) - a * x), norm1(a) * norm1(x)) /
         (static_cast<double>(std::max<std::int64_t>(a.rows(), 1)) * unit_roundoff<T>);
}
/// Error of an inverse X from factors: norm1(I - A X) / ((n + 2) norm1(bound) norm1(X) u), `bound` being abs(L) abs(U).
template <typename T>
double inverse_error(Dense<Wide<T>> const& a, Dense<Wide<T>> const& x, Dense<RealPartOf<Wide<T>>> const& bound) {
  return quotient(norm1(identity<Wide<T>>(a.rows()) - a * x), norm1(bound) * norm1(x)) /
         (static_cast<double>(a.rows() + 2) * unit_roundoff<T>);
}
/// norm1(I - Q^H Q) / (m u).
template <typename T>
double orthogonality_error(Dense<Wide<T>> const& q) {
  return static_cast<double>(norm1(identity<Wide<T>>(q.cols()) - adjoint(q) * q)) /
         (static_cast<double>(std::max<std::int64_t>(q.rows(), 1)) * unit_roundoff<T>);
}
/// gamma(k) = k u / (1 - k u), for sums of products of T: complex ones take sqrt(2) gamma(2 k + 4), whatever the order of their real parts.
template <typename T>
double gamma_bound(std::int64_t k) {
  double const ku = static_cast<double>(is_complex<T> ? 2 * k + 4 : k) * unit_roundoff<T>;
  return (is_complex<T> ? std::sqrt(2.0) : 1.0) * ku / (1 - ku);
}

}  // namespace myriad::cases
