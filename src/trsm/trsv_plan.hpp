#pragma once
/// Plan of solves with one right-hand side and more rows than trsm_vector takes.

#include <algorithm>
#include <cstdint>

#include "trsm/trsv_config.cuh"

namespace myriad {

/// Estimated, not measured. The warps of a block work one after the other, and signals between blocks take longer than between warps. So
/// few matrices have four warps per block (double complex: two, limited by shared memory); many have two, so that more blocks are active.
constexpr Trsv trsv_plan(int element_bytes, std::int64_t count, int multiprocessors) {
  Trsv c{.warps = element_bytes == 16 || count >= 2 * multiprocessors ? 2 : 4, .columns = element_bytes == 16 ? 8 : 16, .blocks_per_sm = 1};
  c.blocks_per_sm = std::clamp(233472 / (c.shared_bytes(element_bytes) + 1024), 1, 65536 / (128 * c.threads()));
  return c;
}

/// Resident blocks on a GPU with `shared_memory` bytes per multiprocessor; the plan assumes a large one.
constexpr std::int64_t trsv_resident(Trsv const& c, int element_bytes, int multiprocessors, int shared_memory, int reserved_of_block) {
  return std::int64_t{multiprocessors} *
         std::clamp(shared_memory / (c.shared_bytes(element_bytes) + reserved_of_block), 1, c.blocks_per_sm);
}

/// Blocks per matrix, such that the blocks of all `count` matrices fit into `resident` resident blocks.
constexpr std::int64_t trsv_parts(Trsv const& c, std::int64_t n, std::int64_t count, std::int64_t resident) {
  return std::clamp<std::int64_t>(resident / std::max<std::int64_t>(count, 1), 1, (n + c.rows() - 1) / c.rows());
}

}  // namespace myriad
