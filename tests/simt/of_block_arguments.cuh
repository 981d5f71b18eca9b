#pragma once

#include "gemm/gemm_arguments.cuh"

namespace myriad::test {

/// What kernels of triangles take: B = alpha A^-1 B, alpha A B, or B^-1.
///
/// Not in the order of TrsmColumnsArguments: NVRTC 13.0 takes that, made of a kernel's parameter that begins with the same members, for the
/// parameter itself, and reads `unit` where it is in TrsmColumnsArguments, beyond the end of the parameter.
template <typename T>
struct TriangleArguments {
  bool unit;
  int* info;
  T alpha;
  simt::Matrices<T const> a;
  simt::Matrices<T> b;
};

}  // namespace myriad::test
