/// QR with column pivoting, and least squares of any rank, on the host twin: against definitions, and against LAPACK.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <vector>

#include "blocked/copy_matrices.cuh"
#include "qr/pivoted/gelsy.cuh"
#include "qr/pivoted/gelsy_large.hpp"
#include "qr/pivoted/geqp3.cuh"
#include "simt_host/host.hpp"
#include "simt_host/machine.hpp"
#include "sizes.hpp"
#include "stored.hpp"

namespace myriad {
namespace {

template <typename T>
constexpr Real<T> epsilon = std::numeric_limits<Real<T>>::epsilon();

template <typename T>
std::complex<double> wide(Batch<T const> const& x, std::int64_t b, std::int64_t i, std::int64_t j) {
  std::complex<double> const value(*x.at(b, i, j));
  return x.conjugated ? std::conj(value) : value;
}

/// Blocks with so many bytes of shared memory.
template <typename T>
HostMachine machine_of(std::int64_t shared_bytes) {
  using D = gpu::DeviceElement<T>;
  constexpr Geqp3 in_shared_memory = geqp3_plan(Geqp3In::shared_memory), in_global_memory = geqp3_plan(Geqp3In::global_memory);
  HostMachine machine;
  machine.device().shared_memory_per_block = static_cast<int>(shared_bytes);
  machine.add(gpu::source_of(geqp3_kernel, dtype_of<T>, in_shared_memory), geqp3<D, in_shared_memory>);
  machine.add(gpu::source_of(geqp3_kernel, dtype_of<T>, in_global_memory), geqp3<D, in_global_memory>);
  machine.add(gpu::source_of(copy_matrices_kernel, dtype_of<T>), copy_matrices<D>);
  return machine;
}
constexpr std::int64_t all_of_it = 227 << 10;

template <typename T>
struct Problem {
  Stored<T> a, tau;
  Stored<int> jpvt;
  std::vector<std::int64_t> rows, cols;
  std::vector<T> before;
  std::vector<int> given;

  Problem(int m, int n, std::int64_t count, Layout layout, bool ragged = false, bool conjugated = false)
      : a(m, n, count, layout), tau(std::min(m, n), 1, count, Layout::columns), jpvt(n, 1, count, Layout::columns) {
    if (conjugated) a.view = myriad::conjugated(a.view), tau.view = myriad::conjugated(tau.view);
    for (std::int64_t b = 0; b < count; ++b) {
      rows.push_back(b == 1 ? m : b == 2 ? 0 : (b * 37 + 21) % (m + 1));
      cols.push_back(b == 1 ? n : b == 3 ? 0 : (b * 23 + 15) % (n + 1));
    }
    if (ragged) a.view.row_sizes = rows.data(), a.view.col_sizes = cols.data();
    // The same matrices in every layout
    std::vector<T> elements(static_cast<std::size_t>(m * n * count + 1));
    fill(elements, 7);
    fill(a.memory, 1), fill(tau.memory, 2);
    for_elements([&](auto b, auto i, auto j) {
      T const x = elements[static_cast<std::size_t>((b * n + j) * m + i)];
      if constexpr (is_complex<T>)
        *a.view.at(b, i, j) = conjugated ? std::conj(x) : x;
      else
        *a.view.at(b, i, j) = x;
    });
    keep();
  }
  Problem(Problem const&) = delete;
  void keep() { before = a.memory, given = jpvt.memory; }
  template <typename Use>
  void for_elements(Use use) const {
    for (std::int64_t b = 0; b < a.view.count; ++b)
      for (std::int64_t j = 0; j < a.view.cols_of(b); ++j)
        for (std::int64_t i = 0; i < a.view.rows_of(b); ++i) use(b, i, j);
  }
  template <typename Change>
  void change(std::int64_t b, Change value) {
    for (std::int64_t j = 0; j < a.view.cols_of(b); ++j)
      for (std::int64_t i = 0; i < a.view.rows_of(b); ++i) *a.view.at(b, i, j) = T(value(i, j, *a.view.at(b, i, j)));
  }
  [[nodiscard]] Batch<T const> input() const {
    Batch<T const> in = a.view;
    in.data = before.data() + (a.view.data - a.memory.data());
    return in;
  }
  void run(std::int64_t shared_bytes = all_of_it) {
    HostMachine machine = machine_of<T>(shared_bytes);
    geqp3_large<T>(machine, Geqp3Task<T>{.a = a.view, .jpvt = jpvt.view, .tau = tau.view});
  }

  /// Checks A P = Q R, the order of R's diagonal, and that nothing but A changed.
  void check() const {
    std::vector<T> others = before;
    for_elements([&](auto b, auto i, auto j) {
      auto const place = static_cast<std::size_t>(a.view.at(b, i, j) - a.memory.data());
      others[place] = a.memory[place];
    });
    EXPECT_EQ(std::memcmp(others.data(), a.memory.data(), others.size() * sizeof(T)), 0) << "something else was written";
    for (std::int64_t b = 0; b < a.view.count; ++b) check_matrix(b);
  }
  void check_matrix(std::int64_t b) const {
    SCOPED_TRACE(testing::Message() << "matrix " << b << ", " << a.view.rows_of(b) << " by " << a.view.cols_of(b));
    std::int64_t const m = a.view.rows_of(b), n = a.view.cols_of(b), steps = std::min(m, n);
    std::vector<int> columns;
    int fixed = 0;
    for (int j = 0; j < n; ++j) columns.push_back(*jpvt.view.at(b, j, 0));
    auto const was_fixed = [&](int j) { return given[static_cast<std::size_t>(jpvt.view.at(b, j, 0) - jpvt.memory.data())] != 0; };
    for (int j = 0; j < n; ++j)
      if (was_fixed(j)) {
        EXPECT_EQ(columns[static_cast<std::size_t>(fixed++)], j + 1) << "fixed columns come first, in their order";
      }
    auto sorted = columns;
    std::sort(sorted.begin(), sorted.end());
    for (int j = 0; j < n; ++j) ASSERT_EQ(sorted[static_cast<std::size_t>(j)], j + 1) << "jpvt is no permutation";
    double largest = 0;
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < m; ++i) largest = std::max(largest, std::abs(wide<T>(input(), b, i, j)));
    if (largest == 0) largest = 1;
    // In units of the largest element, where squares neither overflow nor underflow
    std::vector<std::complex<double>> product(static_cast<std::size_t>(m));
    std::vector<double> below(static_cast<std::size_t>(n), 0.0);
    for (std::int64_t k = steps - 1; k >= 0; --k) {
      double const diagonal = std::abs(wide<T>(a.view, b, k, k)) / largest;
      EXPECT_EQ(std::imag(wide<T>(a.view, b, k, k)), 0.0);
      for (std::int64_t j = k; j < n; ++j) {
        below[static_cast<std::size_t>(j)] += std::norm(wide<T>(a.view, b, k, j) / largest);
        if (k < fixed) continue;
        EXPECT_LE(std::sqrt(below[static_cast<std::size_t>(j)]), diagonal * (1 + 1e-4) + 100 * epsilon<T>)
            << "column " << j << ", step " << k;
      }
    }
    double const tolerance = 80 * epsilon<T> * std::sqrt(static_cast<double>(std::max(m, n)));
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i < m; ++i) product[static_cast<std::size_t>(i)] = i <= j ? wide<T>(a.view, b, i, j) / largest : 0;
      for (std::int64_t k = steps - 1; k >= 0; --k) {
        std::complex<double> const t = wide<T>(tau.view, b, k, 0);
        double squares = 1;
        std::complex<double> sum = product[static_cast<std::size_t>(k)];
        for (std::int64_t i = k + 1; i < m; ++i) {
          squares += std::norm(wide<T>(a.view, b, i, k));
          sum += std::conj(wide<T>(a.view, b, i, k)) * product[static_cast<std::size_t>(i)];
        }
        ASSERT_LE(std::abs(std::norm(t) * squares - 2 * std::real(t)), 50 * epsilon<T>) << "reflector " << k;
        ASSERT_TRUE(t == 0.0 || std::real(t) >= 1 - 50 * epsilon<T>) << "tau " << k << " is " << t;
        product[static_cast<std::size_t>(k)] -= t * sum;
        for (std::int64_t i = k + 1; i < m; ++i) product[static_cast<std::size_t>(i)] -= wide<T>(a.view, b, i, k) * (t * sum);
      }
      for (std::int64_t i = 0; i < m; ++i)
        ASSERT_LE(
            std::abs(product[static_cast<std::size_t>(i)] - wide<T>(input(), b, i, columns[static_cast<std::size_t>(j)] - 1) / largest),
            tolerance)
            << "(" << i << ", " << j << ")";
    }
  }
  /// Compares matrix b with matrix `other_b` of another problem.
  void expect_same_bits(std::int64_t b, Problem const& other, std::int64_t other_b) const {
    for (std::int64_t j = 0; j < a.view.cols_of(b); ++j) {
      for (std::int64_t i = 0; i < a.view.rows_of(b); ++i) {
        ASSERT_EQ(wide<T>(a.view, b, i, j), wide<T>(other.a.view, other_b, i, j)) << "(" << i << ", " << j << ") of " << b;
      }
      ASSERT_EQ(*jpvt.view.at(b, j, 0), *other.jpvt.view.at(other_b, j, 0)) << j;
    }
    for (std::int64_t k = 0; k < std::min(a.view.rows_of(b), a.view.cols_of(b)); ++k)
      ASSERT_EQ(wide<T>(tau.view, b, k, 0), wide<T>(other.tau.view, other_b, k, 0)) << "tau " << k << " of " << b;
  }
};

template <typename T>
class QrPivoted : public testing::Test {};
using Types = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(QrPivoted, Types);

/// Every layout, in shared memory and in global memory, has the same bits; a ragged batch those of its matrices alone.
TYPED_TEST(QrPivoted, EveryLayout) {
  using T = TypeParam;
  for (auto const& [m, n] : {std::pair{33, 33}, {1, 9}, {9, 1}, {65, 30}, {20, 45}, {5, 5}, {300, 3}}) {
    if (sanitized && m * n > 1500) continue;
    SCOPED_TRACE(testing::Message() << m << " by " << n);
    Problem<T> plain(m, n, 2, Layout::packed_columns);
    plain.run();
    plain.check();
    int turn = 0;
    for (Layout const layout : layouts) {
      if (++turn % 2 == m % 2) continue;
      Problem<T> other(m, n, 2, layout, false, layout == Layout::dense_rows);
      other.run(layout == Layout::columns || layout == Layout::packed_rows ? 1000 : all_of_it);
      other.check();
      for (int b = 0; b < 2; ++b) other.expect_same_bits(b, plain, b);
    }
    for (Layout const layout : {Layout::packed_columns, Layout::packed_rows}) {
      Problem<T> ragged(m, n, 5, ragged_layout(layout), true);
      ragged.run(layout == Layout::packed_rows ? 500 : all_of_it);
      ragged.check();
      ragged.expect_same_bits(1, plain, 1);
      Problem<T> alone(static_cast<int>(ragged.rows[4]), static_cast<int>(ragged.cols[4]), 1, Layout::packed_columns);
      alone.change(0, [&](auto i, auto j, T) { return *ragged.input().at(4, i, j); });
      alone.keep();
      alone.run();
      ragged.expect_same_bits(4, alone, 0);
    }
  }
}

/// Fixed columns come first and are not pivoted.
TYPED_TEST(QrPivoted, FixedColumns) {
  for (std::int64_t const shared_bytes : {std::int64_t{500}, all_of_it}) {
    Problem<TypeParam> problem(37, 34, 3, Layout::packed_columns);
    for (int j : {3, 8, 33}) *problem.jpvt.view.at(0, j, 0) = 1;
    for (int j = 0; j < 34; ++j) *problem.jpvt.view.at(1, j, 0) = j < 2 ? 5 : 0, *problem.jpvt.view.at(2, j, 0) = 1;
    problem.keep();
    problem.run(shared_bytes);
    problem.check();
  }
  Problem<TypeParam> wide(3, 9, 1, Layout::packed_columns);  // more of them than rows
  for (int j : {1, 2, 4, 5, 8}) *wide.jpvt.view.at(0, j, 0) = -1;
  wide.keep();
  wide.run();
  wide.check();
}

/// Special matrices, beside ordinary ones that keep their bits.
TYPED_TEST(QrPivoted, Special) {
  using T = TypeParam;
  using R = Real<T>;
  constexpr R tiny = std::numeric_limits<R>::min(), huge = std::numeric_limits<R>::max() / 64, nan = std::numeric_limits<R>::quiet_NaN();
  for (std::int64_t const shared_bytes : {std::int64_t{500}, all_of_it}) {
    int const m = 24, n = 20;
    Problem<T> problem(m, n, 13, Layout::packed_columns), ordinary(m, n, 13, Layout::packed_columns);
    *problem.a.view.at(1, m / 2, n / 2) = T(nan);
    *problem.a.view.at(2, m / 2, n / 2) = T(std::numeric_limits<R>::infinity());
    problem.change(3, [&](auto, auto j, T x) { return j % 5 == 2 ? T(0) : x; });
    problem.change(4, [](auto, auto, T) { return T(0); });
    problem.change(5, [](auto i, auto j, T) { return i == j ? T(1) : T(0); });  // ties
    problem.change(6, [&](auto, auto, T x) { return x * tiny; });
    problem.change(7, [&](auto, auto, T x) { return x / R(8) * huge; });
    problem.change(8, [&](auto, auto j, T x) { return j % 3 == 1 ? x * std::sqrt(huge) : j % 3 == 2 ? x * std::sqrt(tiny) / R(16) : x; });
    problem.change(9, [&](auto, auto j, T x) { return x * static_cast<R>(std::pow(0.3, j)); });
    problem.change(10, [&](auto i, auto j, T) { return T(static_cast<R>((i + 1) * (j + 1))); });  // rank one
    problem.change(11, [&](auto i, auto, T) { return *problem.a.view.at(0, i, 0); });             // equal columns
    problem.keep();
    problem.run(shared_bytes);
    ordinary.run();
    for (std::int64_t b = 3; b < 12; ++b) problem.check_matrix(b);
    for (std::int64_t b : {0, 12}) problem.expect_same_bits(b, ordinary, b);
    for (std::int64_t b : {1, 2}) {
      EXPECT_TRUE(std::isnan(std::abs(*problem.a.view.at(b, n - 1, n - 1)))) << b;
      EXPECT_EQ(*problem.jpvt.view.at(b, 0, 0), n / 2 + 1);
    }
    for (int j = 0; j < n; ++j) {
      EXPECT_EQ(*problem.jpvt.view.at(4, j, 0), j + 1);
      EXPECT_EQ(*problem.jpvt.view.at(5, j, 0), j + 1);
      EXPECT_EQ(*problem.tau.view.at(4, j, 0), T(0));
      if (j == 0) continue;
      EXPECT_LE(std::abs(*problem.a.view.at(10, j, j)), 1000 * m * n * epsilon<T>);
    }
    EXPECT_EQ(*problem.jpvt.view.at(11, 0, 0), 1);
  }
}

/// The columns that LAPACK chooses, and its factors except for rounding.
TYPED_TEST(QrPivoted, AsOnTheCpu) {
  using T = TypeParam;
  Queue cpu({.backend = Backend::cpu, .threads = 1});
  for (auto const& [m, n] : {std::pair{70, 60}, {40, 64}}) {
    Problem<T> problem(m, n, 1, Layout::packed_columns), expected(m, n, 1, Layout::packed_columns);
    for (int j : {3, 8}) *problem.jpvt.view.at(0, j, 0) = *expected.jpvt.view.at(0, j, 0) = 1;
    problem.run();
    geqp3<T>(cpu, expected.a.view, expected.jpvt.view, expected.tau.view);
    EXPECT_EQ(problem.jpvt.memory, expected.jpvt.memory);
    for (std::size_t i = 0; i < problem.a.memory.size(); ++i)
      ASSERT_LE(std::abs(problem.a.memory[i] - expected.a.memory[i]), 2000 * epsilon<T>) << i;
  }
}

template <typename T>
HostMachine solving_machine(std::int64_t shared_bytes) {
  HostMachine machine = machine_of<T>(shared_bytes);
  machine.add(gpu::source_of(gelsy_kernel, dtype_of<T>), gelsy<gpu::DeviceElement<T>>);
  return machine;
}

/// Solves with a copy of the matrices of `problem` and right-hand sides in the same layout; B, and the ranks.
template <typename T>
struct Solved {
  std::vector<T> a;
  Stored<T> b;
  std::vector<std::int64_t> rows, cols;
  std::vector<int> jpvt, rank;
  std::vector<T> b_before;

  Solved(Problem<T>& problem, int columns, Layout layout, Real<T> rcond, HostMachine* machine)
      : b(static_cast<int>(std::max(problem.a.view.rows, problem.a.view.cols)), columns, problem.a.view.count, layout),
        jpvt(problem.jpvt.memory),
        rank(static_cast<std::size_t>(problem.a.view.count), -1) {
    auto& view = problem.a.view;
    b.view.conjugated = view.conjugated;
    for (std::int64_t q = 0; q < view.count; ++q) {
      rows.push_back(std::max(view.rows_of(q), view.cols_of(q)));
      cols.push_back(q == 1 ? columns : (q * 5 + 2) % (columns + 1));
    }
    if (view.ragged()) b.view.row_sizes = rows.data(), b.view.col_sizes = cols.data();
    fill(b.memory, 3);
    // The same numbers in every layout
    std::vector<T> numbers(static_cast<std::size_t>(b.view.rows * columns * view.count + 1));
    fill(numbers, 4);
    for (std::int64_t q = 0; q < view.count; ++q)
      for (std::int64_t j = 0; j < b.view.cols_of(q); ++j)
        for (std::int64_t i = 0; i < b.view.rows_of(q); ++i) {
          T x = numbers[static_cast<std::size_t>((q * columns + j) * b.view.rows + i)];
          if constexpr (is_complex<T>)
            if (view.conjugated) x = std::conj(x);
          *b.view.at(q, i, j) = x;
        }
    b_before = b.memory;
    a = problem.before;
    Batch<T> matrices = view;
    matrices.data = a.data() + (view.data - problem.a.memory.data());
    Batch<int> numbers_of_columns = problem.jpvt.view;
    numbers_of_columns.data = jpvt.data() + (problem.jpvt.view.data - problem.jpvt.memory.data());
    GelsyTask<T> const task{.a = matrices, .b = b.view, .jpvt = numbers_of_columns, .rcond = rcond, .rank = rank.data()};
    if (machine) {
      gelsy_large<T>(*machine, task);
    } else {
      Queue cpu({.backend = Backend::cpu, .threads = 1});
      gelsy<T>(cpu, task.a, task.b, task.jpvt, rcond, task.rank);
    }
  }
  Solved(Solved const&) = delete;

  /// Ranks are those of `other`, and solutions agree but for rounding.
  void expect_near(Solved const& other, Problem<T> const& problem, double tolerance, std::vector<std::int64_t> const& left_out = {}) const {
    for (std::int64_t q = 0; q < problem.a.view.count; ++q) {
      if (std::find(left_out.begin(), left_out.end(), q) != left_out.end()) continue;
      ASSERT_EQ(rank[static_cast<std::size_t>(q)], other.rank[static_cast<std::size_t>(q)]) << q;
      for (std::int64_t j = 0; j < b.view.cols_of(q); ++j) {
        double largest = 0;
        for (std::int64_t i = 0; i < problem.a.view.cols_of(q); ++i) largest = std::max(largest, std::abs(wide<T>(other.b.view, q, i, j)));
        for (std::int64_t i = 0; i < problem.a.view.cols_of(q); ++i)
          ASSERT_LE(std::abs(wide<T>(b.view, q, i, j) - wide<T>(other.b.view, q, i, j)), tolerance * largest)
              << i << ", " << j << " of " << q;
      }
    }
  }
};

/// Solutions and ranks agree with LAPACK's, in every layout with the same bits.
TYPED_TEST(QrPivoted, LeastSquaresOfAnyRank) {
  using T = TypeParam;
  using R = Real<T>;
  for (auto const& [m, n] : {std::pair{33, 20}, {12, 40}, {24, 24}, {1, 5}, {5, 1}}) {
    if (sanitized && m == n) continue;
    SCOPED_TRACE(testing::Message() << m << " by " << n);
    R const rcond = 100 * epsilon<T>;
    Problem<T> plain(m, n, 3, Layout::packed_columns);
    // Rank 3 of small integers
    plain.change(
        1, [](auto i, auto j, T) { return T(static_cast<R>((i % 3 + 1) * (j % 5 - 2) + (i % 4) * (j % 3) + (i % 5 - 1) * (j % 2))); });
    plain.keep();
    HostMachine machine = solving_machine<T>(all_of_it);
    Solved<T> const on_cpu(plain, 3, Layout::packed_columns, rcond, nullptr), on_twin(plain, 3, Layout::packed_columns, rcond, &machine);
    EXPECT_LE(on_twin.rank[1], 3);
    on_twin.expect_near(on_cpu, plain, (m == n ? 2e5 : 2e3) * epsilon<T>);
    for (Layout const layout : {Layout::packed_rows, Layout::interleaved, Layout::dense_rows}) {
      Problem<T> other(m, n, 3, layout, false, layout == Layout::dense_rows);
      other.change(
          1, [](auto i, auto j, T) { return T(static_cast<R>((i % 3 + 1) * (j % 5 - 2) + (i % 4) * (j % 3) + (i % 5 - 1) * (j % 2))); });
      other.keep();
      HostMachine streams = solving_machine<T>(500);
      Solved<T> const again(other, 3, layout, rcond, &streams);
      again.expect_near(on_twin, plain, 0);
    }
    Problem<T> ragged(m, n, 5, Layout::ragged_columns, true);
    Solved<T> const some(ragged, 3, Layout::ragged_columns, rcond, &machine), expected(ragged, 3, Layout::ragged_columns, rcond, nullptr);
    some.expect_near(expected, ragged, 2e5 * epsilon<T>);
  }
}

/// NaN, zeros, nearly dependent columns and matrices near the ends of the range, beside ordinary ones.
TYPED_TEST(QrPivoted, LeastSquaresOfSpecialMatrices) {
  using T = TypeParam;
  using R = Real<T>;
  constexpr R tiny = std::numeric_limits<R>::min(), huge = std::numeric_limits<R>::max() / 64, nan = std::numeric_limits<R>::quiet_NaN();
  for (auto const& [m, n] : {std::pair{20, 13}, {11, 17}}) {
    Problem<T> problem(m, n, 9, Layout::packed_columns);
    *problem.a.view.at(1, m / 2, n / 2) = T(nan);
    problem.change(2, [](auto, auto, T) { return T(0); });
    problem.change(3, [](auto, auto j, T x) { return j % 3 == 1 ? T(0) : x; });
    problem.change(4, [&](auto, auto, T x) { return x * tiny * R(64); });
    problem.change(5, [&](auto, auto, T x) { return x / R(8) * huge; });
    problem.change(6, [](auto, auto j, T x) { return x * static_cast<R>(std::pow(10, -j)); });
    problem.change(7, [&](auto i, auto, T) { return *problem.a.view.at(0, i, 0); });
    problem.keep();
    HostMachine machine = solving_machine<T>(all_of_it);
    R const rcond = 100 * epsilon<T>;
    Solved<T> const on_cpu(problem, 2, Layout::packed_columns, rcond, nullptr),
        on_twin(problem, 2, Layout::packed_columns, rcond, &machine);
    on_twin.expect_near(on_cpu, problem, 1e4 * epsilon<T>, {1, 6});
    EXPECT_EQ(on_twin.rank, on_cpu.rank);
    EXPECT_EQ(on_twin.rank[1], 0);
    EXPECT_EQ(on_twin.rank[2], 0);
    EXPECT_EQ(on_twin.rank[7], 1);
    for (int i = 0; i < n; ++i) EXPECT_TRUE(std::isnan(std::abs(*on_twin.b.view.at(1, i, 0))));
  }
}

/// A column of B with NaN or infinity has no X, and changes nothing in the others, on the twin and on the CPU.
TYPED_TEST(QrPivoted, LeastSquaresWithInfinityOnTheRight) {
  using T = TypeParam;
  using R = Real<T>;
  constexpr R nan = std::numeric_limits<R>::quiet_NaN(), infinity = std::numeric_limits<R>::infinity();
  constexpr R large = std::numeric_limits<R>::max() / 16;
  for (int const m : {2, 3})
    for (bool const on_twin : {false, true})
      for (R const bad : {nan, infinity, -infinity}) {
        SCOPED_TRACE(testing::Message() << m << " rows, " << bad << (on_twin ? ", on the twin" : ", on the CPU"));
        std::vector<T> a(static_cast<std::size_t>(m * 2)), b(static_cast<std::size_t>(m * 3));
        a[0] = a[static_cast<std::size_t>(m + 1)] = T(1);
        auto const right = [&](int i, int j) -> T& { return b[static_cast<std::size_t>(i + j * m)]; };
        right(0, 0) = T(bad), right(1, 0) = T(2);
        right(0, 1) = T(large), right(1, 1) = T(4);
        right(1, 2) = T(3), right(m - 1, 2) = T(5);
        std::vector<int> jpvt(2), rank(1);
        GelsyTask<T> const task{.a = batch(a.data(), m, 2, {.count = 1}),
                                .b = batch(b.data(), m, 3, {.count = 1}),
                                .jpvt = vectors(jpvt.data(), 2, 1),
                                .rcond = epsilon<T>,
                                .rank = rank.data()};
        if (on_twin) {
          HostMachine machine = solving_machine<T>(all_of_it);
          gelsy_large<T>(machine, task);
        } else {
          Queue cpu({.backend = Backend::cpu, .threads = 1});
          gelsy<T>(cpu, task.a, task.b, task.jpvt, task.rcond, task.rank);
        }
        EXPECT_EQ(rank[0], 2);
        EXPECT_FALSE(std::isfinite(std::abs(right(0, 0))));
        if (m == 3) {
          EXPECT_EQ(right(2, 1), T(0));
          EXPECT_EQ(std::abs(right(2, 2)), R(5));
          EXPECT_EQ(right(1, 2), T(3));
        }
        EXPECT_EQ(right(0, 1), T(large));
        EXPECT_EQ(right(1, 1), T(4));
      }
}

/// Matrices without rows, or without columns, and no right-hand sides.
TYPED_TEST(QrPivoted, Empty) {
  using T = TypeParam;
  for (auto const& [m, n, columns] : {std::array{0, 4, 2}, {4, 0, 2}, {4, 3, 0}}) {
    SCOPED_TRACE(testing::Message() << m << " by " << n);
    Problem<T> problem(m, n, 2, Layout::packed_columns);
    if (n > 2) *problem.jpvt.view.at(1, 2, 0) = 1;
    problem.keep();
    HostMachine machine = solving_machine<T>(all_of_it);
    Solved<T> const on_cpu(problem, columns, Layout::packed_columns, 0, nullptr),
        on_twin(problem, columns, Layout::packed_columns, 0, &machine);
    EXPECT_EQ(on_twin.rank, on_cpu.rank);
    EXPECT_EQ(on_twin.rank[0], std::min(m, n));
    EXPECT_EQ(on_twin.jpvt, on_cpu.jpvt);
    EXPECT_EQ(on_twin.b.memory, on_cpu.b.memory);
    if (m == 0 && columns > 0) {
      EXPECT_EQ(*on_twin.b.view.at(1, n - 1, 1), T(0));
    }
    problem.run();
    problem.check();
  }
}

TEST(Geqp3Plan, FitsEveryGpu) {
  for (std::int64_t n : {33, 64, 100, 160}) EXPECT_TRUE(geqp3_holds<double>(n, n, 227 << 10)) << n;
  EXPECT_FALSE(geqp3_holds<double>(200, 200, 227 << 10));
  for (std::int64_t n = 1; n < 200; ++n) EXPECT_LE(geqp3_threads(n, n), Geqp3::most_threads);
}

}  // namespace
}  // namespace myriad
