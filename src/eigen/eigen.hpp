#pragma once
/// Symmetric eigenproblems: tasks.

#include "myriad/batch.hpp"
#include "myriad/eigen.hpp"

namespace myriad {

/// Eigenvalues and, with Job::vectors, eigenvectors of Hermitian matrices; the triangle `uplo` is read.
template <typename T>
struct SyevdTask {
  Job job;
  Uplo uplo;
  Batch<T> a;
  Batch<Real<T>> w;
  int* info;
};

}  // namespace myriad
