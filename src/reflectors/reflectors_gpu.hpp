#pragma once
/// The GPU path of orgtr and ormtr.

#include "eigen/tridiagonal/tridiagonal.hpp"
#include "runtime/kernel_filter.hpp"

namespace myriad::gpu {

template <typename T>
void orgtr(Queue& queue, OrgtrTask<T> const& task);
template <typename T>
void ormtr(Queue& queue, OrmtrTask<T> const& task);

/// Kernels of Q for packs.
std::vector<KernelSource> reflectors_kernels(KernelFilter const& filter);

}  // namespace myriad::gpu
