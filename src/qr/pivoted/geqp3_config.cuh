#pragma once
/// QR with column pivoting: what host and kernels share.

#include "simt/matrices.hpp"

namespace myriad {

/// The memory in which a matrix is factored; a matrix in global memory is column-major.
enum class Geqp3In : int { shared_memory, global_memory };

/// One compiled kernel. Sizes are known at run time, and so is the number of threads: 32, 64, 128 or 256.
struct Geqp3 {
  Geqp3In in;
  int blocks_per_sm;
  constexpr bool operator==(Geqp3 const&) const = default;
  SIMT_INLINE constexpr bool in_shared_memory() const { return in == Geqp3In::shared_memory; }

  static constexpr int most_threads = 256;
  /// Sums of squares of a column have this many parts, each by a warp: rows 32 q to 32 q + 31 of every 256.
  static constexpr int parts = most_threads / 32;
};

/// The arrays of a matrix beside its elements: products with the reflector at hand, norms and former norms of the columns (see geqp3), and
/// the numbers of the columns.
template <typename T>
struct Geqp3Arrays {
  T* products;
  simt::Real<T>*norms, *former;
  int* places;

  SIMT_INLINE Geqp3Arrays(char* memory, simt::Index n)
      : products(reinterpret_cast<T*>(memory)),
        norms(reinterpret_cast<simt::Real<T>*>(products + n)),
        former(norms + n),
        places(reinterpret_cast<int*>(former + n)) {}
  /// Bytes for n columns: a multiple of 16.
  SIMT_INLINE static constexpr simt::Index bytes(simt::Index n) {
    return (n * static_cast<simt::Index>(sizeof(T) + 2 * sizeof(simt::Real<T>) + sizeof(int)) + 15) / 16 * 16;
  }
};

/// The dynamic shared memory of a block: parts of sums and an element, then the matrix by columns and its arrays, unless they are in global
/// memory.
template <typename T>
struct Geqp3Memory {
  static constexpr int tails = 0;                                                        ///< 2 * parts real numbers
  static constexpr int words = tails + 2 * Geqp3::parts * sizeof(simt::Real<T>);         ///< 2 * parts words
  static constexpr int head = words + 2 * Geqp3::parts * static_cast<int>(sizeof(int));  ///< an element
  static constexpr int matrix = head + 16;

  /// An odd number, so that a row has its elements in different banks.
  SIMT_INLINE static constexpr int ld(int rows) { return rows | 1; }
  SIMT_INLINE static constexpr simt::Index arrays(simt::Index rows, simt::Index cols) {
    return (matrix + (rows | 1) * cols * static_cast<simt::Index>(sizeof(T)) + 15) / 16 * 16;
  }
  SIMT_INLINE static constexpr simt::Index bytes(Geqp3 const& c, simt::Index rows, simt::Index cols) {
    return c.in_shared_memory() ? arrays(rows, cols) + Geqp3Arrays<T>::bytes(cols) : matrix;
  }
};

/// A P = Q R, as LAPACK's geqp3. A is not conjugated, and by columns where the kernel works in global memory; tau is written as its view
/// says.
template <typename T>
struct Geqp3Arguments {
  simt::Matrices<T> a, tau;
  simt::Matrices<int> jpvt;
  int threads;       ///< of a block
  char* arrays;      ///< in global memory: Geqp3Arrays<T>::bytes(a.cols) for each matrix; else not used
  short* exponents;  ///< null: R is scaled back; else by which power of two each matrix was multiplied
};

}  // namespace myriad
