/// pinv, gelsd, matrix_rank, cond and norm2 on the host twin, compared with the CPU library: tall, wide and square matrices, ranks, scales
/// near the ends of the range, NaN, every layout, ragged batches, parts of a batch. The CPU library decomposes the matrices.

#include "svd/by_svd.cuh"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <vector>

#include "myriad/myriad.hpp"
#include "simt_host/machine.hpp"
#include "stored.hpp"
#include "svd/by_svd.hpp"

namespace myriad {
namespace {

template <typename T>
void on_twin(BySvdTask<T> const& task, std::int64_t workspace = by_svd_workspace) {
  using D = gpu::DeviceElement<T>;
  HostMachine machine;
  auto const add = [&](gpu::KernelName const& kernel, auto function) { machine.add(gpu::source_of(kernel, dtype_of<T>), function); };
  add(by_svd_largest_kernel, by_svd_largest<D>);
  add(by_svd_scales_kernel, by_svd_scales<D>);
  add(by_svd_load_kernel, by_svd_load<D>);
  add(by_svd_numbers_kernel, by_svd_numbers<D>);
  add(by_svd_divide_kernel, by_svd_divide<D>);
  add(by_svd_write_kernel, by_svd_write<D>);
  Queue queue({.backend = Backend::cpu, .threads = 1});
  by_svd<T>(
      machine, [&](GesvdTask<T> const& t) { gesvd<T>(queue, t.job, t.a, t.s, t.u, t.vt, t.info); }, task, workspace);
}

struct Wanted {
  int m, n, columns;
  Layout layout = Layout::packed_columns;
  bool ragged = false, conjugated = false;
};

/// Seven matrices: random; of rank two; zero; with NaN; scaled up; scaled down; with a column of zeros.
template <typename T>
struct Problem {
  using R = Real<T>;
  static constexpr std::int64_t count = 7;
  static constexpr int up = sizeof(R) == 4 ? 110 : 900, down = sizeof(R) == 4 ? -135 : -1060;

  Wanted wanted;
  int k, most;
  Stored<T> a, b, x;
  Stored<R> s;
  std::vector<std::int64_t> rows, cols, longer;
  std::vector<int> rank, info;
  std::vector<R> cond, norm2;

  explicit Problem(Wanted const& w)
      : wanted(w),
        k(std::min(w.m, w.n)),
        most(std::max(w.m, w.n)),
        a(w.m, w.n, count, w.layout),
        b(most, w.columns, count, w.layout),
        x(w.n, w.m, count, w.layout),
        s(k, 1, count, w.layout == Layout::interleaved ? w.layout : Layout::columns),
        rank(count, -7),
        info(count, -7),
        cond(count, R(-7)),
        norm2(count, R(-7)) {
    fill(a.memory, 1);
    fill(b.memory, 2);
    std::fill(x.memory.begin(), x.memory.end(), T(7));
    std::fill(s.memory.begin(), s.memory.end(), R(7));
    for (std::int64_t q = 0; q < count; ++q) {
      rows.push_back(q == 0 ? w.m : q == 3 ? std::min(w.m, 1) : w.m - std::min<std::int64_t>(q % 5, w.m));
      cols.push_back(q == 0 ? w.n : w.n - std::min<std::int64_t>(q * 3 % 4, w.n));
      if (w.ragged && q == 6) cols.back() = 0;
      longer.push_back(std::max(rows.back(), cols.back()));
    }
    auto const at = [&](auto const& of, std::int64_t q, std::int64_t i, std::int64_t j) -> T& { return *of.view.at(q, i, j); };
    for (int j = 0; j < w.n; ++j)
      for (int i = 0; i < w.m; ++i) {
        at(a, 1, i, j) = T(static_cast<R>((i % 3 + 1) * (j % 4 - 2) + (i + 1) * (j % 2)));
        at(a, 2, i, j) = T(0);
        at(a, 4, i, j) *= std::ldexp(R(1), up);
        at(a, 5, i, j) *= std::ldexp(R(1), down);
        if (j == 1) at(a, 6, i, j) = T(0);
      }
    if (k > 0) at(a, 3, 0, 0) = T(std::numeric_limits<R>::quiet_NaN());
    for (int j = 0; j < w.columns; ++j)
      for (int i = 0; i < most; ++i) {
        at(b, 4, i, j) *= std::ldexp(R(1), up);
        at(b, 5, i, j) *= std::ldexp(R(1), down);
      }
    if (w.ragged) {
      a.view.row_sizes = x.view.col_sizes = rows.data();
      a.view.col_sizes = x.view.row_sizes = cols.data();
      b.view.row_sizes = longer.data();
    }
    if (w.conjugated) a.view.conjugated = x.view.conjugated = is_complex<T>;
  }
  Problem(Problem const&) = delete;
};

/// Elements that differ by more than `allowed` times the largest finite one of their matrix, or written where nothing may be.
template <typename T>
void expect_near(char const* name, Stored<T> const& got, Stored<T> const& expected, double allowed) {
  SCOPED_TRACE(name);
  using R = Real<T>;
  std::vector<T> rest = got.memory;
  for (std::int64_t q = 0; q < got.view.count; ++q) {
    R largest = 0;
    auto const for_all = [&](auto use) {
      for (std::int64_t j = 0; j < got.view.cols_of(q); ++j)
        for (std::int64_t i = 0; i < got.view.rows_of(q); ++i) use(i, j, *got.view.at(q, i, j), *expected.view.at(q, i, j));
    };
    for_all([&](auto, auto, T, T y) {
      if (std::isfinite(std::abs(y))) largest = std::max(largest, std::abs(y));
    });
    double const limit = allowed * static_cast<double>(largest);
    for_all([&](auto i, auto j, T x, T y) {
      rest[static_cast<std::size_t>(got.view.at(q, i, j) - got.memory.data())] = y;
      if (!std::isfinite(std::abs(y)))
        ASSERT_FALSE(std::isfinite(std::abs(x))) << "matrix " << q << ", " << i << ", " << j;
      else
        ASSERT_LE(static_cast<double>(std::abs(x - y)), limit + std::numeric_limits<R>::denorm_min())
            << "matrix " << q << ", " << i << ", " << j << ": " << x << ", expected " << y;
    });
  }
  EXPECT_EQ(std::memcmp(rest.data(), expected.memory.data(), rest.size() * sizeof(T)), 0) << "something else was written";
}

template <typename T>
class BySvdOnTwin : public testing::Test {};
using Types = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(BySvdOnTwin, Types);

template <typename T>
void check(Wanted const& wanted) {
  using R = Real<T>;
  SCOPED_TRACE(testing::Message() << wanted.m << " by " << wanted.n << ", " << wanted.columns << " right-hand sides, layout "
                                  << static_cast<int>(wanted.layout) << (wanted.ragged ? ", ragged" : ""));
  Queue queue({.backend = Backend::cpu, .threads = 1});
  // The condition numbers of these matrices are below a thousand.
  double const allowed = 4e4 * static_cast<double>(std::numeric_limits<R>::epsilon());
  constexpr R rcond = sizeof(R) == 4 ? R(1e-4) : R(1e-10);
  {
    Problem<T> got(wanted), expected(wanted);
    std::vector<T> const before = got.a.memory;
    on_twin<T>({.routine = "pinv",
                .n_position = 2,
                .a = got.a.view,
                .x = got.x.view,
                .cutoff = {.absolute = 0, .relative = rcond, .per_size = 0},
                .rank = got.rank.data(),
                .info = got.info.data()});
    pinv<T>(queue, expected.a.view, rcond, expected.x.view, expected.rank.data(), expected.info.data());
    expect_near("pinv", got.x, expected.x, allowed);
    EXPECT_EQ(got.rank, expected.rank);
    EXPECT_EQ(got.info, expected.info);
    EXPECT_EQ(std::memcmp(got.a.memory.data(), before.data(), before.size() * sizeof(T)), 0) << "A was written";
  }
  {
    Problem<T> got(wanted), expected(wanted);
    on_twin<T>({.routine = "gelsd",
                .n_position = 2,
                .a = got.a.view,
                .b = got.b.view,
                .x = got.b.view,
                .s = got.s.view,
                .cutoff = {.absolute = 0, .relative = rcond, .per_size = 0},
                .rank = got.rank.data(),
                .residuals = true,
                .info = got.info.data()});
    gelsd<T>(queue, expected.a.view, expected.b.view, expected.s.view, rcond, expected.rank.data(), expected.info.data());
    expect_near("gelsd", got.b, expected.b, allowed);
    EXPECT_EQ(got.rank, expected.rank);
    EXPECT_EQ(got.info, expected.info);
  }
  {
    Problem<T> got(wanted), expected(wanted);
    on_twin<T>({.routine = "cond",
                .n_position = 2,
                .a = got.a.view,
                .cutoff = {.absolute = std::ldexp(R(1), -20), .relative = rcond, .per_size = 0},
                .rank = got.rank.data(),
                .cond = got.cond.data(),
                .norm2 = got.norm2.data(),
                .info = got.info.data()});
    matrix_rank<T>(queue, expected.a.view, std::ldexp(R(1), -20), rcond, expected.rank.data(), expected.info.data());
    cond<T>(queue, expected.a.view, expected.cond.data(), nullptr);
    norm2<T>(queue, expected.a.view, expected.norm2.data(), nullptr);
    EXPECT_EQ(got.rank, expected.rank);
    EXPECT_EQ(got.info, expected.info);
    for (std::size_t q = 0; q < Problem<T>::count; ++q) {
      R const of_cond = expected.cond[q], norm = expected.norm2[q];
      bool const finite = std::isfinite(norm);
      EXPECT_EQ(std::isfinite(got.norm2[q]), finite) << q;
      EXPECT_EQ(std::isnan(got.cond[q]), std::isnan(of_cond)) << q;
      if (!finite) continue;
      EXPECT_NEAR(got.norm2[q], norm, 8 * std::numeric_limits<R>::epsilon() * norm) << q;
      if (of_cond < 1 / rcond)
        EXPECT_NEAR(got.cond[q], of_cond, allowed * of_cond) << q;
      else
        EXPECT_GE(got.cond[q], R(0.01) / rcond) << q;
    }
    if (wanted.m == 33 && wanted.n == 20) {
      int const full = std::min(wanted.m, wanted.n);
      EXPECT_EQ(got.rank, (std::vector<int>{full, 2, 0, 0, full, 0, full - 1}));
      EXPECT_EQ(got.norm2[2], R(0));
      EXPECT_EQ(got.cond[2], std::numeric_limits<R>::infinity());
      EXPECT_EQ(got.info[3], full);
    }
  }
}

TYPED_TEST(BySvdOnTwin, AgreesWithTheCpu) {
  using T = TypeParam;
  int turn = 0;
  for (auto const [m, n, columns] : {std::array{5, 5, 1}, {33, 20, 3}, {33, 40, 2}, {1, 9, 2}, {12, 1, 2}, {6, 7, 0}, {70, 66, 34}}) {
    Layout const layout = layouts[static_cast<std::size_t>(turn++) % layouts.size()];
    check<T>({.m = m, .n = n, .columns = columns, .layout = layout, .conjugated = turn % 2 == 0});
  }
}

TYPED_TEST(BySvdOnTwin, Ragged) {
  using T = TypeParam;
  for (Layout const layout : {Layout::ragged_rows, Layout::ragged_columns})
    check<T>({.m = 21, .n = 20, .columns = 2, .layout = layout, .ragged = true, .conjugated = layout == Layout::ragged_rows});
}

TYPED_TEST(BySvdOnTwin, Empty) {
  using T = TypeParam;
  for (auto const [m, n] : {std::array{0, 3}, {3, 0}, {0, 0}}) check<T>({.m = m, .n = n, .columns = 2});
}

/// A column of B times a power of two has X and a residual norm times that power, whatever the other columns are.
TYPED_TEST(BySvdOnTwin, ColumnsOfDifferentSizes) {
  using T = TypeParam;
  using R = Real<T>;
  constexpr int most = std::numeric_limits<R>::max_exponent, m = 9, n = 4;
  constexpr R nan = std::numeric_limits<R>::quiet_NaN(), infinity = std::numeric_limits<R>::infinity();
  std::array const factors{R(1), std::ldexp(R(1), -most * 3 / 5), nan, std::ldexp(R(1), most - 12), infinity, std::ldexp(R(1), 40 - most)};
  constexpr int columns = factors.size();
  for (Layout const layout : {Layout::columns, Layout::packed_rows, Layout::ragged_rows}) {
    SCOPED_TRACE(static_cast<int>(layout));
    Wanted const wanted{.m = m, .n = n, .columns = columns, .layout = layout, .ragged = layout == Layout::ragged_rows};
    Problem<T> plain(wanted), scaled(wanted);
    auto const for_first = [&](auto const& use) {
      for (int j = 0; j < columns; ++j)
        for (int i = 0; i < m; ++i) use(i, *plain.b.view.at(0, i, j), *scaled.b.view.at(0, i, j), factors[static_cast<std::size_t>(j)]);
    };
    for_first([](int, T&, T& x, R factor) { x *= factor; });
    for (auto* const problem : {&plain, &scaled})
      on_twin<T>(
          {.routine = "gelsd", .n_position = 2, .a = problem->a.view, .b = problem->b.view, .x = problem->b.view, .residuals = true});
    for_first([](int i, T expected, T x, R factor) {
      SCOPED_TRACE(testing::Message() << "row " << i << ", factor " << factor);
      if (std::isfinite(factor)) {
        EXPECT_EQ(x, expected * factor);
      } else if (i <= n) {
        EXPECT_FALSE(std::isfinite(std::abs(x)));
      }
    });
    EXPECT_NE(*plain.b.view.at(0, n, 0), T(0)) << "no residual";
  }
}

/// 1 / s(n) overflows, but X does not.
TYPED_TEST(BySvdOnTwin, QuotientsBeyondTheRange) {
  using T = TypeParam;
  using R = Real<T>;
  constexpr int tiny = sizeof(R) == 4 ? -140 : -1030;
  std::vector<T> a{T(1), T(0), T(0), T(std::ldexp(R(1), tiny))}, b{T(0), T(std::ldexp(R(3), tiny + 20)), T(5), a[3]};
  Batch<T> const sides = batch(b.data(), 2, 2, {.count = 1});
  on_twin<T>({.routine = "gelsd", .n_position = 2, .a = batch(a.data(), 2, 2, {.count = 1}), .b = sides, .x = sides, .residuals = true});
  EXPECT_EQ(b, (std::vector<T>{T(0), T(std::ldexp(R(3), 20)), T(5), T(1)}));
}

/// Three matrices at a time have the bits of all at once.
TYPED_TEST(BySvdOnTwin, InParts) {
  using T = TypeParam;
  for (bool const ragged : {false, true}) {
    Problem<T> at_once({.m = 9, .n = 7, .columns = 2, .ragged = ragged}), in_parts({.m = 9, .n = 7, .columns = 2, .ragged = ragged});
    for (auto* const problem : {&at_once, &in_parts}) {
      BySvdTask<T> const task{.routine = "gelsd",
                              .n_position = 2,
                              .a = problem->a.view,
                              .b = problem->b.view,
                              .x = problem->b.view,
                              .s = problem->s.view,
                              .cutoff = {},
                              .rank = problem->rank.data(),
                              .cond = problem->cond.data(),
                              .norm2 = problem->norm2.data(),
                              .residuals = true,
                              .info = problem->info.data()};
      std::int64_t const bytes = bytes_of<BySvdWorkspace<T>>(BySvdPlan(task), std::int64_t{1});
      on_twin(task, problem == &at_once ? by_svd_workspace : 3 * bytes);
    }
    auto const same = [](auto const& x, auto const& y) { return std::memcmp(x.data(), y.data(), x.size() * sizeof(x[0])) == 0; };
    EXPECT_TRUE(same(in_parts.b.memory, at_once.b.memory));
    EXPECT_TRUE(same(in_parts.s.memory, at_once.s.memory));
    EXPECT_TRUE(same(in_parts.cond, at_once.cond));
    EXPECT_TRUE(same(in_parts.norm2, at_once.norm2));
    EXPECT_EQ(in_parts.rank, at_once.rank);
    EXPECT_EQ(in_parts.info, at_once.info);
  }
}

}  // namespace
}  // namespace myriad
