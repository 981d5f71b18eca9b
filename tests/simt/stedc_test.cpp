/// Tridiagonal eigenproblems by kernels of the whole GPU, on the host twin: residuals, orthogonality, values against LAPACK's, matrices
/// that deflate in every way, ragged batches, NaN, the same bits in every batch; and the kernels that copy matrices to the workspace and
/// back.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "eigen/divide_and_conquer/stedc_by_levels.hpp"
#include "eigen/divide_and_conquer/stedc_leaves.cuh"
#include "eigen/divide_and_conquer/stedc_merge.cuh"
#include "eigen/divide_and_conquer/stedc_plan.hpp"
#include "eigen/divide_and_conquer/stedc_values.cuh"
#include "eigen/eigen_large.cuh"
#include "eigen/eigen_plan.hpp"
#include "myriad/myriad.hpp"
#include "runtime/views.hpp"
#include "simt_host/machine.hpp"
#include "sizes.hpp"
#include "stored.hpp"
#include "tridiagonals.hpp"

namespace myriad {
namespace {

/// Rows of a leaf
constexpr int leaf = 32;

/// Fewer blocks than work.
template <typename R>
HostMachine machine_of_stedc() {
  HostMachine machine(7);
  using Kernel = void (*)(StedcWork<R>);
  constexpr Kernel kernels[stedc_steps] = {
      stedc_load<R, false>, stedc_load<R, true>, stedc_leaves<R, leaf>, stedc_sort<R>,  stedc_deflate<R>, stedc_rotate<R>, stedc_gather<R>,
      stedc_roots<R>,       stedc_fit<R>,        stedc_vectors<R>,      stedc_order<R>, stedc_points<R>,  stedc_bisect<R>};
  for (int step = 0; step < stedc_steps; ++step)
    with_stedc_kernel(static_cast<StedcStep>(step), dtype_of<R>, leaf,
                      [&](auto const&... kernel) { machine.add(gpu::source_of(kernel...), kernels[step]); });
  return machine;
}

/// Matrices, and the workspace with the results.
template <typename R>
struct Tridiagonals {
  HostMachine::Memory memory;
  std::vector<simt::Index> sizes;
  std::vector<R> w;
  std::vector<int> info;
  StedcWork<R> work;

  /// Takes the first n rows of each matrix, or the sizes of `ragged` if given.
  Tridiagonals(int n, std::vector<TridiagonalKind<R>> const& of, bool vectors, std::vector<simt::Index> const& ragged = {})
      : memory(arena_bytes(n, of.size(), vectors)),
        sizes(ragged),
        w(of.size() * static_cast<std::size_t>(n), std::numeric_limits<R>::quiet_NaN()),
        info(of.size(), -7) {
    auto const count = static_cast<std::int64_t>(of.size());
    Arena arena(memory.data());
    work = stedc_work<R>(arena, n, leaf, count, vectors);
    for (std::int64_t b = 0; b < count; ++b) {
      auto const& kind = of[static_cast<std::size_t>(b)];
      std::copy(kind.d.begin(), kind.d.end(), const_cast<R*>(work.d.at(b, 0, 0)));
      std::copy(kind.e.begin(), kind.e.end(), const_cast<R*>(work.e.at(b, 0, 0)));
      work.scales[b] = R(1);
    }
    work.sizes = sizes.empty() ? nullptr : sizes.data();
    work.w = gpu::matrices_of(myriad::vectors(w.data(), n, count));
    work.info = info.data();
    HostMachine machine = machine_of_stedc<R>();
    vectors ? stedc_by_levels(machine, work) : stedc_values(machine, work);
  }
  Tridiagonals(Tridiagonals const&) = delete;

  static std::int64_t arena_bytes(int n, std::size_t count, bool vectors) {
    Arena arena;
    static_cast<void>(stedc_work<R>(arena, n, leaf, static_cast<std::int64_t>(count), vectors));
    return arena.bytes();
  }

  /// The eigenvalue of each column of vectors.
  [[nodiscard]] std::vector<R> values(std::int64_t b) const {
    std::vector<R> of_columns(static_cast<std::size_t>(work.rows_of(b)));
    for (int p = 0; p < work.rows_of(b); ++p)
      of_columns[static_cast<std::size_t>(work.order[b * work.line + p])] = w[static_cast<std::size_t>(b * work.n + p)];
    return of_columns;
  }
  void check(std::int64_t b, TridiagonalKind<R> const& kind) const {
    EXPECT_EQ(info[static_cast<std::size_t>(b)], 0);
    auto const first = w.begin() + b * work.n;
    EXPECT_TRUE(std::is_sorted(first, first + work.rows_of(b)));
    check_vectors(kind.d, kind.e, values(b).data(), work.q + b * work.stride, static_cast<std::size_t>(work.ld));
  }
};

template <typename R>
TridiagonalKind<R> random_tridiagonal(int n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<R> normal;
  TridiagonalKind<R> kind{"random", {}, {}};
  for (int i = 0; i < n; ++i) kind.d.push_back(normal(random) / 2);
  for (int i = 0; i + 1 < n; ++i) kind.e.push_back(normal(random) / 2);
  return kind;
}

/// LAPACK's values of T as a dense matrix, computed with vectors: without them it uses sterf, see eigen_cpu.cpp.
template <typename R>
std::vector<R> values_by_lapack(TridiagonalKind<R> const& kind) {
  auto const n = static_cast<std::int64_t>(kind.d.size());
  std::vector<R> a(static_cast<std::size_t>(n * n)), w(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    auto const at = static_cast<std::size_t>(i);
    a[at + at * static_cast<std::size_t>(n)] = kind.d[at];
    if (i + 1 < n) a[at + 1 + at * static_cast<std::size_t>(n)] = kind.e[at];
  }
  Queue queue({.backend = Backend::cpu});
  int info = -1;
  syevd<R>(queue, Job::vectors, Uplo::lower, batch(a.data(), n, n), vectors(w.data(), n, 1), &info);
  EXPECT_EQ(info, 0);
  return w;
}

template <typename R>
auto tears_of(int n) {
  return [tree = StedcTree(n, leaf)](int i) {
    for (int m = 1; m < tree.problems(0); ++m)
      if (tree.begin(0, m) == i + 1) return true;
    return false;
  };
}

template <typename R>
class Stedc : public testing::Test {};
using RealTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(Stedc, RealTypes);

TEST(StedcTree, Parts) {
  for (int const leaf : {16, 32, 64, 128})
    for (int n = 1; n < 700; n += n < 300 ? 1 : 37) {
      StedcTree const tree(n, leaf);
      for (int level = 0; level <= tree.levels; ++level) {
        ASSERT_EQ(tree.begin(level, 0), 0);
        ASSERT_EQ(tree.begin(level, tree.problems(level)), n);
        for (int m = 0; m < tree.problems(level); ++m) {
          int const begin = tree.begin(level, m), end = tree.begin(level, m + 1);
          ASSERT_EQ(begin % StedcTree::unit, 0);
          ASSERT_LT(begin, end) << n;
          ASSERT_LE(end - begin, tree.largest(level));
          ASSERT_LE(end - begin, leaf << level);
          ASSERT_EQ(tree.problem_of(level, begin), m);
          ASSERT_EQ(tree.problem_of(level, end - 1), m);
          if (level > 0) {
            ASSERT_EQ(tree.begin(level - 1, 2 * m + 2), end);
          }
        }
      }
    }
}

TYPED_TEST(Stedc, HardMatrices) {
  using R = TypeParam;
  int const n = 72;  // four leaves
  auto const kinds = hard_tridiagonals<R>(n, tears_of<R>(n));
  Tridiagonals<R> const all(n, kinds, true), values(n, kinds, false);
  for (std::size_t b = 0; b < kinds.size(); ++b) {
    SCOPED_TRACE(testing::Message() << kinds[b].name << ", " << n << " rows, " << sizeof(R) << " bytes");
    all.check(static_cast<std::int64_t>(b), kinds[b]);
    EXPECT_EQ(values.info[b], 0);
    R norm = 0;
    for (R const x : kinds[b].d) norm = std::max(norm, std::abs(x));
    for (R const x : kinds[b].e) norm = std::max(norm, std::abs(x));
    auto const expected = values_by_lapack(kinds[b]);
    for (auto const* const of : {&all, &values}) {
      R const* const found = &of->w[b * static_cast<std::size_t>(n)];
      EXPECT_TRUE(std::is_sorted(found, found + n));
      for (std::size_t i = 0; i < expected.size(); ++i)
        ASSERT_LE(std::abs(found[i] - expected[i]), 4 * static_cast<R>(n) * unit_roundoff_of<R> * norm)
            << "value " << i << (of == &all ? " with vectors" : " alone");
    }
  }
}

/// Each number of rows has other sizes of leaves and problems; also a matrix that is a single leaf.
TYPED_TEST(Stedc, Sizes) {
  using R = TypeParam;
  for (int const n : sanitized ? std::vector{66} : std::vector{1, 9, 17, 33, 65, 97, sizeof(R) == 4 ? 129 : 200}) {
    SCOPED_TRACE(n);
    auto const kind = random_tridiagonal<R>(n, static_cast<unsigned>(n));
    Tridiagonals<R> const one(n, {kind}, true);
    one.check(0, kind);
  }
}

/// A matrix alone, among others, and among others of other sizes, including size 0.
TYPED_TEST(Stedc, SameBitsWhateverTheBatch) {
  using R = TypeParam;
  int const n = 65;
  std::vector<TridiagonalKind<R>> kinds;
  std::vector<simt::Index> const sizes{100, 0, n, 33, 8};
  for (auto const size : sizes) kinds.push_back(random_tridiagonal<R>(static_cast<int>(size), static_cast<unsigned>(size)));
  for (bool const vectors : {true, false}) {
    Tridiagonals<R> const alone(n, {kinds[2]}, vectors), twice(n, {kinds[2], kinds[2]}, vectors), ragged(100, kinds, vectors, sizes);
    auto const same = [&](Tridiagonals<R> const& other, std::int64_t b) {
      EXPECT_EQ(other.info[static_cast<std::size_t>(b)], 0);
      EXPECT_EQ(std::memcmp(alone.w.data(), other.w.data() + b * other.work.n, n * sizeof(R)), 0);
      for (int j = 0; vectors && j < n; ++j)
        ASSERT_EQ(std::memcmp(alone.work.q + j * alone.work.ld, other.work.q + b * other.work.stride + j * other.work.ld, n * sizeof(R)),
                  0);
    };
    same(twice, 0);
    same(twice, 1);
    same(ragged, 2);
    for (std::size_t b = 0; vectors && b < sizes.size(); ++b)
      if (sizes[b] > 0) ragged.check(static_cast<std::int64_t>(b), kinds[b]);
    EXPECT_EQ(ragged.info[1], -7);
    EXPECT_TRUE(std::isnan(ragged.w[100]));
  }
}

TYPED_TEST(Stedc, NotFinite) {
  using R = TypeParam;
  int const n = 70;
  auto const good = random_tridiagonal<R>(n, 3);
  for (R const bad : {std::numeric_limits<R>::quiet_NaN(), std::numeric_limits<R>::infinity()})
    for (bool const vectors : {true, false}) {
      auto in_d = good, in_e = good;
      in_d.d[n - 1] = bad;
      in_e.e[0] = bad;
      Tridiagonals<R> const all(n, {in_d, good, in_e}, vectors), alone(n, {good}, vectors);
      for (std::size_t const b : {0, 2}) {
        EXPECT_EQ(all.info[b], n);
        for (int i = 0; i < n; ++i) ASSERT_TRUE(std::isnan(all.w[b * n + static_cast<std::size_t>(i)]));
      }
      EXPECT_EQ(all.info[1], 0);
      EXPECT_EQ(std::memcmp(&all.w[n], alone.w.data(), n * sizeof(R)), 0);
    }
}

/// Matrices far from size one.
TYPED_TEST(Stedc, Scaled) {
  using R = TypeParam;
  int const n = 70;
  auto const good = random_tridiagonal<R>(n, 3);
  for (bool const vectors : {true, false})
    for (R const factor : {sizeof(R) == 4 ? R(0x1p100) : R(0x1p900), sizeof(R) == 4 ? R(0x1p-100) : R(0x1p-900)}) {
      auto scaled = good;
      for (R& x : scaled.d) x *= factor;
      for (R& x : scaled.e) x *= factor;
      Tridiagonals<R> const one(n, {good}, vectors), other(n, {scaled}, vectors);
      for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(factor * one.w[i], other.w[i]);
    }
}

template <typename T>
class EigenLargeMatrices : public testing::Test {};
using Types = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(EigenLargeMatrices, Types);

/// Triangles near overflow and underflow are scaled to size one; others, and other memory, stay. Vectors are written to A in order.
TYPED_TEST(EigenLargeMatrices, LoadAndStore) {
  using T = TypeParam;
  using R = Real<T>;
  using D = gpu::DeviceElement<T>;
  int const n = 45, count = 3;
  R const factors[count] = {R(1), sizeof(R) == 4 ? R(0x1p90) : R(0x1p900), sizeof(R) == 4 ? R(0x1p-90) : R(0x1p-900)};
  std::vector<simt::Index> const sizes{n, 38, n};
  for (Layout const layout : {Layout::packed_columns, Layout::dense_rows})
    for (bool const lower : {true, false}) {
      Stored<T> a(n, n, count, layout);
      fill(a.memory, 4);
      for (int b = 0; b < count; ++b)
        for (int j = 0; j < n; ++j)
          for (int i = 0; i < n; ++i) *a.view.at(b, i, j) *= factors[b];
      auto const before = a.memory;
      auto expected = before;
      int const parts = 5;
      HostMachine::Memory memory(bytes_of<EigenLargeWorkspace<T>>(n, 32, count, true, parts));
      auto const workspace = placed<EigenLargeWorkspace<T>>(memory.data(), n, 32, count, true, parts);
      EigenLarge<D> large{.a = gpu::matrices_of(a.view),
                          .lower = lower,
                          .tridiagonal = workspace.tridiagonal,
                          .vectors = nullptr,
                          .vectors_stride = workspace.tridiagonal.stride,
                          .largest = workspace.largest,
                          .parts = parts};
      large.tridiagonal.sizes = sizes.data();
      simt::run(4, eigen_large_threads, 128, eigen_largest<D>, large);
      simt::run(4, eigen_large_threads, 128, eigen_scale<D>, large);
      for (int b = 0; b < count; ++b) {
        EXPECT_EQ(large.tridiagonal.scales[b] == R(1), b == 0);
        auto const order = static_cast<int>(sizes[static_cast<std::size_t>(b)]);
        R largest = 0;
        for (int j = 0; j < order; ++j)
          for (int i = 0; i < order; ++i) {
            auto const place = static_cast<std::size_t>(a.view.at(b, i, j) - a.memory.data());
            if (!(lower ? i >= j : i <= j)) continue;
            if (b > 0)
              expected[place] =
                  i == j ? T(std::real(before[place]) / large.tridiagonal.scales[b]) : before[place] / large.tridiagonal.scales[b];
            largest = std::max({largest, std::abs(std::real(expected[place])), i == j ? R(0) : std::abs(std::imag(expected[place]))});
          }
        EXPECT_TRUE(b == 0 || (largest >= 1 && largest < 2));
      }
      EXPECT_EQ(std::memcmp(a.memory.data(), expected.data(), expected.size() * sizeof(T)), 0);

      StedcWork<R> const& work = large.tridiagonal;
      std::vector<T> complex_vectors;
      if constexpr (is_complex<T>) {
        complex_vectors.resize(static_cast<std::size_t>(large.vectors_stride * count));
        large.vectors = reinterpret_cast<D*>(complex_vectors.data());
      } else {
        large.vectors = work.q;
      }
      for (int b = 0; b < count; ++b) {
        work.backs[b] = b == 2 ? std::numeric_limits<R>::quiet_NaN() : R(1);
        auto const order = static_cast<int>(sizes[static_cast<std::size_t>(b)]);
        for (int j = 0; j < order; ++j) {
          work.order[b * work.line + j] = (j * 7 + b) % order;  // 7 divides neither size
          for (int i = 0; i < order; ++i) work.q[b * work.stride + i + j * work.ld] = static_cast<R>(i + 100 * j + b);
        }
      }
      if constexpr (is_complex<T>) simt::run(4, eigen_large_threads, 0, eigen_widen<D>, large);
      simt::run(4, eigen_large_threads, 32 * 33 * sizeof(T), eigen_write<D>, large);
      for (int b = 0; b < count; ++b) {
        auto const order = static_cast<int>(sizes[static_cast<std::size_t>(b)]);
        for (int j = 0; j < order; ++j)
          for (int i = 0; i < order; ++i) {
            T const x = *a.view.at(b, i, j);
            expected[static_cast<std::size_t>(a.view.at(b, i, j) - a.memory.data())] = x;
            ASSERT_TRUE(b == 2 ? std::isnan(std::real(x)) : x == T(static_cast<R>(i + 100 * ((j * 7 + b) % order) + b)))
                << i << ", " << j << ", " << b;
          }
      }
      EXPECT_EQ(std::memcmp(a.memory.data(), expected.data(), expected.size() * sizeof(T)), 0);
    }
}

TEST(EigenLargeSizes, OfRaggedBatches) {
  std::vector<std::int64_t> const rows{3, 43, 44, 203, 0};
  std::vector<simt::Index> out(25, -1);
  Batch<double> a = batch(static_cast<double*>(nullptr), 150, 150, {.count = 5});
  a.row_sizes = a.col_sizes = rows.data();
  a.row_offset = 3;
  a.col_offset = 2;
  EigenSizes<double> const sizes{.a = gpu::matrices_of(a),
                                 .limit = 40,
                                 .small_rows = out.data(),
                                 .small_columns = out.data() + 5,
                                 .large_rows = out.data() + 10,
                                 .large_columns = out.data() + 15,
                                 .large = out.data() + 20};
  simt::run(2, eigen_large_threads, 0, eigen_sizes<double>, sizes);
  EXPECT_EQ(out, (std::vector<simt::Index>{3, 43, 3, 3, 3, 2, 42, 2, 2, 2, 3, 3, 44, 153, 3, 2, 2, 43, 152, 2, 0, 0, 41, 150, 0}));
}

}  // namespace
}  // namespace myriad
