/// trmv on a GPU.

#include "core/dtype.hpp"
#include "runtime/kernel_name.hpp"
#include "runtime/launch.hpp"
#include "runtime/tiny.hpp"
#include "runtime/views.hpp"
#include "trsm/trmv_plan.hpp"
#include "trsm/trsm_gpu.hpp"

namespace myriad::gpu {
namespace {

constexpr KernelName trmv_kernel{"trsm/trmv"};
constexpr KernelName trmv_keep_kernel{"trsm/trmv", "trmv_keep"};

}  // namespace

template <typename T>
void trmv(Queue& queue, TrsmTask<T> const& task) {
  using D = DeviceElement<T>;
  std::int64_t const n = task.b.rows, count = task.b.count;
  if (n <= tiny_largest) return trmm(queue, task);
  TrmvArguments<D> args{.a = matrices_of(task.a),
                        .x = matrices_of(task.b),
                        .kept = nullptr,
                        .parts = 1,
                        .terms = 0,
                        .lower = task.uplo == Uplo::lower,
                        .unit = task.diag == Diag::unit};
  Trmv const c = trmv_plan(sizeof(T), n, args.a.col_stride == 1 && !args.a.col_strides ? Lines::rows : Lines::columns);
  args.parts = trmv_parts(c, n, count, std::int64_t{queue.device().multiprocessors} * c.blocks_per_sm);
  args.terms = trmv_terms(sizeof(T), n, c);
  // All kernels are loaded before the first launch: if one is unavailable, nothing is written.
  Kernel const& kernel = kernel_of(queue, trmv_kernel, dtype_of<T>, c);
  bool const keep = args.parts > 1;
  Workspace const kept(queue, keep ? count * n * static_cast<std::int64_t>(sizeof(T)) : 0);
  if (keep) {
    Kernel const& first = kernel_of(queue, trmv_keep_kernel, dtype_of<T>);
    launch(queue, first, {.blocks = (count * n + 127) / 128, .threads = 128},
           TrmvKeepArguments<D>{.x = args.x.as_const(), .kept = kept.as<D>()});
    args.kept = kept.as<D>();
  }
  launch(queue, kernel, {.blocks = count * args.parts, .threads = c.threads(), .shared_bytes = c.shared_bytes(sizeof(T), args.terms)},
         args);
}

std::vector<KernelSource> trmv_kernels(KernelFilter const& filter) {
  std::vector<KernelSource> kernels;
  if (!filter.wants_routine("trmv") || !filter.wants_size_above(tiny_largest)) return kernels;
  for (auto const& [dtype, bytes] : {std::pair{Dtype::f32, 4}, {Dtype::f64, 8}, {Dtype::c32, 8}, {Dtype::c64, 16}}) {
    if (!filter.wants_dtype(dtype)) continue;
    for (Lines const lines : {Lines::columns, Lines::rows})
      for (int const n : {128, 512, 1024}) kernels.push_back(source_of(trmv_kernel, dtype, trmv_plan(bytes, n, lines)));
    kernels.push_back(source_of(trmv_keep_kernel, dtype));
  }
  return kernels;
}

#define MYRIAD_INSTANTIATE(T) template void trmv<T>(Queue&, TrsmTask<T> const&);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad::gpu
