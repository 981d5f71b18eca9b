#include "reflectors/reflectors_gpu.hpp"

#include <algorithm>
#include <array>

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

/// The kernels of large matrices, in the order of their launches
constexpr std::array panel_kernels{KernelName("reflectors/reflectors_panels", "reflectors_bring"),
                                   KernelName("reflectors/reflectors_panels", "reflectors_factor"),
                                   KernelName("reflectors/reflectors_panels", "reflectors_identity")};

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

/// What large matrices need of a GPU.
template <typename T>
class Machine {
  using D = DeviceElement<T>;

 public:
  explicit Machine(Queue& queue) : queue_(queue), multiprocessors_(queue.device().multiprocessors) {
    for (std::size_t step = 0; step < panel_kernels.size(); ++step) kernels_[step] = &kernel_of(queue, panel_kernels[step], dtype_of<T>);
  }
  void bring(ReflectorsPanels<D> const& work) {
    launch(queue_, *kernels_[0],
           {.blocks = work.ld / 32 * work.panels * work.batch.a.count,
            .threads = reflectors_copy_threads,
            .shared_bytes = 32 * 33 * sizeof(T)},
           work);
  }
  void factor(ReflectorsPanels<D> const& work) {
    launch(queue_, *kernels_[1],
           {.blocks = work.panels * work.batch.a.count, .threads = work.width, .shared_bytes = work.factor_bytes(work.width, sizeof(T))},
           work);
  }
  void identity(ReflectorsIdentity<D> const& unit) {
    launch(queue_, *kernels_[2], {.blocks = unit.work.batch.c.count * unit.work.batch.c.rows, .threads = reflectors_copy_threads}, unit);
  }
  void multiply(T alpha, Batch<T const> const& a, Batch<T const> const& b, T beta, Batch<T> const& c, Written written) {
    GemmShape const shape = reflectors_product(sizeof(T), c.rows, c.cols, a.cols, c.count, multiprocessors_);
    gemm<T>(queue_, {.alpha = alpha, .a = a, .b = b, .beta = beta, .c = c}, Structure::general, written, shape);
  }

 private:
  Queue& queue_;
  int multiprocessors_;
  Kernel const* kernels_[3] = {};
};

template <typename T>
void by_panels(Queue& queue, ReflectorsTask<T> const& task) {
  using Panels = ReflectorsByPanels<T, Machine<T>>;
  Machine<T> machine(queue);
  int const width = reflectors_width(is_complex<T>, task.a.rows);
  // As many matrices at a time as the workspace holds one panel of, and then as many panels of these.
  std::int64_t const count = task.c.count;
  std::int64_t const some = std::clamp<std::int64_t>(reflectors_workspace / Panels::bytes(task, width, 1, 1), 1, count);
  std::int64_t const panels =
      std::clamp<std::int64_t>(reflectors_workspace / Panels::bytes(task, width, 1, some), 1, Panels::panels(task, width));
  Workspace const workspace(queue, Panels::bytes(task, width, panels, some));
  char* memory = workspace.template as<char>();
  if (!memory) memory = reinterpret_cast<char*>(256);  // while the queue is prepared: which kernels are used is seen from addresses
  for (std::int64_t b = 0; b < count; b += some) {
    ReflectorsTask<T> part = task;
    std::int64_t const here = std::min(some, count - b);
    part.a = matrices(task.a, b, here);
    part.tau = matrices(task.tau, b, here);
    part.c = matrices(task.c, b, here);
    Panels(machine, part, width, reflectors_small_largest + 1, panels, memory).run();
  }
}

template <typename T>
void run(Queue& queue, ReflectorsTask<T> const& task) {
  if (task.c.empty()) return;
  bool const large = task.a.rows > reflectors_small_largest + 1;
  // Of a ragged batch each kernel passes over the matrices of the other.
  auto const all = [&] {
    if (large) by_panels(queue, task);
    if (!large || task.ragged()) small(queue, task);
  };
  // All kernels come before the first launch: where one cannot be had, nothing is written.
  if (large) queue.prepare(all);
  all();
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
    for (KernelName const& name : panel_kernels) kernels.push_back(source_of(name, dtype));
    // All shapes: for ever more multiprocessors than there are large tiles.
    for (std::int64_t const k : {128, 512})
      for (int const multiprocessors : {1, 4, 8, 16}) {
        GemmShape const shape = reflectors_product(bytes, 128, 128, k, 1, multiprocessors);
        auto const add = [&](Lines a, Lines b, Written written = Written::whole) {
          auto const of_shape = gemm_kernels_of(dtype, shape, a, b, Lines::columns, written);
          kernels.insert(kernels.end(), of_shape.begin(), of_shape.end());
        };
        add(Lines::rows, Lines::columns, Written::lower);
        add(Lines::rows, Lines::columns);
        add(Lines::columns, Lines::columns);
        if (applies) add(Lines::columns, Lines::rows);  // V T^H
      }
  }
  return kernels;
}

#define MYRIAD_INSTANTIATE(T)                          \
  template void orgtr<T>(Queue&, OrgtrTask<T> const&); \
  template void ormtr<T>(Queue&, OrmtrTask<T> const&);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad::gpu
