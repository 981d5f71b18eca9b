#pragma once
/// 16-bit products tile by tile: config and shared memory, shared by host and kernel.

#include "gemm/gemm_arguments.cuh"

namespace myriad {

/// One compiled kernel: a block has an m-by-n tile of C, and loads k columns of A and rows of B at a time to one of `stages` stages in
/// shared memory. The tile is divided among warps_down times warps_across warps.
struct GemmHalvesBlocks {
  int m, n, k;
  int stages;
  int warps_down, warps_across;
  int blocks_per_sm;  ///< resident blocks that registers must suffice for
  Lines a, b, c;
  int aligned;        ///< lines of A and B that begin at multiples of 16 bytes: 2: all; 1: all, if the first one does; 0: any may not
  int scheduled = 0;  ///< 1: for ragged batches with a schedule
  constexpr bool operator==(GemmHalvesBlocks const&) const = default;

  SIMT_INLINE constexpr int threads() const { return 32 * warps_down * warps_across; }
  /// Tensor-core tiles of a warp, down and across.
  SIMT_INLINE constexpr int down() const { return m / 16 / warps_down; }
  SIMT_INLINE constexpr int across() const { return n / 8 / warps_across; }
};

/// The dynamic shared memory of a block: the stages, then the tile of C. The pitch of lines is an odd number of 16-byte chunks, or twice an
/// odd number for terms that are read word by word, so that lanes hit different banks. Lines that may begin between two multiples of 16
/// bytes do so in shared memory, too, and have a chunk more.
struct GemmHalvesBlocksMemory {
  int a_pitch, b_pitch, c_pitch;  ///< in elements
  int b, stage, c;                ///< offsets of B in a stage, of the next stage, and of C; in bytes
  int bytes;

  SIMT_INLINE constexpr GemmHalvesBlocksMemory(int element_bytes, int output_bytes, bool complex, GemmHalvesBlocks const& g)
      : a_pitch(pitch(element_bytes, g.a == Lines::columns ? g.m : g.k, g.aligned != 2, complex && g.a == Lines::columns)),
        b_pitch(pitch(element_bytes, g.b == Lines::rows ? g.n : g.k, g.aligned != 2, complex && g.b == Lines::rows)),
        c_pitch(pitch(output_bytes, g.c == Lines::columns ? g.m : g.n, true, false)),
        b(a_pitch * (g.a == Lines::columns ? g.k : g.m) * element_bytes),
        stage(b + b_pitch * (g.b == Lines::rows ? g.k : g.n) * element_bytes),
        c(g.stages * stage),
        bytes(c + c_pitch * (g.c == Lines::columns ? g.n : g.m) * output_bytes) {}

 private:
  SIMT_INLINE static constexpr int pitch(int element_bytes, int length, bool anywhere, bool by_words) {
    int const of_chunk = 16 / element_bytes, chunks = simt::ceil_div(length, of_chunk) + (anywhere ? 1 : 0);
    return (by_words ? (simt::ceil_div(chunks, 2) | 1) * 2 : chunks | 1) * of_chunk;
  }
};

}  // namespace myriad
