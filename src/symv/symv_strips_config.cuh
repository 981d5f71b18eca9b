#pragma once
/// y = alpha A x + beta y with a triangle of A, strip by strip on a GPU: what host and kernel share.

#include "symv/symv_matrix.cuh"

namespace myriad {

/// One compiled kernel. A block has a strip of rows, 64 bytes of each column, and as many warps.
struct SymvStrips {
  SymvColumns layout;
  Symmetry symmetry;
  constexpr bool operator==(SymvStrips const&) const = default;

  SIMT_INLINE constexpr int rows(int element_bytes) const { return 64 / element_bytes; }
  SIMT_INLINE constexpr int threads(int element_bytes) const { return 32 * rows(element_bytes); }
  /// Dynamic shared memory of a block for n-by-n matrices: sums of the strip's rows in every group of columns, and of the columns that are
  /// these rows.
  SIMT_INLINE constexpr int shared_bytes(int element_bytes, int n) const {
    int const groups = simt::ceil_div(n, symv_columns_of_panel) * (symv_columns_of_panel / symv_columns_of_group);
    return (groups + 1) * rows(element_bytes) * element_bytes;
  }
};

}  // namespace myriad
