#pragma once
/// Tridiagonal eigenproblems of any size by kernels of the whole GPU, in the order of the work.

#include <algorithm>
#include <array>
#include <cstdint>

#include "eigen/divide_and_conquer/stedc_config.cuh"
#include "myriad/batch.hpp"

namespace myriad {

/// The kernels of stedc_leaves.cuh, stedc_merge.cuh and stedc_values.cuh.
enum class StedcStep : int { bring_whole, bring_torn, leaves, sort, deflate, rotate, gather, roots, fit, vectors, order, points, bisect };
inline constexpr int stedc_steps = 13;
inline constexpr std::array<char const*, stedc_steps> stedc_names{
    "stedc_bring", "stedc_bring", "stedc_leaves",  "stedc_sort",  "stedc_deflate", "stedc_rotate", "stedc_gather",
    "stedc_roots", "stedc_fit",   "stedc_vectors", "stedc_order", "stedc_points",  "stedc_bisect"};

constexpr bool stedc_step_is_of(StedcStep step, bool vectors) {
  if (step == StedcStep::order) return true;
  return vectors != (step == StedcStep::bring_whole || step == StedcStep::points || step == StedcStep::bisect);
}

/// Values and vectors, which are then in the columns of work.q, in the order of work.order. Machine runs kernels, run(step, blocks, work),
/// and products, multiply(a, b, c).
template <typename R, typename Machine>
void stedc_by_levels(Machine& machine, StedcWork<R> work) {
  StedcTree const tree(work.n, work.leaf);
  auto const chunks = [](std::int64_t elements, std::int64_t of_block) { return (elements + of_block - 1) / of_block; };
  work.level = 0;
  work.problems = tree.problems(0);
  machine.run(StedcStep::bring_torn, work.count, work);
  machine.run(StedcStep::leaves, work.all_problems(), work);
  for (int level = 1; level <= tree.levels; ++level) {
    work.level = level;
    work.problems = tree.problems(level);
    // In a ragged batch other matrices may have larger problems than those of most rows.
    work.most = work.sizes ? static_cast<int>(std::min<std::int64_t>(work.n, std::int64_t{work.leaf} << level)) : tree.largest(level);
    std::int64_t const all = work.all_problems();
    machine.run(StedcStep::sort, all * chunks(work.most, stedc_sorted_rows), work);
    machine.run(StedcStep::deflate, all, work);
    machine.run(StedcStep::rotate, all * chunks(work.most, stedc_threads), work);
    machine.run(StedcStep::gather, all * chunks(work.most + 4, stedc_warps), work);
    machine.run(StedcStep::roots, all * chunks(work.most, stedc_warps), work);
    machine.run(StedcStep::fit, all * chunks(work.most, stedc_warps), work);
    machine.run(StedcStep::vectors, all * chunks(work.most, stedc_warps), work);
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
    machine.multiply(a, b, c);
  }
  machine.run(StedcStep::order, work.count * chunks(work.n, stedc_sorted_rows), work);
}

/// Values alone.
template <typename R, typename Machine>
void stedc_values(Machine& machine, StedcWork<R> work) {
  auto const chunks = [](std::int64_t elements, std::int64_t of_block) { return (elements + of_block - 1) / of_block; };
  machine.run(StedcStep::bring_whole, work.count, work);
  machine.run(StedcStep::points, work.count * (points_of_bisection / stedc_threads), work);
  machine.run(StedcStep::bisect, work.count * chunks(work.n, stedc_threads / lanes_of_value), work);
  work.values = work.offsets;
  machine.run(StedcStep::order, work.count * chunks(work.n, stedc_sorted_rows), work);
}

}  // namespace myriad
