#pragma once
/// Products of matrices of 16-bit numbers on a GPU of which A is in registers as a whole: what host and kernel share.

#include "gemm/gemm_ring_config.cuh"

namespace myriad {

/// One compiled kernel, for products of m-by-k and k-by-n matrices. A block has one product at a time, the next one after it, and of this
/// all of A in the registers of its warps; B and C come to a ring of `stages` parts in shared memory, `columns` columns at a time.
///
/// A warp has `down` tiles of 16 rows (complex: 8). Which rows and columns make up a tile is free, since it changes no sum: of matrices
/// that are in shared memory as they lie in memory, neighbours in a tile are row_step rows and column_step columns apart, so that lanes
/// meet different banks.
struct GemmHalvesStream {
  int m, n, k;
  int columns;
  int stages;
  int warps, down;
  int row_step;  ///< 0: as the hardware numbers them, side by side; of real numbers else even, with neighbouring rows in one lane
  int column_step;
  int blocks_per_sm;           ///< for which registers have to suffice
  Lines a, b;                  ///< C is by columns
  int a_unit, b_unit, c_unit;  ///< elements of a line that are moved at once; 0: a matrix without gaps, in one piece from anywhere
  constexpr bool operator==(GemmHalvesStream const&) const = default;

  SIMT_INLINE constexpr int threads() const { return 32 * warps; }
  SIMT_INLINE constexpr int chunks() const { return simt::ceil_div(n, columns); }
  /// Of all tiles; these are more than there are where tiles do not end with the matrix.
  SIMT_INLINE constexpr int rows(bool complex) const { return warps * down * (complex ? 8 : 16); }
  SIMT_INLINE constexpr int terms(bool complex) const { return simt::ceil_div(k, complex ? 8 : 16) * (complex ? 8 : 16); }
};

/// Where a matrix, or some columns of it, lie in shared memory: `pitch` elements from one line to the next.
struct GemmHalvesLines {
  int pitch;
  int bytes;

  SIMT_INLINE constexpr GemmHalvesLines(int element_bytes, int distance, int elements)
      : pitch(distance), bytes(simt::ceil_div(elements * element_bytes, 16) * 16) {}
};

/// The dynamic shared memory of a block: A, then the parts of the ring, each with columns of B and of C.
struct GemmHalvesStreamMemory {
  GemmHalvesLines a, b, c;
  int stage;  ///< bytes of a part
  int bytes;

  SIMT_INLINE constexpr GemmHalvesStreamMemory(int element_bytes, int output_bytes, bool complex, GemmHalvesStream const& g)
      : a(operand(element_bytes, complex, g.a == Lines::columns, g.a_unit == 0, g.m, g.k, g.rows(complex), g.terms(complex))),
        b(operand(element_bytes, complex, g.b == Lines::rows, g.b_unit == 0, g.n, g.k, g.columns, g.terms(complex))),
        c(g.c_unit == 0 ? GemmHalvesLines(output_bytes, g.m, g.m * g.columns + 16 / output_bytes)
                        : padded(output_bytes, g.m, g.columns, 16 / output_bytes)),
        stage(b.bytes + c.bytes),
        bytes(a.bytes + g.stages * stage) {}

 private:
  /// A or B, with so many rows or columns and terms in memory, and `all` that are read; `by_terms`: a line is of one term. In one piece
  /// lines follow each other as in memory, and what is read beyond the last one is not used; else there is room for terms that are zero.
  SIMT_INLINE static constexpr GemmHalvesLines operand(int element_bytes, bool complex, bool by_terms, bool in_one_piece, int count,
                                                       int terms, int all, int all_terms) {
    int const of_chunk = 16 / element_bytes;
    if (in_one_piece)
      return {element_bytes, by_terms ? count : terms, of_chunk + (by_terms ? terms * count + all : all * terms + all_terms)};
    // Words of complex numbers are read one by one where lines are terms: four terms are to be in different banks.
    return by_terms ? padded(element_bytes, all, all_terms, complex ? 2 * of_chunk : of_chunk)
                    : padded(element_bytes, all_terms, all, of_chunk);
  }
  /// Lines at an odd number of units, so that the same places of neighbouring ones are in different banks.
  SIMT_INLINE static constexpr GemmHalvesLines padded(int element_bytes, int length, int lines, int unit) {
    int const pitch = (simt::ceil_div(length, unit) | 1) * unit;
    return {element_bytes, pitch, pitch * lines};
  }
};

}  // namespace myriad
