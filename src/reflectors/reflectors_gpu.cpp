#include "reflectors/reflectors_gpu.hpp"

#include <algorithm>
#include <initializer_list>

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
void run(Queue& queue, ReflectorsTask<T> const& task) {
  if (task.c.empty()) return;
  if (task.a.rows <= reflectors_small_largest + 1) return small(queue, task);
  // In a ragged batch each kernel skips the matrices of the other.
  run_blocked(queue, [&](QueueMachine& machine) {
    reflectors_by_panels<T>(machine, task, reflectors_small_largest + 1);
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
    auto const wants = [&](std::initializer_list<char const*> routines) {
      return std::any_of(routines.begin(), routines.end(), [&](char const* routine) { return filter.wants_routine(routine); });
    };
    bool const forms = wants({"orgtr"}) || (complex && wants({"ungtr"})), applies = wants({"ormtr"}) || (complex && wants({"unmtr"}));
    // Reflectors of a large QR factorization are applied by panels.
    bool const forms_qr = wants({"orgqr"}) || (complex && wants({"ungqr"}));
    bool const applies_qr = wants({"ormqr", "gels"}) || (complex && wants({"unmqr"}));
    if (!filter.wants_dtype(dtype) || !(forms || applies || forms_qr || applies_qr)) continue;
    for (int n = 1; n <= reflectors_small_largest + 1; ++n) {
      if (!filter.wants_size(n)) continue;
      if (forms) kernels.push_back(source_of(reflectors_small_kernel, dtype, reflectors_small_plan(bytes, n, ReflectorsJob::form)));
      if (applies) kernels.push_back(source_of(reflectors_small_kernel, dtype, reflectors_small_plan(bytes, n, ReflectorsJob::apply)));
    }
    bool const large = filter.wants_size_above(reflectors_small_largest + 1) && (forms || applies);
    if (!large && !(filter.wants_size_above(tiny_largest) && (forms_qr || applies_qr))) continue;
    for (KernelName const& name : {reflectors_load_kernel, reflectors_factor_kernel, reflectors_identity_kernel})
      kernels.push_back(source_of(name, dtype));
    auto const add = [&](Lines a, Lines b, Lines c, Written written = Written::whole) {
      auto const some = blocked_product_kernels(dtype, bytes, a, b, c, written);
      kernels.insert(kernels.end(), some.begin(), some.end());
    };
    add(Lines::rows, Lines::columns, Lines::columns, Written::lower);
    add(Lines::rows, Lines::columns, Lines::columns);
    add(Lines::columns, Lines::columns, Lines::columns);
    if (applies || applies_qr) add(Lines::columns, Lines::rows, Lines::columns);  // V T^H
    if (!forms_qr && !applies_qr) continue;
    add(Lines::rows, Lines::rows, Lines::rows);
    add(Lines::columns, Lines::rows, Lines::rows);
  }
  return kernels;
}

#define MYRIAD_INSTANTIATE(T)                          \
  template void orgtr<T>(Queue&, OrgtrTask<T> const&); \
  template void ormtr<T>(Queue&, OrmtrTask<T> const&);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad::gpu
