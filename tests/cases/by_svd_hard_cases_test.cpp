/// Pseudoinverses, least squares of any rank, ranks, condition numbers and norms where these are hard: cutoffs that are met exactly, rank
/// loss, graded matrices, the ends of the range, NaN and infinity among neighbours.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "core/dtype.hpp"
#include "myriad/myriad.hpp"

namespace myriad {
namespace {

Queue& queue() {
  static Queue queue{{.backend = Backend::cpu, .threads = 2}};
  return queue;
}

/// `count` column-major matrices with their results.
template <typename T>
struct Case {
  using R = Real<T>;
  std::int64_t m, n, columns, count, k, most;
  std::vector<T> a, b, x;
  std::vector<R> s, cond, norm;
  std::vector<int> rank, info;

  Case(std::int64_t m_, std::int64_t n_, std::int64_t columns_ = 1, std::int64_t count_ = 1)
      : m(m_),
        n(n_),
        columns(columns_),
        count(count_),
        k(std::min(m, n)),
        most(std::max(m, n)),
        a(size(m * n)),
        b(size(most * columns)),
        x(size(n * m), T(7)),
        s(size(k), R(-7)),
        cond(size(1), R(-7)),
        norm(size(1), R(-7)),
        rank(size(1), -7),
        info(size(1), -7) {}
  [[nodiscard]] std::size_t size(std::int64_t each) const { return static_cast<std::size_t>(each * count); }
  T& at(std::int64_t i, std::int64_t j, std::int64_t q = 0) { return a[static_cast<std::size_t>(q * m * n + i + j * m)]; }
  T& side(std::int64_t i, std::int64_t j = 0, std::int64_t q = 0) { return b[static_cast<std::size_t>(q * most * columns + i + j * most)]; }
  T& inverse(std::int64_t i, std::int64_t j, std::int64_t q = 0) { return x[static_cast<std::size_t>(q * n * m + i + j * n)]; }
  [[nodiscard]] Batch<T> matrices() { return batch(a.data(), m, n, {.count = count}); }
  void invert(R rcond = -1) { pinv<T>(queue(), matrices(), rcond, batch(x.data(), n, m, {.count = count}), rank.data(), info.data()); }
  /// A copy of A is overwritten.
  void solve(R rcond = -1) {
    auto copy = a;
    gelsd<T>(queue(), batch(copy.data(), m, n, {.count = count}), batch(b.data(), most, columns, {.count = count}),
             vectors(s.data(), k, count), rcond, rank.data(), info.data());
  }
  int rank_of(R atol, R rtol) {
    matrix_rank<T>(queue(), matrices(), atol, rtol, rank.data(), info.data());
    return rank[0];
  }
  void numbers() {
    ::myriad::cond<T>(queue(), matrices(), cond.data(), nullptr);
    norm2<T>(queue(), matrices(), norm.data(), nullptr);
  }
};

template <typename T>
class BySvdHardCases : public testing::Test {};
using Types = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(BySvdHardCases, Types);

/// A singular value at the cutoff counts as zero.
TYPED_TEST(BySvdHardCases, Cutoffs) {
  using T = TypeParam;
  using R = Real<T>;
  R const below_half = std::nextafter(R(0.5), R(0)), u = std::numeric_limits<R>::epsilon() / 2;
  Case<T> c(3, 2);
  c.at(0, 0) = 2, c.at(1, 1) = 1;
  for (auto const& [rcond, rank] : {std::pair{R(0.5), 1}, {below_half, 2}, {R(-1), 2}, {R(0), 2}, {R(1), 0}, {R(100), 0}}) {
    c.side(0) = 6, c.side(1) = 5, c.side(2) = 4;
    c.invert(rcond);
    EXPECT_EQ(c.rank[0], rank) << rcond;
    EXPECT_EQ(c.inverse(0, 0), T(rank > 0 ? 0.5 : 0));
    EXPECT_EQ(c.inverse(1, 1), T(rank > 1 ? 1 : 0));
    c.solve(rcond);
    EXPECT_EQ(c.rank[0], rank) << rcond;
    EXPECT_EQ(c.side(0), T(rank > 0 ? 3 : 0));
    EXPECT_EQ(c.side(1), T(rank > 1 ? 5 : 0));
    EXPECT_NEAR(std::abs(c.side(2)), std::sqrt(rank == 0 ? 77.0 : rank == 1 ? 41.0 : 16.0), 50 * u);
  }
  EXPECT_EQ(c.rank_of(1, -1), 1);  // not above
  EXPECT_EQ(c.rank_of(std::nextafter(R(1), R(0)), -1), 2);
  EXPECT_EQ(c.rank_of(0, 0.5), 1);
  EXPECT_EQ(c.rank_of(R(0.1), R(0.5)), 1);
  EXPECT_EQ(c.rank_of(R(1.5), R(0.1)), 1);
  EXPECT_EQ(c.rank_of(2, 0), 0);
  c.at(1, 1) = 3 * u;  // below 3 eps 2, the default
  EXPECT_EQ(c.rank_of(0, -1), 1);
  EXPECT_EQ(c.rank_of(0, 0), 2);
  EXPECT_EQ(c.rank_of(u, -1), 2);  // an absolute tolerance replaces the default
  c.solve(-1);
  EXPECT_EQ(c.rank[0], 2);  // u = 1/2 eps is LAPACK's
  c.at(1, 1) = 2 * u;
  c.solve(-1);
  EXPECT_EQ(c.rank[0], 1);
}

/// Rank loss, and scales near the ends of the range, where 1 / s overflows.
TYPED_TEST(BySvdHardCases, RankLossAndScales) {
  using T = TypeParam;
  using R = Real<T>;
  bool const single = sizeof(R) == 4;
  for (auto const& [m, n] : {std::pair<std::int64_t, std::int64_t>{4, 3}, {3, 5}, {6, 6}, {40, 36}, {35, 50}})
    for (int const e : {0, single ? 110 : 900, single ? -110 : -900, single ? -140 : -1060}) {
      SCOPED_TRACE(testing::Message() << m << " by " << n << ", 2^" << e);
      R const scale = std::ldexp(R(1), e), allowed = 200 * std::numeric_limits<R>::epsilon() * static_cast<R>(std::max(m, n));
      Case<T> c(m, n, 2);
      // All elements are `scale`: rank 1, the largest value is sqrt(m n) scale.
      std::fill(c.a.begin(), c.a.end(), T(scale));
      for (std::int64_t i = 0; i < m; ++i)
        c.side(i, 0) = T(scale * static_cast<R>(i)), c.side(i, 1) = T(scale * (i % 2 == 0 ? R(1) : R(-1)));
      c.solve(allowed / 100);  // LAPACK's default is about the size of rounding errors
      EXPECT_EQ(c.info[0], 0);
      EXPECT_EQ(c.rank[0], 1);
      R const mean = static_cast<R>(m - 1) / 2, rows = static_cast<R>(m), cols = static_cast<R>(n), largest = std::sqrt(rows * cols);
      R const residual = std::sqrt(rows * (rows * rows - 1) / 12);
      for (std::int64_t i = 0; i < n; ++i) {
        EXPECT_NEAR(std::abs(c.side(i, 0) - T(mean / cols)), 0, allowed * mean) << i;
        EXPECT_NEAR(std::abs(c.side(i, 1) - T(m % 2 == 0 ? R(0) : 1 / (rows * cols))), 0, allowed) << i;
      }
      // Residuals of subnormal numbers are rounded to a multiple of the smallest one.
      R const rounding = std::ldexp(std::numeric_limits<R>::denorm_min(), -e);
      EXPECT_NEAR(std::ldexp(c.s[0], -e), largest, allowed * largest + rounding);
      if (m > n) {
        EXPECT_NEAR(std::ldexp(std::abs(c.side(n, 0)), -e), residual, allowed * residual + rounding);
        for (std::int64_t i = n + 1; i < m; ++i) EXPECT_EQ(c.side(i, 0), T(0));
      }
      c.invert();
      EXPECT_EQ(c.rank[0], 1);
      R const expected = std::ldexp(1 / (rows * cols), -e);
      for (T const x : c.x)
        if (std::isfinite(expected))
          EXPECT_NEAR(std::abs(x - T(expected)), 0, allowed * expected + std::numeric_limits<R>::denorm_min());
        else
          EXPECT_FALSE(std::isfinite(std::real(x)));
      c.numbers();
      EXPECT_NEAR(std::ldexp(c.norm[0], -e), largest, allowed * largest + rounding);
      EXPECT_GT(c.cond[0], 1 / (allowed * 100));
      EXPECT_EQ(c.rank_of(0, -1), 1);
    }
}

/// Values from 1 to 2^-63 in columns of a lower triangle: all count without a cutoff.
TYPED_TEST(BySvdHardCases, Graded) {
  using T = TypeParam;
  using R = Real<T>;
  std::int64_t const n = 10;
  Case<T> c(n, n);
  for (std::int64_t j = 0; j < n; ++j) c.at((3 * j) % n, j) = T(std::ldexp(R(1), static_cast<int>(-7 * j)));
  EXPECT_EQ(c.rank_of(0, 0), 10);
  EXPECT_EQ(c.rank_of(0, std::ldexp(R(1), -28)), 4);
  EXPECT_EQ(c.rank_of(std::ldexp(R(3), -30), 0), 5);
  c.numbers();
  EXPECT_EQ(c.cond[0], std::ldexp(R(1), 63));
  EXPECT_EQ(c.norm[0], R(1));
  c.invert(0);
  EXPECT_EQ(c.rank[0], 10);
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < n; ++i)
      EXPECT_NEAR(std::abs(c.inverse(j, i) - (i == (3 * j) % n ? T(std::ldexp(R(1), static_cast<int>(7 * j))) : T(0))), 0,
                  8 * std::numeric_limits<R>::epsilon() * std::ldexp(R(1), static_cast<int>(7 * j)));
}

/// Matrices with NaN, infinity or zeros leave their neighbours' bits alone.
TYPED_TEST(BySvdHardCases, BadNeighbours) {
  using T = TypeParam;
  using R = Real<T>;
  R const nan = std::numeric_limits<R>::quiet_NaN(), infinity = std::numeric_limits<R>::infinity();
  for (auto const& [m, n] : {std::pair<std::int64_t, std::int64_t>{5, 4}, {33, 40}}) {
    Case<T> good(m, n, 2, 4), bad(m, n, 2, 4);
    for (auto* const c : {&good, &bad}) {
      for (std::size_t i = 0; i < c->a.size(); ++i) c->a[i] = T(static_cast<R>((i * i) % 17) - 8);
      for (std::size_t i = 0; i < c->b.size(); ++i) c->b[i] = T(static_cast<R>((i * 7) % 11) - 5);
    }
    bad.at(2, 1, 0) = nan, bad.at(m - 1, n - 1, 2) = infinity;
    bad.side(1, 0, 3) = infinity;  // only this right-hand side becomes NaN
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) bad.at(i, j, 1) = T(0);
    for (auto* const c : {&good, &bad}) c->invert(), c->solve(), c->numbers();
    int const k = static_cast<int>(bad.k);
    EXPECT_EQ(bad.info, (std::vector<int>{k, 0, k, 0}));
    EXPECT_EQ(bad.rank, (std::vector<int>{0, 0, 0, good.rank[3]}));
    for (int const q : {0, 2}) {
      EXPECT_TRUE(std::isnan(bad.cond[static_cast<std::size_t>(q)]) && std::isnan(bad.norm[static_cast<std::size_t>(q)]));
      EXPECT_TRUE(std::isnan(bad.s[static_cast<std::size_t>(q * k)]));
      for (std::int64_t i = 0; i < n; ++i)
        EXPECT_TRUE(std::isnan(std::real(bad.side(i, 0, q))) && std::isnan(std::real(bad.side(i, 1, q))));
      for (std::int64_t i = 0; i < n; ++i) EXPECT_TRUE(std::isnan(std::real(bad.inverse(i, m - 1, q))));
    }
    EXPECT_EQ(bad.cond[1], infinity);
    EXPECT_EQ(bad.norm[1], R(0));
    EXPECT_EQ(bad.cond[3], good.cond[3]);
    for (std::int64_t i = 0; i < n; ++i) {
      EXPECT_EQ(bad.side(i, 0, 1), T(0));
      EXPECT_EQ(bad.inverse(i, 0, 1), T(0));
      EXPECT_FALSE(std::isfinite(std::abs(bad.side(i, 0, 3))));
      EXPECT_NEAR(std::abs(bad.side(i, 1, 3) - good.side(i, 1, 3)), 0, 1e4 * std::numeric_limits<R>::epsilon());
      for (std::int64_t j = 0; j < m; ++j) EXPECT_EQ(bad.inverse(i, j, 3), good.inverse(i, j, 3));
    }
  }
}

/// A column of B times a power of two has X and a residual norm times that power, whatever the other columns are; residuals far below the
/// solution are exact.
TYPED_TEST(BySvdHardCases, ColumnsOfDifferentSizes) {
  using T = TypeParam;
  using R = Real<T>;
  constexpr int most = std::numeric_limits<R>::max_exponent;
  constexpr R nan = std::numeric_limits<R>::quiet_NaN(), infinity = std::numeric_limits<R>::infinity();
  std::array const factors{R(1), std::ldexp(R(1), -most * 3 / 5), nan, std::ldexp(R(1), most - 9), infinity, std::ldexp(R(1), 12 - most)};
  constexpr std::int64_t columns = factors.size();
  constexpr std::int64_t m = 7, n = 4;
  Case<T> plain(m, n, columns), scaled(m, n, columns);
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < m; ++i) plain.at(i, j) = scaled.at(i, j) = T(static_cast<R>((i * 3 + j * j * 5 + 1) % 11));
  for (std::int64_t j = 0; j < columns; ++j)
    for (std::int64_t i = 0; i < m; ++i) {
      plain.side(i, j) = T(static_cast<R>((i * 5 + j * 3) % 13) - 6);
      scaled.side(i, j) = plain.side(i, j) * factors[static_cast<std::size_t>(j)];
    }
  plain.solve(), scaled.solve();
  for (std::int64_t j = 0; j < columns; ++j)
    for (std::int64_t i = 0; i < m; ++i) {
      SCOPED_TRACE(testing::Message() << i << ", " << j);
      R const factor = factors[static_cast<std::size_t>(j)];
      if (std::isfinite(factor)) {
        EXPECT_EQ(scaled.side(i, j), plain.side(i, j) * factor);
      } else if (i <= n) {
        EXPECT_FALSE(std::isfinite(std::abs(scaled.side(i, j))));
      }
    }
  Case<T> c(3, 2, 2);
  R const small = factors[1];
  c.at(0, 0) = c.at(1, 1) = 1;
  c.side(0, 0) = 2, c.side(1, 0) = 3, c.side(2, 0) = T(3 * small);
  c.side(2, 1) = T(5 * small);
  c.solve();
  EXPECT_EQ(c.side(0, 0), T(2));
  EXPECT_EQ(c.side(2, 0), T(3 * small));
  EXPECT_EQ(c.side(2, 1), T(5 * small));
}

/// Solutions and inverses in which all singular values count are right even if 1 / s(n) overflows.
TYPED_TEST(BySvdHardCases, QuotientsBeyondTheRange) {
  using T = TypeParam;
  using R = Real<T>;
  constexpr int tiny = sizeof(R) == 4 ? -140 : -1030;
  Case<T> c(3, 2, 3);
  c.at(0, 0) = 1, c.at(1, 1) = T(std::ldexp(R(1), tiny));
  c.side(1, 0) = T(std::ldexp(R(3), tiny + 20));
  c.side(0, 1) = 5, c.side(1, 1) = c.at(1, 1);
  c.side(0, 2) = T(std::ldexp(R(1), 100));
  c.solve(0);
  EXPECT_EQ(c.rank[0], 2);
  EXPECT_EQ(c.side(0, 0), T(0));
  EXPECT_EQ(c.side(1, 0), T(std::ldexp(R(3), 20)));
  EXPECT_EQ(c.side(0, 1), T(5));
  EXPECT_EQ(c.side(1, 1), T(1));
  EXPECT_EQ(c.side(0, 2), T(std::ldexp(R(1), 100)));
  c.at(0, 0) = T(std::ldexp(R(1), 40)), c.at(1, 1) = T(std::ldexp(R(1), tiny + 40));
  c.invert(0);
  EXPECT_EQ(c.inverse(0, 0), T(std::ldexp(R(1), -40)));
  EXPECT_EQ(c.inverse(1, 1), T(std::ldexp(R(1), -tiny - 40)));
}

/// gelsd of a matrix of full rank has the results of gels. Optional outputs change nothing.
TYPED_TEST(BySvdHardCases, FullRankAndMissingOutputs) {
  using T = TypeParam;
  using R = Real<T>;
  for (auto const& [m, n] : {std::pair<std::int64_t, std::int64_t>{7, 3}, {3, 7}, {45, 37}}) {
    Case<T> c(m, n, 3);
    for (std::size_t i = 0; i < c.a.size(); ++i) c.a[i] = T(static_cast<R>((i * i * 5) % 23) / 23);
    for (std::int64_t i = 0; i < c.k; ++i) c.at(i, i) += T(R(3));
    for (std::size_t i = 0; i < c.b.size(); ++i) c.b[i] = T(static_cast<R>((i * 7) % 11) - 5);
    auto by_qr = c.b, without = c.b, a = c.a, again = c.a;
    gels<T>(queue(), batch(a.data(), m, n), batch(by_qr.data(), c.most, 3), nullptr);
    gelsd<T>(queue(), batch(again.data(), m, n), batch(without.data(), c.most, 3), {}, R(-1), nullptr, nullptr);
    c.solve();
    EXPECT_EQ(c.rank[0], c.k);
    EXPECT_EQ(c.b, without);
    for (std::int64_t j = 0; j < 3; ++j) {
      double squares = 0, expected = 0;
      for (std::int64_t i = 0; i < c.most; ++i) {
        T const x = by_qr[static_cast<std::size_t>(i + j * c.most)];
        if (i < n)
          EXPECT_NEAR(std::abs(c.side(i, j) - x), 0, 1e3 * std::numeric_limits<R>::epsilon());
        else
          squares += std::norm(c.side(i, j)), expected += std::norm(x);
      }
      EXPECT_NEAR(squares, expected, 1e3 * static_cast<double>(std::numeric_limits<R>::epsilon()) * expected);  // both zero for m <= n
    }
  }
  Case<T> empty(0, 3, 1), no_columns(3, 0, 1);
  std::fill(empty.b.begin(), empty.b.end(), T(5));
  std::fill(no_columns.b.begin(), no_columns.b.end(), T(5));
  empty.solve(), no_columns.solve(), empty.numbers(), empty.invert();
  EXPECT_EQ(empty.b, std::vector<T>(3, T(0)));
  EXPECT_EQ(no_columns.b, std::vector<T>(3, T(5)));
  EXPECT_EQ(empty.cond[0], R(0));
  EXPECT_EQ(empty.norm[0], R(0));
  EXPECT_EQ(empty.rank[0] + no_columns.rank[0] + empty.info[0], 0);
}

}  // namespace
}  // namespace myriad
