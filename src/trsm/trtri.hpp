#pragma once
/// Inverses of triangles: the task.

#include "myriad/batch.hpp"
#include "myriad/queue.hpp"

namespace myriad {

/// The inverse of the triangle `uplo` of a, in place.
template <typename T>
struct TrtriTask {
  Uplo uplo;
  Diag diag;
  Batch<T> a;
  int* info;
};

}  // namespace myriad

namespace myriad::cpu {

template <Element T>
void trtri(Queue& queue, TrtriTask<T> const& task);

}  // namespace myriad::cpu

namespace myriad::gpu {

template <Element T>
void trtri(Queue& queue, TrtriTask<T> const& task);

}  // namespace myriad::gpu
