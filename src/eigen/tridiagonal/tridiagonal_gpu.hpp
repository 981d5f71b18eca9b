#pragma once
/// The GPU path of sytrd.

#include "eigen/tridiagonal/tridiagonal.hpp"
#include "runtime/kernel_filter.hpp"

namespace myriad::gpu {

template <typename T>
void sytrd(Queue& queue, SytrdTask<T> const& task);

/// Kernels of the reduction for packs.
std::vector<KernelSource> tridiagonal_kernels(KernelFilter const& filter);

}  // namespace myriad::gpu
