#pragma once
/// Plan of triangular solves with up to 32 rows.

#include <algorithm>
#include <cstdint>

#include "runtime/tiny.hpp"
#include "trsm/trsm_tiny_config.cuh"

namespace myriad {

/// For one triangle or both, and `columns` right-hand sides. Not measured. The layouts are set to packed columns.
constexpr TrsmTiny trsm_tiny_plan(int n, std::int64_t columns) {
  int const lanes = n <= 2 ? 1 : n <= 4 ? 2 : n <= 8 ? 4 : n <= 16 ? 8 : 16;
  constexpr auto packed = simt::Layout::packed_columns;
  return {.n = n,
          .nrhs = static_cast<int>(std::min(gpu::most_columns, columns)),
          .lanes = lanes,
          .matrices = 32 / lanes,
          .lower = Triangle::unused,
          .upper = Triangle::unused,
          .interchange = Interchange::never,
          .right = RightSide::given,
          .a = packed,
          .b = packed,
          .pivots = packed};
}

}  // namespace myriad
