#pragma once
/// Which kernel is used on a GPU for products of matrices of more than 32 rows or columns with vectors.

#include <algorithm>
#include <bit>
#include <cstdint>

#include "gemm/gemv_config.cuh"

namespace myriad {

/// Of m-by-k matrices. Lines are read 128 bytes at a time or in longer pieces. A part has up to 8 KiB of a matrix for a warp, of which two
/// are under way while one is summed, as much as a multiprocessor has room for: some 100 KB where 40 would do.
constexpr Gemv gemv_plan(int element_bytes, std::int64_t m, std::int64_t k, Lines a) {
  constexpr std::int64_t most_rows = 64;
  int const of_chunk = 16 / element_bytes;
  auto const round_up = [](std::int64_t x, std::int64_t to) { return (x + to - 1) / to * to; };
  // Rows are divided evenly.
  std::int64_t const parts = (m + most_rows - 1) / most_rows;
  int const rows = static_cast<int>(round_up((m + parts - 1) / parts, of_chunk));
  // Not fewer than four lanes to a group: they copy what lies side by side.
  int const lanes = std::clamp(static_cast<int>(std::bit_ceil(static_cast<unsigned>(rows))), 4, 32);
  Gemv g{.rows = rows,
         .k = static_cast<int>(std::min<std::int64_t>(128 / element_bytes, round_up(std::max<std::int64_t>(k, 1), of_chunk))),
         .lanes = lanes,
         .stages = 3,
         .warps = 2,
         .blocks_per_sm = 1,
         .a = a};
  g.stages = static_cast<int>(std::clamp<std::int64_t>((k + g.k - 1) / g.k, 2, 3));
  // As many blocks as shared memory of compute capability 9.0 admits (228 KiB, 1 of them the driver's in each block), with 64 registers a
  // thread.
  g.blocks_per_sm = std::clamp(233472 / (GemvMemory(element_bytes, g).bytes + 1024), 1, 65536 / (64 * g.threads()));
  return g;
}

}  // namespace myriad
