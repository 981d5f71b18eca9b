#pragma once
/// What the files of this room share.

#include "myriad/trsm.hpp"

namespace myriad {

/// A X = alpha B, X replaces B; A is the triangle `uplo` of a. The right side is the left side of the transposed problem, and B is not
/// conjugated (see `trsm`).
template <typename T>
struct TrsmTask {
  Uplo uplo;
  Diag diag;
  T alpha;
  Batch<T const> a;
  Batch<T> b;
};

}  // namespace myriad
