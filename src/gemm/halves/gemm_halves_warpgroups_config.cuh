#pragma once
/// 16-bit products by the warpgroups of compute capability 9.0: config and shared memory, shared by host and kernel.

#include "gemm/gemm_arguments.cuh"

namespace myriad {

/// One compiled kernel: a block has a tile of C with 64 rows per warpgroup and `columns` columns, a multiple of 32 and at most 256. It
/// loads 64 columns of A and rows of B at a time to one of `stages` stages in shared memory. C, by rows, has `c_stages` stages beside them.
struct GemmHalvesWarpgroups {
  int warpgroups, columns;
  int stages, c_stages;
  Lines a, b;
  constexpr bool operator==(GemmHalvesWarpgroups const&) const = default;

  static constexpr int terms = 64;  ///< of a stage
  SIMT_INLINE constexpr int rows() const { return 64 * warpgroups; }
  /// Threads that sum; behind them is a warpgroup that copies.
  SIMT_INLINE constexpr int summing() const { return 128 * warpgroups; }
  SIMT_INLINE constexpr int threads() const { return summing() + 128; }
  /// Registers of a thread that sums, and of one that copies, where they differ: of 65536 in all, which threads share equally at first.
  SIMT_INLINE constexpr int registers() const { return warpgroups == 3 ? 160 : 240; }
  SIMT_INLINE constexpr int registers_to_copy() const { return warpgroups == 3 ? 32 : 24; }
  /// Lines of A and B in a TMA box: all of the tile or, by terms, the terms of 64 lines.
  SIMT_INLINE constexpr bool a_by_terms() const { return a == Lines::columns; }
  SIMT_INLINE constexpr bool b_by_terms() const { return b == Lines::rows; }
  SIMT_INLINE constexpr int a_lines_of_box() const { return a_by_terms() ? terms : rows(); }
  SIMT_INLINE constexpr int b_lines_of_box() const { return b_by_terms() ? terms : columns; }
};

/// The dynamic shared memory of a block: stages of A and then B, stages of C, then mbarriers. Everything is in spans of 128 bytes, see
/// simt::copy_box. A span of A and B has 64 terms of a line, or 64 lines of a term, with all terms of 64 lines before the next ones. A span
/// of C is a piece of a row, with all rows of a piece before the next piece.
struct GemmHalvesWarpgroupsMemory {
  int a, b, part;        ///< bytes
  int in_piece;          ///< columns of a piece
  int pieces, piece, c;  ///< of a tile of C: number of pieces, bytes of one, and of all
  int barriers, bytes;   ///< offset of the mbarriers; bytes of all

  SIMT_INLINE constexpr GemmHalvesWarpgroupsMemory(int output_bytes, GemmHalvesWarpgroups const& g)
      : a(128 * g.rows()),
        b(128 * (g.b_by_terms() ? simt::ceil_div(g.columns, 64) * 64 : g.columns)),
        part(a + b),
        in_piece(128 / output_bytes),
        pieces(simt::ceil_div(g.columns, in_piece)),
        piece(128 * g.rows()),
        c(pieces * piece),
        barriers(g.stages * part + g.c_stages * c),
        bytes(barriers + 16 * (g.stages + g.c_stages)) {}
};

/// Arguments of the kernel. An operand that the whole batch shares is mapped as one matrix.
template <typename T, typename Output>
struct GemmBoxes {
  simt::TensorMap a, b, c;
  GemmArguments<T, Output> product;
};

}  // namespace myriad
