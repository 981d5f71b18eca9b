#pragma once
/// Equilibration and backward errors of matrices of up to 32 rows and columns on a GPU: what host and kernels share.

#include "simt/tile.hpp"

namespace myriad {

/// One compiled kernel: m-by-n matrices, `lanes` lanes of a warp to a matrix, `matrices` matrices to a block.
struct RefineTiny {
  int m, n;
  int nrhs;  ///< right-hand sides at a time, where there are any
  int lanes, matrices;
  simt::Layout a, x, b;  ///< layouts of the batches of the same names below
  constexpr bool operator==(RefineTiny const&) const = default;

  SIMT_INLINE constexpr int threads() const { return lanes * matrices; }
};

/// The dynamic shared memory of a block of geequ_tiny; in bytes.
struct GeequTinyMemory {
  int rows, columns;
  int bytes;

  SIMT_INLINE constexpr GeequTinyMemory(int element_bytes, int real_bytes, RefineTiny const& c)
      : rows(simt::TileShape(element_bytes, c.m, c.n, c.matrices, c.lanes, c.a, true).bytes),
        columns(rows + simt::ceil_div(c.matrices * c.m * real_bytes, 16) * 16),
        bytes(columns + simt::ceil_div(c.matrices * c.n * real_bytes, 16) * 16) {}
};

/// Shared memory of laqge_tiny.
struct LaqgeTinyMemory {
  int bytes;

  SIMT_INLINE constexpr LaqgeTinyMemory(int element_bytes, RefineTiny const& c)
      : bytes(simt::TileShape(element_bytes, c.m, c.n, c.matrices, c.lanes, c.a).bytes) {}
};

/// Shared memory of backward_error_tiny.
struct BackwardErrorTinyMemory {
  int x, b;
  int bytes;

  SIMT_INLINE constexpr BackwardErrorTinyMemory(int element_bytes, RefineTiny const& c)
      : x(simt::TileShape(element_bytes, c.m, c.n, c.matrices, c.lanes, c.a).bytes),
        b(x + simt::TileShape(element_bytes, c.n, c.nrhs, c.matrices, 1, c.x).bytes),
        bytes(b + simt::TileShape(element_bytes, c.m, c.nrhs, c.matrices, c.lanes, c.b).bytes) {}
};

template <typename T>
struct GeequTinyArguments {
  simt::Matrices<T const> a;
  simt::Matrices<simt::Real<T>> r, c;
  simt::Real<T>* rowcnd;  ///< or null, as the next three
  simt::Real<T>* colcnd;
  simt::Real<T>* amax;
  int* info;
};

template <typename T>
struct LaqgeTinyArguments {
  simt::Matrices<T> a;
  simt::Matrices<simt::Real<T> const> r, c;  ///< or not given: ones
};

template <typename T>
struct BackwardErrorTinyArguments {
  simt::Matrices<T const> a, x, b;
  simt::Matrices<simt::Real<T>> berr;
  simt::Index columns;  ///< of X; of a ragged batch an upper bound
};

}  // namespace myriad
