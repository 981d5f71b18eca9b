#pragma once
/// Triangular solves with matrices of up to 32 rows: declarations shared by host and kernel.

#include "simt/tile.hpp"

namespace myriad {

/// How a kernel uses a triangle of A.
enum class Triangle : int { unused, unit, non_unit };

/// When the rows of B are interchanged by pivots.
enum class Interchange : int { never, before, after };

/// The right-hand sides: alpha B, or the identity. With the identity B is only written, and not changed if A has a zero on the diagonal. In
/// place B is A: one triangle, replaced by its inverse.
enum class RightSide : int { given, identity, identity_in_place };

/// One compiled kernel: B = U^-1 L^-1 B with triangles of n-by-n matrices A, `lanes` lanes of a warp per matrix, `matrices` matrices per
/// block, `nrhs` columns of B at a time.
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

/// Dynamic shared memory of a block, in bytes.
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
  simt::Index columns;               ///< of B; ragged: an upper bound
  simt::Matrices<int const> pivots;  ///< from one, as LAPACK's
  int* info;                         ///< or null; for the identity: first zero on the diagonal
};

}  // namespace myriad
