#pragma once
/// Eigenproblems of large matrices on a GPU: what host and kernels share.

#include "eigen/divide_and_conquer/stedc_config.cuh"

namespace myriad {

/// A large matrix of the batch, and where its vectors are.
template <typename T>
struct EigenLarge {
  simt::Matrices<T> a;
  bool lower;
  StedcWork<simt::Real<T>> tridiagonal;
  T* vectors;  ///< as those of the tridiagonal problem, with their columns
  simt::Index vectors_stride;
  simt::Real<T>* largest;  ///< of the elements that each of `parts` blocks has seen, of each matrix
  int parts;

  SIMT_INLINE int rows_of(simt::Index b) const { return tridiagonal.rows_of(b); }
};

/// In a ragged batch matrices of up to `limit` rows are another kernel's, and here have no rows, and there the others. With the offsets of
/// the view.
template <typename T>
struct EigenSizes {
  simt::Matrices<T> a;
  int limit;
  simt::Index *small_rows, *small_columns, *large_rows, *large_columns;
  simt::Index* large;  ///< without the offset
};

inline constexpr int eigen_large_threads = 256;
inline constexpr int eigen_large_side = 32;

}  // namespace myriad
