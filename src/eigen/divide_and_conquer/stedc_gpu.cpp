#include "eigen/divide_and_conquer/stedc_gpu.hpp"

#include "eigen/divide_and_conquer/stedc_by_levels.hpp"
#include "eigen/divide_and_conquer/stedc_plan.hpp"

namespace myriad::gpu {

template <typename R>
void stedc(QueueMachine& machine, StedcWork<R> const& work, bool vectors) {
  vectors ? stedc_by_levels(machine, work) : stedc_values(machine, work);
}

std::vector<KernelSource> stedc_kernels(Dtype dtype, int real_bytes) {
  std::vector<KernelSource> kernels = blocked_product_kernels(dtype, real_bytes, Lines::columns, Lines::columns, Lines::columns);
  for (int step = 0; step < stedc_steps; ++step)
    kernels.push_back(
        with_stedc_kernel(static_cast<StedcStep>(step), dtype, stedc_leaf, [](auto const&... kernel) { return source_of(kernel...); }));
  return kernels;
}

#define MYRIAD_INSTANTIATE(R) template void stedc<R>(QueueMachine&, StedcWork<R> const&, bool);
MYRIAD_INSTANTIATE(float)
MYRIAD_INSTANTIATE(double)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad::gpu
