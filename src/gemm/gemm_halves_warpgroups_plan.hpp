#pragma once
/// Which kernel is used on a GPU of compute capability 9.0 for large products of 16-bit numbers.

#include <algorithm>
#include <cstdint>
#include <limits>

#include "gemm/gemm_halves_warpgroups_config.cuh"

namespace myriad {

/// Products of real numbers whose C has more rows or columns than this go through gemm_halves_warpgroups on compute capability 9.0,
/// whatever their terms, batch and addresses, since they may be rounded otherwise than by other kernels. None do: of lines at multiples of
/// 8 bytes it is a little faster than gemm_halves_blocks from 300 rows on, but at odd addresses half as fast. 256, what
/// gemm_halves_stream does not hold, is what it is made for.
inline constexpr std::int64_t gemm_halves_warpgroups_above = std::numeric_limits<std::int64_t>::max();
static_assert(gemm_halves_warpgroups_above >= 64, "smaller ones are whole in a block, alone but not in every ragged batch");

/// What of a config is not in the sizes.
struct GemmHalvesWarpgroupsOperands {
  Lines a, b;
  int shared_memory;  ///< that a block may have
};

/// For C of m by n. By reasoning, not timed: tiles into which matrices are divided evenly, of at most 128 by 256 or 192 by 192, so that
/// sums are in registers, and of these those for which A and B are read from the second cache the fewest times while there is room for
/// three parts, so that copies of two are under way; then those with the fewest products of what is not there.
constexpr GemmHalvesWarpgroups gemm_halves_warpgroups_plan(int output_bytes, std::int64_t m, std::int64_t n,
                                                           GemmHalvesWarpgroupsOperands const& operands) {
  auto const part = [](std::int64_t size, std::int64_t parts) {
    return static_cast<int>(std::max<std::int64_t>(((size + parts - 1) / parts + 7) / 8 * 8, 8));
  };
  auto const fewest = [](std::int64_t size, int largest) { return std::max<std::int64_t>((size + largest - 1) / largest, 1); };
  constexpr auto most = std::numeric_limits<double>::max();
  GemmHalvesWarpgroups best{};
  double best_reads = most, best_products = most;
  std::int64_t const least_across = fewest(n, 256), least_down = fewest(m, 192);
  for (std::int64_t across = least_across; across <= 2 * least_across + 2; ++across)
    for (std::int64_t down = least_down; down <= 2 * least_down + 2; ++down) {
      GemmHalvesWarpgroups g{
          .m = part(m, down), .n = part(n, across), .k = 64, .stages = 6, .blocks_per_sm = 1, .a = operands.a, .b = operands.b};
      if (g.n > 192 && g.m > 128) continue;
      while (g.stages > 2 && GemmHalvesWarpgroupsMemory(output_bytes, g).bytes > operands.shared_memory) --g.stages;
      GemmHalvesWarpgroupsMemory const memory(output_bytes, g);
      if (memory.bytes > operands.shared_memory || g.stages <= memory.c_parts) continue;
      double const tiles = static_cast<double>(fewest(m, g.m)) * static_cast<double>(fewest(n, g.n));
      double const reads =
          (static_cast<double>(n) * static_cast<double>(fewest(m, g.m)) + static_cast<double>(m) * static_cast<double>(fewest(n, g.n))) *
          (g.stages > 2 ? 1 : 2);
      double const products = tiles * 64 * g.warpgroups() * g.columns();
      if (reads > best_reads || (reads == best_reads && products >= best_products)) continue;
      best = g;
      best_reads = reads;
      best_products = products;
    }
  return best;
}

}  // namespace myriad
