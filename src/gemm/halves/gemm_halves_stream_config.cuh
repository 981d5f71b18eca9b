#pragma once
/// 16-bit products with all of A in registers: config and shared memory, shared by host and kernel.

#include "gemm/pipelined/gemm_pipelined_config.cuh"

namespace myriad {

/// One compiled kernel, for products of m-by-k and k-by-n matrices. A block has one product at a time, with all of A in the registers of
/// its warps. B and C go through `stages` stages in shared memory, `columns` columns at a time, followed by those of the next product. With
/// one stage, of all columns, a product is loaded at once, and blocks overlap each other's waiting.
///
/// A warp has `down` tiles of 16 rows. Any columns may form a tile, since that changes no sum: in matrices that lie in shared memory as in
/// global memory, neighbours in a tile are column_step columns apart, so that lanes hit different banks.
struct GemmHalvesStream {
  int m, n, k;
  int columns;
  int stages;
  int warps, down;
  int column_step;
  int words;                   ///< 1: elements with an even position in their matrix begin at a word, in every line
  int blocks_per_sm;           ///< resident blocks that registers must suffice for
  Lines a, b;                  ///< C is by columns
  int a_unit, b_unit, c_unit;  ///< elements of a line that are moved at once; 0: a matrix without gaps, as one span at any alignment
  constexpr bool operator==(GemmHalvesStream const&) const = default;

  SIMT_INLINE constexpr int threads() const { return 32 * warps; }
  SIMT_INLINE constexpr int chunks() const { return simt::ceil_div(n, columns); }
  /// Rows of all tiles; more than m where tiles extend beyond the matrix.
  SIMT_INLINE constexpr int rows() const { return warps * down * 16; }
  SIMT_INLINE constexpr int terms(bool complex) const { return simt::ceil_div(k, complex ? 8 : 16) * (complex ? 8 : 16); }
  /// Whether registers suffice for A in two orders of terms, in real.
  SIMT_INLINE constexpr bool has_both_orders() const { return down * terms(false) / 2 <= 176; }
};

/// How columns form tiles of eight: the i-th tile of a group has the columns from `column(i)` on, `step` apart, as far as they exist. Steps
/// are powers of two, smaller ones where few columns are left. If `alternate`, the columns of a tile are all even or all odd.
struct GemmHalvesColumns {
  struct Group {
    int first, log_step, tiles;
    bool full;  ///< whether all tiles have eight columns

    SIMT_INLINE constexpr int step() const { return 1 << log_step; }
    SIMT_INLINE constexpr int column(int tile) const {
      return first + (tile >> log_step << (log_step + 3)) + (tile & ((1 << log_step) - 1));
    }
  };
  Group group[5]{};
  int groups = 0;
  bool alternate;

  SIMT_INLINE constexpr GemmHalvesColumns(int columns, int step, bool alternates, bool side_by_side)
      : alternate(alternates && !side_by_side) {
    int const least = alternate ? 1 : 0;
    int log = least;
    while (!side_by_side && 2 << log <= step) ++log;
    for (int first = 0; first < columns; ++groups) {
      int const left = columns - first;
      while (log > least && left <= 6 << log) --log;
      int const all = left >> (log + 3);
      group[groups] = {first, log, all > 0 ? all << log : simt::smaller(1 << log, left), all > 0};
      first += (all > 0 ? all : 1) << (log + 3);
    }
  }
};

/// Layout of a matrix, or of some columns of it, in shared memory: lines are `pitch` elements apart.
struct GemmHalvesLines {
  int pitch;
  int bytes;

  SIMT_INLINE constexpr GemmHalvesLines(int element_bytes, int distance, int elements)
      : pitch(distance), bytes(simt::ceil_div(elements * element_bytes, 16) * 16) {}
};

/// The dynamic shared memory of a block: A, then the stages, each with columns of B and of C.
struct GemmHalvesStreamMemory {
  GemmHalvesLines a, b, c;
  int stage;  ///< bytes of a stage
  int bytes;

  SIMT_INLINE constexpr GemmHalvesStreamMemory(int element_bytes, int output_bytes, bool complex, GemmHalvesStream const& g)
      : a(operand(element_bytes, complex, g.a == Lines::columns, g.a_unit == 0, g.m, g.k, g.rows(), g.terms(complex))),
        b(operand(element_bytes, complex, g.b == Lines::rows, g.b_unit == 0, g.n, g.k, g.columns, g.terms(complex))),
        c(g.c_unit == 0 ? GemmHalvesLines(output_bytes, g.m, g.m * simt::smaller(g.columns, g.n) + 16 / output_bytes)
                        : padded(output_bytes, g.m, g.columns, 16 / output_bytes)),
        stage(b.bytes + c.bytes),
        bytes(simt::larger(a.bytes + g.stages * stage, reach_of_a(element_bytes, complex, g))) {}

  /// Bytes read from the start of A on: all rows and terms of its tiles. Those beyond A, in stages or behind them, are not used.
  SIMT_INLINE static constexpr int reach_of_a(int element_bytes, bool complex, GemmHalvesStream const& g) {
    if (g.a_unit != 0) return 0;
    int const lines = g.rows(), terms = g.terms(complex);
    return (16 / element_bytes + (g.a == Lines::columns ? terms * g.m + lines : lines * g.k + terms)) * element_bytes;
  }

 private:
  /// A or B, with `count` lines and `terms` terms in memory, and `all` and `all_terms` that are read; `by_terms`: lines are terms. In one
  /// piece, lines follow each other as in memory, and what is read beyond the last one is not used; else there is room for terms that are
  /// zero.
  SIMT_INLINE static constexpr GemmHalvesLines operand(int element_bytes, bool complex, bool by_terms, bool in_one_piece, int count,
                                                       int terms, int all, int all_terms) {
    int const of_chunk = 16 / element_bytes;
    if (in_one_piece)
      return {element_bytes, by_terms ? count : terms,
              of_chunk + (by_terms ? terms * count + all : simt::smaller(all, count) * terms + all_terms)};
    // Complex words are read one by one where lines are terms: four terms must be in different banks.
    return by_terms ? padded(element_bytes, all, all_terms, complex ? 2 * of_chunk : of_chunk)
                    : padded(element_bytes, all_terms, all, of_chunk);
  }
  /// The pitch is an odd number of units, so that equal positions of neighbouring lines are in different banks.
  SIMT_INLINE static constexpr GemmHalvesLines padded(int element_bytes, int length, int lines, int unit) {
    int const pitch = (simt::ceil_div(length, unit) | 1) * unit;
    return {element_bytes, pitch, pitch * lines};
  }
};

}  // namespace myriad
