#pragma once
/// Sums of scaled matrices, alpha and beta in memory: arguments shared by host and kernels.

#include "gemm/gemm_arguments.cuh"

namespace myriad {

/// alpha or beta: a number, or where the kernel reads it.
template <typename T>
struct Factor {
  T value;
  T const* at;                   ///< or null
  simt::Real<T> const* real_at;  ///< a real number in memory, or null

  /// The number, read without a branch, so that the loads of alpha, beta and elements do not wait for each other.
  SIMT_INLINE T read() const {
    T const number = simt::load_changing_if(at != nullptr, at);
    simt::Real<T> const real = simt::load_changing_if(real_at != nullptr, real_at);
    return at ? number : real_at ? simt::from_real<T>(real) : value;
  }
};

/// Elements, or in scale_add_lines 16 bytes of P, that a block computes at a time.
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

/// Elements of P in 16 bytes.
template <typename T>
inline constexpr int scale_add_width = 16 / static_cast<int>(sizeof(T));

/// C = alpha P + beta C for all elements of matrices at equal distances, as lines of elements. P may be C.
template <typename T, typename Output>
struct ScaleAddLinesArguments {
  Factor<T> alpha, beta;
  T const* p;
  Output* c;
  simt::Index sizes[3];  ///< elements of a line, lines of a group, groups
  simt::Index p_strides[3], c_strides[3];
  bool p_conjugated, c_conjugated;
  bool has_terms;  ///< else P is zero and not read
  bool wide;       ///< whether lines have no gaps and begin at multiples of scale_add_width elements
};

/// Division of numbers below y + scale_add_of_block by y.
class ShortDivision {
 public:
  SIMT_INLINE explicit ShortDivision(simt::Index y) : y_(y), reciprocal_(1.0F / static_cast<float>(y)) {}
  /// Replaces x by the remainder and returns the quotient.
  SIMT_INLINE int divide(simt::Index& x) const {
    // Below 2^11, so half a unit keeps the rounded product on the right side of every integer.
    int const quotient = y_ > scale_add_of_block ? static_cast<int>(x >= y_)
                                                 : static_cast<int>((static_cast<float>(static_cast<int>(x)) + 0.5F) * reciprocal_);
    x -= quotient * y_;
    return quotient;
  }

 private:
  simt::Index y_;
  float reciprocal_;
};

}  // namespace myriad
