#pragma once
/// The GPU path of sytrd.

#include "eigen/tridiagonal.hpp"
#include "packs/shipped.hpp"

namespace myriad::gpu {

template <typename T>
void sytrd(Queue& queue, SytrdTask<T> const& task);

/// What a pack holds of it.
std::vector<KernelSource> tridiagonal_kernels(KernelFilter const& filter);

}  // namespace myriad::gpu
