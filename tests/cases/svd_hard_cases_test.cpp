/// Singular value decompositions that are known to be hard: exact rank loss, multiple and nearly equal values, graded rows and columns, the
/// ends of the range, NaN and infinity, empty shapes.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "case/case.hpp"
#include "core/dtype.hpp"
#include "draw.hpp"
#include "myriad/svd.hpp"
#include "svd/case.hpp"

namespace myriad::cases {
namespace {

constexpr std::array all_jobs{SvdJob::values, SvdJob::thin, SvdJob::full, SvdJob::left, SvdJob::right};

/// Fewer sizes under sanitizers
#ifdef MYRIAD_SANITIZED
std::vector<std::int64_t> const sizes{1, 3, 8, 20, 33};
#else
std::vector<std::int64_t> const sizes{1, 2, 3, 4, 8, 13, 16, 20, 22, 31, 33};
#endif

Queue& queue() {
  static Queue queue{{.backend = Backend::cpu, .threads = 2}};
  return queue;
}

/// A batch of `count` m-by-n matrices and its results.
template <typename T>
struct Svd {
  SvdJob job;
  std::int64_t m, n, count, k, u_cols, vt_rows;
  std::vector<T> a, u, vt;
  std::vector<Real<T>> s;
  std::vector<int> info;

  Svd(SvdJob job_, std::int64_t m_, std::int64_t n_, std::int64_t count_ = 1)
      : job(job_),
        m(m_),
        n(n_),
        count(count_),
        k(std::min(m, n)),
        u_cols(wants_u(job) ? job == SvdJob::full ? m : k : 0),
        vt_rows(wants_vt(job) ? job == SvdJob::full ? n : k : 0),
        a(size(m * n)),
        u(size(m * u_cols), T(7)),
        vt(size(vt_rows * n), T(7)),
        s(size(k), Real<T>(-7)),
        info(size(1), -7) {}

  [[nodiscard]] std::size_t size(std::int64_t each) const { return static_cast<std::size_t>(each * count); }
  T& at(std::int64_t b, std::int64_t i, std::int64_t j) { return a[static_cast<std::size_t>(b * m * n + i + j * m)]; }
  /// gesvd, or with `relative` gejsv
  void run(bool relative = false) {
    auto* const decompose = relative ? &gejsv<T> : &gesvd<T>;
    decompose(queue(), job, batch(a.data(), m, n, {.count = count}), vectors(s.data(), k, count),
              batch(u.data(), m, u_cols, {.count = count}), batch(vt.data(), vt_rows, n, {.count = count}), info.data());
  }
  [[nodiscard]] Real<T> value(std::int64_t b, std::int64_t i) const { return s[static_cast<std::size_t>(b * k + i)]; }
  [[nodiscard]] Dense<Wide<T>> left(std::int64_t b) const { return wide(u.data() + b * m * u_cols, m, u_cols); }
  [[nodiscard]] Dense<Wide<T>> right(std::int64_t b) const { return adjoint(wide(vt.data() + b * vt_rows * n, vt_rows, n)); }

 private:
  static Dense<Wide<T>> wide(T const* data, std::int64_t rows, std::int64_t cols) {
    Dense<Wide<T>> x(rows, cols);
    for (std::int64_t j = 0; j < cols; ++j)
      for (std::int64_t i = 0; i < rows; ++i) x(i, j) = widened<Wide<T>>(data[i + j * rows]);
    return x;
  }
};

using Element = std::function<double(std::int64_t i, std::int64_t j)>;

/// Decomposes a matrix with every job and checks all results; returns the values of SvdJob::thin.
template <typename T>
std::vector<Real<T>> checked(std::string const& what, std::int64_t m, std::int64_t n, Element const& element) {
  using W = Wide<T>;
  SCOPED_TRACE(what + ", " + std::to_string(m) + " by " + std::to_string(n));
  double const u = unit_roundoff<T>, most = static_cast<double>(std::max<std::int64_t>({m, n, 1}));
  std::vector<Real<T>> of_thin;
  for (bool const relative : {false, true})
    for (SvdJob const job : {SvdJob::thin, SvdJob::full, SvdJob::values, SvdJob::left, SvdJob::right}) {
      SCOPED_TRACE(std::string(relative ? "gejsv" : "gesvd") + ", job " + static_cast<char>(job));
      Svd<T> x(job, m, n);
      Dense<W> matrix(m, n);
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t i = 0; i < m; ++i) {
          x.at(0, i, j) = T(static_cast<Real<T>>(element(i, j)));
          matrix(i, j) = widened<W>(x.at(0, i, j));
        }
      x.run(relative);
      EXPECT_EQ(x.info[0], 0);
      for (std::int64_t i = 0; i < x.k; ++i) {
        EXPECT_FALSE(std::signbit(x.value(0, i))) << i;
        EXPECT_TRUE(i == 0 || x.value(0, i) <= x.value(0, i - 1)) << i;
      }
      auto const left = x.left(0), right = x.right(0);
      EXPECT_LE(orthogonality_error<T>(left), 30) << "U";
      EXPECT_LE(orthogonality_error<T>(right), 30) << "V";
      if (wants_u(job) && wants_vt(job)) {
        Dense<W> us(m, x.k), v(n, x.k);
        for (std::int64_t j = 0; j < x.k; ++j) {
          for (std::int64_t i = 0; i < m; ++i) us(i, j) = left(i, j) * W(x.value(0, j));
          for (std::int64_t i = 0; i < n; ++i) v(i, j) = right(i, j);
        }
        EXPECT_LE(factor_error<T>(matrix - us * adjoint(v), matrix, std::max(m, n)), 30) << "A - U S V^H";
      }
      if (job == SvdJob::thin && !relative) of_thin = x.s;
      for (std::int64_t i = 0; i < x.k; ++i)
        EXPECT_LE(std::abs(static_cast<double>(x.value(0, i)) - static_cast<double>(of_thin[static_cast<std::size_t>(i)])),
                  30 * most * u * static_cast<double>(of_thin[0]))
            << "value " << i << " with another job";
    }
  return of_thin;
}

/// The same for A and its transpose, in all types; values must be `expected`, up to rounding.
void check_everywhere(std::string const& what, std::int64_t m, std::int64_t n, Element const& element, std::vector<double> expected = {}) {
  for (Dtype const dtype : {Dtype::f32, Dtype::f64, Dtype::c32, Dtype::c64})
    with_dtype(dtype, [&]<typename T>() {
      for (bool const transposes : {false, true}) {
        auto const values = transposes ? checked<T>(what, n, m, [&](std::int64_t i, std::int64_t j) { return element(j, i); })
                                       : checked<T>(what, m, n, element);
        double const largest = values.empty() ? 0 : static_cast<double>(values[0]);
        for (std::size_t i = 0; i < expected.size(); ++i)
          EXPECT_NEAR(static_cast<double>(values[i]), expected[i], 30 * static_cast<double>(std::max(m, n)) * unit_roundoff<T> * largest)
              << what << ", value " << i;
      }
    });
}

TEST(SvdHardCases, MultipleValuesAndExactRankLoss) {
  for (std::int64_t const n : sizes) {
    auto const size = static_cast<std::size_t>(n);
    auto const x = static_cast<double>(n);
    std::vector<double> first(size, 0.0), ones(size, 1.0);
    check_everywhere(
        "identity", n, n, [](auto i, auto j) { return i == j ? 1.0 : 0.0; }, ones);
    check_everywhere(
        "reflection", n, n, [&](auto i, auto j) { return (i == j ? 1.0 : 0.0) - 2 / x; }, ones);
    first[0] = x;
    check_everywhere(
        "ones", n, n, [](auto, auto) { return 1.0; }, first);
    check_everywhere(
        "zero", n, n + 2, [](auto, auto) { return 0.0; }, std::vector<double>(size, 0.0));
    check_everywhere("rank one", n, 2 * n, [](auto i, auto j) { return static_cast<double>((i + 1) * (j % 3 - 1)); });
    auto const entry = [](std::int64_t i, std::int64_t j) { return std::sin(static_cast<double>(3 * i * i + 7 * j + i * j + 1)); };
    check_everywhere("equal columns", n, n, [&](auto i, auto j) { return entry(i, j == n - 1 ? 0 : j); });
    check_everywhere("zero row and column", n, n, [&](auto i, auto j) { return i == n / 2 || j == n / 3 ? 0.0 : entry(i, j); });
    std::vector<double> runs;
    for (std::int64_t i = 0; i < n; ++i) runs.push_back(static_cast<double>((n - 1 - i) / 3));
    check_everywhere(
        "runs of equal values", n + 1, n, [&](auto i, auto j) { return i == j ? static_cast<double>(j / 3) : 0.0; },
        n % 3 == 0 ? runs : std::vector<double>{});
  }
#ifndef MYRIAD_SANITIZED  // a second
  // LAPACK's gejsv has V from U and A unless it is asked for rotations: columns were then far from orthogonal.
  checked<float>("tall, of rank one", 400, 40, [](auto i, auto j) { return static_cast<double>((i % 3 + 1) * (j % 4)); });
#endif
  check_everywhere("one row and column are zero", 3, 3, [](auto i, auto j) { return i == 1 || j == 1 ? 0.0
                                                                                    : i == j         ? 2.0
                                                                                                     : 1.0; },
                   {3, 1, 0});
  check_everywhere("columns of equal norm", 3, 2, [](auto i, auto j) { return i == 0 ? 1.0 : (i == 1) == (j == 0) ? 2.0 : -2.0; });
  check_everywhere("rank two", 3, 6,
                   [](auto i, auto j) { return (j % 2 == 0 ? 1 : -1) * (i == 1 ? 3.3e-3 : 2.4e-3) * (i == 2 && j > 2 ? -1 : 1); });
}

/// Values in clusters, also far below the largest: rotations within a cluster are large whatever the cosines, so that these do not tell
/// when to stop.
TEST(SvdHardCases, Clusters) {
  for (std::int64_t const n : sizes)
    for (int const kind : {0, 1, 2, 3}) {
      auto const value = [&](std::int64_t k) {
        return kind == 0   ? (k == 0 ? 1.0 : 1e-8)
               : kind == 1 ? 1 + 1e-15 * static_cast<double>(k)
               : kind == 2 ? (2 * k < n ? 1.0 : 1e-5 * (1 + 1e-12 * static_cast<double>(k)))
                           : std::pow(10.0, -4.0 * static_cast<double>(k / 3));
      };
      // (I - 2 v v^T) diag (I - 2 w w^T)
      auto const direction = [&](std::int64_t i, double phase) {
        double squares = 0;
        for (std::int64_t k = 0; k < n; ++k) squares += std::pow(std::sin(phase * static_cast<double>(k * k + 1)), 2);
        return std::sin(phase * static_cast<double>(i * i + 1)) / std::sqrt(squares);
      };
      std::vector<double> v, w;
      for (std::int64_t i = 0; i < n; ++i) v.push_back(direction(i, 1.3)), w.push_back(direction(i, 2.1));
      auto const at = [](std::vector<double> const& x, std::int64_t i) { return x[static_cast<std::size_t>(i)]; };
      check_everywhere("clusters " + std::to_string(kind), n, n, [&](std::int64_t i, std::int64_t j) {
        double sum = 0;
        for (std::int64_t k = 0; k < n; ++k)
          sum += ((i == k ? 1 : 0) - 2 * at(v, i) * at(v, k)) * value(k) * ((k == j ? 1 : 0) - 2 * at(w, k) * at(w, j));
        return sum;
      });
    }
}

TEST(SvdHardCases, EmptyShapesAndVectors) {
  for (Dtype const dtype : {Dtype::f32, Dtype::f64, Dtype::c32, Dtype::c64})
    with_dtype(dtype, [&]<typename T>() {
      for (auto const& [m, n] : {std::pair<std::int64_t, std::int64_t>{0, 0}, {0, 3}, {3, 0}})
        for (SvdJob const job : all_jobs) {
          Svd<T> x(job, m, n, 2);
          x.run();
          EXPECT_EQ(x.info, (std::vector<int>{0, 0}));
          for (std::int64_t b = 0; b < 2; ++b) {
            EXPECT_EQ(orthogonality_error<T>(x.left(b)), 0);
            EXPECT_EQ(orthogonality_error<T>(x.right(b)), 0);
          }
        }
      Svd<T> none(SvdJob::full, 3, 2, 0);
      EXPECT_NO_THROW(none.run());
      Svd<T> one(SvdJob::thin, 1, 1, 3);
      std::vector<T> ones{T(-3), T(0), T(2)};
      if constexpr (is_complex<T>) ones[2] = T(0, 2);
      one.a = ones;
      one.run();
      EXPECT_EQ(one.s, (std::vector<Real<T>>{3, 0, 2}));
      for (std::size_t b = 0; b < 3; ++b) EXPECT_LE(std::abs(one.u[b] * one.s[b] * one.vt[b] - ones[b]), 8 * unit_roundoff<T>);
    });
  check_everywhere("a row", 1, 9, [](auto, auto j) { return j % 2 == 0 ? 2.0 : -2.0; }, {6});
  check_everywhere("a long row", 1, 100, [](auto, auto j) { return j % 2 == 0 ? 2.0 : -2.0; }, {20});
}

/// Values are multiplied by exactly the power of two by which the matrix is, and vectors keep their bits.
TEST(SvdHardCases, PowersOfTwo) {
  for (Dtype const dtype : {Dtype::f32, Dtype::f64, Dtype::c32, Dtype::c64})
    with_dtype(dtype, [&]<typename T>() {
      using R = Real<T>;
      bool const single = sizeof(R) == 4;
      for (auto const& [m, n] : {std::pair<std::int64_t, std::int64_t>{2, 2}, {5, 3}, {4, 8}, {16, 16}, {40, 7}, {40, 37}})
        for (int const power : single ? std::array{110, -110, -140} : std::array{900, -900, -1060})
          for (SvdJob const job : {SvdJob::thin, SvdJob::values}) {
            Svd<T> x(job, m, n), y(job, m, n);
            std::mt19937 random(tests::seed());
            for (std::size_t i = 0; i < x.a.size(); ++i) {  // of few bits, so that subnormal numbers are exact
              T value(static_cast<R>(static_cast<int>(random() % 31) - 15));
              if constexpr (is_complex<T>) value = T(value.real(), static_cast<R>(static_cast<int>(random() % 31) - 15));
              x.a[i] = value;
              y.a[i] = value * std::ldexp(R(1), power / 2) * std::ldexp(R(1), power - power / 2);
            }
            x.run();
            y.run();
            EXPECT_TRUE(x.u == y.u && x.vt == y.vt) << m << " by " << n << ", 2^" << power;
            for (std::size_t i = 0; i < x.s.size(); ++i)
              EXPECT_EQ(y.s[i], std::ldexp(x.s[i], power)) << m << " by " << n << ", 2^" << power << ", value " << i;
          }
    });
  // Both ends of the range in one matrix
  for (std::int64_t const n : {2, 5, 20, 40}) {
    auto const values = checked<double>("both ends", n, n, [&](auto i, auto j) {
      return i == j ? (i % 2 == 0 ? 1e300 : 1e-300) : j == i + 1 ? 1e-10 : 0.0;
    });
    EXPECT_NEAR(values[0] / 1e300, 1, 1e-13);
    EXPECT_TRUE(std::isfinite(values.back()));
  }
}

/// Matrices D B, B D and D B D, with D over many decades, have values of small relative error for the condition of B alone: small ones
/// from gesvd, others from gejsv.
TEST(SvdHardCases, GradedRowsAndColumns) {
  for (Dtype const dtype : {Dtype::f32, Dtype::f64, Dtype::c32, Dtype::c64})
    with_dtype(dtype, [&]<typename T>() {
      using W = Wide<T>;
      double const decades = sizeof(Real<T>) == 4 ? 10 : 14;
      for (auto const& [m, n] : {std::pair<std::int64_t, std::int64_t>{3, 3}, {8, 8}, {12, 12}, {16, 16}, {40, 8}, {8, 30}, {40, 40}}) {
        std::mt19937 random(tests::seed());
        Dense<double> b(m, n);
        Dense<W> wide_b(m, n);
        for (std::int64_t j = 0; j < n; ++j)
          for (std::int64_t i = 0; i < m; ++i) {
            b(i, j) = std::uniform_real_distribution<double>(-1, 1)(random) + (i == j ? 2 : 0);
            wide_b(i, j) = W(static_cast<RealPartOf<W>>(b(i, j)));
          }
        auto const of_b = singular_values<T>(wide_b);
        double const condition = static_cast<double>(of_b.front() / of_b.back());
        // Decreasing, increasing, in another order
        for (int const direction : {0, 1, 2}) {
          auto const graded = [&](std::int64_t i, std::int64_t size, double range) {
            std::int64_t const place = direction == 0 ? i : direction == 1 ? size - 1 - i : (5 * i + 2) % size;
            return std::pow(10.0, -range * static_cast<double>(place) / static_cast<double>(size));
          };
          for (int const kind : {0, 1, 2}) {  // B D, D B, D B D
            // The condition of B alone matters only where the shorter side is graded.
            if ((kind == 1 && m > n) || (kind == 0 && n > m) || (kind == 2 && m != n)) continue;
            for (SvdJob const job : {SvdJob::thin, SvdJob::values, SvdJob::left}) {
              bool const relative = m == n && m > 20;
              Svd<T> x(job, m, n);
              Dense<W> matrix(m, n);
              for (std::int64_t j = 0; j < n; ++j)
                for (std::int64_t i = 0; i < m; ++i) {
                  double const rows = kind == 0 ? 1 : graded(i, m, kind == 1 ? decades : decades / 2);
                  double const columns = kind == 1 ? 1 : graded(j, n, kind == 0 ? decades : decades / 2);
                  x.at(0, i, j) = T(static_cast<Real<T>>(rows * b(i, j) * columns));
                  matrix(i, j) = widened<W>(x.at(0, i, j));
                }
              x.run(relative);
              // The reference rotates columns.
              auto const expected = singular_values<T>(kind == 1 ? adjoint(matrix) : matrix);
              double const limit = 30 * static_cast<double>(std::max(m, n)) * unit_roundoff<T> * condition;
              for (std::int64_t i = 0; i < x.k; ++i) {
                auto const value = static_cast<double>(expected[static_cast<std::size_t>(i)]);
                EXPECT_LE(std::abs(static_cast<double>(x.value(0, i)) / value - 1), limit)
                    << name(dtype) << ", " << m << " by " << n << ", direction " << direction << ", kind " << kind << ", job "
                    << static_cast<char>(job) << ", value " << i << " of size " << value;
              }
            }
          }
        }
      }
    });
}

/// LAPACK iterates on some of these for ever.
TEST(SvdHardCases, NanAndInfinity) {
  for (Dtype const dtype : {Dtype::f32, Dtype::f64, Dtype::c32, Dtype::c64})
    with_dtype(dtype, [&]<typename T>() {
      using R = Real<T>;
      for (auto const& [m, n] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {3, 3}, {7, 4}, {12, 12}, {5, 30}, {64, 64}})
        for (SvdJob const job : all_jobs) {
          constexpr std::int64_t count = 21;
          Svd<T> good(job, m, n, count);
          for (std::int64_t b = 0; b < count; ++b)
            for (std::int64_t j = 0; j < n; ++j)
              for (std::int64_t i = 0; i < m; ++i)
                good.at(b, i, j) = b % 2 == 1 ? T(1) : T(static_cast<R>(std::sin(static_cast<double>(b + 3 * i + i * j))));
          auto bad = good;
          constexpr std::array<std::int64_t, 3> places{0, 7, 20};
          bad.at(0, m - 1, 0) = T(std::numeric_limits<R>::infinity());
          bad.at(7, m / 2, n - 1) = T(std::numeric_limits<R>::quiet_NaN());
          bad.at(20, 0, n / 2) = T(-std::numeric_limits<R>::infinity());
          if constexpr (is_complex<T>) bad.at(20, 0, n / 2) = T(1, std::numeric_limits<R>::infinity());
          good.run();
          bad.run();
          auto const same = [&](auto const& x, auto const& y, std::int64_t each, char const* what) {
            for (std::int64_t b = 0; b < count; ++b) {
              bool const is_bad = std::find(places.begin(), places.end(), b) != places.end();
              for (std::int64_t i = b * each; i < (b + 1) * each; ++i) {
                auto const at = static_cast<std::size_t>(i);
                ASSERT_TRUE(is_bad ? std::isnan(std::real(x[at])) : x[at] == y[at])
                    << what << " of matrix " << b << ", " << m << " by " << n << ", job " << static_cast<char>(job);
              }
              ASSERT_EQ(bad.info[static_cast<std::size_t>(b)], is_bad ? good.k : 0);
            }
          };
          same(bad.s, good.s, good.k, "s");
          same(bad.u, good.u, m * good.u_cols, "U");
          same(bad.vt, good.vt, good.vt_rows * n, "V^H");
        }
    });
}

/// The bidiagonal Cholesky factor of Wilkinson's W21+ + 2 I: eigenvalues of W21+ come in pairs that agree to 14 digits and less. Copies
/// glued by 1e-8 make clusters of ten.
TEST(SvdHardCases, WilkinsonsPairsAndGluedCopies) {
  for (std::int64_t const copies : {1, 5}) {
    std::int64_t const n = 21 * copies;
    std::vector<long double> diagonal, below;
    for (std::int64_t i = 0; i < n; ++i) {
      long double const before = i == 0 ? 0 : below.back();
      diagonal.push_back(std::sqrt(std::abs(static_cast<long double>(i % 21 - 10)) + 2 - before * before));
      below.push_back((i % 21 == 20 ? 1e-8L : 1.0L) / diagonal.back());
    }
    auto const element = [&](std::int64_t i, std::int64_t j) {
      auto const at = static_cast<std::size_t>(j);
      return static_cast<double>(i == j ? diagonal[at] : i == j + 1 ? below[at] : 0.0L);
    };
    for (bool const transposes : {false, true}) {
      auto const values = checked<double>("Wilkinson", n, n, [&](auto i, auto j) { return transposes ? element(j, i) : element(i, j); });
      double const largest = std::sqrt(12.746194182903393432);
      for (std::size_t i = 0; i < static_cast<std::size_t>(2 * copies); ++i) EXPECT_NEAR(values[i], largest, 2e-8 * largest) << i;
      if (copies == 1) {
        EXPECT_NEAR(values[0], largest, 30 * 21 * 0x1p-53 * largest);
        EXPECT_NEAR(values[1], largest, 30 * 21 * 0x1p-53 * largest);
      }
    }
  }
}

}  // namespace
}  // namespace myriad::cases
