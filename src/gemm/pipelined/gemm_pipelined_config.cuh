#pragma once
/// Products of matrices on a GPU, tile by tile, with copies of the next terms while these are summed: what host and kernel share.

#include "gemm/gemm_arguments.cuh"

namespace myriad {

/// How factors are multiplied: as they are; or, of single numbers on tensor cores, each rounded to 11 bits (TF32), or as the sum of two
/// such, of which three products are summed.
enum class Factors : int { whole, rounded, split };

/// One compiled kernel: a block has an m-by-n tile of C, and brings k columns of A and rows of B at a time to one of the `stages` parts of
/// a ring in shared memory. The tile is divided among warps_down times warps_across warps. Those of double numbers multiply on
/// tensor cores, tiles of 16 by 8; of single ones each lane multiplies for itself, if its factors are to be whole.
struct GemmPipelined {
  int m, n, k;
  int stages;
  int warps_down, warps_across;
  int blocks_per_sm;  ///< for which registers have to suffice
  int c_beside;       ///< 1: C has room beside the ring and comes with the terms; 0: it is read when all is summed
  Lines a, b, c;
  Structure structure;  ///< of A
  Written written;      ///< of C
  Factors factors = Factors::whole;
  int scheduled = 0;  ///< 1: a ragged batch has a schedule
  constexpr bool operator==(GemmPipelined const&) const = default;

  SIMT_INLINE constexpr int threads() const { return 32 * warps_down * warps_across; }
};

/// In how many pieces a lane reads the `held` elements that it has of a line: as large ones as 16 bytes hold, then a half and a quarter.
SIMT_INLINE constexpr int gemm_pipelined_pieces(int element_bytes, int held) {
  int const of_chunk = 16 / element_bytes, rest = held % of_chunk;
  return held / of_chunk + rest / 2 + rest % 2;
}

/// The dynamic shared memory of a block: the parts of the ring, and beside them or, when they have been used, in their place the tile of C.
/// Distances are in elements.
///
/// For tensor cores A and B are there as they come, so that they are copied by 16 bytes where memory allows it. Lanes read several elements
/// of a term at once: what does not come term by term is transposed as it is copied, element by element. Between two lines there is room
/// that lets those who read meet different banks, and those who transpose.
struct GemmPipelinedMemory {
  bool tensor;
  bool a_by_terms, b_by_terms;  ///< a line is one term: a column of A, a row of B
  int a_pitch, b_pitch, c_pitch;
  int b, stage;  ///< where B begins in a part, and the next part
  int c;         ///< where the tile of C begins, in bytes
  int bytes;

  SIMT_INLINE constexpr GemmPipelinedMemory(int real_bytes, bool complex, GemmPipelined const& g)
      : tensor(real_bytes != 4 || g.factors != Factors::whole),
        a_by_terms(!tensor || g.a == Lines::columns),
        b_by_terms(!tensor || g.b == Lines::rows),
        a_pitch((a_by_terms ? g.m : g.k) + padding(real_bytes, complex, tensor, a_by_terms, a_by_terms ? g.m : g.k)),
        b_pitch((b_by_terms ? g.n : g.k) + padding(real_bytes, complex, tensor, b_by_terms, b_by_terms ? g.n : g.k)),
        c_pitch((g.c == Lines::columns ? g.m : g.n) + 16 / (real_bytes * (complex ? 2 : 1))),
        b(a_pitch * (a_by_terms ? g.k : g.m)),
        stage(b + b_pitch * (b_by_terms ? g.k : g.n)),
        c(0),
        bytes(0) {
    int const element_bytes = real_bytes * (complex ? 2 : 1);
    int const ring = g.stages * stage * element_bytes, tile = c_pitch * (g.c == Lines::columns ? g.n : g.m) * element_bytes;
    c = g.c_beside ? ring : 0;
    bytes = c + tile > ring ? c + tile : ring;
  }

 private:
  /// Of tensor cores, eight lanes along one side of a tile and four terms are to be in different banks; of lanes, which read along lines,
  /// eight lines of which a chunk of 16 bytes each is written.
  SIMT_INLINE static constexpr int padding(int real_bytes, bool complex, bool tensor, bool by_terms, int length) {
    int const of_chunk = 16 / real_bytes / (complex ? 2 : 1);
    if (real_bytes == 4 && tensor) return by_terms ? length % 16 == 0 ? 8 : 0 : 4;
    if (real_bytes == 4) return length / of_chunk % 2 == 0 ? of_chunk : 0;
    if (by_terms) return 4;
    return complex ? 2 : length % 8 == 0 ? 4 : 0;
  }
};

}  // namespace myriad
