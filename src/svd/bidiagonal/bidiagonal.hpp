#pragma once
/// Reduction to bidiagonal form and its Q and P: tasks.

#include "myriad/batch.hpp"
#include "myriad/queue.hpp"
#include "myriad/svd.hpp"

namespace myriad {

template <typename T>
struct GebrdTask {
  Batch<T> a;
  Batch<Real<T>> d, e;
  Batch<T> tauq, taup;
};

}  // namespace myriad
