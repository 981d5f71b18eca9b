/// gesvd of matrices that svd_tiny does not take, on the host twin: tall, wide, square, narrow and much taller matrices, all jobs, in every
/// layout, ragged batches with all kinds and empty ones, scales near the ends of the range, NaN, low rank.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "gesvd_machine.hpp"
#include "myriad/myriad.hpp"
#include "runtime/views.hpp"
#include "sizes.hpp"
#include "stored.hpp"
#include "svd/bdsdc/bdsdc_leaves.cuh"
#include "svd/bdsdc/bdsdc_merge.cuh"
#include "svd/bdsdc/bdsdc_values.cuh"
#include "svd/bdsdc/bdsdc_values_block.cuh"
#include "svd/bidiagonal/gebrd_panels.cuh"
#include "svd/svd_block.cuh"
#include "svd/svd_tiny.cuh"

namespace myriad {
namespace {

using Complex = std::complex<double>;

template <typename T>
Complex value_of(Batch<T> const& view, std::int64_t b, std::int64_t i, std::int64_t j) {
  Complex const x = *view.at(b, i, j);
  return view.conjugated ? std::conj(x) : x;
}

/// Orders of small R in these tests; in ragged batches those are upper bounds.
inline constexpr int small_orders[] = {10, 32};

template <typename T>
HostMachine machine_of_gesvd() {
  using D = gpu::DeviceElement<T>;
  using R = Real<T>;
  constexpr Dtype dtype = dtype_of<T>;
  HostMachine machine = gesvd_machine<T>(5);
  auto const add = [&](gpu::KernelName const& kernel, auto function) { machine.add(gpu::source_of(kernel, dtype), function); };
  auto const add_real = [&](auto function) {
    return [&machine, function](auto const&... kernel) { machine.add(gpu::source_of(kernel...), function); };
  };
  [&]<std::size_t... k>(std::index_sequence<k...>) {
    auto const add_small = [&]<SvdTiny c>() { machine.add(gpu::source_of(svd_tiny_kernel, dtype, c), svd_tiny<D, c>); };
    (add_small.template operator()<svd_tiny_plan(SvdJob::thin, dtype, small_orders[k], small_orders[k])>(), ...);
    add_small.template operator()<svd_tiny_plan(SvdJob::values, dtype, 32, 32)>();
  }
  (std::make_index_sequence<std::size(small_orders)>());
  static constexpr SvdBlock block = svd_block_of(dtype, 0);
  machine.add(gpu::source_of(svd_block_kernel, dtype, block), svd_block<D, block>);
  [&]<std::size_t... k>(std::index_sequence<k...>) {
    [[maybe_unused]] auto const add_warp = [&]<SvdTiny c>() { machine.add(gpu::source_of(svd_tiny_kernel, dtype, c), svd_tiny<D, c>); };
    (add_warp.template operator()<svd_warp_of(dtype, k)>(), ...);
  }
  (std::make_index_sequence<svd_warp_count(dtype)>());
  add(gebrd_measure_kernel, gebrd_measure<D>);
  add(gebrd_load_kernel, gebrd_load<D>);
  add(gebrd_store_kernel, gebrd_store<D>);
  add(gebrd_step_kernel, gebrd_step<D>);
  static constexpr GebrdRows stream = gebrd_stream_plan(sizeof(T), 60);
  machine.add(gpu::source_of(gebrd_stream_kernel, dtype, stream), gebrd_stream<D, stream>);
  using Kernel = void (*)(BdsdcWork<R>);
  constexpr Kernel kernels[bdsdc_steps] = {bdsdc_load<R>,   bdsdc_leaves<R>, bdsdc_sort<R>, bdsdc_deflate<R>, bdsdc_rotate<R>,
                                           bdsdc_gather<R>, bdsdc_roots<R>,  bdsdc_fit<R>,  bdsdc_vectors<R>, bdsdc_order<R>};
  for (int step = 0; step < bdsdc_steps; ++step) add_real(kernels[step])(bdsdc_kernel(static_cast<BdsdcStep>(step)), dtype_of<R>);
  add_real(bdsdc_square<R>)(bdsdc_square_kernel, dtype_of<R>);
  add_real(bdsdc_points<R>)(bdsdc_points_kernel, dtype_of<R>);
  add_real(bdsdc_bisect<R>)(bdsdc_bisect_kernel, dtype_of<R>);
  add_real(bdsdc_order_values<R>)(bdsdc_order_values_kernel, dtype_of<R>);
  add_real(bdsdc_values_block<R>)(bdsdc_values_block_kernel, dtype_of<R>);
  return machine;
}

struct Wanted {
  int m, n;
  SvdJob job = SvdJob::thin;
  std::int64_t count = 1;
  Layout layout = Layout::packed_columns;
  bool ragged = false, conjugated = false;
};

template <typename T>
struct Problem {
  using R = Real<T>;
  Wanted wanted;
  std::int64_t k;
  Stored<T> a, u, vt;
  Stored<R> s;
  std::vector<std::int64_t> rows, cols, u_cols, vt_rows;
  std::vector<T> before;
  std::vector<int> info;

  explicit Problem(Wanted const& w, unsigned seed = 1)
      : wanted(w),
        k(std::min(w.m, w.n)),
        a(w.m, w.n, w.count, w.layout),
        u(w.m, w.job == SvdJob::full ? w.m : static_cast<int>(k), w.count, w.layout),
        vt(w.job == SvdJob::full ? w.n : static_cast<int>(k), w.n, w.count, w.layout),
        s(static_cast<int>(k), 1, w.count, w.layout == Layout::interleaved ? w.layout : Layout::columns),
        info(static_cast<std::size_t>(w.count), -7) {
    for (std::int64_t b = 0; b < w.count; ++b) {
      rows.push_back(b == 0 ? w.m : b == 2 ? 0 : (b * 37 + 21) % (w.m + 1));
      cols.push_back(b == 0 ? w.n : b == 3 ? 0 : (b * 23 + 15) % (w.n + 1));
      std::int64_t const here = std::min(rows.back(), cols.back());
      u_cols.push_back(w.job == SvdJob::full ? rows.back() : here);
      vt_rows.push_back(w.job == SvdJob::full ? cols.back() : here);
    }
    if (w.ragged) {
      a.view.row_sizes = u.view.row_sizes = rows.data();
      a.view.col_sizes = vt.view.col_sizes = cols.data();
      u.view.col_sizes = u_cols.data();
      vt.view.row_sizes = vt_rows.data();
    }
    // Each output is conjugated or not.
    if (w.conjugated) a.view.conjugated = u.view.conjugated = is_complex<T>;
    fill(a.memory, seed);
    for (auto* const x : {&u.memory, &vt.memory}) std::fill(x->begin(), x->end(), T(7));
    std::fill(s.memory.begin(), s.memory.end(), R(7));
    before = a.memory;
  }
  Problem(Problem const&) = delete;

  [[nodiscard]] GesvdTask<T> task() {
    return {.job = wanted.job,
            .a = a.view,
            .s = s.view,
            .u = wants_u(wanted.job) ? u.view : Batch<T>{},
            .vt = wants_vt(wanted.job) ? vt.view : Batch<T>{},
            .info = info.data()};
  }
  /// `workspace`: bytes that limit the number of matrices at a time.
  void run(std::int64_t workspace = gesvd_workspace) {
    before = a.memory;
    HostMachine machine = machine_of_gesvd<T>();
    gesvd_by_steps<T>(machine, task(), gesvd_tiny_most, 0, workspace);
  }
  /// Runs gesvd by the size of each matrix: svd_tiny, by groups or a warp each, svd_block, or bidiagonalization
  void run_by_sizes() {
    before = a.memory;
    HostMachine machine = machine_of_gesvd<T>();
    gesvd_by_sizes<T>(machine, task(), svd_block_of(dtype_of<T>, 0).size);
  }
  [[nodiscard]] R value(std::int64_t b, std::int64_t i) const { return *s.view.at(b, i, 0); }
  [[nodiscard]] Complex input(std::int64_t b, std::int64_t i, std::int64_t j) const {
    Complex const x = before[static_cast<std::size_t>(a.view.at(b, i, j) - a.memory.data())];
    return a.view.conjugated ? std::conj(x) : x;
  }

  /// A = U S V^H, orthonormal vectors, descending values, and nothing else written.
  void check() {
    double const epsilon = std::numeric_limits<R>::epsilon();
    auto expected_u = std::vector<T>(u.memory.size(), T(7)), expected_vt = std::vector<T>(vt.memory.size(), T(7));
    auto expected_s = std::vector<R>(s.memory.size(), R(7));
    for (std::int64_t b = 0; b < wanted.count; ++b) {
      std::int64_t const m = a.view.rows_of(b), n = a.view.cols_of(b), here = std::min(m, n);
      SCOPED_TRACE(testing::Message() << "matrix " << b << " of " << m << " by " << n);
      EXPECT_EQ(info[static_cast<std::size_t>(b)], 0);
      double norm = 0;
      for (std::int64_t i = 0; i < here; ++i) {
        R const value_here = value(b, i);
        ASSERT_TRUE(std::isfinite(value_here) && !std::signbit(value_here)) << i;
        ASSERT_TRUE(i == 0 || value(b, i - 1) >= value_here) << i;
        norm = std::max<double>(norm, value_here);
        expected_s[static_cast<std::size_t>(s.view.at(b, i, 0) - s.memory.data())] = value_here;
      }
      double const allowed = 10 * static_cast<double>(std::max<std::int64_t>(here, 1)) * epsilon;
      auto const orthonormal = [&](char const* name, std::int64_t vectors, std::int64_t elements, auto element) {
        for (std::int64_t i = 0; i < vectors; ++i)
          for (std::int64_t j = 0; j <= i; ++j) {
            Complex sum = i == j ? -1 : 0;
            for (std::int64_t p = 0; p < elements; ++p) sum += std::conj(element(p, i)) * element(p, j);
            ASSERT_LE(std::abs(sum), allowed) << name << ", " << i << ", " << j;
          }
      };
      orthonormal("U", u.view.cols_of(b), m, [&](auto p, auto i) { return value_of(u.view, b, p, i); });
      orthonormal("V", vt.view.rows_of(b), n, [&](auto p, auto i) { return std::conj(value_of(vt.view, b, i, p)); });
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t i = 0; i < m; ++i) {
          Complex sum = -input(b, i, j);
          for (std::int64_t p = 0; p < here; ++p)
            sum += value_of(u.view, b, i, p) * static_cast<double>(value(b, p)) * value_of(vt.view, b, p, j);
          ASSERT_LE(std::abs(sum), allowed * norm) << i << ", " << j;
        }
      auto const written = [&](auto& expected, auto const& of) {
        for (std::int64_t j = 0; j < of.view.cols_of(b); ++j)
          for (std::int64_t i = 0; i < of.view.rows_of(b); ++i)
            expected[static_cast<std::size_t>(of.view.at(b, i, j) - of.memory.data())] = *of.view.at(b, i, j);
      };
      written(expected_u, u);
      written(expected_vt, vt);
    }
    EXPECT_EQ(std::memcmp(expected_u.data(), u.memory.data(), u.memory.size() * sizeof(T)), 0) << "something else was written";
    EXPECT_EQ(std::memcmp(expected_vt.data(), vt.memory.data(), vt.memory.size() * sizeof(T)), 0) << "something else was written";
    EXPECT_EQ(std::memcmp(expected_s.data(), s.memory.data(), s.memory.size() * sizeof(R)), 0) << "something else was written";
    EXPECT_EQ(std::memcmp(before.data(), a.memory.data(), before.size() * sizeof(T)), 0) << "A was written";
  }
};

template <typename T>
class Gesvd : public testing::Test {};
using Types = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(Gesvd, Types);

TYPED_TEST(Gesvd, Shapes) {
  using T = TypeParam;
  int turn = 0;
  for (auto const [m, n] : {std::array{10, 10}, {33, 33}, {40, 35}, {34, 36}, {70, 10}, {10, 50}, {35, 57}, {58, 34}})
    for (SvdJob const job : {SvdJob::thin, SvdJob::full}) {
      Layout const layout = layouts[static_cast<std::size_t>(++turn) % layouts.size()];
      if ((turn / 2 + static_cast<int>(sizeof(T)) / 4) % (sanitized ? 4 : 2) != 0 && m * n > 1000) continue;  // types share the shapes
      SCOPED_TRACE(testing::Message() << m << " by " << n << ", job " << static_cast<char>(job) << ", layout " << static_cast<int>(layout));
      Problem<T> problem({.m = m, .n = n, .job = job, .count = m * n < 1000 ? 4 : 2, .layout = layout, .conjugated = turn % 3 == 0});
      problem.run();
      problem.check();
    }
}

/// Tall and wide matrices, much taller ones, and ones without elements, in one batch; each has the bits that it has alone.
TYPED_TEST(Gesvd, Ragged) {
  using T = TypeParam;
  using R = Real<T>;
  for (SvdJob const job : {SvdJob::thin, SvdJob::full}) {
    Problem<T> problem({.m = 60, .n = 36, .job = job, .count = 5, .layout = Layout::rows, .ragged = true});
    // Matrix 1 has a small R.
    problem.cols[1] = problem.vt_rows[1] = problem.u_cols[1] = 10;
    if (job == SvdJob::full) problem.u_cols[1] = problem.rows[1];
    problem.run();
    problem.check();
    for (std::int64_t const b : {1, 4}) {
      std::int64_t const m = problem.rows[static_cast<std::size_t>(b)], n = problem.cols[static_cast<std::size_t>(b)];
      Problem<T> alone({.m = static_cast<int>(m), .n = static_cast<int>(n), .job = job});
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t i = 0; i < m; ++i)
          *alone.a.view.at(0, i, j) = problem.before[static_cast<std::size_t>(problem.a.view.at(b, i, j) - problem.a.memory.data())];
      alone.run();
      for (std::int64_t i = 0; i < std::min(m, n); ++i) ASSERT_EQ(alone.value(0, i), problem.value(b, i));
      for (std::int64_t j = 0; j < alone.u.view.cols; ++j)
        for (std::int64_t i = 0; i < m; ++i) ASSERT_EQ(*alone.u.view.at(0, i, j), *problem.u.view.at(b, i, j));
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t i = 0; i < alone.vt.view.rows; ++i) ASSERT_EQ(*alone.vt.view.at(0, i, j), *problem.vt.view.at(b, i, j));
    }
  }
  Problem<T> values({.m = 60, .n = 36, .job = SvdJob::values, .count = 3, .layout = Layout::columns, .ragged = true});
  Problem<T> thin({.m = 60, .n = 36, .count = 3, .layout = Layout::columns, .ragged = true});
  values.run();
  thin.run();
  for (std::int64_t b = 0; b < 3; ++b) {
    EXPECT_EQ(values.info[static_cast<std::size_t>(b)], 0);
    for (std::int64_t i = 0; i < std::min(thin.rows[static_cast<std::size_t>(b)], thin.cols[static_cast<std::size_t>(b)]); ++i)
      ASSERT_NEAR(values.value(b, i), thin.value(b, i), 100 * std::numeric_limits<R>::epsilon() * thin.value(b, 0));
  }
}

/// Matrices for lanes, for a warp and for a block, and tall ones whose R is for one of these, in one batch; each has the bits that it has
/// alone.
TYPED_TEST(Gesvd, RaggedBySizes) {
  using T = TypeParam;
  Problem<T> problem({.m = 60, .n = 36, .count = 7, .ragged = true});
  problem.rows = {60, 39, 0, 20, 55, 7, 43};
  problem.cols = {36, 36, 9, 25, 10, 34, 36};
  for (std::size_t b = 0; b < 7; ++b) problem.u_cols[b] = problem.vt_rows[b] = std::min(problem.rows[b], problem.cols[b]);
  problem.run_by_sizes();
  problem.check();
  for (std::int64_t const b : {0, 1, 3, 4, 5, 6}) {
    SCOPED_TRACE(b);
    std::int64_t const m = problem.rows[static_cast<std::size_t>(b)], n = problem.cols[static_cast<std::size_t>(b)];
    Problem<T> alone({.m = static_cast<int>(m), .n = static_cast<int>(n)});
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < m; ++i)
        *alone.a.view.at(0, i, j) = problem.before[static_cast<std::size_t>(problem.a.view.at(b, i, j) - problem.a.memory.data())];
    if (std::max(m, n) <= gesvd_tiny_most) {
      HostMachine machine = machine_of_gesvd<T>();
      svd_by_lanes<T>(machine, alone.task(), gesvd_tiny_most);
    } else {
      alone.run_by_sizes();
    }
    for (std::int64_t i = 0; i < std::min(m, n); ++i) ASSERT_EQ(alone.value(0, i), problem.value(b, i));
    for (std::int64_t j = 0; j < alone.u.view.cols; ++j)
      for (std::int64_t i = 0; i < m; ++i) ASSERT_EQ(*alone.u.view.at(0, i, j), *problem.u.view.at(b, i, j));
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < alone.vt.view.rows; ++i) ASSERT_EQ(*alone.vt.view.at(0, i, j), *problem.vt.view.at(b, i, j));
  }
}

/// Two matrices at a time, of a batch with an odd number.
TYPED_TEST(Gesvd, InParts) {
  using T = TypeParam;
  for (bool const ragged : {false, true}) {
    SvdJob const job = ragged ? SvdJob::thin : SvdJob::values;
    Wanted const wanted{.m = 34, .n = 33, .job = job, .count = 3, .layout = Layout::interleaved, .ragged = ragged};
    Problem<T> at_once(wanted), in_parts(wanted);
    at_once.run();
    std::int64_t const bytes = bytes_of<GesvdWorkspace<T>>(GesvdPlan(job, 34, 33, ragged, gesvd_tiny_most), std::int64_t{1}, 1);
    in_parts.run(2 * bytes);
    EXPECT_EQ(in_parts.s.memory, at_once.s.memory);
    EXPECT_EQ(in_parts.u.memory, at_once.u.memory);
    EXPECT_EQ(in_parts.vt.memory, at_once.vt.memory);
    EXPECT_EQ(in_parts.info, at_once.info);
  }
}

/// One side only: the bits of both.
TYPED_TEST(Gesvd, OneSide) {
  using T = TypeParam;
  struct Batch {
    int m, n;
    bool ragged;
  };
  for (auto const [m, n, ragged] : {Batch{33, 34, true}, {34, 33, false}, {10, 20, false}}) {
    std::int64_t const count = ragged ? 2 : 1;
    Problem<T> thin({.m = m, .n = n, .count = count, .ragged = ragged});
    Problem<T> left({.m = m, .n = n, .job = SvdJob::left, .count = count, .ragged = ragged});
    Problem<T> right({.m = m, .n = n, .job = SvdJob::right, .count = count, .ragged = ragged});
    for (auto* const problem : {&thin, &left, &right}) problem->run();
    EXPECT_EQ(left.u.memory, thin.u.memory);
    EXPECT_EQ(right.vt.memory, thin.vt.memory);
    EXPECT_EQ(left.s.memory, thin.s.memory);
    EXPECT_EQ(right.s.memory, thin.s.memory);
    EXPECT_TRUE(std::all_of(left.vt.memory.begin(), left.vt.memory.end(), [](T x) { return x == T(7); }));
  }
}

TYPED_TEST(Gesvd, Empty) {
  using T = TypeParam;
  for (auto const [m, n] : {std::array{0, 3}, {3, 0}, {0, 0}}) {
    Problem<T> full({.m = m, .n = n, .job = SvdJob::full, .count = 2}), thin({.m = m, .n = n, .count = 2});
    full.run();
    full.check();
    thin.run();
    thin.check();
  }
}

TYPED_TEST(Gesvd, ScaleAndNaN) {
  using T = TypeParam;
  using R = Real<T>;
  int const m = 35, n = 33;
  R const factors[4] = {R(1), sizeof(R) == 4 ? R(0x1p110) : R(0x1p900), sizeof(R) == 4 ? R(0x1p-110) : R(0x1p-900), R(0)};
  Problem<T> problem({.m = m, .n = n, .count = 7, .layout = Layout::rows}), alone({.m = m, .n = n, .layout = Layout::rows});
  std::copy_n(problem.a.memory.begin(), m * n + 1, alone.a.memory.begin());
  alone.run();
  alone.check();
  for (int b = 0; b < 7; ++b)
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < m; ++i) *problem.a.view.at(b, i, j) = *alone.a.view.at(0, i, j) * (b < 4 ? factors[b] : R(1));
  *problem.a.view.at(4, 3, 5) = T(std::numeric_limits<R>::quiet_NaN());
  *problem.a.view.at(5, m - 1, n - 1) = T(std::numeric_limits<R>::infinity());
  problem.run();
  for (int b = 0; b < 7; ++b) {
    SCOPED_TRACE(b);
    bool const finite = b != 4 && b != 5;
    EXPECT_EQ(problem.info[static_cast<std::size_t>(b)], finite ? 0 : n);
    for (int i = 0; i < n; ++i) {
      if (finite)
        ASSERT_EQ(problem.value(b, i), (b < 4 ? factors[b] : R(1)) * alone.value(0, i));
      else
        ASSERT_TRUE(std::isnan(problem.value(b, i)));
    }
    auto const same = [&](Stored<T> const& of, Stored<T> const& expected) {
      for (std::int64_t j = 0; j < of.view.cols; ++j)
        for (std::int64_t i = 0; i < of.view.rows; ++i)
          ASSERT_TRUE(finite ? *of.view.at(b, i, j) == *expected.view.at(0, i, j) : std::isnan(std::real(*of.view.at(b, i, j))))
              << i << ", " << j;
    };
    if (b == 3) continue;
    same(problem.u, alone.u);
    same(problem.vt, alone.vt);
  }
}

/// Products of thin factors, equal columns, one element, zero, the identity.
TYPED_TEST(Gesvd, LowRank) {
  using T = TypeParam;
  for (auto const [m, n] : {std::array{36, 34}, {10, 40}}) {
    Problem<T> problem({.m = m, .n = n, .job = SvdJob::full, .count = 5});
    auto const at = [&](int b, int i, int j) -> T& { return *problem.a.view.at(b, i, j); };
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < m; ++i) {
        at(0, i, j) = T(static_cast<Real<T>>((i % 3 + 1) * (j % 5 - 2)));
        at(1, i, j) = j > 0 ? at(1, i, 0) : at(1, i, j);
        at(2, i, j) = T(i == 5 && j == 7 ? 3 : 0);
        at(3, i, j) = T(0);
        at(4, i, j) = T(i == j ? 1 : 0);
      }
    problem.run();
    problem.check();
    for (int i = 0; i < std::min(m, n); ++i) {
      EXPECT_EQ(problem.value(2, i), i == 0 ? 3 : 0);
      EXPECT_EQ(problem.value(3, i), 0);
      EXPECT_EQ(problem.value(4, i), 1);
    }
  }
}

}  // namespace
}  // namespace myriad
