#pragma once
/// Makes a ragged batch of the matrices of several groups. The groups' descriptors are kernel parameters, so nothing is copied from host
/// memory, and a CUDA graph holds them.

#include "gemm/ragged/gemm_groups_config.cuh"

namespace myriad {

/// Launch: any number of blocks of `threads` threads, one thread per matrix.
template <int threads, int groups_at_most>
SIMT_KERNEL void SIMT_BOUNDS(threads, 1) gemm_groups(GemmGroupsArguments<groups_at_most> const args) {
  using namespace simt;
  constexpr int first_step = groups_at_most > 256 ? 256 : 32;
  static_assert(groups_at_most <= 2 * first_step);
  SIMT_LOOP
  for (Index at = args.group[0].first + block_index() * threads + thread_index(); at < args.end; at += block_count() * threads) {
    int g = 0;  // the last group that begins at or before it
    SIMT_LOOP
    for (int step = first_step; step > 0; step /= 2)
      if (g + step < args.groups && args.group[g + step].first <= at) g += step;
    GemmGroupOfMatrices const& group = args.group[g];
    Index const b = at - group.first;
    auto const address = [&](GemmGroupOperand const& operand, int bit) {
      if (group.behind_pointers & bit) return reinterpret_cast<char const* const*>(operand.data)[b] + operand.batch_bytes;
      return operand.data + b * operand.batch_bytes;
    };
    args.a[at] = address(group.a, 1);
    args.b[at] = address(group.b, 2);
    args.c[at] = const_cast<char*>(address(group.c, 4));
    args.m[at] = group.m;
    args.n[at] = group.n;
    args.k[at] = group.k;
    args.lines_of_a[at] = group.a.line_elements;
    args.lines_of_b[at] = group.b.line_elements;
    args.lines_of_c[at] = group.c.line_elements;
  }
}

}  // namespace myriad
