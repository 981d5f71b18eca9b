#pragma once
/// Products of matrices of 16-bit numbers by the warpgroups of compute capability 9.0: what host and kernel share.

#include "gemm/gemm_arguments.cuh"

namespace myriad {

/// One compiled kernel: a block has a tile of C of 64 rows to a warpgroup and `columns` columns, a multiple of 32 and at most 256, and
/// brings 64 columns of A and rows of B at a time to one of the `stages` parts of a ring in shared memory. C, by rows, has `c_stages`
/// places beside it.
struct GemmHalvesWarpgroups {
  int warpgroups, columns;
  int stages, c_stages;
  Lines a, b;
  constexpr bool operator==(GemmHalvesWarpgroups const&) const = default;

  static constexpr int terms = 64;  ///< of a part
  SIMT_INLINE constexpr int rows() const { return 64 * warpgroups; }
  /// Those that sum, and behind them a warpgroup that copies.
  SIMT_INLINE constexpr int summing() const { return 128 * warpgroups; }
  SIMT_INLINE constexpr int threads() const { return summing() + 128; }
  /// Of a thread that sums, and of one that copies, where they differ: of 65536 in all, which all have alike at first.
  SIMT_INLINE constexpr int registers() const { return warpgroups == 3 ? 160 : 240; }
  SIMT_INLINE constexpr int registers_to_copy() const { return warpgroups == 3 ? 32 : 24; }
  /// Lines of A and B that come as one box: all of the tile, or, by terms, the terms of 64 of them.
  SIMT_INLINE constexpr bool a_by_terms() const { return a == Lines::columns; }
  SIMT_INLINE constexpr bool b_by_terms() const { return b == Lines::rows; }
  SIMT_INLINE constexpr int a_lines_of_box() const { return a_by_terms() ? terms : rows(); }
  SIMT_INLINE constexpr int b_lines_of_box() const { return b_by_terms() ? terms : columns; }
};

/// The dynamic shared memory of a block: the parts of the ring, of which B is behind A, then the places of C, then barriers. Everything is
/// in spans of 128 bytes, see simt::copy_box: of A and B 64 terms of a line, or 64 lines of a term, all terms of 64 lines before the next
/// ones; of C a piece of as many columns of a row, all rows of a piece before the next one.
struct GemmHalvesWarpgroupsMemory {
  int a, b, part;        ///< bytes
  int in_piece;          ///< columns
  int pieces, piece, c;  ///< of a tile of C; their bytes, and those of all
  int barriers, bytes;   ///< where they are; of all

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

/// What the kernel is given. Of matrices that are the same for all of the batch there is one.
template <typename T, typename Output>
struct GemmBoxes {
  simt::TensorMap a, b, c;
  GemmArguments<T, Output> product;
};

}  // namespace myriad
