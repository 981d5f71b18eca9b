#pragma once
/// y = alpha A x + beta y with a triangle of A, a block to a small matrix on a GPU: what host and kernel share.

#include "symv/symv_matrix.cuh"

namespace myriad {

/// One compiled kernel. A lane has `rows_of_lane` rows.
struct SymvWhole {
  int warps;
  int rows_of_lane;
  SymvColumns layout;
  Symmetry symmetry;
  constexpr bool operator==(SymvWhole const&) const = default;

  SIMT_INLINE constexpr int threads() const { return 32 * warps; }
  SIMT_INLINE constexpr int most_rows() const { return 32 * rows_of_lane; }
  /// Columns that a warp reads at once.
  SIMT_INLINE constexpr int columns_at_once(int element_bytes) const { return element_bytes == 16 ? 4 : 8; }
  /// For which registers have to suffice: what is read at once takes up to 64 of them.
  SIMT_INLINE constexpr int blocks_per_sm(int element_bytes) const {
    int const words = columns_at_once(element_bytes) * rows_of_lane * element_bytes / 4;
    return (words > 40 ? 512 : words > 24 ? 768 : 1024) / threads();
  }
  /// In how many parts of neighbouring columns the rows are summed: for each time that the warps read.
  SIMT_INLINE constexpr int parts(int element_bytes) const {
    int const at_once = warps * columns_at_once(element_bytes);
    return (most_rows() <= 64 ? 64 : 128) / at_once * warps;
  }
  /// Dynamic shared memory of a block: sums of parts of rows, of columns, and x.
  SIMT_INLINE constexpr int shared_bytes(int element_bytes) const { return (parts(element_bytes) + 2) * most_rows() * element_bytes; }
};

}  // namespace myriad
