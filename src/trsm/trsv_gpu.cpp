/// trsv on a GPU.

#include "core/dtype.hpp"
#include "runtime/kernel_name.hpp"
#include "runtime/launch.hpp"
#include "runtime/tiny.hpp"
#include "runtime/views.hpp"
#include "trsm/trsm_columns_plan.hpp"
#include "trsm/trsm_gpu.hpp"
#include "trsm/trsv_plan.hpp"

namespace myriad::gpu {
namespace {

constexpr KernelName trsv_kernel{"trsm/trsv"};

}  // namespace

template <typename T>
void trsv(Queue& queue, TrsmTask<T> const& task) {
  using D = DeviceElement<T>;
  std::int64_t const n = task.b.rows, count = task.b.count;
  if (n <= trsm_columns_largest(is_complex<T>)) return trsm(queue, task);
  Device const& device = queue.device();
  Trsv const c = trsv_plan(sizeof(T), count, device.multiprocessors);
  std::int64_t const parts = trsv_parts(c, n, count,
                                        trsv_resident(c, sizeof(T), device.multiprocessors, device.shared_memory_per_multiprocessor,
                                                      device.reserved_shared_memory_per_block));
  Kernel const& kernel = kernel_of(queue, trsv_kernel, dtype_of<T>, c);
  bool const several = parts > 1;
  Workspace const done(queue, several ? count * static_cast<std::int64_t>(sizeof(int)) : 0);
  clear(queue, done.as<int>(), count);
  launch(queue, kernel, {.blocks = count * parts, .threads = c.threads(), .shared_bytes = c.shared_bytes(sizeof(T)), .together = several},
         TrsvArguments<D>{.a = matrices_of(task.a),
                          .x = matrices_of(task.b),
                          .parts = parts,
                          .done = done.as<unsigned>(),
                          .lower = task.uplo == Uplo::lower,
                          .unit = task.diag == Diag::unit});
}

std::vector<KernelSource> trsv_kernels(KernelFilter const& filter) {
  std::vector<KernelSource> kernels;
  if (!filter.wants_routine("trsv")) return kernels;
  for (auto const& [dtype, bytes] : {std::pair{Dtype::f32, 4}, {Dtype::f64, 8}, {Dtype::c32, 8}, {Dtype::c64, 16}}) {
    bool const complex = dtype == Dtype::c32 || dtype == Dtype::c64;
    if (!filter.wants_dtype(dtype) || !filter.wants_size_above(trsm_columns_largest(complex))) continue;
    kernels.push_back(source_of(trsv_kernel, dtype, trsv_plan(bytes, 1, 132)));
    if (Trsv const many = trsv_plan(bytes, 1000, 132); many != trsv_plan(bytes, 1, 132))
      kernels.push_back(source_of(trsv_kernel, dtype, many));
  }
  return kernels;
}

#define MYRIAD_INSTANTIATE(T) template void trsv<T>(Queue&, TrsmTask<T> const&);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad::gpu
