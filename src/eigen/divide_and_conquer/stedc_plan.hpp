#pragma once
/// How large eigenproblems are divided on a GPU, and their workspace.

#include <cstdint>

#include "eigen/eigen_large_config.cuh"

namespace myriad {

/// Rows of a leaf at most: a block has one in its shared memory. Of 64 it takes 83 us (double, H200), a level of merges of problems of this
/// size 50; others have not been tried.
constexpr int stedc_leaf = 64;

/// Blocks that look for the largest element of a matrix.
constexpr int eigen_large_parts(std::int64_t count, int multiprocessors) {
  return static_cast<int>((4 * multiprocessors + count - 1) / count);
}

/// Bytes of workspace: as many matrices at a time as that holds, but at least one.
constexpr std::int64_t eigen_large_workspace = std::int64_t{1} << 30;

/// The layout of the workspace of so many matrices, in bytes from its beginning.
struct EigenLargeWorkspace {
  std::int64_t ld, columns, line;  ///< see StedcWork
  int levels, leaves;
  std::int64_t d, e, tau, q, gathered, elements, arrays, merges, leaf_info, numbers, below, addresses, sizes, largest, bytes;

  static constexpr int real_arrays = 8, word_arrays = 7;

  constexpr EigenLargeWorkspace(int element_bytes, int real_bytes, std::int64_t n, int leaf, std::int64_t count, bool vectors, int parts)
      : ld((n + 8 + 31) / 32 * 32), columns(n), line(ld), levels(StedcTree(static_cast<int>(n), leaf).levels), leaves(1 << levels) {
    std::int64_t const most_problems = levels > 0 ? 1 << (levels - 1) : 1;
    columns += 4 * most_problems;
    line += 4 * most_problems;
    std::int64_t next = 0;
    auto const take = [&](std::int64_t elements_of_matrix, std::int64_t size) {
      std::int64_t const here = next;
      next += (elements_of_matrix * count * size + 255) / 256 * 256;
      return here;
    };
    d = take(n, real_bytes);
    e = take(n, real_bytes);
    tau = take(n, element_bytes);
    q = take(vectors ? ld * n : 0, real_bytes);
    // Complex vectors take the place of these two.
    gathered = take(vectors ? ld * columns : 0, real_bytes);
    elements = take(vectors ? ld * n : 0, real_bytes);
    arrays = take(line, real_arrays * real_bytes + word_arrays * 4);
    merges = take(most_problems, sizeof(StedcMerge));
    leaf_info = take(leaves, 4);
    numbers = take(3, real_bytes);
    below = take(vectors ? 0 : points_of_bisection, 4);
    addresses = take(12 * most_problems, 8);
    sizes = take(5, 8);
    largest = take(parts, real_bytes);
    bytes = next;
  }

  /// The work on matrices of up to n rows whose workspace begins at `memory`; sizes, w and info are left empty.
  template <typename R>
  [[nodiscard]] StedcWork<R> work(int n, int leaf, std::int64_t count, char* memory, bool vectors) const {
    auto const as = [&]<typename X>(X*, std::int64_t offset) { return reinterpret_cast<X*>(memory + offset); };
    R* const r = nullptr;
    StedcWork<R> w{};
    auto const of_tridiagonal = [&](std::int64_t offset) {
      simt::Matrices<R const> x{};
      x.data = as(r, offset);
      x.rows = n, x.cols = 1, x.row_stride = 1, x.col_stride = n, x.batch_stride = n, x.count = count;
      return x;
    };
    w.d = of_tridiagonal(d);
    w.e = of_tridiagonal(e);
    w.count = count;
    w.n = n;
    w.leaf = leaf;
    w.leaves = leaves;
    w.q = as(r, q);
    w.gathered = as(r, gathered);
    w.elements = as(r, elements);
    w.ld = ld;
    w.stride = ld * n;
    w.gathered_stride = ld * columns;
    w.line = line;
    std::int64_t next = arrays;
    auto const array = [&]<typename X>(X* type) {
      X* const here = as(type, next);
      next += line * count * static_cast<std::int64_t>(sizeof(X));
      return here;
    };
    for (R** const to : {&w.values, &w.beside, &w.poles, &w.z, &w.offsets, &w.out_values, &w.cosines, &w.sines}) *to = array(r);
    unsigned* const u = nullptr;
    for (unsigned** const to : {&w.origins, &w.out_origins, &w.rotated_out, &w.rotated, &w.sources}) *to = array(u);
    int* const i = nullptr;
    for (int** const to : {&w.rows, &w.order}) *to = array(i);
    StedcMerge* const m = nullptr;
    w.merges = as(m, merges);
    w.leaf_info = vectors ? as(i, leaf_info) : nullptr;
    w.tolerances = as(r, numbers);
    w.backs = w.tolerances + count;
    w.scales = w.backs + count;
    w.below = as(i, below);
    std::int64_t const products = 2 * count * (levels > 0 ? 1 << (levels - 1) : 1);
    R** const p = nullptr;
    w.a = as(p, addresses);
    w.b = w.a + products;
    w.c = w.b + products;
    simt::Index* const x = nullptr;
    w.product_rows = as(x, addresses + 3 * 8 * products);
    w.product_terms = w.product_rows + products;
    w.product_columns = w.product_terms + products;
    return w;
  }
};

}  // namespace myriad
