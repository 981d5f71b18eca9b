#pragma once
/// Triangular solves with one right-hand side and any order: declarations shared by host and kernel.

#include "simt/matrices.hpp"

namespace myriad {

/// One compiled kernel: a block has strips with 32 rows per warp, one row per lane.
struct Trsv {
  int warps;
  int columns;  ///< that a lane prefetches at a time: a power of two up to 32
  int blocks_per_sm;
  constexpr bool operator==(Trsv const&) const = default;

  SIMT_INLINE constexpr int threads() const { return 32 * warps; }
  SIMT_INLINE constexpr int rows() const { return 32 * warps; }  ///< of a strip
  /// Tiles of 32 by 32 on and below the diagonal of a strip, with an odd column stride; then x of two strips.
  SIMT_INLINE constexpr int tile() const { return 32 * 33; }
  SIMT_INLINE constexpr int x() const { return warps * (warps + 1) / 2 * tile(); }
  SIMT_INLINE constexpr int shared_bytes(int element_bytes) const { return (x() + 2 * rows()) * element_bytes; }
};

/// A x = b; x replaces b.
template <typename T>
struct TrsvArguments {
  simt::Matrices<T const> a;
  simt::Matrices<T> x;
  simt::Index parts;  ///< blocks per matrix; more than one need a cooperative launch
  unsigned* done;     ///< solved strips per matrix, initially zero; null for one block
  bool lower, unit;
};

}  // namespace myriad
