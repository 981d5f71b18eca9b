#pragma once
/// Block reflectors that are applied to batches: see blocked/machine.hpp.

#include <algorithm>
#include <cstdint>

#include "blocked/machine.hpp"
#include "core/dtype.hpp"
#include "qr/blocked/block_reflector_config.cuh"
#include "runtime/views.hpp"

namespace myriad {

inline constexpr gpu::KernelName block_reflector_kernel{"qr/blocked/block_reflector"};

/// Panels of so many reflectors, and the elements of the T of one.
template <typename T>
constexpr std::int64_t block_reflector_panels(std::int64_t reflectors) {
  return (reflectors + block_reflector_width<T> - 1) / block_reflector_width<T>;
}
template <typename T>
inline constexpr std::int64_t block_reflector_square = std::int64_t{block_reflector_width<T>} * block_reflector_width<T>;

/// The blocks for matrices of so many rows and columns: eight warps, of which two blocks fit a multiprocessor, or sixteen. `together`: a
/// block has all columns, which are as many as a panel has at most.
struct BlockReflectorPlan {
  int parts, groups;
};
constexpr BlockReflectorPlan block_reflector_plan(int element_bytes, std::int64_t rows, std::int64_t columns, std::int64_t shared_bytes,
                                                  bool together = false) {
  using Shape = BlockReflectorShape;
  auto const holds = [&](int parts, std::int64_t groups) {
    return BlockReflectorMemory(element_bytes, parts, static_cast<int>(groups)).bytes <= shared_bytes;
  };
  std::int64_t const across = Shape::columns(element_bytes), all = std::max<std::int64_t>((columns + across - 1) / across, 1);
  std::int64_t const least = together ? all : 1;
  int parts = static_cast<int>(std::clamp<std::int64_t>((rows + Shape::rows - 1) / Shape::rows, 1, 8));
  // All of shared memory for one block is slower than rows that come twice (double, 512 rows and 480 columns: 2529 ns instead of 2163).
  if (parts == 8 && element_bytes == 8) parts = 4;
  while (parts > 1 && !holds(parts, least)) --parts;
  std::int64_t most = std::max<std::int64_t>(least, (rows <= 4 * Shape::rows ? 8 : 16) / parts);
  while (most > least && !holds(parts, most)) --most;
  // As few blocks as that makes, which share the columns evenly.
  std::int64_t const strips = (all + most - 1) / most;
  return {.parts = parts, .groups = static_cast<int>((all + strips - 1) / strips)};
}

/// The same for few matrices: fewer columns to a block where multiprocessors would be idle. The bits do not depend on it.
constexpr BlockReflectorPlan block_reflector_plan_of_few(BlockReflectorPlan plan, int element_bytes, std::int64_t columns,
                                                         std::int64_t count, int multiprocessors) {
  std::int64_t const across = BlockReflectorShape::columns(element_bytes), all = std::max<std::int64_t>((columns + across - 1) / across, 1);
  while (plan.groups > 1 && count * ((all + plan.groups - 1) / plan.groups) < multiprocessors) --plan.groups;
  return plan;
}

/// The columns of C that are changed, from `begin` on. Rows and columns before `first_loaded` are those of a unit matrix.
struct BlockReflectorColumns {
  std::int64_t begin, end, first_loaded = 0;
  bool together = false;  ///< by one block, since it may be V that changes
};

/// Arguments and launch of block_reflector.
template <typename T>
BlockReflectorArguments<gpu::DeviceElement<T>> block_reflector_arguments(Batch<T const> const& v, Batch<T const> const& tau,
                                                                         Batch<T> const& c, T* gram, BlockReflectorPlan plan) {
  BlockReflectorMemory const memory(sizeof(T), plan.parts, plan.groups);
  return {.a = gpu::matrices_of(v),
          .tau = gpu::matrices_of(tau),
          .c = gpu::matrices_of(c),
          .gram = reinterpret_cast<gpu::DeviceElement<T>*>(gram),
          .line = block_reflector_width<T>,
          .panels = 1,
          .begin = 0,
          .end = 0,
          .parts = plan.parts,
          .groups = plan.groups,
          .square = memory.square,
          .products = memory.products,
          .products_of_part = memory.products_of_part,
          .first_loaded = 0,
          .adjoint = false,
          .job = BlockReflectorJob::apply};
}
template <typename T>
gpu::Grid block_reflector_grid(std::int64_t matrices, std::int64_t columns, BlockReflectorPlan plan) {
  std::int64_t const across = plan.groups * BlockReflectorShape::columns(sizeof(T));
  return {.blocks = matrices * ((columns + across - 1) / across),
          .threads = 32 * plan.parts * plan.groups,
          .shared_bytes = BlockReflectorMemory(sizeof(T), plan.parts, plan.groups).bytes};
}

/// T of `panels` panels of reflectors below the diagonal of `v`, each of block_reflector_width<T> columns at most. They go to `factors`,
/// squares of that width: those of all matrices for the first panel, then those for the next. `has_gram`: V^H V is there. `c`: what the
/// reflectors will be applied to, for its conjugation.
template <typename T, Machine<T> M>
void form_block_reflectors(M& machine, Batch<T const> const& v, Batch<T const> const& tau, Batch<T> const& c, std::int64_t panels,
                           T* factors, bool has_gram) {
  std::int64_t const number = v.count * panels, columns = std::min<std::int64_t>(block_reflector_width<T>, v.cols);
  auto const arguments = [&](BlockReflectorJob job, BlockReflectorPlan plan) {
    auto args = block_reflector_arguments<T>(v, tau, c, factors, plan);
    args.panels = static_cast<int>(panels);
    args.end = static_cast<int>(columns);
    args.job = job;
    return args;
  };
  if (!has_gram) {
    auto const plan = block_reflector_plan(sizeof(T), v.rows, columns, machine.device().shared_memory_per_block);
    machine.run(block_reflector_kernel, block_reflector_grid<T>(number, columns, plan), arguments(BlockReflectorJob::gram, plan),
                dtype_of<T>);
  }
  // T needs nothing but its square.
  auto args = arguments(BlockReflectorJob::factor, {.parts = 1, .groups = 1});
  args.square = 0;
  machine.run(block_reflector_kernel, {.blocks = number, .threads = 32, .shared_bytes = BlockReflectorMemory(sizeof(T), 1, 1).square_bytes},
              args, dtype_of<T>);
}

/// C = Q C or, with `adjoint`, Q^H C for the reflectors of a panel, at most block_reflector_width<T> of them, whose T are at `factors`.
template <typename T, Machine<T> M>
void apply_block_reflector(M& machine, Batch<T const> const& v, Batch<T const> const& tau, Batch<T> const& c, bool adjoint, T* factors,
                           BlockReflectorColumns const& columns) {
  std::int64_t const number = columns.end - columns.begin;
  auto plan = block_reflector_plan(sizeof(T), v.rows, number, machine.device().shared_memory_per_block, columns.together);
  if (!columns.together) plan = block_reflector_plan_of_few(plan, sizeof(T), number, v.count, machine.device().multiprocessors);
  auto args = block_reflector_arguments<T>(v, tau, c, factors, plan);
  args.begin = static_cast<int>(columns.begin);
  args.end = static_cast<int>(columns.end);
  args.first_loaded = static_cast<int>(columns.first_loaded);
  args.adjoint = adjoint;
  machine.run(block_reflector_kernel, block_reflector_grid<T>(v.count, number, plan), args, dtype_of<T>);
}

}  // namespace myriad
