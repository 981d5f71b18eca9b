#pragma once
/// The GPU path of gemm.

#include "gemm/gemm.hpp"
#include "packs/shipped.hpp"

namespace myriad::gpu {

template <typename T>
void gemm(Queue& queue, GemmTask<T> const& task);

/// What a pack holds of this room.
std::vector<KernelSource> gemm_kernels(KernelFilter const& filter);

}  // namespace myriad::gpu
