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
  EigenTiny c = eigen_tiny_plan(task.job == Job::vectors ? EigenJob::vectors : EigenJob::values, static_cast<int>(task.a.rows));
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
  if (!filter.wants_routine("syevd")) return kernels;
  for (Dtype const dtype : {Dtype::f32, Dtype::f64, Dtype::c32, Dtype::c64})
    for (int n = 1; n <= tiny_largest; ++n)
      for (EigenJob const job : {EigenJob::values, EigenJob::vectors})
        if (filter.wants_dtype(dtype) && filter.wants_size(n)) kernels.push_back(source(dtype, eigen_tiny_plan(job, n)));
  return kernels;
}

#define MYRIAD_INSTANTIATE(T) template void syevd<T>(Queue&, SyevdTask<T> const&);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad::gpu
