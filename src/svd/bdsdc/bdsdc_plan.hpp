#pragma once
/// Bidiagonal divide and conquer on a GPU: leaf size and workspace.

#include <cstdint>

#include "blocked/arena.hpp"
#include "svd/bdsdc/bdsdc_config.cuh"

namespace myriad {

/// Maximum columns of a leaf, which a warp solves.
constexpr int bdsdc_leaf = 32;

/// Workspace for `count` bidiagonal matrices of up to n rows. d, e and scales of either kind are the caller's to fill.
template <typename R>
struct BdsdcWorkspace {
  BdsdcWork<R> vectors{};
  BdsdcValues<R> values{};
  R *d, *e;   ///< n elements per matrix
  R* scales;  ///< see BdsdcWork

  BdsdcWorkspace(Arena& arena, std::int64_t n, int leaf, std::int64_t count, bool with_vectors)
      : d(arena.take<R>(n * count)), e(arena.take<R>(n * count)), scales(arena.take<R>(count)) {
    auto const of_bidiagonal = [&](R* data) {
      simt::Matrices<R const> x{};
      x.data = data;
      x.rows = n, x.cols = 1, x.row_stride = 1, x.col_stride = n, x.batch_stride = n, x.count = count;
      return x;
    };
    if (n == 0) return;
    if (!with_vectors) {
      values.d = of_bidiagonal(d);
      values.e = of_bidiagonal(e);
      values.scales = scales;
      values.count = count;
      values.n = static_cast<int>(n);
      if (n <= bdsdc_block_most) return;
      for (R** const to : {&values.diagonal, &values.beside, &values.values}) *to = arena.take<R>(n * count);
      for (R** const to : {&values.tolerances, &values.backs}) *to = arena.take<R>(count);
      values.below = arena.take<int>(bdsdc_points_of_matrix * count);
      return;
    }
    StedcTree const tree(static_cast<int>(n) + 1, leaf);
    std::int64_t const most_problems = tree.levels > 0 ? 1 << (tree.levels - 1) : 1, products = 4 * count * most_problems;
    BdsdcWork<R>& w = vectors;
    w.d = of_bidiagonal(d);
    w.e = of_bidiagonal(e);
    w.scales = scales;
    w.count = count;
    w.n = static_cast<int>(n);
    w.leaf = leaf;
    w.leaves = 1 << tree.levels;
    w.ld = (n + 1 + 8 + 31) / 32 * 32;
    w.stride = w.ld * (n + 1);
    w.gathered_stride = w.ld * (n + 1 + 4 * most_problems);
    w.line = w.ld + 4 * most_problems;
    w.q = arena.take<R>(2 * w.stride * count);
    w.gathered = arena.take<R>(2 * w.gathered_stride * count);
    w.elements = arena.take<R>(2 * w.stride * count);
    for (R** const to : {&w.diagonal, &w.beside, &w.values, &w.poles, &w.z, &w.offsets, &w.out_values, &w.cosines, &w.sines})
      *to = arena.take<R>(w.line * count);
    for (unsigned** const to : {&w.origins, &w.out_origins, &w.rotated_out, &w.rotated, &w.sources})
      *to = arena.take<unsigned>(w.line * count);
    for (int** const to : {&w.rows, &w.order}) *to = arena.take<int>(w.line * count);
    w.merges = arena.take<StedcMerge>(most_problems * count);
    w.leaf_info = arena.take<int>(w.leaves * count);
    for (R** const to : {&w.tolerances, &w.backs}) *to = arena.take<R>(count);
    for (R*** const to : {&w.a, &w.b, &w.c}) *to = arena.take<R*>(products);
    for (simt::Index** const to : {&w.product_rows, &w.product_terms, &w.product_columns}) *to = arena.take<simt::Index>(products);
  }
};

}  // namespace myriad
