#pragma once
/// The GPU paths of gesvd and of the routines that use it.

#include "myriad/queue.hpp"
#include "runtime/kernel_filter.hpp"
#include "svd/by_svd_task.hpp"
#include "svd/svd.hpp"

namespace myriad::gpu {

template <typename T>
void gesvd(Queue& queue, GesvdTask<T> const& task);

/// pinv, gelsd, matrix_rank, cond, norm2
template <typename T>
void by_svd(Queue& queue, BySvdTask<T> const& task);

/// Kernels of these for packs, except those of bidiagonal_kernels.
std::vector<KernelSource> svd_kernels(KernelFilter const& filter);

}  // namespace myriad::gpu
