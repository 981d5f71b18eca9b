#pragma once
/// The GPU path of gesvd.

#include "myriad/queue.hpp"
#include "runtime/kernel_filter.hpp"
#include "svd/svd.hpp"

namespace myriad::gpu {

template <typename T>
void gesvd(Queue& queue, GesvdTask<T> const& task);

/// Kernels of gesvd for packs, except those of bidiagonal_kernels.
std::vector<KernelSource> svd_kernels(KernelFilter const& filter);

}  // namespace myriad::gpu
