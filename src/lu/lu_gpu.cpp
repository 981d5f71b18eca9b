#include "lu/lu_gpu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "core/dtype.hpp"
#include "lu/lu_tiny_config.cuh"
#include "runtime/launch.hpp"
#include "runtime/views.hpp"

namespace myriad::gpu {
namespace {

constexpr int largest = 32;              ///< rows and columns that the kernels take
constexpr std::int64_t most_columns = 4;  ///< right-hand sides that one launch takes

/// For matrices of up to `n` rows and columns: lanes to a matrix, and registers that a thread may have.
struct Choice {
  int n, lanes, registers;
};

// Fastest of 1 to 32 lanes and several limits of registers at n = 4, 8, 12, 16, 20, 24, 32, H200, 2026-11-21; of complex types by the
// same number of registers for a matrix.
constexpr std::array single_precision{Choice{8, 1, 96}, Choice{12, 1, 255}, Choice{16, 4, 96}, Choice{20, 4, 128}, Choice{24, 8, 96}, Choice{32, 8, 168}};
constexpr std::array double_precision{Choice{4, 1, 80}, Choice{8, 1, 168}, Choice{12, 4, 128}, Choice{16, 8, 96}, Choice{24, 8, 168}, Choice{32, 16, 168}};
constexpr std::array complex_double{Choice{3, 1, 96}, Choice{5, 1, 168}, Choice{8, 4, 128}, Choice{12, 8, 168}, Choice{16, 8, 232}, Choice{24, 16, 255}, Choice{32, 32, 232}};

Choice choice(Dtype dtype, int n) {
  std::span<Choice const> table = double_precision;
  if (dtype == Dtype::f32) table = single_precision;
  if (dtype == Dtype::c64) table = complex_double;
  return *std::find_if(table.begin(), table.end() - 1, [&](Choice const& c) { return n <= c.n; });
}

LuTiny config(LuJob job, Dtype dtype, int m, int n, int nrhs) {
  constexpr int threads = 64;
  Choice const best = choice(dtype, std::max(m, n));
  int const lanes = best.lanes;
  return {.job = job,
          .m = m,
          .n = n,
          .nrhs = nrhs,
          .lanes = lanes,
          .matrices = threads / lanes,
          .blocks_per_sm = 65536 / (best.registers * threads),
          .a = simt::Layout::packed_columns,
          .result = simt::Layout::packed_columns,
          .b = simt::Layout::packed_columns,
          .x = simt::Layout::packed_columns,
          .pivots = simt::Layout::packed_columns};
}

char const* device_name(Dtype dtype) {
  constexpr std::array names{"float", "double", "myriad::simt::Complex<float>", "myriad::simt::Complex<double>"};
  return names.at(static_cast<std::size_t>(dtype));
}

KernelSource source(Dtype dtype, LuTiny const& c) {
  auto const layout = [](simt::Layout l) { return fmt::format("myriad::simt::Layout({})", static_cast<int>(l)); };
  return {.header = "lu/lu_tiny.cuh",
          .name = fmt::format("myriad::lu_tiny<{}, myriad::LuTiny{{myriad::LuJob({}), {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}}>", device_name(dtype),
                              static_cast<int>(c.job), c.m, c.n, c.nrhs, c.lanes, c.matrices, c.blocks_per_sm, layout(c.a), layout(c.result),
                              layout(c.b), layout(c.x), layout(c.pivots))};
}

template <typename T>
void run(Queue& queue, LuTiny c, LuTinyArguments<DeviceElement<T>> const& args) {
  c.a = layout_of(args.a);
  if (c.job != LuJob::solve) c.result = layout_of(args.result);
  if (c.solves()) {
    c.b = c.nrhs == 0 ? simt::Layout::columns : layout_of(args.b);
    c.x = c.nrhs == 0 ? simt::Layout::columns : layout_of(args.x);
  }
  if (args.pivots.given() && layout_of(args.pivots) != simt::Layout::packed_columns) c.pivots = simt::Layout::columns;
  Kernel const& kernel =
      kernel_for(queue, kernel_key(kernel_id("lu/lu_tiny"), dtype_of<T>, c), [&] { return source(dtype_of<T>, c); });
  launch(queue, kernel,
         {.blocks = (args.a.count + c.matrices - 1) / c.matrices,
          .threads = c.threads(),
          .shared_bytes = LuTinyMemory(sizeof(T), c).bytes},
         args);
}

void require_tiny(char const* routine, std::int64_t m, std::int64_t n) {
  if (m > largest || n > largest)
    throw Unavailable(fmt::format("{}: GPU kernels take matrices of up to {} rows and columns so far, and these have {} by {}", routine, largest,
                                  largest, m, n));
}

}  // namespace

template <typename T>
void getrf(Queue& queue, GetrfTask<T> const& task) {
  require_tiny(task.pivoting ? "getrf" : "getrf_nopiv", task.a.rows, task.a.cols);
  if (task.a.empty()) {
    clear(queue, task.info, task.a.count);
    return;
  }
  LuJob const job = task.pivoting ? LuJob::factor : LuJob::factor_without_pivoting;
  run<T>(queue, config(job, dtype_of<T>, static_cast<int>(task.a.rows), static_cast<int>(task.a.cols), 0),
         {.a = matrices_of(Batch<T const>(task.a)),
          .result = matrices_of(task.a),
          .pivots = matrices_of(task.pivots),
          .b = {},
          .x = {},
          .info = task.info,
          .nan_where_singular = false});
}

template <typename T>
void gesv(Queue& queue, char const* routine, GesvTask<T> const& task) {
  auto const n = static_cast<int>(std::min<std::int64_t>(task.x.rows, largest + 1));
  std::int64_t const nrhs = task.x.cols;
  require_tiny(routine, n, n);
  if (n == 0) {
    clear(queue, task.info, task.x.count);
    return;
  }
  bool const write_factors = task.factors.data || task.factors.pointers;
  // Of many right-hand sides some at a time, each time from A; the last time the factors take its place.
  for (std::int64_t j = 0; j == 0 || j < nrhs; j += most_columns) {
    std::int64_t const width = std::min(most_columns, nrhs - j);
    bool const last = j + width == nrhs;
    run<T>(queue, config(write_factors && last ? LuJob::solve_and_factor : LuJob::solve, dtype_of<T>, n, n, static_cast<int>(width)),
           {.a = matrices_of(task.a),
            .result = matrices_of(task.factors),
            .pivots = matrices_of(task.pivots),
            .b = matrices_of(columns(task.b, j, width)),
            .x = matrices_of(columns(task.x, j, width)),
            .info = task.info,
            .nan_where_singular = task.nan_where_singular});
  }
}

template <typename T>
void inverse(Queue& queue, InverseTask<T> const& task) {
  auto const n = static_cast<int>(std::min<std::int64_t>(task.a.rows, largest + 1));
  require_tiny("inverse", n, n);
  if (n == 0) {
    clear(queue, task.info, task.a.count);
    return;
  }
  run<T>(queue, config(LuJob::inverse, dtype_of<T>, n, n, 0),
         {.a = matrices_of(task.a),
          .result = matrices_of(task.x),
          .pivots = {},
          .b = {},
          .x = {},
          .info = task.info,
          .nan_where_singular = true});
}

std::vector<KernelSource> lu_kernels(KernelFilter const& filter) {
  std::vector<KernelSource> kernels;
  for (Dtype const dtype : {Dtype::f32, Dtype::f64, Dtype::c32, Dtype::c64})
    for (int n = 1; n <= largest; ++n) {
      if (!filter.wants_dtype(dtype) || !filter.wants_size(n)) continue;
      auto const add = [&](char const* routine, LuJob job, int nrhs) {
        if (filter.wants_routine(routine)) kernels.push_back(source(dtype, config(job, dtype, n, n, nrhs)));
      };
      add("getrf", LuJob::factor, 0);
      add("getrf_nopiv", LuJob::factor_without_pivoting, 0);
      add("gesv", LuJob::solve_and_factor, 1);
      add("solve", LuJob::solve, 1);
      add("inverse", LuJob::inverse, 0);
    }
  return kernels;
}

#define MYRIAD_INSTANTIATE(T)                                         \
  template void getrf<T>(Queue&, GetrfTask<T> const&);                \
  template void gesv<T>(Queue&, char const*, GesvTask<T> const&);     \
  template void inverse<T>(Queue&, InverseTask<T> const&);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad::gpu
