#include "qr/qr_gpu.hpp"

#include <algorithm>
#include <initializer_list>

#include "blocked/queue_machine.hpp"
#include "core/dtype.hpp"
#include "lu/lu_gpu.hpp"
#include "qr/blocked/gels_blocked.hpp"
#include "qr/blocked/q_blocked.hpp"
#include "qr/blocked/qr_blocked.hpp"
#include "qr/pivoted/gelsy_large.hpp"
#include "qr/qr_tiny_space.hpp"
#include "runtime/kernel_name.hpp"
#include "runtime/launch.hpp"
#include "runtime/tiny.hpp"
#include "runtime/views.hpp"
#include "trsm/trsm_gpu.hpp"

namespace myriad::gpu {
namespace {

constexpr KernelName qr_tiny_kernel{"qr/qr_tiny"};

template <typename T>
void run(Queue& queue, QrTiny k, QrTinyArguments<DeviceElement<T>> const& args) {
  using simt::Layout;
  bool const empty = args.a.rows == 0 || args.a.cols == 0;  // of a kernel that takes it for one row or column
  k.a = empty ? Layout::ragged_columns : layout_of(args.a);
  if (k.has_columns()) {
    k.c = k.columns == 0 ? Layout::columns : layout_of(args.c);
    if (k.solves() && k.ragged()) k.c = by_elements(k.c);
  }
  if (!k.solves() && k.reflectors > 0) {
    Layout const tau = layout_of(args.tau);
    k.tau = tau == Layout::packed_columns || tau == Layout::interleaved ? tau : Layout::columns;
  }
  if (k.a == Layout::interleaved) k = qr_tiny_interleaved(k, sizeof(T));
  Kernel const& kernel = kernel_of(queue, qr_tiny_kernel, dtype_of<T>, k);
  launch(queue, kernel,
         {.blocks = (args.a.count + k.matrices - 1) / k.matrices, .threads = k.threads(), .shared_bytes = QrTinyMemory(sizeof(T), k).bytes},
         args);
}

template <typename T>
bool is_tiny(Batch<T> const& a) {
  return a.rows <= tiny_largest && a.cols <= tiny_largest;
}

/// A batch that is only read, as the kernels take it.
template <typename T>
Batch<T> mutable_batch(Batch<T const> const& a) {
  return {const_cast<T*>(a.data),
          const_cast<T* const*>(a.pointers),
          a.rows,
          a.cols,
          a.row_stride,
          a.col_stride,
          a.batch_stride,
          a.count,
          a.row_sizes,
          a.col_sizes,
          a.row_strides,
          a.col_strides,
          a.row_offset,
          a.col_offset,
          a.conjugated};
}

}  // namespace

template <typename T>
void geqrf(Queue& queue, GeqrfTask<T> const& task) {
  if (task.a.empty()) return;
  if (!is_tiny(task.a)) return run_blocked(queue, [&](QueueMachine& machine) { geqrf_large<T>(machine, task); });
  auto const m = static_cast<int>(task.a.rows), n = static_cast<int>(task.a.cols);
  int const steps = std::min(m, n);
  run<T>(queue, tuning::planned(queue, QrTinySpace{dtype_of<T>, m, n}),
         {.a = matrices_of(transposed(task.a)), .c = {}, .tau = matrices_of(rows(task.tau, 0, steps)), .info = nullptr, .keeps_a = false});
}

template <typename T>
void ormqr(Queue& queue, OrmqrTask<T> const& task) {
  std::int64_t const k = std::min({task.tau.rows, task.a.rows, task.a.cols});
  if (task.c.empty() || k == 0) return;
  if (!is_tiny(task.c)) return run_blocked(queue, [&](QueueMachine& machine) { ormqr_large<T>(machine, task); });
  QrJob const job = task.adjoint ? QrJob::apply_adjoint : QrJob::apply;
  auto const reflectors = static_cast<int>(k);
  run<T>(queue, qr_tiny_plan(job, dtype_of<T>, static_cast<int>(task.c.rows), reflectors, reflectors, static_cast<int>(task.c.cols)),
         {.a = matrices_of(transposed(columns(mutable_batch(task.a), 0, k))),
          .c = matrices_of(transposed(task.c)),
          .tau = matrices_of(rows(mutable_batch(task.tau), 0, k)),
          .info = nullptr,
          .keeps_a = false});
}

template <typename T>
void orgqr(Queue& queue, OrgqrTask<T> const& task) {
  if (task.a.empty()) return;
  if (!is_tiny(task.a)) return run_blocked(queue, [&](QueueMachine& machine) { orgqr_large<T>(machine, task); });
  auto const m = static_cast<int>(task.a.rows), n = static_cast<int>(task.a.cols);
  int const reflectors = static_cast<int>(std::min<std::int64_t>(task.tau.rows, n));
  run<T>(queue, qr_tiny_plan(QrJob::generate, dtype_of<T>, m, n, reflectors, 0),
         {.a = matrices_of(transposed(task.a)),
          .c = {},
          .tau = matrices_of(rows(mutable_batch(task.tau), 0, reflectors)),
          .info = nullptr,
          .keeps_a = false});
}

template <typename T>
void gels(Queue& queue, GelsTask<T> const& task) {
  std::int64_t const m = task.a.rows, n = task.a.cols, nrhs = task.b.cols;
  if (task.a.count == 0) return;
  if (n == 0 || (m == 0 && nrhs == 0)) {
    clear(queue, task.info, task.a.count);
    return;
  }
  if (!is_tiny(task.a)) return run_blocked(queue, [&](QueueMachine& machine) { gels_large<T>(machine, task); });
  if (m == 0) clear(queue, task.info, task.a.count);  // of a ragged batch no kernel takes the matrices without columns
  auto const reflectors = static_cast<int>(std::max<std::int64_t>(std::min(m, n), 1));
  // Of many right-hand sides some at a time, each time from A; the last time the factors take its place.
  for (std::int64_t j = 0; j == 0 || j < nrhs; j += most_columns) {
    std::int64_t const width = std::min(most_columns, nrhs - j);
    bool const last = j + width == nrhs;
    auto const solve = [&](QrJob job, Batch<T> const& a, std::int64_t rows) {
      run<T>(
          queue, qr_tiny_plan(job, dtype_of<T>, static_cast<int>(rows), reflectors, reflectors, static_cast<int>(width)),
          {.a = matrices_of(a), .c = matrices_of(transposed(columns(task.b, j, width))), .tau = {}, .info = task.info, .keeps_a = !last});
    };
    // A ragged batch may have tall matrices and wide ones; each of the kernels passes over those of the other.
    if (m > 0 && (m >= n || task.a.ragged())) solve(QrJob::least_squares, transposed(task.a), m);
    if (m < n || task.a.ragged()) solve(QrJob::minimum_norm, conjugated(task.a), n);
  }
}

template <typename T>
void geqp3(Queue& queue, Geqp3Task<T> const& task) {
  run_blocked(queue, [&](QueueMachine& machine) { geqp3_large<T>(machine, task); });
}

template <typename T>
void gelsy(Queue& queue, GelsyTask<T> const& task) {
  run_blocked(queue, [&](QueueMachine& machine) { gelsy_large<T>(machine, task); });
}

std::vector<KernelSource> qr_kernels(KernelFilter const& filter) {
  std::vector<KernelSource> kernels;
  for (Dtype const dtype : {Dtype::f32, Dtype::f64, Dtype::c32, Dtype::c64})
    for (int n = 1; n <= tiny_largest; ++n) {
      if (!filter.wants_dtype(dtype) || !filter.wants_size(n)) continue;
      auto const add = [&](char const* routine, QrJob job, int columns) {
        if (filter.wants_routine(routine)) kernels.push_back(source_of(qr_tiny_kernel, dtype, qr_tiny_plan(job, dtype, n, n, n, columns)));
      };
      if (filter.wants_routine("geqrf"))
        for (QrTiny const& c : tuning::shipped(QrTinySpace{dtype, n, n}, filter.candidates))
          kernels.push_back(source_of(qr_tiny_kernel, dtype, c));
      for (int const columns : {1, n}) {
        add("ormqr", QrJob::apply, columns);
        add("ormqr", QrJob::apply_adjoint, columns);
      }
      add("orgqr", QrJob::generate, 0);
      add("gels", QrJob::least_squares, 1);
    }
  bool const solves = filter.wants_routine("gelsy");
  if (solves || filter.wants_routine("geqp3"))
    for (Dtype const dtype : {Dtype::f32, Dtype::f64, Dtype::c32, Dtype::c64}) {
      if (!filter.wants_dtype(dtype)) continue;
      for (Geqp3In const in : {Geqp3In::shared_memory, Geqp3In::global_memory})
        kernels.push_back(source_of(geqp3_kernel, dtype, geqp3_plan(in)));
      kernels.push_back(source_of(copy_matrices_kernel, dtype));
      if (solves) kernels.push_back(source_of(gelsy_kernel, dtype));
    }
  if (!filter.wants_size_above(tiny_largest)) return kernels;
  for (Dtype const dtype : {Dtype::f32, Dtype::f64, Dtype::c32, Dtype::c64}) {
    auto const wants = [&](std::initializer_list<char const*> routines) {
      return filter.wants_dtype(dtype) &&
             std::any_of(routines.begin(), routines.end(), [&](char const* routine) { return filter.wants_routine(routine); });
    };
    bool const complex = is_complex_dtype(dtype), factors = wants({"geqrf", "gels"});
    bool const applies = wants({"ormqr", "orgqr"}) || (complex && wants({"unmqr", "ungqr"}));
    int const bytes = dtype == Dtype::f32 ? 4 : dtype == Dtype::c64 ? 16 : 8;
    auto const add = [&](KernelName const& name, auto const&... of_template) { kernels.push_back(source_of(name, dtype, of_template...)); };
    if (factors || applies) add(block_reflector_kernel);
    if (factors) {
      for (QrRegisters const& c : qr_registers_configs(bytes)) add(qr_registers_kernel, c);
      for (QrWarps const& c : qr_warps_configs(bytes)) add(qr_warps_kernel, c);
      add(qr_block_kernel, qr_block_plan(bytes));
      add(qr_cluster_kernel);
      add(qr_step_kernel);
      add(qr_passes_kernel);
    }
  }
  if (filter.wants_routine("gels")) {
    KernelFilter triangles = filter;
    triangles.routines = {"getrs"};
    auto const some = lu_kernels(triangles);
    kernels.insert(kernels.end(), some.begin(), some.end());
  }
  return kernels;
}

#define MYRIAD_INSTANTIATE(T)                          \
  template void geqrf<T>(Queue&, GeqrfTask<T> const&); \
  template void ormqr<T>(Queue&, OrmqrTask<T> const&); \
  template void orgqr<T>(Queue&, OrgqrTask<T> const&); \
  template void gels<T>(Queue&, GelsTask<T> const&);   \
  template void geqp3<T>(Queue&, Geqp3Task<T> const&); \
  template void gelsy<T>(Queue&, GelsyTask<T> const&);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad::gpu
