#include "cholesky/cholesky_gpu.hpp"

#include <algorithm>
#include <initializer_list>

#include "blocked/by_sizes.hpp"
#include "blocked/queue_machine.hpp"
#include "cholesky/cholesky_blocked.hpp"
#include "cholesky/cholesky_tiny_space.hpp"
#include "core/dtype.hpp"
#include "runtime/kernel_name.hpp"
#include "runtime/launch.hpp"
#include "runtime/tiny.hpp"
#include "runtime/views.hpp"

namespace myriad::gpu {
namespace {

constexpr KernelName cholesky_tiny_kernel{"cholesky/cholesky_tiny"};

template <typename T>
void run(Queue& queue, CholeskyTiny c, CholeskyTinyArguments<DeviceElement<T>> const& args) {
  c.a = layout_of(args.a);
  c.b = c.solves() ? layout_of(args.b) : simt::Layout::columns;
  c.x = c.solves() ? layout_of(args.x) : simt::Layout::columns;
  if (c.a == simt::Layout::interleaved) c = cholesky_tiny_interleaved(c, sizeof(T));
  Kernel const& kernel = kernel_of(queue, cholesky_tiny_kernel, dtype_of<T>, c);
  launch(queue, kernel,
         {.blocks = (args.a.count + c.matrices - 1) / c.matrices,
          .threads = c.threads(),
          .shared_bytes = CholeskyTinyMemory(sizeof(T), c).bytes},
         args);
}

/// A ragged batch that may have more than 32 rows: each matrix gets the bits that it has alone. part(SizeClass) is the task of a class.
template <typename T, typename Part, typename Tiny, typename Blocked>
void run_large(Queue& queue, Batch<T const> const& a, Batch<T const> const& b, int* info, Part part, Tiny tiny, Blocked blocked) {
  run_blocked(queue, [&](QueueMachine& machine) {
    by_sizes<T>(machine, a, b, cholesky_limits<T>(machine.device()), info,
                [&](SizeClass const& some) { some.upto <= tiny_largest ? tiny(part(some)) : blocked(machine, part(some)); });
  });
}

/// potrf and potri
template <typename T>
void run_in_place(Queue& queue, CholeskyJob job, PotrfTask<T> const& task) {
  if (task.a.empty()) {
    clear(queue, task.info, task.a.count);
    return;
  }
  if (task.a.rows > tiny_largest) {
    auto const blocked = [job](QueueMachine& machine, PotrfTask<T> const& part) {
      job == CholeskyJob::factor ? potrf_blocked(machine, part) : potri_blocked(machine, part);
    };
    if (!task.a.ragged()) return run_blocked(queue, [&](QueueMachine& machine) { blocked(machine, task); });
    return run_large<T>(
        queue, task.a, task.a, task.info, [&](SizeClass const& some) { return PotrfTask<T>{.a = some.of_a(task.a), .info = some.info}; },
        [&](PotrfTask<T> const& part) { run_in_place(queue, job, part); }, blocked);
  }
  run<T>(queue, tuning::planned(queue, CholeskyTinySpace{job, dtype_of<T>, static_cast<int>(task.a.rows), 0}),
         {.a = matrices_of(Batch<T const>(task.a)),
          .result = matrices_of(task.a),
          .b = {},
          .x = {},
          .info = task.info,
          .nan_where_not_definite = false});
}

/// Solves for columns [j, j + width) of B.
template <typename T>
void solve_columns(Queue& queue, CholeskyJob job, PosvTask<T> const& task, std::int64_t j, std::int64_t width) {
  run<T>(queue, tuning::planned(queue, CholeskyTinySpace{job, dtype_of<T>, static_cast<int>(task.x.rows), static_cast<int>(width)}),
         {.a = matrices_of(task.a),
          .result = matrices_of(task.factor),
          .b = matrices_of(columns(task.b, j, width)),
          .x = matrices_of(columns(task.x, j, width)),
          .info = task.info,
          .nan_where_not_definite = task.nan_where_not_definite});
}

/// Runs blocked(machine, part of the task) for matrices of any size: regularized kernels have no small ones of their own.
template <typename T, typename Part, typename Blocked>
void run_regularized(Queue& queue, Batch<T const> const& a, Batch<T const> const& b, int* info, int* replaced, Part part, Blocked blocked) {
  run_blocked(queue, [&](QueueMachine& machine) {
    machine.clear(replaced, a.count);
    if (!a.ragged()) return blocked(machine, nullptr);
    by_sizes<T>(machine, a, b, cholesky_limits<T>(machine.device()), info, [&](SizeClass const& some) {
      auto const task = part(some);
      blocked(machine, &task);
    });
  });
}

}  // namespace

template <typename T>
void potrf(Queue& queue, PotrfTask<T> const& task) {
  if (task.a.empty()) clear(queue, task.regularization.replaced, task.a.count);
  if (task.regularization.given() && !task.a.empty()) {
    return run_regularized<T>(
        queue, task.a, task.a, task.info, task.regularization.replaced,
        [&](SizeClass const& some) {
          return PotrfTask<T>{.a = some.of_a(task.a), .info = some.info, .regularization = task.regularization};
        },
        [&](QueueMachine& machine, PotrfTask<T> const* part) { potrf_blocked(machine, part ? *part : task); });
  }
  run_in_place(queue, CholeskyJob::factor, task);
}

template <typename T>
void potri(Queue& queue, PotrfTask<T> const& task) {
  run_in_place(queue, CholeskyJob::inverse, task);
}

template <typename T>
void potrs(Queue& queue, PotrsTask<T> const& task) {
  if (task.b.empty()) return;
  if (task.b.rows > tiny_largest) {
    auto const blocked = [](QueueMachine& machine, PotrsTask<T> const& part) { potrs_blocked(machine, part); };
    if (!task.a.ragged()) return run_blocked(queue, [&](QueueMachine& machine) { blocked(machine, task); });
    return run_large<T>(
        queue, task.a, task.b, nullptr, [&](SizeClass const& some) { return PotrsTask<T>{.a = some.of_a(task.a), .b = some.of_b(task.b)}; },
        [&](PotrsTask<T> const& part) { potrs(queue, part); }, blocked);
  }
  PosvTask<T> const solve{.a = task.a, .b = task.b, .x = task.b, .factor = {}, .info = nullptr, .nan_where_not_definite = false};
  for (std::int64_t j = 0; j < task.b.cols; j += most_columns)
    solve_columns<T>(queue, CholeskyJob::solve_by_factor, solve, j, std::min(most_columns, task.b.cols - j));
}

template <typename T>
void posv(Queue& queue, PosvTask<T> const& task) {
  if (task.a.empty()) clear(queue, task.regularization.replaced, task.a.count);
  if (task.regularization.given() && !task.a.empty()) {
    return run_regularized<T>(
        queue, task.a, task.b, task.info, task.regularization.replaced,
        [&](SizeClass const& some) {
          return PosvTask<T>{.a = some.of_a(task.a),
                             .b = some.of_b(task.b),
                             .x = some.of_b(task.x),
                             .factor = some.of_a(task.factor),
                             .info = some.info,
                             .nan_where_not_definite = false,
                             .regularization = task.regularization};
        },
        [&](QueueMachine& machine, PosvTask<T> const* part) { posv_blocked(machine, part ? *part : task); });
  }
  if (task.x.cols == 0 && task.writes_factor()) {
    run_in_place(queue, CholeskyJob::factor, PotrfTask<T>{.a = task.factor, .info = task.info});
    return;
  }
  if (task.a.empty()) {
    clear(queue, task.info, task.a.count);
    return;
  }
  if (task.a.rows > tiny_largest) {
    auto const blocked = [](QueueMachine& machine, PosvTask<T> const& part) { posv_blocked(machine, part); };
    // The views of B and X may differ where these are not the same.
    if (!task.a.ragged() || !task.writes_factor()) return run_blocked(queue, [&](QueueMachine& machine) { blocked(machine, task); });
    return run_large<T>(
        queue, task.a, task.b, task.info,
        [&](SizeClass const& some) {
          return PosvTask<T>{.a = some.of_a(task.a),
                             .b = some.of_b(task.b),
                             .x = some.of_b(task.x),
                             .factor = some.of_a(task.factor),
                             .info = some.info,
                             .nan_where_not_definite = task.nan_where_not_definite};
        },
        [&](PosvTask<T> const& part) { posv(queue, part); }, blocked);
  }
  // Many right-hand sides go some at a time, each time from A; the last time the factor takes its place, where it is wanted. Of none the
  // kernel looks whether A is positive definite.
  std::int64_t const nrhs = task.x.cols;
  for (std::int64_t j = 0; j == 0 || j < nrhs; j += most_columns) {
    std::int64_t const width = std::min(most_columns, nrhs - j);
    bool const last = j + width == nrhs;
    solve_columns<T>(queue, last && task.writes_factor() ? CholeskyJob::solve_and_factor : CholeskyJob::solve, task, j, width);
  }
}

namespace {

/// Kernels of more than 32 rows, for both triangles of column-major matrices; regularized ones are of any size.
void add_larger_kernels(std::vector<KernelSource>& kernels, KernelFilter const& filter, Dtype dtype) {
  bool const complex = is_complex_dtype(dtype);
  int const bytes = static_cast<int>(element_bytes(dtype)), in_block = cholesky_block_largest(bytes, complex, 227 * 1024);
  auto const add = [&](std::vector<KernelSource> const& some) { kernels.insert(kernels.end(), some.begin(), some.end()); };
  auto const wants = [&](std::initializer_list<char const*> routines) {
    return std::any_of(routines.begin(), routines.end(), [&](char const* routine) { return filter.wants_routine(routine); });
  };
  bool const inverts = wants({"potri"}), solves = wants({"posv", "solve_positive_definite", "posv_regularized"});
  bool const plain = wants({"potrf", "posv", "solve_positive_definite"}), regularized = wants({"potrf_regularized", "posv_regularized"});
  auto const add_block = [&](CholeskyBlock const& c) { kernels.push_back(source_of(cholesky_block_kernel, dtype, c)); };
  auto const add_blocks = [&](std::int64_t n, Lines lines) {
    if (plain) {
      add_block(cholesky_block_plan(bytes, n, lines));
      add_block(cholesky_block_ahead(lines));
    }
    if (regularized) add_block(cholesky_block_plan(bytes, n, lines, true));
  };
  if (regularized)
    for (Lines const lines : {Lines::columns, Lines::rows})
      for (int n = 1; n <= tiny_largest; ++n)
        if (filter.wants_size(n)) add_block(cholesky_block_plan(bytes, n, lines, true));
  if (!filter.wants_size_above(tiny_largest) || (!inverts && !plain && !regularized)) return;
  if (inverts || solves) kernels.push_back(source_of(copy_matrices_kernel, dtype));
  for (KernelName const& name : {select_sizes_kernel, select_info_kernel}) kernels.push_back(source_of(name, dtype));
  Written const written = complex ? Written::lower_hermitian : Written::lower;
  for (Lines const lines : {Lines::columns, Lines::rows}) {  // lower and upper
    if (inverts)
      for (Written const of_block : {written, Written::whole})
        add(blocked_product_kernels(dtype, bytes, Lines::rows, Lines::columns, lines, of_block));
    if (!plain && !regularized) continue;
    for (int n = tiny_largest + 1; n <= in_block; ++n)
      if (filter.wants_size(n)) add_blocks(n, lines);
    if (!filter.wants_size_above(in_block)) continue;
    for (std::int64_t const rows : {cholesky_blocked_fewer, cholesky_blocked_fewer + 1}) {
      int const order = cholesky_blocked_rows(bytes, complex, rows);
      for (int n = cholesky_panel; n <= order; n += cholesky_panel) add_blocks(n, lines);
      add(trsm_kernels_of_panel(dtype, order, true, false));
    }
    add(blocked_product_kernels(dtype, bytes, lines, lines == Lines::columns ? Lines::rows : Lines::columns, lines, written));
  }
}

}  // namespace

std::vector<KernelSource> cholesky_kernels_of_small_in_ragged(Dtype dtype, bool factored) {
  CholeskyJob const job = factored ? CholeskyJob::solve_by_factor : CholeskyJob::solve_and_factor;
  std::vector<KernelSource> kernels;
  for (simt::Layout const layout : {simt::Layout::ragged_columns, simt::Layout::ragged_rows}) {  // lower and upper
    CholeskyTiny c = CholeskyTinySpace{job, dtype, tiny_largest, 1}.plan();
    c.a = layout;
    c.b = c.x = simt::Layout::ragged_columns;
    kernels.push_back(source_of(cholesky_tiny_kernel, dtype, c));
  }
  return kernels;
}

std::vector<KernelSource> cholesky_kernels(KernelFilter const& filter) {
  std::vector<KernelSource> kernels;
  for (Dtype const dtype : {Dtype::f32, Dtype::f64, Dtype::c32, Dtype::c64}) {
    if (!filter.wants_dtype(dtype)) continue;
    add_larger_kernels(kernels, filter, dtype);
    for (int n = 1; n <= tiny_largest; ++n) {
      if (!filter.wants_size(n)) continue;
      auto const add = [&](char const* routine, CholeskyJob job, int nrhs) {
        if (!filter.wants_routine(routine)) return;
        for (simt::Layout const layout : {simt::Layout::packed_columns, simt::Layout::packed_rows}) {  // lower and upper
          for (CholeskyTiny c : tuning::shipped(CholeskyTinySpace{job, dtype, n, nrhs}, filter.candidates)) {
            c.a = layout;
            if (nrhs == 0) c.b = c.x = simt::Layout::columns;
            kernels.push_back(source_of(cholesky_tiny_kernel, dtype, c));
          }
        }
      };
      add("potrf", CholeskyJob::factor, 0);
      add("potrs", CholeskyJob::solve_by_factor, 1);
      add("posv", CholeskyJob::solve_and_factor, 1);
      add("solve_positive_definite", CholeskyJob::solve, 1);
      add("potri", CholeskyJob::inverse, 0);
    }
  }
  return kernels;
}

#define MYRIAD_INSTANTIATE(T)                          \
  template void potrf<T>(Queue&, PotrfTask<T> const&); \
  template void potrs<T>(Queue&, PotrsTask<T> const&); \
  template void posv<T>(Queue&, PosvTask<T> const&);   \
  template void potri<T>(Queue&, PotrfTask<T> const&);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad::gpu
