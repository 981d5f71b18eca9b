/// eigen/divide_and_conquer/secular.cuh and eigen/divide_and_conquer/divide_and_conquer.cuh on the host twin: residuals of roots of secular
/// equations in more precision, and tridiagonal matrices that deflate in every way, or nowhere.

#include "eigen/divide_and_conquer/divide_and_conquer.cuh"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "sizes.hpp"
#include "tridiagonals.hpp"

namespace myriad {
namespace {

template <typename R>
struct SecularArguments {
  R const* poles;
  R const* z;
  int count;
  R rho;
  R* offsets;
};
/// A warp computes eight roots.
template <typename R>
void find_roots(SecularArguments<R> const args) {
  simt::SecularEquation<R> const secular{args.poles, args.z, args.count, args.rho};
  int const j = simt::thread_index() / simt::lanes_of_root, part = simt::thread_index() % simt::lanes_of_root;
  bool const is = j < args.count;
  R const offset = secular.root(is ? j : 0, is, part);
  if (is && part == 0) args.offsets[j] = offset;
}

template <typename R>
class Secular : public testing::Test {};
using RealTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(Secular, RealTypes);

TYPED_TEST(Secular, Roots) {
  using R = TypeParam;
  R const u = unit_roundoff_of<R>;
  std::mt19937 random(11);
  std::uniform_real_distribution<R> uniform(0.1F, 1);
  for (int const count : {1, 2, 3, 5, 16, 33})
    for (int kind = 0; kind < 6; ++kind) {
      SCOPED_TRACE(testing::Message() << count << " poles, kind " << kind);
      std::vector<R> poles, z, offsets(static_cast<std::size_t>(count));
      for (int i = 0; i < count; ++i) {
        R const gap = kind == 1 || (kind == 2 && i % 2 == 1) ? 64 * u * uniform(random) : uniform(random) / static_cast<R>(count);
        poles.push_back(i == 0 ? R(-0.5) : poles.back() + gap);
        z.push_back((kind == 3 || (kind == 4 && i % 3 != 0) ? 64 * u : R(1)) * uniform(random) * R(i % 2 == 0 ? 1 : -1));
        if (kind == 5) z.back() *= std::pow(R(0.25), static_cast<R>(i % 10));
      }
      R const rho = kind == 2 ? 32 * u : R(0.7);
      simt::run(1, 32 * ((count + 7) / 8), 16, find_roots<R>, SecularArguments<R>{poles.data(), z.data(), count, rho, offsets.data()});
      for (int j = 0; j < count; ++j) {
        SCOPED_TRACE(j);
        auto const at = [&](int i) { return static_cast<long double>(poles[static_cast<std::size_t>(i)]); };
        auto const offset = static_cast<long double>(offsets[static_cast<std::size_t>(j)]);
        int const origin = offset < 0 ? j + 1 : j;
        ASSERT_LT(origin, count);
        ASSERT_NE(offset, 0);
        long double sum = 1 / static_cast<long double>(rho), sizes = sum, slope = 0;
        for (int i = 0; i < count; ++i) {
          long double const square = static_cast<long double>(z[static_cast<std::size_t>(i)]) * z[static_cast<std::size_t>(i)];
          long double const distance = at(i) - at(origin) - offset;
          EXPECT_EQ(distance < 0, i <= j) << "the root is on the wrong side of pole " << i;
          sum += square / distance;
          sizes += std::abs(square / distance);
          slope += square / (distance * distance);
        }
        EXPECT_LE(std::abs(sum), 64 * u * (sizes + std::abs(offset) * slope));
      }
    }
}

template <typename R>
struct DivideArguments {
  int n;
  R* d;
  R* e;
  R* q;
  int* info;
};
/// All operands are in global memory; only the workspace of divide and conquer is in shared memory.
template <typename R, int N>
void divide(DivideArguments<R> const args) {
  auto const q = [&](int i, int j) -> R& { return args.q[i + j * args.n]; };
  simt::DivideAndConquer<R, N, 4 * N, decltype(q)> all(q, args.n, args.d, args.e, simt::shared_memory());
  int const info = all.template solve<30>();
  if (simt::thread_index() == 0) *args.info = info;
}

/// Checks T = Q diag(w) Q^T for a tridiagonal matrix whose largest element is about one.
template <typename R, int N>
void check(std::vector<R> const& diagonal, std::vector<R> const& beside) {
  std::size_t const n = diagonal.size();
  auto d = diagonal, e = beside;
  e.resize(n, 0);
  std::vector<R> q(n * n, std::numeric_limits<R>::quiet_NaN());
  int info = -1;
  simt::run(1, 4 * N, simt::DivideMemory(sizeof(R), static_cast<int>(n)).bytes, divide<R, N>,
            DivideArguments<R>{static_cast<int>(n), d.data(), e.data(), q.data(), &info});
  EXPECT_EQ(info, 0);
  check_vectors(diagonal, beside, d.data(), q.data(), n);
}

template <typename R, int N>
void check_kinds(int n) {
  simt::DivideTree const tree(n);
  auto const is_tear = [&](int i) {
    for (int m = 1; m < tree.problems(0); ++m)
      if (tree.begin(0, m) == i + 1) return true;
    return false;
  };
  for (auto const& kind : hard_tridiagonals<R>(n, is_tear)) {
    SCOPED_TRACE(testing::Message() << kind.name << ", " << n << " rows, " << sizeof(R) << " bytes");
    check<R, N>(kind.d, kind.e);
  }
}
TEST(DivideAndConquer, HardMatrices) {
  check_kinds<double, 64>(sanitized ? 34 : 64);
  if (sanitized) return;
  check_kinds<float, 64>(47);
  check_kinds<double, 128>(105);
}
/// Each number of rows has other sizes of leaves and problems.
TEST(DivideAndConquer, Sizes) {
  std::mt19937 random(6);
  std::normal_distribution<float> normal(0, 0.5);
  for (int n = 33; n <= (sanitized ? 33 : 96); n += n < 40 ? 1 : 7) {
    SCOPED_TRACE(n);
    std::vector<float> d, e;
    for (int i = 0; i < n; ++i) d.push_back(normal(random));
    for (int i = 0; i + 1 < n; ++i) e.push_back(normal(random));
    if (n <= 64)
      check<float, 64>(d, e);
    else
      check<float, 96>(d, e);
  }
}

}  // namespace
}  // namespace myriad
