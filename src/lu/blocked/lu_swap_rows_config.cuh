#pragma once
/// Interchanges of rows: what host and kernel share.

#include "simt/matrices.hpp"

namespace myriad {

inline constexpr int lu_swap_threads = 128;
inline constexpr int lu_swap_pivots = 32;   ///< that are applied at a time
inline constexpr int lu_swap_columns = 32;  ///< of a block at a time
/// Dynamic shared memory: pivots, and the rows that change and where they come from.
inline constexpr int lu_swap_bytes = (lu_swap_pivots + 4 * lu_swap_pivots) * 4;

/// Rows [first, end) of X are interchanged as the pivots say, the last first where it goes `backward`.
template <typename T>
struct LuSwapRowsArguments {
  simt::Matrices<T> x;
  simt::Matrices<int const> pivots;
  int first, end;
  int left_first, left_end, right_first, right_end;  ///< columns
  bool of_factors;                                   ///< X is what was factored: there are no more pivots than columns
  bool backward;
  simt::Index parts;  ///< blocks to a matrix, each for lu_swap_columns of these columns

  SIMT_INLINE constexpr int columns() const { return left_end - left_first + right_end - right_first; }
  SIMT_INLINE constexpr int column(int e) const {
    int const left = left_end - left_first;
    return e < left ? left_first + e : right_first + e - left;
  }
};

}  // namespace myriad
