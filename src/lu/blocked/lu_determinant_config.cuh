#pragma once
/// Determinants of factors: what host and kernel share.

#include "simt/matrices.hpp"

namespace myriad {

inline constexpr int lu_determinant_threads = 128;

template <typename T>
struct LuDeterminantArguments {
  simt::Matrices<T const> a;  ///< factors; of a conjugated view those of what is stored
  simt::Matrices<int const> pivots;
  T* sign_or_det;
  simt::Real<T>* logabs;  ///< or null
};

}  // namespace myriad
