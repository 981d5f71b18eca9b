/// The reduction to bidiagonal form on the host twin: matrices in registers and by panels, tall, wide, ragged, in every layout, with scales
/// near the ends of the range and NaN. A = Q B P^H is checked with the reflectors as LAPACK defines them; Q and P are formed and applied.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "myriad/myriad.hpp"
#include "reflectors/reflectors_panels.cuh"
#include "simt_host/host.hpp"
#include "simt_host/machine.hpp"
#include "sizes.hpp"
#include "stored.hpp"
#include "svd/bidiagonal/gebrd_block.cuh"
#include "svd/bidiagonal/gebrd_blocked.hpp"
#include "svd/bidiagonal/gebrd_panels.cuh"

namespace myriad {
namespace {

template <typename T>
constexpr Real<T> nan_of = std::numeric_limits<Real<T>>::quiet_NaN();
using Complex = std::complex<double>;

/// A dense matrix of more precision than T.
struct Dense {
  std::int64_t m, n;
  std::vector<Complex> x;
  Dense(std::int64_t rows, std::int64_t cols) : m(rows), n(cols), x(static_cast<std::size_t>(rows * cols)) {}
  Complex& operator()(std::int64_t i, std::int64_t j) { return x[static_cast<std::size_t>(i + j * m)]; }
  /// (I - tau v v^H) X, v from row `first` on
  void apply(std::vector<Complex> const& v, std::int64_t first, Complex tau) {
    for (std::int64_t j = 0; j < n; ++j) {
      Complex sum = 0;
      for (std::int64_t i = first; i < m; ++i) sum += std::conj(v[static_cast<std::size_t>(i)]) * (*this)(i, j);
      for (std::int64_t i = first; i < m; ++i) (*this)(i, j) -= tau * v[static_cast<std::size_t>(i)] * sum;
    }
  }
  [[nodiscard]] Dense adjoint() {
    Dense out(n, m);
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < m; ++i) out(j, i) = std::conj((*this)(i, j));
    return out;
  }
};

template <typename T>
Complex value_of(Batch<T> const& view, std::int64_t b, std::int64_t i, std::int64_t j) {
  Complex const x = *view.at(b, i, j);
  return view.conjugated ? std::conj(x) : x;
}

template <typename T>
T of_complex(Complex x) {
  if constexpr (is_complex<T>)
    return T(x);
  else
    return static_cast<T>(x.real());
}

template <typename T>
struct Problem {
  using D = gpu::DeviceElement<T>;
  int m, n;
  std::int64_t count;
  Stored<T> a;
  std::vector<std::int64_t> rows, cols;
  std::vector<T> before, tauq, taup;
  std::vector<Real<T>> d, e;
  int line;

  /// Matrices first, first + 1, ... of a sequence; the first is m by n, others of a ragged batch have any size up to this.
  Problem(int rows_of, int cols_of, std::int64_t count_of, Layout layout, bool ragged = false)
      : m(rows_of), n(cols_of), count(count_of), a(rows_of, cols_of, count_of, layout), line(std::min(rows_of, cols_of) + 2) {
    fill(a.memory, static_cast<unsigned>(m + 3 * n));
    for (std::int64_t b = 0; b < count; ++b) {
      rows.push_back(b == 0 ? m : (b * 37 + 5) % (m + 1));
      cols.push_back(b == 0 ? n : (b * 23 + 2) % (n + 1));
    }
    if (ragged) a.view.row_sizes = rows.data(), a.view.col_sizes = cols.data();
    for (auto* const x : {&tauq, &taup}) x->assign(static_cast<std::size_t>(line * count), T(7));
    for (auto* const x : {&d, &e}) x->assign(static_cast<std::size_t>(line * count), Real<T>(7));
    before = a.memory;
  }
  Problem(Problem const&) = delete;

  [[nodiscard]] GebrdTask<T> task() {
    std::int64_t const k = std::min(m, n);
    return {.a = a.view,
            .d = vectors(d.data(), k, count, line),
            .e = vectors(e.data(), std::max<std::int64_t>(k - 1, 0), count, line),
            .tauq = vectors(tauq.data(), k, count, line),
            .taup = vectors(taup.data(), k, count, line)};
  }
  template <std::size_t k>
  static void add_block(HostMachine& machine) {
    static constexpr GebrdBlock c = gebrd_blocks(sizeof(T), is_complex<T>).first[k];
    machine.add(gpu::source_of(gebrd_block_kernel, dtype_of<T>, c), gebrd_block<D, c>);
  }
  template <int height>
  static void add_stream(HostMachine& machine) {
    static constexpr GebrdRows c = gebrd_stream_plan(sizeof(T), height * 32);
    if constexpr (c.height == height) machine.add(gpu::source_of(gebrd_stream_kernel, dtype_of<T>, c), gebrd_stream<D, c>);
  }
  static HostMachine machine() {
    HostMachine machine;
    add_block<0>(machine);
    add_block<1>(machine);
    add_block<2>(machine);
    add_block<3>(machine);
    machine.add(gpu::source_of(gebrd_measure_kernel, dtype_of<T>), gebrd_measure<D>);
    machine.add(gpu::source_of(gebrd_load_kernel, dtype_of<T>), gebrd_load<D>);
    machine.add(gpu::source_of(gebrd_store_kernel, dtype_of<T>), gebrd_store<D>);
    machine.add(gpu::source_of(gebrd_step_kernel, dtype_of<T>), gebrd_step<D>);
    add_stream<8>(machine);
    add_stream<16>(machine);
    add_stream<32>(machine);
    machine.add(gpu::source_of(reflectors_load_kernel, dtype_of<T>), reflectors_load<D>);
    machine.add(gpu::source_of(reflectors_factor_kernel, dtype_of<T>), reflectors_factor<D>);
    machine.add(gpu::source_of(reflectors_identity_kernel, dtype_of<T>), reflectors_identity<D>);
    return machine;
  }
  /// Uses so many kernels of blocks, or as many as planned.
  void run(int blocks = -1) {
    HostMachine twin = machine();
    if (blocks >= 0)
      twin.device().shared_memory_per_block =
          blocks == 0 ? 0 : gebrd_blocks(sizeof(T), is_complex<T>).first[blocks - 1].shared_bytes(sizeof(T));
    gebrd_on<T>(twin, task());
  }

  /// Reflectors of Q, or of P, of matrix b, as LAPACK's gebrd describes them: applies them to X, the last one first.
  void apply_factor(Dense& x, std::int64_t b, bool p) {
    std::int64_t const rows_here = a.view.rows_of(b), cols_here = a.view.cols_of(b), k = std::min(rows_here, cols_here);
    bool const upper = rows_here >= cols_here;
    std::int64_t const shift = upper == p ? 1 : 0, order = p ? cols_here : rows_here;
    for (std::int64_t i = k - 1; i >= 0; --i) {
      std::vector<Complex> v(static_cast<std::size_t>(order));
      if (i + shift < order) v[static_cast<std::size_t>(i + shift)] = 1;
      for (std::int64_t r = i + shift + 1; r < order; ++r)
        v[static_cast<std::size_t>(r)] = p ? std::conj(value_of(a.view, b, i, r)) : value_of(a.view, b, r, i);
      x.apply(v, i + shift, Complex((p ? taup : tauq)[static_cast<std::size_t>(b * line + i)]));
    }
  }
  void check(double tolerance = 10) {
    std::vector<T> expected = before;
    for (std::int64_t b = 0; b < count; ++b) {
      std::int64_t const rows_here = a.view.rows_of(b), cols_here = a.view.cols_of(b), k = std::min(rows_here, cols_here);
      bool const upper = rows_here >= cols_here;
      SCOPED_TRACE(testing::Message() << "matrix " << b << " of " << rows_here << " by " << cols_here);
      auto const at = [&](std::int64_t i) { return static_cast<std::size_t>(b * line + i); };
      double largest = 0;
      for (std::int64_t j = 0; j < cols_here; ++j)
        for (std::int64_t i = 0; i < rows_here; ++i)
          largest = std::max(largest, std::abs(Complex(before[static_cast<std::size_t>(a.view.at(b, i, j) - a.memory.data())])));
      double const scale = largest > 0 ? largest : 1;
      Dense x(rows_here, cols_here);
      for (std::int64_t i = 0; i < k; ++i) {
        x(i, i) = d[at(i)] / scale;
        ASSERT_EQ(value_of(a.view, b, i, i), Complex(d[at(i)]));
        if (i + 1 == k) continue;
        (upper ? x(i, i + 1) : x(i + 1, i)) = e[at(i)] / scale;
        ASSERT_EQ(upper ? value_of(a.view, b, i, i + 1) : value_of(a.view, b, i + 1, i), Complex(e[at(i)]));
      }
      if (k > 0) {
        ASSERT_EQ((upper ? taup : tauq)[at(k - 1)], T(0));
      }
      for (std::int64_t i = k; i < line; ++i) ASSERT_TRUE(tauq[at(i)] == T(7) && taup[at(i)] == T(7) && d[at(i)] == 7);
      for (std::int64_t i = std::max<std::int64_t>(k - 1, 0); i < line; ++i) ASSERT_EQ(e[at(i)], 7);
      apply_factor(x, b, false);
      Dense adjoint = x.adjoint();
      apply_factor(adjoint, b, true);
      for (std::int64_t j = 0; j < cols_here; ++j)
        for (std::int64_t i = 0; i < rows_here; ++i) {
          auto const place = static_cast<std::size_t>(a.view.at(b, i, j) - a.memory.data());
          Complex was = before[place];
          if (a.view.conjugated) was = std::conj(was);
          double const error = std::abs(std::conj(adjoint(j, i)) - was / scale), size = std::sqrt(static_cast<double>(std::max(m, n)));
          ASSERT_LE(error, tolerance * size * std::numeric_limits<Real<T>>::epsilon()) << "element (" << i << ", " << j << ")";
          expected[place] = a.memory[place];
        }
    }
    EXPECT_EQ(std::memcmp(expected.data(), a.memory.data(), expected.size() * sizeof(T)), 0) << "something else was written";
  }
};

template <typename T>
class Bidiagonal : public testing::Test {};
using Types = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(Bidiagonal, Types);

struct Size {
  int m, n;
};

TYPED_TEST(Bidiagonal, InBlocks) {
  using T = TypeParam;
  int turn = 0;
  for (auto const [m, n] : {Size{1, 1},
                            {1, 5},
                            {5, 1},
                            {2, 2},
                            {3, 2},
                            {2, 3},
                            {8, 8},
                            {9, 7},
                            {16, 16},
                            {16, 3},
                            {4, 15},
                            {17, 17},
                            {32, 32},
                            {31, 20},
                            {18, 32},
                            {33, 33},
                            {48, 48},
                            {48, 5}})
    for (Layout const layout : layouts) {
      if (++turn % (sanitized || m > 16 ? 5 : 2) != 0) continue;
      SCOPED_TRACE(testing::Message() << m << " by " << n << ", layout " << static_cast<int>(layout));
      Problem<T> problem(m, n, m > 16 ? 2 : 7, layout);
      if (turn % 3 == 0) problem.a.view.conjugated = true;
      problem.run();
      problem.check();
    }
}
TYPED_TEST(Bidiagonal, ByPanels) {
  using T = TypeParam;
  int turn = 0;
  for (auto const [m, n] : {Size{1, 1}, {1, 5}, {5, 1}, {2, 2}, {16, 16}, {17, 17}, {33, 18}, {18, 35}, {50, 49}, {70, 40}})
    for (Layout const layout : layouts) {
      if (++turn % (sanitized ? 13 : 6) != 0) continue;
      SCOPED_TRACE(testing::Message() << m << " by " << n << ", layout " << static_cast<int>(layout));
      Problem<T> problem(m, n, 2, layout);
      if (turn % 4 == 0) problem.a.view.conjugated = true;
      problem.run(0);
      problem.check();
    }
}

/// The largest kernel, a part of whose columns is in shared memory.
TYPED_TEST(Bidiagonal, InLargestBlock) {
  using T = TypeParam;
  constexpr GebrdBlocks blocks = gebrd_blocks(sizeof(T), is_complex<T>);
  static constexpr GebrdBlock c = blocks.first[blocks.count - 1];
  if (sanitized) return;
  for (bool const wide : {false, true}) {
    int const m = c.rows() - 1, n = wide ? 9 : c.columns() / 3;
    Problem<T> problem(wide ? n : m, wide ? m : n, 1, Layout::packed_columns);
    auto const args = detail::gebrd_arguments(problem.task(), 0);
    simt::run(1, c.threads(), c.shared_bytes(sizeof(T)), gebrd_block<typename Problem<T>::D, c>, args);
    problem.check();
  }
}
/// Panels until a block holds what is left.
TYPED_TEST(Bidiagonal, ByPanelsThenInABlock) {
  using T = TypeParam;
  for (auto const [m, n] : {Size{17, 17}, {20, 40}, {49, 33}, {32, 32}, {60, 10}}) {
    if (sanitized && m > 20) continue;
    Problem<T> problem(m, n, 2, m % 2 == 0 ? Layout::dense_rows : Layout::columns);
    if (m == 49) problem.a.view.conjugated = true;
    problem.run(m == 49 ? 2 : 1);
    problem.check();
  }
}
/// Steps of rows in slabs and columns in chunks.
TYPED_TEST(Bidiagonal, ByPanelsInSlabs) {
  using T = TypeParam;
  for (auto const [m, n] : {Size{1100, 3}, {3, 300}, {700, 2}}) {
    Problem<T> problem(m, n, 1, m > n ? Layout::packed_rows : Layout::columns);
    problem.run(0);
    problem.check();
  }
}

/// Matrix b of a problem, and its results, as it was before; alone, in the layout of columns.
template <typename T>
void compare_alone(Problem<T>& problem, std::int64_t b, int blocks) {
  auto const rows_here = static_cast<int>(problem.a.view.rows_of(b)), cols_here = static_cast<int>(problem.a.view.cols_of(b));
  Problem<T> alone(rows_here, cols_here, 1, Layout::packed_columns);
  auto const place = [&](std::int64_t i, std::int64_t j) {
    return static_cast<std::size_t>(problem.a.view.at(b, i, j) - problem.a.memory.data());
  };
  for (std::int64_t j = 0; j < cols_here; ++j)
    for (std::int64_t i = 0; i < rows_here; ++i) *alone.a.view.at(0, i, j) = problem.before[place(i, j)];
  alone.run(blocks);
  std::size_t different = 0;
  auto const compare = [&](auto const& x, auto const& y) { different += std::memcmp(&x, &y, sizeof x) != 0; };
  for (std::int64_t j = 0; j < cols_here; ++j)
    for (std::int64_t i = 0; i < rows_here; ++i) compare(problem.a.memory[place(i, j)], *alone.a.view.at(0, i, j));
  int const k = std::min(rows_here, cols_here);
  for (int i = 0; i < k; ++i) {
    auto const at = static_cast<std::size_t>(b * problem.line + i), to = static_cast<std::size_t>(i);
    compare(problem.d[at], alone.d[to]);
    if (i + 1 < k) compare(problem.e[at], alone.e[to]);
    compare(problem.tauq[at], alone.tauq[to]);
    compare(problem.taup[at], alone.taup[to]);
  }
  EXPECT_EQ(different, 0U) << "matrix " << b << " of " << rows_here << " by " << cols_here;
}

/// Every way from small blocks to panels in one batch; each matrix has the bits that it has alone, in any layout.
TYPED_TEST(Bidiagonal, RaggedInEveryLayout) {
  using T = TypeParam;
  int turn = 0;
  for (Layout const layout : layouts) {
    if (layout == Layout::interleaved) continue;
    for (auto const [m, n, blocks] : {std::array{40, 37, 1}, {47, 48, -1}, {20, 45, 0}}) {
      if (++turn % (sanitized ? 6 : 4) != 0) continue;
      SCOPED_TRACE(testing::Message() << m << " by " << n << ", layout " << static_cast<int>(layout));
      Problem<T> problem(m, n, 9, ragged_layout(layout), true);
      problem.run(blocks);
      problem.check();
      for (std::int64_t const b : {0, 5}) compare_alone(problem, b, blocks);
    }
  }
}
/// The kernel for columns of more rows makes the same sums.
TYPED_TEST(Bidiagonal, SameBitsBesideMoreRows) {
  using T = TypeParam;
  Problem<T> problem(270, 9, 6, Layout::ragged_columns, true);
  problem.run(0);
  problem.check();
  compare_alone(problem, 5, 0);
}
TYPED_TEST(Bidiagonal, SameBitsInEveryLayout) {
  using T = TypeParam;
  for (int const blocks : {-1, 0})
    for (Layout const layout : {Layout::interleaved, Layout::dense_rows, Layout::columns}) {
      if (sanitized && layout != Layout::interleaved) continue;
      Problem<T> problem(19, 18, 2, layout);
      problem.run(blocks);
      for (std::int64_t b = 0; b < 2; ++b) compare_alone(problem, b, blocks);
    }
}
TYPED_TEST(Bidiagonal, EmptyBatches) {
  using T = TypeParam;
  for (auto const [m, n, count] : {std::array{0, 4, 2}, {4, 0, 2}, {3, 3, 0}}) {
    Problem<T> problem(m, n, count, Layout::packed_columns);
    problem.run();
    EXPECT_EQ(problem.a.memory, problem.before);
  }
}

/// NaN and infinity spoil all results of their matrix, and nothing else.
TYPED_TEST(Bidiagonal, NotANumber) {
  using T = TypeParam;
  for (int const blocks : {-1, 0, 1})
    for (auto const [m, n] : {Size{9, 7}, {7, 18}})
      for (Real<T> const bad : {nan_of<T>, std::numeric_limits<Real<T>>::infinity()}) {
        if (sanitized && (m == 9) == std::isnan(bad)) continue;
        Problem<T> problem(m, n, 3, Layout::packed_columns);
        *problem.a.view.at(1, m - 2, n - 3) = T(bad);
        problem.before = problem.a.memory;
        problem.run(blocks);
        for (std::int64_t j = 0; j < n; ++j)
          for (std::int64_t i = 0; i < m; ++i) EXPECT_TRUE(std::isnan(std::real(*problem.a.view.at(1, i, j))));
        int const k = std::min(m, n);
        for (int i = 0; i < k; ++i) {
          auto const at = static_cast<std::size_t>(problem.line + i);
          EXPECT_TRUE(std::isnan(problem.d[at]) && std::isnan(std::real(problem.tauq[at])) && std::isnan(std::real(problem.taup[at])));
          EXPECT_TRUE(i + 1 == k || std::isnan(problem.e[at]));
        }
        compare_alone(problem, 0, blocks);
        compare_alone(problem, 2, blocks);
      }
}

/// Zero columns and rows, low rank, columns near underflow, and matrices near both ends of the range.
TYPED_TEST(Bidiagonal, HardCases) {
  using T = TypeParam;
  using R = Real<T>;
  R const tiny = std::numeric_limits<R>::min(), huge = std::numeric_limits<R>::max();
  for (int const blocks : {-1, 0, 1})
    for (auto const [m, n] : {Size{7, 5}, {17, 19}})
      for (int const kind : {0, 1, 2, 3, 4, 5, 6, 7}) {
        if ((m + kind + blocks) % (sanitized ? 5 : 2) != 0 || (blocks == 1 && m < 16)) continue;
        SCOPED_TRACE(testing::Message() << m << " by " << n << ", kind " << kind << (blocks == 0 ? " by panels" : ""));
        Problem<T> problem(m, n, 2, Layout::packed_columns);
        for (std::int64_t b = 0; b < 2; ++b)
          for (std::int64_t j = 0; j < n; ++j)
            for (std::int64_t i = 0; i < m; ++i) {
              T& x = *problem.a.view.at(b, i, j);
              switch (kind) {
                case 0:
                  x = T(0);
                  break;
                case 1:
                  x = T(1);
                  break;  // of rank one
                case 2:
                  x = i == j ? x : T(0);
                  break;
                case 3:
                  x = j == 0 || i == 2 ? T(0) : x;
                  break;
                case 4:
                  x *= j % 2 == 0 ? tiny : R(1);
                  break;
                case 5:
                  x *= huge / 16;
                  break;
                case 6:
                  x *= tiny / 16;
                  break;
                default:
                  x *= i < 2 ? R(1) : std::numeric_limits<R>::epsilon() * tiny;
                  break;
              }
            }
        problem.before = problem.a.memory;
        problem.run(blocks);
        // Elements below the smallest normal number have few digits; ones have a norm far above their largest element.
        problem.check(kind == 6 ? 1e3 : kind == 1 ? 40 : 10);
      }
}

/// Matrices of small integers, most of them of lower rank: columns, rows and products of columns become zero or rounding errors while other
/// elements stay large.
TYPED_TEST(Bidiagonal, SmallIntegers) {
  using T = TypeParam;
  std::mt19937 random(11);
  auto const below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  auto const unit = [&] {
    int const turns = is_complex<T> ? below(4) : 2 * below(2);
    return of_complex<T>(turns % 2 == 0 ? Complex(1 - turns, 0) : Complex(0, 2 - turns));
  };
  int turn = 0;
  for (int const blocks : {-1, 0, 1})
    for (auto const [m, n] : {Size{2, 2}, {3, 3}, {5, 5}, {4, 7}, {8, 5}, {5, 8}, {12, 12}, {9, 3}, {33, 33}, {33, 12}, {10, 33}}) {
      bool const large = m > 16 || n > 16;
      if (large ? ++turn % (sanitized ? 9 : 3) != 0 : blocks == 1) continue;
      Layout const layout = (m + n) % 3 == 0 ? Layout::packed_columns : Layout::interleaved;
      SCOPED_TRACE(testing::Message() << m << " by " << n << ", blocks " << blocks);
      Problem<T> problem(m, n, large || sanitized ? 4 : blocks == 0 ? 8 : 40, layout);
      for (std::int64_t b = 0; b < problem.count; ++b) {
        // Units in an interval of each row; all rows but few are multiples of others, or of the first; or a product of rank two.
        auto const kind = b % 4;
        Dense x(m, n);
        std::vector<T> of_columns(static_cast<std::size_t>(n));
        for (T& factor : of_columns) factor = unit();
        for (int i = 0; i < m; ++i) {
          int const from = below(n), to = from + below(n - from), second = below(3) - 1;
          int const other = kind == 1 && i > 1 + b % 3 ? below(i) : kind == 2 && i > 0 ? 0 : -1;
          Complex const of_row = unit();
          for (int j = 0; j < n; ++j) {
            Complex const own = of_row * Complex(of_columns[static_cast<std::size_t>(j)]);
            x(i, j) = other >= 0 ? of_row * x(other, j) : kind == 3 ? own + (j % 3 == 0 ? second : 0.0) : j >= from && j <= to ? own : 0;
            *problem.a.view.at(b, i, j) = of_complex<T>(x(i, j));
          }
        }
      }
      problem.before = problem.a.memory;
      problem.run(blocks);
      problem.check(40);
    }
}

/// Q and P are formed and applied, for tall and wide matrices in one ragged batch.
TYPED_TEST(Bidiagonal, FormsAndAppliesFactors) {
  using T = TypeParam;
  for (bool const ragged : {false, true})
    for (auto const [m, n] : {Size{20, 13}, {9, 9}, {11, 19}})
      for (bool const p : {false, true}) {
        SCOPED_TRACE(testing::Message() << m << " by " << n << (p ? ", P" : ", Q") << (ragged ? ", ragged" : ""));
        Problem<T> problem(m, n, 3, ragged ? Layout::ragged_columns : Layout::packed_columns, ragged);
        problem.run();
        auto const order = [&](std::int64_t b) { return p ? problem.a.view.cols_of(b) : problem.a.view.rows_of(b); };
        int const most = p ? n : m;
        Batch<T> const tau = vectors(p ? problem.taup.data() : problem.tauq.data(), std::min(m, n), 3, problem.line);
        RaggedSize const k = p        ? (ragged ? RaggedSize(m, problem.rows.data()) : RaggedSize(m))
                             : ragged ? RaggedSize(n, problem.cols.data())
                                      : RaggedSize(n);
        Batch<T> const reflectors = p ? conjugate_transposed(problem.a.view) : problem.a.view;
        Vect const vect = p ? Vect::p : Vect::q;
        // All columns of the factor, in a square that begins with the reflectors.
        Stored<T> square(most, most, 3, Layout::packed_columns), c(most, 4, 3, Layout::packed_columns);
        std::fill(square.memory.begin(), square.memory.end(), T(nan_of<T>));
        fill(c.memory, 3);
        std::vector<T> const c_before = c.memory;
        std::vector<std::int64_t> orders;
        for (std::int64_t b = 0; b < 3; ++b) orders.push_back(order(b));
        if (ragged) square.view.row_sizes = square.view.col_sizes = c.view.row_sizes = orders.data();
        for (std::int64_t b = 0; b < 3; ++b)
          for (std::int64_t j = 0; j < std::min(order(b), std::min(reflectors.cols_of(b), order(b))); ++j)
            for (std::int64_t i = 0; i < order(b); ++i) *square.view.at(b, i, j) = of_complex<T>(value_of(reflectors, b, i, j));
        HostMachine twin = Problem<T>::machine();
        orgbr_on<T>(twin, {.vect = vect, .k = k, .a = square.view, .tau = tau});
        bool const adjoint = m == n;
        ormbr_on<T>(twin, {.vect = vect, .adjoint = adjoint, .k = k, .a = reflectors, .tau = tau, .c = c.view});
        for (std::int64_t b = 0; b < 3; ++b) {
          Dense q(order(b), order(b)), x(order(b), 4);
          for (std::int64_t i = 0; i < order(b); ++i) q(i, i) = 1;
          problem.apply_factor(q, b, p);
          for (std::int64_t j = 0; j < order(b); ++j)
            for (std::int64_t i = 0; i < order(b); ++i)
              ASSERT_LE(std::abs(q(i, j) - value_of(square.view, b, i, j)), 100 * std::numeric_limits<Real<T>>::epsilon())
                  << "matrix " << b << ", element (" << i << ", " << j << ")";
          for (std::int64_t j = 0; j < 4; ++j)
            for (std::int64_t i = 0; i < order(b); ++i) {
              Complex sum = 0;
              for (std::int64_t l = 0; l < order(b); ++l)
                sum += (adjoint ? std::conj(q(l, i)) : q(i, l)) *
                       Complex(c_before[static_cast<std::size_t>(c.view.at(b, l, j) - c.memory.data())]);
              ASSERT_LE(std::abs(sum - value_of(c.view, b, i, j)), 300 * std::numeric_limits<Real<T>>::epsilon());
            }
        }
      }
}

}  // namespace
}  // namespace myriad
