#pragma once
/// Copies of matrices between layouts: arguments shared by host and kernel.

#include "simt/matrices.hpp"

namespace myriad {

/// The elements that are copied; `lower_with_zeros` writes zeros above the lower triangle, `identity` a unit matrix whatever `from` is.
enum class Copied : int { all, lower, lower_with_zeros, identity };
/// The matrices that are written, chosen by their info; `nan_in_failed` fills failed matrices with NaN.
enum class CopiedWhere : int { always, succeeded, failed, nan_in_failed };

inline constexpr int copy_matrices_side = 32, copy_matrices_threads = 256;

/// Matrices of the same sizes. `to` may be `from`.
template <typename T>
struct CopyMatricesArguments {
  simt::Matrices<T const> from;
  simt::Matrices<T> to;
  int const* info;  ///< may be null for CopiedWhere::always
  Copied copied;
  CopiedWhere where;

  /// Tiles of a matrix
  SIMT_INLINE simt::Index tiles_down() const { return (to.rows + copy_matrices_side - 1) / copy_matrices_side; }
  SIMT_INLINE simt::Index tiles() const { return tiles_down() * ((to.cols + copy_matrices_side - 1) / copy_matrices_side); }
};

}  // namespace myriad
