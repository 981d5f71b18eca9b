#pragma once
/// QR of large matrices by panels: what host and kernels share.

#include "simt/matrices.hpp"

namespace myriad {

inline constexpr int qr_blocked_threads = 256;
/// Rows that a block has at a time
inline constexpr int qr_rows_of_block = 4 * qr_blocked_threads;
/// Columns that a block of the kernels that scale has at a time
inline constexpr int qr_columns_of_block = 32;
/// Columns of a panel in global memory at most
inline constexpr int qr_step_columns = 32;

SIMT_INLINE constexpr int qr_chunks(simt::Index rows) { return static_cast<int>((rows + qr_rows_of_block - 1) / qr_rows_of_block); }

/// The passes of qr_passes, a launch each.
enum class QrPass : int {
  measure,            ///< the largest part of each column
  columns,            ///< Multiplies columns whose largest part is far from one by a power of two that brings it near one: sums of squares
                      ///< then neither overflow nor vanish, and reflectors do not depend on it.
  columns_of_r_back,  ///< Undoes that for R.
  matrices,           ///< Multiplies matrices whose largest part is near the ends of the range by a power of two.
  // Least squares:
  sizes,  ///< those of a ragged batch: see GelsSizes
  load,   ///< B to the workspace; zeros where F has more rows than A
  store   ///< info, and the right-hand sides after the passes to B, unless R has a zero on its diagonal
};

/// Sizes of the matrices of a ragged batch that are tall and square, or wide, and have columns to factor; with the offsets of F.
struct GelsSizes {
  simt::Index *rows, *cols;                          ///< of F
  simt::Index* square;                               ///< the rows of R
  simt::Index *right_rows, *right_top, *right_cols;  ///< of the right-hand sides, and those that R belongs to
};

/// In least squares F, which is A where it is tall or square and A^H where it is wide, has p rows and q columns. The right-hand sides are
/// in the workspace, p rows of them: there, and in F, matrices of a ragged batch that have the other shape have no rows.
template <typename T>
struct QrPassesArguments {
  simt::Matrices<T> a;  ///< what is measured or scaled, or F
  QrPass pass;
  unsigned* largest;  ///< leading bits of the largest part of each column, of every qr_rows_of_block rows; a.cols for each of these
  short* exponents = nullptr;  ///< two for each matrix, of A and of the right-hand sides: by which powers of two these are multiplied
  bool right = false;          ///< whether `a` are right-hand sides
  bool wide = false;
  simt::Matrices<T> b{}, w{};
  GelsSizes sizes{};
  int* info = nullptr;
};

/// Step k of a panel in global memory, from -1 on, as qr_block does it: the panel becomes R and the reflectors.
template <typename T>
struct QrStepArguments {
  simt::Matrices<T> a, tau;
  int step;
  T* products;  ///< of columns with the one at hand, by qr_rows_of_block rows; for odd steps and even ones
  T* heads;     ///< the first row of what is left of a matrix; for odd steps and even ones

  SIMT_INLINE T* products_of(int k, simt::Index b, int chunk) const {
    return products + (((k & 1) * a.count + b) * qr_chunks(a.rows) + chunk) * qr_step_columns;
  }
  SIMT_INLINE T* head_of(int k, simt::Index b) const { return heads + ((k & 1) * a.count + b) * qr_step_columns; }
};

/// Bytes of dynamic shared memory of qr_step.
SIMT_INLINE constexpr int qr_step_bytes(int element_bytes) { return qr_step_columns * (1 + qr_blocked_threads / 32) * element_bytes; }

}  // namespace myriad
