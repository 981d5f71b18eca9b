#pragma once
/// Eigenproblems of large matrices: declarations shared by host and kernels.

#include "eigen/divide_and_conquer/stedc_config.cuh"

namespace myriad {

/// The large matrices of a batch, and their vectors.
template <typename T>
struct EigenLarge {
  simt::Matrices<T> a;
  bool lower;
  StedcWork<simt::Real<T>> tridiagonal;
  T* vectors;  ///< layout and columns as in the tridiagonal problem
  simt::Index vectors_stride;
  simt::Real<T>* largest;  ///< largest element that each of `parts` blocks found, per matrix
  int parts;

  SIMT_INLINE int rows_of(simt::Index b) const { return tridiagonal.rows_of(b); }
};

/// Splits a ragged batch: matrices of up to `limit` rows belong to another kernel and get size 0 here, the others there. Sizes include the
/// offset of the view.
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
