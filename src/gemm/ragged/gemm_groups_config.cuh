#pragma once
/// Groups of matrices as one ragged batch: what host and kernel share.

#include "simt/types.hpp"

namespace myriad {

/// What is one matrix of a batch: where it is, and how far its lines are apart.
struct GemmGroupOperand {
  char const* data;           ///< of the first matrix, or, behind pointers, the array of these
  simt::Index batch_bytes;    ///< from matrix to matrix; behind pointers what is to be added to each
  simt::Index line_elements;  ///< from line to line
};
struct GemmGroupOfMatrices {
  GemmGroupOperand a, b, c;
  simt::Index first;  ///< number of its first matrix
  int m, n, k;
  int behind_pointers;  ///< 1: A, 2: B, 4: C
};

/// One launch writes what so many groups have: parameters of a kernel are 4 KiB at most, since CUDA 12.1 32,764 bytes.
inline constexpr int gemm_groups_of_launch = 40, gemm_groups_of_large_launch = 340;

template <int groups_at_most>
struct GemmGroupsArguments {
  // Of every matrix of all launches
  char const **a, **b;
  char** c;
  simt::Index *m, *n, *k;
  simt::Index *lines_of_a, *lines_of_b, *lines_of_c;
  simt::Index end;  ///< of the matrices of this launch, which begin with those of its first group
  int groups;
  GemmGroupOfMatrices group[groups_at_most];
};
static_assert(sizeof(GemmGroupsArguments<gemm_groups_of_launch>) <= 4096);
static_assert(sizeof(GemmGroupsArguments<gemm_groups_of_large_launch>) <= 32764);

}  // namespace myriad
