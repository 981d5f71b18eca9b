#pragma once
/// Ragged batches by classes of sizes: what host and kernels share.

#include "simt/matrices.hpp"

namespace myriad {

inline constexpr int by_sizes_threads = 128, by_sizes_classes = 4;

/// Sizes of square matrices A, and of B beside them, of which only those with more than `above` and up to `upto` rows are not empty.
struct SelectSizesArguments {
  simt::Matrices<int const> a, b;  ///< for their sizes
  simt::Index above, upto;
  simt::Index *a_rows, *a_cols, *b_rows, *b_cols;
};

/// The info of each matrix from those of its class.
struct SelectInfoArguments {
  simt::Matrices<int const> a;
  simt::Index limits[by_sizes_classes];  ///< rows of the largest matrix of each class
  int const* of_classes;                 ///< one class after the other
  int* info;
};

}  // namespace myriad
