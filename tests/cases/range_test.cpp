/// Results at the ends of the range of the element types. Multiplying columns of a matrix by powers of two multiplies its factors,
/// solutions and inverses by powers of two, to the last bit: no intermediate value may overflow or underflow.

#include "range.hpp"

#include <functional>
#include <numeric>
#include <set>

namespace myriad::cases::range {
namespace {

/// How a power of two affects a routine's values: `plain`: itself; `inverted`: its reciprocal; `squared`: its square; `both`; `summed`:
/// exponents add up over all columns.
enum class Uses { plain, inverted, squared, both, summed };
/// Coefficients of the exponent of element (i, j): of f, of e of its row and column, and of those of right-hand sides and solutions.
struct Power {
  int f = 0, row = 0, col = 0, rhs = 0, sol = 0;
};
constexpr Power same{}, columns_{.col = 1}, rows_{.row = 1}, both_{.row = 1, .col = 1}, rhs_{.rhs = 1}, sol_{.sol = 1}, f_{.f = 1};
/// The compared elements; in `factors` those below the diagonal are not scaled.
enum class Part { all, lower, upper, factors };

/// One call of a routine, at scale one or scaled.
template <typename T>
class Call {
 public:
  using R = Real<T>;
  static constexpr bool single = range::single<T>;
  Setting s;
  std::int64_t n, k = 3;
  std::vector<int> info;

  Call(Setting const& setting, Uses uses, bool scaled)
      : s(setting), n(s.n), info(static_cast<std::size_t>(s.count), -1), uses_(uses), scaled_(scaled) {
    std::mt19937 random(s.draw * 7919 + seed());
    auto const below = [&](unsigned limit) { return static_cast<int>(random() % limit); };
    bool const squares = uses == Uses::squared || uses == Uses::both;
    for (std::int64_t b = 0; b < s.count; ++b) {
      // Powers far from zero: 900 to 960, single 80 to 90, and less downwards so that differences of numbers that nearly cancel are no
      // subnormal numbers; a third of that where squares or products of three are formed.
      auto const far = [&](bool up) {
        int const power = single ? (up ? 80 : 60) + below(11) : (up ? 900 : 840) + below(61);
        return (up ? power : -power) / (squares ? 3 : 1);
      };
      std::vector<int> e(static_cast<std::size_t>(n + 2));
      int const whole = far(below(2) == 0);
      int const kind = below(3);  // order of columns scaled up: before those scaled down, behind them, or mixed
      for (std::int64_t j = 0; j < n; ++j) {
        auto& x = e[static_cast<std::size_t>(j)];
        std::int64_t const twin = n - 1 - j;
        bool const up = kind == 0 ? j < twin : kind == 1 ? j > twin : (j < twin) == (random() % 2 == 0);
        int const high = (single ? 124 : 1020) / (squares ? 2 : 1);
        int const low = uses == Uses::plain ? (single ? -149 : -1074) : uses == Uses::squared ? (single ? -74 : -537) : -high;
        if (s.mode == Mode::uniform)
          x = uses == Uses::summed ? whole / static_cast<int>(n) : whole;
        else if (uses == Uses::summed && j >= twin)
          x = j == twin ? 0 : -e[static_cast<std::size_t>(twin)];
        else if (s.mode == Mode::mixed)
          x = far(up);
        else
          x = up ? high - below(3) : low + below(3);
      }
      e_.push_back(e);
      int const little = below(9) - 4;
      f_of_.push_back(s.mode == Mode::ends ? 0 : s.mode == Mode::uniform && below(2) == 0 ? whole : little);
      std::vector<std::int64_t> order(static_cast<std::size_t>(n));
      std::iota(order.begin(), order.end(), 0);
      std::shuffle(order.begin(), order.end(), random);
      orders_.push_back(order);
    }
    random_.seed(s.draw * 104729 + seed());
  }

  /// m-by-n: dense with a dominant diagonal or, at the ends, one unit per column, in any row or on the diagonal.
  Matrices<T> general(std::int64_t rows, std::int64_t cols, Power p, bool diagonal = false) {
    permuted_ = permuted_ || !diagonal;
    return make(rows, cols, p, [&](std::int64_t b, std::int64_t i, std::int64_t j) {
      if (s.mode == Mode::ends) return i == (diagonal ? j : row_of(b, j)) ? unit() : T(0);
      return few_bits() + (i == j ? T(1) : T(0));
    });
  }
  /// Few bits everywhere, at the ends, too.
  Matrices<T> dense(std::int64_t rows, std::int64_t cols, Power p) {
    return make(rows, cols, p, [&](auto...) { return few_bits(); });
  }
  Matrices<T> ones(std::int64_t length, Power p) {
    return make(length, 1, p, [](auto...) { return T(1); });
  }
  /// Right-hand sides; for permutation matrices one column of ones, so that the solution is a column of units.
  Matrices<T> right_sides(Power p) { return s.mode == Mode::ends ? ones(n, p) : dense(n, k, p); }
  Matrices<R> scalings(std::int64_t length, Power p) {
    auto const made = ones(length, p);
    Matrices<R> r(length, 1, s);
    std::transform(made.data.begin(), made.data.end(), r.data.begin(), [](T x) { return std::real(x); });
    return r;
  }
  /// Positive definite, symmetric or Hermitian; diagonal at the ends.
  Matrices<T> hermitian(Power p, bool conjugate = true) {
    Matrices<T> half_(n, n, s);
    return make(n, n, p, [&](std::int64_t b, std::int64_t i, std::int64_t j) {
      if (i < j) return conjugate ? std_conj(half_(b, j, i)) : half_(b, j, i);
      if (i == j) return T(1);
      return half_(b, i, j) = s.mode == Mode::ends ? T(0) : few_bits();
    });
  }
  Matrices<T> triangular(Uplo uplo, Power p) {
    return make(n, n, p, [&](std::int64_t, std::int64_t i, std::int64_t j) {
      return i == j ? s.mode == Mode::ends ? unit() : T(1) : s.mode != Mode::ends && (i > j) == (uplo == Uplo::lower) ? few_bits() : T(0);
    });
  }
  template <typename U = T>
  Matrices<U> output(std::int64_t rows, std::int64_t cols = 1) {
    return Matrices<U>(rows, cols, s);
  }

  /// A result that must be that of scale one times powers of two.
  template <typename U>
  void result(char const* name, Matrices<U>& x, Power p, Part part = Part::all) {
    for (std::int64_t b = 0; b < x.count; ++b)
      for (std::int64_t j = 0; j < x.cols; ++j)
        for (std::int64_t i = 0; i < x.rows; ++i) {
          if ((part == Part::lower && i < j) || (part == Part::upper && i > j)) continue;
          int const power = part == Part::factors && i > j ? 0 : exponent(p, b, i, j);
          add(name, b, i, j, static_cast<double>(std::real(x(b, i, j))), power);
          if constexpr (is_complex<U>) add(name, b, i, j, static_cast<double>(std::imag(x(b, i, j))), power);
        }
  }
  void infos() {
    for (std::int64_t b = 0; b < s.count; ++b) add("info", b, 0, 0, info[static_cast<std::size_t>(b)]);
  }
  [[nodiscard]] int sum_of_exponents(std::int64_t b) const {
    auto const& e = e_[static_cast<std::size_t>(b)];
    return scaled_ ? std::accumulate(e.begin(), e.end(), 0) : 0;
  }
  void add(char const* name, std::int64_t b, std::int64_t i, std::int64_t j, double value, int power = 0, double allowed = 0) {
    outputs_.push_back({name, b, i, j, value, power, allowed});
  }

  /// The first difference from the result of scale one, or nothing.
  [[nodiscard]] std::string difference(Call const& at_one) const {
    std::ostringstream out;
    out.precision(17);
    if (outputs_.size() != at_one.outputs_.size() || outputs_.empty()) return "another number of results";
    for (std::size_t q = 0; q < outputs_.size(); ++q) {
      auto const &got = outputs_[q], &before = at_one.outputs_[q];
      double const expected = static_cast<double>(static_cast<R>(std::ldexp(before.value, got.power)));
      bool const right = got.value == expected || std::abs(got.value - expected) <= got.allowed;
      if (right) continue;
      out << got.name << " of matrix " << got.b << ", element (" << got.i << ", " << got.j << "): " << got.value << ", expected "
          << expected << " = " << before.value << " * 2^" << got.power;
      return out.str();
    }
    return {};
  }

 private:
  struct Output {
    std::string name;
    std::int64_t b, i, j;
    double value;
    int power;
    double allowed;
  };
  template <typename F>
  Matrices<T> make(std::int64_t rows, std::int64_t cols, Power p, F&& element) {
    Matrices<T> a(rows, cols, s);
    for (std::int64_t b = 0; b < s.count; ++b)
      for (std::int64_t j = 0; j < cols; ++j)
        for (std::int64_t i = 0; i < rows; ++i) {
          T const x = element(b, i, j);
          int const power = x == T(0) ? 0 : exponent(p, b, i, j);
          if constexpr (is_complex<T>)
            a(b, i, j) = T(std::ldexp(x.real(), power), std::ldexp(x.imag(), power));
          else
            a(b, i, j) = std::ldexp(x, power);
        }
    return a;
  }
  static T std_conj(T x) {
    if constexpr (is_complex<T>)
      return std::conj(x);
    else
      return x;
  }
  /// Integers from -3 to 3, divided by a power of two that keeps row sums below one.
  T few_bits() {
    int const shift = -static_cast<int>(std::ceil(std::log2(8.0 * static_cast<double>(n))));
    auto const part = [&] { return std::ldexp(static_cast<R>(static_cast<int>(random_() % 7) - 3), shift); };
    if constexpr (is_complex<T>) {
      R const re = part();
      return T(re, part());
    } else {
      return part();
    }
  }
  T unit() {
    R const sign = random_() % 2 == 0 ? R(1) : R(-1);
    if constexpr (is_complex<T>)
      return random_() % 2 == 0 ? T(sign) : T(0, sign);
    else
      return sign;
  }
  [[nodiscard]] std::int64_t row_of(std::int64_t b, std::int64_t j) const {
    return j < n ? orders_[static_cast<std::size_t>(b)][static_cast<std::size_t>(j)] : j;
  }
  [[nodiscard]] int e(std::int64_t b, std::int64_t j) const { return e_[static_cast<std::size_t>(b)][static_cast<std::size_t>(j)]; }
  [[nodiscard]] int exponent(Power p, std::int64_t b, std::int64_t i, std::int64_t j) const {
    if (!scaled_) return 0;
    int const f = f_of_[static_cast<std::size_t>(b)];
    int power = p.f * f;
    if (p.row != 0) power += p.row * e(b, i);
    if (p.col != 0) power += p.col * e(b, j);
    // At the ends right-hand sides have the size of the element in their row, so that solutions have size one.
    if (p.rhs != 0 && s.mode != Mode::ends) power += f;
    if (p.rhs != 0 && s.mode == Mode::ends && i < n) {
      auto const& order = orders_[static_cast<std::size_t>(b)];
      power += e(b, permuted_ ? std::find(order.begin(), order.end(), i) - order.begin() : i);
    }
    if (p.sol != 0 && s.mode != Mode::ends) power += f - e(b, i);
    return power;
  }

  Uses uses_;
  bool scaled_, permuted_ = false;
  std::mt19937 random_;
  std::vector<std::vector<int>> e_;
  std::vector<int> f_of_;
  std::vector<std::vector<std::int64_t>> orders_;
  std::vector<Output> outputs_;
};

/// The largest element of A Q - Q W, with A and W divided by the largest of W.
template <typename T>
double eigen_residual(Matrices<T>& a, Matrices<T>& q, Matrices<Real<T>>& w, std::int64_t b) {
  using W = Wide<T>;
  Dense<W> wide_a(a.rows, a.rows), wide_q(a.rows, a.rows), scaled_q(a.rows, a.rows);
  auto const largest = std::max(std::abs(w(b, 0, 0)), std::abs(w(b, a.rows - 1, 0)));
  for (std::int64_t j = 0; j < a.rows; ++j)
    for (std::int64_t i = 0; i < a.rows; ++i) {
      wide_a(i, j) = widened<W>(a(b, i, j)) / static_cast<RealPartOf<W>>(largest);
      wide_q(i, j) = widened<W>(q(b, i, j));
      scaled_q(i, j) = wide_q(i, j) * static_cast<RealPartOf<W>>(w(b, j, 0) / largest);
    }
  double worst = 0;
  auto const residual = moduli(wide_a * wide_q - scaled_q);
  for (auto const& x : residual.elements()) worst = larger(worst, static_cast<double>(x));
  return worst;
}

/// A routine: its use of powers of two, its modes, and one call.
template <typename T>
struct Line {
  char const* routine;
  Uses uses;
  char const* modes;  ///< u, m, e
  std::function<void(Call<T>&)> run;
};

template <typename T>
std::vector<Line<T>> const& lines() {
  using R = Call<T>;
  using enum Uses;
  constexpr auto left = Side::left;
  constexpr auto lower = Uplo::lower, upper = Uplo::upper;
  constexpr auto any = Diag::non_unit;
  static auto const factored = [](R& r, auto& a) {
    auto pivots = r.template output<int>(r.n);
    getrf<T>(queue(), a, pivots, r.info.data());
    return pivots;
  };
  static auto const reflectors = [](R& r, auto& a) {
    auto tau = r.output(r.n);
    geqrf<T>(queue(), a, tau);
    return tau;
  };
  static auto const decomposed = [](R& r, auto* decompose) {
    auto a = r.general(r.n + 2, r.n, columns_);
    auto s = r.template output<Real<T>>(r.n);
    auto u = r.output(r.n + 2, r.n), vt = r.output(r.n, r.n);
    decompose(queue(), SvdJob::thin, a, s, u, vt, r.info.data());
    r.infos(), r.result("s", s, rows_), r.result("U", u, same), r.result("V^H", vt, same);
  };
  static auto const reduced = [](R& r, auto& a, bool results) {
    auto tau = r.output(r.n - 1);
    auto d = r.template output<Real<T>>(r.n), e = r.template output<Real<T>>(r.n - 1);
    sytrd<T>(queue(), lower, a, d, e, tau);
    if (results) r.result("d", d, rows_), r.result("e", e, rows_), r.result("tau", tau, same);
    return tau;
  };
  static auto const bidiagonal = [](R& r, auto& a, bool results) {
    auto tauq = r.output(r.n), taup = r.output(r.n);
    auto d = r.template output<Real<T>>(r.n), e = r.template output<Real<T>>(r.n - 1);
    gebrd<T>(queue(), a, d, e, tauq, taup);
    if (results) r.result("d", d, rows_), r.result("e", e, rows_), r.result("tauq", tauq, same), r.result("taup", taup, same);
    return tauq;
  };
  // Products that compute a triangle of C
  static auto const product = [](R& r, bool two, bool hermitian_one) {
    auto a = r.general(r.n, r.n, rows_), b = r.general(r.n, r.n, {.f = 1, .row = 1});
    auto c = r.hermitian(two ? Power{.f = 1, .row = 1, .col = 1} : both_, hermitian_one);
    if (two && hermitian_one)
      her2k<T>(queue(), lower, T(1), a, b, Real<T>(1), c);
    else if (two)
      syr2k<T>(queue(), lower, T(1), a, b, T(1), c);
    else if (hermitian_one)
      herk<T>(queue(), lower, Real<T>(1), a, Real<T>(1), c);
    else
      syrk<T>(queue(), lower, T(1), a, T(1), c);
    r.result("C", c, two ? Power{.f = 1, .row = 1, .col = 1} : both_, Part::lower);
  };
  static auto const with_symmetric = [](R& r, bool vector, bool hermitian_one) {
    auto a = r.hermitian(both_, hermitian_one);
    auto x = r.dense(r.n, vector ? 1 : r.k, {.f = 1, .row = -1}), y = r.dense(r.n, x.cols, {.f = 1, .row = 1});
    if (vector)
      (hermitian_one ? hemv<T> : symv<T>)(queue(), upper, T(1), a, x, T(1), y);
    else
      (hermitian_one ? hemm<T> : symm<T>)(queue(), left, upper, T(1), a, x, T(1), y);
    r.result("C", y, {.f = 1, .row = 1});
  };
  static std::vector<Line<T>> const all{
      {"gemm", inverted, "ume",
       [](R& r) {
         auto a = r.general(r.n + 2, r.n, columns_), b = r.dense(r.n, r.k, {.f = 1, .row = -1}), c = r.dense(r.n + 2, r.k, f_);
         gemm<T>(queue(), T(-1), a, b, T(1), c);
         r.result("C", c, f_);
       }},
      {"gemv", inverted, "ume",
       [](R& r) {
         auto a = r.general(r.n + 2, r.n, columns_), x = r.dense(r.n, 1, {.f = 1, .row = -1}), y = r.dense(r.n + 2, 1, f_);
         gemv<T>(queue(), T(-1), a, x, T(1), y);
         r.result("y", y, f_);
       }},
      {"ger", both, "ume",
       [](R& r) {
         auto x = r.dense(r.n, 1, rows_), y = r.dense(r.k, 1, f_), a = r.dense(r.n, r.k, {.f = 1, .row = 1});
         ger<T>(queue(), T(1), x, y, a);
         r.result("A", a, {.f = 1, .row = 1});
       }},
      {"symv", both, "ume", [](R& r) { with_symmetric(r, true, false); }},
      {"hemv", both, "ume", [](R& r) { with_symmetric(r, true, true); }},
      {"symm", both, "ume", [](R& r) { with_symmetric(r, false, false); }},
      {"hemm", both, "ume", [](R& r) { with_symmetric(r, false, true); }},
      {"syrk", squared, "ume", [](R& r) { product(r, false, false); }},
      {"herk", squared, "ume", [](R& r) { product(r, false, true); }},
      {"syr2k", squared, "ume", [](R& r) { product(r, true, false); }},
      {"her2k", squared, "ume", [](R& r) { product(r, true, true); }},
      {"trsm", plain, "ume",
       [](R& r) {
         for (Uplo const uplo : {lower, upper}) {
           auto a = r.triangular(uplo, columns_), b = r.dense(r.n, r.k, rhs_), c = r.dense(r.k, r.n, columns_);
           if (r.s.mode == Mode::ends) b = r.general(r.n, r.n, rhs_, true), c = r.general(r.n, r.n, columns_, true);
           trsm<T>(queue(), left, uplo, any, T(1), a, b);
           trsm<T>(queue(), Side::right, uplo, any, T(1), a, c);
           r.result("X, left", b, sol_);
           r.result("X, right", c, same);
         }
       }},
      {"trmm", inverted, "ume",
       [](R& r) {
         auto a = r.triangular(lower, columns_), b = r.dense(r.n, r.k, {.f = 1, .row = -1});
         trmm<T>(queue(), left, lower, any, T(1), a, b);
         r.result("B", b, f_);
       }},
      {"trsv", plain, "ume",
       [](R& r) {
         for (Uplo const uplo : {lower, upper}) {
           auto a = r.triangular(uplo, columns_), x = r.s.mode == Mode::ends ? r.ones(r.n, rhs_) : r.dense(r.n, 1, rhs_);
           trsv<T>(queue(), uplo, any, a, x);
           r.result("x", x, sol_);
         }
       }},
      {"trmv", inverted, "ume",
       [](R& r) {
         auto a = r.triangular(upper, columns_), x = r.dense(r.n, 1, {.f = 1, .row = -1});
         trmv<T>(queue(), upper, any, a, x);
         r.result("x", x, f_);
       }},
      // Not mixed: inverses form products of three elements, two of which may leave the range at opposite ends.
      {"trtri", inverted, "ue",
       [](R& r) {
         for (Uplo const uplo : {lower, upper}) {
           auto a = r.triangular(uplo, columns_);
           trtri<T>(queue(), uplo, any, a, r.info.data());
           r.infos(), r.result("X", a, {.row = -1});
         }
       }},
      {"getrf", plain, "ume",
       [](R& r) {
         auto a = r.general(r.n + 2, r.n, columns_);
         auto pivots = factored(r, a);
         r.infos(), r.result("pivots", pivots, same), r.result("LU", a, columns_, Part::factors);
       }},
      {"getrf_nopiv", plain, "ume",
       [](R& r) {
         auto a = r.general(r.n + 2, r.n, columns_, true);
         getrf_nopiv<T>(queue(), a, r.info.data());
         r.infos(), r.result("LU", a, columns_, Part::factors);
       }},
      {"getrs", plain, "ume",
       [](R& r) {
         auto a = r.general(r.n, r.n, columns_);
         auto pivots = factored(r, a);
         for (Op const op : {Op::none, Op::transpose, Op::conjugate_transpose}) {
           bool const plain_one = op == Op::none;
           auto b = r.right_sides(plain_one ? rhs_ : rows_);
           getrs<T>(queue(), op, a, pivots.view(), b);
           r.result("X", b, plain_one ? sol_ : same);
         }
       }},
      {"gesv", plain, "ume",
       [](R& r) {
         auto a = r.general(r.n, r.n, columns_), b = r.right_sides(rhs_);
         auto pivots = r.template output<int>(r.n);
         gesv<T>(queue(), a, pivots, b, r.info.data());
         r.infos(), r.result("X", b, sol_), r.result("LU", a, columns_, Part::factors), r.result("pivots", pivots, same);
       }},
      {"solve", plain, "ume",
       [](R& r) {
         auto a = r.general(r.n, r.n, columns_), b = r.right_sides(rhs_);
         auto x = r.output(r.n, b.cols);
         solve<T>(queue(), a, b, x, r.info.data());
         r.infos(), r.result("X", x, sol_);
       }},
      {"getri", inverted, "ue",
       [](R& r) {
         auto a = r.general(r.n, r.n, columns_);
         auto pivots = factored(r, a);
         getri<T>(queue(), a, pivots.view(), r.info.data());
         r.infos(), r.result("X", a, {.row = -1});
       }},
      {"inverse", inverted, "ue",
       [](R& r) {
         auto a = r.general(r.n, r.n, columns_), x = r.output(r.n, r.n);
         inverse<T>(queue(), a, x, r.info.data());
         r.infos(), r.result("X", x, {.row = -1});
       }},
      {"det", summed, "ume",
       [](R& r) {
         auto a = r.general(r.n, r.n, columns_);
         auto value = r.output(1);
         det<T>(queue(), a, value.data.data());
         // A complex product whose intermediate values leave the range may be rounded differently.
         for (std::int64_t b = 0; b < r.s.count; ++b) {
           double const allowed =
               is_complex<T> ? 2 * static_cast<double>(r.n) * static_cast<double>(std::abs(value(b, 0, 0))) * unit_roundoff<T> : 0;
           r.add("det", b, 0, 0, std::real(value(b, 0, 0)), r.sum_of_exponents(b), allowed);
           r.add("det, imaginary part", b, 0, 0, std::imag(value(b, 0, 0)), r.sum_of_exponents(b), allowed);
         }
       }},
      {"logdet", plain, "ume",
       [](R& r) {
         auto a = r.general(r.n, r.n, columns_);
         auto sign = r.output(1);
         auto log_abs = r.template output<Real<T>>(1);
         logdet<T>(queue(), a, sign.data.data(), log_abs.data.data());
         r.result("sign", sign, same);
         // Rounding of logarithms, each less than 800, and of their sums
         double const u = std::numeric_limits<Real<T>>::epsilon() / 2, allowed = 800 * static_cast<double>(r.n * r.n) * u;
         for (std::int64_t b = 0; b < r.s.count; ++b)
           r.add("logabs", b, 0, 0, log_abs(b, 0, 0) - std::log(2.0) * r.sum_of_exponents(b), 0, allowed);
       }},
      {"potrf", squared, "ume",
       [](R& r) {
         for (Uplo const uplo : {lower, upper}) {
           auto a = r.hermitian(both_);
           potrf<T>(queue(), uplo, a, r.info.data());
           r.infos(), r.result("L", a, uplo == lower ? rows_ : columns_, uplo == lower ? Part::lower : Part::upper);
         }
       }},
      {"potrs", squared, "ume",
       [](R& r) {
         auto a = r.hermitian(both_), b = r.right_sides({.f = 1, .row = 1});
         potrf<T>(queue(), lower, a, r.info.data());
         potrs<T>(queue(), lower, a, b);
         r.infos(), r.result("X", b, {.f = 1, .row = -1});
       }},
      {"posv", squared, "ume",
       [](R& r) {
         auto a = r.hermitian(both_), b = r.right_sides({.f = 1, .row = 1});
         posv<T>(queue(), upper, a, b, r.info.data());
         r.infos(), r.result("X", b, {.f = 1, .row = -1}), r.result("U", a, columns_, Part::upper);
       }},
      {"potrf_regularized", squared, "ume",
       [](R& r) {
         auto a = r.hermitian(both_);
         potrf_regularized<T>(queue(), lower, a, nullptr, nullptr, nullptr, r.info.data());
         r.infos(), r.result("L", a, rows_, Part::lower);
       }},
      {"posv_regularized", squared, "ume",
       [](R& r) {
         auto a = r.hermitian(both_), b = r.right_sides({.f = 1, .row = 1});
         posv_regularized<T>(queue(), upper, a, b, nullptr, nullptr, nullptr, r.info.data());
         r.infos(), r.result("X", b, {.f = 1, .row = -1}), r.result("U", a, columns_, Part::upper);
       }},
      {"solve_positive_definite", squared, "ume",
       [](R& r) {
         auto a = r.hermitian(both_), b = r.right_sides({.f = 1, .row = 1});
         auto x = r.output(r.n, b.cols);
         solve_positive_definite<T>(queue(), lower, a, b, x, r.info.data());
         r.infos(), r.result("X", x, {.f = 1, .row = -1});
       }},
      {"potri", both, "ume",
       [](R& r) {
         auto a = r.hermitian(both_);
         potrf<T>(queue(), lower, a, r.info.data());
         potri<T>(queue(), lower, a, r.info.data());
         r.infos(), r.result("X", a, {.row = -1, .col = -1}, Part::lower);
       }},
      {"geqrf", plain, "ume",
       [](R& r) {
         auto a = r.general(r.n + 2, r.n, columns_);
         auto tau = reflectors(r, a);
         r.result("tau", tau, same), r.result("QR", a, columns_, Part::factors);
       }},
      {"geqp3", plain, "u",
       [](R& r) {
         auto a = r.general(r.n + 2, r.n, columns_);
         auto tau = r.output(r.n);
         auto jpvt = r.template output<int>(r.n);
         for (std::int64_t q = 0; q < jpvt.count; ++q)
           for (std::int64_t j = 0; j < r.n; ++j) jpvt(q, j, 0) = 0;
         geqp3<T>(queue(), a, jpvt, tau);
         r.result("jpvt", jpvt, same), r.result("tau", tau, same), r.result("QR", a, columns_, Part::factors);
       }},
      {"ormqr", plain, "um",
       [](R& r) {
         auto a = r.general(r.n + 2, r.n, same), c = r.dense(r.n + 2, r.n, columns_);
         auto tau = reflectors(r, a);
         ormqr<T>(queue(), left, Op::conjugate_transpose, a, tau, c);
         r.result("C", c, columns_);
       }},
      {"orgqr", plain, "ume",
       [](R& r) {
         auto a = r.general(r.n + 2, r.n, columns_);
         auto tau = reflectors(r, a);
         orgqr<T>(queue(), a, tau);
         r.result("Q", a, same);
       }},
      {"gels", plain, "um",
       [](R& r) {
         auto a = r.general(r.n + 2, r.n, columns_), b = r.dense(r.n + 2, r.k, f_);
         gels<T>(queue(), a, b, r.info.data());
         Matrices<T> x(r.n, r.k, r.s);
         for (std::int64_t q = 0; q < x.count; ++q)
           for (std::int64_t j = 0; j < r.k; ++j)
             for (std::int64_t i = 0; i < r.n; ++i) x(q, i, j) = b(q, i, j);
         r.infos(), r.result("X", x, sol_);
         auto wide = r.general(r.n, r.n + 2, rows_), c = r.dense(r.n + 2, r.k, rows_);
         gels<T>(queue(), wide, c, r.info.data());
         r.infos(), r.result("X, wide", c, same);
       }},
      {"gelsy", plain, "u",
       [](R& r) {
         auto a = r.general(r.n + 2, r.n, columns_), b = r.dense(r.n + 2, r.k, f_);
         auto jpvt = r.template output<int>(r.n);
         for (std::int64_t q = 0; q < jpvt.count; ++q)
           for (std::int64_t j = 0; j < r.n; ++j) jpvt(q, j, 0) = 0;
         std::vector<int> rank(static_cast<std::size_t>(a.count));
         gelsy<T>(queue(), a, b, jpvt, unit_roundoff<T>, rank.data());
         Matrices<T> x(r.n, r.k, r.s);
         for (std::int64_t q = 0; q < x.count; ++q) {
           r.add("rank", q, 0, 0, rank[static_cast<std::size_t>(q)]);
           for (std::int64_t j = 0; j < r.k; ++j)
             for (std::int64_t i = 0; i < r.n; ++i) x(q, i, j) = b(q, i, j);
         }
         r.result("jpvt", jpvt, same), r.result("X", x, sol_);
       }},
      {"syevd", plain, "u",
       [](R& r) {
         auto a = r.hermitian(rows_), q = a, spoiled = a;
         auto w = r.template output<Real<T>>(r.n), v = w;
         syevd<T>(queue(), Job::values, lower, spoiled, w, r.info.data());
         r.infos(), r.result("w", w, rows_);
         // LAPACK does not scale matrices near the ends by powers of two, so vectors have other bits.
         syevd<T>(queue(), Job::vectors, lower, q, v, r.info.data());
         r.infos();
         for (std::int64_t b = 0; b < a.count; ++b)
           r.add("whether A Q = Q W", b, 0, 0, eigen_residual(a, q, v, b) <= 30 * static_cast<double>(r.n) * unit_roundoff<T>);
       }},
      {"sytrd", plain, "u",
       [](R& r) {
         auto a = r.hermitian(rows_);
         reduced(r, a, true);
       }},
      {"orgtr", plain, "u",
       [](R& r) {
         auto a = r.hermitian(rows_);
         auto tau = reduced(r, a, false);
         orgtr<T>(queue(), lower, a, tau);
         r.result("Q", a, same);
       }},
      {"ormtr", plain, "um",
       [](R& r) {
         auto a = r.hermitian(same), c = r.dense(r.n, r.n, columns_);
         auto tau = reduced(r, a, false);
         ormtr<T>(queue(), left, lower, Op::none, a, tau, c);
         r.result("C", c, columns_);
       }},
      {"gesvd", plain, "u", [](R& r) { decomposed(r, gesvd<T>); }},
      {"gejsv", plain, "u", [](R& r) { decomposed(r, gejsv<T>); }},
      {"pinv", inverted, "u",
       [](R& r) {
         auto a = r.general(r.n + 2, r.n, columns_);
         auto x = r.output(r.n, r.n + 2);
         pinv<T>(queue(), a, Real<T>(-1), x, nullptr, r.info.data());
         r.infos(), r.result("X", x, {.row = -1});
       }},
      {"gelsd", plain, "u",
       [](R& r) {
         auto a = r.general(r.n + 2, r.n, columns_), b = r.dense(r.n + 2, r.k, f_);
         auto s = r.template output<Real<T>>(r.n);
         gelsd<T>(queue(), a, b, s, Real<T>(-1), nullptr, r.info.data());
         Matrices<T> x(r.n, r.k, r.s), below(2, r.k, r.s);
         for (std::int64_t q = 0; q < x.count; ++q)
           for (std::int64_t j = 0; j < r.k; ++j)
             for (std::int64_t i = 0; i < r.n + 2; ++i) (i < r.n ? x(q, i, j) : below(q, i - r.n, j)) = b(q, i, j);
         r.infos(), r.result("s", s, rows_), r.result("X", x, sol_), r.result("residuals", below, f_);
       }},
      {"matrix_rank", plain, "u",
       [](R& r) {
         auto a = r.general(r.n + 2, r.n, columns_);
         auto rank = r.template output<int>(1);
         matrix_rank<T>(queue(), a, 0, -1, rank.data.data(), r.info.data());
         r.infos();
         for (std::int64_t q = 0; q < a.count; ++q) r.add("rank", q, 0, 0, rank(q, 0, 0));
       }},
      {"cond", plain, "u",
       [](R& r) {
         auto a = r.general(r.n + 2, r.n, columns_);
         auto condition = r.template output<Real<T>>(1);
         cond<T>(queue(), a, condition.data.data(), r.info.data());
         r.infos(), r.result("cond", condition, same);
       }},
      {"norm2", plain, "u",
       [](R& r) {
         auto a = r.general(r.n + 2, r.n, columns_);
         auto norm = r.template output<Real<T>>(1);
         norm2<T>(queue(), a, norm.data.data(), r.info.data());
         r.infos(), r.result("norm", norm, rows_);
       }},
      {"gebrd", plain, "u",
       [](R& r) {
         auto a = r.general(r.n + 2, r.n, columns_);
         bidiagonal(r, a, true);
       }},
      {"orgbr", plain, "u",
       [](R& r) {
         auto a = r.general(r.n + 2, r.n, columns_);
         auto tau = bidiagonal(r, a, false);
         orgbr<T>(queue(), Vect::q, r.n, a, tau);
         r.result("Q", a, same);
       }},
      {"ormbr", plain, "um",
       [](R& r) {
         auto a = r.general(r.n + 2, r.n, same), c = r.dense(r.n + 2, r.n, columns_);
         auto tau = bidiagonal(r, a, false);
         ormbr<T>(queue(), Vect::q, left, Op::none, r.n, a, tau, c);
         r.result("C", c, columns_);
       }},
      {"geequ", plain, "u",
       [](R& r) {
         auto a = r.general(r.n, r.n, columns_);
         auto row = r.template output<Real<T>>(r.n), column = r.template output<Real<T>>(r.n), amax = r.template output<Real<T>>(1);
         geequ<T>(queue(), a, row, column, nullptr, nullptr, amax.data.data(), r.info.data());
         // all rows are scaled by the same factor
         r.infos(), r.result("amax", amax, rows_), r.result("c", column, same);
         for (std::int64_t b = 0; b < r.s.count; ++b)
           for (std::int64_t i = 0; i < r.n; ++i) r.add("r", b, i, 0, row(b, i, 0), -r.sum_of_exponents(b) / static_cast<int>(r.n));
       }},
      {"laqge", plain, "um",
       [](R& r) {
         auto a = r.general(r.n + 2, r.n, columns_);
         auto row = r.scalings(r.n + 2, f_), column = r.scalings(r.n, {.row = -1});
         laqge<T>(queue(), a, Batch<Real<T> const>(row), Batch<Real<T> const>(column));
         r.result("A", a, f_);
       }},
      {"gerfs", plain, "ume",
       [](R& r) {
         auto a = r.general(r.n, r.n, columns_), b = r.right_sides(rhs_);
         auto factors = a, x = b;
         auto pivots = factored(r, factors);
         getrs<T>(queue(), Op::none, factors, pivots.view(), x);
         auto ferr = r.template output<Real<T>>(x.cols), berr = ferr;
         gerfs<T>(queue(), Op::none, a, factors, pivots.view(), b, x, ferr, berr);
         r.result("X", x, sol_), r.result("berr", berr, same);
         // LAPACK's estimate of the norm takes other directions for small numbers
         for (std::int64_t q = 0; q < ferr.count && r.s.mode == Mode::uniform; ++q)
           for (std::int64_t i = 0; i < ferr.rows; ++i) r.add("ferr", q, i, 0, ferr(q, i, 0), 0, 0.5 * static_cast<double>(ferr(q, i, 0)));
         // Norms of A^-1 within LAPACK's estimate may overflow; then the bound is infinite.
         for (auto const& value : ferr.data) r.add("whether ferr is NaN", 0, 0, 0, std::isnan(value));
       }},
      {"backward_error", plain, "ume", [](R& r) {
         auto a = r.general(r.n, r.n, columns_), b = r.right_sides(rhs_);
         auto x = r.output(r.n, b.cols);
         solve<T>(queue(), a, b, x, r.info.data());
         auto berr = r.template output<Real<T>>(x.cols);
         backward_error<T>(queue(), a, x, b, Batch<Real<T>>(berr));
         r.result("berr", berr, same);
       }}};
  return all;
}

class Range : public testing::TestWithParam<std::size_t> {};

TEST_P(Range, ScalesByPowersOfTwo) {
  struct Drawn {
    Dtype dtype;
    Setting setting;
  };
  std::vector<Drawn> all;
  unsigned draw = 0;
  for (Dtype const dtype : all_dtypes)
    for (std::int64_t const n : {3, 4, 9, 20, 70, 130, 260})
      for (Mode const mode : {Mode::uniform, Mode::mixed, Mode::ends})
        for (bool const row_major : {false, true}) {
          ++draw;
          // Large matrices: one layout and one mode each
          if (n >= 70 && (row_major != (draw / 2 % 2 == 0) || (n > 70 && draw / 6 % 3 != static_cast<unsigned>(mode)))) continue;
          std::string const modes = lines<double>()[GetParam()].modes;
          if (modes.find("ume"[static_cast<std::size_t>(mode)]) == std::string::npos) continue;
          std::mt19937 random(draw + seed());
          all.push_back({dtype, {mode, n, 1 + static_cast<std::int64_t>(random() % (n < 30 ? 19 : n < 100 ? 3 : 1)), row_major, draw}});
        }
  double const seconds = tests::Budget::range / static_cast<double>(lines<double>().size());
  tests::for_drawn(all, seconds, 2, [&](Drawn const& drawn) {
    bool right = false;
    with_dtype(drawn.dtype, [&]<typename T>() {
      auto const& line = lines<T>()[GetParam()];
      Setting const& s = drawn.setting;
      Call<T> at_one(s, line.uses, false), scaled(s, line.uses, true);
      line.run(at_one), line.run(scaled);
      std::string const difference = scaled.difference(at_one);
      EXPECT_EQ(difference, "") << line.routine << " of " << name(drawn.dtype) << ", " << s.text();
      right = difference.empty();
    });
    return right;
  });
}
INSTANTIATE_TEST_SUITE_P(All, Range, testing::Range(std::size_t{0}, lines<double>().size()),
                         [](auto const& parameter) { return std::string(lines<double>()[parameter.param].routine); });

TEST(RangeTable, EveryRoutine) {
  std::set<std::string> tested, all;
  for (auto const& line : lines<double>()) tested.insert(line.routine);
  for (Case const& c : all_cases()) all.insert(std::string(c.routine));
  // Numbers beyond the range of single precision make these solve in double.
  all.erase("gesv_mixed"), all.erase("posv_mixed");
  EXPECT_EQ(tested, all);
}
}  // namespace
}  // namespace myriad::cases::range
