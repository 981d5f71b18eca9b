#include "svd/svd_tiny_gpu.hpp"

#include "core/dtype.hpp"
#include "runtime/kernel_name.hpp"
#include "runtime/launch.hpp"
#include "runtime/views.hpp"
#include "svd/svd_tiny_arguments.hpp"
#include "svd/svd_tiny_plan.hpp"

namespace myriad::gpu {

template <typename T>
void gesvd_tiny(Queue& queue, GesvdTask<T> const& task) {
  if (task.a.count == 0) return;
  SvdTiny const c = svd_tiny_plan(task.job, dtype_of<T>, task.a.rows, task.a.cols);
  Kernel const& kernel = kernel_of(queue, svd_tiny_kernel, dtype_of<T>, c);
  launch(queue, kernel,
         {.blocks = (task.a.count + c.of_warp() - 1) / c.of_warp(),
          .threads = 32,
          .shared_bytes = SvdTinyMemory(sizeof(T), sizeof(Real<T>), c).bytes},
         svd_tiny_arguments(task, c));
}

std::vector<KernelSource> svd_tiny_kernels(KernelFilter const& filter) {
  std::vector<KernelSource> kernels;
  if (!filter.wants_routine("gesvd")) return kernels;
  for (Dtype const dtype : {Dtype::f32, Dtype::f64, Dtype::c32, Dtype::c64})
    for (int n = 1; n <= tiny_largest; ++n) {
      if (!filter.wants_dtype(dtype) || !filter.wants_size(n)) continue;
      for (SvdJob const job : {SvdJob::values, SvdJob::thin})  // of square matrices thin is full
        kernels.push_back(source_of(svd_tiny_kernel, dtype, svd_tiny_plan(job, dtype, n, n)));
    }
  return kernels;
}

#define MYRIAD_INSTANTIATE(T) template void gesvd_tiny<T>(Queue&, GesvdTask<T> const&);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad::gpu
