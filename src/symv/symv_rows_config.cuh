#pragma once
/// y = alpha A x + beta y with a triangle of A, row by row on a GPU: what host and kernel share.

#include "symv/symv_matrix.cuh"

namespace myriad {

/// One compiled kernel. A warp has a row.
struct SymvRows {
  int most_rows;  ///< of a matrix
  SymvColumns layout;
  Symmetry symmetry;
  constexpr bool operator==(SymvRows const&) const = default;

  /// In one block: elements that are neighbours in a column are often brought together.
  static constexpr int warps = 4;
  static constexpr int threads() { return 32 * warps; }
};

}  // namespace myriad
