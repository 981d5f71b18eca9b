#pragma once
/// Triangular solves with one right-hand side: declarations shared by host and kernel.

#include "simt/types.hpp"

namespace myriad {

/// One compiled kernel: a warp has a matrix of up to n rows; a lane has every 32nd row and prefetches `columns` columns at a time.
struct TrsmVector {
  int n;
  int columns;  ///< a power of two up to 32
  int warps;
  int blocks_per_sm;
  int lower;       ///< 0 or 1; int, so that the struct has no padding
  int row_stride;  ///< of A: 1, or 0 for any stride
  constexpr bool operator==(TrsmVector const&) const = default;

  SIMT_INLINE constexpr int threads() const { return 32 * warps; }
};

}  // namespace myriad
