#pragma once
/// The plan of LU in a block: whole matrices that fit shared memory, and panels of larger ones.

#include <algorithm>
#include <cstdint>

#include "lu/block/lu_block_config.cuh"
#include "myriad/device.hpp"

namespace myriad {

/// The most rows of a kernel
inline constexpr int lu_block_most_rows = 2048;

/// The most rows of matrices with which a block solves
inline constexpr std::int64_t lu_block_solved = 64;

/// Up to so many right-hand sides are solved for beside the matrix, each by a warp.
inline constexpr std::int64_t lu_block_right = 8;

/// Matrices of up to m rows and n columns, m at most lu_block_most_rows: few rows, right-hand sides beside them included, or panels of more
/// rows than lu_rows takes. By reasoning, not by measurement.
constexpr LuBlock lu_block_plan(int element_bytes, bool complex, std::int64_t m, std::int64_t n) {
  bool const few = m <= 64 && n <= 64 + lu_block_right;
  int const panel = element_bytes == 16 || (complex && !few) ? 4 : 8;
  if (few) return {.threads = 64, .held = 1, .panel = panel, .blocks_per_sm = 8};
  if (m <= 1024) return {.threads = 256, .held = 4, .panel = panel, .blocks_per_sm = 2};
  return {.threads = 512, .held = 4, .panel = panel, .blocks_per_sm = 1};
}

constexpr std::int64_t lu_block_bytes(int element_bytes, bool complex, std::int64_t m, std::int64_t n) {
  return LuBlockMemory(element_bytes, lu_block_plan(element_bytes, complex, m, n), m, n).bytes;
}

/// Whether a block holds matrices of so many rows and columns.
constexpr bool lu_block_holds(int element_bytes, bool complex, std::int64_t m, std::int64_t n, std::int64_t shared_bytes) {
  // Neither side alone may overflow the product.
  return m <= lu_block_most_rows && n <= shared_bytes && lu_block_bytes(element_bytes, complex, m, n) <= shared_bytes;
}

}  // namespace myriad
