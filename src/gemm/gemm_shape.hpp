#pragma once
/// The shape of products that a kernel is planned for.

#include <cstdint>

#include "gemm/pipelined/gemm_pipelined_plan.hpp"

namespace myriad::gpu {

/// Rows and columns of C, and terms; and how many blocks there are for a multiprocessor at most, as far as that is known.
struct GemmShape {
  std::int64_t m, n, k;
  int blocks = any_blocks;
};

}  // namespace myriad::gpu
