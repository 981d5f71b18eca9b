#pragma once
/// Divide and conquer of real upper bidiagonal matrices of any size by the whole GPU: declarations shared by host and kernels.

#include "eigen/divide_and_conquer/stedc_config.cuh"

namespace myriad {

/// Arguments of the kernels: the batch, the current level and the workspace.
///
/// B of order n is extended by a zero column. Each problem of the tree is an interval [begin, end) of columns, and has one row less than
/// columns; its rows of B begin at `begin`. Its vectors are two orthogonal matrices of that size: U, in which the last row and column are
/// those of a unit matrix, and V, whose last column is the null vector of the problem. The row of B between two problems, with elements in
/// the last column of the upper one and the first of the lower one, belongs to their merge: it is the last row of the upper problem's U.
///
/// Arrays are as in StedcWork; those of vectors have U of all matrices first and then V.
template <typename R>
struct BdsdcWork {
  simt::Matrices<R const> d, e;  ///< the bidiagonal matrices
  simt::Matrices<R> s;           ///< the singular values, descending, times `scales`
  int* info;                     ///< or null
  simt::Index const* sizes;      ///< ragged: orders, or null; for order 0 s and info are not written
  simt::Index count;
  int n;         ///< ragged: an upper bound
  int leaf;      ///< maximum columns of a leaf, up to 32
  int problems;  ///< maximum number per matrix at this level
  int level;
  int most;  ///< maximum columns of a problem of this level

  R* q;         ///< the vectors
  R* gathered;  ///< the same in the order of StedcMerge; some more columns
  R* elements;  ///< of the merges' vectors; some more rows
  simt::Index ld, stride, gathered_stride;
  simt::Index line;  ///< elements per matrix of the arrays below
  R* diagonal;       ///< of B, scaled to norm one
  R* beside;         ///< off-diagonal of B, scaled likewise; then zero
  R* values;         ///< of each column
  R* poles;
  R* z;
  R* offsets;  ///< of the squares of roots
  R* out_values;
  R* cosines;
  R* sines;
  unsigned* origins;
  unsigned* out_origins;
  unsigned* rotated_out;
  unsigned* rotated;
  unsigned* sources;
  int* rows;
  int* order;  ///< the column of each value, at the end
  StedcMerge* merges;
  int* leaf_info;
  int leaves;
  R* tolerances;  ///< negligible relative to each matrix
  R* scales;      ///< inverse scales of the original matrices; NaN for those with NaN or infinity
  R* backs;       ///< inverse scale of B to norm one; NaN if it has NaN or infinity

  // Operands of products, four per problem: halves of U, and of V.
  R** a;
  R** b;
  R** c;
  simt::Index *product_rows, *product_terms, *product_columns;

  SIMT_INLINE int rows_of(simt::Index b) const { return sizes ? static_cast<int>(sizes[b]) : n; }
  SIMT_INLINE StedcTree tree(simt::Index b) const { return {rows_of(b) + 1, leaf}; }
  /// Problem `at` of the level, an interval of columns; empty if the matrix has no such problem.
  SIMT_INLINE StedcProblem problem(simt::Index at) const {
    simt::Index const b = at / problems;
    int const m = static_cast<int>(at % problems);
    StedcTree const t = tree(b);
    if (level > t.levels || m >= t.problems(level)) return {b, m, 0, 0, 0};
    return {b, m, t.begin(level, m), level == 0 ? 0 : t.begin(level - 1, 2 * m + 1), t.begin(level, m + 1)};
  }
  SIMT_INLINE simt::Index all_problems() const { return problems * count; }
  SIMT_INLINE simt::Index at(StedcProblem const& of) const { return of.matrix * line + of.begin; }
  SIMT_INLINE simt::Index at_more(StedcProblem const& of) const { return at(of) + 4 * of.number; }
  /// Vectors of a problem, U (side 0) or V (side 1)
  SIMT_INLINE R* vectors(int side, StedcProblem const& of) const {
    return q + (side * count + of.matrix) * stride + of.begin + of.begin * ld;
  }
  SIMT_INLINE R* columns(int side, StedcProblem const& of) const {
    return gathered + (side * count + of.matrix) * gathered_stride + of.begin + (of.begin + 4 * of.number) * ld;
  }
  SIMT_INLINE R* matrix(int side, StedcProblem const& of) const {
    return elements + (side * count + of.matrix) * stride + of.begin + of.begin * ld;
  }
};

/// Lanes that share a root or an element of z, whose sums these are: few enough that adding up takes less time than the terms.
inline constexpr int bdsdc_lanes_of_root = 8;
inline constexpr int bdsdc_roots_of_block = stedc_threads / bdsdc_lanes_of_root;

/// Warps of a block of bdsdc_leaves, and its shared memory: U and V of 32 rows and n columns, diagonal and off-diagonal per warp.
inline constexpr int bdsdc_leaf_warps = 4;
SIMT_INLINE constexpr int bdsdc_leaf_elements(int n) { return 2 * 32 * n + 2 * n; }
SIMT_INLINE constexpr int bdsdc_leaf_bytes(int real_bytes, int n) { return bdsdc_leaf_warps * bdsdc_leaf_elements(n) * real_bytes; }

/// Arguments of the kernels for values only. Arrays have n elements per matrix.
template <typename R>
struct BdsdcValues {
  simt::Matrices<R const> d, e;
  simt::Matrices<R> s;
  int* info;
  simt::Index const* sizes;
  simt::Index count;
  int n;
  R *diagonal, *beside;  ///< squares
  R* values;
  R *tolerances, *scales, *backs;  ///< as in BdsdcWork
  int* below;                      ///< per matrix: number of values below each of bdsdc_points_of_matrix
  int above;                       ///< matrices of up to so many rows are passed over

  SIMT_INLINE int rows_of(simt::Index b) const {
    int const rows = sizes ? static_cast<int>(sizes[b]) : n;
    return rows > above ? rows : 0;
  }
};

/// Bisection: number of initial points that all values of a matrix share, and lanes per value. More lanes take fewer steps, but more
/// counts in all.
inline constexpr int bdsdc_points_of_matrix = 1024;
inline constexpr int bdsdc_lanes_of_value = 4;

/// Most rows of a matrix whose values a block computes with a thread for each, in one launch.
inline constexpr int bdsdc_block_most = 256;
SIMT_INLINE constexpr int bdsdc_block_threads(int n) { return (n + 31) / 32 * 32; }
/// Points that all values of a matrix share there, up to bdsdc_points_of_matrix
SIMT_INLINE constexpr int bdsdc_block_points(int n) { return 4 * ((n + 63) / 64 * 64); }
/// Squares of d and e, the values found, squares of estimates before and after a step, a number of each warp, counts
SIMT_INLINE constexpr int bdsdc_block_bytes(int real_bytes, int n) {
  return (5 * bdsdc_block_threads(n) + 32) * real_bytes + (bdsdc_points_of_matrix + 2 * (bdsdc_block_most / 32)) * 4;
}

}  // namespace myriad
