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
KernelSource source(Dtype dtype, SymvWhole const& c) {
  return {.header = "symv/symv_whole.cuh",
          .name = fmt::format("myriad::symv_whole<{}, myriad::SymvWhole{{{}, {}, myriad::SymvColumns({}), myriad::Symmetry({})}}>",
                              device_name(dtype), c.warps, c.rows_of_lane, static_cast<int>(c.layout), static_cast<int>(c.symmetry)),
          .options = {"-default-device", "--fmad=false"}};
}
KernelSource source(Dtype dtype, SymvStrips const& c) {
  return {.header = "symv/symv_strips.cuh",
          .name = fmt::format("myriad::symv_strips<{}, myriad::SymvStrips{{myriad::SymvColumns({}), myriad::Symmetry({})}}>",
                              device_name(dtype), static_cast<int>(c.layout), static_cast<int>(c.symmetry)),
          .options = {"-default-device", "--fmad=false"}};
}
KernelSource source(Dtype dtype, SymvRows const& c) {
  return {.header = "symv/symv_rows.cuh",
          .name = fmt::format("myriad::symv_rows<{}, myriad::SymvRows{{{}, myriad::SymvColumns({}), myriad::Symmetry({})}}>",
                              device_name(dtype), c.most_rows, static_cast<int>(c.layout), static_cast<int>(c.symmetry)),
          .options = {"-default-device", "--fmad=false"}};
}
/// symv_runs or symv_matrices
KernelSource source(Dtype dtype, SymvRuns const& c, char const* kernel) {
  return {.header = "symv/symv_runs.cuh",
          .name = fmt::format("myriad::{}<{}, myriad::SymvRuns{{{}, {}, {}, {}, myriad::SymvColumns({}), myriad::Symmetry({})}}>", kernel,
                              device_name(dtype), c.warps, c.columns, c.blocks_per_sm, c.pieces, static_cast<int>(c.layout),
                              static_cast<int>(c.symmetry)),
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

template <typename T>
SymvArguments<DeviceElement<T>> arguments_of(SymvTask<T> const& task) {
  using D = DeviceElement<T>;
  return {.alpha = std::bit_cast<D>(task.alpha),
          .beta = std::bit_cast<D>(task.beta),
          .a = matrices_of(task.a),
          .x = matrices_of(task.x),
          .y = matrices_of(task.y),
          .lower = task.uplo == Uplo::lower,
          .most_rows_in_block = symv_most_rows_in_block,
          .most_rows_in_strips = symv_most_rows_in_strips(sizeof(T)),
          .sums = nullptr,
          .apart = 0,
          .pieces = 0,
          .counts = nullptr};
}

/// The smallest matrices, a block to each.
template <typename T>
void multiply_whole(Queue& queue, SymvTask<T> const& task, SymvWhole const& c, Kernel const& kernel) {
  launch(queue, kernel, {.blocks = task.y.count, .threads = c.threads(), .shared_bytes = c.shared_bytes(sizeof(T))}, arguments_of(task));
}

/// Few small ones, a warp to a row.
template <typename T>
void multiply_rows(Queue& queue, SymvTask<T> const& task, SymvRows const& c, Kernel const& kernel) {
  launch(queue, kernel, {.blocks = task.y.count * ((task.y.rows + c.warps - 1) / c.warps), .threads = c.threads()}, arguments_of(task));
}

/// Larger ones, up to a number of rows.
template <typename T>
void multiply_by_strips(Queue& queue, SymvTask<T> const& task, SymvStrips const& c, Kernel const& kernel) {
  auto const args = arguments_of(task);
  int const rows = static_cast<int>(std::min<std::int64_t>(task.y.rows, args.most_rows_in_strips)), strip = c.rows(sizeof(T));
  launch(queue, kernel,
         {.blocks = task.y.count * ((rows + strip - 1) / strip),
          .threads = c.threads(sizeof(T)),
          .shared_bytes = c.shared_bytes(sizeof(T), rows)},
         args);
}
/// The same of many, a block to each.
template <typename T>
void multiply_matrices(Queue& queue, SymvTask<T> const& task, SymvRuns const& c, Kernel const& kernel) {
  auto const args = arguments_of(task);
  int const rows = static_cast<int>(std::min<std::int64_t>(task.y.rows, args.most_rows_in_strips));
  launch(queue, kernel, {.blocks = task.y.count, .threads = c.threads(), .shared_bytes = c.shared_bytes_of_matrix(sizeof(T), rows)}, args);
}

/// The others, some matrices at a time.
template <typename T>
void multiply_by_runs(Queue& queue, SymvTask<T> const& all, SymvRuns const& c, Kernel const& kernel) {
  bool const reads_a = all.alpha != T(0);
  SymvShares const shares = symv_shares(sizeof(T), c, static_cast<int>(all.a.rows), all.uplo == Uplo::lower);
  std::int64_t const elements = shares.elements(), at_a_time = symv_matrices_at_a_time(sizeof(T), elements);
  std::int64_t const together = std::int64_t{c.blocks_per_sm} * queue.device().multiprocessors;
  GridCounts const counts(queue);
  for (std::int64_t b = 0; b < all.y.count; b += at_a_time) {
    std::int64_t const some = std::min(at_a_time, all.y.count - b);
    SymvTask<T> task = all;
    task.a = matrices(all.a, b, some);
    task.x = matrices(all.x, b, some);
    task.y = matrices(all.y, b, some);
    Workspace const sums(queue, reads_a ? some * elements * static_cast<std::int64_t>(sizeof(T)) : 0);
    auto args = arguments_of(task);
    args.sums = sums.as<DeviceElement<T>>();
    args.apart = elements;
    args.pieces = shares.pieces;
    args.counts = counts.data();
    launch(queue, kernel,
           {.blocks = std::min(together, some * shares.pieces),
            .threads = c.threads(),
            .shared_bytes = c.shared_bytes(sizeof(T)),
            .together = true},
           args);
  }
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
  SymvColumns const layout = task.a.row_stride == 1 && !task.a.row_strides ? SymvColumns::contiguous : SymvColumns::strided;
  std::int64_t const n = task.a.rows;
  bool const ragged = task.y.row_sizes, beyond_strips = n > symv_most_rows_in_strips(sizeof(T));
  bool const many = task.y.count >= symv_least_matrices_of_blocks;
  bool const in_rows = n <= symv_most_rows_by_rows && !many && !ragged;
  bool const in_blocks = !in_rows && (n <= symv_most_rows_in_block || ragged);
  bool const in_strips = !in_rows && n > symv_most_rows_in_block && (!beyond_strips || ragged);
  // All kernels come before the first launch: where one cannot be had, nothing is written.
  auto const find = [&](bool needed, char const* name, auto const& c, auto const&... kernel) -> Kernel const* {
    if (!needed) return nullptr;
    return &kernel_for(queue, kernel_key(kernel_id(name), dtype_of<T>, c), [&] { return source(dtype_of<T>, c, kernel...); });
  };
  SymvWhole const whole = symv_whole_plan(task.symmetry, layout, static_cast<int>(std::min<std::int64_t>(n, symv_most_rows_in_block)));
  SymvStrips const strips{.layout = layout, .symmetry = task.symmetry};
  SymvRuns const of_matrix = symv_matrices_plan(sizeof(T), task.symmetry, layout), runs = symv_runs_plan(sizeof(T), task.symmetry, layout);
  SymvRows const rows = symv_rows_plan(task.symmetry, layout, static_cast<int>(std::min<std::int64_t>(n, symv_most_rows_by_rows)));
  Kernel const* const by_rows = find(in_rows, "symv/symv_rows", rows);
  Kernel const* const by_blocks = find(in_blocks, "symv/symv_whole", whole);
  Kernel const* const by_strips = find(in_strips && !many, "symv/symv_strips", strips);
  Kernel const* const by_matrices = find(in_strips && many, "symv/symv_matrices", of_matrix, "symv_matrices");
  Kernel const* const by_runs = find(beyond_strips, "symv/symv_runs", runs, "symv_runs");
  // First what may be refused: it takes workspace, and blocks that run together.
  if (by_runs) multiply_by_runs(queue, task, runs, *by_runs);
  if (by_rows) multiply_rows(queue, task, rows, *by_rows);
  if (by_blocks) multiply_whole(queue, task, whole, *by_blocks);
  if (by_strips) multiply_by_strips(queue, task, strips, *by_strips);
  if (by_matrices) multiply_matrices(queue, task, of_matrix, *by_matrices);
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
      SymvColumns const layout = SymvColumns::contiguous;
      for (int n = 64; n <= symv_most_rows_in_block; n += 32) kernels.push_back(source(dtype, symv_whole_plan(symmetry, layout, n)));
      for (int n = 64; n <= symv_most_rows_by_rows; n *= 2) kernels.push_back(source(dtype, symv_rows_plan(symmetry, layout, n)));
      if (!filter.wants_size_above(symv_most_rows_in_block)) continue;
      kernels.push_back(source(dtype, SymvStrips{.layout = layout, .symmetry = symmetry}));
      kernels.push_back(source(dtype, symv_matrices_plan(bytes, symmetry, layout), "symv_matrices"));
      if (!filter.wants_size_above(symv_most_rows_in_strips(bytes))) continue;
      kernels.push_back(source(dtype, symv_runs_plan(bytes, symmetry, layout), "symv_runs"));
    }
  }
  return kernels;
}

#define MYRIAD_INSTANTIATE(T) template void symv<T>(Queue&, SymvTask<T> const&);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad::gpu
