#include "symv/symv_gpu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "core/dtype.hpp"
#include "runtime/launch.hpp"
#include "runtime/tiny.hpp"
#include "runtime/views.hpp"
#include "symv/symv_plan.hpp"

namespace myriad::gpu {
namespace {

KernelSource source(Dtype dtype, SymvTiny const& c) {
  return {.header = "symv/symv_tiny.cuh",
          .name = fmt::format("myriad::symv_tiny<{}, myriad::SymvTiny{{{}, {}, {}, myriad::Symmetry({}), {}, {}, {}}}>", device_name(dtype),
                              c.n, c.lanes, c.matrices, static_cast<int>(c.symmetry), device_name(c.a), device_name(c.x), device_name(c.y)),
          .options = {"-default-device", "--fmad=false"}};
}
KernelSource source(Dtype dtype, SymvPanels const& c) {
  return {.header = "symv/symv_panels.cuh",
          .name = fmt::format("myriad::symv_panels<{}, myriad::SymvPanels{{{}, {}, {}, {}, myriad::SymvShare({}), myriad::SymvColumns({}), "
                              "myriad::Symmetry({})}}>",
                              device_name(dtype), c.warps, c.columns, c.most_pieces, c.blocks_per_sm, static_cast<int>(c.share),
                              static_cast<int>(c.layout), static_cast<int>(c.symmetry)),
          .options = {"-default-device", "--fmad=false"}};
}
KernelSource source(Dtype dtype, SymvSums const& c) {
  return {.header = "symv/symv_panels.cuh",
          .name = fmt::format("myriad::symv_sums<{}, myriad::SymvSums{{{}, {}, {}, {}}}>", device_name(dtype), c.warps, c.rows, c.columns,
                              c.most_pieces),
          .options = {"-default-device", "--fmad=false"}};
}

/// The kernels read the lower triangle of tiny matrices.
template <typename T>
void multiply_tiny(Queue& queue, SymvTask<T> const& given) {
  using D = DeviceElement<T>;
  SymvTask<T> const task = given.uplo == Uplo::lower ? given : transposed(given);
  SymvTinyArguments<D> const args{.alpha = std::bit_cast<D>(task.alpha),
                                  .beta = std::bit_cast<D>(task.beta),
                                  .a = matrices_of(task.a),
                                  .x = matrices_of(task.x),
                                  .y = matrices_of(task.y)};
  SymvTiny c = symv_tiny_plan(task.symmetry, static_cast<int>(task.a.rows));
  c.a = layout_of(args.a);
  c.x = layout_of(args.x);
  c.y = layout_of(args.y);
  bool const interleaved = c.a == simt::Layout::interleaved || c.x == simt::Layout::interleaved || c.y == simt::Layout::interleaved;
  c.matrices = matrices_of_block(c.matrices, c.lanes, interleaved, sizeof(T));
  Kernel const& kernel = kernel_for(queue, kernel_key(kernel_id("symv/symv_tiny"), dtype_of<T>, c), [&] { return source(dtype_of<T>, c); });
  launch(
      queue, kernel,
      {.blocks = (args.y.count + c.matrices - 1) / c.matrices, .threads = c.threads(), .shared_bytes = SymvTinyMemory(sizeof(T), c).bytes},
      args);
}

/// Some matrices, by panels.
template <typename T>
void multiply_panels(Queue& queue, SymvTask<T> const& task, SymvPanels const& c, SymvTiles const& tiles, int blocks) {
  using D = DeviceElement<T>;
  bool const reads_a = task.alpha != T(0);
  bool const in_one = c.share == SymvShare::matrix;
  std::int64_t const count = task.y.count;
  Workspace const sums(queue, in_one || !reads_a ? 0 : count * tiles.elements() * static_cast<std::int64_t>(sizeof(T)));
  SymvPanelsArguments<D> const args{.alpha = std::bit_cast<D>(task.alpha),
                                    .beta = std::bit_cast<D>(task.beta),
                                    .a = matrices_of(task.a),
                                    .x = matrices_of(task.x),
                                    .y = matrices_of(task.y),
                                    .lower = task.uplo == Uplo::lower,
                                    .sums = sums.as<D>(),
                                    .apart = tiles.elements(),
                                    .blocks = blocks};
  if (reads_a) {
    Kernel const& kernel =
        kernel_for(queue, kernel_key(kernel_id("symv/symv_panels"), dtype_of<T>, c), [&] { return source(dtype_of<T>, c); });
    launch(queue, kernel,
           {.blocks = in_one ? count : count * blocks,
            .threads = c.threads(),
            .shared_bytes = SymvPanelsMemory(sizeof(T), c, static_cast<int>(task.a.rows)).bytes},
           args);
  }
  if (in_one && reads_a) return;
  SymvSums const s = symv_sums_plan(sizeof(T), c);
  Kernel const& kernel = kernel_for(queue, kernel_key(kernel_id("symv/symv_sums"), dtype_of<T>, s), [&] { return source(dtype_of<T>, s); });
  launch(queue, kernel,
         {.blocks = count * ((task.y.rows + simt::warp_size - 1) / simt::warp_size),
          .threads = s.threads(),
          .shared_bytes = s.shared_bytes(sizeof(T))},
         args);
}

/// Whether elements of a row are nearer to each other in memory than those of a column. Where each matrix has strides of its own, those
/// that all have in common tell.
template <typename T>
bool is_by_rows(Batch<T> const& a) {
  if (!a.row_strides == !a.col_strides) return a.col_stride < a.row_stride;
  return a.row_strides && a.col_stride == 1;
}

}  // namespace

template <typename T>
void symv(Queue& queue, SymvTask<T> const& given) {
  if (given.a.rows <= tiny_largest) return multiply_tiny(queue, given);
  // By columns, whose elements are then neighbours in memory, or at least nearer than those of rows.
  SymvTask<T> const task = is_by_rows(given.a) ? transposed(given) : given;
  bool const contiguous = task.a.row_stride == 1 && !task.a.row_strides;
  SymvPanels c = symv_panels_plan(sizeof(T), task.symmetry, SymvShare::tiles, contiguous ? SymvColumns::contiguous : SymvColumns::strided);
  std::int64_t const n = task.a.rows, count = task.y.count;
  SymvTiles const tiles = symv_tiles(sizeof(T), c, static_cast<int>(n), task.uplo == Uplo::lower);
  std::int64_t const room = std::int64_t{c.blocks_per_sm} * context_of(queue).device().multiprocessors;
  c.share = symv_share(sizeof(T), tiles, n, count, room);
  std::int64_t const at_a_time = c.share == SymvShare::matrix ? count : symv_matrices_at_a_time(sizeof(T), tiles);
  int const blocks = symv_blocks(tiles, std::min(count, at_a_time), room);
  for (std::int64_t b = 0; b < count; b += at_a_time) {
    std::int64_t const some = std::min(at_a_time, count - b);
    SymvTask<T> part = task;
    part.a = matrices(task.a, b, some);
    part.x = matrices(task.x, b, some);
    part.y = matrices(task.y, b, some);
    multiply_panels(queue, part, c, tiles, blocks);
  }
}

std::vector<KernelSource> symv_kernels(KernelFilter const& filter) {
  std::vector<KernelSource> kernels;
  for (auto const& [dtype, bytes] : {std::pair{Dtype::f32, 4}, {Dtype::f64, 8}, {Dtype::c32, 8}, {Dtype::c64, 16}}) {
    if (!filter.wants_dtype(dtype)) continue;
    bool const complex = dtype == Dtype::c32 || dtype == Dtype::c64;
    for (Symmetry const symmetry : {Symmetry::symmetric, Symmetry::hermitian}) {
      bool const hermitian = symmetry == Symmetry::hermitian;
      if (hermitian && !complex) continue;
      if (!filter.wants_routine(hermitian ? "hemv" : "symv") && (complex || !filter.wants_routine("hemv"))) continue;
      for (int n = 1; n <= tiny_largest; ++n)
        for (simt::Layout const layout : {simt::Layout::packed_columns, simt::Layout::packed_rows}) {  // lower and upper
          if (!filter.wants_size(n)) continue;
          SymvTiny c = symv_tiny_plan(symmetry, n);
          if (n > 1) c.a = layout;
          kernels.push_back(source(dtype, c));
        }
      if (!filter.wants_size_above(tiny_largest)) continue;
      for (SymvShare const share : {SymvShare::tiles, SymvShare::matrix})
        kernels.push_back(source(dtype, symv_panels_plan(bytes, symmetry, share, SymvColumns::contiguous)));
      kernels.push_back(source(dtype, symv_sums_plan(bytes, symv_panels_plan(bytes, symmetry, SymvShare::tiles, SymvColumns::contiguous))));
    }
  }
  return kernels;
}

#define MYRIAD_INSTANTIATE(T) template void symv<T>(Queue&, SymvTask<T> const&);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad::gpu
