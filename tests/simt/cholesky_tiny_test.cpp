/// Kernels of cholesky/cholesky_tiny.cuh on the host twin: results against the definition, info against the CPU's; nothing else is touched.

#include "cholesky/cholesky_tiny.cuh"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "cholesky/cholesky_tiny_plan.hpp"
#include "myriad/myriad.hpp"
#include "runtime/views.hpp"
#include "sizes.hpp"
#include "stored.hpp"

namespace myriad {
namespace {

constexpr std::array jobs{CholeskyJob::factor, CholeskyJob::solve_by_factor, CholeskyJob::solve, CholeskyJob::solve_and_factor,
                          CholeskyJob::inverse};

/// The planned kernel for given layouts of A, B and, where it is a separate result, X.
template <typename T>
constexpr CholeskyTiny kernel(CholeskyJob job, int n, Layout a, Layout b, Layout x) {
  bool const solves = job != CholeskyJob::factor && job != CholeskyJob::inverse;
  CholeskyTiny c = cholesky_tiny_plan(job, dtype_of<T>, n, solves ? 1 + n % 3 : 0);
  c.a = a;
  c.b = b;
  c.x = job == CholeskyJob::solve ? x : b;
  return c;
}

template <typename T>
bool same_bits(T const& x, T const& y) {
  return std::memcmp(&x, &y, sizeof(T)) == 0;
}

template <typename T>
double size(T x) {
  return static_cast<double>(std::abs(x));
}

/// Element (i, j) of the Hermitian matrix with lower triangle `at`.
template <typename T>
T hermitian(auto const& at, int i, int j) {
  if constexpr (is_complex<T>)
    return i == j ? T(at(i, i).real()) : i > j ? at(i, j) : std::conj(at(j, i));
  else
    return i >= j ? at(i, j) : at(j, i);
}
template <typename T>
T adjoint_element(T x) {
  if constexpr (is_complex<T>)
    return std::conj(x);
  else
    return x;
}

template <typename T>
using CholeskyKernel = void (*)(CholeskyTinyArguments<gpu::DeviceElement<T>>);

/// One function per type for all its kernels: a template of the sizes would add much to their compile time.
template <typename T>
void check(CholeskyTiny const& c, CholeskyKernel<T> kernel, bool ragged, unsigned seed) {
  int const n = c.n;
  std::int64_t const count = 2 * c.matrices + 1;
  bool const from_factor = c.job == CholeskyJob::solve_by_factor || c.job == CholeskyJob::inverse;
  std::mt19937 random(seed);
  std::normal_distribution<Real<T>> normal;
  auto const number = [&] {
    if constexpr (is_complex<T>)
      return T(normal(random), normal(random));
    else
      return normal(random);
  };
  bool const apart = c.job == CholeskyJob::solve;  // X is not B
  Stored<T> a(n, n, count, c.a), b(n, std::max(c.nrhs, 1), count, c.b), x(n, std::max(c.nrhs, 1), count, c.x);
  std::generate(b.memory.begin(), b.memory.end(), number);
  std::fill(a.memory.begin(), a.memory.end(), T(std::numeric_limits<Real<T>>::quiet_NaN()));
  std::vector<std::int64_t> sizes;
  if (ragged) {
    for (std::int64_t q = 0; q < count; ++q) sizes.push_back(q < 3 ? n : q % (n + 1));
    a.view.row_sizes = a.view.col_sizes = b.view.row_sizes = x.view.row_sizes = sizes.data();
  }
  for (std::int64_t q = 0; q < count; ++q)
    for (int j = 0; j < a.view.cols_of(q); ++j) {
      for (int i = j; i < a.view.rows_of(q); ++i) *a.view.at(q, i, j) = i == j ? T(Real<T>(2 * n)) : number();
      if constexpr (is_complex<T>) *a.view.at(q, j, j) += T(0, 7);
    }
  Queue cpu({.backend = Backend::cpu, .threads = 1});
  if (from_factor) {
    potrf<T>(cpu, Uplo::lower, a.view, nullptr);
    if (c.job == CholeskyJob::inverse) *a.view.at(1, n / 2, n / 2) = T(0);
  } else {
    *a.view.at(1, n - 1, n - 1) = T(-1);
    *a.view.at(2, n / 2, n / 2) = T(std::numeric_limits<Real<T>>::quiet_NaN());
  }
  if constexpr (is_complex<T>) b.view.conjugated = seed % 2 == 1;
  if constexpr (is_complex<T>) x.view.conjugated = seed % 3 == 1;

  Stored<T> const a_before = a, b_before = b;
  auto const before = [](Stored<T> const& was, Stored<T> const& is, T const* p) {
    return was.memory[static_cast<std::size_t>(p - is.memory.data())];
  };
  std::vector<int> info(static_cast<std::size_t>(count), -7), expected_info(static_cast<std::size_t>(count));
  if (!from_factor) {
    auto copied = a.memory;
    auto view = a.view;
    view.data = copied.data() + (a.view.data - a.memory.data());
    potrf<T>(cpu, Uplo::lower, view, expected_info.data());
  } else if (c.job == CholeskyJob::inverse) {
    expected_info[1] = n / 2 + 1;
  }
  CholeskyTinyArguments<gpu::DeviceElement<T>> const args{.a = gpu::matrices_of(Batch<T const>(a.view)),
                                                          .result = gpu::matrices_of(a.view),
                                                          .b = gpu::matrices_of(Batch<T const>(b.view)),
                                                          .x = gpu::matrices_of(apart ? x.view : b.view),
                                                          .info = info.data(),
                                                          .nan_where_not_definite = apart};
  simt::run(2, c.threads(), CholeskyTinyMemory(sizeof(T), c).bytes, kernel, args);

  // Everything but the lower triangles keeps its bits.
  std::vector<bool> lower(a.memory.size());
  if (c.writes_factor() || c.job == CholeskyJob::inverse)
    for (std::int64_t q = 0; q < count; ++q)
      for (int j = 0; j < a.view.cols_of(q); ++j)
        for (int i = j; i < a.view.rows_of(q); ++i) lower[static_cast<std::size_t>(a.view.at(q, i, j) - a.memory.data())] = true;
  for (std::size_t e = 0; e < a.memory.size(); ++e)
    if (!lower[e]) {
      ASSERT_TRUE(same_bits(a.memory[e], a_before.memory[e])) << "element " << e << " of memory was written";
    }

  if (apart) {
    ASSERT_EQ(std::memcmp(b.memory.data(), b_before.memory.data(), b.memory.size() * sizeof(T)), 0) << "B was written";
  }

  double const u = sizeof(Real<T>) == 4 ? 0x1p-24 : 0x1p-53;
  for (std::int64_t q = 0; q < count; ++q) {
    SCOPED_TRACE(testing::Message() << "matrix " << q << ", n = " << n << ", job " << static_cast<int>(c.job) << ", lanes " << c.lanes
                                    << ", layouts " << static_cast<int>(c.a) << " " << static_cast<int>(c.b));
    int const rows = static_cast<int>(a.view.rows_of(q));
    ASSERT_EQ(info[static_cast<std::size_t>(q)], expected_info[static_cast<std::size_t>(q)]);
    bool const bad = info[static_cast<std::size_t>(q)] != 0;
    auto const& solution = apart ? x.view : b.view;
    auto const now = [&](int i, int j) { return *a.view.at(q, i, j); };
    auto const was = [&](int i, int j) { return before(a_before, a, a.view.at(q, i, j)); };
    auto const product = [&](auto const& l, int i, int j) {  // element (i, j) of L L^H
      T sum(0);
      for (int k = 0; k <= std::min(i, j); ++k)
        sum += (k == i ? T(std::real(l(i, i))) : l(i, k)) * adjoint_element(k == j ? T(std::real(l(j, j))) : l(j, k));
      return sum;
    };
    auto const matrix = [&](int i, int j) { return from_factor ? product(was, i, j) : hermitian<T>(was, i, j); };
    if (bad) {
      for (int j = 0; j < b.view.cols_of(q); ++j)
        for (int i = 0; i < rows; ++i) {
          if (apart)
            ASSERT_TRUE(std::isnan(std::real(*x.view.at(q, i, j))));
          else
            ASSERT_TRUE(same_bits(*b.view.at(q, i, j), before(b_before, b, b.view.at(q, i, j))));
        }
      for (int j = 0; c.job == CholeskyJob::inverse && j < rows; ++j)
        for (int i = j; i < rows; ++i) ASSERT_TRUE(same_bits(now(i, j), was(i, j)));
      continue;
    }
    for (int j = 0; c.writes_factor() && j < rows; ++j) {
      ASSERT_GT(std::real(now(j, j)), 0);
      ASSERT_EQ(std::imag(now(j, j)), 0);
      for (int i = j; i < rows; ++i) ASSERT_LE(size(product(now, i, j) - matrix(i, j)), 10 * n * u * 2 * n) << i << "," << j;
    }
    auto const conjugated = [](Batch<T> const& of, T value) { return of.conjugated ? adjoint_element(value) : value; };
    for (int j = 0; c.solves() && j < b.view.cols_of(q); ++j)
      for (int i = 0; i < rows; ++i) {
        T sum = conjugated(b.view, before(b_before, b, b.view.at(q, i, j)));
        double scale = size(sum);
        for (int k = 0; k < rows; ++k) {
          sum -= matrix(i, k) * conjugated(solution, *solution.at(q, k, j));
          scale += size(matrix(i, k)) * size(*solution.at(q, k, j));
        }
        ASSERT_LE(size(sum), 30 * n * u * scale) << i << "," << j;
      }
    for (int j = 0; c.job == CholeskyJob::inverse && j < rows; ++j)
      for (int i = 0; i < rows; ++i) {
        T sum(i == j ? 1 : 0);
        double scale = 1;
        for (int k = 0; k < rows; ++k) {
          sum -= matrix(i, k) * hermitian<T>(now, k, j);
          scale += size(matrix(i, k)) * size(hermitian<T>(now, k, j));
        }
        ASSERT_LE(size(sum), 30 * n * u * scale) << i << "," << j;
        ASSERT_EQ(std::imag(now(j, j)), 0);
      }
  }
}

template <typename T, CholeskyTiny c, bool ragged>
void check(unsigned seed) {
  check<T>(c, cholesky_tiny<gpu::DeviceElement<T>, c>, ragged, seed);
}

template <typename T, int n, int variant>
void check_variant() {
  constexpr Layout layout = layouts[variant % 5];
  constexpr bool different = layout == Layout::columns && n % 2 == 0;  // sizes differ in the batch
  constexpr auto moved = [](Layout of) { return different ? ragged_layout(of) : of; };
  constexpr CholeskyTiny c =
      kernel<T>(jobs[variant / 5 % 5], n, moved(layout), moved(layouts[variant / 3 % 5]), moved(layouts[variant / 2 % 5]));
  check<T, c, different>(variant);
}

/// Sizes on both sides of every change of the plan; jobs and layouts take turns.
template <typename T, int first, int... sizes>
void check_sizes(std::integer_sequence<int, sizes...>) {
  (check_variant<T, sizes, (sizes * 7 + first) % 25>(), ...);
}

TEST(CholeskyTiny, Single) { check_sizes<float, 0>(kernel_sizes<1, 4, 5, 9, 12, 13, 17, 25, 32>()); }
TEST(CholeskyTiny, Double) { check_sizes<double, 5>(kernel_sizes<2, 3, 8, 9, 13, 16, 17, 24, 31, 32>()); }
TEST(CholeskyTiny, ComplexSingle) { check_sizes<std::complex<float>, 11>(kernel_sizes<1, 4, 6, 10, 16, 21, 32>()); }
TEST(CholeskyTiny, ComplexDouble) { check_sizes<std::complex<double>, 16>(kernel_sizes<2, 3, 5, 7, 12, 18, 25>()); }
TEST(CholeskyTiny, EveryJobAndLayout) {
  [&]<int... variants>(std::integer_sequence<int, variants...>) { (check_variant<double, 6, variants>(), ...); }
  (std::make_integer_sequence<int, 25>{});
}
TEST(CholeskyTiny, EveryJobAcrossLanes) {
  [&]<int... jobs>(std::integer_sequence<int, jobs...>) { (check_variant<std::complex<float>, 11, 6 * jobs>(), ...); }
  (std::make_integer_sequence<int, 5>{});
}

/// Both ways to load and store packed matrices, at sizes whose columns are and are not whole 16-byte chunks.
template <typename T, int n, CholeskyLoad load, CholeskyStore store>
void check_way() {
  constexpr CholeskyTiny c = [] {
    CholeskyTiny plan =
        kernel<T>(CholeskyJob::factor, n, n % 2 ? Layout::packed_rows : Layout::packed_columns, Layout::columns, Layout::columns);
    plan.load = load;
    plan.store = store;
    return plan;
  }();
  check<T, c, false>(n);
}
TEST(CholeskyTiny, EveryWayThroughMemory) {
  [&]<int... sizes>(std::integer_sequence<int, sizes...>) {
    (check_way<float, sizes, CholeskyLoad::lower, CholeskyStore::from_tile>(), ...);
    (check_way<double, sizes, CholeskyLoad::whole, CholeskyStore::from_tile>(), ...);
  }
  (std::integer_sequence<int, 3, 6, 15, 20>{});
  check_way<double, 14, CholeskyLoad::lower, CholeskyStore::by_rows>();
  check_way<double, 18, CholeskyLoad::lower, CholeskyStore::from_tile>();
}

/// Solutions with any number of lanes, from the tile and from memory, with rolled and unrolled steps, with a short or full last block of
/// steps.
template <typename T, int n, int lanes, CholeskyLoad load>
void check_lanes() {
  constexpr Layout layout = load != CholeskyLoad::to_registers ? Layout::packed_rows
                            : n % 3 == 0                       ? Layout::packed_columns
                            : n % 3 == 1                       ? Layout::ragged_columns
                                                               : Layout::packed_rows;
  constexpr bool different = layout == Layout::ragged_columns;
  constexpr CholeskyTiny c = [] {
    CholeskyTiny plan =
        kernel<T>(CholeskyJob::solve, n, layout, different ? layout : Layout::columns, different ? layout : Layout::packed_columns);
    plan.lanes = lanes;
    plan.matrices = 32 / lanes;
    plan.load = load;
    return plan;
  }();
  check<T, c, different>(n);
}
TEST(CholeskyTiny, SolutionsWithAnyNumberOfLanes) {
  [&]<int... sizes>(std::integer_sequence<int, sizes...>) {
    (check_lanes<double, sizes, 1, CholeskyLoad::whole>(), ...);
    (check_lanes<double, sizes, 2, CholeskyLoad::to_registers>(), ...);
    (check_lanes<float, sizes, 4, CholeskyLoad::to_registers>(), ...);
    (check_lanes<double, sizes, 8, CholeskyLoad::lower>(), ...);
  }
  (std::integer_sequence<int, 7, 15, 16, 18, 22>{});
  check_lanes<double, 30, 8, CholeskyLoad::to_registers>();
  check_lanes<std::complex<double>, 21, 16, CholeskyLoad::to_registers>();
}

/// Matrices near both ends of the range: factors are those of the matrix of size one, scaled.
template <typename T, int lanes>
void check_range() {
  constexpr int n = 5;
  constexpr CholeskyTiny c = [] {
    CholeskyTiny plan = kernel<T>(CholeskyJob::factor, n, Layout::packed_columns, Layout::columns, Layout::columns);
    plan.lanes = lanes;
    plan.matrices = 32 / lanes;
    return plan;
  }();
  using Limits = std::numeric_limits<T>;
  // Even exponents of two; the fourth makes the pivots subnormal.
  int const exponents[] = {0, Limits::max_exponent - 6, (Limits::min_exponent + 6) / 2 * 2, (Limits::min_exponent - 6) / 2 * 2,
                           200 / static_cast<int>(8 / sizeof(T))};
  std::vector<T> memory(n * n * 5 + 8);
  auto a = batch(memory.data(), n, n, {.count = 5});
  for (int q = 0; q < 5; ++q)
    for (int j = 0; j < n; ++j)
      for (int i = j; i < n; ++i) *a.at(q, i, j) = std::ldexp(T(i == j ? 16 : i - 2 * j), exponents[q]);
  int info[5];
  CholeskyTinyArguments<T> const args{.a = gpu::matrices_of(Batch<T const>(a)),
                                      .result = gpu::matrices_of(a),
                                      .b = {},
                                      .x = {},
                                      .info = info,
                                      .nan_where_not_definite = false};
  simt::run(1, c.threads(), CholeskyTinyMemory(sizeof(T), c).bytes, cholesky_tiny<T, c>, args);
  for (int q = 0; q < 5; ++q) {
    EXPECT_EQ(info[q], 0);
    double const tolerance = q == 3 ? 0.05 : sizeof(T) == 4 ? 1e-6 : 1e-15;  // subnormal numbers have few bits
    for (int j = 0; j < n; ++j)
      for (int i = j; i < n; ++i)
        EXPECT_NEAR(std::ldexp(*a.at(q, i, j), -exponents[q] / 2), *a.at(0, i, j), 8 * tolerance) << q << ": " << i << "," << j;
  }
}
TEST(CholeskyTiny, SmallAndLargeNumbers) {
  check_range<double, 1>();
  check_range<double, 4>();
  check_range<float, 1>();
  check_range<float, 4>();
}

/// Solutions, too; an infinite pivot is taken as one.
template <typename T, int lanes>
void check_range_of_solutions() {
  constexpr int n = 5;
  constexpr CholeskyTiny c = [] {
    CholeskyTiny plan = cholesky_tiny_plan(CholeskyJob::solve, dtype_of<T>, n, 1);
    plan.lanes = lanes;
    plan.matrices = 32 / lanes;
    return plan;
  }();
  using Limits = std::numeric_limits<T>;
  int const exponents[] = {0, Limits::max_exponent - 6, Limits::min_exponent + 6, Limits::min_exponent - 6};
  std::vector<T> memory(n * n * 5 + 8), right(n * 5 + 8, T(1)), left(n * 5 + 8);
  auto const a = batch(memory.data(), n, n, {.count = 5});
  auto const b = vectors(right.data(), n, 5), x = vectors(left.data(), n, 5);
  for (int q = 0; q < 5; ++q)
    for (int j = 0; j < n; ++j) {
      for (int i = j; i < n; ++i) *a.at(q, i, j) = std::ldexp(T(i == j ? 16 : i - 2 * j), q < 4 ? exponents[q] : 0);
      *b.at(q, j, 0) = std::ldexp(T(j + 1), q < 4 ? exponents[q] : 0);
    }
  *a.at(4, 2, 2) = Limits::infinity();
  int info[5];
  CholeskyTinyArguments<T> const args{.a = gpu::matrices_of(Batch<T const>(a)),
                                      .result = {},
                                      .b = gpu::matrices_of(Batch<T const>(b)),
                                      .x = gpu::matrices_of(x),
                                      .info = info,
                                      .nan_where_not_definite = true};
  simt::run(1, c.threads(), CholeskyTinyMemory(sizeof(T), c).bytes, cholesky_tiny<T, c>, args);
  for (int q = 0; q < 4; ++q) {
    EXPECT_EQ(info[q], 0);
    double const tolerance = q == 3 ? 0.05 : sizeof(T) == 4 ? 1e-6 : 1e-15;
    for (int i = 0; i < n; ++i) EXPECT_NEAR(*x.at(q, i, 0), *x.at(0, i, 0), tolerance) << q << ": " << i;
  }
  EXPECT_EQ(info[4], 0);
  EXPECT_EQ(*x.at(4, 2, 0), 0);
}
TEST(CholeskyTiny, SolutionsOfSmallAndLargeNumbers) {
  check_range_of_solutions<double, 1>();
  check_range_of_solutions<double, 4>();
  check_range_of_solutions<float, 1>();
  check_range_of_solutions<float, 4>();
}

/// The kernel divides by a zero on the factor's diagonal.
TEST(CholeskyTiny, AZeroInTheFactorLeavesATrace) {
  constexpr CholeskyTiny c =
      kernel<double>(CholeskyJob::solve_by_factor, 2, Layout::packed_columns, Layout::packed_columns, Layout::packed_columns);
  alignas(16) double a[8] = {1, 1, 0, 0, 1, 1, 0, 1};
  alignas(16) double b[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  static_assert(c.nrhs <= 4);
  auto const x = batch(b, 2, c.nrhs, {.count = 1});
  CholeskyTinyArguments<double> const args{.a = gpu::matrices_of(Batch<double const>(batch(a, 2, 2, {.count = 1}))),
                                           .result = {},
                                           .b = gpu::matrices_of(Batch<double const>(x)),
                                           .x = gpu::matrices_of(x),
                                           .info = nullptr,
                                           .nan_where_not_definite = false};
  simt::run(1, c.threads(), CholeskyTinyMemory(sizeof(double), c).bytes, cholesky_tiny<double, c>, args);
  EXPECT_FALSE(std::isfinite(b[1]));
}

}  // namespace
}  // namespace myriad
