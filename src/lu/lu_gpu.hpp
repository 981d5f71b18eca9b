#pragma once
/// LU on a GPU.

#include "lu/lu.hpp"
#include "runtime/kernel_filter.hpp"

namespace myriad::gpu {

template <typename T>
void getrf(Queue& queue, GetrfTask<T> const& task);
template <typename T>
void gesv(Queue& queue, GesvTask<T> const& task);
template <typename T>
void getrs(Queue& queue, GetrsTask<T> const& task);
template <typename T>
void inverse(Queue& queue, InverseTask<T> const& task);
template <typename T>
void det(Queue& queue, DetTask<T> const& task);

/// Kernels of this room that a pack holds.
std::vector<KernelSource> lu_kernels(KernelFilter const& filter);

}  // namespace myriad::gpu
