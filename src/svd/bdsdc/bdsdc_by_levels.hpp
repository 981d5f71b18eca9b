#pragma once
/// Singular values and vectors of bidiagonal matrices of any size by the whole GPU: the sequence of launches.

#include <algorithm>
#include <array>
#include <cstdint>

#include "blocked/machine.hpp"
#include "core/dtype.hpp"
#include "myriad/batch.hpp"
#include "svd/bdsdc/bdsdc_config.cuh"

namespace myriad {

/// The kernels of bdsdc_leaves.cuh and bdsdc_merge.cuh.
enum class BdsdcStep : int { load, leaves, sort, deflate, rotate, gather, roots, fit, vectors, order };
inline constexpr int bdsdc_steps = 10;

/// The kernels of bdsdc_values.cuh, in launch order.
inline constexpr gpu::KernelName bdsdc_square_kernel{"svd/bdsdc/bdsdc_values", "bdsdc_square"};
inline constexpr gpu::KernelName bdsdc_points_kernel{"svd/bdsdc/bdsdc_values", "bdsdc_points"};
inline constexpr gpu::KernelName bdsdc_bisect_kernel{"svd/bdsdc/bdsdc_values", "bdsdc_bisect"};
inline constexpr gpu::KernelName bdsdc_order_values_kernel{"svd/bdsdc/bdsdc_values", "bdsdc_order_values"};
inline constexpr gpu::KernelName bdsdc_values_block_kernel{"svd/bdsdc/bdsdc_values_block"};

constexpr gpu::KernelName bdsdc_kernel(BdsdcStep step) {
  constexpr std::array<char const*, bdsdc_steps> names{"bdsdc_load",   "bdsdc_leaves", "bdsdc_sort", "bdsdc_deflate", "bdsdc_rotate",
                                                       "bdsdc_gather", "bdsdc_roots",  "bdsdc_fit",  "bdsdc_vectors", "bdsdc_order"};
  return {step <= BdsdcStep::leaves ? "svd/bdsdc/bdsdc_leaves" : "svd/bdsdc/bdsdc_merge", names[static_cast<std::size_t>(step)]};
}

/// Values and vectors; these are in the columns of work.q, in the order of work.order.
template <typename R, Machine<R> M>
void bdsdc_by_levels(M& machine, BdsdcWork<R> work) {
  auto const run = [&](BdsdcStep step, std::int64_t blocks) {
    bool const leaves = step == BdsdcStep::leaves;
    machine.run(bdsdc_kernel(step),
                {.blocks = blocks,
                 .threads = leaves ? 32 * bdsdc_leaf_warps : stedc_threads,
                 .shared_bytes = leaves ? bdsdc_leaf_bytes(sizeof(R), work.most) : stedc_shared_bytes},
                work, dtype_of<R>);
  };
  StedcTree const tree(work.n + 1, work.leaf);
  auto const chunks = [](std::int64_t elements, std::int64_t of_block) { return (elements + of_block - 1) / of_block; };
  auto const most_of_ragged = [&](int level) {  // smaller matrices may have larger problems than those with most rows
    return static_cast<int>(std::min<std::int64_t>(work.n + 1, std::int64_t{work.leaf} << level));
  };
  work.level = 0;
  work.problems = tree.problems(0);
  work.most = work.sizes ? most_of_ragged(0) : tree.largest(0);
  run(BdsdcStep::load, work.count);
  run(BdsdcStep::leaves, chunks(work.all_problems(), bdsdc_leaf_warps));
  for (int level = 1; level <= tree.levels; ++level) {
    work.level = level;
    work.problems = tree.problems(level);
    work.most = work.sizes ? most_of_ragged(level) : tree.largest(level);
    std::int64_t const all = work.all_problems();
    run(BdsdcStep::sort, all * chunks(work.most, stedc_sorted_rows));
    run(BdsdcStep::deflate, all);
    run(BdsdcStep::rotate, 2 * all * chunks(work.most, stedc_threads));
    run(BdsdcStep::gather, 2 * all * chunks(work.most + 4, stedc_warps));
    run(BdsdcStep::roots, all * chunks(work.most, bdsdc_roots_of_block));
    run(BdsdcStep::fit, all * chunks(work.most, bdsdc_roots_of_block));
    run(BdsdcStep::vectors, all * chunks(work.most, stedc_warps));
    std::int64_t const half = work.sizes ? std::min(work.most, most_of_ragged(level - 1)) : tree.largest(level - 1);
    auto const sized = [&](R** pointers, std::int64_t rows, std::int64_t columns) {
      return batch(pointers, rows, columns, {.ld = work.ld, .count = 4 * all});
    };
    auto const sizes = [](simt::Index* p) { return reinterpret_cast<std::int64_t const*>(p); };
    Batch<R> a = sized(work.a, half, work.most + 4), b = sized(work.b, work.most + 4, work.most), c = sized(work.c, half, work.most);
    a.row_sizes = c.row_sizes = sizes(work.product_rows);
    a.col_sizes = b.row_sizes = sizes(work.product_terms);
    b.col_sizes = c.col_sizes = sizes(work.product_columns);
    machine.gemm_shared(GemmTask<R>{.alpha = R(1), .a = a, .b = b, .beta = R(0), .c = c});
  }
  run(BdsdcStep::order, work.count * chunks(work.n, stedc_sorted_rows));
}

/// Values only: of matrices of up to bdsdc_block_most rows by a block each, of larger ones by the whole GPU.
template <typename R, Machine<R> M>
void bdsdc_values(M& machine, BdsdcValues<R> work) {
  work.above = 0;
  if (work.sizes || work.n <= bdsdc_block_most) {
    int const most = std::min(work.n, bdsdc_block_most);
    machine.run(bdsdc_values_block_kernel,
                {.blocks = work.count, .threads = bdsdc_block_threads(most), .shared_bytes = bdsdc_block_bytes(sizeof(R), most)}, work,
                dtype_of<R>);
  }
  if (work.n <= bdsdc_block_most) return;
  work.above = bdsdc_block_most;
  auto const chunks = [](std::int64_t elements, std::int64_t of_block) { return (elements + of_block - 1) / of_block; };
  auto const run = [&](gpu::KernelName const& kernel, std::int64_t blocks) {
    machine.run(kernel, {.blocks = blocks, .threads = stedc_threads, .shared_bytes = stedc_shared_bytes}, work, dtype_of<R>);
  };
  run(bdsdc_square_kernel, work.count);
  run(bdsdc_points_kernel, work.count * (bdsdc_points_of_matrix / stedc_threads));
  run(bdsdc_bisect_kernel, work.count * chunks(work.n, stedc_threads / bdsdc_lanes_of_value));
  run(bdsdc_order_values_kernel, work.count * chunks(work.n, stedc_sorted_rows));
}

}  // namespace myriad
