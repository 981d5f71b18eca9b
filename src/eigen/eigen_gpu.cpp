#include "eigen/eigen_gpu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/dtype.hpp"
#include "eigen/eigen_plan.hpp"
#include "myriad/error.hpp"
#include "runtime/launch.hpp"
#include "runtime/tiny.hpp"
#include "runtime/views.hpp"

namespace myriad::gpu {
namespace {

KernelSource source(Dtype dtype, EigenTiny const& c) {
  return {.header = "eigen/eigen_tiny.cuh",
          .name = fmt::format("myriad::eigen_tiny<{}, myriad::EigenTiny{{myriad::EigenJob({}), {}, {}, {}, {}, {}}}>", device_name(dtype),
                              static_cast<int>(c.job), c.n, c.lanes, c.matrices, device_name(c.a), c.most_sweeps),
          // What is to be fused is written so: kernels of different layouts give the same bits.
          .options = {"-default-device", "--fmad=false"}};
}

KernelSource source(Dtype dtype, EigenBlock const& c) {
  return {.header = "eigen/eigen_block.cuh",
          .name = fmt::format("myriad::eigen_block<{}, myriad::EigenBlock{{myriad::EigenJob({}), {}, myriad::EigenAccess({})}}>",
                              device_name(dtype), static_cast<int>(c.job), c.n, static_cast<int>(c.access)),
          .options = {"-default-device", "--fmad=false"}};
}

template <typename T>
void by_blocks(Queue& queue, EigenJob job, EigenArguments<DeviceElement<T>> const& args) {
  int const n = static_cast<int>(std::min<std::int64_t>(args.a.rows, std::numeric_limits<int>::max()));
  int const largest = eigen_block_largest(sizeof(T), sizeof(Real<T>), static_cast<int>(queue.device().shared_memory_per_block));
  if (n > largest)
    throw Unavailable(
        fmt::format("syevd: GPU kernels of this type take matrices of up to {} rows on this GPU so far, and these have {}", largest, n));
  EigenBlock c = eigen_block_plan(job, n);
  if (simt::is_by_rows(layout_of(args.a))) c.access = EigenAccess::rows;
  Kernel const& kernel =
      kernel_for(queue, kernel_key(kernel_id("eigen/eigen_block"), dtype_of<T>, c), [&] { return source(dtype_of<T>, c); });
  launch(queue, kernel,
         {.blocks = args.a.count, .threads = c.threads(), .shared_bytes = EigenBlockMemory(sizeof(T), sizeof(Real<T>), c, n).bytes}, args);
}

}  // namespace

template <typename T>
void syevd(Queue& queue, SyevdTask<T> const& task) {
  if (task.a.count == 0) return;
  if (task.a.rows == 0) return clear(queue, task.info, task.a.count);
  // conj(A) has the same values and conjugated vectors: what is stored is as good as what is viewed.
  EigenArguments<DeviceElement<T>> const args{
      .a = matrices_of(task.a), .w = matrices_of(task.w), .info = task.info, .lower = task.uplo == Uplo::lower};
  EigenJob const job = task.job == Job::vectors ? EigenJob::vectors : EigenJob::values;
  if (task.a.rows > tiny_largest) return by_blocks<T>(queue, job, args);
  int const n = static_cast<int>(task.a.rows);
  bool const few = eigen_tiny_are_few(task.a.count, n, queue.device().multiprocessors);
  EigenTiny c = eigen_tiny_plan(job, n, few);
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
  struct Type {
    Dtype dtype;
    int bytes, real_bytes;
  };
  for (auto const [dtype, bytes, real_bytes] : {Type{Dtype::f32, 4, 4}, {Dtype::f64, 8, 8}, {Dtype::c32, 8, 4}, {Dtype::c64, 16, 8}}) {
    bool const complex = bytes != real_bytes;
    if (!filter.wants_dtype(dtype) || !(filter.wants_routine("syevd") || (complex && filter.wants_routine("heevd")))) continue;
    for (int n = 1; n <= tiny_largest; ++n)
      for (EigenJob const job : {EigenJob::values, EigenJob::vectors})
        for (bool const few : {false, true})
          if (filter.wants_size(n) && (!few || n > 1)) kernels.push_back(source(dtype, eigen_tiny_plan(job, n, few)));
    if (!filter.wants_size_above(tiny_largest)) continue;
    for (int n = 64; n - 31 <= eigen_block_largest(bytes, real_bytes, most_shared_bytes); n += 32)
      for (EigenJob const job : {EigenJob::values, EigenJob::vectors}) kernels.push_back(source(dtype, eigen_block_plan(job, n)));
  }
  return kernels;
}

#define MYRIAD_INSTANTIATE(T) template void syevd<T>(Queue&, SyevdTask<T> const&);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad::gpu
