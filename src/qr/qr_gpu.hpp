#pragma once
/// QR on a GPU.

#include "qr/qr.hpp"
#include "runtime/kernel_filter.hpp"

namespace myriad::gpu {

template <typename T>
void geqrf(Queue& queue, GeqrfTask<T> const& task);
template <typename T>
void ormqr(Queue& queue, OrmqrTask<T> const& task);
template <typename T>
void orgqr(Queue& queue, OrgqrTask<T> const& task);
template <typename T>
void gels(Queue& queue, GelsTask<T> const& task);
template <typename T>
void geqp3(Queue& queue, Geqp3Task<T> const& task);
template <typename T>
void gelsy(Queue& queue, GelsyTask<T> const& task);

/// Kernels of this room that a pack holds.
std::vector<KernelSource> qr_kernels(KernelFilter const& filter);

}  // namespace myriad::gpu
