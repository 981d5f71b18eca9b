#include "lu/lu_gpu.hpp"

#include <algorithm>
#include <initializer_list>
#include <tuple>

#include "blocked/queue_machine.hpp"
#include "core/dtype.hpp"
#include "lu/blocked/lu_blocked.hpp"
#include "lu/lu_tiny_space.hpp"
#include "runtime/kernel_name.hpp"
#include "runtime/launch.hpp"
#include "runtime/tiny.hpp"
#include "runtime/views.hpp"
#include "trsm/trsm_columns_plan.hpp"
#include "trsm/trsm_gpu.hpp"

namespace myriad::gpu {
namespace {

constexpr KernelName lu_tiny_kernel{"lu/lu_tiny"};

template <typename T>
void run(Queue& queue, LuTiny c, LuTinyArguments<DeviceElement<T>> const& args) {
  c.a = layout_of(args.a);
  if (c.has_result()) c.result = layout_of(args.result);
  if (c.solves()) {
    c.b = c.nrhs == 0 ? simt::Layout::columns : layout_of(args.b);
    c.x = c.nrhs == 0 ? simt::Layout::columns : layout_of(args.x);
  }
  if (args.pivots.given() && layout_of(args.pivots) != simt::Layout::packed_columns) c.pivots = simt::Layout::columns;
  if (c.a == simt::Layout::interleaved || c.result == simt::Layout::interleaved) c = lu_tiny_interleaved(c, sizeof(T));
  Kernel const& kernel = kernel_of(queue, lu_tiny_kernel, dtype_of<T>, c);
  launch(queue, kernel,
         {.blocks = (args.a.count + c.matrices - 1) / c.matrices, .threads = c.threads(), .shared_bytes = LuTinyMemory(sizeof(T), c).bytes},
         args);
}

template <typename T>
void factor_tiny(Queue& queue, Batch<T const> const& a, Batch<T> const& factors, Batch<int> const& pivots, int* info, LuJob job) {
  run<T>(queue, tuning::planned(queue, LuTinySpace{job, dtype_of<T>, static_cast<int>(a.rows), static_cast<int>(a.cols), 0}),
         {.a = matrices_of(a),
          .result = matrices_of(factors),
          .pivots = matrices_of(rows(pivots, 0, std::min(a.rows, a.cols))),
          .b = {},
          .x = {},
          .info = info,
          .nan_where_singular = false,
          .sign_or_det = nullptr,
          .logabs = nullptr});
}

/// Systems of up to 32 rows with more right-hand sides go by factors and getrs; with fewer A is factored anew for every most_columns.
constexpr std::int64_t most_columns_beside = 2 * most_columns;

/// Matrices with more than 32 rows or columns
template <typename T>
bool is_large(Batch<T> const& a) {
  return a.rows > tiny_largest || a.cols > tiny_largest;
}
template <typename T, typename Algorithm>
void run_large(Queue& queue, Algorithm const& algorithm) {
  run_blocked(queue, [&](QueueMachine& machine) {
    LuOnMachine<T, QueueMachine> lu(machine);
    algorithm(lu);
  });
}

}  // namespace

template <typename T>
void getrf(Queue& queue, GetrfTask<T> const& task) {
  if (task.a.empty()) {
    clear(queue, task.info, task.a.count);
    return;
  }
  if (is_large(task.a)) return run_large<T>(queue, [&](auto& lu) { lu.getrf(task); });
  factor_tiny<T>(queue, task.a, task.a, task.pivots, task.info, task.pivoting ? LuJob::factor : LuJob::factor_without_pivoting);
}

template <typename T>
void gesv(Queue& queue, GesvTask<T> const& task) {
  if (task.x.rows == 0 || task.x.count == 0) {
    clear(queue, task.info, task.x.count);
    return;
  }
  if (is_large(task.a)) return run_large<T>(queue, [&](auto& lu) { lu.gesv(task); });
  auto const n = static_cast<int>(task.x.rows);
  std::int64_t const nrhs = task.x.cols;
  if (nrhs > most_columns_beside) {
    return run_large<T>(queue, [&](auto& lu) {
      lu.gesv(
          task,
          [&](Batch<T const> const& a, Batch<T> const& factors, Batch<int> const& pivots) {
            factor_tiny<T>(queue, a, factors, pivots, nullptr, LuJob::factor);
          },
          [&](GetrsTask<T> const& solved) { getrs(queue, solved); });
    });
  }
  bool const write_factors = task.factors.data || task.factors.pointers;
  // Some right-hand sides at a time, each time from A; the last time the factors take its place.
  for (std::int64_t j = 0; j == 0 || j < nrhs; j += most_columns) {
    std::int64_t const width = std::min(most_columns, nrhs - j);
    bool const last = j + width == nrhs;
    run<T>(queue,
           tuning::planned(queue, LuTinySpace{write_factors && last ? LuJob::solve_and_factor : LuJob::solve, dtype_of<T>, n, n,
                                              static_cast<int>(width)}),
           {.a = matrices_of(task.a),
            .result = matrices_of(task.factors),
            .pivots = matrices_of(rows(task.pivots, 0, n)),
            .b = matrices_of(columns(task.b, j, width)),
            .x = matrices_of(columns(task.x, j, width)),
            .info = task.info,
            .nan_where_singular = task.nan_where_singular,
            .sign_or_det = nullptr,
            .logabs = nullptr});
  }
}

template <typename T>
void getrs(Queue& queue, GetrsTask<T> const& task) {
  if (is_large(task.a)) return run_large<T>(queue, [&](auto& lu) { lu.getrs(task); });
  // A^T = U^T L^T P: a lower and a unit upper triangle of the transposed view.
  bool const transposed_factors = task.op != Op::none;
  Batch<T const> a = transposed_factors ? transposed(task.a) : task.a;
  if (task.op == Op::conjugate_transpose) a = conjugated(a);
  substitute<T>(queue, {.routine = "getrs",
                        .lower = transposed_factors ? Triangle::non_unit : Triangle::unit,
                        .upper = transposed_factors ? Triangle::unit : Triangle::non_unit,
                        .interchange = transposed_factors ? Interchange::after : Interchange::before,
                        .right = RightSide::given,
                        .alpha = T(1),
                        .a = a,
                        .pivots = task.pivots,
                        .b = task.b,
                        .info = nullptr});
}

template <typename T>
void inverse(Queue& queue, InverseTask<T> const& task) {
  if (is_large(task.a)) return run_large<T>(queue, [&](auto& lu) { lu.inverse(task); });
  if (!task.factor) {  // getri
    substitute<T>(queue, {.routine = "getri",
                          .lower = Triangle::unit,
                          .upper = Triangle::non_unit,
                          .interchange = Interchange::before,
                          .right = RightSide::identity,
                          .alpha = T(1),
                          .a = task.a,
                          .pivots = task.pivots,
                          .b = task.x,
                          .info = task.info});
    return;
  }
  if (task.a.empty()) {
    clear(queue, task.info, task.a.count);
    return;
  }
  auto const n = static_cast<int>(task.a.rows);
  auto const a = matrices_of(task.a);
  run<T>(queue, tuning::planned(queue, LuTinySpace{LuJob::inverse, dtype_of<T>, n, n, 0, simt::is_ragged(layout_of(a))}),
         {.a = a,
          .result = matrices_of(task.x),
          .pivots = {},
          .b = {},
          .x = {},
          .info = task.info,
          .nan_where_singular = true,
          .sign_or_det = nullptr,
          .logabs = nullptr});
}

template <typename T>
void det(Queue& queue, DetTask<T> const& task) {
  if (is_large(task.a)) return run_large<T>(queue, [&](auto& lu) { lu.det(task); });
  if (task.a.count == 0) return;
  // The determinant of nothing is one: that of one element which no matrix has, and for which a one stands.
  auto const n = static_cast<int>(std::max<std::int64_t>(task.a.rows, 1));
  run<T>(queue, tuning::planned(queue, LuTinySpace{task.logabs ? LuJob::log_determinant : LuJob::determinant, dtype_of<T>, n, n, 0}),
         {.a = matrices_of(task.a),
          .result = {},
          .pivots = {},
          .b = {},
          .x = {},
          .info = nullptr,
          .nan_where_singular = false,
          .sign_or_det = reinterpret_cast<DeviceElement<T>*>(task.sign_or_det),
          .logabs = task.logabs});
}

namespace {

/// Kernels for matrices of more than 32 rows or columns, which all sizes share.
void add_large(std::vector<KernelSource>& kernels, KernelFilter const& filter, Dtype dtype, int bytes, bool complex) {
  auto const wants = [&](std::initializer_list<char const*> routines) {
    return std::any_of(routines.begin(), routines.end(), [&](char const* routine) { return filter.wants_routine(routine); });
  };
  auto const add = [&](std::vector<KernelSource> const& some) { kernels.insert(kernels.end(), some.begin(), some.end()); };
  bool const factors = wants({"getrf", "getrf_nopiv", "gesv", "solve", "inverse", "det", "logdet"});
  bool const solves = wants({"getrs", "gesv", "solve", "getri", "inverse"});
  if (factors) {
    for (std::int64_t const rows : {64, 128, 256, 512})
      kernels.push_back(source_of(lu_rows_kernel, dtype, lu_rows_plan(bytes, complex, rows)));
    for (LuWarps const& c : lu_warps_kernels(bytes, complex)) kernels.push_back(source_of(lu_warps_kernel, dtype, c));
    for (std::int64_t const rows : {64, 1024, 2048})
      kernels.push_back(source_of(lu_block_kernel, dtype, lu_block_plan(bytes, complex, rows, 32)));
    for (KernelName const& name : {select_sizes_kernel, select_info_kernel}) kernels.push_back(source_of(name, dtype));
    kernels.push_back(source_of(lu_tall_kernel, dtype, lu_tall_plan(bytes)));
    kernels.push_back(source_of(lu_cluster_kernel, dtype, lu_cluster_plan(bytes, complex)));
  }
  if (!factors && !solves) return;
  for (KernelName const& name : {lu_swap_rows_kernel, copy_matrices_kernel, diagonal_sizes_kernel})
    kernels.push_back(source_of(name, dtype));
  if (wants({"det", "logdet"})) kernels.push_back(source_of(lu_determinant_kernel, dtype));
  add(trsm_shared_kernels(dtype));
  for (Lines const lines : {Lines::columns, Lines::rows}) add(blocked_product_kernels(dtype, bytes, lines, lines, lines));
  if (!solves) return;
  KernelFilter vectors = filter;
  vectors.dtypes = {dtype};
  vectors.routines = {"trsv"};
  add(trsv_kernels(vectors));
  for (int const rows : {64, 96, 128})
    if (rows <= trsm_columns_largest(complex)) add(trsm_vector_kernels(dtype, rows));
}

}  // namespace

std::vector<KernelSource> lu_kernels(KernelFilter const& filter) {
  std::vector<KernelSource> kernels;
  for (Dtype const dtype : {Dtype::f32, Dtype::f64, Dtype::c32, Dtype::c64})
    for (int n = 1; n <= tiny_largest; ++n) {
      if (!filter.wants_dtype(dtype) || !filter.wants_size(n)) continue;
      auto const add = [&](char const* routine, LuJob job, int nrhs) {
        if (!filter.wants_routine(routine)) return;
        for (LuTiny const& c : tuning::shipped(LuTinySpace{job, dtype, n, n, nrhs}, filter.candidates))
          kernels.push_back(source_of(lu_tiny_kernel, dtype, c));
      };
      add("getrf", LuJob::factor, 0);
      add("getrf_nopiv", LuJob::factor_without_pivoting, 0);
      add("gesv", LuJob::solve_and_factor, 1);
      add("solve", LuJob::solve, 1);
      add("inverse", LuJob::inverse, 0);
      add("det", LuJob::determinant, 0);
      add("logdet", LuJob::log_determinant, 0);
    }
  for (auto const& [dtype, bytes, complex] :
       {std::tuple{Dtype::f32, 4, false}, {Dtype::f64, 8, false}, {Dtype::c32, 8, true}, {Dtype::c64, 16, true}})
    if (filter.wants_dtype(dtype) && filter.wants_size_above(tiny_largest)) add_large(kernels, filter, dtype, bytes, complex);
  return kernels;
}

#define MYRIAD_INSTANTIATE(T)                              \
  template void getrf<T>(Queue&, GetrfTask<T> const&);     \
  template void gesv<T>(Queue&, GesvTask<T> const&);       \
  template void getrs<T>(Queue&, GetrsTask<T> const&);     \
  template void inverse<T>(Queue&, InverseTask<T> const&); \
  template void det<T>(Queue&, DetTask<T> const&);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad::gpu
