#pragma once
/// Tridiagonal eigenproblems of any size on a GPU.

#include <vector>

#include "blocked/queue_machine.hpp"
#include "core/dtype.hpp"
#include "eigen/divide_and_conquer/stedc_config.cuh"
#include "runtime/kernel_filter.hpp"

namespace myriad::gpu {

/// Computes the values of the tridiagonal matrices of `work`, made by stedc_work. With `vectors` these are in work.q, with columns in the
/// order of work.order.
template <typename R>
void stedc(QueueMachine& machine, StedcWork<R> const& work, bool vectors);

/// Its kernels for packs, for that real type.
std::vector<KernelSource> stedc_kernels(Dtype dtype, int real_bytes);

}  // namespace myriad::gpu
