#pragma once
/// Divide and conquer of tridiagonal matrices of any size by the whole GPU: what host and kernels share.

#include "eigen/divide_and_conquer/divide_memory.cuh"
#include "simt/matrices.hpp"

namespace myriad {

/// Where the leaves of a matrix of n rows begin and which problems are merged: it depends on n and on how many rows a leaf may have alone.
/// Parts begin at multiples of eight, so that columns of their vectors begin at multiples of 16 bytes.
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

/// A merge: what is left when poles have been taken out, and how the columns of both halves are ordered for the products. First come
/// columns of the upper half alone, then, from a multiple of four on, those that have elements in both halves, after them those of the
/// lower half alone, and at last those that are vectors of the merge, too.
struct StedcMerge {
  int count;      ///< poles
  int both;       ///< where columns of both halves begin
  int lower;      ///< and those of the lower half alone
  int terms;      ///< and those that are taken out
  int columns;    ///< all
  int rotations;  ///< of pairs of columns, which come before
};

/// Part of a problem that has begun to be a matrix: see the arrays of StedcWork.
struct StedcProblem {
  simt::Index matrix;
  int number;  ///< of the problem in its matrix
  int begin, middle, end;
  SIMT_INLINE int rows() const { return end - begin; }
};

/// Arguments of the kernels: the batch, the level at hand and the workspace, in which each matrix has one part of every array.
///
/// Arrays with as many elements as a matrix has rows are indexed by rows; so a problem has the part from its first row on. Those that are
/// told to have some more have four more for each problem.
template <typename R>
struct StedcWork {
  simt::Matrices<R const> d, e;  ///< the tridiagonal matrices
  simt::Matrices<R> w;           ///< their values, ascending, times scales
  int* info;                     ///< or null
  simt::Index const* sizes;      ///< of a ragged batch: where a size is 0, w and info stay as they are; or null
  simt::Index count;
  int n;         ///< of a ragged batch an upper bound
  int leaf;      ///< rows of a leaf at most
  int problems;  ///< of a matrix at this level at most
  int level;
  int most;  ///< rows of a problem of this level at most

  R* q;                                     ///< the vectors, n columns
  R* gathered;                              ///< the same in the order of StedcMerge, and some more columns
  R* elements;                              ///< of the vectors of merges, of which each has its own rows and columns, and some more rows
  simt::Index ld, stride, gathered_stride;  ///< of these
  simt::Index line;                         ///< elements of a matrix of all that follow
  R* values;                                ///< the diagonal, and then the value of each column
  R* beside;                                ///< the diagonal
  R* poles;
  R* z;
  R* offsets;     ///< of roots
  R* out_values;  ///< of what is taken out of a merge
  R* cosines;     ///< of rotations
  R* sines;
  unsigned* origins;  ///< of a pole: its column in the problem, and in which halves that has elements, by two bits
  unsigned* out_origins;
  unsigned* rotated_out;  ///< the two columns of a rotation, likewise
  unsigned* rotated;
  unsigned* sources;   ///< where each column of `gathered` comes from, likewise; some more
  int* rows;           ///< the pole of each row of `elements`, or -1; some more
  int* order;          ///< the column of each value, at the end
  StedcMerge* merges;  ///< of each matrix `problems`
  int* leaf_info;      ///< of each matrix `leaves`
  int leaves;
  R* tolerances;  ///< what is nothing beside each matrix
  R* scales;      ///< what takes back that the matrix from which each comes was scaled
  R* backs;       ///< what takes back that it was brought to size one; NaN where it has NaN or infinity
  int* below;     ///< of each matrix, how many values are below each of points_of_bisection

  // Products, two for each problem.
  R** a;
  R** b;
  R** c;
  simt::Index *product_rows, *product_terms, *product_columns;

  SIMT_INLINE int rows_of(simt::Index b) const { return sizes ? static_cast<int>(sizes[b]) : n; }
  SIMT_INLINE StedcTree tree(simt::Index b) const { return {rows_of(b), leaf}; }
  /// Problem `at` of all of the level; of no rows where the matrix has no such problem.
  SIMT_INLINE StedcProblem problem(simt::Index at) const {
    simt::Index const b = at / problems;
    int const m = static_cast<int>(at % problems);
    StedcTree const t = tree(b);
    if (level > t.levels || m >= t.problems(level)) return {b, m, 0, 0, 0};
    return {b, m, t.begin(level, m), level == 0 ? 0 : t.begin(level - 1, 2 * m + 1), t.begin(level, m + 1)};
  }
  SIMT_INLINE simt::Index all_problems() const { return problems * count; }
  /// Where a problem begins in arrays, and in those that have some more.
  SIMT_INLINE simt::Index at(StedcProblem const& of) const { return of.matrix * line + of.begin; }
  SIMT_INLINE simt::Index at_more(StedcProblem const& of) const { return at(of) + 4 * of.number; }
  SIMT_INLINE R* vectors(StedcProblem const& of) const { return q + of.matrix * stride + of.begin + of.begin * ld; }
  SIMT_INLINE R* columns(StedcProblem const& of) const {
    return gathered + of.matrix * gathered_stride + of.begin + (of.begin + 4 * of.number) * ld;
  }
  SIMT_INLINE R* matrix(StedcProblem const& of) const { return elements + of.matrix * stride + of.begin + of.begin * ld; }
  /// The element beside the diagonal where a problem was torn into two.
  SIMT_INLINE R tear(StedcProblem const& of) const { return beside[of.matrix * line + of.middle - 1]; }
  SIMT_INLINE R strength(StedcProblem const& of) const { return R(2) * simt::magnitude(tear(of)); }
};

/// Threads of the kernels but stedc_leaves, and the rows or columns that a block has.
inline constexpr int stedc_threads = 256;
inline constexpr int stedc_warps = stedc_threads / 32;
inline constexpr int stedc_sorted_rows = 8;
inline constexpr int stedc_shared_bytes = 512;

/// Bisection: the points that all values of a matrix have in common at first, and the lanes that share a value.
inline constexpr int points_of_bisection = 4096;
inline constexpr int lanes_of_value = 16;

/// A leaf of up to n rows has a block of 4 n threads, and the vectors, columns at an odd distance, the diagonal and what is beside it in
/// shared memory; then comes what divide and conquer wants there. In bytes.
SIMT_INLINE constexpr int stedc_leaf_line(int n) { return n | 1; }
SIMT_INLINE constexpr int stedc_leaf_memory(int real_bytes, int n) {
  return 16 * simt::ceil_div((n * stedc_leaf_line(n) + 2 * n) * real_bytes, 16);
}
SIMT_INLINE constexpr int stedc_leaf_bytes(int real_bytes, int n) {
  return stedc_leaf_memory(real_bytes, n) + simt::DivideMemory(real_bytes, n).bytes;
}

}  // namespace myriad
