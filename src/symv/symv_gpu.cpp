#include "symv/symv_gpu.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/dtype.hpp"
#include "runtime/kernel_name.hpp"
#include "runtime/launch.hpp"
#include "runtime/tiny.hpp"
#include "runtime/views.hpp"
#include "symv/symv_plan.hpp"
#include "symv/symv_tiny_space.hpp"

namespace myriad::gpu {

namespace {

constexpr KernelName symv_tiny_kernel{"symv/symv_tiny"};
constexpr KernelName symv_whole_kernel{"symv/symv_whole"};
constexpr KernelName symv_strips_kernel{"symv/symv_strips"};
constexpr KernelName symv_rows_kernel{"symv/symv_rows"};
constexpr KernelName symv_runs_kernel{"symv/symv_runs"};
constexpr KernelName symv_matrices_kernel{"symv/symv_runs", "symv_matrices"};

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
  SymvTinySpace const space{dtype_of<T>, task.symmetry, static_cast<int>(task.a.rows)};
  SymvTiny c = space.plan();
  c.a = layout_of(args.a);
  c.x = layout_of(args.x);
  c.y = layout_of(args.y);
  bool const interleaved = c.a == simt::Layout::interleaved || c.x == simt::Layout::interleaved || c.y == simt::Layout::interleaved;
  if (!interleaved) c = tuning::with_values<SymvTinySpace>(c, tuning::values_of<SymvTinySpace>(tuning::planned(queue, space)));
  c.matrices = matrices_of_block(c.matrices, c.lanes, interleaved, sizeof(T));
  Kernel const& kernel = kernel_of(queue, symv_tiny_kernel, dtype_of<T>, c);
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

/// Multiplies the smallest matrices, one block per matrix.
template <typename T>
void multiply_whole(Queue& queue, SymvTask<T> const& task, SymvWhole const& c, Kernel const& kernel) {
  launch(queue, kernel, {.blocks = task.y.count, .threads = c.threads(), .shared_bytes = c.shared_bytes(sizeof(T))}, arguments_of(task));
}

/// Multiplies few small matrices, one warp per row.
template <typename T>
void multiply_rows(Queue& queue, SymvTask<T> const& task, SymvRows const& c, Kernel const& kernel) {
  launch(queue, kernel, {.blocks = task.y.count * ((task.y.rows + c.warps - 1) / c.warps), .threads = c.threads()}, arguments_of(task));
}

/// Multiplies larger matrices up to a number of rows, by strips.
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
/// Multiplies many such matrices, one block per matrix.
template <typename T>
void multiply_matrices(Queue& queue, SymvTask<T> const& task, SymvRuns const& c, Kernel const& kernel) {
  auto const args = arguments_of(task);
  int const rows = static_cast<int>(std::min<std::int64_t>(task.y.rows, args.most_rows_in_strips));
  launch(queue, kernel, {.blocks = task.y.count, .threads = c.threads(), .shared_bytes = c.shared_bytes_of_matrix(sizeof(T), rows)}, args);
}

/// Multiplies all larger matrices, some at a time.
template <typename T>
void multiply_by_runs(Queue& queue, SymvTask<T> const& all, SymvRuns const& c, Kernel const& kernel) {
  bool const reads_a = all.alpha != T(0);
  SymvShares const shares = symv_shares(sizeof(T), c, static_cast<int>(all.a.rows), all.uplo == Uplo::lower);
  std::int64_t const elements = shares.elements(), at_a_time = symv_matrices_at_a_time(sizeof(T), elements);
  std::int64_t const together = std::int64_t{c.blocks_per_sm} * queue.device().multiprocessors;
  GridCounts const counts(queue);
  // One workspace for all, taken before the first launch
  Workspace const sums(queue, reads_a ? std::min(at_a_time, all.y.count) * elements * static_cast<std::int64_t>(sizeof(T)) : 0);
  for (std::int64_t b = 0; b < all.y.count; b += at_a_time) {
    std::int64_t const some = std::min(at_a_time, all.y.count - b);
    SymvTask<T> task = all;
    task.a = matrices(all.a, b, some);
    task.x = matrices(all.x, b, some);
    task.y = matrices(all.y, b, some);
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

/// Whether elements of a row are closer together in memory than those of a column. Where each matrix has its own strides, the stride that
/// all share decides.
template <typename T>
bool is_by_rows(Batch<T> const& a) {
  if (!a.row_strides == !a.col_strides) return a.col_stride < a.row_stride;
  return a.row_strides && a.col_stride == 1;
}

}  // namespace

template <typename T>
void symv(Queue& queue, SymvTask<T> const& given) {
  if (given.a.rows <= tiny_largest) return multiply_tiny(queue, given);
  // The kernels go by columns, whose elements are contiguous then, or at least closer together than those of rows.
  SymvTask<T> const task = is_by_rows(given.a) ? transposed(given) : given;
  SymvColumns const layout = task.a.row_stride == 1 && !task.a.row_strides ? SymvColumns::contiguous : SymvColumns::strided;
  std::int64_t const n = task.a.rows;
  bool const ragged = task.y.row_sizes, beyond_strips = n > symv_most_rows_in_strips(sizeof(T));
  bool const many = task.y.count >= symv_least_matrices_of_blocks;
  bool const in_rows = n <= symv_most_rows_by_rows && !many && !ragged;
  bool const in_blocks = !in_rows && (n <= symv_most_rows_in_block || ragged);
  bool const in_strips = !in_rows && n > symv_most_rows_in_block && (!beyond_strips || ragged);
  // All kernels are loaded before the first launch: where one is missing, nothing is written.
  auto const find = [&](bool needed, KernelName const& name, auto const& c) {
    return needed ? &kernel_of(queue, name, dtype_of<T>, c) : nullptr;
  };
  SymvWhole const whole = symv_whole_plan(task.symmetry, layout, static_cast<int>(std::min<std::int64_t>(n, symv_most_rows_in_block)));
  SymvStrips const strips{.layout = layout, .symmetry = task.symmetry};
  SymvRuns const of_matrix = symv_matrices_plan(sizeof(T), task.symmetry, layout), runs = symv_runs_plan(sizeof(T), task.symmetry, layout);
  SymvRows const rows = symv_rows_plan(task.symmetry, layout, static_cast<int>(std::min<std::int64_t>(n, symv_most_rows_by_rows)));
  Kernel const* const by_rows = find(in_rows, symv_rows_kernel, rows);
  Kernel const* const by_blocks = find(in_blocks, symv_whole_kernel, whole);
  Kernel const* const by_strips = find(in_strips && !many, symv_strips_kernel, strips);
  Kernel const* const by_matrices = find(in_strips && many, symv_matrices_kernel, of_matrix);
  Kernel const* const by_runs = find(beyond_strips, symv_runs_kernel, runs);
  // The launch that may be refused comes first: it takes workspace and needs a cooperative launch.
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
        for (simt::Layout const layout : {simt::Layout::packed_columns, simt::Layout::packed_rows}) {  // lower and upper triangle
          if (!filter.wants_size(n)) continue;
          for (SymvTiny c : tuning::shipped(SymvTinySpace{dtype, symmetry, n}, filter.candidates)) {
            if (n > 1) c.a = layout;
            kernels.push_back(source_of(symv_tiny_kernel, dtype, c));
          }
        }
      if (!filter.wants_size_above(tiny_largest)) continue;
      SymvColumns const layout = SymvColumns::contiguous;
      for (int n = 64; n <= symv_most_rows_in_block; n += 32)
        kernels.push_back(source_of(symv_whole_kernel, dtype, symv_whole_plan(symmetry, layout, n)));
      for (int n = 64; n <= symv_most_rows_by_rows; n *= 2)
        kernels.push_back(source_of(symv_rows_kernel, dtype, symv_rows_plan(symmetry, layout, n)));
      if (!filter.wants_size_above(symv_most_rows_in_block)) continue;
      kernels.push_back(source_of(symv_strips_kernel, dtype, SymvStrips{.layout = layout, .symmetry = symmetry}));
      kernels.push_back(source_of(symv_matrices_kernel, dtype, symv_matrices_plan(bytes, symmetry, layout)));
      if (!filter.wants_size_above(symv_most_rows_in_strips(bytes))) continue;
      kernels.push_back(source_of(symv_runs_kernel, dtype, symv_runs_plan(bytes, symmetry, layout)));
    }
  }
  return kernels;
}

#define MYRIAD_INSTANTIATE(T) template void symv<T>(Queue&, SymvTask<T> const&);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad::gpu
