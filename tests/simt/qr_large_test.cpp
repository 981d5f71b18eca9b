/// QR of matrices beyond 32 rows on the host twin: against the definition, and against the CPU's results.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <vector>

#include "myriad/myriad.hpp"
#include "qr/block/qr_block.cuh"
#include "qr/block/qr_block_plan.hpp"
#include "runtime/views.hpp"
#include "simt_host/host.hpp"
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
/// C = H(k) C or its adjoint, of the reflector in column k of `v`.
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
  [[nodiscard]] QrBlockArguments<gpu::DeviceElement<T>> arguments() {
    Batch<T> plain_a = a.view, plain_tau = tau.view;
    plain_a.conjugated = false;
    plain_tau.conjugated = tau.view.conjugated != a.view.conjugated;
    return {.a = gpu::matrices_of(plain_a), .tau = gpu::matrices_of(plain_tau), .scales = true};
  }
  template <QrBlock c>
  void run_config(long long blocks) {
    QrBlockMemory const memory(c, sizeof(T), wanted.m, wanted.n);
    simt::run(blocks, c.threads, static_cast<int>(memory.bytes), qr_block<gpu::DeviceElement<T>, c>, arguments());
  }
  void by_block(long long blocks = 2) {
    constexpr auto configs = qr_block_configs(sizeof(T));
    QrBlock const c = qr_block_plan(sizeof(T), wanted.m);
    c == configs[0] ? run_config<configs[0]>(blocks) : c == configs[1] ? run_config<configs[1]>(blocks) : run_config<configs[2]>(blocks);
  }

  /// A = Q R and unitary reflectors; what is not A is as it was.
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

template <typename T>
class QrLarge : public testing::Test {};
using Types = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(QrLarge, Types);

TYPED_TEST(QrLarge, ByBlock) {
  using T = TypeParam;
  struct Size {
    int m, n;
  };
  int turn = 0;
  for (auto const [m, n] : {Size{33, 33}, {64, 50}, {65, 3}, {1, 40}, {40, 1}, {8, 70}, {128, 33}, {129, 30}, {33, 65}, {600, 5}})
    for (Layout const layout : layouts)
      for (bool const ragged : {false, true}) {
        if (ragged && layout == Layout::interleaved) continue;
        if (++turn % (sanitized ? 7 : 2) != 0) continue;
        Wanted const wanted{.m = m,
                            .n = n,
                            .count = ragged ? 5 : 2,
                            .layout = ragged ? ragged_layout(layout) : layout,
                            .ragged = ragged,
                            .conjugated = layout == Layout::dense_rows,
                            .transposed = layout == Layout::columns};
        SCOPED_TRACE(testing::Message() << wanted);
        Problem<T> problem(wanted);
        problem.by_block();
        problem.check();
      }
}

/// Matrices beside each other that need paths of their own: NaN, zeros, nothing to eliminate, elements near the ends of the range. The
/// others have the bits that they have without such neighbours.
template <typename T, typename Run>
void check_special(int m, int n, Run run) {
  using R = Real<T>;
  Wanted const wanted{.m = m, .n = n, .count = 9, .layout = Layout::packed_columns};
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
  problem.before = problem.a.memory;
  run(problem);
  run(ordinary);
  problem.check({1});
  for (std::int64_t b : {0, 8}) {
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
  check_special<TypeParam>(300, 4, [](auto& problem) { problem.by_block(); });
}
/// The signs and the bits of the parts of LAPACK's factors, but for rounding.
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

}  // namespace
}  // namespace myriad
