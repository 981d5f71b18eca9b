#pragma once
/// Schedules of ragged batches: constants and arguments shared by host and kernels.

#include "gemm/gemm_arguments.cuh"

namespace myriad {

/// Number of launches that share a schedule, and kinds of matrices: for each launch those of many terms, and others.
inline constexpr int gemm_schedule_parts = 8, gemm_schedule_kinds = 2 * gemm_schedule_parts;

struct GemmScheduleArguments {
  struct Part {
    simt::Index upto;  ///< largest side of the matrices of this launch; those of earlier launches are smaller
    int m, n;          ///< size of a tile
  };
  simt::Matrices<char const> a, c;  ///< only their sizes are used
  int together;                     ///< neighbouring matrices that are computed together; each has as many tiles as the largest of them
  int parts;
  Part part[gemm_schedule_parts];
  simt::Index* starts;         ///< one entry per matrix, or per `together` matrices: see GemmSchedule
  int* matrices;               ///< as many entries
  GemmSchedulePart* of_parts;  ///< gemm_schedule_parts entries
  simt::Index* of_blocks;      ///< 2 * gemm_schedule_kinds entries per block
  unsigned* counts;            ///< see sync_grid_once

  SIMT_INLINE constexpr simt::Index count() const { return (c.count + together - 1) / together; }
};

SIMT_INLINE constexpr int gemm_schedule_bytes(int threads) {
  return 2 * gemm_schedule_kinds * (threads / 32 + 2) * static_cast<int>(sizeof(simt::Index));
}

}  // namespace myriad
