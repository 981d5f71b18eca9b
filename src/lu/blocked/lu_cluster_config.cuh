#pragma once
/// LU by a cluster of blocks: what host and kernel share.

#include "lu/block/lu_block_config.cuh"

namespace myriad {

/// One compiled kernel, for blocks of up to `threads` rows of a matrix.
struct LuCluster {
  int threads;  ///< of the largest block
  int width;    ///< columns that are in registers at a time
  constexpr bool operator==(LuCluster const&) const = default;
};

/// Columns that are subtracted at a time from those to the right of a panel
inline constexpr int lu_cluster_step = 8;
/// The most blocks of a cluster that every GPU with clusters runs
inline constexpr int lu_cluster_blocks = 8;

/// A candidate for a pivot, with its row from the column of the pivot on.
template <typename T, int width>
struct alignas(16) LuClusterCandidate {
  LuCandidate candidate;
  int usual;  ///< the scale is one
  int row;    ///< of the matrix as it was
  simt::Real<T> scale;
  T inverse;  ///< of the scaled pivot
  alignas(16) T elements[width];
};

/// The dynamic shared memory of a block of so many warps: some columns of factors of its rows; rows of U, twice, as they arrive, before
/// that as they leave, and for each warp as it has solved for them; triangles of L; candidates of warps and of blocks, twice; rows of
/// pivots.
template <typename T, int width>
struct LuClusterMemory {
  int panel_stride;  ///< in elements, from a column to the next
  int arriving, leaving, solved, triangles, of_warps, of_blocks, order, interchanges;
  int bytes;

  SIMT_INLINE static constexpr int aligned(int bytes) { return (bytes + 15) / 16 * 16; }
  /// Elements from a row of U to the next: rows are whole chunks of 16 bytes, and eight of them begin in different banks.
  static constexpr int row_stride = width + 16 / static_cast<int>(sizeof(T));
  static constexpr int of_rows = lu_cluster_step * row_stride * static_cast<int>(sizeof(T));
  SIMT_INLINE constexpr LuClusterMemory(int steps, int warps)
      : panel_stride(32 * warps + 1),
        arriving(aligned(lu_cluster_step * panel_stride * static_cast<int>(sizeof(T)))),
        leaving(arriving + 2 * of_rows),
        solved(leaving + of_rows),
        triangles(solved + warps * of_rows),
        of_warps(triangles + simt::ceil_div(steps, lu_cluster_step) * lu_cluster_step * lu_cluster_step * static_cast<int>(sizeof(T))),
        of_blocks(of_warps + 2 * warps * static_cast<int>(sizeof(LuClusterCandidate<T, width>))),
        order(of_blocks + 2 * lu_cluster_blocks * static_cast<int>(sizeof(LuClusterCandidate<T, width>))),
        interchanges(order + aligned(4 * steps)),
        bytes(interchanges + 4 * lu_cluster_step) {}
};

template <typename T>
struct LuClusterArguments {
  simt::Matrices<T const> a;
  simt::Matrices<T> result;    ///< the factors; may be a. Whether a or this is conjugated is passed over.
  simt::Matrices<int> pivots;  ///< where they are wanted
  int* info;                   ///< or null
  int before;                  ///< see LuBlockArguments
  bool pivoting;
  int warps;  ///< of a block: a lane for each row
};

}  // namespace myriad
