#pragma once
/// Products of matrices with vectors on a GPU: what host and kernel share.

#include "gemm/gemm_arguments.cuh"

namespace myriad {

/// One compiled kernel: a group of `lanes` lanes has `rows` rows of a matrix A, and brings k columns of these at a time to one of the
/// `stages` parts of a ring in shared memory, which is the group's own.
struct Gemv {
  int rows, k;
  int lanes;  ///< of a group: a power of two up to 32
  int stages;
  int warps;  ///< of a block
  int blocks_per_sm;
  Lines a;
  constexpr bool operator==(Gemv const&) const = default;

  SIMT_INLINE constexpr int threads() const { return 32 * warps; }
  SIMT_INLINE constexpr int groups() const { return threads() / lanes; }
};

/// The dynamic shared memory of a block, of a part of the ring the rows of A and then the elements of x; distances in elements.
struct GemvMemory {
  int pitch;  ///< from line to line: columns, or rows, of which lanes that read 16 bytes each at the same time meet different banks
  int x, stage;
  int bytes;

  SIMT_INLINE constexpr GemvMemory(int element_bytes, Gemv const& g)
      : pitch(g.a == Lines::columns ? g.rows : g.k + (g.k * element_bytes / 16 % 2 == 0 ? 16 / element_bytes : 0)),
        x(pitch * (g.a == Lines::columns ? g.k : g.rows)),
        stage(x + g.k),
        bytes(g.groups() * g.stages * stage * element_bytes) {}
};

}  // namespace myriad
