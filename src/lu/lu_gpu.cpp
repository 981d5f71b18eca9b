#include "lu/lu_gpu.hpp"

#include <algorithm>

#include "core/dtype.hpp"
#include "lu/lu_tiny_space.hpp"
#include "runtime/kernel_name.hpp"
#include "runtime/launch.hpp"
#include "runtime/tiny.hpp"
#include "runtime/views.hpp"
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

}  // namespace

template <typename T>
void getrf(Queue& queue, GetrfTask<T> const& task) {
  if (task.a.empty()) {
    clear(queue, task.info, task.a.count);
    return;
  }
  require_tiny(task.pivoting ? "getrf" : "getrf_nopiv", task.a.rows, task.a.cols);
  LuJob const job = task.pivoting ? LuJob::factor : LuJob::factor_without_pivoting;
  run<T>(queue, tuning::planned(queue, LuTinySpace{job, dtype_of<T>, static_cast<int>(task.a.rows), static_cast<int>(task.a.cols), 0}),
         {.a = matrices_of(Batch<T const>(task.a)),
          .result = matrices_of(task.a),
          .pivots = matrices_of(rows(task.pivots, 0, std::min(task.a.rows, task.a.cols))),
          .b = {},
          .x = {},
          .info = task.info,
          .nan_where_singular = false,
          .sign_or_det = nullptr,
          .logabs = nullptr});
}

template <typename T>
void gesv(Queue& queue, char const* routine, GesvTask<T> const& task) {
  if (task.x.rows == 0 || task.x.count == 0) {
    clear(queue, task.info, task.x.count);
    return;
  }
  require_tiny(routine, task.x.rows, task.x.rows);
  auto const n = static_cast<int>(task.x.rows);
  std::int64_t const nrhs = task.x.cols;
  bool const write_factors = task.factors.data || task.factors.pointers;
  // Of many right-hand sides some at a time, each time from A; the last time the factors take its place.
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
  require_tiny("inverse", task.a.rows, task.a.rows);
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
  require_tiny(task.logabs ? "logdet" : "det", task.a.rows, task.a.rows);
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
  return kernels;
}

#define MYRIAD_INSTANTIATE(T)                                     \
  template void getrf<T>(Queue&, GetrfTask<T> const&);            \
  template void gesv<T>(Queue&, char const*, GesvTask<T> const&); \
  template void getrs<T>(Queue&, GetrsTask<T> const&);            \
  template void inverse<T>(Queue&, InverseTask<T> const&);        \
  template void det<T>(Queue&, DetTask<T> const&);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad::gpu
