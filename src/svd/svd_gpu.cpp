#include "svd/svd_gpu.hpp"

#include "blocked/queue_machine.hpp"
#include "core/dtype.hpp"
#include "qr/qr_gpu.hpp"
#include "svd/bdsdc/bdsdc_gpu.hpp"
#include "svd/gesvd_blocked.hpp"
#include "svd/svd_tiny_gpu.hpp"

namespace myriad::gpu {

template <typename T>
void gesvd(Queue& queue, GesvdTask<T> const& task) {
  if (gesvd_is_tiny(task)) return gesvd_tiny(queue, task);
  run_blocked(queue, [&](QueueMachine& machine) { gesvd_by_sizes<T>(machine, task, svd_block_limit<T>(task.job, machine.device())); });
}

std::vector<KernelSource> svd_kernels(KernelFilter const& filter) {
  std::vector<KernelSource> kernels = svd_tiny_kernels(filter);
  auto const add = [&](std::vector<KernelSource> const& some) { kernels.insert(kernels.end(), some.begin(), some.end()); };
  for (Dtype const dtype : {Dtype::f32, Dtype::f64, Dtype::c32, Dtype::c64}) {
    if (!filter.wants_dtype(dtype) || !filter.wants_routine("gesvd") || !filter.wants_size_above(tiny_largest)) continue;
    for (KernelName const& name : {gesvd_largest_kernel, gesvd_load_kernel, gesvd_place_kernel, gesvd_write_kernel, copy_matrices_kernel})
      kernels.push_back(source_of(name, dtype));
    for (int k = 0; k < svd_block_count(dtype); ++k) kernels.push_back(source_of(svd_block_kernel, dtype, svd_block_of(dtype, k)));
    bool const is_single = dtype == Dtype::f32 || dtype == Dtype::c32;
    add(bdsdc_kernels(is_single ? Dtype::f32 : Dtype::f64, is_single ? 4 : 8));
    KernelFilter others = filter;
    others.dtypes = {dtype};
    others.routines = {"geqrf"};
    add(qr_kernels(others));
  }
  return kernels;
}

#define MYRIAD_INSTANTIATE(T) template void gesvd<T>(Queue&, GesvdTask<T> const&);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad::gpu
