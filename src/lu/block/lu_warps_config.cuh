#pragma once
/// LU by warps that have columns of a matrix: what host and kernel share.

#include "simt/matrices.hpp"

namespace myriad {

/// One compiled kernel, for matrices of up to `rows` rows and columns.
struct LuWarps {
  int rows;           ///< a multiple of 16
  int left;           ///< columns in shared memory, a multiple of 16; the others are in registers
  int warps;          ///< of a block
  int blocks_per_sm;  ///< for which registers have to suffice
  constexpr bool operator==(LuWarps const&) const = default;

  SIMT_INLINE constexpr int right() const { return rows - left; }
  /// Groups of eight columns in the registers of a warp.
  SIMT_INLINE constexpr int pieces() const { return (right() / 8 + warps - 1) / warps; }
  /// Steps of which the warps may be behind the one that factors, that one included.
  SIMT_INLINE constexpr int turns() const { return warps == 1 ? 1 : warps + 1; }
};

/// Columns that are factored before they are subtracted from those to the right
inline constexpr int lu_warps_step = 8;

template <typename T>
struct LuWarpsResult {
  T* factors;
  simt::Index row_stride, column_stride;
};

/// The dynamic shared memory of a block.
template <typename T>
struct LuWarpsMemory {
  /// Leading dimensions, in elements. Tensor cores read four columns of four rows at a time, other types a row of many columns.
  int left_stride, right_stride;
  int right;      ///< the columns of registers as they are factored, without the rows of earlier pivots; at zero are the others
  int diagonals;  ///< the triangles of some steps
  int marks, positions, positions_of_right, rows_of_right;
  int order, interchanges;  ///< the row of every pivot, and the position from which it came
  int rows_at, factored, result, info;
  int bytes;

  /// Leading dimension of the rows of U.
  static constexpr int u_stride = lu_warps_step + 4;

  SIMT_INLINE constexpr explicit LuWarpsMemory(LuWarps const& c)
      : left_stride(c.rows + padding),
        right_stride(c.right() + padding),
        right(aligned(left_stride * c.left * element)),
        diagonals(right + aligned(right_stride * c.right() * element)),
        marks(diagonals + c.turns() * lu_warps_step * lu_warps_step * element),
        positions(marks + c.turns() * c.rows),
        positions_of_right(positions + 2 * c.rows),
        rows_of_right(positions_of_right + 2 * c.right()),
        order(rows_of_right + 2 * c.right()),
        interchanges(order + 2 * c.rows),
        rows_at(diagonals),  // at the end
        factored(interchanges + 2 * c.rows),
        result(factored + (c.warps == 1 ? 0 : c.rows)),
        info(result + 24),
        bytes(info + 8) {}

 private:
  static constexpr int element = static_cast<int>(sizeof(T));
  static constexpr int padding = simt::is_complex<T> || element == 4 ? 1 : 4;
  SIMT_INLINE static constexpr int aligned(int bytes) { return (bytes + 15) / 16 * 16; }
};

template <typename T>
struct LuWarpsArguments {
  simt::Matrices<T const> a;
  simt::Matrices<T> result;    ///< the factors; may be a. Whether a or this is conjugated is passed over.
  simt::Matrices<int> pivots;  ///< where they are wanted
  int* info;                   ///< or null
};

}  // namespace myriad
