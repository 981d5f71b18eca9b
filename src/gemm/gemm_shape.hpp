#pragma once
/// The shape of products that a kernel is planned for.

#include <cstdint>

#include "gemm/pipelined/gemm_pipelined_plan.hpp"

namespace myriad::gpu {

/// Rows and columns of C, number of terms, and the number of blocks per multiprocessor that a launch has at most, if known.
struct GemmShape {
  std::int64_t m, n, k;
  int blocks = any_blocks;
};

}  // namespace myriad::gpu
