#pragma once
/// Plan of products of triangles of more than 32 rows and vectors.

#include <algorithm>
#include <cstdint>

#include "trsm/trmv_config.cuh"

namespace myriad {

/// Estimated, not measured: a lane loads 128 bytes at a time (single: 64), which with 64 registers per thread is 64 to 128 KB in flight per
/// multiprocessor. Short rows have fewer warps, so that all of them have work.
constexpr Trmv trmv_plan(int element_bytes, std::int64_t n, Lines a) {
  bool const by_columns = a == Lines::columns;
  // 128 bytes down a column, or 16 rows (double complex: 8)
  int const rows = by_columns ? 128 / element_bytes : element_bytes == 16 ? 8 : 16;
  int const most_warps = by_columns ? rows : element_bytes == 16 ? 8 : 16;
  int const at_once = element_bytes == 16 ? 8 : 16;
  Trmv c{.warps = std::min(n <= 128 ? 4 : n <= 512 ? 8 : 16, most_warps), .rows = rows, .tiles = 1, .blocks_per_sm = 1, .a = a};
  c.tiles = at_once / c.held();
  c.blocks_per_sm = 65536 / (64 * c.threads());
  return c;
}

/// Elements of x in shared memory at a time: 32 KB, or all.
constexpr int trmv_terms(int element_bytes, std::int64_t n, Trmv const& c) {
  std::int64_t const group = 32 * c.tiles, all = (n + group - 1) / group * group;
  return static_cast<int>(std::min<std::int64_t>(all, 32768 / element_bytes));
}

/// Blocks per matrix, for `count` matrices and `resident` resident blocks: one, unless that leaves multiprocessors idle; then several times
/// as many as are resident, since their work differs.
constexpr std::int64_t trmv_parts(Trmv const& c, std::int64_t n, std::int64_t count, std::int64_t resident) {
  if (count >= resident) return 1;
  return std::clamp<std::int64_t>((4 * resident + count - 1) / count, 1, (n + c.rows - 1) / c.rows);
}

}  // namespace myriad
