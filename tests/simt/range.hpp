#pragma once
/// Matrices near the ends of the range of floating-point numbers: inputs scaled by powers of two must give the scaled results.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "myriad/types.hpp"

namespace myriad::range {

template <typename R>
inline constexpr int highest = std::numeric_limits<R>::max_exponent;  ///< 2^highest times a number below one is finite
template <typename R>
inline constexpr int lowest = std::numeric_limits<R>::min_exponent - std::numeric_limits<R>::digits;  ///< 2^lowest is the least number

template <typename T>
T times_power(T x, int exponent) {
  if constexpr (is_complex<T>)
    return T(std::ldexp(x.real(), exponent), std::ldexp(x.imag(), exponent));
  else
    return std::ldexp(x, exponent);
}

/// Exponents of the powers of two that scale the matrices of a batch; 0 for the first one.
template <typename R>
std::vector<int> exponents() {
  constexpr int h = highest<R>, l = lowest<R>;
  if constexpr (sizeof(R) == 8) return {0, h, h - 1, h - 4, 960, 985, 999, -940, -999, -1005, -1016, l + 24};
  return {0, h, h - 1, h - 4, 95, 100, 106, -90, -101, -110, -119, l + 12};
}

/// A number with parts between `low` and `high`, of any sign.
template <typename T>
T part_between(std::mt19937& random, double low, double high) {
  auto const part = [&] {
    double const x = std::uniform_real_distribution<double>(low, high)(random);
    return static_cast<Real<T>>(random() % 2 ? x : -x);
  };
  if constexpr (is_complex<T>) {
    auto const re = part();
    return T(re, part());
  } else {
    return part();
  }
}

/// A matrix whose factors and solutions hardly grow, with permuted rows: elements of a diagonal have parts just below one.
template <typename T>
std::vector<T> dominant(int n, std::mt19937& random, bool permute) {
  std::vector<T> a(static_cast<std::size_t>(n * n));
  std::vector<int> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  if (permute) std::shuffle(order.begin(), order.end(), random);
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i)
      a[static_cast<std::size_t>(i + j * n)] =
          order[static_cast<std::size_t>(i)] == j ? part_between<T>(random, 0.8, 0.95) : part_between<T>(random, 0, 0.125 / n);
  return a;
}

/// Expects `count` numbers x to be those of y times 2^exponent, to an error of n units of the largest, plus the loss by subnormal numbers:
/// of results, and of inputs with exponent `given`.
template <typename T>
void expect_scaled(T const* x, T const* y, int count, int exponent, int given, int n, char const* what) {
  using R = Real<T>;
  long double most = 0;
  auto const wide = [](auto z) { return static_cast<long double>(z); };
  auto const parts = [](T const& z) {
    if constexpr (is_complex<T>)
      return std::array{z.real(), z.imag()};
    else
      return std::array{z};
  };
  for (int i = 0; i < count; ++i)
    for (R const part : parts(y[i])) most = std::max(most, std::abs(std::ldexp(wide(part), exponent)));
  if (most >= std::ldexp(1.0L, highest<R>)) return;  // overflows
  long double const relative = std::ldexp(16.0L * n, -std::numeric_limits<R>::digits) + std::ldexp(16.0L * n, lowest<R> - given);
  long double const tolerance = relative * most + std::ldexp(2.0L, lowest<R>);
  for (int i = 0; i < count; ++i) {
    auto const got = parts(x[i]), expected = parts(y[i]);
    for (std::size_t p = 0; p < got.size(); ++p) {
      long double const right = std::ldexp(wide(expected[p]), exponent);
      EXPECT_TRUE(std::abs(wide(got[p]) - right) <= tolerance)
          << what << ": " << got[p] << " for " << right << ", element " << i << ", n = " << n << ", given 2^" << given;
    }
  }
}

}  // namespace myriad::range
