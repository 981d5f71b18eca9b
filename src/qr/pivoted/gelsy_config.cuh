#pragma once
/// Least squares of any rank: what host and kernel share.

#include "simt/matrices.hpp"

namespace myriad {

inline constexpr int gelsy_most_threads = 256;
/// Bytes of dynamic shared memory: a word for each warp, and the rank.
inline constexpr int gelsy_shared_bytes = 4 * (gelsy_most_threads / 32 + 1);

/// Elements of workspace of an m-by-n matrix with k = min(m, n): the factors of Z, two vectors of k elements, and a solution for each warp.
SIMT_INLINE constexpr simt::Index gelsy_elements(simt::Index k, simt::Index n) { return 3 * k + gelsy_most_threads / 32 * n; }

/// X from A = Q R P^T as geqp3 leaves it. A and B are not conjugated, and stored by columns.
template <typename T>
struct GelsyArguments {
  simt::Matrices<T> a, b;
  simt::Matrices<int> jpvt;
  T const* tau;            ///< of geqp3, min(a.rows, a.cols) for each matrix
  short const* exponents;  ///< powers of two by which geqp3 has multiplied the matrices
  T* memory;               ///< gelsy_elements(min(a.rows, a.cols), a.cols) for each matrix
  int* rank;               ///< may be null
  simt::Real<T> rcond;
  int threads;
};

}  // namespace myriad
