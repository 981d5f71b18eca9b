/// gesvd of tall and wide matrices by QR of their parts, on the host twin.

#include "svd/svd_tall.cuh"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <vector>

#include "qr/block/qr_registers.cuh"
#include "simt_host/machine.hpp"
#include "svd/svd_tall.hpp"
#include "svd/svd_tiny.cuh"
#include "svd_problem.hpp"

namespace myriad {
namespace {

using namespace svd_test;

constexpr std::int64_t shared_bytes = 227 << 10;

/// Adds the kernels of QR and of the vectors of all levels of matrices of so many rows.
template <typename T, int rows, int n>
void add_levels(HostMachine& machine) {
  using D = gpu::DeviceElement<T>;
  constexpr std::int64_t most = svd_tall_rows(sizeof(T)), parts = (rows + most - 1) / most,
                         of_part = SvdTallLevel{rows, parts}.rows_of_part();
  static constexpr QrRegisters qr = svd_tall_qr(sizeof(T), of_part, n, shared_bytes);
  static constexpr SvdTallKernel vectors = svd_tall_plan(of_part, n);
  machine.add(gpu::source_of(qr_registers_kernel, dtype_of<T>, qr), qr_registers<D, qr>);
  machine.add(gpu::source_of(svd_tall_vectors_kernel, dtype_of<T>, vectors), svd_tall_vectors<D, vectors>);
  if constexpr (parts > 1) add_levels<T, parts * n, n>(machine);
}

/// Matrices with `rows` rows and n columns, or the other way round.
template <typename T, int rows, int n>
struct Tall {
  template <SvdJob job>
  static HostMachine machine() {
    using D = gpu::DeviceElement<T>;
    using R = Real<T>;
    HostMachine machine;
    static constexpr SvdTiny tiny = svd_tiny_plan(job, dtype_of<T>, n, n);
    machine.add(gpu::source_of(svd_tiny_kernel, dtype_of<T>, tiny), svd_tiny<D, tiny>);
    machine.add(gpu::source_of(svd_tall_parts_kernel, dtype_of<T>), svd_tall_parts<D>);
    machine.add(gpu::source_of(svd_tall_stack_kernel, dtype_of<T>), svd_tall_stack<D>);
    machine.add(gpu::source_of(svd_tall_values_kernel, dtype_of<R>), svd_tall_values<R>);
    add_levels<T, rows, n>(machine);
    return machine;
  }
  /// A is as before afterwards.
  template <SvdJob job = SvdJob::thin>
  static void run(Problem<T>& problem, bool conjugated = false, std::int64_t workspace = std::int64_t{1} << 30) {
    HostMachine machine = Tall::machine<job>();
    GesvdTask<T> const task = problem.task(conjugated);
    ASSERT_TRUE(svd_is_tall(task, machine.device()));
    auto const before = problem.a.memory;
    svd_of_tall<T>(machine, task, workspace);
    problem.a.memory = before;
  }
  /// Random and special matrices, in one of the layouts.
  template <SvdJob job = SvdJob::thin>
  static void check(bool wide, std::int64_t count, unsigned seed, std::int64_t workspace = std::int64_t{1} << 30) {
    Problem<T> problem(job, wide ? n : rows, wide ? rows : n, count, all_stored[seed % all_stored.size()]);
    Random<T> random(seed);
    problem.fill([&](std::int64_t b, std::int64_t i, std::int64_t j) { return element<T>(random, b, i, j); });
    run<job>(problem, is_complex<T> && seed % 2 == 1, workspace);
    for (std::int64_t b = 0; b < count; ++b) problem.check(b);
    bool const left = wants_u(job), right = wants_vt(job);
    EXPECT_EQ(problem.u.written(), left ? count * n * (wide ? n : rows) : 0);
    EXPECT_EQ(problem.vt.written(), right ? count * n * (wide ? rows : n) : 0);
  }
};

TEST(SvdTall, Double) {
  Tall<double, 300, 10>::check(false, 8, 0);
  Tall<double, 300, 10>::check<SvdJob::left>(true, 3, 1);
  Tall<double, 300, 10>::check<SvdJob::right>(true, 3, 2, 1);
  Tall<double, 300, 10>::check<SvdJob::values>(false, 8, 3, 1);
  if constexpr (!sanitized) {
    Tall<double, 60, 20>::check(false, 8, 4);
    Tall<double, 6700, 10>::check(false, 1, 6);  // 27 parts, whose R have two parts
  }
}
TEST(SvdTall, Single) {
  Tall<float, 33, 2>::check(false, 8, 5);
  if constexpr (!sanitized) Tall<float, 2100, 31>::check(true, 2, 6);
}
TEST(SvdTall, Complex) {
  Tall<std::complex<double>, 40, 5>::check(true, 8, 7);
  Tall<std::complex<double>, 40, 5>::check<SvdJob::left>(false, 3, 8);
  if constexpr (!sanitized) Tall<std::complex<float>, 257, 17>::check(false, 8, 9);
}

/// A power of two as factor gives the same U and V, and values times it.
template <typename T, int m, int n>
void check_powers(std::vector<int> const& exponents) {
  auto const count = static_cast<std::int64_t>(exponents.size());
  Random<T> random(1);
  std::vector<T> numbers;
  for (int e = 0; e < m * n; ++e) numbers.push_back(random());
  Problem<T> p(SvdJob::thin, m, n, count, Stored::columns);
  p.fill([&](std::int64_t b, std::int64_t i, std::int64_t j) {
    return std::ldexp(numbers[static_cast<std::size_t>(i * n + j)], exponents[static_cast<std::size_t>(b)]);
  });
  Tall<T, m, n>::run(p);
  for (std::int64_t b = 0; b < count; ++b) {
    SCOPED_TRACE(exponents[static_cast<std::size_t>(b)]);
    for (std::int64_t j = 0; j < n; ++j) {
      ASSERT_EQ(p.value(b, j), std::ldexp(p.value(0, j), exponents[static_cast<std::size_t>(b)]));
      for (std::int64_t i = 0; i < m; ++i) ASSERT_EQ(*p.u.view.at(b, i, j), *p.u.view.at(0, i, j));
      for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(*p.vt.view.at(b, j, i), *p.vt.view.at(0, j, i));
    }
  }
}
TEST(SvdTall, Scales) {
  check_powers<double, 300, 10>({0, 900, -900, 1015, -970, 3});
  check_powers<float, 33, 2>({0, 60, 100, 121, -60, -100, 1});
}

/// Parts of different size, the norm of a column beyond the range: its value is infinite, U and V are right.
TEST(SvdTall, EndsOfTheRange) {
  constexpr int m = 300, n = 10;
  Random<double> random(2);
  Problem<double> p(SvdJob::thin, m, n, 2, Stored::columns);
  p.fill([&](std::int64_t b, std::int64_t i, std::int64_t j) {
    double const x = random();
    if (b == 0) return i < m / 2 ? std::ldexp(x, 1000) : std::ldexp(x, -1000);
    return j == 0 ? 1.5e308 : x;
  });
  Tall<double, m, n>::run(p);
  p.check(0);
  EXPECT_EQ(p.info[1], 0);
  EXPECT_TRUE(std::isinf(p.value(1, 0)));
  for (std::int64_t i = 0; i < m; ++i) ASSERT_NEAR(std::abs(*p.u.view.at(1, i, 0)), 1 / std::sqrt(double(m)), 1e-14);
}

TEST(SvdTall, NotFinite) {
  constexpr int m = 300, n = 10;
  using R = double;
  std::int64_t const count = 6;
  Random<double> random(3);
  Problem<double> good(SvdJob::thin, m, n, count, Stored::rows), some(SvdJob::thin, m, n, count, Stored::rows);
  good.fill([&](std::int64_t, std::int64_t, std::int64_t) { return random(); });
  some.a.memory = good.a.memory;
  *some.a.view.at(1, 0, n - 1) = std::numeric_limits<R>::quiet_NaN();
  *some.a.view.at(2, m - 1, 0) = std::numeric_limits<R>::infinity();
  *some.a.view.at(4, 200, n - 1) = -std::numeric_limits<R>::infinity();
  *some.a.view.at(5, 0, 0) = std::numeric_limits<R>::infinity();
  Tall<double, m, n>::run(good);
  Tall<double, m, n>::run(some);
  for (std::int64_t b = 0; b < count; ++b) {
    SCOPED_TRACE(b);
    bool const finite = b == 0 || b == 3;
    EXPECT_EQ(some.info[static_cast<std::size_t>(b)], finite ? 0 : n);
    for (std::int64_t j = 0; j < n; ++j) {
      if (finite)
        ASSERT_EQ(some.value(b, j), good.value(b, j));
      else
        ASSERT_TRUE(std::isnan(some.value(b, j)));
      for (std::int64_t i = 0; i < m; ++i) {
        R const u = *some.u.view.at(b, i, j);
        ASSERT_TRUE(finite ? u == *good.u.view.at(b, i, j) : std::isnan(u)) << i << ", " << j;
      }
      for (std::int64_t i = 0; i < n; ++i) {
        R const v = *some.vt.view.at(b, j, i);
        ASSERT_TRUE(finite ? v == *good.vt.view.at(b, j, i) : std::isnan(v)) << i << ", " << j;
      }
    }
  }
}

/// Columns of different size: small values have small relative errors. The reference is one-sided Jacobi in more precision.
TEST(SvdTall, GradedColumns) {
  constexpr int m = 300, n = 10;
  Random<double> random(4);
  Problem<double> p(SvdJob::thin, m, n, 3, Stored::columns);
  p.fill([&](std::int64_t b, std::int64_t, std::int64_t j) {
    std::int64_t const place = b == 0 ? j : b == 1 ? n - 1 - j : (7 * j + 3) % n;
    return random() * std::pow(10.0, -13.0 * static_cast<double>(place));
  });
  Tall<double, m, n>::run(p);
  for (std::int64_t b = 0; b < 3; ++b) {
    std::vector<std::vector<long double>> a(n, std::vector<long double>(m));
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < m; ++i) a[static_cast<std::size_t>(j)][static_cast<std::size_t>(i)] = *p.a.view.at(b, i, j);
    auto const dot = [&](std::size_t x, std::size_t y) {
      long double sum = 0;
      for (std::size_t i = 0; i < m; ++i) sum += a[x][i] * a[y][i];
      return sum;
    };
    for (int sweep = 0; sweep < 12; ++sweep)
      for (std::size_t x = 0; x < n; ++x)
        for (std::size_t y = x + 1; y < n; ++y) {
          long double const product = dot(x, y);
          if (product == 0) continue;
          long double const cotangent = (dot(y, y) - dot(x, x)) / (2 * product);
          long double const t = (cotangent < 0 ? -1 : 1) / (std::abs(cotangent) + std::hypot(1.0L, cotangent));
          long double const c = 1 / std::hypot(1.0L, t);
          for (std::size_t i = 0; i < m; ++i) {
            long double const of_x = a[x][i], of_y = a[y][i];
            a[x][i] = c * (of_x - t * of_y);
            a[y][i] = c * (of_y + t * of_x);
          }
        }
    std::vector<long double> expected;
    for (std::size_t j = 0; j < n; ++j) expected.push_back(std::sqrt(dot(j, j)));
    std::sort(expected.rbegin(), expected.rend());
    for (std::int64_t j = 0; j < n; ++j)
      ASSERT_NEAR(p.value(b, j) / static_cast<double>(expected[static_cast<std::size_t>(j)]), 1, 1e-12) << b << ", " << j;
  }
}

}  // namespace
}  // namespace myriad
