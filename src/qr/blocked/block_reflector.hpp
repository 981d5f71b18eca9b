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

/// The blocks for matrices of so many rows and columns: eight warps, of which two blocks fit a multiprocessor, or sixteen.
struct BlockReflectorPlan {
  int parts, groups;
};
constexpr BlockReflectorPlan block_reflector_plan(int element_bytes, std::int64_t rows, std::int64_t columns, std::int64_t shared_bytes) {
  using Shape = BlockReflectorShape;
  auto const holds = [&](int parts, int groups) { return BlockReflectorMemory(element_bytes, parts, groups).bytes <= shared_bytes; };
  int parts = static_cast<int>(std::min<std::int64_t>((rows + Shape::rows - 1) / Shape::rows, 8));
  // All of shared memory for one block is slower than rows that come twice (double, 512 rows and 480 columns: 2529 ns instead of 2163).
  if (parts == 8 && element_bytes == 8) parts = 4;
  while (parts > 1 && !holds(parts, 1)) --parts;
  std::int64_t most = std::max(1, (rows <= 4 * Shape::rows ? 8 : 16) / parts);
  while (most > 1 && !holds(parts, static_cast<int>(most))) --most;
  // As few blocks as that makes, which share the columns evenly.
  std::int64_t const across = Shape::columns(element_bytes), all = std::max<std::int64_t>((columns + across - 1) / across, 1);
  std::int64_t const strips = (all + most - 1) / most;
  return {.parts = parts, .groups = static_cast<int>((all + strips - 1) / strips)};
}

/// C = Q^H C for the reflectors of a panel, at most block_reflector_width<T> of them, which are below the diagonal of `v`. At `gram`
/// there is room for the squares of that width of all matrices; `has_gram`: it has V^H V.
template <typename T, Machine<T> M>
void apply_block_reflector(M& machine, Batch<T const> const& v, Batch<T const> const& tau, Batch<T> const& c, T* gram, bool has_gram) {
  using D = gpu::DeviceElement<T>;
  std::int64_t const shared = machine.device().shared_memory_per_block;
  auto const run = [&](BlockReflectorJob job, BlockReflectorPlan plan, std::int64_t columns) {
    BlockReflectorMemory const memory(sizeof(T), plan.parts, plan.groups);
    // T alone needs nothing but its square.
    bool const alone = job == BlockReflectorJob::factor;
    std::int64_t const across = plan.groups * BlockReflectorShape::columns(sizeof(T));
    machine.run(block_reflector_kernel,
                {.blocks = v.count * (alone ? 1 : (columns + across - 1) / across),
                 .threads = 32 * plan.parts * plan.groups,
                 .shared_bytes = alone ? memory.square_bytes : memory.bytes},
                BlockReflectorArguments<D>{.a = gpu::matrices_of(v),
                                           .tau = gpu::matrices_of(tau),
                                           .c = gpu::matrices_of(c),
                                           .gram = reinterpret_cast<D*>(gram),
                                           .line = block_reflector_width<T>,
                                           .parts = plan.parts,
                                           .groups = plan.groups,
                                           .square = alone ? 0 : memory.square,
                                           .products = memory.products,
                                           .products_of_part = memory.products_of_part,
                                           .job = job},
                dtype_of<T>);
  };
  if (!has_gram) run(BlockReflectorJob::gram, block_reflector_plan(sizeof(T), v.rows, v.cols, shared), v.cols);
  run(BlockReflectorJob::factor, {.parts = 1, .groups = 1}, 0);
  run(BlockReflectorJob::apply, block_reflector_plan(sizeof(T), v.rows, c.cols, shared), c.cols);
}

}  // namespace myriad
