#pragma once
/// Reduction to bidiagonal form of matrices that no block holds, by panels: what host and kernels share.

#include "svd/bidiagonal/gebrd_block_config.cuh"

namespace myriad {

inline constexpr int gebrd_threads = 256;
/// Columns of a block of gebrd_stream, and how many it has at a time.
inline constexpr int gebrd_chunk = 32, gebrd_columns = 8;

/// One compiled gebrd_stream: rows of a thread at a time.
struct GebrdRows {
  int height, blocks_per_sm;
  constexpr bool operator==(GebrdRows const&) const = default;
};

/// Matrices in the workspace, tall and scaled to norm one. In a panel A is its content minus L R^H, where the columns of L are v and x of
/// each step, and those of R y and u: as many as a warp has lanes.
template <typename T>
struct GebrdPanels {
  GebrdArguments<T> batch;
  T* a;
  simt::Index ld;
  int cols;    ///< most columns of a matrix
  T* left;     ///< 2 gebrd_width columns of ld elements
  T* right;    ///< `cols` rows of 2 gebrd_width elements
  T* parts;    ///< A conj(row k) as each block of gebrd_stream has it, ld elements apart
  T* row;      ///< the conjugate of row k
  T* factors;  ///< L^H v, then row k of L, then tau of the left reflector
  T *tauq, *taup;
  simt::Real<T>*d, *e, *largest;
  int blocks;    ///< of a matrix, in gebrd_measure, gebrd_load and gebrd_store
  int first, k;  ///< first step of the panel, and the step at hand
  bool begins;   ///< whether step k begins; before, step k - 1 ends where it is one of the panel

  SIMT_INLINE int chunks() const { return (cols + gebrd_chunk - 1) / gebrd_chunk; }
  SIMT_INLINE static constexpr int pairs() { return 2 * gebrd_width; }
  SIMT_INLINE static constexpr int factors_of_matrix() { return 2 * pairs() + 1; }
};

constexpr int gebrd_step_bytes(int element_bytes) { return (gebrd_threads / 32 * 2 * gebrd_width + 4 * gebrd_width + 10) * element_bytes; }
constexpr int gebrd_stream_bytes(int element_bytes) { return (4 * gebrd_width + (gebrd_threads / 32 + 2) * gebrd_columns) * element_bytes; }

}  // namespace myriad
