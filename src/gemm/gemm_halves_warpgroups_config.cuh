#pragma once
/// Products of matrices of 16-bit numbers by the warpgroups of compute capability 9.0: what host and kernel share.

#include "gemm/gemm_arguments.cuh"

namespace myriad {

/// One compiled kernel: a block has an m-by-n tile of C, both multiples of 8 and n at most 256, and brings k = 32 or 64 columns of A and
/// rows of B at a time to one of the `stages` parts of a ring in shared memory. A warpgroup has 64 rows of the tile and all its columns. C
/// is by rows.
struct GemmHalvesWarpgroups {
  int m, n, k;
  int stages;
  int blocks_per_sm;  ///< for which registers have to suffice
  Lines a, b;
  constexpr bool operator==(GemmHalvesWarpgroups const&) const = default;

  SIMT_INLINE constexpr int warpgroups() const { return simt::ceil_div(m, 64); }
  /// Threads that sum, and behind them those that bring A and B.
  SIMT_INLINE constexpr int bringing() const { return blocks_per_sm > 1 ? 64 : 128; }
  SIMT_INLINE constexpr int summing() const { return 128 * warpgroups(); }
  SIMT_INLINE constexpr int threads() const { return summing() + bringing(); }
  /// Columns of products, which are made for multiples of 32.
  SIMT_INLINE constexpr int columns() const { return simt::ceil_div(n, 32) * 32; }
};

/// How A or B lies in a part of the ring, see simt::ProductOperand: `length` bytes of a line, or of a term of 64 lines, are a span, one
/// after the other; by terms those of the first 64 lines, then those of the next ones.
struct GemmHalvesSpans {
  int length, count;

  SIMT_INLINE constexpr GemmHalvesSpans(bool by_terms, int lines, int terms)
      : length(by_terms ? 128 : 2 * terms), count(by_terms ? simt::ceil_div(lines, 64) * terms : lines) {}
  SIMT_INLINE constexpr int bytes() const { return length * count; }
  /// Where the chunk of 16 bytes with this number is, of a span.
  SIMT_INLINE static constexpr int place(int length, int span, int chunk) {
    auto const number = static_cast<unsigned>(span);
    return span * length + (chunk ^ static_cast<int>(length == 128 ? number % 8 : number / 2 % 4)) * 16;
  }
};

/// The dynamic shared memory of a block: the parts of the ring. A part has terms of A and B, of which B is behind A, or, after the last
/// terms of a tile, the rows of C of one or more warpgroups.
struct GemmHalvesWarpgroupsMemory {
  GemmHalvesSpans a, b;
  int c_pitch;     ///< elements from row to row: an odd number of 16-byte chunks, one more than a row has, which may begin between two
  int c;           ///< bytes of the rows of a warpgroup
  int c_together;  ///< warpgroups whose rows are in one part
  int c_parts;     ///< parts that C takes
  int part, bytes;
  int lag;  ///< how many parts are asked for before one is waited for: while C is in its parts there are only the others

  SIMT_INLINE constexpr GemmHalvesWarpgroupsMemory(int output_bytes, GemmHalvesWarpgroups const& g)
      : a(g.a == Lines::columns, 64 * g.warpgroups(), g.k),
        b(g.b == Lines::rows, g.columns(), g.k),
        c_pitch(((simt::ceil_div(g.n * output_bytes, 16) + 1) | 1) * (16 / output_bytes)),
        c(64 * c_pitch * output_bytes),
        c_together(simt::larger((a.bytes() + b.bytes()) / 8 * 9 / c, 1)),
        c_parts(simt::ceil_div(g.warpgroups(), c_together)),
        part(simt::ceil_div(simt::larger(a.bytes() + b.bytes(), c_together * c), 1024) * 1024),
        bytes(g.stages * part),
        lag(simt::larger(simt::smaller(g.stages - 2, g.stages - c_parts), 1)) {}
};

}  // namespace myriad
