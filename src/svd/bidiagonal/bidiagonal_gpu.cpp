#include "svd/bidiagonal/bidiagonal_gpu.hpp"

#include <algorithm>

#include "blocked/queue_machine.hpp"
#include "core/dtype.hpp"
#include "qr/qr_gpu.hpp"
#include "reflectors/reflectors_gpu.hpp"
#include "svd/bidiagonal/gebrd_blocked.hpp"

namespace myriad::gpu {
namespace {

/// The reflectors of all matrices, if none is ragged; else those of the bounds of sizes.
template <typename Task>
BidiagonalReflectors of_bounds(Task const& task) {
  return {task.vect, task.a.rows, task.k.bound};
}

/// The shift of the reflectors of all matrices, or -1 where it may differ. Those with shift 1 are as those of sytrd, of square matrices.
template <typename Task>
std::int64_t common_shift(Task const& task) {
  return task.k.sizes || task.a.ragged() ? -1 : of_bounds(task).shift();
}

}  // namespace

template <typename T>
void gebrd(Queue& queue, GebrdTask<T> const& task) {
  if (task.a.empty()) return;
  run_blocked(queue, [&](QueueMachine& machine) { gebrd_on<T>(machine, task); });
}

template <typename T>
void orgbr(Queue& queue, OrgbrTask<T> const& task) {
  if (task.a.empty()) return;
  std::int64_t const shift = common_shift(task), reflectors = of_bounds(task).count();
  if (shift == 0) return orgqr<T>(queue, {.a = task.a, .tau = rows(task.tau, 0, reflectors)});
  if (shift == 1) return orgtr<T>(queue, {.uplo = Uplo::lower, .a = task.a, .tau = rows(task.tau, 0, reflectors)});
  run_blocked(queue, [&](QueueMachine& machine) { orgbr_on<T>(machine, task); });
}

template <typename T>
void ormbr(Queue& queue, OrmbrTask<T> const& task) {
  if (task.c.empty()) return;
  std::int64_t const shift = task.c.ragged() ? -1 : common_shift(task), reflectors = of_bounds(task).count();
  Batch<T const> const tau = rows(task.tau, 0, reflectors);
  if (shift == 0) return ormqr<T>(queue, {.adjoint = task.adjoint, .a = columns(task.a, 0, reflectors), .tau = tau, .c = task.c});
  if (shift == 1) return ormtr<T>(queue, {.uplo = Uplo::lower, .adjoint = task.adjoint, .a = task.a, .tau = tau, .c = task.c});
  run_blocked(queue, [&](QueueMachine& machine) { ormbr_on<T>(machine, task); });
}

std::vector<KernelSource> bidiagonal_kernels(KernelFilter const& filter) {
  std::vector<KernelSource> kernels;
  struct Type {
    Dtype dtype;
    int bytes;
    bool complex;
  };
  for (auto const [dtype, bytes, complex] :
       {Type{Dtype::f32, 4, false}, {Dtype::f64, 8, false}, {Dtype::c32, 8, true}, {Dtype::c64, 16, true}}) {
    if (!filter.wants_dtype(dtype)) continue;
    if (filter.wants_routine("gebrd") || filter.wants_routine("gesvd")) {
      GebrdBlocks const blocks = gebrd_blocks(bytes, complex);
      int below = 0;  // rows that the kernels before hold
      for (GebrdBlock const* c = blocks.first; c != blocks.first + blocks.count; ++c) {
        // The last one takes what panels leave.
        bool any = c + 1 == blocks.first + blocks.count && filter.wants_size_above(c->rows());
        for (int n = below + 1; n <= c->rows(); ++n) any |= filter.wants_size(n);
        if (any) kernels.push_back(source_of(gebrd_block_kernel, dtype, *c));
        below = c->rows();
      }
      if (!filter.wants_size_above(below)) continue;
      for (KernelName const& name : {gebrd_measure_kernel, gebrd_load_kernel, gebrd_store_kernel, gebrd_step_kernel})
        kernels.push_back(source_of(name, dtype));
      for (int rows = 256; rows == 256 || gebrd_stream_plan(bytes, rows) != gebrd_stream_plan(bytes, rows / 2); rows *= 2)
        kernels.push_back(source_of(gebrd_stream_kernel, dtype, gebrd_stream_plan(bytes, rows)));
      auto const products = blocked_product_kernels(dtype, bytes, Lines::columns, Lines::columns, Lines::columns);
      kernels.insert(kernels.end(), products.begin(), products.end());
    }
  }
  KernelFilter reflectors = filter;  // Q and P are formed and applied as those of other reductions
  reflectors.routines.clear();
  if (filter.wants_routine("orgbr") || filter.wants_routine("ungbr")) reflectors.routines = {"orgqr", "orgtr"};
  if (filter.wants_routine("ormbr") || filter.wants_routine("unmbr") || filter.wants_routine("gesvd"))
    reflectors.routines.insert(reflectors.routines.end(), {"ormqr", "ormtr"});
  if (!reflectors.routines.empty())
    for (auto const& list : {reflectors_kernels(reflectors), qr_kernels(reflectors)})
      kernels.insert(kernels.end(), list.begin(), list.end());
  return kernels;
}

#define MYRIAD_INSTANTIATE(T)                          \
  template void gebrd<T>(Queue&, GebrdTask<T> const&); \
  template void orgbr<T>(Queue&, OrgbrTask<T> const&); \
  template void ormbr<T>(Queue&, OrmbrTask<T> const&);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad::gpu
