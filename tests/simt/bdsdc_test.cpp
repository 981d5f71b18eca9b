/// The singular value decomposition of bidiagonal matrices by kernels of the whole GPU, on the host twin: residuals, orthogonality,
/// matrices that deflate in every way, values with and without vectors, ragged batches, NaN, scale, the same bits in every batch.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "myriad/myriad.hpp"
#include "runtime/views.hpp"
#include "simt_host/machine.hpp"
#include "sizes.hpp"
#include "svd/bdsdc/bdsdc_by_levels.hpp"
#include "svd/bdsdc/bdsdc_leaves.cuh"
#include "svd/bdsdc/bdsdc_merge.cuh"
#include "svd/bdsdc/bdsdc_plan.hpp"
#include "svd/bdsdc/bdsdc_values.cuh"
#include "svd/bdsdc/bdsdc_values_block.cuh"
#include "tridiagonals.hpp"

namespace myriad {
namespace {

/// Fewer blocks than work.
template <typename R>
HostMachine machine_of_bdsdc() {
  HostMachine machine(7);
  using Kernel = void (*)(BdsdcWork<R>);
  constexpr Kernel kernels[bdsdc_steps] = {bdsdc_load<R>,   bdsdc_leaves<R>, bdsdc_sort<R>, bdsdc_deflate<R>, bdsdc_rotate<R>,
                                           bdsdc_gather<R>, bdsdc_roots<R>,  bdsdc_fit<R>,  bdsdc_vectors<R>, bdsdc_order<R>};
  for (int step = 0; step < bdsdc_steps; ++step)
    machine.add(gpu::source_of(bdsdc_kernel(static_cast<BdsdcStep>(step)), dtype_of<R>), kernels[step]);
  machine.add(gpu::source_of(bdsdc_square_kernel, dtype_of<R>), bdsdc_square<R>);
  machine.add(gpu::source_of(bdsdc_points_kernel, dtype_of<R>), bdsdc_points<R>);
  machine.add(gpu::source_of(bdsdc_bisect_kernel, dtype_of<R>), bdsdc_bisect<R>);
  machine.add(gpu::source_of(bdsdc_order_values_kernel, dtype_of<R>), bdsdc_order_values<R>);
  machine.add(gpu::source_of(bdsdc_values_block_kernel, dtype_of<R>), bdsdc_values_block<R>);
  return machine;
}

/// Upper bidiagonal matrices, and the workspace with the results.
template <typename R>
struct Bidiagonals {
  HostMachine::Memory memory;
  BdsdcWorkspace<R> workspace;
  std::vector<simt::Index> sizes;
  std::int64_t n;
  std::vector<R> s;
  std::vector<int> info;

  Bidiagonals(int order, std::vector<TridiagonalKind<R>> const& of, bool vectors, std::vector<simt::Index> const& ragged = {})
      : memory(bytes_of<BdsdcWorkspace<R>>(order, bdsdc_leaf, std::ssize(of), vectors)),
        workspace(placed<BdsdcWorkspace<R>>(memory.data(), order, bdsdc_leaf, std::ssize(of), vectors)),
        sizes(ragged),
        n(order),
        s(of.size() * static_cast<std::size_t>(order), std::numeric_limits<R>::quiet_NaN()),
        info(of.size(), -7) {
    std::int64_t const count = std::ssize(of);
    for (std::int64_t b = 0; b < count; ++b) {
      auto const& kind = of[static_cast<std::size_t>(b)];
      std::copy(kind.d.begin(), kind.d.end(), workspace.d + b * n);
      std::copy(kind.e.begin(), kind.e.end(), workspace.e + b * n);
      workspace.scales[b] = R(1);
    }
    HostMachine machine = machine_of_bdsdc<R>();
    auto const given = [&](auto& work) {
      work.sizes = sizes.empty() ? nullptr : sizes.data();
      work.s = gpu::matrices_of(myriad::vectors(s.data(), n, count));
      work.info = info.data();
    };
    given(workspace.vectors);
    given(workspace.values);
    vectors ? bdsdc_by_levels(machine, workspace.vectors) : bdsdc_values(machine, workspace.values);
  }
  Bidiagonals(Bidiagonals const&) = delete;

  [[nodiscard]] R const* vector(int side, std::int64_t b, std::int64_t k) const {
    BdsdcWork<R> const& w = workspace.vectors;
    return w.q + (side * w.count + b) * w.stride + w.order[b * w.line + k] * w.ld;
  }

  /// B V = U S, U^T U = I, V^T V = I for a matrix whose largest element is about one.
  void check(std::int64_t b, TridiagonalKind<R> const& kind) const {
    using Wide = std::conditional_t<sizeof(R) == 4, double, long double>;
    auto const order = static_cast<std::int64_t>(kind.d.size());
    R const* const values = &s[static_cast<std::size_t>(b * n)];
    EXPECT_EQ(info[static_cast<std::size_t>(b)], 0);
    Wide norm = 0, residual = 0, orthogonality = 0;
    for (std::int64_t j = 0; j < order; ++j) {
      ASSERT_TRUE(values[j] >= 0 && !std::signbit(values[j])) << j;
      ASSERT_TRUE(j == 0 || values[j - 1] >= values[j]) << j;
      R const *const u = vector(0, b, j), *const v = vector(1, b, j);
      Wide of_residual = 0, of_product = 0;
      for (std::int64_t i = 0; i < order; ++i) {
        auto const at = static_cast<std::size_t>(i);
        Wide left = static_cast<Wide>(kind.d[at]) * v[i] - static_cast<Wide>(values[j]) * u[i];
        if (i + 1 < order) left += static_cast<Wide>(kind.e[at]) * v[i + 1];
        of_residual += std::abs(left);
        norm = std::max<Wide>(norm, std::abs(kind.d[at]) + (i + 1 < order ? std::abs(kind.e[at]) : 0));
        for (int side = 0; side < 2; ++side) {
          R const *const x = vector(side, b, i), *const y = side == 0 ? u : v;
          Wide product = i == j ? -1 : 0;
          for (std::int64_t k = 0; k < order; ++k) product += static_cast<Wide>(x[k]) * y[k];
          of_product += std::abs(product);
        }
      }
      ASSERT_TRUE(std::isfinite(of_residual) && std::isfinite(of_product)) << "column " << j;
      residual = std::max(residual, of_residual);
      orthogonality = std::max(orthogonality, of_product);
    }
    Wide const allowed = 8 * static_cast<Wide>(order) * unit_roundoff_of<R>;
    EXPECT_LE(residual, allowed * norm) << "B V - U S";
    EXPECT_LE(orthogonality, allowed) << "I - U^T U, I - V^T V";
  }
};

template <typename R>
TridiagonalKind<R> random_bidiagonal(int n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<R> normal;
  TridiagonalKind<R> kind{"random", {}, {}};
  for (int i = 0; i < n; ++i) kind.d.push_back(normal(random) / 2);
  for (int i = 0; i + 1 < n; ++i) kind.e.push_back(normal(random) / 2);
  return kind;
}

/// Tridiagonal kinds with their off-diagonal as that of an upper bidiagonal matrix, and more with zeros and of low rank.
template <typename R>
std::vector<TridiagonalKind<R>> hard_bidiagonals(int n) {
  StedcTree const tree(n + 1, bdsdc_leaf);
  // Row i is between two leaves.
  auto const is_between = [&](int i) {
    for (int m = 1; m < tree.problems(0); ++m)
      if (tree.begin(0, m) - 1 == i) return true;
    return false;
  };
  auto kinds = hard_tridiagonals<R>(n, is_between);
  auto const add = [&](char const* name, auto change) {
    auto kind = random_bidiagonal<R>(n, static_cast<unsigned>(kinds.size()));
    kind.name = name;
    change(kind);
    kinds.push_back(kind);
  };
  add("zero first diagonal element", [](auto& kind) { kind.d.front() = 0; });
  add("zero last diagonal element", [](auto& kind) { kind.d.back() = 0; });
  add("some zeros on the diagonal", [](auto& kind) {
    for (std::size_t i = 0; i < kind.d.size(); i += 5) kind.d[i] = 0;
  });
  add("some zeros beside it", [](auto& kind) {
    for (std::size_t i = 0; i < kind.e.size(); i += 5) kind.e[i] = 0;
  });
  add("zero rows between leaves", [&](auto& kind) {
    for (int i = 0; i + 1 < n; ++i)
      if (is_between(i)) kind.d[static_cast<std::size_t>(i)] = kind.e[static_cast<std::size_t>(i)] = 0;
  });
  add("zero but for one element", [](auto& kind) {
    std::fill(kind.d.begin(), kind.d.end(), R(0));
    std::fill(kind.e.begin() + 1, kind.e.end(), R(0));
  });
  add("rank one third", [](auto& kind) {
    for (std::size_t i = kind.d.size() / 3; i < kind.d.size(); ++i) {
      kind.d[i] = 0;
      if (i < kind.e.size()) kind.e[i] = 0;
    }
  });
  add("noise from one third on", [](auto& kind) {
    for (std::size_t i = kind.d.size() / 3; i < kind.d.size(); ++i) {
      kind.d[i] *= unit_roundoff_of<R>;
      if (i < kind.e.size()) kind.e[i] *= unit_roundoff_of<R>;
    }
  });
  add("ones", [](auto& kind) {
    std::fill(kind.d.begin(), kind.d.end(), R(1));
    std::fill(kind.e.begin(), kind.e.end(), R(1));
  });
  add("ones, negative", [](auto& kind) {
    std::fill(kind.d.begin(), kind.d.end(), R(-1));
    std::fill(kind.e.begin(), kind.e.end(), R(-1));
  });
  add("Kahan", [](auto& kind) {
    for (R& x : kind.d) x = R(0.25);
    for (R& x : kind.e) x = R(1);
  });
  add("Cholesky factor of glued Wilkinson matrices", [](auto& kind) {
    R const glue = std::sqrt(unit_roundoff_of<R>);
    R square = 0;
    for (int i = 0; i < static_cast<int>(kind.d.size()); ++i) {
      auto const at = static_cast<std::size_t>(i);
      kind.d[at] = std::sqrt((static_cast<R>(std::abs(10 - i % 21)) + 3) / 16 - square);
      if (at < kind.e.size()) {
        kind.e[at] = (i % 21 == 20 ? glue : R(0x1p-4)) / kind.d[at];
        square = kind.e[at] * kind.e[at];
      }
    }
  });
  add("exponents all over", [](auto& kind) {
    for (std::size_t i = 0; i < kind.d.size(); ++i) {
      kind.d[i] *= std::exp2(-static_cast<R>(i * 7 % 40));
      if (i < kind.e.size()) kind.e[i] *= std::exp2(-static_cast<R>(i * 11 % 40));
    }
  });
  return kinds;
}

template <typename R>
class Bdsdc : public testing::Test {};
using RealTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(Bdsdc, RealTypes);

TYPED_TEST(Bdsdc, HardMatrices) {
  using R = TypeParam;
  int const n = 72;  // four leaves
  auto const kinds = hard_bidiagonals<R>(n);
  Bidiagonals<R> const all(n, kinds, true), values(n, kinds, false);
  for (std::size_t b = 0; b < kinds.size(); ++b) {
    SCOPED_TRACE(testing::Message() << kinds[b].name << ", " << sizeof(R) << " bytes");
    all.check(static_cast<std::int64_t>(b), kinds[b]);
    EXPECT_EQ(values.info[b], 0);
    R norm = 0;
    for (R const x : kinds[b].d) norm = std::max(norm, std::abs(x));
    for (R const x : kinds[b].e) norm = std::max(norm, std::abs(x));
    for (std::size_t i = 0; i < n; ++i) {
      R const expected = all.s[b * n + i], found = values.s[b * n + i];
      ASSERT_FALSE(std::signbit(found));
      ASSERT_LE(std::abs(found - expected), 8 * static_cast<R>(n) * unit_roundoff_of<R> * norm) << "value " << i;
    }
  }
}

/// Exact zeros stay exact where nothing mixes them.
TYPED_TEST(Bdsdc, ZeroMatrix) {
  using R = TypeParam;
  TridiagonalKind<R> const zero{"zero", std::vector<R>(40), std::vector<R>(39)};
  for (bool const vectors : {true, false}) {
    Bidiagonals<R> const all(40, {zero}, vectors);
    for (R const value : all.s) ASSERT_TRUE(value == 0 && !std::signbit(value));
    if (vectors) all.check(0, zero);
  }
}

/// Each order has other sizes of leaves and problems; also a matrix that is a single leaf.
TYPED_TEST(Bdsdc, Sizes) {
  using R = TypeParam;
  for (int const n : sanitized ? std::vector{1, 2, 66} : std::vector{1, 2, 3, 31, 32, 33, 64, 100, sizeof(R) == 4 ? 130 : 200}) {
    SCOPED_TRACE(n);
    auto const kind = random_bidiagonal<R>(n, static_cast<unsigned>(n));
    Bidiagonals<R> const one(n, {kind}, true), values(n, {kind}, false);
    one.check(0, kind);
    for (std::size_t i = 0; i < one.s.size(); ++i) ASSERT_NEAR(one.s[i], values.s[i], 30 * static_cast<R>(n) * unit_roundoff_of<R>);
  }
}

/// A matrix alone, among others, and among others of other sizes, including size 0.
TYPED_TEST(Bdsdc, SameBitsWhateverTheBatch) {
  using R = TypeParam;
  int const n = 65;
  std::vector<TridiagonalKind<R>> kinds;
  std::vector<simt::Index> const sizes{100, 0, n, 33, 8};
  for (auto const size : sizes) kinds.push_back(random_bidiagonal<R>(static_cast<int>(size), static_cast<unsigned>(size)));
  for (bool const vectors : {true, false}) {
    Bidiagonals<R> const alone(n, {kinds[2]}, vectors), twice(n, {kinds[2], kinds[2]}, vectors), ragged(100, kinds, vectors, sizes);
    auto const same = [&](Bidiagonals<R> const& other, std::int64_t b) {
      EXPECT_EQ(other.info[static_cast<std::size_t>(b)], 0);
      EXPECT_EQ(std::memcmp(alone.s.data(), other.s.data() + b * other.n, n * sizeof(R)), 0);
      for (int side = 0; side < 2; ++side)
        for (int j = 0; vectors && j < n; ++j) ASSERT_EQ(std::memcmp(alone.vector(side, 0, j), other.vector(side, b, j), n * sizeof(R)), 0);
    };
    same(twice, 0);
    same(twice, 1);
    same(ragged, 2);
    for (std::size_t b = 0; vectors && b < sizes.size(); ++b)
      if (sizes[b] > 0) ragged.check(static_cast<std::int64_t>(b), kinds[b]);
    EXPECT_EQ(ragged.info[1], -7);
    EXPECT_TRUE(std::isnan(ragged.s[100]));
  }
}

/// Values of matrices that a block holds and of larger ones, together and alone.
TYPED_TEST(Bdsdc, ValuesOfBlocksAndOfLargerMatrices) {
  using R = TypeParam;
  constexpr int most = bdsdc_block_most, n = most + 4;
  std::vector<simt::Index> const sizes{n, most, 40, 0};
  std::vector<TridiagonalKind<R>> kinds;
  for (auto const size : sizes) kinds.push_back(random_bidiagonal<R>(static_cast<int>(size), static_cast<unsigned>(size)));
  Bidiagonals<R> const ragged(n, kinds, false, sizes);
  for (std::size_t b = 0; b < 3; ++b) {
    SCOPED_TRACE(sizes[b]);
    int const size = static_cast<int>(sizes[b]);
    Bidiagonals<R> const alone(size, {kinds[b]}, false);
    R const* const values = &ragged.s[b * n];
    EXPECT_EQ(ragged.info[b], 0);
    EXPECT_EQ(std::memcmp(alone.s.data(), values, sizes[b] * sizeof(R)), 0);
    if (b == 1 && !sanitized) {  // a block against divide and conquer
      Bidiagonals<R> const expected(size, {kinds[b]}, true);
      for (int i = 0; i < size; ++i) ASSERT_NEAR(expected.s[i], values[i], 30 * static_cast<R>(size) * unit_roundoff_of<R>);
    }
    double squares = 0, of_values = 0;
    for (R const x : kinds[b].d) squares += static_cast<double>(x) * x;
    for (R const x : kinds[b].e) squares += static_cast<double>(x) * x;
    for (int i = 0; i < size; ++i) of_values += static_cast<double>(values[i]) * values[i];
    EXPECT_NEAR(of_values / squares, 1, 30.0 * size * unit_roundoff_of<R>);
  }
  EXPECT_EQ(ragged.info[3], -7);
}

TYPED_TEST(Bdsdc, NotFinite) {
  using R = TypeParam;
  int const n = 70;
  auto const good = random_bidiagonal<R>(n, 3);
  for (R const bad : {std::numeric_limits<R>::quiet_NaN(), std::numeric_limits<R>::infinity()})
    for (bool const vectors : {true, false}) {
      auto in_d = good, in_e = good;
      in_d.d[n - 1] = bad;
      in_e.e[0] = bad;
      Bidiagonals<R> const all(n, {in_d, good, in_e}, vectors), alone(n, {good}, vectors);
      for (std::size_t const b : {0, 2}) {
        EXPECT_EQ(all.info[b], n);
        for (int i = 0; i < n; ++i) ASSERT_TRUE(std::isnan(all.s[b * n + static_cast<std::size_t>(i)]));
      }
      EXPECT_EQ(all.info[1], 0);
      EXPECT_EQ(std::memcmp(&all.s[n], alone.s.data(), n * sizeof(R)), 0);
    }
}

/// Matrices far from size one.
TYPED_TEST(Bdsdc, Scaled) {
  using R = TypeParam;
  int const n = 70;
  auto const good = random_bidiagonal<R>(n, 3);
  for (bool const vectors : {true, false})
    for (R const factor : {sizeof(R) == 4 ? R(0x1p100) : R(0x1p900), sizeof(R) == 4 ? R(0x1p-100) : R(0x1p-900)}) {
      auto scaled = good;
      for (R& x : scaled.d) x *= factor;
      for (R& x : scaled.e) x *= factor;
      Bidiagonals<R> const one(n, {good}, vectors), other(n, {scaled}, vectors);
      for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(factor * one.s[i], other.s[i]);
    }
}

}  // namespace
}  // namespace myriad
