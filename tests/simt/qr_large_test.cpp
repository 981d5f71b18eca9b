/// QR of matrices beyond 32 rows on the host twin: against the definition, and against the CPU's results.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "qr/block/qr_block.cuh"
#include "qr/block/qr_registers.cuh"
#include "qr/block/qr_warps.cuh"
#include "qr/blocked/block_reflector.cuh"
#include "qr/blocked/gels_blocked.hpp"
#include "qr/blocked/q_blocked.hpp"
#include "qr/blocked/qr_blocked.hpp"
#include "qr/blocked/qr_passes.cuh"
#include "qr/blocked/qr_step.cuh"
#include "reflectors/reflectors_panels.cuh"
#include "runtime/views.hpp"
#include "simt_host/host.hpp"
#include "simt_host/machine.hpp"
#include "sizes.hpp"
#include "stored.hpp"

namespace myriad {
namespace {

template <typename T>
constexpr Real<T> epsilon = std::numeric_limits<Real<T>>::epsilon();
template <typename T>
constexpr Real<T> nan_of = std::numeric_limits<Real<T>>::quiet_NaN();

template <typename T>
T conjugate_if(bool conjugate, T x) {
  if constexpr (is_complex<T>)
    return conjugate ? std::conj(x) : x;
  else
    return x;
}
/// A matrix by columns, in double precision.
template <typename T>
using Wide = std::conditional_t<is_complex<T>, std::complex<double>, double>;
template <typename T>
struct Plain {
  std::int64_t m, n;
  std::vector<T> elements;
  Plain(std::int64_t rows, std::int64_t cols) : m(rows), n(cols), elements(static_cast<std::size_t>(rows * cols)) {}
  T& operator()(std::int64_t i, std::int64_t j) { return elements[static_cast<std::size_t>(i + j * m)]; }
};
template <typename T>
Plain<Wide<T>> plain(Batch<T const> const& x, std::int64_t b) {
  Plain<Wide<T>> out(x.rows_of(b), x.cols_of(b));
  for (std::int64_t j = 0; j < out.n; ++j)
    for (std::int64_t i = 0; i < out.m; ++i) out(i, j) = Wide<T>(conjugate_if(x.conjugated, *x.at(b, i, j)));
  return out;
}
/// C = H(k) C or H(k)^H C, with the reflector in column k of `v`.
template <typename W>
void reflect(Plain<W>& v, W tau, std::int64_t k, Plain<W>& c) {
  for (std::int64_t j = 0; j < c.n; ++j) {
    W sum = c(k, j);
    for (std::int64_t i = k + 1; i < v.m; ++i) sum += conjugate_if(true, v(i, k)) * c(i, j);
    sum *= tau;
    c(k, j) -= sum;
    for (std::int64_t i = k + 1; i < v.m; ++i) c(i, j) -= v(i, k) * sum;
  }
}

struct Wanted {
  int m, n;
  std::int64_t count;
  Layout layout;
  bool ragged = false, conjugated = false, transposed = false;
};
std::ostream& operator<<(std::ostream& out, Wanted const& w) {
  return out << w.m << " by " << w.n << ", layout " << static_cast<int>(w.layout) << (w.ragged ? ", ragged" : "")
             << (w.conjugated ? ", conjugated" : "") << (w.transposed ? ", transposed" : "");
}

template <typename T>
struct Problem {
  Wanted wanted;
  Stored<T> a, tau;
  std::vector<std::int64_t> rows, cols;
  std::vector<T> before;

  explicit Problem(Wanted const& w, unsigned seed = 1)
      : wanted(w),
        a(w.transposed ? w.n : w.m, w.transposed ? w.m : w.n, w.count, w.layout),
        tau(std::min(w.m, w.n), 1, w.count, w.layout == Layout::interleaved ? w.layout : Layout::columns) {
    if (w.transposed) a.view = myriad::transposed(a.view);
    if (w.conjugated) a.view = myriad::conjugated(a.view), tau.view = myriad::conjugated(tau.view);
    if (w.conjugated && w.transposed) tau.view.conjugated = false;  // both ways
    if (w.ragged) {
      for (std::int64_t b = 0; b < w.count; ++b) {
        rows.push_back(b == 1 ? w.m : b == 2 ? 0 : (b * 37 + 21) % (w.m + 1));
        cols.push_back(b == 1 ? w.n : b == 3 ? 0 : (b * 23 + 15) % (w.n + 1));
      }
      a.view.row_sizes = rows.data(), a.view.col_sizes = cols.data();
    }
    fill(a.memory, seed);
    fill(tau.memory, seed + 1);
    before = a.memory;
  }
  Problem(Problem const&) = delete;

  [[nodiscard]] Batch<T const> input() const {
    Batch<T const> in = a.view;
    in.data = before.data() + (a.view.data - a.memory.data());
    return in;
  }
  void by_block() { by_panels(227 << 10); }
  static HostMachine machine(std::int64_t shared_bytes) {
    using D = gpu::DeviceElement<T>;
    constexpr Dtype dtype = dtype_of<T>;
    constexpr auto configs = qr_registers_configs(sizeof(T));
    constexpr QrBlock in_shared_memory = qr_block_plan(sizeof(T));
    HostMachine machine;
    machine.device().shared_memory_per_block = machine.device().shared_memory_per_multiprocessor = static_cast<int>(shared_bytes);
    [&]<std::size_t... k>(std::index_sequence<k...>) {
      (machine.add(gpu::source_of(qr_registers_kernel, dtype, configs[k]), qr_registers<D, configs[k]>), ...);
    }
    (std::make_index_sequence<configs.size()>());
    constexpr auto by_warps = qr_warps_configs(sizeof(T));
    [&]<std::size_t... k>(std::index_sequence<k...>) {
      (machine.add(gpu::source_of(qr_warps_kernel, dtype, by_warps[k]), qr_warps<D, by_warps[k]>), ...);
    }
    (std::make_index_sequence<by_warps.size()>());
    machine.add(gpu::source_of(qr_block_kernel, dtype, in_shared_memory), qr_block<D, in_shared_memory>);
    machine.add(gpu::source_of(block_reflector_kernel, dtype), block_reflector<D>);
    machine.add(gpu::source_of(qr_step_kernel, dtype), qr_step<D>);
    machine.add(gpu::source_of(qr_passes_kernel, dtype), qr_passes<D>);
    machine.add(gpu::source_of(reflectors_load_kernel, dtype), reflectors_load<D>);
    machine.add(gpu::source_of(reflectors_factor_kernel, dtype), reflectors_factor<D>);
    machine.add(gpu::source_of(reflectors_identity_kernel, dtype), reflectors_identity<D>);
    return machine;
  }
  /// By panels, on blocks with `shared_bytes` of shared memory.
  void by_panels(std::int64_t shared_bytes) {
    HostMachine twin = machine(shared_bytes);
    geqrf_large<T>(twin, GeqrfTask<T>{.a = a.view, .tau = tau.view});
  }

  /// Checks A = Q R, unitary reflectors, and that nothing but A changed.
  void check(std::vector<std::int64_t> const& left_out = {}) {
    std::vector<T> others = before;
    for (std::int64_t b = 0; b < wanted.count; ++b) {
      for (std::int64_t j = 0; j < a.view.cols_of(b); ++j)
        for (std::int64_t i = 0; i < a.view.rows_of(b); ++i) {
          auto const place = static_cast<std::size_t>(a.view.at(b, i, j) - a.memory.data());
          others[place] = a.memory[place];
        }
      if (std::find(left_out.begin(), left_out.end(), b) == left_out.end()) check_matrix(b);
    }
    EXPECT_EQ(std::memcmp(others.data(), a.memory.data(), others.size() * sizeof(T)), 0) << "something else was written";
  }
  void check_matrix(std::int64_t b) {
    using W = Wide<T>;
    auto of = plain<T>(input(), b), factors = plain<T>(a.view, b), product = factors;
    std::int64_t const m = of.m, n = of.n, steps = std::min(m, n);
    double largest = 0;
    for (W const& x : of.elements) largest = std::max(largest, std::abs(x));
    double const tolerance = 20 * epsilon<T> * std::sqrt(static_cast<double>(std::max(m, n))) * 4;
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = j + 1; i < m; ++i) product(i, j) = 0;
    for (std::int64_t k = steps - 1; k >= 0; --k) {
      W const t = W(conjugate_if(tau.view.conjugated, *tau.view.at(b, k, 0)));
      double squares = 1;
      for (std::int64_t i = k + 1; i < m; ++i) squares += std::norm(factors(i, k));
      ASSERT_LE(std::abs(std::norm(t) * squares - 2 * std::real(t)), 50 * epsilon<T>) << "reflector " << k << " of matrix " << b;
      ASSERT_LE(std::abs(std::imag(factors(k, k))), 0.0) << k;
      // beta = -sign(Re alpha) |x|
      ASSERT_TRUE(t == W(0) || std::real(t) >= 1 - 50 * epsilon<T>) << "tau " << k << " of matrix " << b << " is " << t;
      reflect(factors, t, k, product);
    }
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < m; ++i)
        ASSERT_LE(std::abs(product(i, j) - of(i, j)), tolerance * largest) << "(" << i << ", " << j << ") of matrix " << b;
  }
};

template <typename Use>
void for_each_wanted(std::initializer_list<std::array<int, 3>> sizes, int every, Use use) {
  int turn = 0;
  for (auto const& size : sizes)
    for (Layout const layout : layouts)
      for (bool const ragged : {false, true}) {
        if (ragged && layout == Layout::interleaved) continue;
        if (++turn % (sanitized ? 3 * every : every) != 0) continue;
        Wanted const wanted{.m = size[0],
                            .n = size[1],
                            .count = ragged ? 5 : 2,
                            .layout = ragged ? ragged_layout(layout) : layout,
                            .ragged = ragged,
                            .conjugated = layout == Layout::dense_rows,
                            .transposed = layout == Layout::columns};
        SCOPED_TRACE(testing::Message() << wanted);
        use(wanted, size[2]);
      }
}

template <typename T>
class QrLarge : public testing::Test {};
using Types = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(QrLarge, Types);

TYPED_TEST(QrLarge, ByBlock) {
  for_each_wanted({{65, 3}, {8, 70}, {128, 33}, {129, 30}, {33, 65}, {600, 5}}, 2, [](Wanted const& wanted, int) {
    Problem<TypeParam> problem(wanted);
    problem.by_block();
    problem.check();
  });
}

/// Up to 64 rows and columns in one launch, one of several kernels.
TYPED_TEST(QrLarge, ByWarps) {
  auto const check = [](Wanted const& wanted, int) {
    Problem<TypeParam> problem(wanted);
    HostMachine twin = Problem<TypeParam>::machine(99 << 10);
    geqrf_large<TypeParam>(twin, GeqrfTask<TypeParam>{.a = problem.a.view, .tau = problem.tau.view});
    problem.check();
    int launches = 0;
    for (auto const& [name, times] : twin.launches()) launches += times;
    EXPECT_EQ(launches, 1);
  };
  for_each_wanted({{33, 33}, {48, 48}, {64, 50}, {64, 64}, {20, 48}, {1, 40}, {40, 1}, {49, 40}}, 2, check);
  if constexpr (std::is_same_v<TypeParam, float>) for_each_wanted({{70, 70}, {65, 96}, {96, 65}, {96, 96}}, 1, check);
}

/// Neighbouring matrices of special kinds: NaN, zeros, nothing to eliminate, elements near the ends of the range. The others have the same
/// bits as without such neighbours.
template <typename T, typename Run>
void check_special(int m, int n, Run run) {
  using R = Real<T>;
  Wanted const wanted{.m = m, .n = n, .count = 10, .layout = Layout::packed_columns};
  Problem<T> problem(wanted, 3), ordinary(wanted, 3);
  auto const each = [&](std::int64_t b, auto change) {
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < m; ++i) {
        T& x = *problem.a.view.at(b, i, j);
        x = T(change(i, j, x));
      }
  };
  R const tiny = std::numeric_limits<R>::min(), huge = std::numeric_limits<R>::max() / 64;
  *problem.a.view.at(1, m / 2, n / 2) = T(nan_of<T>);
  each(2, [&](auto, auto j, T x) { return j == n / 2 ? T(0) : x; });
  each(3, [](auto, auto, T) { return T(0); });
  each(4, [](auto i, auto j, T x) { return i > j ? T(0) : x; });
  each(5, [&](auto, auto, T x) { return x * tiny; });
  each(6, [&](auto, auto, T x) { return x / R(8) * huge; });
  each(7, [&](auto, auto j, T x) { return j % 3 == 1 ? x * std::sqrt(huge) * R(16) : j % 3 == 2 ? x * std::sqrt(tiny) / R(16) : x; });
  R const subnormal = std::ldexp(tiny, sizeof(R) == 4 ? -14 : -38);
  each(8, [&](auto, auto j, T x) { return j == n / 2 ? x * subnormal : x; });
  problem.before = problem.a.memory;
  run(problem);
  run(ordinary);
  problem.check({1});
  for (std::int64_t b : {0, 9}) {
    EXPECT_EQ(std::memcmp(problem.a.view.at(b, 0, 0), ordinary.a.view.at(b, 0, 0), static_cast<std::size_t>(m * n) * sizeof(T)), 0) << b;
    EXPECT_EQ(
        std::memcmp(problem.tau.view.at(b, 0, 0), ordinary.tau.view.at(b, 0, 0), static_cast<std::size_t>(std::min(m, n)) * sizeof(T)), 0)
        << b;
  }
  EXPECT_TRUE(std::isnan(std::abs(*problem.a.view.at(1, std::min(m, n) - 1, n - 1))));
  for (std::int64_t k = 0; k < std::min(m, n); ++k) EXPECT_EQ(*problem.tau.view.at(3, k, 0), T(0));
}
TYPED_TEST(QrLarge, SpecialByBlock) {
  check_special<TypeParam>(40, 35, [](auto& problem) { problem.by_block(); });
  check_special<TypeParam>(50, 60, [](auto& problem) { problem.by_block(); });
  check_special<TypeParam>(70, 66, [](auto& problem) { problem.by_block(); });
  check_special<TypeParam>(300, 4, [](auto& problem) { problem.by_block(); });
}
/// Same signs and values as LAPACK's factors, except for rounding.
TYPED_TEST(QrLarge, AsOnTheCpu) {
  using T = TypeParam;
  Queue cpu({.backend = Backend::cpu, .threads = 1});
  Wanted const wanted{.m = 70, .n = 40, .count = 1, .layout = Layout::packed_columns};
  Problem<T> problem(wanted), expected(wanted);
  problem.by_block();
  geqrf<T>(cpu, expected.a.view, expected.tau.view);
  for (std::size_t i = 0; i < problem.a.memory.size(); ++i)
    ASSERT_LE(std::abs(problem.a.memory[i] - expected.a.memory[i]), 1000 * epsilon<T>) << i;
  for (std::size_t i = 0; i < 40; ++i) ASSERT_LE(std::abs(problem.tau.memory[i + 1] - expected.tau.memory[i + 1]), 1000 * epsilon<T>) << i;
}

/// Panels in shared memory, where a block holds this many elements, and panels in global memory.
TYPED_TEST(QrLarge, ByPanels) {
  using T = TypeParam;
  auto const check = [](Wanted const& wanted, int elements) {
    Problem<T> problem(wanted);
    problem.by_panels(elements * static_cast<std::int64_t>(sizeof(T)));
    problem.check();
  };
  for_each_wanted({{66, 35, 1700}, {70, 70, 2600}, {70, 33, 1300}, {33, 100, 1500}, {70, 45, 0}, {1030, 3, 0}, {2100, 1, 0}, {20, 34, 0}},
                  4, check);
  // More than one block of columns
  int const n = 67;
  check({.m = n + 3, .n = n, .count = 1, .layout = Layout::packed_columns}, 20 * n);
}
/// With the shared memory of an H100
TYPED_TEST(QrLarge, ByPanelsAsPlanned) {
  if (sanitized) GTEST_SKIP() << "takes long";
  // One or several panels in registers, halves of a panel in registers, and in shared memory
  for (auto const& [m, n] : {std::pair{180, 170}, {500, 40}, {530, 40}, {1050, 33}}) {
    Problem<TypeParam> problem({.m = m, .n = n, .count = 1, .layout = Layout::packed_rows});
    problem.by_block();
    problem.check();
  }
}
TYPED_TEST(QrLarge, SpecialByPanels) {
  check_special<TypeParam>(66, 36, [](auto& problem) { problem.by_panels(1100 * sizeof(TypeParam)); });
  check_special<TypeParam>(40, 10, [](auto& problem) { problem.by_panels(0); });
}

/// A batch of right-hand sides of a problem, or of matrices to apply reflectors to.
template <typename T>
struct Right {
  Stored<T> c;
  std::vector<std::int64_t> rows, cols;
  std::vector<T> before;

  Right(Problem<T> const& problem, int height, int columns, auto rows_of)
      : c(problem.wanted.transposed ? columns : height, problem.wanted.transposed ? height : columns, problem.wanted.count,
          problem.wanted.layout) {
    Wanted const& w = problem.wanted;
    if (w.transposed) c.view = myriad::transposed(c.view);
    if (w.transposed && is_complex<T>) c.view = myriad::conjugated(c.view);
    for (std::int64_t b = 0; b < w.count; ++b) {
      rows.push_back(rows_of(b));
      cols.push_back(b == 1 ? columns : (b * 11 + 3) % (columns + 1));
    }
    if (w.ragged) c.view.row_sizes = rows.data(), c.view.col_sizes = cols.data();
    fill(c.memory, 17);
    before = c.memory;
  }
  Right(Right const&) = delete;
  [[nodiscard]] Batch<T const> input() const {
    Batch<T const> in = c.view;
    in.data = before.data() + (c.view.data - c.memory.data());
    return in;
  }
};
/// Compares `result` with expected(b), which has as many rows and columns; checks that nothing else is written.
template <typename T, typename Expected>
void check_result(Batch<T> const& result, std::vector<T> const& memory, std::vector<T> before, double tolerance, Expected expected) {
  for (std::int64_t b = 0; b < result.count; ++b) {
    if (result.rows_of(b) == 0 || result.cols_of(b) == 0) continue;
    auto const wanted = expected(b);
    auto now = plain<T>(result, b);
    for (std::int64_t j = 0; j < now.n; ++j)
      for (std::int64_t i = 0; i < now.m; ++i) {
        ASSERT_LE(std::abs(now(i, j) - wanted.elements[static_cast<std::size_t>(i + j * wanted.m)]), tolerance)
            << "(" << i << ", " << j << ") of matrix " << b << " of " << now.m << " by " << now.n;
        auto const place = static_cast<std::size_t>(result.at(b, i, j) - memory.data());
        before[place] = memory[place];
      }
  }
  EXPECT_EQ(std::memcmp(before.data(), memory.data(), before.size() * sizeof(T)), 0) << "something else was written";
}
/// NaN where there are no reflectors: on and above the diagonal, and in columns behind the reflectors.
template <typename T>
void spoil_above(Batch<T> const& a, std::int64_t reflectors) {
  for (std::int64_t b = 0; b < a.count; ++b)
    for (std::int64_t j = 0; j < a.cols_of(b); ++j)
      for (std::int64_t i = 0; i < a.rows_of(b); ++i)
        if (i <= j || j >= reflectors) *a.at(b, i, j) = T(nan_of<T>);
}
/// Q C, Q^H C, and Q itself; also with fewer reflectors than columns.
TYPED_TEST(QrLarge, AppliesQ) {
  using T = TypeParam;
  Queue cpu({.backend = Backend::cpu, .threads = 1});
  int turn = 0;
  for_each_wanted({{50, 33, 7}, {33, 40, 40}, {100, 3, 2}, {70, 66, 5}, {260, 3, 66}}, 3, [&](Wanted const& wanted, int columns) {
    Problem<T> problem(wanted);
    geqrf<T>(cpu, problem.a.view, problem.tau.view);
    bool const adjoint = ++turn % 2 == 0;
    Right<T> right(problem, wanted.m, columns, [&](std::int64_t b) { return problem.a.view.rows_of(b); });
    Batch<T const> tau = problem.tau.view;
    if (turn % 3 == 0) tau.rows -= 1;
    spoil_above(problem.a.view, tau.rows);
    HostMachine twin = Problem<T>::machine(turn % 4 < 2 ? 0 : 227 << 10);
    ormqr_large<T>(twin, {.adjoint = adjoint, .a = problem.a.view, .tau = tau, .c = right.c.view});
    EXPECT_EQ(twin.products() == 0, applies_block_reflectors(wanted.m, columns));
    check_result(right.c.view, right.c.memory, right.before, 200 * epsilon<T>, [&](std::int64_t b) {
      auto c = plain<T>(right.input(), b), v = plain<T>(problem.a.view, b);
      std::int64_t const k = std::min({v.m, v.n, tau.rows});
      for (std::int64_t i = 0; i < k; ++i) {
        std::int64_t const at = adjoint ? i : k - 1 - i;
        auto const t = Wide<T>(conjugate_if(tau.conjugated, *tau.at(b, at, 0)));
        reflect(v, adjoint ? conjugate_if(true, t) : t, at, c);
      }
      return c;
    });
  });
}
TYPED_TEST(QrLarge, FormsQ) {
  using T = TypeParam;
  Queue cpu({.backend = Backend::cpu, .threads = 1});
  int turn = 0;
  for_each_wanted({{50, 33, 33}, {40, 40, 20}, {100, 3, 0}, {80, 70, 66}, {520, 3, 2}}, 3, [&](Wanted const& wanted, int reflectors) {
    Problem<T> problem(wanted);
    for (std::int64_t b = 0; wanted.ragged && b < wanted.count; ++b)
      problem.cols[static_cast<std::size_t>(b)] =
          std::min(problem.cols[static_cast<std::size_t>(b)], problem.rows[static_cast<std::size_t>(b)]);
    geqrf<T>(cpu, problem.a.view, problem.tau.view);
    Batch<T const> tau = problem.tau.view;
    tau.rows = reflectors;
    spoil_above(problem.a.view, tau.rows);
    problem.before = problem.a.memory;
    HostMachine twin = Problem<T>::machine(++turn % 4 < 2 ? 0 : 227 << 10);
    orgqr_large<T>(twin, {.a = problem.a.view, .tau = tau});
    EXPECT_EQ(twin.products() == 0, forms_block_reflectors(wanted.m));
    check_result(problem.a.view, problem.a.memory, problem.before, 50 * epsilon<T>, [&](std::int64_t b) {
      auto v = plain<T>(problem.input(), b), q = v;
      for (std::int64_t j = 0; j < q.n; ++j)
        for (std::int64_t i = 0; i < q.m; ++i) q(i, j) = i == j ? 1 : 0;
      for (std::int64_t k = std::min(v.n, tau.rows) - 1; k >= 0; --k)
        reflect(v, Wide<T>(conjugate_if(tau.conjugated, *tau.at(b, k, 0))), k, q);
      return q;
    });
  });
}
/// Least squares and minimum norm, of both shapes in a ragged batch; a matrix without full rank keeps its B.
TYPED_TEST(QrLarge, LeastSquares) {
  using T = TypeParam;
  Queue cpu({.backend = Backend::cpu, .threads = 1});
  for_each_wanted({{50, 33, 3}, {33, 50, 40}, {40, 40, 1}, {90, 5, 2}, {5, 70, 0}, {260, 4, 65}, {3, 260, 66}}, 2,
                  [&](Wanted const& wanted, int columns) {
                    Problem<T> problem(wanted);
                    for (std::int64_t b = 0; b < wanted.count; ++b)
                      for (std::int64_t k = 0; k < std::min(problem.a.view.rows_of(b), problem.a.view.cols_of(b)); ++k)
                        *problem.a.view.at(b, k, k) += T(Real<T>(20));
                    std::int64_t const bad = 1;
                    std::int64_t const zero = std::min(wanted.m, wanted.n) / 2;
                    for (std::int64_t i = 0; i < wanted.m && wanted.m >= wanted.n; ++i) *problem.a.view.at(bad, i, zero) = T(0);
                    for (std::int64_t j = 0; j < wanted.n && wanted.m < wanted.n; ++j) *problem.a.view.at(bad, zero, j) = T(0);
                    problem.before = problem.a.memory;
                    Right<T> right(problem, std::max(wanted.m, wanted.n), columns,
                                   [&](std::int64_t b) { return std::max(problem.a.view.rows_of(b), problem.a.view.cols_of(b)); });
                    std::vector<T> expected_memory = right.before, a_memory = problem.before;
                    std::vector<int> info(static_cast<std::size_t>(wanted.count), -7), expected_info = info;
                    Batch<T> expected = right.c.view, a = problem.a.view;
                    expected.data = expected_memory.data() + (right.c.view.data - right.c.memory.data());
                    a.data = a_memory.data() + (problem.a.view.data - problem.a.memory.data());
                    gels<T>(cpu, a, expected, expected_info.data());
                    HostMachine twin = Problem<T>::machine(1200 * sizeof(T));
                    gels_large<T>(twin, GelsTask<T>{.a = problem.a.view, .b = right.c.view, .info = info.data()});
                    EXPECT_EQ(info, expected_info);
                    EXPECT_NE(info[1], 0);
                    check_result(right.c.view, right.c.memory, right.before, 200 * epsilon<T>,
                                 [&](std::int64_t b) { return plain<T>(expected, b); });
                    for (std::int64_t j = 0; j < right.c.view.cols_of(bad); ++j)
                      for (std::int64_t i = 0; i < right.c.view.rows_of(bad); ++i) {
                        T const* const at = right.c.view.at(bad, i, j);
                        ASSERT_EQ(*at, right.before[static_cast<std::size_t>(at - right.c.memory.data())]);
                      }
                  });
}
/// Elements near the ends of the range give the X of ordinary ones, times powers of two.
TYPED_TEST(QrLarge, LeastSquaresScales) {
  using T = TypeParam;
  using R = Real<T>;
  Wanted const wanted{.m = 40, .n = 34, .count = 3, .layout = Layout::packed_columns};
  Problem<T> problem(wanted);
  Right<T> right(problem, wanted.m, 2, [&](std::int64_t) { return wanted.m; });
  R const tiny = std::numeric_limits<R>::min() * 8, huge = R(1) / std::numeric_limits<R>::min() / 8;
  auto const put = [&](std::int64_t b, R of_a, R of_b) {
    for (std::int64_t j = 0; j < wanted.n; ++j)
      for (std::int64_t i = 0; i < wanted.m; ++i) *problem.a.view.at(b, i, j) = of_a * *problem.a.view.at(0, i, j);
    for (std::int64_t j = 0; j < 2; ++j)
      for (std::int64_t i = 0; i < wanted.m; ++i) *right.c.view.at(b, i, j) = of_b * *right.c.view.at(0, i, j);
  };
  put(1, huge, huge);
  put(2, tiny, tiny);
  std::vector<int> info(3, -7);
  HostMachine twin = Problem<T>::machine(600 * sizeof(T));
  gels_large<T>(twin, GelsTask<T>{.a = problem.a.view, .b = right.c.view, .info = info.data()});
  EXPECT_EQ(info, std::vector<int>(3));
  for (std::int64_t j = 0; j < 2; ++j)
    for (std::int64_t i = 0; i < wanted.n; ++i)
      for (std::int64_t b : {1, 2})
        ASSERT_LE(std::abs(*right.c.view.at(b, i, j) - *right.c.view.at(0, i, j)), 2000 * epsilon<T>) << i << " of " << b;
}

/// Without rows X is zero, without columns B stays; matrices behind pointers.
TYPED_TEST(QrLarge, LeastSquaresOfEmptyMatrices) {
  using T = TypeParam;
  HostMachine twin = Problem<T>::machine(0);
  std::vector<T> memory(2 * 50 * 3, T(7));
  std::vector<T*> pointers{memory.data(), memory.data() + 150}, nowhere(2);
  std::vector<int> info{-7, -7};
  Batch<T> const b = batch(pointers.data(), 50, 3, {.count = 2});
  gels_large<T>(twin, GelsTask<T>{.a = batch(nowhere.data(), 50, 0, {.count = 2}), .b = b, .info = info.data()});
  EXPECT_EQ(memory, std::vector<T>(300, T(7)));
  EXPECT_EQ(info, std::vector<int>(2));
  info = {-7, -7};
  gels_large<T>(twin, GelsTask<T>{.a = batch(nowhere.data(), 0, 50, {.count = 2}), .b = b, .info = info.data()});
  EXPECT_EQ(memory, std::vector<T>(300, T(0)));
  EXPECT_EQ(info, std::vector<int>(2));
}

TEST(QrBlockPlan, FitsEveryGpu) {
  for (int const bytes : {4, 8, 16})
    for (std::int64_t const shared : {99 << 10, 227 << 10}) {
      EXPECT_TRUE(qr_block_holds(bytes, 33, 33, shared));
      EXPECT_FALSE(qr_block_holds(bytes, 260, 260, shared));
      EXPECT_FALSE(qr_block_holds(bytes, std::int64_t{1} << 30, 1, shared));
      EXPECT_FALSE(qr_block_holds(bytes, 1, std::int64_t{1} << 30, shared));
      for (std::int64_t m = 1; m < 5000; m += 1 + m / 8)
        for (std::int64_t n = 1; n < 5000; n += 1 + n / 8) {
          if (!qr_block_holds(bytes, m, n, shared)) continue;
          QrBlock const c = qr_block_plan(bytes);
          int const threads = qr_block_threads(bytes, m, n, shared);
          ASSERT_EQ(threads % 32, 0);
          ASSERT_LE(threads, c.most_threads) << m << " by " << n;
          ASSERT_GE(threads / c.lanes * c.rows_of_group(), m) << m << " by " << n;
        }
    }
}

}  // namespace
}  // namespace myriad
