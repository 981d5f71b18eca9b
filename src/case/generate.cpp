#include "case/generate.hpp"

#include "core/dtype.hpp"

namespace myriad::cases {
namespace {

using Number = std::complex<double>;
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

bool real_type(Problem const& problem) { return !is_complex_dtype(problem.dtype); }

Number draw(Random& random, bool real) {
  double const x = random.uniform();
  return real ? Number(x) : Number(x, random.uniform());
}

/// Rounds down to a multiple of 1/8: sums of products of these are exact in single precision.
Number on_grid(Number x) { return {std::floor(8 * x.real()) / 8, std::floor(8 * x.imag()) / 8}; }

/// A random unit vector v for a reflection I - 2 v v^H.
std::vector<Number> direction(Random& random, bool real, std::int64_t n) {
  std::vector<Number> v(static_cast<std::size_t>(n));
  double sum = 0;
  for (auto& x : v) {
    x = draw(random, real);
    sum += std::norm(x);
  }
  for (auto& x : v) x /= std::sqrt(sum);
  return v;
}

void reflect_rows(Generated& a, std::vector<Number> const& v) {
  for (std::int64_t j = 0; j < a.cols(); ++j) {
    Number sum = 0;
    for (std::int64_t i = 0; i < a.rows(); ++i) sum += std::conj(v[static_cast<std::size_t>(i)]) * a(i, j);
    for (std::int64_t i = 0; i < a.rows(); ++i) a(i, j) -= 2.0 * v[static_cast<std::size_t>(i)] * sum;
  }
}

/// The k-th of `count` values that fall geometrically from 1 to 1e-3.
double spectrum(std::int64_t k, std::int64_t count) {
  return count <= 1 ? 1.0 : std::pow(1e-3, static_cast<double>(k) / static_cast<double>(count - 1));
}

/// U S V^H with two random reflections on either side, for S with value(i) on its diagonal.
template <typename Value>
Generated with_spectrum(Random& random, bool real, std::int64_t m, std::int64_t n, bool symmetric, Value value) {
  Generated a(m, n);
  for (std::int64_t i = 0; i < std::min(m, n); ++i) a(i, i) = value(i);
  if (m == 0 || n == 0) return a;
  for (int turn = 0; turn < 2; ++turn) {
    auto const u = direction(random, real, m);
    reflect_rows(a, u);
    Generated h = adjoint(a);
    reflect_rows(h, symmetric ? u : direction(random, real, n));
    a = adjoint(h);
  }
  return a;
}

Generated with_spectrum(Random& random, bool real, std::int64_t m, std::int64_t n, bool symmetric) {
  return with_spectrum(random, real, m, n, symmetric, [&](std::int64_t i) { return spectrum(i, std::min(m, n)); });
}

/// Scales rows and columns by powers of two from 2^-largest to 2^largest.
void scale_by_powers(Generated& a, Random& random, bool symmetric, int largest = 20) {
  std::vector<double> r(static_cast<std::size_t>(a.rows()));
  std::vector<double> c(static_cast<std::size_t>(a.cols()));
  for (auto* const scales : {&r, &c})
    for (auto& x : *scales) x = std::ldexp(1.0, static_cast<int>(random.below(2 * largest + 1)) - largest);
  if (symmetric) c = r;
  for (std::int64_t j = 0; j < a.cols(); ++j)
    for (std::int64_t i = 0; i < a.rows(); ++i) a(i, j) *= r[static_cast<std::size_t>(i)] * c[static_cast<std::size_t>(j)];
}

/// +1 or -1, or in complex matrices i or -i.
Number quarter_turn(Random& random, bool real) {
  return real ? Number(random.below(2) == 0 ? 1 : -1)
              : std::array<Number, 4>{1, Number(0, 1), -1, Number(0, -1)}[static_cast<std::size_t>(random.below(4))];
}

/// Ones on the diagonal, -0.9 below it, from 1 to 1.1 in the last column (wide matrices: from column m on), with rows and columns
/// multiplied by quarter turns. The largest of every column is on the diagonal, and elimination multiplies the last column by 1.9 at every
/// step.
Generated growing(Random& random, bool real, std::int64_t m, std::int64_t n) {
  Generated a(m, n);
  std::vector<Number> turns(static_cast<std::size_t>(n));
  for (auto& x : turns) x = quarter_turn(random, real);
  for (std::int64_t i = 0; i < m; ++i) {
    Number const turn = quarter_turn(random, real);
    for (std::int64_t j = 0; j < n; ++j) {
      double const size = j >= std::min(m, n) - 1 ? 1.05 + 0.05 * random.uniform() : i == j ? 1.0 : i > j ? -0.9 : 0.0;
      a(i, j) = size * turn * turns[static_cast<std::size_t>(j)];
    }
  }
  return a;
}

/// Every row has ones in one random interval of columns (totally unimodular: elimination gives only 0 and +-1 for any pivots). Rows and
/// columns are then multiplied by random signs or, in complex matrices, quarter turns.
Generated unimodular(Random& random, bool real, std::int64_t m, std::int64_t n) {
  Generated a(m, n);
  std::vector<Number> turns(static_cast<std::size_t>(n));
  for (auto& x : turns) x = quarter_turn(random, real);
  for (std::int64_t i = 0; i < m && n > 0; ++i) {
    std::int64_t const from = random.below(n);
    std::int64_t const to = from + random.below(n - from);
    Number const turn = quarter_turn(random, real);
    for (std::int64_t j = from; j <= to; ++j) a(i, j) = turn * turns[static_cast<std::size_t>(j)];
  }
  return a;
}

}  // namespace

std::int64_t special_index(Input input, std::int64_t size) {
  if (size <= 0) return -1;
  switch (input) {
    case Input::singular_first:
      return 0;
    case Input::singular_middle:
    case Input::nan:
    case Input::infinite:
      return size / 2;
    case Input::singular_last:
      return size - 1;
    default:
      return -1;
  }
}

Generated general(Problem const& problem, std::int64_t b, std::uint64_t stream, std::int64_t m, std::int64_t n) {
  return general(problem, problem.input_of(b), b, stream, m, n);
}

Generated general(Problem const& problem, Input input, std::int64_t b, std::uint64_t stream, std::int64_t m, std::int64_t n) {
  Random random(problem, b, stream);
  bool const real = real_type(problem);
  if (input == Input::conditioned) return with_spectrum(random, real, m, n, false);
  if (input == Input::ties) return unimodular(random, real, m, n);
  if (input == Input::growth) return growing(random, real, m, n);
  Generated a(m, n);
  if (input == Input::zero) return a;
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < m; ++i) {
      a(i, j) = draw(random, real);
      if (input == Input::random && is_half(problem.dtype) && !problem.timing) a(i, j) = on_grid(a(i, j));
    }
  std::int64_t const steps = std::min(m, n);
  std::int64_t const special = special_index(input, steps);
  switch (input) {
    case Input::dominant:
      // The sum of a row's or column's moduli is below sqrt(2) max(m, n).
      for (std::int64_t i = 0; i < steps; ++i) a(i, i) += (real ? 1.0 : 1.5) * static_cast<double>(std::max(m, n)) + 1.0;
      break;
    case Input::graded:
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t i = 0; i < m; ++i) a(i, j) *= std::exp2(-24.0 * static_cast<double>(i + j) / static_cast<double>(m + n));
      break;
    case Input::scaled:
      scale_by_powers(a, random, false, is_half(problem.dtype) ? 3 : 20);
      break;
    case Input::singular_first:
    case Input::singular_middle:
    case Input::singular_last:
      for (std::int64_t i = 0; special >= 0 && i < m; ++i) a(i, special) = 0;
      break;
    case Input::nan:
      if (special >= 0) a(m / 2, n / 2) = not_a_number;
      break;
    case Input::infinite:
      if (special >= 0) a(m / 2, n / 2) = std::numeric_limits<double>::infinity();
      break;
    default:
      break;
  }
  return a;
}

Generated positive(Problem const& problem, std::int64_t b, std::uint64_t stream, std::int64_t n) {
  Random random(problem, b, stream);
  Input const input = problem.input_of(b);
  bool const real = real_type(problem);
  if (input == Input::zero) return Generated(n, n);
  if (input == Input::conditioned) return hermitian(Uplo::lower, with_spectrum(random, real, n, n, true));
  Generated a(n, n);
  for (std::int64_t j = 0; j < n; ++j) {
    a(j, j) = (real ? 1.0 : 1.5) * static_cast<double>(n) + 1.0;
    for (std::int64_t i = j + 1; i < n; ++i) {
      a(i, j) = draw(random, real);
      a(j, i) = std::conj(a(i, j));
    }
  }
  if (input == Input::scaled) scale_by_powers(a, random, true);
  if (input == Input::graded)
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < n; ++i)
        a(i, j) *= std::exp2(-12.0 * static_cast<double>(i) / static_cast<double>(n)) *
                   std::exp2(-12.0 * static_cast<double>(j) / static_cast<double>(n));
  std::int64_t const special = special_index(input, n);
  if (special >= 0)
    a(special, special) = input == Input::nan ? not_a_number : input == Input::infinite ? std::numeric_limits<double>::infinity() : -1.0;
  return a;
}

Generated with_eigenvalues(Problem const& problem, std::int64_t b, std::uint64_t stream, std::int64_t n) {
  Random random(problem, b, stream);
  Input const input = problem.input_of(b);
  bool const real = real_type(problem), single = problem.dtype == Dtype::f32 || problem.dtype == Dtype::c32;
  double const u = single ? 0x1p-24 : 0x1p-53;
  auto const of_spectrum = [&](auto value) { return hermitian(Uplo::lower, with_spectrum(random, real, n, n, true, value)); };
  switch (input) {
    case Input::zero:
      return Generated(n, n);
    case Input::conditioned:
      return of_spectrum([&](std::int64_t i) { return (i % 2 == 0 ? 1 : -1) * spectrum(i, n); });
    case Input::singular_first:
      return of_spectrum([&](std::int64_t i) { return (i % 3 == 0 ? -1.0 : 1.0) * (1 + 2 * u * static_cast<double>(i)); });
    case Input::singular_middle:
      return of_spectrum([&](std::int64_t i) { return static_cast<double>(i / 2 + 1) * (1 + 8 * u * static_cast<double>(i % 2)); });
    case Input::singular_last:
      return of_spectrum([&](std::int64_t i) { return i == 0 ? 1.0 : i == n - 1 ? -0.5 : 0.0; });
    default:
      break;
  }
  Generated a(n, n);
  if (input == Input::ties) {
    for (std::int64_t i = 0; i < n; ++i) a(i, i) = std::abs(static_cast<double>(n - 1) / 2 - static_cast<double>(i));
    for (std::int64_t i = 0; i + 1 < n; ++i) a(i, i + 1) = a(i + 1, i) = 1;
    return a;
  }
  for (std::int64_t j = 0; j < n; ++j) {
    a(j, j) = random.uniform() + (input == Input::dominant ? 1.5 * static_cast<double>(n) : 0);
    for (std::int64_t i = j + 1; i < n; ++i) {
      a(i, j) = draw(random, real);
      a(j, i) = std::conj(a(i, j));
    }
  }
  if (input == Input::scaled) {
    scale_by_powers(a, random, true);
    int const far = static_cast<int>((problem.first + b) % 3 - 1) * (single ? 60 : 900);
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < n; ++i) a(i, j) = Number(std::ldexp(a(i, j).real(), far), std::ldexp(a(i, j).imag(), far));
  }
  if (input == Input::graded)
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < n; ++i) a(i, j) *= std::exp2(-40.0 * static_cast<double>(i + j) / static_cast<double>(n));
  if ((input == Input::nan || input == Input::infinite) && n > 0) {
    // On the diagonal, or in both off-diagonal corners, one of which is in the triangle.
    Number const bad = input == Input::nan ? not_a_number : std::numeric_limits<double>::infinity();
    if ((problem.first + b) % 2 == 0)
      a(n / 2, n / 2) = bad;
    else
      a(n - 1, 0) = a(0, n - 1) = bad;
  }
  return a;
}

Generated triangular(Problem const& problem, std::int64_t b, std::uint64_t stream, std::int64_t n) {
  Random random(problem, b, stream);
  Input const input = problem.input_of(b);
  bool const real = real_type(problem);
  Generated a(n, n);
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < n; ++i) {
      Number const x = draw(random, real);
      if (i == j)
        a(i, j) = problem.diag == Diag::unit && !problem.timing ? Number(not_a_number) : x + (x.real() < 0 ? -1.0 : 1.0);
      else if ((i > j) == (problem.uplo == Uplo::lower) || problem.timing)
        a(i, j) = 2.0 * x / static_cast<double>(n);
      else
        a(i, j) = not_a_number;
    }
  // A unit diagonal would not be scaled with the rest, and X would grow beyond the range of single precision.
  if ((input == Input::graded || input == Input::scaled) && problem.diag == Diag::non_unit) scale_by_powers(a, random, false);
  std::int64_t const special = special_index(input, n);
  if (special >= 0 && problem.diag == Diag::non_unit)
    a(special, special) = input == Input::nan ? not_a_number : input == Input::infinite ? std::numeric_limits<double>::infinity() : 0.0;
  return a;
}

}  // namespace myriad::cases
