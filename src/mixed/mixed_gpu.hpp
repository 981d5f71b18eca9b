#pragma once
/// The GPU path of systems by factors in single precision.

#include "mixed/mixed.hpp"
#include "runtime/kernel_filter.hpp"

namespace myriad::gpu {

template <typename T>
void solve_mixed(Queue& queue, MixedTask<T> const& task);

/// Kernels of this room that a pack holds.
std::vector<KernelSource> mixed_kernels(KernelFilter const& filter);

}  // namespace myriad::gpu
