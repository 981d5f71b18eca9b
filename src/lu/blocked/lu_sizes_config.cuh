#pragma once
/// Sizes and determinants beside LU: what host and kernels share.

#include "simt/matrices.hpp"

namespace myriad {

inline constexpr int lu_sizes_threads = 128;
inline constexpr int lu_sizes_most = 4;

/// Sizes of batches like A. Of matrices whose U has a zero on its diagonal they are zero, where these are looked for.
template <typename T>
struct LuSizesArguments {
  simt::Matrices<T const> a;
  bool looks_for_zeros;
  int* info;                          ///< or null: the first of these zeros, counted from one
  simt::Index* sizes[lu_sizes_most];  ///< or null: the smaller side of each matrix, and what is beside it
  simt::Index more[lu_sizes_most];    ///< is added to sizes that are not zero: an offset of a view
};

template <typename T>
struct LuDeterminantArguments {
  simt::Matrices<T const> a;  ///< factors; of a conjugated view those of what is stored
  simt::Matrices<int const> pivots;
  T* sign_or_det;
  simt::Real<T>* logabs;  ///< or null
};

}  // namespace myriad
