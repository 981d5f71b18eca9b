#pragma once
/// The GPU path of symv and hemv.

#include "runtime/kernel_filter.hpp"
#include "symv/symv.hpp"

namespace myriad::gpu {

template <typename T>
void symv(Queue& queue, SymvTask<T> const& task);

/// Kernels of this room that a pack holds.
std::vector<KernelSource> symv_kernels(KernelFilter const& filter);

}  // namespace myriad::gpu
