#pragma once
/// LU of narrow panels that no block holds: what host and kernel share.

#include "lu/block/lu_block_config.cuh"

namespace myriad {

/// One compiled kernel, for panels of up to `width` columns and any number of rows.
struct LuTall {
  int threads, width;
  constexpr bool operator==(LuTall const&) const = default;

  SIMT_INLINE constexpr int warps() const { return threads / 32; }
  /// The dynamic shared memory of a block: the candidates of its warps and the row of a pivot.
  SIMT_INLINE constexpr int row() const { return warps() * static_cast<int>(sizeof(LuCandidate)); }
  SIMT_INLINE constexpr int bytes(int element_bytes) const { return row() + width * element_bytes; }
};

/// By reasoning, not by measurement: a row of the panel takes a quarter of a thread's registers.
constexpr LuTall lu_tall_plan(int element_bytes) { return {.threads = 512, .width = element_bytes == 16 ? 4 : 8}; }

template <typename T>
struct LuTallArguments {
  simt::Matrices<T> a;  ///< whether it is conjugated is passed over
  simt::Matrices<int> pivots;
  int* info;
  int before;  ///< see LuBlockArguments
  bool pivoting;
};

}  // namespace myriad
