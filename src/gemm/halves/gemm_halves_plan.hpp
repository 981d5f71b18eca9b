#pragma once
/// The plan of gemm_halves: its config for 16-bit products that are small, or whose matrices have no contiguous lines.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>

#include "gemm/halves/gemm_halves_config.cuh"

namespace myriad {

/// Whether a product of m-by-k and k-by-n matrices is in shared memory as a whole; others with contiguous lines go through a pipeline.
constexpr bool gemm_halves_whole(std::int64_t m, std::int64_t n, std::int64_t k) { return std::max({m, n, k}) <= 64; }

/// The config for products of m-by-k and k-by-n matrices; `interleaved`: whether one of the batches is. Layouts are left as packed columns.
///
/// Not tuned. Up to 4 rows, columns and terms a lane has a product, and a block so many that the number of resident blocks is no limit. For
/// larger ones a warp has up to 12 tiles of C. A block has as many products as fill whole 16-byte chunks, so that neighbours are copied as
/// one span, and more as long as several blocks fit shared memory.
constexpr GemmHalves gemm_halves_plan(int element_bytes, int output_bytes, bool complex, std::int64_t m, std::int64_t n, std::int64_t k,
                                      bool interleaved) {
  constexpr int most_bytes = 80 * 1024;  // per block: GPUs have 99 KiB, and other layouts take up to 17 KiB more
  bool const whole = interleaved ? std::max({m, n, k}) <= 32 : gemm_halves_whole(m, n, k);
  auto const side = [&](std::int64_t size, int largest) { return static_cast<int>(std::clamp<std::int64_t>(size, 1, largest)); };
  constexpr auto packed = simt::Layout::packed_columns;
  GemmHalves g{.m = side(m, whole ? 64 : 32),
               .n = side(n, whole ? 64 : 32),
               .k = whole ? side(k, 64) : 32,
               .warps = 0,
               .warps_down = 0,
               .warps_across = 0,
               .matrices = 1,
               .blocks_per_sm = 1,
               .places = Places::padded,
               .extent = whole ? Extent::matrix : Extent::part,
               .a = packed,
               .b = packed,
               .c = packed,
               .scheduled = 0};
  // Lines stay as in global memory where at most two of eight meet in a bank; chunks are swizzled where four or eight do. Longer lines are
  // copied with padding as fast.
  if (whole && !interleaved) {
    int const together = (g.m * element_bytes / 16) & -(g.m * element_bytes / 16);
    bool const by_lanes = std::max({m, n, k}) <= gemm_halves_by_lanes;
    g.places = by_lanes || together == 2 ? Places::as_in_memory : together == 4 || together == 8 ? Places::swizzled : Places::padded;
  }
  auto const bytes = [&] { return GemmHalvesMemory(element_bytes, output_bytes, g).bytes; };
  int registers = 48;
  if (std::max({m, n, k}) <= gemm_halves_by_lanes) {
    g.matrices = 256;
    while (g.matrices > 64 && bytes() > 32 * 1024) g.matrices /= 2;
    g.warps = g.matrices / 32;
    registers += (complex ? 2 : 1) * (g.m * g.k + g.k * g.n + g.m * g.n);
  } else {
    // The fewest warps per tile and, with these, the division with the fewest tiles per warp.
    constexpr int most_tiles = 12;
    int tiles = 0, best_down = 0, best_across = 0;
    for (int warps = 1; tiles == 0; warps *= 2)
      for (int down = 1; down <= warps; down *= 2) {
        g.warps_down = down;
        g.warps_across = warps / down;
        int const of_warp = g.down(complex) * g.across();
        if (of_warp > most_tiles || (tiles != 0 && of_warp >= tiles)) continue;
        tiles = of_warp;
        best_down = g.warps_down;
        best_across = g.warps_across;
      }
    g.warps_down = best_down;
    g.warps_across = best_across;
    registers += 4 * tiles + 4 + 2 * g.across();
    int const of_chunk = 16 / element_bytes;
    auto const least_for = [&](int elements) { return of_chunk / std::gcd(of_chunk, elements); };
    int const least = interleaved ? 16 : whole ? std::max({least_for(g.m * g.k), least_for(g.k * g.n), least_for(g.m * g.n)}) : 1;
    auto const fits = [&](int matrices, int most) {
      g.matrices = matrices;
      return bytes() <= most;
    };
    int matrices = least;
    while (matrices > 1 && !fits(matrices, most_bytes)) matrices /= 2;
    while (whole && matrices < 64 && fits(2 * matrices, 32 * 1024)) matrices *= 2;
    g.matrices = matrices;
    g.warps = g.warps_of_tile() * (whole ? std::min(matrices, std::max(4 / g.warps_of_tile(), 1)) : matrices);
  }
  // As many blocks as the shared memory of compute capability 9.0 admits (228 KiB, 1 KiB of it the driver's per block) with registers for
  // sums, the next operands and the rest.
  int const by_memory = 233472 / (bytes() + 1024), by_registers = 65536 / (g.threads() * registers);
  g.blocks_per_sm = std::clamp(std::min({by_memory, by_registers, 2048 / g.threads()}), 1, 32);
  return g;
}

}  // namespace myriad
