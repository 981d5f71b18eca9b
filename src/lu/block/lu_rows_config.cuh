#pragma once
/// LU by a block whose threads have the rows of a matrix: what host and kernel share.

#include "lu/block/lu_block_config.cuh"

namespace myriad {

/// One compiled kernel, for matrices of up to `threads` rows.
struct LuRows {
  int threads;        ///< of the largest block
  int width;          ///< columns that are in registers at a time
  int blocks_per_sm;  ///< of the largest block, for which registers have to suffice
  constexpr bool operator==(LuRows const&) const = default;

  /// Columns of the result whose rows are put in order at a time
  SIMT_INLINE constexpr int ordered() const { return 16; }
};

/// Columns that are factored before they are subtracted from those to the right
inline constexpr int lu_rows_step = 8;

/// A candidate for a pivot, with its row of the panel.
template <typename T>
struct alignas(16) LuRowsCandidate {
  LuCandidate candidate;
  int usual;  ///< the scale is one
  simt::Real<T> scale;
  T inverse;  ///< of the scaled pivot
  T elements[lu_rows_step];
};

/// The dynamic shared memory of a block of so many warps.
template <typename T>
struct LuRowsMemory {
  int panel_stride, ordered_stride;  ///< in elements: from a column to the next
  int triangles;                     ///< twice rows of U on their way; at zero is the panel, column by column
  int of_warps, of_warp;             ///< for each warp the same rows, solved for
  int diagonal;                      ///< triangles of the steps. Before it are some columns of the result at the end.
  int candidates, positions, order, interchanges;
  int bytes;

  SIMT_INLINE static constexpr int aligned(int bytes) { return (bytes + 15) / 16 * 16; }
  SIMT_INLINE static constexpr int width_stride(LuRows const& c) { return c.width + 16 / static_cast<int>(sizeof(T)); }
  SIMT_INLINE constexpr LuRowsMemory(LuRows const& c, int m, int n, int warps)
      : panel_stride(32 * warps + 4),
        ordered_stride(32 * warps + 1),
        triangles(aligned(lu_rows_step * panel_stride * element)),
        of_warps(triangles + 2 * of_rows(c)),
        of_warp(of_rows(c)),
        diagonal(simt::larger(of_warps + warps * of_warp, aligned(ordered_stride * c.ordered() * element))),
        candidates(diagonal + (simt::smaller(m, n) + lu_rows_step - 1) / lu_rows_step * lu_rows_step * lu_rows_step * element),
        positions(candidates + 2 * warps * static_cast<int>(sizeof(LuRowsCandidate<T>))),
        order(positions + 128 * warps),
        interchanges(order + aligned(4 * simt::smaller(m, n))),
        bytes(interchanges + aligned(4 * simt::smaller(m, n))) {}

 private:
  static constexpr int element = static_cast<int>(sizeof(T));
  SIMT_INLINE static constexpr int of_rows(LuRows const& c) { return aligned(lu_rows_step * width_stride(c) * element); }
};

template <typename T>
struct LuRowsArguments {
  simt::Matrices<T const> a;
  simt::Matrices<T> result;    ///< the factors; may be a. Whether a or this is conjugated is passed over.
  simt::Matrices<int> pivots;  ///< where they are wanted
  int* info;                   ///< or null
  int before;                  ///< see LuBlockArguments
  bool pivoting;
  int warps;  ///< of a block: a lane for each row
};

}  // namespace myriad
