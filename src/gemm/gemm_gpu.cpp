#include "gemm/gemm_gpu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "core/dtype.hpp"
#include "gemm/gemm_tiles_plan.hpp"
#include "runtime/launch.hpp"
#include "runtime/tiny.hpp"
#include "runtime/views.hpp"

namespace myriad::gpu {
namespace {

KernelSource source(Dtype dtype, GemmTiles const& c) {
  return {.header = "gemm/gemm_tiles.cuh",
          .name = fmt::format("myriad::gemm_tiles<{}, myriad::GemmTiles{{{}, {}, {}, {}, {}, {}, {}, myriad::Extent({}), {}, {}, {}}}>",
                              device_name(dtype), c.m, c.n, c.k, c.row_lanes, c.column_lanes, c.matrices, c.blocks_per_sm,
                              static_cast<int>(c.extent), device_name(c.a), device_name(c.b), device_name(c.c)),
          .options = {"-default-device", "--fmad=false"}};
}

}  // namespace

template <typename T>
void gemm(Queue& queue, GemmTask<T> const& task) {
  using D = DeviceElement<T>;
  std::int64_t const m = task.c.rows, n = task.c.cols, k = task.a.cols;
  GemmTilesArguments<D> const args{.alpha = std::bit_cast<D>(task.alpha),
                                   .beta = std::bit_cast<D>(task.beta),
                                   .a = matrices_of(task.a),
                                   .b = matrices_of(task.b),
                                   .c = matrices_of(task.c),
                                   .depth = task.alpha == T(0) ? 0 : k};
  auto const layouts = std::array{layout_of(args.a), layout_of(args.b), layout_of(args.c)};
  bool const interleaved = std::find(layouts.begin(), layouts.end(), simt::Layout::interleaved) != layouts.end();
  GemmTiles c = gemm_tiles_plan(sizeof(T), m, n, k, interleaved);
  c.a = c.whole() ? layouts[0] : by_elements(layouts[0]);
  c.b = c.whole() ? layouts[1] : by_elements(layouts[1]);
  c.c = c.whole() ? layouts[2] : by_elements(layouts[2]);
  Kernel const& kernel =
      kernel_for(queue, kernel_key(kernel_id("gemm/gemm_tiles"), dtype_of<T>, c), [&] { return source(dtype_of<T>, c); });
  std::int64_t const tiles = c.whole() ? 1 : ((m + c.m - 1) / c.m) * ((n + c.n - 1) / c.n);
  launch(queue, kernel,
         {.blocks = (args.c.count + c.matrices - 1) / c.matrices * tiles,
          .threads = c.threads(),
          .shared_bytes = GemmTilesMemory(sizeof(T), c).bytes},
         args);
}

std::vector<KernelSource> gemm_kernels(KernelFilter const& filter) {
  std::vector<KernelSource> kernels;
  for (auto const& [dtype, bytes] : {std::pair{Dtype::f32, 4}, {Dtype::f64, 8}, {Dtype::c32, 8}, {Dtype::c64, 16}})
    for (int n = 1; n <= tiny_largest; ++n) {
      if (!filter.wants_dtype(dtype) || !filter.wants_size(n)) continue;
      if (filter.wants_routine("gemm")) kernels.push_back(source(dtype, gemm_tiles_plan(bytes, n, n, n, false)));
      if (filter.wants_routine("gemv")) kernels.push_back(source(dtype, gemm_tiles_plan(bytes, n, 1, n, false)));
      if (filter.wants_routine("ger")) {
        GemmTiles outer = gemm_tiles_plan(bytes, n, n, 1, false);
        if (n > 1) outer.b = simt::Layout::packed_rows;  // a column, transposed
        kernels.push_back(source(dtype, outer));
      }
    }
  return kernels;
}

#define MYRIAD_INSTANTIATE(T) template void gemm<T>(Queue&, GemmTask<T> const&);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad::gpu
