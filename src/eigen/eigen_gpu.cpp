#include "eigen/eigen_gpu.hpp"

#include <fmt/format.h>

#include "core/dtype.hpp"
#include "eigen/eigen_tiny_plan.hpp"
#include "runtime/launch.hpp"
#include "runtime/tiny.hpp"
#include "runtime/views.hpp"

namespace myriad::gpu {
namespace {

KernelSource source(Dtype dtype, EigenTiny const& c) {
  return {.header = "eigen/eigen_tiny.cuh",
          .name = fmt::format("myriad::eigen_tiny<{}, myriad::EigenTiny{{myriad::EigenJob({}), {}, {}, {}, {}}}>", device_name(dtype),
                              static_cast<int>(c.job), c.n, c.lanes, c.matrices, device_name(c.a)),
          // What is to be fused is written so: kernels of different layouts give the same bits.
          .options = {"-default-device", "--fmad=false"}};
}

}  // namespace

template <typename T>
void syevd(Queue& queue, SyevdTask<T> const& task) {
  if (task.a.count == 0) return;
  if (task.a.rows == 0) return clear(queue, task.info, task.a.count);
  require_tiny("syevd", task.a.rows, task.a.cols);
  // conj(A) has the same values and conjugated vectors: what is stored is as good as what is viewed.
  EigenTinyArguments<DeviceElement<T>> const args{
      .a = matrices_of(task.a), .w = matrices_of(task.w), .info = task.info, .lower = task.uplo == Uplo::lower};
  int const n = static_cast<int>(task.a.rows);
  bool const few = eigen_tiny_are_few(task.a.count, n, queue.device().multiprocessors);
  EigenTiny c = eigen_tiny_plan(task.job == Job::vectors ? EigenJob::vectors : EigenJob::values, n, few);
  c.a = layout_of(args.a);
  if (c.a == simt::Layout::interleaved) c = eigen_tiny_interleaved(c, sizeof(T), sizeof(Real<T>));
  Kernel const& kernel =
      kernel_for(queue, kernel_key(kernel_id("eigen/eigen_tiny"), dtype_of<T>, c), [&] { return source(dtype_of<T>, c); });
  launch(queue, kernel,
         {.blocks = (args.a.count + c.matrices - 1) / c.matrices,
          .threads = c.threads(),
          .shared_bytes = EigenTinyMemory(sizeof(T), sizeof(Real<T>), c).bytes},
         args);
}

std::vector<KernelSource> eigen_kernels(KernelFilter const& filter) {
  std::vector<KernelSource> kernels;
  for (Dtype const dtype : {Dtype::f32, Dtype::f64, Dtype::c32, Dtype::c64}) {
    bool const complex = dtype == Dtype::c32 || dtype == Dtype::c64;
    if (!filter.wants_dtype(dtype) || !(filter.wants_routine("syevd") || (complex && filter.wants_routine("heevd")))) continue;
    for (int n = 1; n <= tiny_largest; ++n)
      for (EigenJob const job : {EigenJob::values, EigenJob::vectors})
        for (bool const few : {false, true})
          if (filter.wants_size(n) && (!few || n > 1)) kernels.push_back(source(dtype, eigen_tiny_plan(job, n, few)));
  }
  return kernels;
}

#define MYRIAD_INSTANTIATE(T) template void syevd<T>(Queue&, SyevdTask<T> const&);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad::gpu
