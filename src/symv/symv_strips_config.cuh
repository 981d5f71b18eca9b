#pragma once
/// y = alpha A x + beta y with a triangle of A, strip by strip: config and shared memory, shared by host and kernel.

#include "symv/symv_matrix.cuh"

namespace myriad {

/// One compiled kernel. A block has a strip of rows, 64 bytes of each column, and one warp per row.
struct SymvStrips {
  SymvColumns layout;
  Symmetry symmetry;
  constexpr bool operator==(SymvStrips const&) const = default;

  SIMT_INLINE constexpr int rows(int element_bytes) const { return 64 / element_bytes; }
  SIMT_INLINE constexpr int threads(int element_bytes) const { return 32 * rows(element_bytes); }
  /// Dynamic shared memory of a block for n-by-n matrices: x; sums of the columns with the numbers of the strip's rows; for each of these,
  /// 16 bytes at the diagonal and 16 at its end; and sums of the rows in every group of columns.
  SIMT_INLINE constexpr int shared_bytes(int element_bytes, int n) const {
    int const groups = simt::ceil_div(n, symv_columns_of_panel) * (symv_columns_of_panel / symv_columns_of_group);
    return (places_of_x(n) + (groups + 1) * rows(element_bytes)) * element_bytes + 2 * 16 * rows(element_bytes);
  }
  /// n rounded up to whole groups.
  SIMT_INLINE static constexpr int places_of_x(int n) { return simt::ceil_div(n, symv_columns_of_group) * symv_columns_of_group; }
};

}  // namespace myriad
