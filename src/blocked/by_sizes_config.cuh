#pragma once
/// Ragged batches by classes of sizes: constants and arguments shared by host and kernels.

#include "simt/matrices.hpp"

namespace myriad {

inline constexpr int by_sizes_threads = 128, by_sizes_classes = 5;

/// Sizes of matrices A, and of B beside them: matrices with more than `above` and up to `upto` rows keep theirs, others become
/// empty.
struct SelectSizesArguments {
  simt::Matrices<int const> a, b;  ///< only their sizes are used
  simt::Index above, upto;
  simt::Index *a_rows, *a_cols, *b_rows, *b_cols;
};

/// Selects the info of each matrix from those of its class.
struct SelectInfoArguments {
  simt::Matrices<int const> a;
  simt::Index limits[by_sizes_classes];  ///< rows of the largest matrix of each class
  int const* of_classes;                 ///< one class after the other
  int* info;
};

}  // namespace myriad
