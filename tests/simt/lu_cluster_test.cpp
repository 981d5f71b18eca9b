/// LU by clusters of blocks on the host twin: the bits, pivots and info of lu_rows, whatever the number of blocks; and the factorization of
/// larger matrices by panels, against the CPU library's.

#include "lu/blocked/lu_cluster.cuh"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <vector>

#include "lu/block/lu_rows.cuh"
#include "lu/blocked/lu_blocked.hpp"
#include "lu/blocked/lu_swap_rows.cuh"
#include "myriad/myriad.hpp"
#include "simt_host/machine.hpp"
#include "sizes.hpp"
#include "stored.hpp"

namespace myriad {
namespace {

constexpr std::int64_t count = 4, singular = 1, not_a_number = 2, tied = 3;

template <typename T>
Stored<T> matrices_for(int m, int n, Layout layout) {
  Stored<T> out(m, n, count, layout);
  fill(out.memory, static_cast<unsigned>(m + 7 * n));
  Batch<T> const& a = out.view;
  for (std::int64_t i = 0; i < m; ++i) *a.at(singular, i, n / 2) = T(0);
  *a.at(not_a_number, m / 2, n / 3) = T(std::numeric_limits<Real<T>>::quiet_NaN());
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < m; ++i) *a.at(tied, i, j) = T(((i * 73856093) ^ (j * 19349663)) % 13 < 6 ? -1 : 1);
  return out;
}

/// As bytes, except that one NaN is as good as another.
template <typename T>
bool is_same(T const& x, T const& y) {
  if constexpr (is_complex<T>)
    return is_same(x.real(), y.real()) && is_same(x.imag(), y.imag());
  else
    return std::memcmp(&x, &y, sizeof(T)) == 0 || (std::isnan(x) && std::isnan(y));
}

struct Wanted {
  int m, n;
  int warps, blocks;  ///< of a cluster
  Layout layout = Layout::packed_columns;
  bool ragged = false, pivoting = true;
};

template <typename T>
void check_bits(Wanted const& w) {
  SCOPED_TRACE(testing::Message() << w.m << " by " << w.n << ", " << w.blocks << " blocks of " << w.warps << " warps, layout "
                                  << static_cast<int>(w.layout) << (w.ragged ? ", ragged" : "")
                                  << (w.pivoting ? "" : ", without pivoting"));
  using D = gpu::DeviceElement<T>;
  Stored<T> a = matrices_for<T>(w.m, w.n, w.layout), b = a;
  std::vector<std::int64_t> rows{w.m, w.m - 5, w.m / 2, w.m}, cols{w.n / 2, w.n, w.n - 3, 0};
  b.view.data = b.memory.data() + (a.view.data - a.memory.data());
  for (Batch<T>* const view : {&a.view, &b.view})
    if (w.ragged) view->row_sizes = rows.data(), view->col_sizes = cols.data();
  std::int64_t const steps = std::min(w.m, w.n);
  std::vector<int> pivots(static_cast<std::size_t>(steps * count), -7), other_pivots = pivots;
  std::vector<int> info(count, -7), other_info = info;
  constexpr int before = 3;
  info[0] = other_info[0] = 2, info[1] = other_info[1] = info[2] = other_info[2] = info[3] = other_info[3] = 0;

  constexpr LuRows by_rows = lu_rows_plan(sizeof(T), is_complex<T>, 128);
  int const warps = lu_rows_warps(w.m);
  simt::run(2, 32 * warps, LuRowsMemory<D>(by_rows, w.m, w.n, warps).bytes, lu_rows<D, by_rows>,
            LuRowsArguments<D>{.a = gpu::matrices_of(Batch<T const>(a.view)),
                               .result = gpu::matrices_of(a.view),
                               .pivots = gpu::matrices_of(w.pivoting ? vectors(pivots.data(), steps, count) : Batch<int>{}),
                               .info = info.data(),
                               .before = before,
                               .pivoting = w.pivoting,
                               .warps = warps});
  constexpr LuCluster c = lu_cluster_plan(sizeof(T), is_complex<T>);
  simt::run(2 * w.blocks, 32 * w.warps, LuClusterMemory<D, c.width>(static_cast<int>(steps), w.warps).bytes, lu_cluster<D, c>,
            LuClusterArguments<D>{.a = gpu::matrices_of(Batch<T const>(b.view)),
                                  .result = gpu::matrices_of(b.view),
                                  .pivots = gpu::matrices_of(w.pivoting ? vectors(other_pivots.data(), steps, count) : Batch<int>{}),
                                  .info = other_info.data(),
                                  .before = before,
                                  .pivoting = w.pivoting,
                                  .warps = w.warps},
            false, w.blocks);
  EXPECT_EQ(pivots, other_pivots);
  EXPECT_EQ(info, other_info);
  for (std::size_t e = 0; e < a.memory.size(); ++e) ASSERT_TRUE(is_same(a.memory[e], b.memory[e])) << "element " << e;
}

template <typename T>
class LuCluster : public testing::Test {};
using Types = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(LuCluster, Types);

TYPED_TEST(LuCluster, HasTheBitsOfOneBlock) {
  using T = TypeParam;
  check_bits<T>({.m = 100, .n = 100, .warps = 1, .blocks = 4});
  if (sanitized && !std::is_same_v<T, double>) return;
  check_bits<T>({.m = 128, .n = 35, .warps = 2, .blocks = 2, .layout = Layout::dense_rows});
  check_bits<T>({.m = 37, .n = 90, .warps = 1, .blocks = 2, .layout = Layout::columns});
  check_bits<T>({.m = 61, .n = 61, .warps = 1, .blocks = 8, .ragged = true});
  check_bits<T>({.m = 33, .n = 40, .warps = 2, .blocks = 1, .pivoting = false});
  check_bits<T>({.m = 70, .n = 9, .warps = 1, .blocks = 4, .layout = Layout::interleaved});
}

/// Matrices of more rows than one block factors, on a GPU with clusters.
template <typename T>
void check_panels(int m, int n, std::int64_t number) {
  using D = gpu::DeviceElement<T>;
  HostMachine machine(8);
  machine.device().major = 9;
  constexpr LuRows by_rows = lu_rows_plan(sizeof(T), is_complex<T>, 512);
  machine.add(gpu::source_of(lu_rows_kernel, dtype_of<T>, by_rows), lu_rows<D, by_rows>);
  constexpr myriad::LuCluster c = lu_cluster_plan(sizeof(T), is_complex<T>);
  machine.add(gpu::source_of(lu_cluster_kernel, dtype_of<T>, c), lu_cluster<D, c>);
  machine.add(gpu::source_of(lu_swap_rows_kernel, dtype_of<T>), lu_swap_rows<D>);
  std::int64_t const steps = std::min(m, n);
  std::vector<T> memory(static_cast<std::size_t>(m * n * number));
  fill(memory, 5);
  std::vector<T> const before = memory;
  std::vector<T> by_cpu = memory;
  std::vector<int> pivots(static_cast<std::size_t>(steps * number)), of_cpu = pivots, info(static_cast<std::size_t>(number), -7);
  LuOnMachine<T, HostMachine>(machine).getrf({.a = batch(memory.data(), m, n, {.count = number}),
                                              .pivots = vectors(pivots.data(), steps, number),
                                              .info = info.data(),
                                              .pivoting = true});
  Queue cpu({.backend = Backend::cpu, .threads = 1});
  getrf<T>(cpu, batch(by_cpu.data(), m, n, {.count = number}), vectors(of_cpu.data(), steps, number), nullptr);
  EXPECT_EQ(pivots, of_cpu);
  EXPECT_EQ(info, std::vector<int>(static_cast<std::size_t>(number)));
  double largest = 0;
  for (std::size_t e = 0; e < memory.size(); ++e)
    largest = std::max(largest, static_cast<double>(std::abs(memory[e] - by_cpu[e]) / (1 + std::abs(by_cpu[e]))));
  EXPECT_LE(largest, 1e4 * static_cast<double>(std::numeric_limits<Real<T>>::epsilon()));
}
TEST(LuClusterPanels, AgreeWithTheCpu) {
  check_panels<double>(530, 150, 1);
  if (!sanitized) check_panels<std::complex<float>>(513, 70, 2);
}

TEST(LuClusterPlan, FitsTheGpu) {
  for (std::int64_t m = 1; m <= lu_cluster_most; m += m < 300 ? 1 : 61)
    for (std::int64_t const number : {1, 4, 16, 33, 64, 1000}) {
      LuClusterGrid const grid = lu_cluster_grid(m, number, 132);
      EXPECT_LE(grid.blocks, lu_cluster_blocks);
      EXPECT_LE(32 * grid.warps, lu_cluster_plan(8, false).threads);
      EXPECT_GE(32 * grid.warps * grid.blocks, m);
      EXPECT_LE((LuClusterMemory<simt::Complex<double>, 16>(512, grid.warps).bytes), 227 << 10);
      EXPECT_LE((LuClusterMemory<double, 32>(512, grid.warps).bytes), 227 << 10);
    }
  EXPECT_TRUE(lu_cluster_is_faster(512, 1, 132));
  EXPECT_FALSE(lu_cluster_is_faster(512, 2000, 132));
  EXPECT_FALSE(lu_cluster_is_faster(100, 1, 132));
}

}  // namespace
}  // namespace myriad
