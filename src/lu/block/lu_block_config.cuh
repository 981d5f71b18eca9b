#pragma once
/// LU of matrices that the shared memory of a block holds: what host and kernel share.

#include "simt/matrices.hpp"

namespace myriad {

/// One compiled kernel, for matrices of any size up to `threads * held` rows.
struct LuBlock {
  int threads;
  int held;           ///< rows of a panel that a thread has in registers
  int panel;          ///< columns of a panel
  int blocks_per_sm;  ///< for which registers have to suffice
  constexpr bool operator==(LuBlock const&) const = default;

  SIMT_INLINE constexpr int warps() const { return threads / 32; }
  SIMT_INLINE constexpr int most_rows() const { return threads * held; }
};

/// The candidate for a pivot of a warp, before its row of the panel.
struct LuCandidate {
  unsigned long long bits;  ///< of its magnitude
  int at;                   ///< the position of its row; negative: there is none
  int unused;
};

/// The dynamic shared memory of a block: an m-by-n matrix, right-hand sides beside it included, column by column, the candidates of its
/// warps, twice, and the pivots of a panel.
struct LuBlockMemory {
  long long distance;  ///< from one column to the next, in elements: odd, so that lanes along a row meet different banks
  long long candidates, of_candidate, pivots;
  long long bytes;

  SIMT_INLINE constexpr LuBlockMemory(int element_bytes, LuBlock const& c, long long m, long long n)
      : distance(m | 1),
        candidates((distance * n * element_bytes + 15) / 16 * 16),
        of_candidate(static_cast<long long>(sizeof(LuCandidate)) + (c.panel * element_bytes + 15) / 16 * 16),
        pivots(candidates + 2 * c.warps() * of_candidate),
        bytes(pivots + c.panel * 4) {}
};

template <typename T>
struct LuBlockArguments {
  simt::Matrices<T const> a;
  simt::Matrices<T> result;    ///< the factors, where they are wanted; may be a. Whether a or this is conjugated is passed over.
  simt::Matrices<int> pivots;  ///< where they are wanted
  int* info;                   ///< or null
  /// Rows and columns before this panel of larger matrices: they are added to pivots and info. If there are any, an info that is set stays.
  int before;
  bool pivoting;
  /// B and X of A X = B, if it is solved; A is square, and X may be B. A singular matrix leaves X as it is, or NaN.
  simt::Matrices<T const> b;
  simt::Matrices<T> x;
  bool nan_where_singular;
  T* sign_or_det;         ///< where a determinant is wanted
  simt::Real<T>* logabs;  ///< and there where its logarithm is
};

}  // namespace myriad
