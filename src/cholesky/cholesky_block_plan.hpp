#pragma once
/// Which kernel factors matrices that a block has in shared memory. By registers, not by measurement.

#include <cstdint>

#include "cholesky/cholesky_block_config.cuh"

namespace myriad {

/// The bits do not depend on it.
constexpr CholeskyBlock cholesky_block_plan(int element_bytes, std::int64_t n, Lines lines) {
  int const warps = n <= 64 ? 2 : n <= 128 ? 4 : 8;
  // Of 128 registers for a thread; double complex has 184.
  return {.warps = warps, .blocks_per_sm = (element_bytes == 16 ? 8 : 16) / warps, .lines = lines};
}

/// Up to so many right-hand sides are solved for in the block that factors the matrix, each by a warp.
inline constexpr std::int64_t cholesky_block_right = 8;

/// Rows of the largest matrix that a block of so much shared memory holds together with these right-hand sides.
constexpr int cholesky_block_largest(int element_bytes, int shared_bytes) {
  int n = cholesky_panel;
  while (CholeskyBlockMemory(element_bytes, n + cholesky_panel, cholesky_block_right).bytes <= shared_bytes) n += cholesky_panel;
  return n;
}

/// Rows of the diagonal blocks of larger matrices: as many as triangular solves have at a time, so that a panel is one launch of these.
constexpr int cholesky_blocked_rows(bool complex) { return complex ? 64 : 128; }

/// Bytes of workspace for copies of matrices and right-hand sides: as many at a time as that holds, but at least one.
constexpr std::int64_t cholesky_workspace = std::int64_t{1} << 30;

}  // namespace myriad
