#pragma once
/// Products of triangles and vectors: declarations shared by host and kernel.

#include "gemm/gemm_arguments.cuh"

namespace myriad {

/// One compiled kernel: a block has `rows` consecutive rows of a matrix at a time. A row has 32 partial sums, each of every 32nd column,
/// which are added pairwise.
///
/// With Lines::columns a warp has all of these rows, and a lane several partial sums of a row; with Lines::rows a warp has several rows,
/// and a lane one partial sum of each.
struct Trmv {
  int warps;  ///< a power of two
  int rows;   ///< a power of two up to 32
  int tiles;  ///< of 32 columns, loaded at a time
  int blocks_per_sm;
  Lines a;
  constexpr bool operator==(Trmv const&) const = default;

  SIMT_INLINE constexpr int threads() const { return 32 * warps; }
  /// Lanes with partial sums of the same row.
  SIMT_INLINE constexpr int lanes_of_row() const { return a == Lines::columns ? threads() / rows : 32; }
  /// Sums of a lane: partial sums of a row, or rows.
  SIMT_INLINE constexpr int held() const { return a == Lines::columns ? 32 / lanes_of_row() : rows / warps; }
  /// Sums in shared memory, reduced over several warps.
  SIMT_INLINE constexpr int shared_sums() const { return a == Lines::columns ? 2 * threads() : 0; }
  SIMT_INLINE constexpr int shared_bytes(int element_bytes, int terms) const { return (terms + shared_sums()) * element_bytes; }
};

/// x = A x
template <typename T>
struct TrmvArguments {
  simt::Matrices<T const> a;
  simt::Matrices<T> x;
  T const* kept;      ///< copies of x, contiguous, if several blocks have a matrix; else null
  simt::Index parts;  ///< blocks per matrix
  int terms;          ///< elements of x in shared memory at a time: a multiple of 32 * C.tiles
  bool lower, unit;
};

/// Arguments of trmv_keep, which copies x to `kept`.
template <typename T>
struct TrmvKeepArguments {
  simt::Matrices<T const> x;
  T* kept;
};

}  // namespace myriad
