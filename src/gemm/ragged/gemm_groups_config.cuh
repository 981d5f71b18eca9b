#pragma once
/// Groups of matrices as one ragged batch: constants and arguments shared by host and kernel.

#include "simt/types.hpp"

namespace myriad {

/// An operand of a group: its address, and the distances between matrices and lines.
struct GemmGroupOperand {
  char const* data;           ///< of the first matrix; behind pointers, the array of pointers
  simt::Index batch_bytes;    ///< from matrix to matrix; behind pointers, the offset that is added to each
  simt::Index line_elements;  ///< from line to line (leading dimension)
};
struct GemmGroupOfMatrices {
  GemmGroupOperand a, b, c;
  simt::Index first;  ///< number of the group's first matrix in the merged batch
  int m, n, k;
  int behind_pointers;  ///< bit mask: 1: A, 2: B, 4: C
};

/// Groups that one launch writes: parameters of a kernel are 4 KiB at most, since CUDA 12.1 32,764 bytes.
inline constexpr int gemm_groups_of_launch = 40, gemm_groups_of_large_launch = 340;

template <int groups_at_most>
struct GemmGroupsArguments {
  // Arrays for the matrices of all launches
  char const **a, **b;
  char** c;
  simt::Index *m, *n, *k;
  simt::Index *lines_of_a, *lines_of_b, *lines_of_c;
  simt::Index end;  ///< end of the matrices of this launch, which begin with those of its first group
  int groups;
  GemmGroupOfMatrices group[groups_at_most];
};
static_assert(sizeof(GemmGroupsArguments<gemm_groups_of_launch>) <= 4096);
static_assert(sizeof(GemmGroupsArguments<gemm_groups_of_large_launch>) <= 32764);

}  // namespace myriad
