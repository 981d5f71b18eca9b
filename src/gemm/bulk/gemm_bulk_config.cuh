#pragma once
/// Products of matrices without gaps by bulk copies: config, shared memory and bank layout, shared by host and kernel.

#include "gemm/gemm_arguments.cuh"

namespace myriad {

/// One compiled kernel, for products of m-by-k and k-by-n matrices without gaps, B and C by columns. Blocks stride over the products. A has
/// `a_stages` stages in shared memory. B and C go through `stages` stages of `columns` columns; the parts of the next product follow those
/// of this one.
///
/// One warp copies to and from shared memory. In double, each other warp holds 16 rows of A in registers and multiplies on tensor cores. In
/// single, each lane multiplies `held_rows` rows of A by `held_columns` columns of a part. Where C would take the shared memory of another
/// block, lanes read and write it in global memory.
struct GemmBulk {
  int m, n, k;
  int columns;
  int stages, a_stages;
  int blocks_per_sm;  ///< resident blocks that registers must suffice for
  Lines a;
  int held_rows = 0, held_columns = 0;  ///< per lane; 0: tensor cores
  /// In single: elements that a lane reads at once. Every column of A, B and, if A is by columns, C consists of units that begin at a
  /// multiple of their size.
  int unit = 1;
  int c_shared = 1;  ///< whether C is copied to shared memory; 0 only in single
  constexpr bool operator==(GemmBulk const&) const = default;

  SIMT_INLINE constexpr int row_lanes() const { return simt::ceil_div(m, held_rows); }
  SIMT_INLINE constexpr int column_lanes() const { return simt::ceil_div(columns, held_columns); }
  SIMT_INLINE constexpr int warps() const {  ///< that multiply
    return held_rows == 0 ? simt::ceil_div(m, 16) : simt::ceil_div(row_lanes() * column_lanes(), 32);
  }
  SIMT_INLINE constexpr int threads() const { return 32 * (warps() + 1); }
  SIMT_INLINE constexpr int parts() const { return simt::ceil_div(n, columns); }  ///< number of parts of B and C
};

/// The dynamic shared memory of a block, as offsets in bytes: stages of A, stages of B and C, and for each stage an mbarrier for "full" and
/// one for "used". Within its stage a matrix is as far from a multiple of 16 bytes as in global memory.
struct GemmBulkMemory {
  int a, part_of_b, part;
  int barriers;
  int bytes;

  SIMT_INLINE constexpr GemmBulkMemory(int element_bytes, GemmBulk const& g)
      : a(place(element_bytes, g.m * g.k)),
        part_of_b(place(element_bytes, g.k * simt::smaller(g.columns, g.n))),
        part(part_of_b + (g.c_shared == 0 ? 0 : place(element_bytes, g.m * simt::smaller(g.columns, g.n)))),
        barriers(g.a_stages * a + g.stages * part),
        bytes(simt::larger(barriers + 2 * 8 * (g.a_stages + g.stages), reach(element_bytes, g))) {}

 private:
  /// Bytes that lanes read in the last stage: all columns that they hold, although those beyond the part are not used.
  SIMT_INLINE constexpr int reach(int element_bytes, GemmBulk const& g) const {
    if (g.held_rows == 0) return 0;
    return barriers - part + place(element_bytes, g.held_columns * g.column_lanes() * g.k);
  }
  SIMT_INLINE static constexpr int place(int element_bytes, int elements) {
    return simt::ceil_div(elements * element_bytes + 16 - element_bytes, 16) * 16;
  }
};

/// How 16 rows or columns are assigned to lanes: number i has this place among the sixteen. The two lowest bits of i are those of lanes
/// that read together. The assignment changes no sum.
struct GemmBulkPlaces {
  int bit[4];  ///< bit of the place for each bit of i

  SIMT_INLINE constexpr int operator()(int i) const {
    return (i & 1) << bit[0] | (i >> 1 & 1) << bit[1] | (i >> 2 & 1) << bit[2] | (i >> 3 & 1) << bit[3];
  }
};
/// Lanes read four lines and four terms (complex: two) together, from a matrix whose lines, or terms, are `distance` elements apart. They
/// hit different banks unless that is a multiple of 8 (complex: 4).
SIMT_INLINE constexpr GemmBulkPlaces gemm_bulk_places(bool complex, bool by_terms, int distance) {
  if (distance % 2 == 1) return complex ? GemmBulkPlaces{{1, 2, 0, 3}} : GemmBulkPlaces{{2, 3, 0, 1}};
  if (distance % 4 == 2 && by_terms) return complex ? GemmBulkPlaces{{0, 2, 1, 3}} : GemmBulkPlaces{{0, 3, 1, 2}};
  if (distance % 4 == 2 && !complex) return {{1, 2, 0, 3}};
  return {{0, 1, 2, 3}};
}

}  // namespace myriad
