/// Scalings, backward errors and refinement of matrices of any size on the host twin: against the CPU library, in every layout, conjugated
/// views, ragged batches, and with rows of zeros, NaN and infinity.

#include "refine/refine_large.cuh"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <vector>

#include "blocked/copy_matrices.cuh"
#include "myriad/myriad.hpp"
#include "refine/refine_blocked.hpp"
#include "refine/refine_gerfs.cuh"
#include "simt_host/machine.hpp"
#include "sizes.hpp"
#include "stored.hpp"

namespace myriad {
namespace {

template <typename T>
constexpr Real<T> nan_of = std::numeric_limits<Real<T>>::quiet_NaN();
template <typename T>
constexpr Real<T> infinity_of = std::numeric_limits<Real<T>>::infinity();

Queue& cpu_queue() {
  static Queue queue({.backend = Backend::cpu, .threads = 1});
  return queue;
}

template <typename T>
HostMachine machine_with_kernels() {
  using D = gpu::DeviceElement<T>;
  HostMachine machine;
  machine.add(gpu::source_of(geequ_sizes_kernel, dtype_of<T>), geequ_sizes<D>);
  machine.add(gpu::source_of(geequ_write_kernel, dtype_of<T>), geequ_write<D>);
  machine.add(gpu::source_of(residuals_kernel, dtype_of<T>), residuals<D>);
  machine.add(gpu::source_of(backward_error_write_kernel, dtype_of<T>), backward_error_write<D>);
  machine.add(gpu::source_of(gerfs_judge_kernel, dtype_of<T>), gerfs_judge<D>);
  machine.add(gpu::source_of(gerfs_correct_kernel, dtype_of<T>), gerfs_correct<D>);
  machine.add(gpu::source_of(gerfs_sizes_kernel, dtype_of<T>), gerfs_sizes<D>);
  machine.add(gpu::source_of(gerfs_estimate_kernel, dtype_of<T>), gerfs_estimate<D>);
  machine.add(gpu::source_of(copy_matrices_kernel, dtype_of<T>), copy_matrices<D>);
  return machine;
}

struct Shape {
  int m, n;
};

template <typename T>
class RefineLarge : public testing::Test {};
using Types = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(RefineLarge, Types);

/// Sizes of a ragged batch, with zeros.
std::vector<std::int64_t> smaller_sizes(int most, std::int64_t count, int step) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t b = 0; b < count; ++b) sizes.push_back(b == 0 ? most : (b * step) % (most + 1));
  sizes.back() = 0;
  return sizes;
}

/// Scalings and the other outputs have the exact bits of the CPU library's: they are maxima and powers of two.
TYPED_TEST(RefineLarge, Geequ) {
  using T = TypeParam;
  using R = Real<T>;
  constexpr std::int64_t count = 8;
  for (Shape const s : sanitized ? std::vector<Shape>{{33, 40}} : std::vector<Shape>{{33, 33}, {40, 71}, {130, 5}, {3, 90}, {64, 32}})
    for (Layout const given : layouts)
      for (bool const ragged : {false, true}) {
        if (ragged && given == Layout::interleaved) continue;
        SCOPED_TRACE(testing::Message() << s.m << " by " << s.n << ", layout " << static_cast<int>(given) << (ragged ? ", ragged" : ""));
        Stored<T> a(s.m, s.n, count, ragged ? ragged_layout(given) : given);
        fill(a.memory, 3);
        auto const at = [&](std::int64_t b, int i, int j) -> T& { return *a.view.at(b, i, j); };
        for (int j = 0; j < s.n; ++j)
          for (int i = 0; i < s.m; ++i) at(0, i, j) *= std::ldexp(R(1), (i * 7 + j * 5) % 60 - 30);
        for (int j = 0; j < s.n; ++j) at(1, s.m - 1, j) = T(0);
        for (int i = 0; i < s.m; ++i) at(2, i, s.n / 2) = T(0);
        at(3, 1, 1) = nan_of<T>;
        at(4, 2, 0) = infinity_of<T>;
        for (int j = 0; j < s.n; ++j)
          for (int i = 0; i < s.m; ++i) at(5, i, j) = std::ldexp(R(1), std::numeric_limits<R>::min_exponent - 10) * at(5, i, j);
        at(6, 0, 0) = std::numeric_limits<R>::max();
        auto const rows_of = smaller_sizes(s.m, count, 29), cols_of = smaller_sizes(s.n, count, 31);
        if (ragged) a.view.row_sizes = rows_of.data(), a.view.col_sizes = cols_of.data();
        auto const mark = static_cast<R>(-3);
        struct Results {
          std::vector<R> r, c, rowcnd, colcnd, amax;
          std::vector<int> info;
        };
        auto const results = [&](auto use) {
          Results out{std::vector<R>(static_cast<std::size_t>(s.m * count), mark),
                      std::vector<R>(static_cast<std::size_t>(s.n * count), mark),
                      std::vector<R>(count),
                      std::vector<R>(count),
                      std::vector<R>(count),
                      std::vector<int>(count, -9)};
          auto r = vectors(out.r.data(), s.m, count), c = vectors(out.c.data(), s.n, count);
          if (ragged) r.row_sizes = rows_of.data(), c.row_sizes = cols_of.data();
          use(GeequTask<T>{.a = a.view,
                           .r = r,
                           .c = c,
                           .rowcnd = out.rowcnd.data(),
                           .colcnd = out.colcnd.data(),
                           .amax = out.amax.data(),
                           .info = out.info.data()});
          return out;
        };
        Results const now = results([](GeequTask<T> const& task) {
          HostMachine machine = machine_with_kernels<T>();
          geequ_blocked(machine, task);
        });
        Results const right = results([](GeequTask<T> const& task) {
          geequ<T>(cpu_queue(), task.a, task.r, task.c, task.rowcnd, task.colcnd, task.amax, task.info);
        });
        EXPECT_EQ(now.r, right.r);
        EXPECT_EQ(now.c, right.c);
        EXPECT_EQ(now.rowcnd, right.rowcnd);
        EXPECT_EQ(now.colcnd, right.colcnd);
        EXPECT_EQ(now.info, right.info);
        for (std::size_t b = 0; b < count; ++b)
          EXPECT_TRUE(now.amax[b] == right.amax[b] || (std::isnan(now.amax[b]) && std::isnan(right.amax[b]))) << b;
      }
}

TYPED_TEST(RefineLarge, BackwardError) {
  using T = TypeParam;
  using R = Real<T>;
  constexpr std::int64_t count = 4;
  constexpr int nrhs = 2;
  for (Shape const s : sanitized ? std::vector<Shape>{{33, 40}} : std::vector<Shape>{{33, 33}, {70, 41}, {2, 100}, {100, 7}})
    for (bool const ragged : {false, true}) {
      std::vector<R> first;
      for (Layout const given : layouts) {
        if (ragged && given == Layout::interleaved) continue;
        SCOPED_TRACE(testing::Message() << s.m << " by " << s.n << ", layout " << static_cast<int>(given) << (ragged ? ", ragged" : ""));
        Layout const layout = ragged ? ragged_layout(given) : given;
        Stored<T> a(s.m, s.n, count, layout), x(s.n, nrhs, count, layout), b(s.m, nrhs, count, layout);
        auto const rows_of = smaller_sizes(s.m, count, 29), cols_of = smaller_sizes(s.n, count, 31),
                   nrhs_of = smaller_sizes(nrhs, count, 1);
        // The same matrices in all layouts
        auto const set = [&](Stored<T>& to, unsigned seed) {
          for (std::int64_t q = 0; q < count; ++q) {
            std::vector<T> random(static_cast<std::size_t>(to.view.rows * to.view.cols));
            fill(random, seed + static_cast<unsigned>(q));
            for (std::int64_t j = 0; j < to.view.cols; ++j)
              for (std::int64_t i = 0; i < to.view.rows; ++i) *to.view.at(q, i, j) = random[static_cast<std::size_t>(i + j * to.view.rows)];
          }
        };
        set(a, 1), set(x, 20), set(b, 30);
        *a.view.at(1, s.m - 1, 0) = nan_of<T>;
        if (ragged) {
          a.view.row_sizes = b.view.row_sizes = rows_of.data();
          a.view.col_sizes = x.view.row_sizes = cols_of.data();
          x.view.col_sizes = b.view.col_sizes = nrhs_of.data();
        }
        Batch<T const> const conjugated_b = conjugated(Batch<T const>(b.view)), in_a = conjugated(Batch<T const>(a.view));
        // B = A X up to rounding, with a larger error in the last row
        for (std::int64_t q = 0; q < count; ++q)
          for (std::int64_t j = 0; j < b.view.cols_of(q); ++j)
            for (std::int64_t i = 0; i < b.view.rows_of(q); ++i) {
              std::complex<long double> sum = 0;
              for (std::int64_t k = 0; k < a.view.cols_of(q); ++k)
                sum += std::conj(std::complex<long double>(*a.view.at(q, i, k))) * std::complex<long double>(*x.view.at(q, k, j));
              sum = std::conj(sum);
              if constexpr (is_complex<T>)
                *b.view.at(q, i, j) = T(static_cast<R>(sum.real()), static_cast<R>(sum.imag()));
              else
                *b.view.at(q, i, j) = static_cast<R>(sum.real());
            }
        auto const errors = [&](auto use) {
          std::vector<R> out(nrhs * count, R(-3));
          auto berr = vectors(out.data(), nrhs, count);
          if (ragged) berr.row_sizes = nrhs_of.data();
          use(berr);
          return out;
        };
        auto const now = errors([&](Batch<R> const& berr) {
          HostMachine machine = machine_with_kernels<T>();
          backward_error_blocked(machine, BackwardErrorTask<T>{.a = in_a, .x = x.view, .b = conjugated_b, .berr = berr});
        });
        auto const right = errors([&](Batch<R> const& berr) { backward_error<T>(cpu_queue(), in_a, x.view, conjugated_b, berr); });
        for (std::size_t i = 0; i < now.size(); ++i) {
          if (std::isnan(right[i]))
            EXPECT_TRUE(std::isnan(now[i])) << i;
          else
            EXPECT_NEAR(now[i], right[i], R(1e-3) * std::abs(right[i])) << i;
        }
        if (first.empty()) first = now;
        EXPECT_EQ(std::memcmp(first.data(), now.data(), now.size() * sizeof(R)), 0) << "other bits than in another layout";
      }
    }
}

/// Solutions with an error of a thousandth: refined, they are as good as the CPU library's, and the bounds agree.
TYPED_TEST(RefineLarge, Gerfs) {
  using T = TypeParam;
  using R = Real<T>;
  constexpr std::int64_t count = 5;
  int turn = 0;
  for (int const n : sanitized ? std::vector{35} : std::vector{1, 7, 33, 66})
    for (Op const op : {Op::none, Op::transpose, Op::conjugate_transpose})
      for (bool const ragged : {false, true}) {
        Layout layout = layouts[static_cast<std::size_t>(++turn) % layouts.size()];
        if (ragged) layout = ragged_layout(layout == Layout::interleaved ? Layout::columns : layout);
        bool const interchanges = turn % 3 != 0, turned = turn % 2 == 0;
        int const nrhs = 1 + turn % 3;
        SCOPED_TRACE(testing::Message() << n << " rows, layout " << static_cast<int>(layout) << ", op " << static_cast<int>(op)
                                        << (ragged ? ", ragged" : "") << (interchanges ? "" : ", no pivots"));
        Stored<T> a(n, n, count, layout), af(n, n, count, layout), b(n, nrhs, count, layout), x(n, nrhs, count, layout);
        std::vector<int> pivots(static_cast<std::size_t>(n * count));
        auto const sizes = smaller_sizes(n, count, 29), columns = smaller_sizes(nrhs, count, 1);
        fill(a.memory, 4), fill(b.memory, 6), fill(x.memory, 7);
        auto pivot_view = vectors(pivots.data(), n, count);
        if (ragged) {
          a.view.row_sizes = a.view.col_sizes = af.view.row_sizes = af.view.col_sizes = pivot_view.row_sizes = sizes.data();
          b.view.row_sizes = x.view.row_sizes = sizes.data();
          b.view.col_sizes = x.view.col_sizes = columns.data();
        }
        for (std::int64_t q = 0; q < count; ++q)
          for (std::int64_t i = 0; i < a.view.rows_of(q); ++i)
            *a.view.at(q, i, i) += static_cast<R>(interchanges ? 1 : 10 * std::sqrt(static_cast<R>(n)));
        af.memory = a.memory;
        std::vector<int> info(count);
        interchanges ? getrf<T>(cpu_queue(), af.view, pivot_view, info.data()) : getrf_nopiv<T>(cpu_queue(), af.view, info.data());
        Batch<int const> const in_pivots = interchanges ? Batch<int const>(pivot_view) : Batch<int const>{};
        for (std::int64_t q = 0; q < count; ++q)
          for (std::int64_t j = 0; j < x.view.cols_of(q); ++j)
            for (std::int64_t i = 0; i < x.view.rows_of(q); ++i) *x.view.at(q, i, j) = *b.view.at(q, i, j);
        getrs<T>(cpu_queue(), op, af.view, in_pivots, x.view);
        for (std::int64_t q = 0; q < count; ++q)
          for (std::int64_t j = 0; j < x.view.cols_of(q); ++j)
            for (std::int64_t i = 0; i < x.view.rows_of(q); ++i) *x.view.at(q, i, j) *= R(1) + R(1e-3) * static_cast<R>((i + j) % 3);
        if (turned) x.view = conjugated(x.view), b.view = conjugated(b.view), a.view = conjugated(a.view), af.view = conjugated(af.view);
        if (n > 1) *b.view.at(1, 0, 0) = nan_of<T>;
        auto const before = x.memory;
        struct Results {
          std::vector<R> ferr, berr;
          std::vector<T> x;
        };
        auto const results = [&](auto use) {
          Results out{std::vector<R>(static_cast<std::size_t>(nrhs * count), R(-3)), {}, before};
          out.berr = out.ferr;
          auto ferr = vectors(out.ferr.data(), nrhs, count), berr = vectors(out.berr.data(), nrhs, count);
          if (ragged) ferr.row_sizes = berr.row_sizes = columns.data();
          Batch<T> solution = x.view;
          solution.data = out.x.data() + (x.view.data - x.memory.data());
          use(GerfsTask<T>{
              .op = op, .a = a.view, .af = af.view, .pivots = in_pivots, .b = b.view, .x = solution, .ferr = ferr, .berr = berr});
          return out;
        };
        Results const now = results([](GerfsTask<T> const& task) {
          HostMachine machine = machine_with_kernels<T>();
          gerfs_blocked(machine, task);
        });
        Results const right = results([](GerfsTask<T> const& task) {
          gerfs<T>(cpu_queue(), task.op, task.a, task.af, task.pivots, task.b, task.x, task.ferr, task.berr);
        });
        R const u = std::numeric_limits<R>::epsilon() / 2;
        for (std::size_t i = 0; i < now.berr.size(); ++i) {
          if (right.berr[i] == R(-3) || std::isnan(right.berr[i])) {
            EXPECT_TRUE(now.berr[i] == right.berr[i] || std::isnan(right.berr[i]) == std::isnan(now.berr[i])) << i;
            continue;
          }
          EXPECT_NEAR(now.berr[i], right.berr[i], 2 * static_cast<R>(n + 1) * u) << i;
          EXPECT_NEAR(now.ferr[i], right.ferr[i], R(0.3) * right.ferr[i]) << i;
        }
        for (std::size_t i = 0; i < before.size(); ++i) {
          if (std::memcmp(&right.x[i], &before[i], sizeof(T)) == 0 || std::isnan(std::abs(right.x[i]))) continue;
          ASSERT_LE(std::abs(now.x[i] - right.x[i]), R(1e4) * static_cast<R>(n) * u * std::max(R(1), std::abs(right.x[i]))) << i;
        }
      }
}
/// Rows and columns of very different sizes, whose backward error starts near one and falls slowly.
TYPED_TEST(RefineLarge, GerfsOfScaledSystems) {
  using T = TypeParam;
  using R = Real<T>;
  constexpr int count = sanitized ? 2 : 40;
  for (int const n : sanitized ? std::vector{33} : std::vector{4, 16, 40}) {
    Stored<T> a(n, n, count, Layout::packed_columns), b(n, 1, count, Layout::packed_columns);
    fill(a.memory, 11), fill(b.memory, 12);
    for (std::int64_t q = 0; q < count; ++q)
      for (int j = 0; j < n; ++j)
        for (int i = 0; i < n; ++i)
          *a.view.at(q, i, j) *= std::ldexp(R(1), static_cast<int>((i * 37 + q * 11) % 41 + (j * 29 + q * 7) % 41) - 40);
    auto factored = a.memory;
    auto af = batch(factored.data(), n, n, {.count = count});
    std::vector<int> pivots(static_cast<std::size_t>(n) * count), info(count);
    getrf<T>(cpu_queue(), af, vectors(pivots.data(), n, count), info.data());
    auto solution = b.memory;
    auto const x = batch(solution.data(), n, 1, {.count = count});
    getrs<T>(cpu_queue(), Op::none, af, vectors(pivots.data(), n, count), x);
    for (std::int64_t q = 0; q < count; ++q) {
      R size = 0;
      for (int i = 0; i < n; ++i) size = std::max(size, static_cast<R>(std::abs(*x.at(q, i, 0))));
      for (int i = 0; i < n; ++i) *x.at(q, i, 0) += R(1e-3) * size * static_cast<R>((i * 7 + 3) % 11) / R(11);
    }
    std::vector<R> berr(count);
    HostMachine machine = machine_with_kernels<T>();
    gerfs_blocked(machine, GerfsTask<T>{.op = Op::none,
                                        .a = a.view,
                                        .af = af,
                                        .pivots = vectors<int const>(pivots.data(), n, count),
                                        .b = b.view,
                                        .x = x,
                                        .ferr = {},
                                        .berr = vectors(berr.data(), 1, count)});
    for (R const error : berr) EXPECT_LE(error, 3 * static_cast<R>(n + 1) * std::numeric_limits<R>::epsilon() / 2) << n << " rows";
  }
}
/// No bounds requested; factors with a zero pivot leave X unchanged.
TYPED_TEST(RefineLarge, GerfsOfSingularFactors) {
  using T = TypeParam;
  using R = Real<T>;
  constexpr int n = 34, count = 2;
  Stored<T> a(n, n, count, Layout::packed_columns), af = a, b(n, 1, count, Layout::packed_columns), x = b;
  af.view.data = af.memory.data(), x.view.data = x.memory.data();
  for (int q = 0; q < count; ++q)
    for (int i = 0; i < n; ++i) {
      *a.view.at(q, i, i) = T(2);
      *af.view.at(q, i, i) = T(q == 0 && i == 20 ? 0 : 2);
      *b.view.at(q, i, 0) = T(4);
      *x.view.at(q, i, 0) = T(R(2) + R(1) / R(8));
    }
  HostMachine machine = machine_with_kernels<T>();
  gerfs_blocked(machine,
                GerfsTask<T>{.op = Op::none, .a = a.view, .af = af.view, .pivots = {}, .b = b.view, .x = x.view, .ferr = {}, .berr = {}});
  for (int i = 0; i < n; ++i) {
    EXPECT_EQ(*x.view.at(0, i, 0), T(R(2) + R(1) / R(8))) << i;
    EXPECT_EQ(*x.view.at(1, i, 0), T(2)) << i;
  }
}

}  // namespace
}  // namespace myriad
