#pragma once
/// Eigenproblems of matrices of up to 32 rows: declarations shared by host and kernel.

#include "simt/tile.hpp"

namespace myriad {

/// Results of a kernel.
enum class EigenJob : int { values, vectors };

/// LAPACK's limit of QL sweeps per row, after which a matrix is given up.
inline constexpr int most_eigen_sweeps = 30;

/// One compiled kernel: n-by-n matrices, `lanes` lanes of a warp per matrix, `matrices` matrices per block.
struct EigenTiny {
  EigenJob job;
  int n;
  int lanes, matrices;
  simt::Layout a;                       ///< layout of A; w is moved by elements
  int most_sweeps = most_eigen_sweeps;  ///< no matrix is known that needs so many; tests set fewer
  constexpr bool operator==(EigenTiny const&) const = default;

  SIMT_INLINE constexpr int threads() const { return lanes * matrices; }
  SIMT_INLINE constexpr bool vectors() const { return job == EigenJob::vectors; }
};

/// Dynamic shared memory of a block, in bytes.
struct EigenTinyMemory {
  int buffer;
  int buffer_of_matrix;
  int bytes;

  SIMT_INLINE constexpr EigenTinyMemory(int element_bytes, int real_bytes, EigenTiny const& c)
      : buffer(simt::TileShape(element_bytes, c.n, c.n, c.matrices, c.lanes, c.a, true).bytes),
        // A reflector, two products and the tridiagonal matrix, padded to an odd number of 16-byte chunks, so that lanes of different
        // matrices read different banks.
        buffer_of_matrix(16 * (simt::ceil_div(c.n * (3 * element_bytes + 2 * real_bytes), 16) | 1)),
        bytes(buffer + buffer_of_matrix * c.matrices) {}
};

template <typename T>
struct EigenArguments {
  simt::Matrices<T> a;
  simt::Matrices<simt::Real<T>> w;
  int* info;   ///< or null
  bool lower;  ///< the triangle that is read
};

}  // namespace myriad
