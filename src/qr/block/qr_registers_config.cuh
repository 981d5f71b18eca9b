#pragma once
/// QR of matrices, or panels of matrices, that a block holds in registers: what host and kernel share.

#include "simt/matrices.hpp"

namespace myriad {

/// One compiled kernel. A thread has rows l, l + lanes, ... of columns g, g + groups, ...: `height` by `width` elements. The lanes of a
/// column are a part of a warp, or several warps.
struct QrRegisters {
  int lanes, groups, height, width, blocks_per_sm;
  constexpr bool operator==(QrRegisters const&) const = default;

  SIMT_INLINE constexpr int threads() const { return lanes * groups; }
  SIMT_INLINE constexpr int rows() const { return lanes * height; }
  SIMT_INLINE constexpr int columns() const { return groups * width; }
  /// Warps that share a column
  SIMT_INLINE constexpr int parts() const { return lanes <= 32 ? 1 : lanes / 32; }
  // Dynamic shared memory, in elements: a column for odd steps and one for even ones, products of each part for odd steps, even steps and
  // scaled columns, heads, sums of squares of scaled columns, and words of 4 bytes.
  SIMT_INLINE constexpr int products_at() const { return 2 * rows(); }
  SIMT_INLINE constexpr int heads_at() const { return products_at() + 3 * parts() * columns(); }
  SIMT_INLINE constexpr int tails_at() const { return heads_at() + 2 * columns(); }
  SIMT_INLINE constexpr int words_at() const { return tails_at() + parts(); }
  SIMT_INLINE constexpr int shared_bytes(int element_bytes) const { return words_at() * element_bytes + 4 * (threads() / 32 + parts()); }
};

/// A becomes R and the reflectors, as LAPACK's geqrf. A is not conjugated; tau is written as its view says.
template <typename T>
struct QrRegistersArguments {
  simt::Matrices<T> a, tau;
  T* gram;  ///< null, or V^H V of the reflectors below its diagonal: element (i, j) of matrix b at gram + (b * line + i) * line + j
  int line;
  bool scales;     ///< whether A is scaled where its elements are near the ends of the range, and R scaled back
  int* exponents;  ///< null, or where the powers of two go by which R remains scaled, one per matrix
};

}  // namespace myriad
