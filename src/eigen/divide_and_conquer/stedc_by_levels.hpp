#pragma once
/// Tridiagonal eigenproblems of any size by the whole GPU: the sequence of launches.

#include <algorithm>
#include <array>
#include <cstdint>

#include "blocked/machine.hpp"
#include "core/dtype.hpp"
#include "eigen/divide_and_conquer/stedc_config.cuh"
#include "myriad/batch.hpp"

namespace myriad {

/// The kernels of stedc_leaves.cuh, stedc_merge.cuh and stedc_values.cuh.
enum class StedcStep : int { load_whole, load_torn, leaves, sort, deflate, rotate, gather, roots, fit, vectors, order, points, bisect };
inline constexpr int stedc_steps = 13;

/// Calls use(kernel, template arguments...) for a step.
template <typename Use>
decltype(auto) with_stedc_kernel(StedcStep step, Dtype dtype, int leaf, Use const& use) {
  constexpr std::array<char const*, stedc_steps> names{"stedc_load",   "stedc_load",   "stedc_leaves", "stedc_sort", "stedc_deflate",
                                                       "stedc_rotate", "stedc_gather", "stedc_roots",  "stedc_fit",  "stedc_vectors",
                                                       "stedc_order",  "stedc_points", "stedc_bisect"};
  char const* const name = names[static_cast<std::size_t>(step)];
  switch (step) {
    case StedcStep::load_whole:
    case StedcStep::load_torn:
      return use(gpu::KernelName("eigen/divide_and_conquer/stedc_leaves", name), dtype, step == StedcStep::load_torn);
    case StedcStep::leaves:
      return use(gpu::KernelName("eigen/divide_and_conquer/stedc_leaves", name), dtype, leaf);
    case StedcStep::points:
    case StedcStep::bisect:
      return use(gpu::KernelName("eigen/divide_and_conquer/stedc_values", name), dtype);
    default:
      return use(gpu::KernelName("eigen/divide_and_conquer/stedc_merge", name), dtype);
  }
}

/// One launch of a step.
template <typename R, Machine<R> M>
void run_stedc(M& machine, StedcStep step, std::int64_t blocks, StedcWork<R> const& work) {
  bool const leaves = step == StedcStep::leaves;
  gpu::Grid const grid{.blocks = blocks,
                       .threads = leaves ? 4 * work.leaf : stedc_threads,
                       .shared_bytes = leaves ? stedc_leaf_bytes(sizeof(R), work.leaf) : stedc_shared_bytes};
  with_stedc_kernel(step, dtype_of<R>, work.leaf,
                    [&](gpu::KernelName const& kernel, auto const&... of_template) { machine.run(kernel, grid, work, of_template...); });
}

/// Values and vectors; the vectors are in the columns of work.q, in the order of work.order.
template <typename R, Machine<R> M>
void stedc_by_levels(M& machine, StedcWork<R> work) {
  auto const run = [&](StedcStep step, std::int64_t blocks, StedcWork<R> const& of) { run_stedc(machine, step, blocks, of); };
  StedcTree const tree(work.n, work.leaf);
  auto const chunks = [](std::int64_t elements, std::int64_t of_block) { return (elements + of_block - 1) / of_block; };
  work.level = 0;
  work.problems = tree.problems(0);
  run(StedcStep::load_torn, work.count, work);
  run(StedcStep::leaves, work.all_problems(), work);
  for (int level = 1; level <= tree.levels; ++level) {
    work.level = level;
    work.problems = tree.problems(level);
    // In a ragged batch smaller matrices may have larger problems than those with most rows.
    work.most = work.sizes ? static_cast<int>(std::min<std::int64_t>(work.n, std::int64_t{work.leaf} << level)) : tree.largest(level);
    std::int64_t const all = work.all_problems();
    run(StedcStep::sort, all * chunks(work.most, stedc_sorted_rows), work);
    run(StedcStep::deflate, all, work);
    run(StedcStep::rotate, all * chunks(work.most, stedc_threads), work);
    run(StedcStep::gather, all * chunks(work.most + 4, stedc_warps), work);
    run(StedcStep::roots, all * chunks(work.most, stedc_warps), work);
    run(StedcStep::fit, all * chunks(work.most, stedc_warps), work);
    run(StedcStep::vectors, all * chunks(work.most, stedc_warps), work);
    std::int64_t const half =
        work.sizes ? std::min<std::int64_t>(work.most, std::int64_t{work.leaf} << (level - 1)) : tree.largest(level - 1);
    auto const sized = [&](R** pointers, std::int64_t rows, std::int64_t columns) {
      return batch(pointers, rows, columns, {.ld = work.ld, .count = 2 * all});
    };
    auto const sizes = [](simt::Index* p) { return reinterpret_cast<std::int64_t const*>(p); };
    Batch<R> a = sized(work.a, half, work.most + 4), b = sized(work.b, work.most + 4, work.most), c = sized(work.c, half, work.most);
    a.row_sizes = c.row_sizes = sizes(work.product_rows);
    a.col_sizes = b.row_sizes = sizes(work.product_terms);
    b.col_sizes = c.col_sizes = sizes(work.product_columns);
    machine.gemm_shared(GemmTask<R>{.alpha = R(1), .a = a, .b = b, .beta = R(0), .c = c});
  }
  run(StedcStep::order, work.count * chunks(work.n, stedc_sorted_rows), work);
}

/// Values only.
template <typename R, Machine<R> M>
void stedc_values(M& machine, StedcWork<R> work) {
  auto const run = [&](StedcStep step, std::int64_t blocks, StedcWork<R> const& of) { run_stedc(machine, step, blocks, of); };
  auto const chunks = [](std::int64_t elements, std::int64_t of_block) { return (elements + of_block - 1) / of_block; };
  run(StedcStep::load_whole, work.count, work);
  run(StedcStep::points, work.count * (points_of_bisection / stedc_threads), work);
  run(StedcStep::bisect, work.count * chunks(work.n, stedc_threads / lanes_of_value), work);
  work.values = work.offsets;
  run(StedcStep::order, work.count * chunks(work.n, stedc_sorted_rows), work);
}

}  // namespace myriad
