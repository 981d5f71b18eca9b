#pragma once
/// The plan of Cholesky in shared memory, a block per matrix. Measured on an H200, 2000 matrices.

#include <algorithm>
#include <cstdint>

#include "cholesky/cholesky_block_config.cuh"

namespace myriad {

/// The bits do not depend on it.
constexpr CholeskyBlock cholesky_block_plan(int element_bytes, std::int64_t n, Lines lines, bool regularized = false) {
  // One warp where a multiprocessor of compute capability 9.0 holds 16 of them (1 KiB of each is the driver's): 40 rows in double take 16
  // ns instead of 21, 48 in single 19 instead of 24. 64 rows in single, of which it holds 15, take 38 instead of 33.
  bool const alone = element_bytes < 16 && 16 * (CholeskyBlockMemory(element_bytes, static_cast<int>(n), 0, 1).bytes + 1024) <= 233472;
  int const warps = n <= 64 ? (alone ? 1 : 2) : n <= 128 ? 4 : 8;
  // A thread has 128 registers; 184 in double complex, and 168 where it also looks at floors.
  int const most_warps = element_bytes == 16 ? 8 : regularized ? 12 : 16;
  return {.warps = warps, .blocks_per_sm = most_warps / warps, .lines = lines, .regularized = regularized ? 1 : 0};
}

/// The kernel of lone blocks, where latency counts: 96 rows in double take 24 us instead of 33.
constexpr CholeskyBlock cholesky_block_ahead(Lines lines) {
  return {.warps = 8, .blocks_per_sm = 1, .lines = lines, .regularized = 0, .ahead = 1};
}
/// Whether so many matrices leave multiprocessors idle.
constexpr bool cholesky_block_is_lone(std::int64_t count, int multiprocessors) { return 2 * count <= multiprocessors; }

/// Up to so many right-hand sides are solved for in the block that factors the matrix, each by a warp.
inline constexpr std::int64_t cholesky_block_right = 8;

/// Rows of the largest matrix that is factored in a block of so much shared memory, which holds these right-hand sides too. A
/// multiprocessor holds few blocks of larger ones, and by diagonal blocks these take less: double, 128 rows: 129 ns instead of 193, 192:
/// 288 instead of 549; double complex, 128 rows: 337 instead of 646; single, 192 rows: 288 instead of 328. Single with 160 rows takes 236
/// in a block, 255 by diagonal blocks; single complex with 104 rows 173 and 218.
constexpr int cholesky_block_largest(int element_bytes, bool complex, int shared_bytes) {
  int const most = element_bytes == 4 ? 160 : element_bytes == 8 && complex ? 112 : 96;
  int n = cholesky_panel;
  while (n < most && CholeskyBlockMemory(element_bytes, n + cholesky_panel, cholesky_block_right, 8, true).bytes <= shared_bytes)
    n += cholesky_panel;
  return n;
}

/// Up to so many rows matrices in double have smaller diagonal blocks.
inline constexpr std::int64_t cholesky_blocked_fewer = 128;

/// Rows of the diagonal blocks of larger matrices: no more than triangular solves have at a time, so that a panel is one launch of these.
/// Blocks of 64 rows in double take 129 ns for 128 rows, 96 take 155; for 256 rows 96 take 530 and 128 take 608; for 384 rows 1285 and
/// 1322, for 512 2536 and 2460. In single 128 take 484 ns for 256 rows, 96 take 627. Register tiles of twice as many rows made single 8%
/// slower.
constexpr int cholesky_blocked_rows(int element_bytes, bool complex, std::int64_t n) {
  if (complex || (element_bytes == 8 && n <= cholesky_blocked_fewer)) return 64;
  return element_bytes == 8 ? 96 : 128;
}

/// Bytes of workspace for copies of matrices and right-hand sides: as many at a time as that holds, but at least one.
constexpr std::int64_t cholesky_workspace = std::int64_t{1} << 30;

}  // namespace myriad
