#pragma once
/// Plans of triangular solves with whole right-hand sides per lane, or with one per warp.
///
/// Tried without gain (H200, n right-hand sides):
/// - One block of eight warps instead of two of four: 130 instead of 109 ns (double, n = 128).
/// - Three blocks per multiprocessor instead of four: 25.2 instead of 23.5 ns (double, n = 64).
/// - Two right-hand sides per lane instead of four: 120 instead of 103 ns (single, n = 128).

#include <algorithm>
#include <cstdint>

#include "trsm/trsm_columns_plan.hpp"
#include "trsm/trsm_panels_config.cuh"
#include "trsm/trsm_vector_config.cuh"

namespace myriad {

/// Rows up to which trsm_panels is faster than row-by-row solves in registers; beyond, shared memory holds the right-hand sides of too few
/// warps.
inline constexpr int trsm_panels_largest = 64;

/// One warp per 32 right-hand sides, and a lower triangle. Measured on an H200.
constexpr TrsmPanels trsm_panels_plan(int real_bytes, bool complex, std::int64_t rows, std::int64_t columns) {
  int const panel = trsm_panel_rows(real_bytes, complex);
  TrsmPanels c{.n = static_cast<int>((rows + panel - 1) / panel) * panel,
               .warps = static_cast<int>(std::clamp<std::int64_t>((columns + 31) / 32, 1, 4)),
               .blocks_per_sm = 1,
               .lower = 1};
  // As many blocks as the shared memory of compute capability 9.0 allows (228 KiB, of which 1 KiB per block is reserved), but with 80
  // registers per thread.
  c.blocks_per_sm = std::clamp(233472 / (TrsmPanelsMemory(real_bytes, complex, c).bytes + 1024), 1, 24 / c.warps);
  return c;
}

/// For a column-major lower triangle. Prefetched columns take registers twice, so fewer rows allow more columns. Measured, except for
/// double complex.
constexpr TrsmVector trsm_vector_plan(int real_bytes, bool complex, std::int64_t rows) {
  int const held = static_cast<int>((rows + 31) / 32);
  TrsmVector c{.n = 32 * held, .columns = 8, .warps = 4, .blocks_per_sm = held <= 2 ? 8 : 6, .lower = 1, .row_stride = 1};
  if (real_bytes == 8 && !complex) {
    c.columns = held <= 2 ? 4 : 2;
    c.blocks_per_sm = held <= 2 ? 10 : 8;
  } else if (complex) {
    c.columns = real_bytes == 4 ? 4 : 2;
    c.blocks_per_sm = 6;
  }
  return c;
}

}  // namespace myriad
