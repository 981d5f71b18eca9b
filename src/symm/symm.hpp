#pragma once
/// Products with symmetric and Hermitian matrices: the task.

#include "myriad/batch.hpp"
#include "myriad/queue.hpp"
#include "symv/symmetry.cuh"

namespace myriad {

/// C = alpha A B + beta C, where A is symmetric or Hermitian and its triangle `uplo` is read. A product from the right is the transposed
/// one.
template <typename T>
struct SymmTask {
  Symmetry symmetry;
  Uplo uplo;
  T alpha;
  Batch<T const> a;
  Batch<T const> b;
  T beta;
  Batch<T> c;
};

}  // namespace myriad

namespace myriad::cpu {

template <Element T>
void symm(Queue& queue, SymmTask<T> const& task);

}  // namespace myriad::cpu

namespace myriad::gpu {

template <Element T>
void symm(Queue& queue, SymmTask<T> const& task);

}  // namespace myriad::gpu
