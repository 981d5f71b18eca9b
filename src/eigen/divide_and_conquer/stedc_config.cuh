#pragma once
/// Divide and conquer of tridiagonal matrices of any size by the whole GPU: declarations shared by host and kernels.

#include "eigen/divide_and_conquer/divide_memory.cuh"
#include "simt/matrices.hpp"

namespace myriad {

/// Partition of a matrix of n rows into leaves, and the tree of merges; depends only on n and the maximum rows of a leaf. Parts begin at
/// multiples of eight, so that columns of their vectors are aligned to 16 bytes.
struct StedcTree {
  static constexpr int unit = 8;
  int n, units;
  int levels;  ///< of merges; the leaves are level 0

  SIMT_INLINE constexpr StedcTree(int rows, int most_rows) : n(rows), units(simt::ceil_div(rows, unit)), levels(0) {
    while (largest(0) > most_rows) ++levels;
  }
  SIMT_INLINE constexpr int problems(int level) const { return 1 << (levels - level); }
  /// The first row of problem m of a level.
  SIMT_INLINE constexpr int begin(int level, int m) const {
    return simt::smaller(n, unit * static_cast<int>((static_cast<simt::Index>(m) << level) * units >> levels));
  }
  /// The problem that has row p.
  SIMT_INLINE constexpr int problem_of(int level, int p) const {
    return static_cast<int>((static_cast<simt::Index>(p / unit + 1) * problems(level) - 1) / units);
  }
  /// Rows of the largest one.
  SIMT_INLINE constexpr int largest(int level) const { return unit * simt::ceil_div(units, problems(level)); }
};

/// A merge after deflation, with the order of columns for the products: first columns of the upper half only, then, from a multiple of four
/// on, those with elements in both halves, then those of the lower half only, and last the deflated ones.
struct StedcMerge {
  int count;      ///< poles
  int both;       ///< where columns of both halves begin
  int lower;      ///< where those of the lower half only begin
  int terms;      ///< where deflated columns begin
  int columns;    ///< all
  int rotations;  ///< of pairs of columns, applied before
};

/// One problem of a matrix at a level; indexes the arrays of StedcWork.
struct StedcProblem {
  simt::Index matrix;
  int number;  ///< index of the problem in its matrix
  int begin, middle, end;
  SIMT_INLINE int rows() const { return end - begin; }
};

/// Arguments of the kernels: the batch, the current level and the workspace, in which each matrix has its part of every array.
///
/// Arrays with one element per row are indexed by rows, so a problem's part begins at its first row. Those marked "some more" have four
/// more elements per problem.
template <typename R>
struct StedcWork {
  simt::Matrices<R const> d, e;  ///< the tridiagonal matrices
  simt::Matrices<R> w;           ///< the values, ascending, times `scales`
  int* info;                     ///< or null
  simt::Index const* sizes;      ///< ragged: sizes, or null; for size 0 w and info are not written
  simt::Index count;
  int n;         ///< ragged: an upper bound
  int leaf;      ///< maximum rows of a leaf
  int problems;  ///< maximum number per matrix at this level
  int level;
  int most;  ///< maximum rows of a problem of this level

  R* q;                                     ///< the vectors, n columns
  R* gathered;                              ///< the same in the order of StedcMerge; some more columns
  R* elements;                              ///< of the merges' vectors, at their own rows and columns; some more rows
  simt::Index ld, stride, gathered_stride;  ///< of these
  simt::Index line;                         ///< elements per matrix of the arrays below
  R* values;                                ///< diagonal, later the value of each column
  R* beside;                                ///< off-diagonal
  R* poles;
  R* z;
  R* offsets;     ///< of roots
  R* out_values;  ///< values of deflated columns
  R* cosines;     ///< of rotations
  R* sines;
  unsigned* origins;  ///< of a pole: its column in the problem, and two bits for the halves in which that has elements
  unsigned* out_origins;
  unsigned* rotated_out;  ///< the two columns of a rotation, encoded likewise
  unsigned* rotated;
  unsigned* sources;   ///< source of each column of `gathered`, encoded likewise; some more
  int* rows;           ///< the pole of each row of `elements`, or -1; some more
  int* order;          ///< the column of each value, at the end
  StedcMerge* merges;  ///< `problems` per matrix
  int* leaf_info;      ///< `leaves` per matrix
  int leaves;
  R* tolerances;  ///< negligible relative to each matrix
  R* scales;      ///< inverse scales of the original matrices
  R* backs;       ///< inverse scale of T to norm one; NaN if it has NaN or infinity
  int* below;     ///< per matrix: number of values below each of the points_of_bisection

  // Operands of products, two per problem.
  R** a;
  R** b;
  R** c;
  simt::Index *product_rows, *product_terms, *product_columns;

  SIMT_INLINE int rows_of(simt::Index b) const { return sizes ? static_cast<int>(sizes[b]) : n; }
  SIMT_INLINE StedcTree tree(simt::Index b) const { return {rows_of(b), leaf}; }
  /// Problem `at` of the level; without rows if the matrix has no such problem.
  SIMT_INLINE StedcProblem problem(simt::Index at) const {
    simt::Index const b = at / problems;
    int const m = static_cast<int>(at % problems);
    StedcTree const t = tree(b);
    if (level > t.levels || m >= t.problems(level)) return {b, m, 0, 0, 0};
    return {b, m, t.begin(level, m), level == 0 ? 0 : t.begin(level - 1, 2 * m + 1), t.begin(level, m + 1)};
  }
  SIMT_INLINE simt::Index all_problems() const { return problems * count; }
  /// Offset of a problem in arrays, and in those with some more.
  SIMT_INLINE simt::Index at(StedcProblem const& of) const { return of.matrix * line + of.begin; }
  SIMT_INLINE simt::Index at_more(StedcProblem const& of) const { return at(of) + 4 * of.number; }
  SIMT_INLINE R* vectors(StedcProblem const& of) const { return q + of.matrix * stride + of.begin + of.begin * ld; }
  SIMT_INLINE R* columns(StedcProblem const& of) const {
    return gathered + of.matrix * gathered_stride + of.begin + (of.begin + 4 * of.number) * ld;
  }
  SIMT_INLINE R* matrix(StedcProblem const& of) const { return elements + of.matrix * stride + of.begin + of.begin * ld; }
  /// The off-diagonal element at which a problem was split in two.
  SIMT_INLINE R tear(StedcProblem const& of) const { return beside[of.matrix * line + of.middle - 1]; }
  SIMT_INLINE R strength(StedcProblem const& of) const { return R(2) * simt::magnitude(tear(of)); }
};

/// Threads of all kernels except stedc_leaves, and rows or columns per block.
inline constexpr int stedc_threads = 256;
inline constexpr int stedc_warps = stedc_threads / 32;
inline constexpr int stedc_sorted_rows = 8;
inline constexpr int stedc_shared_bytes = 512;

/// Bisection: number of initial points shared by all values of a matrix, and lanes per value.
inline constexpr int points_of_bisection = 4096;
inline constexpr int lanes_of_value = 16;

/// A leaf of up to n rows has a block of 4 n threads. Its shared memory, in bytes, has the vectors (with an odd column stride), diagonal
/// and off-diagonal, and then DivideMemory.
SIMT_INLINE constexpr int stedc_leaf_line(int n) { return n | 1; }
SIMT_INLINE constexpr int stedc_leaf_memory(int real_bytes, int n) {
  return 16 * simt::ceil_div((n * stedc_leaf_line(n) + 2 * n) * real_bytes, 16);
}
SIMT_INLINE constexpr int stedc_leaf_bytes(int real_bytes, int n) {
  return stedc_leaf_memory(real_bytes, n) + simt::DivideMemory(real_bytes, n).bytes;
}

}  // namespace myriad
