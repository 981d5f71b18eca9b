#pragma once
/// y = alpha A x + beta y with a triangle of A, one block per small matrix: config and shared memory, shared by host and kernel.

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
  /// Columns that a warp loads at once.
  SIMT_INLINE constexpr int columns_at_once(int element_bytes) const { return element_bytes == 16 ? 4 : 8; }
  /// Resident blocks that registers must suffice for: loads in flight take up to 64 registers.
  SIMT_INLINE constexpr int blocks_per_sm(int element_bytes) const {
    int const words = columns_at_once(element_bytes) * rows_of_lane * element_bytes / 4;
    return (words > 40 ? 512 : words > 24 ? 768 : 1024) / threads();
  }
  /// Number of parts of neighbouring columns in which rows are summed: one for each load of each warp.
  SIMT_INLINE constexpr int parts(int element_bytes) const {
    int const at_once = warps * columns_at_once(element_bytes);
    return (most_rows() <= 64 ? 64 : 128) / at_once * warps;
  }
  /// Dynamic shared memory of a block: sums of parts of rows, of columns, and x.
  SIMT_INLINE constexpr int shared_bytes(int element_bytes) const { return (parts(element_bytes) + 2) * most_rows() * element_bytes; }
};

}  // namespace myriad
