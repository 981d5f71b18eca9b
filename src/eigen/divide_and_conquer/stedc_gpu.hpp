#pragma once
/// Tridiagonal eigenproblems of any size on a GPU.

#include <vector>

#include "blocked/queue_machine.hpp"
#include "core/dtype.hpp"
#include "eigen/divide_and_conquer/stedc_config.cuh"
#include "runtime/kernel_filter.hpp"

namespace myriad::gpu {

/// The values of the tridiagonal matrices of `work`, which is as stedc_work makes it; with `vectors` those are in work.q, with the
/// columns in the order of work.order.
template <typename R>
void stedc(QueueMachine& machine, StedcWork<R> const& work, bool vectors);

/// Its kernels that a pack holds, for real numbers of that type.
std::vector<KernelSource> stedc_kernels(Dtype dtype, int real_bytes);

}  // namespace myriad::gpu
