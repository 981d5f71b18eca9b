#pragma once
/// Reduction to bidiagonal form of matrices that no block holds, by panels: what host and kernels share.

#include "svd/bidiagonal/gebrd_block_config.cuh"

namespace myriad {

inline constexpr int gebrd_threads = 256;
inline constexpr int gebrd_chunk = 32;  ///< columns of a block of gebrd_stream
inline constexpr int gebrd_slab = 64;   ///< rows of a block of gebrd_step

/// One compiled gebrd_stream: rows of a lane and columns of a warp at a time.
struct GebrdRows {
  int height, across, blocks_per_sm;
  constexpr bool operator==(GebrdRows const&) const = default;

  /// The left reflector, sums of columns, row k, products with R and of each warp, and v
  SIMT_INLINE constexpr int shared_bytes(int element_bytes) const {
    constexpr int warps = gebrd_threads / 32;
    return (4 * gebrd_width + 2 + warps * 2 * across + gebrd_chunk + warps * (2 * gebrd_width + gebrd_threads) + 32 * height) *
           element_bytes;
  }
};

/// Matrices in the workspace, tall and scaled to norm one. In a panel A is its content minus L R^H, where the columns of L are v and x of
/// each step, and those of R y and u: as many as a warp has lanes.
template <typename T>
struct GebrdPanels {
  GebrdArguments<T> batch;
  T* a;
  simt::Index ld;
  int rows, cols;  ///< most of a matrix
  T* left;         ///< 2 gebrd_width columns of ld elements
  T* right;        ///< `cols` rows of 2 gebrd_width elements
  T* parts;        ///< A conj(row k) as each block of gebrd_stream has it, ld elements apart
  T* row;          ///< the conjugate of row k
  // Sums as blocks have them, 2 gebrd_width each: products of a column below its first element with the columns of L, then the first
  // element and the sum of squares; of R and a row likewise. Those of L twice, for even and odd k: each step reads those of the step
  // before.
  T *left_sums, *right_sums;
  T *tauq, *taup;
  simt::Real<T>*d, *e, *largest;
  int blocks;    ///< of a matrix, in gebrd_measure, gebrd_load and gebrd_store
  int first, k;  ///< first step of the panel, and the step at hand
  bool begins;   ///< whether step k begins; before, step k - 1 ends where it is one of the panel

  SIMT_INLINE int chunks() const { return (cols + gebrd_chunk - 1) / gebrd_chunk; }
  SIMT_INLINE int slabs() const { return (rows + gebrd_slab - 1) / gebrd_slab; }
  /// Slabs of gebrd_step
  SIMT_INLINE int first_slab() const { return (k > first ? k - 1 : k) / gebrd_slab; }
  SIMT_INLINE int slabs_of_step() const { return slabs() - first_slab(); }
  SIMT_INLINE T* left_sums_of(simt::Index b, int step, int slab) const {
    return left_sums + ((2 * b + step % 2) * slabs() + slab) * pairs();
  }
  SIMT_INLINE T* right_sums_of(simt::Index b, int chunk) const { return right_sums + (b * chunks() + chunk) * pairs(); }
  SIMT_INLINE static constexpr int pairs() { return 2 * gebrd_width; }
};

constexpr int gebrd_step_bytes(int element_bytes) { return ((gebrd_threads / 32 + 2) * 2 * gebrd_width + 4) * element_bytes; }
}  // namespace myriad
