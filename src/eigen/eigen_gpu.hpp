#pragma once
/// The GPU path of syevd.

#include "eigen/eigen.hpp"
#include "myriad/queue.hpp"
#include "runtime/kernel_filter.hpp"

namespace myriad::gpu {

template <typename T>
void syevd(Queue& queue, SyevdTask<T> const& task);

/// Kernels of this room for packs.
std::vector<KernelSource> eigen_kernels(KernelFilter const& filter);

}  // namespace myriad::gpu
