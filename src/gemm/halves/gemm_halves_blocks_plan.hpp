#pragma once
/// The plan of gemm_halves_blocks: its config for 16-bit products that no block holds as a whole.

#include <algorithm>
#include <cstdint>

#include "gemm/halves/gemm_halves_blocks_config.cuh"

namespace myriad {

/// Facts that a config depends on beside the sizes.
struct GemmHalvesBlocksOperands {
  Lines a, b, c;
  int aligned;
  int shared_memory;  ///< available to a block
};

/// The config for products of m-by-k and k-by-n matrices. Not tuned: matrices are divided evenly into tiles of at most 128 by 128 (half as
/// many columns where elements or C are twice as wide), and tiles among up to four warps, so that a warp's reads from shared memory take
/// half as long as its products.
constexpr GemmHalvesBlocks gemm_halves_blocks_plan(int element_bytes, int output_bytes, bool complex, std::int64_t m, std::int64_t n,
                                                   std::int64_t k, GemmHalvesBlocksOperands const& operands) {
  auto const divide = [](std::int64_t size, int largest) {
    std::int64_t const parts = std::max<std::int64_t>((size + largest - 1) / largest, 1);
    return static_cast<int>((size + parts - 1) / parts);
  };
  auto const up = [](int size, int unit) { return (size + unit - 1) / unit * unit; };
  int const rows = std::max(divide(m, complex && output_bytes > 4 ? 64 : 128), 1),
            columns = std::max(divide(n, output_bytes > 2 ? 64 : 128), 1);
  int const warps_down = rows > 32 ? 2 : 1, warps_across = columns > 16 ? 2 : 1, at_once = complex ? 8 : 16;
  GemmHalvesBlocks g{.m = up(rows, 16 * warps_down),
                     .n = up(columns, 8 * warps_across),
                     .k = 2 * at_once,
                     .stages = 4,
                     .warps_down = warps_down,
                     .warps_across = warps_across,
                     .blocks_per_sm = 1,
                     .a = operands.a,
                     .b = operands.b,
                     .c = operands.c,
                     .aligned = operands.aligned};
  auto const bytes = [&] { return GemmHalvesBlocksMemory(element_bytes, output_bytes, complex, g).bytes; };
  g.stages = static_cast<int>(std::clamp<std::int64_t>((k + g.k - 1) / g.k + 1, 2, 4));
  int const most_bytes = std::min(operands.shared_memory, 113 * 1024);  // two blocks on compute capability 9.0
  while (g.stages > 2 && bytes() > most_bytes) --g.stages;
  int const registers = 72 + g.down() * g.across() * (complex ? 8 : 4) + 4 * g.down() + 2 * g.across();
  g.blocks_per_sm = std::clamp(std::min(233472 / (bytes() + 1024), 65536 / (g.threads() * std::min(registers, 255))), 1, 16);
  return g;
}

}  // namespace myriad
