#pragma once
/// The plan of LU in a block: whole matrices that fit shared memory, and panels of larger ones.

#include <algorithm>
#include <cstdint>

#include "lu/block/lu_block_config.cuh"
#include "myriad/device.hpp"

namespace myriad {

/// The most rows of a kernel
inline constexpr int lu_block_most_rows = 2048;

/// Up to so many right-hand sides are solved for beside the matrix, each by a warp.
inline constexpr std::int64_t lu_block_right = 8;

/// Matrices of up to m rows and n columns, m at most lu_block_most_rows. By reasoning, not by measurement: a thread has one row of a panel
/// while a block of 256 threads has as many as there are rows.
constexpr LuBlock lu_block_plan(int element_bytes, bool complex, std::int64_t m, std::int64_t n) {
  int const panel = element_bytes == 16 || (complex && m > 256) ? 4 : 8;
  if (m <= 64 && n <= 64 + lu_block_right) return {.threads = 64, .held = 1, .panel = panel, .blocks_per_sm = 8};
  if (m <= 128 && n <= 256) return {.threads = 128, .held = 1, .panel = panel, .blocks_per_sm = 4};
  if (m <= 256) return {.threads = 256, .held = 1, .panel = panel, .blocks_per_sm = 2};
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
