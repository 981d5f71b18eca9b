#pragma once
/// How LU of matrices that no block holds is divided.

#include <algorithm>
#include <array>
#include <cstdint>

#include "blocked/by_sizes_config.cuh"
#include "lu/block/lu_block_plan.hpp"
#include "lu/block/lu_rows_plan.hpp"
#include "lu/block/lu_warps_plan.hpp"
#include "lu/blocked/lu_cluster_config.cuh"
#include "lu/blocked/lu_tall_config.cuh"

namespace myriad {

/// Bytes of workspace for copies: as many matrices at a time as that holds, but at least one.
inline constexpr std::int64_t lu_workspace = std::int64_t{1} << 30;

/// Columns whose product is subtracted from the trailing matrix at once. Triangles of so many rows are one launch.
constexpr std::int64_t lu_outer_columns(bool complex) { return complex ? 64 : 128; }

/// Columns of the panels that one kernel factors: two of them fit a multiprocessor, unless they are as narrow as any, or in global memory
/// (see lu_panel_is_tall). By reasoning, not by measurement.
constexpr std::int64_t lu_panel_columns(int element_bytes, bool complex, std::int64_t m, std::int64_t shared_bytes) {
  for (std::int64_t width = 32; width > 8; width /= 2)
    if (lu_block_holds(element_bytes, complex, m, width, shared_bytes / 2)) return width;
  return lu_block_holds(element_bytes, complex, m, 8, shared_bytes) ? 8 : lu_tall_plan(element_bytes).width;
}
constexpr bool lu_panel_is_tall(int element_bytes, bool complex, std::int64_t m, std::int64_t columns, std::int64_t shared_bytes) {
  return !lu_block_holds(element_bytes, complex, m, columns, shared_bytes);
}

/// The kernel of clusters: columns that registers hold beside what a step needs.
constexpr LuCluster lu_cluster_plan(int element_bytes, bool complex) {
  return {.threads = 256, .width = element_bytes == 16 ? 16 : complex ? 24 : 32};
}
/// The most rows of panels that a cluster factors
inline constexpr std::int64_t lu_cluster_most = 2048;

/// Blocks of a cluster, and warps of a block.
struct LuClusterGrid {
  int blocks, warps;
};
/// For `count` matrices of m rows, m at most lu_cluster_most: more blocks than are needed where multiprocessors would be idle, each with 64
/// rows at least.
constexpr LuClusterGrid lu_cluster_grid(std::int64_t m, std::int64_t count, int multiprocessors) {
  std::int64_t blocks = 1;
  while (blocks < lu_cluster_blocks && (256 * blocks < m || (64 * blocks < m && blocks * count <= multiprocessors))) blocks *= 2;
  return {.blocks = static_cast<int>(blocks), .warps = static_cast<int>((m + 32 * blocks - 1) / (32 * blocks))};
}
/// Whether a cluster factors panels that one block could factor, too. The bits are the same. Whole matrices of 256 rows take 541 us in a
/// cluster and 416 in a block, of 512 rows in double 1490 and 1740, in single 1480 and 1330.
constexpr bool lu_cluster_is_faster(std::int64_t m, std::int64_t count, int multiprocessors) {
  int const blocks = lu_cluster_grid(m, count, multiprocessors).blocks;
  return m > 128 && blocks > 1 && blocks * count <= 2 * multiprocessors;
}

/// Rows of the largest matrices of each way to factor but the last: bits depend on the columns of a panel.
template <typename D>
constexpr std::array<std::int64_t, by_sizes_classes - 1> lu_limits(std::int64_t shared_bytes, bool clusters) {
  constexpr int bytes = sizeof(D);
  std::array<std::int64_t, by_sizes_classes - 1> limits{lu_rows_limit<D>(shared_bytes)};
  if (clusters) {
    static_assert(lu_cluster_most >= lu_block_most_rows);
    limits[1] = lu_cluster_most;
    return limits;
  }
  std::size_t found = 1;
  std::int64_t m = limits[0] + 1;
  while (found < limits.size() && m <= lu_block_most_rows) {
    std::int64_t const width = lu_panel_columns(bytes, simt::is_complex<D>, m, shared_bytes);
    std::int64_t last = m;
    while (last <= lu_block_most_rows && lu_panel_columns(bytes, simt::is_complex<D>, last + 1, shared_bytes) == width) ++last;
    if (last > lu_block_most_rows) break;
    limits[found++] = last;
    m = last + 1;
  }
  return limits;
}

}  // namespace myriad
