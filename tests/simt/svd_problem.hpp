#pragma once
/// Batches for singular value decompositions on the host twin, and checks that the kernels for small matrices and for those that a block
/// holds share.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "core/dtype.hpp"
#include "myriad/batch.hpp"
#include "runtime/views.hpp"
#include "sizes.hpp"
#include "svd/svd.hpp"

namespace myriad::svd_test {

template <typename T>
constexpr double unit_roundoff = sizeof(Real<T>) == 4 ? 0x1p-24 : 0x1p-53;

/// A number that no result has, to find writes elsewhere.
constexpr float untouched = -7654321.0F;

enum class Stored { columns, rows, gaps, interleaved, pointers };
constexpr std::array all_stored{Stored::columns, Stored::rows, Stored::gaps, Stored::interleaved, Stored::pointers};

/// A batch with its memory.
template <typename T>
struct Kept {
  std::vector<T> memory;
  std::vector<T*> pointers;
  std::vector<std::int64_t> row_sizes, col_sizes;
  Batch<T> view;

  Kept(std::int64_t m, std::int64_t n, std::int64_t count, Stored stored)
      : memory(static_cast<std::size_t>((m * n + m + n + 5) * count + 8), T(untouched)) {
    switch (stored) {
      case Stored::columns:
        view = batch(memory.data(), m, n, {.count = count});
        break;
      case Stored::rows:
        view = row_major(memory.data(), m, n, {.count = count});
        break;
      case Stored::gaps:
        view = batch(memory.data() + 1, m, n, {.ld = m + 1, .stride = (m + 1) * n + 3, .count = count});
        break;
      case Stored::interleaved:
        view = interleaved(memory.data(), m, n, count);
        break;
      case Stored::pointers:
        for (std::int64_t b = 0; b < count; ++b) pointers.push_back(memory.data() + 1 + (m * n + 2) * (count - 1 - b));
        view = row_major(memory.data(), m, n, {.count = count});
        view.data = nullptr;
        view.pointers = pointers.data();
        break;
    }
  }
  Kept(Kept const&) = delete;
  void make_ragged(std::vector<std::int64_t> rows, std::vector<std::int64_t> cols) {
    row_sizes = std::move(rows), col_sizes = std::move(cols);
    view.row_sizes = row_sizes.data(), view.col_sizes = col_sizes.data();
  }
  /// Whether memory that belongs to no matrix has changed; counts elements.
  [[nodiscard]] std::int64_t written() const {
    return std::count_if(memory.begin(), memory.end(), [](T x) { return !(x == T(untouched)); });
  }
};

template <typename T>
T conjugate(T x) {
  if constexpr (is_complex<T>)
    return std::conj(x);
  else
    return x;
}

/// Matrices and their decompositions.
template <typename T>
struct Problem {
  using R = Real<T>;
  SvdJob job;
  std::int64_t k, count;
  Kept<T> a, u, vt;
  Kept<R> s;
  std::vector<int> info;

  Problem(SvdJob of, std::int64_t m, std::int64_t n, std::int64_t matrices, Stored stored)
      : job(of),
        k(std::min(m, n)),
        count(matrices),
        a(m, n, count, stored),
        u(m, of == SvdJob::full ? m : k, count, stored),
        vt(of == SvdJob::full ? n : k, n, count, stored),
        s(k, 1, count, stored == Stored::interleaved ? stored : Stored::columns),
        info(static_cast<std::size_t>(count), -7) {}

  template <typename Element>
  void fill(Element element) {
    for (std::int64_t b = 0; b < count; ++b)
      for (std::int64_t j = 0; j < a.view.cols_of(b); ++j)
        for (std::int64_t i = 0; i < a.view.rows_of(b); ++i) *a.view.at(b, i, j) = element(b, i, j);
  }
  [[nodiscard]] GesvdTask<T> task(bool conjugated) {
    GesvdTask<T> out{.job = job, .a = a.view, .s = s.view, .u = u.view, .vt = vt.view, .info = info.data()};
    out.a.conjugated = out.u.conjugated = out.vt.conjugated = conjugated;
    return out;
  }
  [[nodiscard]] R value(std::int64_t b, std::int64_t i) const { return *s.view.at(b, i, 0); }

  /// Compares with the definition, for `slack` u.
  void check(std::int64_t b, double slack = 1) const {
    SCOPED_TRACE(testing::Message() << "matrix " << b << ", " << a.view.rows_of(b) << " by " << a.view.cols_of(b) << ", job "
                                    << static_cast<char>(job));
    std::int64_t const m = a.view.rows_of(b), n = a.view.cols_of(b), least = std::min(m, n);
    EXPECT_EQ(info[static_cast<std::size_t>(b)], 0);
    using C = std::complex<double>;
    for (std::int64_t i = 0; i < least; ++i) {
      ASSERT_GE(value(b, i), 0);
      ASSERT_FALSE(std::signbit(value(b, i)));
      if (i > 0) {
        ASSERT_LE(value(b, i), value(b, i - 1));
      }
    }
    double const most = static_cast<double>(std::max(m, n)), bound = slack * 8 * most * unit_roundoff<T>;
    auto const orthonormal = [&](std::int64_t vectors, std::int64_t length, auto const& element) {
      for (std::int64_t x = 0; x < vectors; ++x)
        for (std::int64_t y = 0; y <= x; ++y) {
          C sum = 0;
          for (std::int64_t i = 0; i < length; ++i) sum += std::conj(element(i, x)) * element(i, y);
          ASSERT_LE(std::abs(sum - (x == y ? 1.0 : 0.0)), bound) << x << " " << y;
        }
    };
    auto const u_at = [&](std::int64_t i, std::int64_t j) { return C(*u.view.at(b, i, j)); };
    auto const v_at = [&](std::int64_t i, std::int64_t j) { return std::conj(C(*vt.view.at(b, j, i))); };
    bool const left = job != SvdJob::values && job != SvdJob::right, right = job != SvdJob::values && job != SvdJob::left;
    if (left) orthonormal(job == SvdJob::full ? m : least, m, u_at);
    if (right) orthonormal(job == SvdJob::full ? n : least, n, v_at);
    if (least == 0) return;
    double const norm = static_cast<double>(value(b, 0));
    double frobenius = 0, of_values = 0;
    double const unit = norm > 0 ? 1 / std::ldexp(1.0, std::ilogb(norm)) : 1;
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) frobenius += std::norm(unit * C(*a.view.at(b, i, j)));
    for (std::int64_t i = 0; i < least; ++i) of_values += std::pow(unit * static_cast<double>(value(b, i)), 2);
    ASSERT_NEAR(frobenius, of_values, bound * frobenius);
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        if (!left && !right) continue;
        C sum = 0;
        if (left && right)
          for (std::int64_t l = 0; l < least; ++l) sum += u_at(i, l) * (unit * static_cast<double>(value(b, l))) * std::conj(v_at(j, l));
        else
          continue;
        ASSERT_LE(std::abs(sum - unit * C(*a.view.at(b, i, j))), bound * norm * unit) << i << " " << j;
      }
    // One factor alone: the lengths of A v or u^H A.
    if (left != right) {
      for (std::int64_t l = 0; l < least; ++l) {
        double square = 0;
        for (std::int64_t i = 0; i < (right ? m : n); ++i) {
          C sum = 0;
          for (std::int64_t j = 0; j < (right ? n : m); ++j)
            sum += unit * (right ? C(*a.view.at(b, i, j)) * v_at(j, l) : std::conj(u_at(j, l)) * C(*a.view.at(b, j, i)));
          square += std::norm(sum);
        }
        ASSERT_NEAR(std::sqrt(square), unit * static_cast<double>(value(b, l)), bound * unit * norm);
      }
    }
  }
};

template <typename T>
struct Random {
  std::mt19937 engine;
  std::normal_distribution<double> normal;
  explicit Random(unsigned seed) : engine(seed) {}
  T operator()() {
    using R = Real<T>;
    if constexpr (is_complex<T>) {
      auto const re = static_cast<R>(normal(engine));
      return T(re, static_cast<R>(normal(engine)));
    } else {
      return static_cast<T>(normal(engine));
    }
  }
};

/// Random matrices with some that are special, by number.
template <typename T>
T element(Random<T>& random, std::int64_t b, std::int64_t i, std::int64_t j) {
  T const x = random();
  switch (b % 8) {
    case 1:  // rank one of integers
      return T(static_cast<Real<T>>((i % 3 + 1) * (j % 4)));
    case 2:
      return T(0);
    case 3:
      return i == j ? T(1) : T(0);
    case 4:  // graded rows
      return x * static_cast<Real<T>>(std::pow(10.0, -static_cast<double>(i % 14) * (sizeof(Real<T>) == 4 ? 0.4 : 1)));
    case 5:  // graded columns, increasing
      return x * static_cast<Real<T>>(std::pow(10.0, static_cast<double>(j % 14) * (sizeof(Real<T>) == 4 ? 0.4 : 1)));
    case 6:  // ones
      return T(1);
    default:
      return x;
  }
}

/// Random and special matrices, stored in one of the ways. Solver::run<T, order>(problem, conjugated) decomposes them; `order` is an upper
/// bound of sizes that chooses a kernel.
template <typename Solver, typename T, int order>
void check(SvdJob job, std::int64_t m, std::int64_t n, std::int64_t count, unsigned seed, bool ragged) {
  SCOPED_TRACE(testing::Message() << m << " by " << n << ", seed " << seed);
  Problem<T> problem(job, m, n, count, all_stored[seed % all_stored.size()]);
  bool const conjugated = is_complex<T> && seed % 2 == 1;
  if (ragged) {
    std::vector<std::int64_t> rows, cols, least;
    for (std::int64_t b = 0; b < count; ++b) {
      rows.push_back(b == 0 ? m : (b * 5 + 1) % (m + 1));
      cols.push_back(b == 0 ? n : (b * 7 + 3) % (n + 1));
      least.push_back(std::min(rows.back(), cols.back()));
    }
    problem.s.make_ragged(least, std::vector<std::int64_t>(least.size(), 1));
    problem.u.make_ragged(rows, job == SvdJob::full ? rows : least);
    problem.vt.make_ragged(job == SvdJob::full ? cols : least, cols);
    problem.a.make_ragged(rows, cols);
  }
  Random<T> random(seed);
  problem.fill([&](std::int64_t b, std::int64_t i, std::int64_t j) { return element<T>(random, b, i, j); });
  auto const before = problem.a.memory;
  Solver::template run<T, order>(problem, conjugated);
  EXPECT_TRUE(problem.a.memory == before);
  std::int64_t of_u = 0, of_vt = 0;
  bool const left = job != SvdJob::values && job != SvdJob::right, right = job != SvdJob::values && job != SvdJob::left;
  for (std::int64_t b = 0; b < count; ++b) {
    of_u += left ? problem.u.view.rows_of(b) * problem.u.view.cols_of(b) : 0;
    of_vt += right ? problem.vt.view.rows_of(b) * problem.vt.view.cols_of(b) : 0;
    problem.check(b);
  }
  EXPECT_EQ(problem.u.written(), of_u);
  EXPECT_EQ(problem.vt.written(), of_vt);
}

/// Square matrices of one size.
template <typename Solver, typename T, int n>
struct Square {
  Problem<T> problem;
  template <typename Element>
  Square(std::int64_t count, Element element) : problem(SvdJob::thin, n, n, count, Stored::columns) {
    problem.fill(element);
    Solver::template run<T, n>(problem);
  }
};

/// A power of two as factor gives the same U and V, and values times it; also where squares overflow or underflow.
template <typename Solver, typename T, int n>
void check_scales(std::vector<int> const& exponents) {
  Random<T> random(n);
  std::vector<T> numbers;
  for (int e = 0; e < n * n; ++e) numbers.push_back(random());
  auto const count = static_cast<std::int64_t>(exponents.size());
  Square<Solver, T, n> const square(count, [&](std::int64_t b, std::int64_t i, std::int64_t j) {
    return numbers[static_cast<std::size_t>(i + j * n)] * std::ldexp(Real<T>(1), exponents[static_cast<std::size_t>(b)]);
  });
  auto const& p = square.problem;
  for (std::int64_t b = 0; b < count; ++b) {
    SCOPED_TRACE(testing::Message() << "2^" << exponents[static_cast<std::size_t>(b)]);
    bool const subnormal = exponents[static_cast<std::size_t>(b)] < (sizeof(Real<T>) == 4 ? -110 : -1000);
    if (!subnormal) p.check(b);
    for (std::int64_t j = 0; j < n; ++j) {
      Real<T> const expected = std::ldexp(p.value(0, j), exponents[static_cast<std::size_t>(b)]);
      if (subnormal)
        ASSERT_NEAR(p.value(b, j), expected, 16 * n * std::numeric_limits<Real<T>>::denorm_min());
      else
        ASSERT_EQ(p.value(b, j), expected);
      for (std::int64_t i = 0; i < n && !subnormal; ++i) {
        ASSERT_EQ(*p.u.view.at(b, i, j), *p.u.view.at(0, i, j));
        ASSERT_EQ(*p.vt.view.at(b, i, j), *p.vt.view.at(0, i, j));
      }
    }
  }
}
/// A matrix of more than 4 rows gets the same bits in every layout, and in a ragged batch of larger ones.
template <typename Solver, typename T, int n, int bound>
void check_same_bits() {
  Random<T> random(n);
  std::vector<T> numbers;
  for (int e = 0; e < n * n; ++e) numbers.push_back(random());
  auto const at = [&](std::int64_t, std::int64_t i, std::int64_t j) { return numbers[static_cast<std::size_t>(i + j * n)]; };
  Square<Solver, T, n> const alone(1, at);
  auto const compare = [&](Problem<T> const& other, std::int64_t b) {
    for (std::int64_t j = 0; j < n; ++j) {
      ASSERT_EQ(alone.problem.value(0, j), other.value(b, j));
      for (std::int64_t i = 0; i < n; ++i) {
        ASSERT_EQ(std::memcmp(alone.problem.u.view.at(0, i, j), other.u.view.at(b, i, j), sizeof(T)), 0);
        ASSERT_EQ(std::memcmp(alone.problem.vt.view.at(0, i, j), other.vt.view.at(b, i, j), sizeof(T)), 0);
      }
    }
  };
  for (Stored const stored : all_stored) {
    Problem<T> some(SvdJob::thin, n, n, 5, stored);
    some.fill(at);
    Solver::template run<T, n>(some);
    compare(some, 3);
  }
  Problem<T> ragged(SvdJob::thin, bound, bound, 3, Stored::columns);
  std::vector<std::int64_t> const sizes{bound, n, bound - 1}, ones(3, 1);
  ragged.a.make_ragged(sizes, sizes);
  ragged.u.make_ragged(sizes, sizes);
  ragged.vt.make_ragged(sizes, sizes);
  ragged.s.make_ragged(sizes, ones);
  ragged.fill([&](std::int64_t b, std::int64_t i, std::int64_t j) { return b == 1 ? at(b, i, j) : random(); });
  Solver::template run<T, bound>(ragged);
  compare(ragged, 1);
}
/// NaN and infinity: that matrix is NaN with info = n, the others keep their bits.
template <typename Solver, typename T, int n>
void check_not_finite() {
  using R = Real<T>;
  Random<T> random(n);
  std::int64_t const count = 7;
  std::vector<T> numbers;
  for (int e = 0; e < n * n * count; ++e) numbers.push_back(random());
  auto const at = [&](std::int64_t b, std::int64_t i, std::int64_t j) { return numbers[static_cast<std::size_t>((b * n + j) * n + i)]; };
  Square<Solver, T, n> const good(count, at);
  Square<Solver, T, n> const some(count, [&](std::int64_t b, std::int64_t i, std::int64_t j) {
    R const bad = b == 1 ? std::numeric_limits<R>::quiet_NaN() : std::numeric_limits<R>::infinity();
    return (b == 1 || b == 4) && i == n - 1 && j == n / 2 ? T(bad) : at(b, i, j);
  });
  for (std::int64_t b = 0; b < count; ++b) {
    bool const is_bad = b == 1 || b == 4;
    ASSERT_EQ(some.problem.info[static_cast<std::size_t>(b)], is_bad ? n : 0);
    for (std::int64_t j = 0; j < n; ++j) {
      if (is_bad)
        ASSERT_TRUE(std::isnan(some.problem.value(b, j)));
      else
        ASSERT_EQ(some.problem.value(b, j), good.problem.value(b, j));
      for (std::int64_t i = 0; i < n; ++i) {
        T const u = *some.problem.u.view.at(b, i, j), vt = *some.problem.vt.view.at(b, i, j);
        if (is_bad) {
          ASSERT_TRUE(std::isnan(std::real(u)) && std::isnan(std::real(vt)));
        } else {
          ASSERT_EQ(std::memcmp(&u, good.problem.u.view.at(b, i, j), sizeof(T)), 0);
          ASSERT_EQ(std::memcmp(&vt, good.problem.vt.view.at(b, i, j), sizeof(T)), 0);
        }
      }
    }
  }
}
/// An orthogonal matrix: the product of two reflections.
template <int n>
std::vector<long double> orthogonal(unsigned seed) {
  Random<double> random(seed);
  std::vector<long double> q(n * n);
  for (int i = 0; i < n; ++i) q[static_cast<std::size_t>(i * n + i)] = 1;
  for (int turn = 0; turn < 3; ++turn) {
    std::vector<long double> v(n);
    long double square = 0;
    for (auto& x : v) x = random(), square += x * x;
    for (int j = 0; j < n; ++j) {
      long double dot = 0;
      for (int i = 0; i < n; ++i) dot += v[static_cast<std::size_t>(i)] * q[static_cast<std::size_t>(j * n + i)];
      for (int i = 0; i < n; ++i) q[static_cast<std::size_t>(j * n + i)] -= 2 * dot / square * v[static_cast<std::size_t>(i)];
    }
  }
  return q;
}

/// Known spectra, and matrices that are hard: by number.
template <typename Solver, int n>
void check_spectra() {
  auto const left = orthogonal<n>(1), right = orthogonal<n>(2);
  auto const value = [](std::int64_t b, int l) -> long double {
    switch (b) {
      case 0:  // geometric
        return std::pow(10.0L, -10.0L * l / std::max(n - 1, 1));
      case 1:  // two clusters
        return (l < n / 2 ? 1.0L : 1e-5L) * (1 + 1e-9L * l);
      case 2:
        return l % 3 == 0 ? 2.0L : 1.0L;
      case 3:  // to beyond the precision
        return std::pow(10.0L, -20.0L * l / std::max(n - 1, 1));
      case 4:  // one that is small
        return l == n - 1 ? 1e-14L : 1.0L;
      default:  // nearly equal
        return 1 + 1e-12L * l * l;
    }
  };
  std::int64_t const count = 10;
  Square<Solver, double, n> const square(count, [&](std::int64_t b, std::int64_t i, std::int64_t j) {
    if (b == 6)
      return i == j ? std::pow(0.9, static_cast<double>(i)) : i < j ? -0.436 * std::pow(0.9, static_cast<double>(i)) : 0.0;  // Kahan
    if (b == 7) return i > j ? 0.0 : 1.0;
    if (b == 8) return i == j ? 1.0 : i + 1 == j ? 1e8 : 0.0;
    if (b == 9) return 1 / (1.0 + static_cast<double>(i + j));  // Hilbert
    long double sum = 0;
    for (int l = 0; l < n; ++l) sum += left[static_cast<std::size_t>(l * n + i)] * value(b, l) * right[static_cast<std::size_t>(l * n + j)];
    return static_cast<double>(sum);
  });
  for (std::int64_t b = 0; b < count; ++b) {
    SCOPED_TRACE(testing::Message() << "n = " << n);
    square.problem.check(b);
    std::vector<long double> expected;
    for (int l = 0; l < n; ++l) expected.push_back(value(b, l));
    std::sort(expected.rbegin(), expected.rend());
    for (int l = 0; l < n && b < 6; ++l)
      ASSERT_NEAR(square.problem.value(b, l), static_cast<double>(expected[static_cast<std::size_t>(l)]), 8 * n * 0x1p-53 * 2);
  }
}
/// Rows and columns of different size: D A and A D have small relative errors, whatever the condition of D. The reference is one-sided
/// Jacobi in more precision.
template <int n>
std::vector<long double> reference(std::vector<long double> a) {
  for (int sweep = 0; sweep < 60; ++sweep) {
    bool rotated = false;
    for (int x = 0; x < n; ++x)
      for (int y = x + 1; y < n; ++y) {
        long double* const p = &a[static_cast<std::size_t>(x * n)];
        long double* const q = &a[static_cast<std::size_t>(y * n)];
        long double alpha = 0, beta = 0, dot = 0;
        for (int i = 0; i < n; ++i) alpha += p[i] * p[i], beta += q[i] * q[i], dot += p[i] * q[i];
        if (std::abs(dot) <= 1e-18L * std::sqrt(alpha) * std::sqrt(beta)) continue;
        rotated = true;
        long double const zeta = (beta - alpha) / (2 * dot), t = (zeta < 0 ? -1 : 1) / (std::abs(zeta) + std::sqrt(1 + zeta * zeta));
        long double const c = 1 / std::sqrt(1 + t * t);
        for (int i = 0; i < n; ++i) {
          long double const former = p[i];
          p[i] = c * (former - t * q[i]);
          q[i] = c * (q[i] + t * former);
        }
      }
    if (!rotated) break;
  }
  std::vector<long double> s;
  for (int x = 0; x < n; ++x) {
    long double square = 0;
    for (int i = 0; i < n; ++i) square += a[static_cast<std::size_t>(x * n + i)] * a[static_cast<std::size_t>(x * n + i)];
    s.push_back(std::sqrt(square));
  }
  std::sort(s.rbegin(), s.rend());
  return s;
}
template <typename Solver, int n>
void check_graded() {
  Random<double> random(n);
  std::vector<double> numbers;
  for (int e = 0; e < n * n; ++e) numbers.push_back(random());
  auto const element = [&](std::int64_t b, std::int64_t i, std::int64_t j) {
    auto const scale = [&](std::int64_t place, double decades) {
      std::int64_t const of = b % 3 == 0 ? place : b % 3 == 1 ? n - 1 - place : place * 5 % n;
      return std::pow(10.0, -decades * static_cast<double>(of) / (n - 1));
    };
    double const x = numbers[static_cast<std::size_t>(j * n + i)] + (i == j ? 3 : 0);
    return x * (b / 3 == 0 ? scale(i, 14) : b / 3 == 1 ? scale(j, 14) : b / 3 == 2 ? scale(i, 7) * scale(j, 7) : scale(i, 190));
  };
  Square<Solver, double, n> const square(12, element);
  for (std::int64_t b = 0; b < 12; ++b) {
    square.problem.check(b);
    std::vector<long double> a;
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i) a.push_back(element(b, i, j));
    auto const expected = reference<n>(a);
    for (int l = 0; l < n; ++l) {
      long double const of = expected[static_cast<std::size_t>(l)];
      ASSERT_LE(std::abs(square.problem.value(b, l) - of), 100 * n * 0x1p-53L * of) << "matrix " << b << ", value " << l;
    }
  }
}
}  // namespace myriad::svd_test
