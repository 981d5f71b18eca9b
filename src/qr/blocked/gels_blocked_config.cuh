#pragma once
/// Least squares of large matrices: what host and kernels share.

#include "qr/blocked/qr_blocked_config.cuh"

namespace myriad {

enum class GelsJob : int {
  sizes,  ///< those of a ragged batch: see GelsSizes
  bring,  ///< B to the workspace; zeros where F has more rows than A
  give    ///< info, and what has become of the right-hand sides to B, unless R has a zero on its diagonal
};

/// Sizes of the matrices of a ragged batch that are tall and square, or wide, and have columns to factor; with the offsets of F.
struct GelsSizes {
  simt::Index *rows, *cols;                          ///< of F
  simt::Index* square;                               ///< the rows of R
  simt::Index *right_rows, *right_top, *right_cols;  ///< of the right-hand sides, and those that R belongs to
};

/// F, which is A where it is tall or square and A^H where it is wide, has p rows and q columns. The right-hand sides are in the workspace,
/// p rows of them: there, and in F, matrices of a ragged batch that have the other shape have no rows.
template <typename T>
struct GelsArguments {
  simt::Matrices<T> f, b, w;
  GelsSizes sizes;
  int* info;
  bool wide;
  short* exponents;  ///< see QrScaleArguments
  GelsJob job;
};

}  // namespace myriad
