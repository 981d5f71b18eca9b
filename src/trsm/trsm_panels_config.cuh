#pragma once
/// Triangular solves on a GPU with triangle and right-hand sides in shared memory: what host and kernel share.

#include "trsm/trsm_columns_config.cuh"

namespace myriad {

/// One compiled kernel: a block has a matrix, and a lane a whole right-hand side, of which it works on one panel of rows at a time.
struct TrsmPanels {
  int n;  ///< rows at most, a whole number of panels of TrsmColumnsMemory
  int warps;
  int blocks_per_sm;  ///< for which registers have to suffice
  int lower;          ///< 0 or 1, so that there is no padding
  constexpr bool operator==(TrsmPanels const&) const = default;

  SIMT_INLINE constexpr int threads() const { return 32 * warps; }
  SIMT_INLINE constexpr int columns_of_warp() const { return 32; }
  /// The config by which the triangle is stored.
  SIMT_INLINE constexpr TrsmColumns triangle() const {
    return {.n = n,
            .held = 4,  // of no consequence
            .warps = warps,
            .blocks_per_sm = blocks_per_sm,
            .moved = Moved::either,
            .inverse = false,
            .lower = lower != 0,
            .tensor = false,
            .ragged = false};
  }
};

/// The dynamic shared memory of a block: the triangle, and then the right-hand sides, column by column, at distances at which lanes that
/// read 16 bytes each of theirs meet different banks; a panel is a whole number of pairs of 16 bytes. Distances are in elements.
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
