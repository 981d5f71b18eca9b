#pragma once
/// What the kernels of products are given.

#include "simt/matrices.hpp"

namespace myriad {

/// C = alpha A B + beta C
template <typename T>
struct GemmArguments {
  T alpha, beta;
  simt::Matrices<T const> a, b;
  simt::Matrices<T> c;
  simt::Index depth;  ///< columns of A, of a ragged batch an upper bound; 0: A and B are not read
};

}  // namespace myriad
