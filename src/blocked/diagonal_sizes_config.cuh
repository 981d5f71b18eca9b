#pragma once
/// Sizes of diagonals: what host and kernel share.

#include "simt/matrices.hpp"

namespace myriad {

inline constexpr int diagonal_sizes_threads = 128;
inline constexpr int diagonal_sizes_most = 4;

/// Sizes of batches like A. Those of matrices with a zero on the diagonal are zero, where these are looked for.
template <typename T>
struct DiagonalSizesArguments {
  simt::Matrices<T const> a;
  bool looks_for_zeros;
  int* info;                                ///< or null: the first of these zeros, counted from one
  simt::Index* sizes[diagonal_sizes_most];  ///< or null: the smaller side of each matrix, and what is beside it
  simt::Index more[diagonal_sizes_most];    ///< is added to sizes that are not zero: an offset of a view
};

}  // namespace myriad
