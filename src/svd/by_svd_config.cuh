#pragma once
/// Routines that use the singular value decomposition (pinv, gelsd, matrix_rank, cond, norm2): declarations shared by host and kernels.

#include "simt/matrices.hpp"

namespace myriad {

/// Cutoff of singular values: s(i) counts if it is above relative s(1) and above absolute. per_size times max(m, n) is added to relative.
template <typename R>
struct SvdCutoff {
  R absolute, relative, per_size;

  SIMT_INLINE R relative_of(int m, int n) const { return relative + per_size * static_cast<R>(m < n ? n : m); }
  /// Quotients are computed times 1 / divisor_scale, so that they do not overflow where the smallest numbers of the type count as singular
  /// values; X may be far smaller, or B. One wherever the cutoff excludes such singular values.
  SIMT_INLINE static R divisor_scale(R relative) {
    constexpr bool single = sizeof(R) == 4;
    constexpr R least = single ? R(0x1p-80f) : R(0x1p-900), scale = single ? R(0x1p48f) : R(0x1p80);
    return relative < least ? scale : R(1);
  }
  /// For value = scale scaled, and `largest` scaled likewise. False for NaN.
  SIMT_INLINE static bool counts(R scaled, R largest, R scale, R relative, R absolute) {
    return scaled > relative * largest && (absolute == R(0) || scaled * scale > absolute);
  }
};

/// Arguments of all kernels. Matrices A and columns of right-hand sides B are scaled by powers of two; matrices of the workspace are
/// column-major.
template <typename T>
struct BySvd {
  using R = simt::Real<T>;

  simt::Matrices<T const> a, b;  ///< b: not given without right-hand sides; only its first m rows are read
  simt::Matrices<T> x;           ///< its first n rows receive the solutions, and row n and those below residuals
  simt::Matrices<R> s;           ///< receives the singular values, or not given
  SvdCutoff<R> cutoff;
  int* rank;        ///< or null
  R *cond, *norm2;  ///< or null
  bool residuals;   ///< whether residuals are wanted

  // Workspace
  int parts;           ///< warps per matrix that search for its largest element
  R* largest;          ///< what they find
  R* scales;           ///< the factors of A, NaN for a matrix with NaN or infinity; then those of the columns of B
  simt::Index* sizes;  ///< ragged: m, n, min(m, n) and the number of right-hand sides, one array each; else null
  simt::Matrices<T> scaled_a, scaled_b;
  simt::Matrices<R> values;
  simt::Matrices<T> products;   ///< U^H B
  simt::Matrices<T> quotients;  ///< diag(1 / s) U^H B; of pinv U^H, which is overwritten
  simt::Matrices<T> solutions;

  /// The number of right-hand sides
  SIMT_INLINE int columns_of(simt::Index q) const { return b.given() ? b.cols_of(q) : a.rows_of(q); }
  SIMT_INLINE R* column_scale(simt::Index q, int j) const { return scales + a.count + q * b.cols + j; }
};

inline constexpr int by_svd_threads = 256;

}  // namespace myriad
