#pragma once
/// y = alpha A x + beta y for matrices of up to 32 rows: config and shared memory, shared by host and kernel.

#include "simt/tile.hpp"
#include "symv/symmetry.cuh"

namespace myriad {

/// One compiled kernel for n-by-n matrices of which the lower triangle is read: `lanes` lanes of a warp share a matrix, and a block has
/// `matrices` matrices.
struct SymvTiny {
  int n;
  int lanes, matrices;
  Symmetry symmetry;
  simt::Layout a, x, y;  ///< layouts of the batches of these names
  constexpr bool operator==(SymvTiny const&) const = default;

  SIMT_INLINE constexpr int threads() const { return lanes * matrices; }
};

/// The dynamic shared memory of a block: A, then x and y at these offsets; in bytes.
struct SymvTinyMemory {
  int x, y;
  int bytes;

  SIMT_INLINE constexpr SymvTinyMemory(int element_bytes, SymvTiny const& c)
      : x(simt::TileShape(element_bytes, c.n, c.n, c.matrices, c.lanes, c.a, true).bytes),
        y(x + simt::TileShape(element_bytes, c.n, 1, c.matrices, c.lanes, c.x).bytes),
        bytes(y + simt::TileShape(element_bytes, c.n, 1, c.matrices, c.lanes, c.y).bytes) {}
};

template <typename T>
struct SymvTinyArguments {
  T alpha, beta;
  simt::Matrices<T const> a, x;
  simt::Matrices<T> y;
};

}  // namespace myriad
