#pragma once
/// Reduction to tridiagonal form and its Q: tasks.

#include "myriad/batch.hpp"
#include "myriad/eigen.hpp"
#include "myriad/queue.hpp"

namespace myriad {

template <typename T>
struct SytrdTask {
  Uplo uplo;
  Batch<T> a;
  Batch<Real<T>> d, e;
  Batch<T> tau;
};

template <typename T>
struct OrgtrTask {
  Uplo uplo;
  Batch<T> a;
  Batch<T const> tau;
};

/// C = Q C or, with `adjoint`, Q^H C.
template <typename T>
struct OrmtrTask {
  Uplo uplo;
  bool adjoint;
  Batch<T const> a, tau;
  Batch<T> c;
};

namespace cpu {

template <Element T>
void sytrd(Queue& queue, SytrdTask<T> const& task);
template <Element T>
void orgtr(Queue& queue, OrgtrTask<T> const& task);
template <Element T>
void ormtr(Queue& queue, OrmtrTask<T> const& task);

}  // namespace cpu
}  // namespace myriad
