#pragma once
/// Divide and conquer by a block: partition of a matrix and shared memory; for host and kernel.

#include "simt/types.hpp"

namespace myriad::simt {

/// Partition of a matrix of n rows into leaves, and the tree of merges; depends only on n.
struct DivideTree {
  static constexpr int most_rows = 8;  ///< of a leaf
  int n;
  int levels;  ///< of merges; the leaves are level 0

  SIMT_INLINE constexpr explicit DivideTree(int rows) : n(rows), levels(0) {
    while (ceil_div(n, 1 << levels) > most_rows) ++levels;
  }
  SIMT_INLINE constexpr int problems(int level) const { return 1 << (levels - level); }
  /// The first row of problem m of a level.
  SIMT_INLINE constexpr int begin(int level, int m) const { return (m << level) * n >> levels; }
  /// The problem that has row p.
  SIMT_INLINE constexpr int problem_of(int level, int p) const { return ((p + 1) * problems(level) - 1) / n; }
  /// Rows of the largest problem.
  SIMT_INLINE constexpr int largest(int level) const { return ceil_div(n, problems(level)); }
};

/// Shared memory for a matrix of n rows beside its vectors, in bytes.
struct DivideMemory {
  static constexpr int most_leaves = 32;
  int bytes;
  SIMT_INLINE constexpr DivideMemory(int real_bytes, int n)
      : bytes(most_leaves * (real_bytes + 3 * 4) + n * (3 * real_bytes + 4 + 3 * 2)) {}
};

}  // namespace myriad::simt
