#pragma once
/// y = alpha A x + beta y with a triangle of A, row by row: config shared by host and kernel.

#include "symv/symv_matrix.cuh"

namespace myriad {

/// One compiled kernel, with a warp per row.
struct SymvRows {
  int most_rows;  ///< of a matrix
  SymvColumns layout;
  Symmetry symmetry;
  constexpr bool operator==(SymvRows const&) const = default;

  /// Warps of a block: neighbours in a column are then often loaded together.
  static constexpr int warps = 4;
  static constexpr int threads() { return 32 * warps; }
};

}  // namespace myriad
