#pragma once
/// Products on a GPU of matrices that come as they lie in memory, each in one piece: what host and kernel share.

#include "gemm/gemm_arguments.cuh"

namespace myriad {

/// One compiled kernel, for products of m-by-k and k-by-n matrices without gaps, B and C by columns. Blocks go from product to product. A
/// has `a_stages` places in shared memory; B and C come to a ring of `stages` parts, `columns` columns at a time, and those of the next
/// product after those of this one.
///
/// One warp has the copies to and from shared memory. Of double numbers each of the others has 16 rows of A in its registers, and
/// multiplies on tensor cores; of single ones each lane multiplies for itself, `held_rows` rows of A and `held_columns` columns of a part,
/// and where C would take the shared memory of another block reads and writes its elements of C where they lie.
struct GemmBulk {
  int m, n, k;
  int columns;
  int stages, a_stages;
  int blocks_per_sm;  ///< for which registers have to suffice
  Lines a;
  int held_rows = 0, held_columns = 0;  ///< of a lane; 0: for tensor cores
  /// Of lanes: so many elements, of every column of A, B and, if A comes by columns, C, from the first one on begin at a multiple of their
  /// size.
  int unit = 1;
  int c_shared = 1;  ///< whether C comes to shared memory; 0: of lanes alone
  constexpr bool operator==(GemmBulk const&) const = default;

  SIMT_INLINE constexpr int row_lanes() const { return simt::ceil_div(m, held_rows); }
  SIMT_INLINE constexpr int column_lanes() const { return simt::ceil_div(columns, held_columns); }
  SIMT_INLINE constexpr int warps() const {  ///< that multiply
    return held_rows == 0 ? simt::ceil_div(m, 16) : simt::ceil_div(row_lanes() * column_lanes(), 32);
  }
  SIMT_INLINE constexpr int threads() const { return 32 * (warps() + 1); }
  SIMT_INLINE constexpr int parts() const { return simt::ceil_div(n, columns); }  ///< of B and C
};

/// The dynamic shared memory of a block, distances in bytes: places of A, parts of B and C, and the barriers that tell of each part and
/// place that it is full and that it has been used. In its place a matrix begins as far from a multiple of 16 bytes as in memory.
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
  /// How far lanes read of the last part: all columns that they hold, although what is not the part's is not used.
  SIMT_INLINE constexpr int reach(int element_bytes, GemmBulk const& g) const {
    if (g.held_rows == 0) return 0;
    return barriers - part + place(element_bytes, g.held_columns * g.column_lanes() * g.k);
  }
  SIMT_INLINE static constexpr int place(int element_bytes, int elements) {
    return simt::ceil_div(elements * element_bytes + 16 - element_bytes, 16) * 16;
  }
};

/// How 16 rows or columns go to lanes: number i, in which the two lowest bits are those of lanes that read together, has this place among
/// the sixteen. Which make up a tile is free, since it changes no sum.
struct GemmBulkPlaces {
  int bit[4];  ///< of a place, for each bit of i

  SIMT_INLINE constexpr int operator()(int i) const {
    return (i & 1) << bit[0] | (i >> 1 & 1) << bit[1] | (i >> 2 & 1) << bit[2] | (i >> 3 & 1) << bit[3];
  }
};
/// Four lines and four terms (of complex numbers two) are read together, of a matrix whose lines, or terms, are `distance` elements apart.
/// They are in different banks unless that is a multiple of 8 (4).
SIMT_INLINE constexpr GemmBulkPlaces gemm_bulk_places(bool complex, bool by_terms, int distance) {
  if (distance % 2 == 1) return complex ? GemmBulkPlaces{{1, 2, 0, 3}} : GemmBulkPlaces{{2, 3, 0, 1}};
  if (distance % 4 == 2 && by_terms) return complex ? GemmBulkPlaces{{0, 2, 1, 3}} : GemmBulkPlaces{{0, 3, 1, 2}};
  if (distance % 4 == 2 && !complex) return {{1, 2, 0, 3}};
  return {{0, 1, 2, 3}};
}

}  // namespace myriad
