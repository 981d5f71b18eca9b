#pragma once
/// Products of triangles and vectors on a GPU: what host and kernel share.

#include "gemm/gemm_arguments.cuh"

namespace myriad {

/// One compiled kernel: a block has `rows` neighbouring rows of a matrix at a time. A row is summed in 32 parts, of every 32nd column each,
/// which are added by halves.
///
/// By columns a warp has all of these rows, its lanes some parts of a row; by rows a warp has some rows, and a lane a part of each.
struct Trmv {
  int warps;  ///< a power of two
  int rows;   ///< a power of two up to 32
  int tiles;  ///< of 32 columns, which are asked for at once
  int blocks_per_sm;
  Lines a;
  constexpr bool operator==(Trmv const&) const = default;

  SIMT_INLINE constexpr int threads() const { return 32 * warps; }
  /// Lanes that have parts of the same row.
  SIMT_INLINE constexpr int lanes_of_row() const { return a == Lines::columns ? threads() / rows : 32; }
  /// Sums of a lane: parts of a row, or rows.
  SIMT_INLINE constexpr int held() const { return a == Lines::columns ? 32 / lanes_of_row() : rows / warps; }
  /// Sums in shared memory, which lanes of several warps add up.
  SIMT_INLINE constexpr int shared_sums() const { return a == Lines::columns ? 2 * threads() : 0; }
  SIMT_INLINE constexpr int shared_bytes(int element_bytes, int terms) const { return (terms + shared_sums()) * element_bytes; }
};

/// x = A x
template <typename T>
struct TrmvArguments {
  simt::Matrices<T const> a;
  simt::Matrices<T> x;
  T const* kept;      ///< x of each matrix, one behind the other, where several blocks have a matrix; else null
  simt::Index parts;  ///< blocks to a matrix
  int terms;          ///< of x are in shared memory at a time: a multiple of 32 * C.tiles
  bool lower, unit;
};

/// Arguments of trmv_keep, which copies x to `kept`.
template <typename T>
struct TrmvKeepArguments {
  simt::Matrices<T const> x;
  T* kept;
};

}  // namespace myriad
