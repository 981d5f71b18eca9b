#pragma once
/// Schedules of ragged batches: what host and kernels share.

#include "gemm/gemm_arguments.cuh"

namespace myriad {

/// Launches that share a schedule, and kinds of matrices: those of many terms of each launch, and others.
inline constexpr int gemm_schedule_parts = 8, gemm_schedule_kinds = 2 * gemm_schedule_parts;

struct GemmScheduleArguments {
  struct Part {
    simt::Index upto;  ///< it has the matrices whose larger side is not larger, and that no part before has
    int m, n;          ///< of a tile
  };
  simt::Matrices<char const> a, c;  ///< of which the sizes are used
  int together;                     ///< neighbouring matrices whose tiles are computed at the same time; each has those of the largest one
  int parts;
  Part part[gemm_schedule_parts];
  simt::Index* starts;         ///< as many as matrices, or groups of `together` of these: see GemmSchedule
  int* matrices;               ///< as many
  GemmSchedulePart* of_parts;  ///< gemm_schedule_parts
  simt::Index* of_blocks;      ///< 2 * gemm_schedule_kinds for each block
  unsigned* counts;            ///< see sync_grid_once

  SIMT_INLINE constexpr simt::Index count() const { return (c.count + together - 1) / together; }
};

SIMT_INLINE constexpr int gemm_schedule_bytes(int threads) {
  return 2 * gemm_schedule_kinds * (threads / 32 + 2) * static_cast<int>(sizeof(simt::Index));
}

}  // namespace myriad
