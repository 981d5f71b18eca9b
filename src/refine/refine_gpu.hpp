#pragma once
/// The GPU path of equilibration and backward errors.

#include "refine/refine.hpp"
#include "refine/refine_tiny_config.cuh"
#include "runtime/kernel_filter.hpp"

namespace myriad::gpu {

template <typename T>
void geequ(Queue& queue, GeequTask<T> const& task);
template <typename T>
void laqge(Queue& queue, LaqgeTask<T> const& task);
template <typename T>
void gerfs(Queue& queue, GerfsTask<T> const& task);
template <typename T>
void backward_error(Queue& queue, BackwardErrorTask<T> const& task);

/// Kernels of this room that a pack holds.
std::vector<KernelSource> refine_kernels(KernelFilter const& filter);

}  // namespace myriad::gpu
