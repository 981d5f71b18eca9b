#pragma once
/// Triangular solves with triangle and right-hand sides in shared memory: declarations shared by host and kernel.

#include "trsm/trsm_columns_config.cuh"

namespace myriad {

/// One compiled kernel: a block has a matrix, and a lane a whole right-hand side, which it solves one panel of rows at a time.
struct TrsmPanels {
  int n;  ///< maximum rows, a whole number of panels of TrsmColumnsMemory
  int warps;
  int blocks_per_sm;  ///< for which registers must suffice
  int lower;          ///< 0 or 1; int, so that the struct has no padding
  constexpr bool operator==(TrsmPanels const&) const = default;

  SIMT_INLINE constexpr int threads() const { return 32 * warps; }
  SIMT_INLINE constexpr int columns_of_warp() const { return 32; }
  /// The config that defines the triangle's layout.
  SIMT_INLINE constexpr TrsmColumns triangle() const {
    return {.n = n,
            .held = 4,  // has no effect
            .warps = warps,
            .blocks_per_sm = blocks_per_sm,
            .moved = Moved::either,
            .inverse = false,
            .lower = lower != 0,
            .tensor = false,
            .ragged = false};
  }
};

/// Dynamic shared memory of a block: the triangle, and then the right-hand sides by columns. The column stride lets lanes read 16 bytes
/// each without bank conflicts; a panel is a whole number of pairs of 16 bytes. Strides are in elements.
struct TrsmPanelsMemory {
  int pitch;
  int right;  ///< in bytes
  int bytes;

  SIMT_INLINE constexpr TrsmPanelsMemory(int real_bytes, bool complex, TrsmPanels const& c)
      : pitch(c.n + 16 / real_bytes / (complex ? 2 : 1)),
        right((TrsmColumnsMemory(real_bytes, complex, c.triangle()).bytes + 15) / 16 * 16),
        bytes(right + c.warps * c.columns_of_warp() * pitch * real_bytes * (complex ? 2 : 1)) {}
};

}  // namespace myriad
