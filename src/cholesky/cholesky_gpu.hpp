#pragma once
/// Cholesky on a GPU.

#include "cholesky/cholesky.hpp"
#include "runtime/kernel_filter.hpp"

namespace myriad::gpu {

template <typename T>
void potrf(Queue& queue, PotrfTask<T> const& task);
template <typename T>
void potrs(Queue& queue, PotrsTask<T> const& task);
template <typename T>
void posv(Queue& queue, PosvTask<T> const& task);
template <typename T>
void potri(Queue& queue, PotrfTask<T> const& task);

/// The kernels of posv or, where `factored`, potrs for matrices of up to 32 rows of a ragged batch with larger ones, with one right-hand
/// side.
std::vector<KernelSource> cholesky_kernels_of_small_in_ragged(Dtype dtype, bool factored);
/// Kernels of this room that a pack holds.
std::vector<KernelSource> cholesky_kernels(KernelFilter const& filter);

}  // namespace myriad::gpu
