/// Routines of small matrices near the ends of the range of floating-point numbers, on a GPU: inputs scaled by powers of two give the
/// scaled results. tests/simt/range_test.cpp tests the kernels on the host. Skipped, with the reason, without a GPU.

#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <optional>
#include <random>
#include <vector>

#include "../simt/range.hpp"
#include "myriad/memory.hpp"
#include "myriad/myriad.hpp"
#include "on_gpu.hpp"

namespace myriad {
namespace {

using namespace range;

/// A batch in pinned memory, which host and GPU reach: one m-by-n matrix per exponent.
template <typename T>
struct Pinned {
  std::vector<int> scales = exponents<Real<T>>();
  int m, n, count = static_cast<int>(scales.size());
  PinnedArray<T> memory;

  Pinned(Queue& queue, int rows, int columns) : m(rows), n(columns), memory(queue, std::int64_t{rows} * columns * count) {
    std::fill(memory.begin(), memory.end(), T(0));
  }
  [[nodiscard]] Batch<T> batch() const { return myriad::batch(memory.data(), m, n, {.count = count}); }
  [[nodiscard]] T* at(int q, int i, int j) const { return memory.data() + (static_cast<std::int64_t>(q) * n + j) * m + i; }
  [[nodiscard]] int scale(int q) const { return scales[static_cast<std::size_t>(q)]; }
  /// Scale of column j of right-hand sides
  [[nodiscard]] int scale(int q, int j) const { return scale(q) / (j % 2 + 1); }
};

template <typename T>
Pinned<T> scaled(Queue& queue, std::vector<T> const& original, int m, int n) {
  Pinned<T> out(queue, m, n);
  for (int q = 0; q < out.count; ++q)
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < m; ++i) *out.at(q, i, j) = times_power(original[static_cast<std::size_t>(i + j * m)], out.scale(q));
  return out;
}

template <typename T>
Pinned<T> right_sides(Queue& queue, int m, int rows, int columns, std::mt19937& random) {
  Pinned<T> out(queue, rows, columns);
  for (int j = 0; j < columns; ++j)
    for (int i = 0; i < m; ++i) {
      T const x = part_between<T>(random, 0.3 / std::sqrt(m), 0.6 / std::sqrt(m));
      for (int q = 0; q < out.count; ++q) *out.at(q, i, j) = times_power(x, out.scale(q, j));
    }
  return out;
}

/// Expects solutions of a system or its adjoint: x = 2^(scale of b - scale of A) times that of the first one.
template <typename T>
void expect_solutions(Pinned<T> const& a, Pinned<T> const& x, int n, char const* what) {
  for (int q = 0; q < x.count; ++q)
    for (int j = 0; j < x.n; ++j)
      expect_scaled(x.at(q, 0, j), x.at(0, 0, j), n, x.scale(q, j) - a.scale(q), std::min(a.scale(q), x.scale(q, j)), 8 * x.m, what);
}

template <typename T>
class GpuRange : public OnFirstGpu {};
using Types = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(GpuRange, Types);

TYPED_TEST(GpuRange, Lu) {
  using T = TypeParam;
  Queue& queue = *this->queue;
  for (int const n : {1, 7, 32}) {
    std::mt19937 random(static_cast<unsigned>(n));
    auto const original = dominant<T>(n, random, true);
    Pinned<T> const a = scaled(queue, original, n, n), factors = scaled(queue, original, n, n), inverses(queue, n, n);
    Pinned<T> const b = right_sides<T>(queue, n, n, 2, random), x(queue, n, 2);
    PinnedArray<int> const pivots(queue, std::int64_t{n} * a.count), info(queue, 4L * a.count);
    std::fill(info.begin(), info.end(), -7);
    solve<T>(queue, a.batch(), b.batch(), x.batch(), info.data());
    inverse<T>(queue, a.batch(), inverses.batch(), info.data() + a.count);
    getrf<T>(queue, factors.batch(), vectors(pivots.data(), n, a.count), info.data() + 2 * a.count);
    queue.wait();
    expect_solutions(a, x, n, "solve");
    for (int q = 0; q < a.count; ++q) {
      int const e = a.scale(q);
      for (int routine = 0; routine < 3; ++routine) EXPECT_EQ(info[routine * a.count + q], 0) << "2^" << e;
      expect_scaled(inverses.at(q, 0, 0), inverses.at(0, 0, 0), n * n, -e, e, n, "inverse");
      for (int j = 0; j < n; ++j) {
        EXPECT_EQ(pivots[q * n + j], pivots[j]);
        expect_scaled(factors.at(q, 0, j), factors.at(0, 0, j), j + 1, e, e, n, "U");
        if (j + 1 < n) expect_scaled(factors.at(q, j + 1, j), factors.at(0, j + 1, j), n - j - 1, 0, e, 16 * n * n, "L");
      }
    }
    // The factors also give solutions.
    getrs<T>(queue, Op::none, factors.batch(), vectors(pivots.data(), n, a.count), b.batch());
    queue.wait();
    expect_solutions(a, b, n, "getrs");
  }
}

TYPED_TEST(GpuRange, Determinants) {
  using T = TypeParam;
  using R = Real<T>;
  Queue& queue = *this->queue;
  int const top = highest<R> - 2;
  for (int const n : {1, 4, 13, 32}) {
    std::mt19937 random(static_cast<unsigned>(n));
    auto const original = dominant<T>(n, random, true);
    Pinned<T> const a(queue, n, n);
    std::vector<int> const scales{0, top, -top, top / 2, -top / 2, highest<R>, lowest<R> + 24};
    int const count = static_cast<int>(scales.size());
    ASSERT_LE(count, a.count);
    // Columns are scaled so that all determinants but the last two equal the first.
    auto const of_column = [&](int q, int j) {
      int const e = scales[static_cast<std::size_t>(q)], half = n / 2;
      if (q >= 5) return j == n / 2 ? e : 0;
      return j < half ? e : j < 2 * half ? -e : 0;
    };
    for (int q = 0; q < count; ++q)
      for (int j = 0; j < n; ++j)
        for (int i = 0; i < n; ++i) *a.at(q, i, j) = times_power(original[static_cast<std::size_t>(i + j * n)], of_column(q, j));
    PinnedArray<T> const value(queue, count), sign(queue, count);
    PinnedArray<R> const logarithm(queue, count);
    auto const some = batch(a.memory.data(), n, n, {.count = count});
    det<T>(queue, some, value.data());
    logdet<T>(queue, some, sign.data(), logarithm.data());
    queue.wait();
    for (int q = 0; q < count; ++q) {
      int total = 0;
      for (int j = 0; j < n; ++j) total += of_column(q, j);
      int const given = q == 6 ? scales[6] : 0;
      expect_scaled(&value[q], &value[0], 1, total, given, n, "det");
      expect_scaled(&sign[q], &sign[0], 1, 0, given, n, "sign");
      EXPECT_NEAR(logarithm[q], logarithm[0] + static_cast<R>(total) * std::log(R(2)),
                  4 * n * n * highest<R> * (std::numeric_limits<R>::epsilon() + static_cast<R>(std::ldexp(1.0, lowest<R> - given))));
    }
  }
}

TYPED_TEST(GpuRange, Triangles) {
  using T = TypeParam;
  Queue& queue = *this->queue;
  for (int const n : {1, 9, 32}) {
    std::mt19937 random(static_cast<unsigned>(n));
    auto const original = dominant<T>(n, random, false);
    Pinned<T> const a = scaled(queue, original, n, n), inverses = scaled(queue, original, n, n);
    Pinned<T> const b = right_sides<T>(queue, n, n, 2, random), x = right_sides<T>(queue, n, n, 1, random);
    PinnedArray<int> const info(queue, a.count);
    trsm<T>(queue, Side::left, Uplo::lower, Diag::non_unit, T(1), a.batch(), b.batch());
    trsv<T>(queue, Uplo::upper, Diag::non_unit, a.batch(), x.batch());
    trtri<T>(queue, Uplo::lower, Diag::non_unit, inverses.batch(), info.data());
    queue.wait();
    expect_solutions(a, b, n, "trsm");
    expect_solutions(a, x, n, "trsv");
    for (int q = 0; q < a.count; ++q)
      for (int j = 0; j < n; ++j) expect_scaled(inverses.at(q, j, j), inverses.at(0, j, j), n - j, -a.scale(q), a.scale(q), n, "trtri");
  }
}

TYPED_TEST(GpuRange, PositiveDefinite) {
  using T = TypeParam;
  Queue& queue = *this->queue;
  for (int const n : {1, 10, 32}) {
    std::mt19937 random(static_cast<unsigned>(n));
    auto original = dominant<T>(n, random, false);
    for (int i = 0; i < n; ++i) {
      T& x = original[static_cast<std::size_t>(i * n + i)];
      x = T(std::abs(std::real(x)));
    }
    Pinned<T> const a = scaled(queue, original, n, n);
    Pinned<T> const b = right_sides<T>(queue, n, n, 2, random), x(queue, n, 2);
    PinnedArray<int> const info(queue, 2L * a.count);
    solve_positive_definite<T>(queue, Uplo::lower, a.batch(), b.batch(), x.batch(), info.data());
    posv<T>(queue, Uplo::lower, a.batch(), b.batch(), info.data() + a.count);
    queue.wait();
    expect_solutions(a, x, n, "solve_positive_definite");
    expect_solutions(a, b, n, "posv");
    for (int q = 0; q < a.count; ++q) {
      EXPECT_EQ(info[q], 0);
      EXPECT_EQ(info[a.count + q], 0);
      for (int j = 0; a.scale(q) % 2 == 0 && j < n; ++j)
        expect_scaled(a.at(q, j, j), a.at(0, j, j), n - j, a.scale(q) / 2, a.scale(q), n, "potrf");
    }
  }
}

TYPED_TEST(GpuRange, Qr) {
  using T = TypeParam;
  Queue& queue = *this->queue;
  for (auto const& [m, n] : {std::pair{1, 1}, {4, 3}, {20, 20}, {7, 13}, {32, 12}}) {
    std::mt19937 random(static_cast<unsigned>(m + 100 * n));
    int const size = std::min(m, n), rows = std::max(m, n);
    std::vector<T> original(static_cast<std::size_t>(m * n));
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < m; ++i)
        original[static_cast<std::size_t>(i + j * m)] = part_between<T>(random, i == j ? 0.6 : 0, i == j ? 0.68 : 0.4 / m);
    Pinned<T> const a = scaled(queue, original, m, n), factors = scaled(queue, original, m, n);
    Pinned<T> const b = right_sides<T>(queue, m, rows, 2, random);
    PinnedArray<T> const tau(queue, std::int64_t{size} * a.count);
    PinnedArray<int> const info(queue, a.count);
    std::fill(info.begin(), info.end(), -7);
    geqrf<T>(queue, factors.batch(), vectors(tau.data(), size, a.count));
    gels<T>(queue, a.batch(), b.batch(), info.data());
    queue.wait();
    expect_solutions(a, b, n, "gels");
    for (int q = 0; q < a.count; ++q) {
      int const e = a.scale(q);
      EXPECT_EQ(info[q], 0) << "2^" << e;
      for (int j = 0; j < n; ++j) {
        int const above = std::min(j + 1, m);
        expect_scaled(factors.at(q, 0, j), factors.at(0, 0, j), above, e, e, 8 * m, "R");
        if (above < m) expect_scaled(factors.at(q, above, j), factors.at(0, above, j), m - above, 0, e, 128 * m, "V");
      }
      expect_scaled(&tau[q * size], &tau[0], size, 0, e, 8 * m, "tau");
    }
  }
}

TYPED_TEST(GpuRange, Eigenvalues) {
  using T = TypeParam;
  using R = Real<T>;
  Queue& queue = *this->queue;
  for (int const n : {1, 2, 25}) {
    std::mt19937 random(static_cast<unsigned>(n));
    auto original = dominant<T>(n, random, false);
    for (int i = 0; i < n; ++i) {
      T& x = original[static_cast<std::size_t>(i * n + i)];
      x = T(std::real(x));
    }
    Pinned<T> const a = scaled(queue, original, n, n);
    PinnedArray<R> const w(queue, std::int64_t{n} * a.count);
    PinnedArray<int> const info(queue, a.count);
    syevd<T>(queue, Job::vectors, Uplo::lower, a.batch(), vectors(w.data(), n, a.count), info.data());
    queue.wait();
    for (int q = 0; q < a.count; ++q) {
      EXPECT_EQ(info[q], 0);
      expect_scaled(&w[q * n], &w[0], n, a.scale(q), a.scale(q), n, "syevd");
    }
  }
}

TYPED_TEST(GpuRange, SingularValuesAndRanks) {
  using T = TypeParam;
  using R = Real<T>;
  Queue& queue = *this->queue;
  for (int const n : {1, 3, 25}) {
    std::mt19937 random(static_cast<unsigned>(n));
    auto const original = dominant<T>(n, random, true);
    Pinned<T> const a = scaled(queue, original, n, n), for_gelsd = scaled(queue, original, n, n), for_gelsy = scaled(queue, original, n, n);
    Pinned<T> const b = right_sides<T>(queue, n, n, 2, random), c(queue, n, 2), inverses(queue, n, n);
    std::copy(b.memory.begin(), b.memory.end(), c.memory.begin());
    int const count = a.count;
    PinnedArray<R> const s(queue, std::int64_t{n} * count), condition(queue, count), norm(queue, count);
    PinnedArray<int> const columns_chosen(queue, std::int64_t{n} * count), info(queue, std::int64_t{5} * count),
        rank(queue, std::int64_t{4} * count);
    std::fill(columns_chosen.begin(), columns_chosen.end(), 0);
    std::fill(info.begin(), info.end(), -7);
    pinv<T>(queue, a.batch(), R(-1), inverses.batch(), rank.data(), info.data());
    matrix_rank<T>(queue, a.batch(), R(0), R(-1), rank.data() + count, info.data() + count);
    cond<T>(queue, a.batch(), condition.data(), info.data() + 2 * count);
    norm2<T>(queue, a.batch(), norm.data(), info.data() + 3 * count);
    gelsd<T>(queue, for_gelsd.batch(), b.batch(), vectors(s.data(), n, count), R(-1), rank.data() + 2 * count, info.data() + 4 * count);
    gelsy<T>(queue, for_gelsy.batch(), c.batch(), vectors(columns_chosen.data(), n, count), R(0), rank.data() + 3 * count);
    queue.wait();
    EXPECT_TRUE(std::all_of(info.begin(), info.end(), [](int i) { return i == 0; }));
    EXPECT_TRUE(std::all_of(rank.begin(), rank.end(), [&](int r) { return r == n; }));
    expect_solutions(for_gelsd, b, n, "gelsd");
    expect_solutions(for_gelsy, c, n, "gelsy");
    for (int q = 0; q < count; ++q) {
      int const e = a.scale(q);
      expect_scaled(&s[q * n], &s[0], n, e, e, n, "singular values");
      expect_scaled(&norm[q], &norm[0], 1, e, e, n, "norm2");
      expect_scaled(&condition[q], &condition[0], 1, 0, e, 8 * n, "cond");
      expect_scaled(inverses.at(q, 0, 0), inverses.at(0, 0, 0), n * n, -e, e, 8 * n, "pinv");
    }
  }
}

/// r c a wherever it is finite, and a column of the smallest numbers in rows of the largest.
TYPED_TEST(GpuRange, Scalings) {
  using T = TypeParam;
  using R = Real<T>;
  Queue& queue = *this->queue;
  constexpr int n = 40;  // several tiles
  constexpr int h = highest<R>, l = lowest<R>;
  std::mt19937 random(5);
  auto const drawn = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  PinnedArray<R> const r(queue, n), c(queue, n);
  PinnedArray<T> const a(queue, n * n);
  for (R& x : r) x = std::ldexp(part_between<R>(random, 0.5, 0.99), drawn(l + 1, h));
  for (R& x : c) x = std::ldexp(part_between<R>(random, 0.5, 0.99), drawn(l + 1, h));
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i)
      a[i + j * n] =
          times_power(part_between<T>(random, 0.5, 0.99), std::clamp(drawn(l, h) - std::ilogb(r[i]) - std::ilogb(c[j]), l + 1, h));
  std::vector<T> const before(a.begin(), a.end());
  laqge<T>(queue, batch(a.data(), n, n, {.count = 1}), vectors(r.data(), n, 1), vectors(c.data(), n, 1));
  queue.wait();
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) {
      auto const check = [&](R x, R from) {
        long double const right = static_cast<long double>(r[i]) * c[j] * from;
        if (std::abs(right) >= static_cast<long double>(std::numeric_limits<R>::max())) return;
        EXPECT_LE(std::abs(x - right), std::abs(right) * 2.01L * std::numeric_limits<R>::epsilon() / 2 + std::ldexp(0.51L, l))
            << x << " for " << right << ", r = " << r[i] << ", c = " << c[j] << ", a = " << from;
      };
      check(std::real(a[i + j * n]), std::real(before[static_cast<std::size_t>(i + j * n)]));
      if (is_complex<T>) check(std::imag(a[i + j * n]), std::imag(before[static_cast<std::size_t>(i + j * n)]));
    }

  constexpr int small = 4;
  for (int j = 0; j < small; ++j)
    for (int i = 0; i < small; ++i) a[i + j * small] = T(j == 1 ? std::numeric_limits<R>::denorm_min() : std::numeric_limits<R>::max());
  PinnedArray<int> const info(queue, 1);
  geequ<T>(queue, batch(a.data(), small, small, {.count = 1}), vectors(r.data(), small, 1), vectors(c.data(), small, 1), nullptr, nullptr,
           nullptr, info.data());
  queue.wait();
  EXPECT_EQ(info[0], 0);
  EXPECT_EQ(c[1], std::ldexp(R(1), h - 1));
}

}  // namespace
}  // namespace myriad
