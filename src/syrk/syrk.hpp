#pragma once
/// Updates of symmetric and Hermitian matrices: the task.

#include "myriad/batch.hpp"
#include "myriad/queue.hpp"
#include "symv/symmetry.cuh"

namespace myriad {

/// The triangle `uplo` of C = alpha A A' + beta C or (`of_two`) alpha A B' + alpha' B A' + beta C. For a symmetric C, ' is the transpose,
/// and alpha' = alpha. For a Hermitian C it is the conjugate transpose, and beta is real (without `of_two` alpha, too). C is not
/// conjugated.
template <typename T>
struct SyrkTask {
  Symmetry symmetry;
  bool of_two;
  Uplo uplo;
  T alpha;
  Batch<T const> a;
  Batch<T const> b;  ///< used if of_two
  T beta;
  Batch<T> c;
};

}  // namespace myriad

namespace myriad::cpu {

template <Element T>
void syrk(Queue& queue, SyrkTask<T> const& task);

}  // namespace myriad::cpu

namespace myriad::gpu {

template <Element T>
void syrk(Queue& queue, SyrkTask<T> const& task);

}  // namespace myriad::gpu
