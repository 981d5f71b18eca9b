#pragma once
/// Products of symmetric and Hermitian matrices with vectors: the task.

#include "myriad/batch.hpp"
#include "myriad/blas2.hpp"
#include "symv/symmetry.cuh"

namespace myriad {

/// y = alpha A x + beta y, where A is symmetric or Hermitian and its triangle `uplo` is read. y is not conjugated: `symv` moves that to the
/// other operands.
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

/// The task with A as its transpose, so that the other triangle is read. The transpose of a Hermitian matrix is its conjugate.
template <typename T>
SymvTask<T> transposed(SymvTask<T> task) {
  task.uplo = task.uplo == Uplo::upper ? Uplo::lower : Uplo::upper;
  task.a = transposed(task.a);
  if (task.symmetry == Symmetry::hermitian) task.a = conjugated(task.a);
  return task;
}

}  // namespace myriad
