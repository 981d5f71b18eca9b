#include "refine/refine_gpu.hpp"

#include <tuple>

#include "blocked/queue_machine.hpp"
#include "core/dtype.hpp"
#include "refine/refine_blocked.hpp"
#include "refine/refine_tiny_plan.hpp"
#include "runtime/kernel_name.hpp"
#include "runtime/launch.hpp"
#include "runtime/tiny.hpp"
#include "runtime/views.hpp"

namespace myriad::gpu {
namespace {

constexpr KernelName geequ_kernel{"refine/refine_tiny", "geequ_tiny"};
constexpr KernelName laqge_kernel{"refine/refine_tiny", "laqge_tiny"};
constexpr KernelName backward_error_kernel{"refine/refine_tiny", "backward_error_tiny"};

/// `tiles` of every matrix.
template <typename T, typename Arguments>
void run(Queue& queue, KernelName const& name, RefineTiny const& c, std::int64_t shared_bytes, Arguments const& args,
         std::int64_t tiles = 1) {
  Kernel const& kernel = kernel_of(queue, name, dtype_of<T>, c);
  launch(queue, kernel,
         {.blocks = (args.a.count + c.matrices - 1) / c.matrices * tiles, .threads = c.threads(), .shared_bytes = shared_bytes}, args);
}

/// As planned, for matrices in this layout.
template <typename T>
RefineTiny plan(simt::Matrices<T> const& a, std::int64_t columns) {
  RefineTiny c = refine_tiny_plan(a.rows, a.cols, columns);
  c.a = layout_of(a);
  c.matrices = matrices_of_block(c.matrices, c.lanes, c.a == simt::Layout::interleaved, sizeof(T));
  return c;
}

template <typename T>
bool is_large(Batch<T> const& a) {
  return a.rows > tiny_largest || a.cols > tiny_largest;
}

}  // namespace

template <typename T>
void geequ(Queue& queue, GeequTask<T> const& task) {
  if (task.a.count == 0) return;
  if (is_large(task.a)) return run_blocked(queue, [&](QueueMachine& machine) { geequ_blocked(machine, task); });
  GeequTinyArguments<DeviceElement<T>> const args{.a = matrices_of(task.a),
                                                  .r = matrices_of(task.r),
                                                  .c = matrices_of(task.c),
                                                  .rowcnd = task.rowcnd,
                                                  .colcnd = task.colcnd,
                                                  .amax = task.amax,
                                                  .info = task.info};
  RefineTiny const c = plan(args.a, 0);
  run<T>(queue, geequ_kernel, c, GeequTinyMemory(sizeof(T), sizeof(Real<T>), c).bytes, args);
}

template <typename T>
void laqge(Queue& queue, LaqgeTask<T> const& task) {
  if (task.a.empty() || (!given(task.r) && !given(task.c))) return;
  LaqgeTinyArguments<DeviceElement<T>> const args{.a = matrices_of(task.a), .r = matrices_of(task.r), .c = matrices_of(task.c)};
  RefineTiny c = plan(args.a, 0);
  if (task.a.rows > c.m || task.a.cols > c.n) c.a = by_elements(c.a);
  run<T>(queue, laqge_kernel, c, LaqgeTinyMemory(sizeof(T), c).bytes, args,
         ((args.a.rows + c.m - 1) / c.m) * ((args.a.cols + c.n - 1) / c.n));
}

template <typename T>
void backward_error(Queue& queue, BackwardErrorTask<T> const& task) {
  if (task.berr.empty()) return;
  if (is_large(task.a)) return run_blocked(queue, [&](QueueMachine& machine) { backward_error_blocked(machine, task); });
  BackwardErrorTinyArguments<DeviceElement<T>> const args{
      .a = matrices_of(task.a), .x = matrices_of(task.x), .b = matrices_of(task.b), .berr = matrices_of(task.berr), .columns = task.x.cols};
  RefineTiny c = plan(args.a, args.columns);
  c.x = layout_of(args.x);
  c.b = layout_of(args.b);
  if (args.columns > c.nrhs) {
    c.x = by_elements(c.x);
    c.b = by_elements(c.b);
  }
  bool const interleaved = c.x == simt::Layout::interleaved || c.b == simt::Layout::interleaved;
  c.matrices = matrices_of_block(c.matrices, c.lanes, interleaved, sizeof(T));
  run<T>(queue, backward_error_kernel, c, BackwardErrorTinyMemory(sizeof(T), c).bytes, args);
}

template <typename T>
void gerfs(Queue& queue, GerfsTask<T> const& task) {
  if (task.x.count == 0 || task.x.cols == 0) return;
  run_blocked(queue, [&](QueueMachine& machine) { gerfs_blocked(machine, task); });
}

std::vector<KernelSource> refine_kernels(KernelFilter const& filter) {
  std::vector<KernelSource> kernels;
  for (Dtype const dtype : {Dtype::f32, Dtype::f64, Dtype::c32, Dtype::c64})
    for (int n = 1; n <= tiny_largest; ++n)
      for (auto const& [routine, name, columns] :
           {std::tuple{"geequ", geequ_kernel, 0}, {"laqge", laqge_kernel, 0}, {"backward_error", backward_error_kernel, 1}})
        if (filter.wants_routine(routine) && filter.wants_dtype(dtype) && filter.wants_size(n))
          kernels.push_back(source_of(name, dtype, refine_tiny_plan(n, n, columns)));
  for (Dtype const dtype : {Dtype::f32, Dtype::f64, Dtype::c32, Dtype::c64}) {
    if (!filter.wants_dtype(dtype)) continue;
    auto const add = [&](std::initializer_list<KernelName> names) {
      for (KernelName const& name : names) kernels.push_back(source_of(name, dtype));
    };
    bool const large = filter.wants_size_above(tiny_largest);
    if (large && filter.wants_routine("laqge")) {
      RefineTiny part = refine_tiny_plan(tiny_largest, tiny_largest, 0);
      part.a = simt::Layout::columns;
      kernels.push_back(source_of(laqge_kernel, dtype, part));
    }
    if (large && filter.wants_routine("geequ")) add({geequ_sizes_kernel, geequ_write_kernel});
    if (large && filter.wants_routine("backward_error")) add({residuals_kernel, backward_error_write_kernel});
    if (filter.wants_routine("gerfs"))
      add({copy_matrices_kernel, residuals_kernel, gerfs_judge_kernel, gerfs_correct_kernel, gerfs_sizes_kernel, gerfs_estimate_kernel});
  }
  return kernels;
}

#define MYRIAD_INSTANTIATE(T)                          \
  template void geequ<T>(Queue&, GeequTask<T> const&); \
  template void laqge<T>(Queue&, LaqgeTask<T> const&); \
  template void gerfs<T>(Queue&, GerfsTask<T> const&); \
  template void backward_error<T>(Queue&, BackwardErrorTask<T> const&);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad::gpu
