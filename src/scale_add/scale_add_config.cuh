#pragma once
/// Sums of scaled matrices, alpha and beta in memory: arguments shared by host and kernel.

#include "gemm/gemm_arguments.cuh"

namespace myriad {

/// alpha or beta: a number, or where the kernel reads it.
template <typename T>
struct Factor {
  T value;
  T const* at;                   ///< or null
  simt::Real<T> const* real_at;  ///< a real number in memory, or null

  SIMT_INLINE T read() const { return at ? *at : real_at ? simt::from_real<T>(*real_at) : value; }
};

/// Elements that a block computes at a time.
inline constexpr int scale_add_threads = 256, scale_add_of_thread = 4, scale_add_of_block = scale_add_threads * scale_add_of_thread;

/// C = alpha P + beta C, or, with `of_two`, C = alpha P + (alpha P)' + beta C, where ' is the transpose, and for a Hermitian C the
/// conjugate transpose. P has the sizes of C and may be C, without `of_two`.
template <typename T, typename Output>
struct ScaleAddArguments {
  Factor<T> alpha, beta;
  simt::Matrices<T const> p;
  simt::Matrices<Output> c;
  Written written;
  bool of_two;
  bool interleaved;               ///< whether neighbouring threads have neighbouring matrices; else they have neighbouring rows
  simt::Index terms;              ///< terms of the products P, in a ragged batch an upper bound; without terms P is not read
  simt::Index const* term_sizes;  ///< of each matrix, less term_offset; or null
  simt::Index term_offset;

  SIMT_INLINE bool has_terms(simt::Index b) const { return terms > 0 && (!term_sizes || term_sizes[b] > term_offset); }
};

}  // namespace myriad
