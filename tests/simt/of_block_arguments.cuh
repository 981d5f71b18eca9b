#pragma once

#include "gemm/gemm_arguments.cuh"

namespace myriad::test {

/// What kernels of triangles take: B = alpha A^-1 B, alpha A B, or B^-1.
template <typename T>
struct TriangleArguments {
  T alpha;
  simt::Matrices<T const> a;
  simt::Matrices<T> b;
  int* info;
  bool unit;
};

}  // namespace myriad::test
