#pragma once
/// Tridiagonal matrices that deflate in every way, or nowhere, and the check of their vectors.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace myriad {

template <typename R>
constexpr R unit_roundoff_of = sizeof(R) == 4 ? R(0x1p-24) : R(0x1p-53);

template <typename R>
struct TridiagonalKind {
  char const* name;
  std::vector<R> d, e;
};

/// Checks T = Q diag(w) Q^T for a matrix whose largest element is about one; column j of Q begins at q + j ld, and its value is w[j].
template <typename R>
void check_vectors(std::vector<R> const& diagonal, std::vector<R> const& beside, R const* w, R const* q, std::size_t ld) {
  std::size_t const n = diagonal.size();
  long double norm = 0, residual = 0, orthogonality = 0;
  auto const size = [&](std::size_t i, std::size_t j) -> long double {
    return i == j ? diagonal[i] : i + 1 == j ? beside[i] : j + 1 == i ? beside[j] : R(0);
  };
  for (std::size_t j = 0; j < n; ++j) {
    long double of_column = 0, of_residual = 0, of_product = 0;
    for (std::size_t i = 0; i < n; ++i) {
      long double left = -static_cast<long double>(q[i + j * ld]) * w[j];
      for (std::size_t k = i == 0 ? 0 : i - 1; k < std::min(n, i + 2); ++k) left += size(i, k) * q[k + j * ld];
      // Products of singles in double are exact, and their sums accurate enough.
      std::conditional_t<sizeof(R) == 4, double, long double> product = i == j ? -1 : 0;
      for (std::size_t k = 0; k < n; ++k) product += static_cast<decltype(product)>(q[k + i * ld]) * q[k + j * ld];
      of_column += std::abs(size(i, j));
      of_residual += std::abs(left);
      of_product += std::abs(product);
    }
    ASSERT_TRUE(std::isfinite(of_residual) && std::isfinite(of_product)) << "column " << j;
    norm = std::max(norm, of_column);
    residual = std::max(residual, of_residual);
    orthogonality = std::max(orthogonality, of_product);
  }
  auto const allowed = 30 * static_cast<long double>(n) * unit_roundoff_of<R>;
  EXPECT_LE(residual, allowed * norm) << "T Q - Q W";
  EXPECT_LE(orthogonality, allowed) << "I - Q^T Q";
}

/// `is_tear(i)`: whether the matrix is torn between rows i and i + 1.
template <typename R, typename IsTear>
std::vector<TridiagonalKind<R>> hard_tridiagonals(int n, IsTear is_tear) {
  R const u = unit_roundoff_of<R>;
  std::mt19937 random(5);
  std::normal_distribution<R> normal;
  std::vector<TridiagonalKind<R>> kinds;
  auto const add = [&](char const* name, auto diagonal, auto beside) {
    TridiagonalKind<R> kind{name, {}, {}};
    for (int i = 0; i < n; ++i) kind.d.push_back(diagonal(i));
    for (int i = 0; i + 1 < n; ++i) kind.e.push_back(beside(i));
    kinds.push_back(kind);
  };
  auto const zero = [](int) { return R(0); };
  auto const one = [](int) { return R(1); };
  auto const any = [&](int) { return normal(random) / 2; };
  add("random", any, any);
  add("zero", zero, zero);
  add("one", one, zero);
  add(
      "diagonal with equal elements", [](int i) { return static_cast<R>(i % 3) / 2; }, zero);
  add(
      "Wilkinson", [&](int i) { return std::abs(static_cast<R>(n - 1) / 2 - static_cast<R>(i)) / 16; }, [](int) { return R(0x1p-4); });
  add(
      "glued Wilkinson", [](int i) { return static_cast<R>(std::abs(10 - i % 21)) / 16; },
      [&](int i) { return i % 21 == 20 ? std::sqrt(u) : R(0x1p-4); });
  add("second difference", one, [](int) { return R(-0.5); });
  add("zero diagonal", zero, one);
  add("falls apart where it is torn", any, [&](int i) { return is_tear(i) ? R(0) : normal(random); });
  add("nearly falls apart where it is torn", any, [&](int i) { return is_tear(i) ? R(3) * u * normal(random) : normal(random); });
  add("one tiny element", any, [&](int i) { return i == n / 3 ? u * u : normal(random); });
  add("coupled only where it is torn", one, [&](int i) { return is_tear(i) ? R(0.5) : R(0); });
  add(
      "cluster", [&](int) { return R(1) + 8 * u * normal(random); }, [&](int) { return 8 * u * normal(random); });
  add(
      "graded", [&](int i) { return std::exp2(R(-1.5) * static_cast<R>(i)) * normal(random); },
      [&](int i) { return std::exp2(R(-1.5) * static_cast<R>(i) - 1) * normal(random); });
  add(
      "graded upwards", [&](int i) { return std::exp2(R(-1.5) * static_cast<R>(n - i)) * normal(random); },
      [&](int i) { return std::exp2(R(-1.5) * static_cast<R>(n - i)) * normal(random); });
  return kinds;
}

}  // namespace myriad
