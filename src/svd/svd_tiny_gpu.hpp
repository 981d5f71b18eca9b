#pragma once
/// The singular value decomposition of small matrices on a GPU.

#include "myriad/queue.hpp"
#include "runtime/kernel_filter.hpp"
#include "runtime/tiny.hpp"
#include "svd/svd.hpp"

namespace myriad::gpu {

/// Whether gesvd_tiny takes these matrices.
template <typename T>
bool gesvd_is_tiny(GesvdTask<T> const& task) {
  return task.a.rows <= tiny_largest && task.a.cols <= tiny_largest;
}

/// gesvd in one launch. The singular values and U and V have high relative accuracy: see docs/kernels/factorizations.md. info: min(m, n) if
/// an element is not finite, else 0.
template <typename T>
void gesvd_tiny(Queue& queue, GesvdTask<T> const& task);

/// Kernels of gesvd_tiny for packs.
std::vector<KernelSource> svd_tiny_kernels(KernelFilter const& filter);

}  // namespace myriad::gpu
