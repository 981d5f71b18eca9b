#pragma once
/// Large tridiagonal eigenproblems on a GPU: leaf size and workspace.

#include <cstdint>

#include "blocked/arena.hpp"
#include "eigen/divide_and_conquer/stedc_config.cuh"

namespace myriad {

/// Maximum rows of a leaf, which is in the shared memory of a block. A leaf of 64 takes 83 us (double, H200), a level of merges of this
/// size 50; other sizes were not tried.
constexpr int stedc_leaf = 64;

/// Workspace for `count` matrices of up to n rows. Sizes, w and info are left empty. `gathered` and `elements` are contiguous, so that
/// complex vectors can replace them.
template <typename R>
StedcWork<R> stedc_work(Arena& arena, std::int64_t n, int leaf, std::int64_t count, bool vectors) {
  StedcTree const tree(static_cast<int>(n), leaf);
  std::int64_t const most_problems = tree.levels > 0 ? 1 << (tree.levels - 1) : 1, products = 2 * count * most_problems;
  StedcWork<R> w{};
  w.count = count;
  w.n = static_cast<int>(n);
  w.leaf = leaf;
  w.leaves = 1 << tree.levels;
  w.ld = (n + 8 + 31) / 32 * 32;
  w.stride = w.ld * n;
  w.gathered_stride = w.ld * (n + 4 * most_problems);
  w.line = w.ld + 4 * most_problems;
  auto const of_tridiagonal = [&] {
    simt::Matrices<R const> x{};
    x.data = arena.take<R>(n * count);
    x.rows = n, x.cols = 1, x.row_stride = 1, x.col_stride = n, x.batch_stride = n, x.count = count;
    return x;
  };
  w.d = of_tridiagonal();
  w.e = of_tridiagonal();
  w.q = arena.take<R>(vectors ? w.stride * count : 0);
  w.gathered = arena.take<R>(vectors ? w.gathered_stride * count : 0);
  w.elements = arena.take<R>(vectors ? w.stride * count : 0);
  for (R** const to : {&w.values, &w.beside, &w.poles, &w.z, &w.offsets, &w.out_values, &w.cosines, &w.sines})
    *to = arena.take<R>(w.line * count);
  for (unsigned** const to : {&w.origins, &w.out_origins, &w.rotated_out, &w.rotated, &w.sources})
    *to = arena.take<unsigned>(w.line * count);
  for (int** const to : {&w.rows, &w.order}) *to = arena.take<int>(w.line * count);
  w.merges = arena.take<StedcMerge>(most_problems * count);
  w.leaf_info = vectors ? arena.take<int>(w.leaves * count) : nullptr;
  for (R** const to : {&w.tolerances, &w.backs, &w.scales}) *to = arena.take<R>(count);
  w.below = arena.take<int>(vectors ? 0 : points_of_bisection * count);
  for (R*** const to : {&w.a, &w.b, &w.c}) *to = arena.take<R*>(products);
  for (simt::Index** const to : {&w.product_rows, &w.product_terms, &w.product_columns}) *to = arena.take<simt::Index>(products);
  return w;
}

}  // namespace myriad
