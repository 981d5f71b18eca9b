#pragma once
/// Solves with one right-hand side and triangles of any size on a GPU: what host and kernel share.

#include "simt/matrices.hpp"

namespace myriad {

/// One compiled kernel: a block has strips of 32 rows to a warp, of which a lane has one.
struct Trsv {
  int warps;
  int columns;  ///< that a lane asks for at a time: a power of two up to 32
  int blocks_per_sm;
  constexpr bool operator==(Trsv const&) const = default;

  SIMT_INLINE constexpr int threads() const { return 32 * warps; }
  SIMT_INLINE constexpr int rows() const { return 32 * warps; }  ///< of a strip
  /// Tiles of 32 by 32 on and below the diagonal of a strip, their columns a bank apart; then x of two strips.
  SIMT_INLINE constexpr int tile() const { return 32 * 33; }
  SIMT_INLINE constexpr int x() const { return warps * (warps + 1) / 2 * tile(); }
  SIMT_INLINE constexpr int shared_bytes(int element_bytes) const { return (x() + 2 * rows()) * element_bytes; }
};

/// A x = b, x in the place of b.
template <typename T>
struct TrsvArguments {
  simt::Matrices<T const> a;
  simt::Matrices<T> x;
  simt::Index parts;  ///< blocks to a matrix; more than one run together
  unsigned* done;     ///< of each matrix, how many strips are: zero before; null for one block
  bool lower, unit;
};

}  // namespace myriad
