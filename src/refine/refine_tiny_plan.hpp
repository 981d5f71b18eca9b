#pragma once
/// The plan of equilibration and backward errors of tiny matrices on a GPU.

#include <algorithm>
#include <cstdint>

#include "refine/refine_tiny_config.cuh"
#include "runtime/tiny.hpp"

namespace myriad {

/// For m-by-n matrices or, beyond 32 rows or columns, parts of them, as if all batches were packed by columns; `columns`: right-hand sides,
/// if there are any. Memory is what takes the time; two warps to a block, and as many lanes to a matrix as have two rows or columns.
constexpr RefineTiny refine_tiny_plan(std::int64_t m, std::int64_t n, std::int64_t columns) {
  m = std::clamp<std::int64_t>(m, 1, gpu::tiny_largest);
  n = std::clamp<std::int64_t>(n, 1, gpu::tiny_largest);
  std::int64_t const larger = std::max(m, n);
  int const lanes = larger <= 2 ? 1 : larger <= 4 ? 2 : larger <= 8 ? 4 : larger <= 16 ? 8 : 16;
  constexpr auto packed = simt::Layout::packed_columns;
  return {.m = static_cast<int>(m),
          .n = static_cast<int>(n),
          .nrhs = static_cast<int>(std::min(gpu::most_columns, columns)),
          .lanes = lanes,
          .matrices = 64 / lanes,
          .a = packed,
          .x = packed,
          .b = packed};
}

}  // namespace myriad
