#pragma once
/// Triangular solves with matrices of up to 32 rows on a GPU: what host and kernel share.

#include "simt/tile.hpp"

namespace myriad {

/// The operation of a kernel with a triangle of A.
enum class Triangle : int { unused, unit, non_unit };

/// When the rows of B are interchanged by pivots.
enum class Interchange : int { never, before, after };

/// The right-hand sides: alpha B, or the identity. With the identity, B only takes the result, and A of which a diagonal is zero leaves it
/// alone. In place, B is A: one triangle, which its inverse replaces.
enum class RightSide : int { given, identity, identity_in_place };

/// One compiled kernel: B becomes U^-1 L^-1 B with triangles of n-by-n matrices A, `lanes` lanes of a warp to a matrix, `matrices` matrices
/// to a block, `nrhs` columns of B at a time.
struct TrsmTiny {
  int n, nrhs;
  int lanes, matrices;
  Triangle lower, upper;  ///< L is used first
  Interchange interchange;
  RightSide right;
  simt::Layout a, b;    ///< layouts of the batches of the same names below
  simt::Layout pivots;  ///< packed_columns or columns
  constexpr bool operator==(TrsmTiny const&) const = default;

  SIMT_INLINE constexpr int threads() const { return lanes * matrices; }
};

/// The dynamic shared memory of a block, one part after the other; in bytes.
struct TrsmTinyMemory {
  int b, pivots;
  int bytes;

  SIMT_INLINE constexpr TrsmTinyMemory(int element_bytes, TrsmTiny const& c)
      : b(simt::TileShape(element_bytes, c.n, c.n, c.matrices, c.lanes, c.a).bytes),
        pivots(b + simt::TileShape(element_bytes, c.n, c.nrhs, c.matrices, c.lanes, c.b).bytes),
        bytes(pivots +
              (c.interchange == Interchange::never ? 0 : simt::TileShape(4, c.n, 1, c.matrices, 1, simt::Layout::packed_columns).bytes)) {}
};

template <typename T>
struct TrsmTinyArguments {
  T alpha;
  simt::Matrices<T const> a;
  simt::Matrices<T> b;
  simt::Index columns;               ///< of B; of a ragged batch an upper bound
  simt::Matrices<int const> pivots;  ///< from one, as LAPACK's
  int* info;                         ///< or null; of the identity, which element of the diagonal is zero
};

}  // namespace myriad
