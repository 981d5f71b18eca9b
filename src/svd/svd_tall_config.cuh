#pragma once
/// Singular value decompositions of tall matrices by QR of their parts: declarations shared by host and kernels.

#include "simt/matrices.hpp"

namespace myriad {

/// The first row of part p, of `parts` parts of so many rows.
SIMT_INLINE constexpr simt::Index svd_tall_begin(simt::Index rows, simt::Index parts, simt::Index p) { return p * rows / parts; }

/// The parts of all matrices, as a batch.
template <typename T>
struct SvdTallParts {
  simt::Matrices<T> a;
  int parts;
  T** pointers;
  simt::Index* rows;
};

/// R of all parts one below the other, by rows, zeros below their diagonals.
template <typename T>
struct SvdTallStack {
  simt::Matrices<T const> a;
  int parts;
  T* to;
  int const* exponents;  ///< null, or powers of two by which the parts are multiplied
  int* exponent;         ///< of the matrix, the least of them; R of all parts are multiplied by it
};

/// Singular values are divided by the powers of two.
template <typename R>
struct SvdTallValues {
  simt::Matrices<R> s;
  int const* exponent;
};

/// The kernel that makes U of the reflectors of the parts, and of the U of what their R make: of up to `columns` columns.
struct SvdTallKernel {
  int columns, threads;
  constexpr bool operator==(SvdTallKernel const&) const = default;

  SIMT_INLINE constexpr int warps() const { return threads / 32; }
  /// Rows that a thread has at a time
  SIMT_INLINE constexpr int rows(int element_bytes) const { return columns * element_bytes <= 128 ? 2 : 1; }
};

/// Places in the dynamic shared memory, in elements: the n-by-n matrix M by columns; W, by rows; first rows of the reflectors. The products
/// of the reflectors lie where M will be.
struct SvdTallMemory {
  int line, factors, top, heads, bytes;

  SIMT_INLINE constexpr SvdTallMemory(int element_bytes, SvdTallKernel const& c)
      : line(c.columns + 1), factors(0), top(c.columns * line), heads(2 * c.columns * line), bytes(3 * c.columns * line * element_bytes) {}
};

template <typename T>
struct SvdTallVectors {
  simt::Matrices<T const> a;  ///< reflectors below the diagonals of the parts
  simt::Matrices<T> u;
  int parts;
  T const *tau, *gram, *top;  ///< of each part: n numbers, V^H V below the diagonal by rows, W by rows
};

inline constexpr int svd_tall_threads = 128;

}  // namespace myriad
