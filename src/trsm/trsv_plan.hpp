#pragma once
/// The plan of solves with one right-hand side of more rows than a warp takes (trsm_vector) on a GPU.

#include <algorithm>
#include <cstdint>

#include "trsm/trsv_config.cuh"

namespace myriad {

/// By reasoning, not by measurement. The warps of a block follow one another, and news from one block to the next takes longer than from
/// warp to warp: few matrices have four warps to a block (double complex: two, by shared memory), many have two, so that more blocks are at
/// work.
constexpr Trsv trsv_plan(int element_bytes, std::int64_t count, int multiprocessors) {
  Trsv c{.warps = element_bytes == 16 || count >= 2 * multiprocessors ? 2 : 4, .columns = element_bytes == 16 ? 8 : 16, .blocks_per_sm = 1};
  c.blocks_per_sm = std::clamp(233472 / (c.shared_bytes(element_bytes) + 1024), 1, 65536 / (128 * c.threads()));
  return c;
}

/// How many blocks run at the same time on a GPU with so much shared memory, of which the plan assumes much.
constexpr std::int64_t trsv_resident(Trsv const& c, int element_bytes, int multiprocessors, int shared_memory, int reserved_of_block) {
  return std::int64_t{multiprocessors} *
         std::clamp(shared_memory / (c.shared_bytes(element_bytes) + reserved_of_block), 1, c.blocks_per_sm);
}

/// How many blocks each of `count` matrices has, all of which are to run at the same time, where `resident` do.
constexpr std::int64_t trsv_parts(Trsv const& c, std::int64_t n, std::int64_t count, std::int64_t resident) {
  return std::clamp<std::int64_t>(resident / std::max<std::int64_t>(count, 1), 1, (n + c.rows() - 1) / c.rows());
}

}  // namespace myriad
