#pragma once
/// Least squares of large matrices: what host and kernels share.

#include "qr/blocked/qr_blocked_config.cuh"

namespace myriad {

/// F, which is A where it is tall or square and A^H where it is wide, has p rows and q columns. The right-hand sides are in the workspace,
/// p rows of them: there, and in F, matrices of a ragged batch that have the other shape have no rows.
template <typename T>
struct GelsArguments {
  simt::Matrices<T> f, b, w;
  int* info;
  bool wide;
  short* scales;  ///< exponents of the powers of two by which A and the right-hand sides were multiplied
};

/// Sizes of the matrices of a ragged batch that are tall and square, or wide, and have columns to factor; with the offsets of F.
template <typename T>
struct GelsSizes {
  simt::Matrices<T> f, b;
  bool wide;
  simt::Index *rows, *cols;                          ///< of F
  simt::Index* square;                               ///< the rows of R
  simt::Index *right_rows, *right_top, *right_cols;  ///< of the right-hand sides, and those that R belongs to
};

/// Multiplies A, or the right-hand sides, by a power of two where the largest part is near the ends of the range.
template <typename T>
struct GelsScale {
  simt::Matrices<T> a;
  unsigned const* largest;  ///< see QrScaleArguments
  short* scales;
  bool right;
};

}  // namespace myriad
