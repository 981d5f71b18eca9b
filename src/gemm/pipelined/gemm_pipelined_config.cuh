#pragma once
/// Products by tiles through a pipeline of asynchronous copies: config and shared memory, shared by host and kernel.

#include "gemm/gemm_arguments.cuh"

namespace myriad {

/// How factors are multiplied: as they are or, in single precision on tensor cores, rounded to 11 bits (TF32), or split into two
/// such numbers, of which three products are summed.
enum class Factors : int { whole, rounded, split };

/// One compiled kernel: a block has an m-by-n tile of C, and loads k columns of A and rows of B at a time to one of `stages` stages in
/// shared memory. The tile is divided among warps_down times warps_across warps. In double, warps multiply on tensor cores, by tiles of 16
/// by 8. In single, each lane multiplies by itself, unless factors are rounded or split.
struct GemmPipelined {
  int m, n, k;
  int stages;
  int warps_down, warps_across;
  int blocks_per_sm;  ///< resident blocks that registers must suffice for
  int c_beside;       ///< 1: C has room beside the stages and arrives with the terms; 0: it is read after the last sum
  Lines a, b, c;
  Structure structure;  ///< of A
  Written written;      ///< of C
  Factors factors = Factors::whole;
  int scheduled = 0;  ///< 1: for ragged batches with a schedule
  constexpr bool operator==(GemmPipelined const&) const = default;

  SIMT_INLINE constexpr int threads() const { return 32 * warps_down * warps_across; }
};

/// Number of loads by which a lane reads its `held` elements of a line: of 16 bytes, then a half and a quarter.
SIMT_INLINE constexpr int gemm_pipelined_pieces(int element_bytes, int held) {
  int const of_chunk = 16 / element_bytes, rest = held % of_chunk;
  return held / of_chunk + rest / 2 + rest % 2;
}

/// The dynamic shared memory of a block: the stages, and the tile of C beside them or, after they have been used, in their place. Offsets
/// are in elements.
///
/// For tensor cores A and B keep the order that they have in memory, so that 16-byte copies are used where possible. Lanes read several
/// elements of one term at once, so a matrix that does not arrive term by term is transposed as it is copied, element by element. Lines are
/// padded so that readers, and threads that transpose, hit different banks.
struct GemmPipelinedMemory {
  bool tensor;
  bool a_by_terms, b_by_terms;  ///< a line is one term: a column of A, a row of B
  int a_pitch, b_pitch, c_pitch;
  int b, stage;  ///< offset of B in a stage, and of the next stage
  int c;         ///< offset of the tile of C, in bytes
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
  /// On tensor cores, eight lanes along one side of a tile and four terms must hit different banks. By lanes, which read along lines, eight
  /// lines must, to each of which a 16-byte chunk is written.
  SIMT_INLINE static constexpr int padding(int real_bytes, bool complex, bool tensor, bool by_terms, int length) {
    int const of_chunk = 16 / real_bytes / (complex ? 2 : 1);
    if (real_bytes == 4 && tensor) return by_terms ? length % 16 == 0 ? 8 : 0 : 4;
    if (real_bytes == 4) return length / of_chunk % 2 == 0 ? of_chunk : 0;
    if (by_terms) return 4;
    return complex ? 2 : length % 8 == 0 ? 4 : 0;
  }
};

}  // namespace myriad
