#pragma once
/// Cholesky of matrices that a block has in shared memory: what host and kernel share.

#include "gemm/gemm_arguments.cuh"
#include "simt/matrices.hpp"

namespace myriad {

/// Columns of a panel.
inline constexpr int cholesky_panel = 8;

/// One compiled kernel, for matrices of any size that shared memory holds.
struct CholeskyBlock {
  int warps;
  int blocks_per_sm;    ///< for which registers have to suffice
  Lines lines;          ///< whether neighbouring threads load and store neighbours of a column or of a row
  int regularized = 0;  ///< whether it takes shifts of the diagonal and floors of pivots
  int ahead = 0;        ///< whether a warp factors the next diagonal block while the others update the rest: for lone blocks
  constexpr bool operator==(CholeskyBlock const&) const = default;

  SIMT_INLINE constexpr int threads() const { return 32 * warps; }
};

/// The dynamic shared memory of a block: what failed, the factor of a diagonal block where there are several warps, or two and reciprocals
/// of their diagonals where one is factored ahead, and the lower triangle
/// of a matrix whose rows are filled up to whole panels, with right-hand sides as further rows.
///
/// Panels are one after the other, each from its diagonal on and row by row. A row has 16 bytes more than its elements, so that the same 16
/// bytes of 8 neighbouring rows are in different banks.
struct CholeskyBlockMemory {
  int columns;  ///< of the matrix with what it is filled up by
  int rows;     ///< and right-hand sides
  int row;      ///< elements from one row of a panel to the next
  int factor;   ///< elements for factors of diagonal blocks
  int bytes;

  SIMT_INLINE constexpr CholeskyBlockMemory(int element_bytes, int n, int right, int warps, bool ahead = false)
      : columns(simt::ceil_div(n, cholesky_panel) * cholesky_panel),
        rows(columns + right),
        row(cholesky_panel + 16 / element_bytes),
        factor(ahead        ? 2 * cholesky_panel * (cholesky_panel + 1)
               : warps == 1 ? 0
                            : cholesky_panel * cholesky_panel),
        bytes(16 + element_bytes * (factor + row * (columns / cholesky_panel) * (columns / 2 + cholesky_panel / 2 + right))) {}
  /// The place of element (i, j), not above the diagonal block of its panel.
  SIMT_INLINE constexpr int place(int i, int j) const {
    int const panel = j / cholesky_panel;
    return (panel * (rows - cholesky_panel / 2 * (panel + 1)) + i) * row + j % cholesky_panel;
  }
};

template <typename T>
struct CholeskyBlockArguments {
  simt::Matrices<T const> a;  ///< of which the lower triangle is read
  simt::Matrices<T> factor;   ///< where it is wanted; may be a
  int* info;                  ///< or null
  int first;                  ///< rows of the whole matrix before this block of it: where not zero, matrices with an info are passed over
  /// B and X of A X = B, if it is solved; X may be B. A matrix that is not positive definite leaves X as it is, or NaN.
  simt::Matrices<T const> b;
  simt::Matrices<T> x;
  bool nan_where_not_definite;
  /// Regularized kernels use these: null, or one entry per matrix. See myriad::Regularization.
  simt::Real<T> const* jitter = nullptr;
  simt::Real<T> const* floor = nullptr;
  int* replaced = nullptr;  ///< to which the number of replaced pivots is added
};

}  // namespace myriad
