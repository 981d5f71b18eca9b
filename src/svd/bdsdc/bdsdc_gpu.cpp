#include "svd/bdsdc/bdsdc_gpu.hpp"

#include "blocked/blocked_plan.hpp"
#include "svd/bdsdc/bdsdc_by_levels.hpp"
#include "svd/bdsdc/bdsdc_plan.hpp"

namespace myriad::gpu {

std::vector<KernelSource> bdsdc_kernels(Dtype dtype, int real_bytes) {
  std::vector<KernelSource> kernels = blocked_product_kernels(dtype, real_bytes, Lines::columns, Lines::columns, Lines::columns);
  auto const add = [&](auto const&... kernel) { kernels.push_back(source_of(kernel...)); };
  for (int step = 0; step < bdsdc_steps; ++step) add(bdsdc_kernel(static_cast<BdsdcStep>(step)), dtype);
  for (KernelName const& name :
       {bdsdc_square_kernel, bdsdc_points_kernel, bdsdc_bisect_kernel, bdsdc_order_values_kernel, bdsdc_values_block_kernel})
    add(name, dtype);
  return kernels;
}

}  // namespace myriad::gpu
