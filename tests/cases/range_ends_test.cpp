/// Results at the ends of the range with known values, not related to others by powers of two.

#include "range.hpp"

namespace myriad::cases::range {
namespace {

/// Complex numbers with both parts near the largest number, whose modulus and sum of parts overflow. Returns the number of wrong elements
/// per wrong routine.
template <typename T>
std::string wrong_of_largest_complex(std::int64_t n, bool row_major) {
  Setting const s{.n = n, .count = 5, .row_major = row_major};
  auto const large = std::ldexp(Real<T>(1.875), std::numeric_limits<Real<T>>::max_exponent - 1);
  Matrices<T> a(n, n, s), b(n, 1, s), x(n, 1, s);
  Matrices<int> pivots(n, 1, s);
  std::vector<int> info(5, -1);
  auto const direction = [](std::int64_t q, std::int64_t j) { return number<T>(q % 2 == 0 ? 1 : -1, j % 2 == 0 ? 1 : -1); };
  auto const entry = [&](std::int64_t q, std::int64_t j) { return direction(q, j) * large; };
  // Diagonal, plus an element in row 1 of column 0, which elimination makes zero. The solution of A X = B is one except in that row.
  for (std::int64_t q = 0; q < 5; ++q)
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < n; ++j) a(q, i, j) = i == j || (j == 0 && i == 1) ? entry(q, j) : T(0);
      b(q, i, 0) = i == 1 ? T(0) : entry(q, i);
    }
  auto lu = a, triangle = a, y = b;
  for (std::int64_t q = 0; q < 5; ++q) triangle(q, 1, 0) = T(0), y(q, 1, 0) = entry(q, 1);
  auto z = y;
  solve<T>(queue(), a, b, x, info.data());
  getrf<T>(queue(), lu, pivots, info.data());
  trsv<T>(queue(), Uplo::lower, Diag::non_unit, triangle, y);
  trsm<T>(queue(), Side::left, Uplo::upper, Diag::non_unit, T(1), triangle, z);
  auto inverse_of = a, factors = a, w = b;
  Matrices<T> sign(1, 1, s);
  Matrices<Real<T>> log_abs(1, 1, s);
  inverse<T>(queue(), a, inverse_of, info.data());
  gesv<T>(queue(), factors, pivots, w, info.data());
  logdet<T>(queue(), a, sign.data.data(), log_abs.data.data());
  std::array<int, 8> wrong{};
  // The tolerance allows multiplication by reciprocals.
  auto const differ = [](T got, T expected) { return !(std::abs(got - expected) <= 4 * unit_roundoff<T>); };
  for (std::int64_t q = 0; q < 5; ++q) {
    std::complex<double> turn = 1;
    double const log =
        static_cast<double>(n) * (std::log(1.875 * std::sqrt(2.0)) + (std::numeric_limits<Real<T>>::max_exponent - 1) * std::log(2.0));
    for (std::int64_t i = 0; i < n; ++i) {
      turn *= std::complex<double>(direction(q, i)) / std::sqrt(2.0);
      wrong[5] += differ(w(q, i, 0), i == 1 ? -direction(q, 0) / direction(q, 1) : T(1));
      // 1 / z, which is subnormal; below it -1 / z of row 1
      for (std::int64_t j = 0; j < n; ++j) {
        T const expected = i == j ? T(1) / direction(q, i) : i == 1 && j == 0 ? T(-1) / direction(q, 1) : T(0);
        T const got = inverse_of(q, i, j) * Real<T>(1.875) * std::ldexp(Real<T>(1), std::numeric_limits<Real<T>>::max_exponent - 1);
        wrong[6] += !(std::abs(got - expected) <= 16 * unit_roundoff<T>);
      }
      wrong[0] += differ(x(q, i, 0), i == 1 ? -direction(q, 0) / direction(q, 1) : T(1));
      wrong[1] += differ(y(q, i, 0), T(1));
      wrong[2] += differ(z(q, i, 0), T(1));
      wrong[3] += pivots(q, i, 0) != i + 1;
      for (std::int64_t j = 0; j < n; ++j)
        wrong[4] += i == 1 && j == 0 ? differ(lu(q, i, j), T(1)) : lu(q, i, j) != (i == j ? entry(q, j) : T(0));
    }
    double const allowed = static_cast<double>(8 * n) * unit_roundoff<T>;
    wrong[7] += !(std::abs(log_abs(q, 0, 0) / log - 1) <= allowed && std::abs(std::complex<double>(sign(q, 0, 0)) - turn) <= allowed);
  }
  std::ostringstream out;
  constexpr std::array names{"solve", "trsv", "trsm", "pivots", "getrf", "gesv", "inverse", "logdet"};
  for (std::size_t i = 0; i < names.size(); ++i)
    if (wrong[i] > 0) out << names[i] << ": " << wrong[i] << " ";
  return out.str();
}
TEST(RangeEnds, LargestComplexNumbers) {
  // 260 rows take ten seconds under the address sanitizer.
#ifdef MYRIAD_SANITIZED
  constexpr std::array<std::int64_t, 5> sizes{2, 4, 9, 20, 70};
#else
  constexpr std::array<std::int64_t, 6> sizes{2, 4, 9, 20, 70, 260};
#endif
  for (std::int64_t const n : sizes)
    for (bool const row_major : {false, true}) {
      EXPECT_EQ(wrong_of_largest_complex<std::complex<float>>(n, row_major), "") << "single, n = " << n << (row_major ? ", row-major" : "");
      EXPECT_EQ(wrong_of_largest_complex<std::complex<double>>(n, row_major), "")
          << "double, n = " << n << (row_major ? ", row-major" : "");
    }
}

/// `inverse` gives the info of `getrf` for singular and regular integer matrices.
TEST(RangeEnds, InfoOfInverseIsThatOfGetrf) {
  for_each_dtype([]<typename T>() {
    constexpr std::int64_t count = 4000;
    for (std::int64_t const n : {2, 3, 4, 7}) {
      Setting const columns{.n = n, .count = count}, by_rows{.n = n, .count = count, .row_major = true};
      Matrices<T> a(n, n, columns), r(n, n, by_rows), x = a, y = r;
      std::mt19937 random(seed() + static_cast<unsigned>(n));
      auto const part = [&] { return static_cast<double>(random() % 5) - 2; };
      for (std::int64_t b = 0; b < count; ++b) {
        for (std::int64_t j = 0; j < n; ++j)
          for (std::int64_t i = 0; i < n; ++i) a(b, i, j) = number<T>(part(), part());
        // the last row is the sum of others
        for (std::int64_t j = 0; j < n; ++j) {
          if (b % 4 != 0) a(b, n - 1, j) = number<T>(part()) * a(b, 0, j) + number<T>(static_cast<double>(b % 3) - 1) * a(b, n / 2, j);
          for (std::int64_t i = 0; i < n; ++i) r(b, i, j) = a(b, i, j);
        }
      }
      Matrices<int> pivots(n, 1, columns);
      std::vector<int> expected(count, -1), got(count, -1), got_by_rows(count, -1);
      inverse<T>(queue(), a, x, got.data());
      inverse<T>(queue(), r, y, got_by_rows.data());
      getrf<T>(queue(), a, pivots, expected.data());
      auto const differ = [&](std::vector<int> const& one) {
        std::int64_t number_of = 0;
        for (std::size_t b = 0; b < one.size(); ++b) number_of += one[b] != expected[b];
        return number_of;
      };
      EXPECT_EQ(differ(got), 0) << "n = " << n << ", column-major";
      EXPECT_EQ(differ(got_by_rows), 0) << "n = " << n << ", row-major";
    }
  });
}

/// One entry near the largest number among entries of size one: every column of Q R is that of A, relative to its own size.
TEST(RangeEnds, GeqrfOfOneLargeEntry) {
  for_each_dtype([]<typename T>() {
    using W = Wide<T>;
    for (std::int64_t const n : {5, 33, 97, 129, 260})
      for (std::int64_t const row : {std::int64_t{0}, n / 2}) {
        if (n == 260 && is_complex<T> && row == 0) continue;  // slowest to check: only one of them
        Setting const s{.n = n, .count = 1};
        std::mt19937 random(seed() + static_cast<unsigned>(n));
        Matrices<T> a(n, n, s), tau(n, 1, s);
        for (auto& x : a.data) x = number<T>(static_cast<double>(random() % 7) - 3, static_cast<double>(random() % 7) - 3);
        a(0, row, 0) = std::ldexp(Real<T>(1.875), single<T> ? 127 : 1023);
        auto qr = a;
        geqrf<T>(queue(), qr, tau);
        auto q = qr;
        orgqr<T>(queue(), q, tau);
        // In a type of wider range
        Dense<W> wide_q(n, n), r(n, n), before(n, n);
        for (std::int64_t j = 0; j < n; ++j)
          for (std::int64_t i = 0; i < n; ++i) {
            wide_q(i, j) = widened<W>(q(0, i, j)), before(i, j) = widened<W>(a(0, i, j));
            r(i, j) = i <= j ? widened<W>(qr(0, i, j)) : W(0);
          }
        bool const finite = all_finite(wide_q) && all_finite(r);
        EXPECT_TRUE(finite) << "n = " << n << ", large entry in row " << row;
        if (!finite) continue;
        auto const residual = before - wide_q * r;
        double worst = 0;
        for (std::int64_t j = 0; j < n; ++j)
          worst = larger(worst, static_cast<double>(column_norm1(residual, j) / column_norm1(before, j)));
        EXPECT_LE(worst, 30 * static_cast<double>(n) * unit_roundoff<T>) << "n = " << n << ", large entry in row " << row;
        EXPECT_LE(orthogonality_error<T>(wide_q), 30) << "n = " << n << ", large entry in row " << row;
      }
  });
}

/// Least squares where the norms of columns overflow, or their squares vanish. LAPACK does not scale by powers of two.
TEST(RangeEnds, GelsAtTheEnds) {
  for_each_dtype([]<typename T>() {
    for (auto const& [m, n] : {std::pair<std::int64_t, std::int64_t>{8, 4}, {4, 8}, {5, 5}, {20, 9}, {9, 20}, {80, 40}, {40, 80}})
      for (int const e : single<T> ? std::array{124, -130} : std::array{1020, -1040})
        for (bool const row_major : {false, true}) {
          Setting const s{.n = n, .count = 7, .row_major = row_major};
          Matrices<T> a(m, n, s), b(std::max(m, n), 2, s);
          std::mt19937 random(seed() + static_cast<unsigned>(m));
          auto const part = [&] { return static_cast<double>(random() % 7) - 3; };
          for (std::int64_t q = 0; q < 7; ++q) {
            for (std::int64_t j = 0; j < n; ++j)
              for (std::int64_t i = 0; i < m; ++i) a(q, i, j) = number<T>(part() + (i == j ? 4 : 0), part()) / Real<T>(2);
            // Random right-hand sides. Scaling A and B by the same number keeps X.
            for (std::int64_t c = 0; c < 2; ++c)
              for (std::int64_t i = 0; i < m; ++i) b(q, i, c) = number<T>(part(), part());
          }
          auto a_small = a, b_small = b;
          for (auto* const x : {&a, &b})
            for (T& value : x->data) value = number<T>(std::ldexp(std::real(value), e), std::ldexp(std::imag(value), e));
          std::vector<int> info(7, -1);
          gels<T>(queue(), a_small, b_small, info.data());
          gels<T>(queue(), a, b, info.data());
          EXPECT_EQ(info, std::vector<int>(7, 0));
          double worst = 0;
          for (std::int64_t q = 0; q < 7; ++q)
            for (std::int64_t c = 0; c < 2; ++c)
              for (std::int64_t i = 0; i < n; ++i) worst = larger(worst, static_cast<double>(std::abs(b(q, i, c) - b_small(q, i, c))));
          EXPECT_LE(worst, 300 * static_cast<double>(m + n) * unit_roundoff<T>)
              << m << " by " << n << ", 2^" << e << (row_major ? ", row-major" : "");
        }
  });
}

/// All finite matrices can be equilibrated: scaled rows and columns have their largest element between 1/2 and 2. laqge gives this result
/// even if r a or r c overflows.
TEST(RangeEnds, EquilibrationOfAllFiniteNumbers) {
  for_each_dtype([]<typename T>() {
    using R = Real<T>;
    constexpr std::int64_t m = 6, n = 5, count = 200;
    Setting const s{.n = n, .count = count};
    Matrices<T> a(m, n, s);
    Matrices<R> r(m, 1, s), c(n, 1, s);
    std::mt19937 random(seed());
    int const low = single<T> ? -149 : -1074, high = single<T> ? 127 : 1023;
    auto const part = [&](int from, int to) {
      return std::ldexp(random() % 2 == 0 ? R(1) : R(-1), from + static_cast<int>(random() % static_cast<unsigned>(to - from + 1)));
    };
    for (std::int64_t b = 0; b < count; ++b) {
      int const from = b % 3 == 0 ? low : b % 3 == 1 ? high - 9 : low, to = b % 3 == 2 ? low + 9 : high;
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t i = 0; i < m; ++i)
          a(b, i, j) =
              random() % 4 == 0 && i != j && i != m - 1 ? T(0) : number<T>(part(from, to), random() % 2 == 0 ? part(from, to) : R(0));
    }
    std::vector<int> info(count, -1);
    geequ<T>(queue(), a, r, c, nullptr, nullptr, nullptr, info.data());
    EXPECT_EQ(info, std::vector<int>(count, 0));
    auto scaled = a;
    laqge<T>(queue(), scaled, Batch<R const>(r), Batch<R const>(c));
    int wrong = 0, far = 0, no_power = 0;
    for (std::int64_t b = 0; b < count; ++b) {
      std::vector<double> largest_of_row(m), largest_of_column(n);
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t i = 0; i < m; ++i) {
          R const ri = r(b, i, 0), cj = c(b, j, 0);
          int x = 0, y = 0;
          no_power += !(std::isfinite(ri) && std::isfinite(cj) && std::frexp(ri, &x) == R(0.5) && std::frexp(cj, &y) == R(0.5));
          auto const of_part = [&](R value) {
            return static_cast<double>(static_cast<R>(std::ldexp(static_cast<long double>(value), x + y - 2)));
          };
          double const re = of_part(std::real(a(b, i, j))), im = of_part(std::imag(a(b, i, j)));
          wrong += std::real(scaled(b, i, j)) != re || std::imag(scaled(b, i, j)) != im;
          double const size = std::max(std::abs(re), std::abs(im));
          largest_of_row[static_cast<std::size_t>(i)] = std::max(largest_of_row[static_cast<std::size_t>(i)], size);
          largest_of_column[static_cast<std::size_t>(j)] = std::max(largest_of_column[static_cast<std::size_t>(j)], size);
        }
      // The size of a complex number is the sum of its parts. Scalings are normal numbers. One that would overflow is the largest power of
      // two. Beside one that would be subnormal a row can be eight times too large, and columns that are scaled down for it make others
      // smaller.
      bool limited = false;
      for (std::int64_t i = 0; i < m; ++i) limited = limited || r(b, i, 0) <= std::numeric_limits<R>::min();
      auto const count_far = [&](std::vector<double> const& sizes, Matrices<R>& scalings) {
        for (std::size_t i = 0; i < sizes.size(); ++i) {
          bool const would_overflow = scalings(b, static_cast<std::int64_t>(i), 0) >= std::ldexp(R(1), high - 1);
          far += !((sizes[i] >= (limited ? 0.03125 : 0.25) || would_overflow) && sizes[i] <= 2);
        }
      };
      count_far(largest_of_row, r), count_far(largest_of_column, c);
    }
    EXPECT_EQ(no_power, 0) << "scalings that are no powers of two";
    EXPECT_EQ(wrong, 0) << "elements of diag(r) A diag(c)";
    EXPECT_EQ(far, 0) << "rows and columns whose largest element is not near one";
  });
}

TEST(RangeEnds, ScalingsOfAnyKind) {
  for_each_dtype([]<typename T>() {
    using R = Real<T>;
    R const least = std::numeric_limits<R>::denorm_min(), large = std::ldexp(R(1), std::numeric_limits<R>::max_exponent - 1);
    int const low = std::ilogb(least), high = std::ilogb(large);
    // Products x r c where two factors alone leave the range or are subnormal; the last number is the exponent of x r c
    for (auto const& [x, r, c, exponent] : {std::tuple{R(1), least, R(0x1p22), low + 22}, std::tuple{R(2), least, large, low + high + 1},
                                            std::tuple{R(0x1p-60), large, R(0x1p40), high - 20}, std::tuple{large, large, 1 / large, high}})
      for (bool const swap : {false, true}) {
        T a = number<T>(R(1.5) * x / 2, R(1.25) * x / 2);
        R row = swap ? c : r, column = swap ? r : c;
        laqge<T>(queue(), batch(&a, 1, 1), Batch<R const>(batch(&row, 1, 1)), Batch<R const>(batch(&column, 1, 1)));
        EXPECT_EQ(a, number<T>(std::ldexp(R(0.75), exponent), std::ldexp(R(0.625), exponent))) << r << " " << c;
      }
  });
}

TEST(RangeEnds, LeastSquaresKeepSmallRightSidesBesideLarge) {
  for_each_dtype([]<typename T>() {
    using R = Real<T>;
    int const large = single<T> ? 110 : 980, small = single<T> ? -60 : -460;
    for (std::int64_t const n : {4, 140}) {
      Setting const s{.n = n, .count = 1};
      Matrices<T> a(2 * n, n, s), both(2 * n, 2, s), alone(2 * n, 1, s);
      std::mt19937 random(seed());
      auto const draw = [&] { return number<T>(static_cast<double>(random() % 7) - 3, static_cast<double>(random() % 7) - 3); };
      for (std::int64_t i = 0; i < 2 * n; ++i) {
        for (std::int64_t j = 0; j < n; ++j) a(0, i, j) = draw() + (i == j ? T(static_cast<R>(8 * n)) : T(0));
        both(0, i, 0) = draw() * std::ldexp(R(1), large);
        alone(0, i, 0) = both(0, i, 1) = (draw() + draw() / R(3)) * std::ldexp(R(1), small);
      }
      auto copy = a;
      std::vector<int> info(1, -1);
      gels<T>(queue(), a, both, info.data()), gels<T>(queue(), copy, alone, info.data());
      R worst = 0, largest = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        worst = std::max(worst, std::abs(both(0, i, 1) - alone(0, i, 0)));
        largest = std::max(largest, std::abs(alone(0, i, 0)));
      }
      EXPECT_LE(worst, 30 * static_cast<R>(n) * static_cast<R>(unit_roundoff<T>) * largest) << "n = " << n;
    }
  });
}

TEST(RangeEnds, LuOfNoRowsBesideManyColumns) {
  for_each_dtype([]<typename T>() {
    for (auto const& [m, n] : {std::array<std::int64_t, 2>{0, 300}, {300, 0}}) {
      T unused{};
      int pivot = 0, info = -1;
      getrf<T>(queue(), batch(&unused, m, n, {.count = 1}), batch(&pivot, 0, 1, {.count = 1}), &info);
      EXPECT_EQ(info, 0) << m << " by " << n;
    }
  });
}

/// 16-bit products at the ends of their range, computed in single precision.
template <typename T>
void check_half_products(std::vector<std::array<double, 3>> const& products) {
  for (auto const& [x, y, expected] : products)
    for (std::int64_t const n : {1, 4, 20, 70}) {
      Setting const s{.n = n, .count = 3};
      auto const filled = [&](double value) {
        Matrices<T> a(n, n, s);
        std::fill(a.data.begin(), a.data.end(), T(Compute<T>(0)));
        for (std::int64_t b = 0; b < 3; ++b)
          for (std::int64_t i = 0; i < n; ++i) a(b, i, i) = T(Compute<T>(static_cast<float>(value)));
        return a;
      };
      auto a = filled(x), b = filled(y), c = filled(0), right = filled(expected);
      gemm<T>(queue(), Compute<T>(1), a.view(), b.view(), Compute<T>(0), c.view());
      for (std::size_t i = 0; i < c.data.size(); ++i)
        ASSERT_EQ(Compute<T>(c.data[i]), Compute<T>(right.data[i])) << x << " * " << y << ", n = " << n << ", place " << i;
    }
}
TEST(RangeEnds, ProductsOf16Bits) {
  double const infinity = std::numeric_limits<double>::infinity();
  std::vector<std::array<double, 3>> const of_half{{65504, 1, 65504},
                                                   {0x1p-24, 1, 0x1p-24},
                                                   {65504, 0x1p-24, 65504 * 0x1p-24},
                                                   {0x1p-12, 0x1p-12, 0x1p-24},
                                                   {65504, 2, infinity},
                                                   {0x1p-13, 0x1p-12, 0},
                                                   {0x1.8p-13, 0x1p-12, 0x1p-24},
                                                   {-256, 255.75, -65472},
                                                   {0x1.ff8p-15, 0x1p-1, 0x1.ff8p-16}};
  check_half_products<half>(of_half);
  check_half_products<complex_half>({of_half[0], of_half[1], of_half[2], of_half[3], of_half[5], of_half[6], of_half[7], of_half[8]});
  check_half_products<bfloat16>({{0x1.c4p127, 1, 0x1.c4p127},
                                 {0x1p-133, 1, 0x1p-133},
                                 {0x1.c4p127, 0x1p-133, 0x1.c4p-6},
                                 {0x1p-70, 0x1p-63, 0x1p-133},
                                 {0x1.c4p127, 2, infinity},
                                 {0x1p-70, 0x1p-64, 0},
                                 {0x1.8p-70, 0x1p-64, 0x1p-133}});
}

/// Integer factors of A = L L^T times the smallest and largest even power of two, where every step is exact.
TEST(RangeEnds, ExactCholesky) {
  for_each_dtype([]<typename T>() {
    for (std::int64_t const n : {3, 4, 9, 20, 70})
      for (int const e : single<T> ? std::array{-74, 55} : std::array{-537, 500})
        for (bool const row_major : {false, true}) {
          Setting const s{.n = n, .count = 9, .row_major = row_major};
          std::mt19937 random(seed() + static_cast<unsigned>(n));
          Matrices<T> l(n, n, s), a = l, b(n, 1, s), x = b;
          std::vector<int> info(9, -1);
          for (std::int64_t q = 0; q < 9; ++q) {
            for (std::int64_t j = 0; j < n; ++j)
              for (std::int64_t i = 0; i < n; ++i)
                l(q, i, j) = i == j  ? T(2)
                             : i > j ? number<T>(static_cast<double>(random() % 3) - 1, static_cast<double>(random() % 3) - 1)
                                     : T(0);
            for (std::int64_t i = 0; i < n; ++i) {
              b(q, i, 0) = T(0);
              for (std::int64_t j = 0; j < n; ++j) {
                T sum(0);
                for (std::int64_t k = 0; k < n; ++k) {
                  if constexpr (is_complex<T>)
                    sum += l(q, i, k) * std::conj(l(q, j, k));
                  else
                    sum += l(q, i, k) * l(q, j, k);
                }
                a(q, i, j) = sum * std::ldexp(Real<T>(1), e) * std::ldexp(Real<T>(1), e);
                b(q, i, 0) += a(q, i, j);
              }
            }
          }
          auto factor = a;
          potrf<T>(queue(), Uplo::lower, factor, info.data());
          EXPECT_EQ(info, std::vector<int>(9, 0));
          int wrong = 0;
          for (std::int64_t q = 0; q < 9; ++q)
            for (std::int64_t j = 0; j < n; ++j)
              for (std::int64_t i = j; i < n; ++i) wrong += factor(q, i, j) != l(q, i, j) * std::ldexp(Real<T>(1), e);
          EXPECT_EQ(wrong, 0) << "elements of L, n = " << n << ", 2^" << 2 * e << (row_major ? ", row-major" : "");
        }
  });
}

/// An entry of an inverse is a product of three numbers, two of which give zero.
TEST(RangeEnds, InverseOfWideRange) {
  for_each_dtype([]<typename T>() {
    for (bool const row_major : {false, true}) {
      int const e = single<T> ? 100 : 900;
      Setting const s{.n = 2, .count = 3, .row_major = row_major};
      Matrices<T> a(2, 2, s), x = a;
      std::vector<int> info(3, -1);
      for (std::int64_t b = 0; b < 3; ++b) {
        a(b, 0, 0) = std::ldexp(Real<T>(1), -e - 20), a(b, 1, 0) = std::ldexp(Real<T>(1), -e);
        a(b, 0, 1) = T(0), a(b, 1, 1) = std::ldexp(Real<T>(1), e);
      }
      inverse<T>(queue(), a, x, info.data());
      for (std::int64_t b = 0; b < 3; ++b) {
        EXPECT_EQ(x(b, 0, 0), T(std::ldexp(Real<T>(1), e + 20)));
        EXPECT_EQ(x(b, 1, 0), T(-std::ldexp(Real<T>(1), 20 - e)));
        EXPECT_EQ(x(b, 0, 1), T(0));
        EXPECT_EQ(x(b, 1, 1), T(std::ldexp(Real<T>(1), -e)));
      }
    }
  });
}

/// Tridiagonal matrices and eigenvalues of the largest and smallest numbers, to a few units of their rounding.
TEST(RangeEnds, EigenproblemsAtTheEnds) {
  for_each_dtype([]<typename T>() {
    for (std::int64_t const n : {3, 9, 20, 70})
      for (int const e : single<T> ? std::array{124, -130} : std::array{1019, -1050}) {
        Setting const s{.n = n, .count = 3};
        std::mt19937 random(seed() + static_cast<unsigned>(n));
        Matrices<T> a(n, n, s);
        for (std::int64_t b = 0; b < 3; ++b)
          for (std::int64_t j = 0; j < n; ++j)
            for (std::int64_t i = j; i < n; ++i) {
              double const re = i == j ? static_cast<double>(1 + i % 7) : std::ldexp(static_cast<double>(random() % 3) - 1, -8);
              a(b, i, j) = number<T>(std::ldexp(re, e - 3));
              a(b, j, i) = a(b, i, j);
            }
        for (Job const job : {Job::values, Job::vectors}) {
          auto q = a, at_one = a;
          for (T& x : at_one.data) x = number<T>(std::ldexp(std::real(x), -e));
          Matrices<Real<T>> w(n, 1, s), expected = w;
          std::vector<int> info(3, -1);
          syevd<T>(queue(), job, Uplo::lower, at_one, expected, info.data());
          syevd<T>(queue(), job, Uplo::lower, q, w, info.data());
          EXPECT_EQ(info, std::vector<int>(3, 0));
          double worst = 0;
          for (std::size_t i = 0; i < w.data.size(); ++i)
            worst = larger(worst, std::abs(std::ldexp(static_cast<double>(w.data[i]), -e) - static_cast<double>(expected.data[i])));
          double const rounding = std::ldexp(1.0, std::numeric_limits<Real<T>>::min_exponent - std::numeric_limits<Real<T>>::digits - e);
          EXPECT_LE(worst, 30 * static_cast<double>(n) * unit_roundoff<T> + rounding) << "values, n = " << n << ", 2^" << e;
        }
        Matrices<Real<T>> d(n, 1, s), beside(n - 1, 1, s);
        Matrices<T> tau(n - 1, 1, s);
        sytrd<T>(queue(), Uplo::lower, a, d, beside, tau);
        for (auto const* const x : {&d, &beside})
          EXPECT_TRUE(std::all_of(x->data.begin(), x->data.end(), [](auto y) { return std::isfinite(y); }))
              << "sytrd, n = " << n << ", 2^" << e;
      }
  });
}
}  // namespace
}  // namespace myriad::cases::range
