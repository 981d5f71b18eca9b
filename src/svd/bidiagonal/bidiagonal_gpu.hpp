#pragma once
/// gebrd, orgbr and ormbr on a GPU.

#include "runtime/kernel_filter.hpp"
#include "svd/bidiagonal/bidiagonal.hpp"

namespace myriad::gpu {

template <typename T>
void gebrd(Queue& queue, GebrdTask<T> const& task);
template <typename T>
void orgbr(Queue& queue, OrgbrTask<T> const& task);
template <typename T>
void ormbr(Queue& queue, OrmbrTask<T> const& task);

/// Kernels of these routines that a pack holds.
std::vector<KernelSource> bidiagonal_kernels(KernelFilter const& filter);

}  // namespace myriad::gpu
