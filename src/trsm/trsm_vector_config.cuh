#pragma once
/// Triangular solves with one right-hand side on a GPU: what host and kernel share.

#include "simt/types.hpp"

namespace myriad {

/// One compiled kernel: a warp has a matrix of up to n rows, lanes have every 32nd one, and ask for so many columns at a time.
struct TrsmVector {
  int n;
  int columns;  ///< a power of two up to 32
  int warps;
  int blocks_per_sm;
  int lower;       ///< 0 or 1, so that there is no padding
  int row_stride;  ///< of A: 1, or 0 where it may be any
  constexpr bool operator==(TrsmVector const&) const = default;

  SIMT_INLINE constexpr int threads() const { return 32 * warps; }
};

}  // namespace myriad
