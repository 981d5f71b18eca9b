#pragma once
/// Products of symmetric and Hermitian matrices with vectors: the task.

#include "myriad/batch.hpp"
#include "myriad/blas2.hpp"
#include "symv/symmetry.cuh"

namespace myriad {

/// y = alpha A x + beta y, A symmetric or Hermitian, of which the triangle `uplo` is read. y is not conjugated (see `symv`, which moves
/// that to the others).
template <typename T>
struct SymvTask {
  Symmetry symmetry;
  Uplo uplo;
  T alpha;
  Batch<T const> a;
  Batch<T const> x;
  T beta;
  Batch<T> y;
};

/// A as its transpose, of which the other triangle is read. That of a Hermitian matrix is its conjugate.
template <typename T>
SymvTask<T> transposed(SymvTask<T> task) {
  task.uplo = task.uplo == Uplo::upper ? Uplo::lower : Uplo::upper;
  task.a = transposed(task.a);
  if (task.symmetry == Symmetry::hermitian) task.a = conjugated(task.a);
  return task;
}

}  // namespace myriad
