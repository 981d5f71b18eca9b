#include "reflectors/reflectors_gpu.hpp"

#include <algorithm>

#include "blocked/queue_machine.hpp"
#include "core/dtype.hpp"
#include "reflectors/reflectors_by_panels.hpp"
#include "reflectors/reflectors_plan.hpp"
#include "runtime/kernel_name.hpp"
#include "runtime/launch.hpp"
#include "runtime/tiny.hpp"
#include "runtime/views.hpp"

namespace myriad::gpu {
namespace {

constexpr KernelName reflectors_small_kernel{"reflectors/reflectors_small"};

template <typename T>
void small(Queue& queue, ReflectorsTask<T> const& task) {
  ReflectorsSmall const c = reflectors_small_plan(sizeof(T), task.a.rows, task.job);
  Kernel const& kernel = kernel_of(queue, reflectors_small_kernel, dtype_of<T>, c);
  std::int64_t const chunks = c.forms() ? 1 : (task.c.cols + c.rows - 1) / c.rows;
  launch(
      queue, kernel,
      {.blocks = (task.c.count + c.matrices - 1) / c.matrices * chunks, .threads = c.threads(), .shared_bytes = c.shared_bytes(sizeof(T))},
      task.arguments());
}

template <typename T>
void by_panels(QueueMachine& machine, ReflectorsTask<T> const& task) {
  using Panels = ReflectorsByPanels<T, QueueMachine>;
  int const width = reflectors_width(is_complex<T>, task.a.rows);
  // As many matrices at a time as the workspace holds one panel of, and then as many panels of these.
  std::int64_t const count = task.c.count;
  std::int64_t const some = most_at_once(count, reflectors_workspace, Panels::bytes(task, width, 1, 1));
  std::int64_t const panels = most_at_once(Panels::panels(task, width), reflectors_workspace, Panels::bytes(task, width, 1, some));
  auto const memory = machine.memory(Panels::bytes(task, width, panels, some));
  for (std::int64_t b = 0; b < count; b += some) {
    ReflectorsTask<T> part = task;
    std::int64_t const here = std::min(some, count - b);
    part.a = matrices(task.a, b, here);
    part.tau = matrices(task.tau, b, here);
    part.c = matrices(task.c, b, here);
    Panels(machine, part, width, reflectors_small_largest + 1, panels, memory.data()).run();
  }
}

template <typename T>
void run(Queue& queue, ReflectorsTask<T> const& task) {
  if (task.c.empty()) return;
  if (task.a.rows <= reflectors_small_largest + 1) return small(queue, task);
  // Of a ragged batch each kernel passes over the matrices of the other.
  run_blocked(queue, [&](QueueMachine& machine) {
    by_panels(machine, task);
    if (task.ragged()) small(queue, task);
  });
}

}  // namespace

template <typename T>
void orgtr(Queue& queue, OrgtrTask<T> const& task) {
  run<T>(queue,
         {.lower = task.uplo == Uplo::lower, .adjoint = false, .job = ReflectorsJob::form, .a = task.a, .tau = task.tau, .c = task.a});
}

template <typename T>
void ormtr(Queue& queue, OrmtrTask<T> const& task) {
  run<T>(
      queue,
      {.lower = task.uplo == Uplo::lower, .adjoint = task.adjoint, .job = ReflectorsJob::apply, .a = task.a, .tau = task.tau, .c = task.c});
}

std::vector<KernelSource> reflectors_kernels(KernelFilter const& filter) {
  std::vector<KernelSource> kernels;
  struct Type {
    Dtype dtype;
    int bytes;
    bool complex;
  };
  for (auto const [dtype, bytes, complex] :
       {Type{Dtype::f32, 4, false}, {Dtype::f64, 8, false}, {Dtype::c32, 8, true}, {Dtype::c64, 16, true}}) {
    bool const forms = filter.wants_routine("orgtr") || (complex && filter.wants_routine("ungtr"));
    bool const applies = filter.wants_routine("ormtr") || (complex && filter.wants_routine("unmtr"));
    if (!filter.wants_dtype(dtype) || !(forms || applies)) continue;
    for (int n = 1; n <= reflectors_small_largest + 1; ++n) {
      if (!filter.wants_size(n)) continue;
      if (forms) kernels.push_back(source_of(reflectors_small_kernel, dtype, reflectors_small_plan(bytes, n, ReflectorsJob::form)));
      if (applies) kernels.push_back(source_of(reflectors_small_kernel, dtype, reflectors_small_plan(bytes, n, ReflectorsJob::apply)));
    }
    if (!filter.wants_size_above(reflectors_small_largest + 1)) continue;
    for (KernelName const& name : {reflectors_bring_kernel, reflectors_factor_kernel, reflectors_identity_kernel})
      kernels.push_back(source_of(name, dtype));
    auto const add = [&](Lines a, Lines b, Written written = Written::whole) {
      auto const some = blocked_product_kernels(dtype, bytes, a, b, Lines::columns, written);
      kernels.insert(kernels.end(), some.begin(), some.end());
    };
    add(Lines::rows, Lines::columns, Written::lower);
    add(Lines::rows, Lines::columns);
    add(Lines::columns, Lines::columns);
    if (applies) add(Lines::columns, Lines::rows);  // V T^H
  }
  return kernels;
}

#define MYRIAD_INSTANTIATE(T)                          \
  template void orgtr<T>(Queue&, OrgtrTask<T> const&); \
  template void ormtr<T>(Queue&, OrmtrTask<T> const&);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad::gpu
