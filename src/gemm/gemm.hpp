#pragma once
/// What the files of this room share.

#include "myriad/gemm.hpp"

namespace myriad {

/// C = alpha A B + beta C. C is not conjugated (see `gemm`, which moves that to the others).
template <typename T>
struct GemmTask {
  T alpha;
  Batch<T const> a;
  Batch<T const> b;
  T beta;
  Batch<T> c;
};

}  // namespace myriad
