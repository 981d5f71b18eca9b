#pragma once
/// The plan of gemm_tiles: its config for small products, interleaved batches, and products with a vector or of two vectors.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>

#include "gemm/tiles/gemm_tiles_config.cuh"

namespace myriad {

/// The config for products of m-by-k and k-by-n matrices; `interleaved`: whether one of the batches is. Layouts are left as packed columns.
///
/// Not tuned: lanes hold up to 16 or 32 elements of C, about as many rows as columns, so that registers hardly spill. Blocks are as small
/// as 16-byte copies and two warps allow.
///
/// In a product with a vector (gemv) A is nearly all the traffic, each element is read once from shared memory, and bank conflicts decide:
/// a warp reads rows of several matrices at once. Where matrices are whole 16-byte chunks, these are at odd distances, and the lanes of a
/// matrix take a chunk if that leaves 32 bytes per lane: smaller matrices need the lanes to have enough in flight. Others need one lane or
/// two, or as many as fill the banks. With one term (ger) C is nearly all the traffic: a lane holds more of tiles that are parts, so that
/// registers suffice for several blocks.
constexpr GemmTiles gemm_tiles_plan(int element_bytes, std::int64_t m, std::int64_t n, std::int64_t k, bool interleaved) {
  constexpr int most_bytes = 88 * 1024;  // per block: GPUs have 99 KiB, and other layouts take a little more
  std::int64_t const largest = interleaved ? 32 : 64;
  // Matrices of up to 32 rows are one tile; larger ones are divided evenly.
  auto const side = [&](std::int64_t size) {
    if (size <= 32) return static_cast<int>(std::max<std::int64_t>(size, 1));
    std::int64_t const parts = (size + largest - 1) / largest;
    return static_cast<int>((size + 8 * parts - 1) / (8 * parts) * 8);
  };
  bool const whole = m <= 32 && n <= 32 && k <= 32;
  constexpr auto packed = simt::Layout::packed_columns;
  GemmTiles t{.m = side(m),
              .n = side(n),
              .k = static_cast<int>(std::clamp<std::int64_t>(k, 1, whole ? 32 : 16)),
              .row_lanes = 1,
              .column_lanes = 1,
              .matrices = 1,
              .blocks_per_sm = 1,
              .extent = whole ? Extent::matrix : Extent::part,
              .a = packed,
              .b = packed,
              .c = packed,
              .structure = Structure::general,
              .written = Written::whole,
              .scheduled = 0};
  int const most_held = (interleaved || (t.m * t.n > 512 && (whole || k == 1)) ? 32 : 16) / (element_bytes == 16 ? 2 : 1);
  int const least_matrices = interleaved ? 64 / element_bytes : whole ? 16 / element_bytes : 1;
  int const of_chunk = 16 / element_bytes;
  bool const one_column = t.n == 1 && !interleaved;
  if (one_column) {
    int const for_each = std::max(t.m * t.k * element_bytes / 32, 1);
    t.row_lanes = std::min(std::gcd(t.m, of_chunk), static_cast<int>(std::bit_floor(static_cast<unsigned>(for_each))));
  }
  for (;;) {
    int const rows = simt::ceil_div(t.m, t.row_lanes), columns = simt::ceil_div(t.n, t.column_lanes);
    t.matrices = std::max(64 / t.lanes(), least_matrices);
    // Four blocks fit, or more lanes no longer reduce the number of matrices.
    bool const fits = t.matrices == least_matrices || GemmTilesMemory(element_bytes, t).bytes <= 56 * 1024;
    if (rows * columns <= most_held && (fits || rows * columns == 1)) break;
    (rows >= columns ? t.row_lanes : t.column_lanes) *= 2;
  }
  if (int const banks = 128 / element_bytes; one_column && t.m * t.k % of_chunk != 0 && t.row_lanes > 2 && 2 * t.m > banks) {
    t.row_lanes = banks;
    t.matrices = std::max(64 / t.lanes(), least_matrices);
  }
  // Many interleaved matrices per block: fewer terms at a time, then fewer matrices.
  if (interleaved && whole && GemmTilesMemory(element_bytes, t).bytes > most_bytes) {
    t.extent = Extent::part;
    t.k = std::min(t.k, 16);
  }
  while (interleaved && GemmTilesMemory(element_bytes, t).bytes > most_bytes) t.matrices /= 2;
  // As many blocks as the shared memory of compute capability 9.0 admits (228 KiB, 1 KiB of it the driver's per block) with registers for
  // sums, the next operands and 48 for addresses.
  int const words = element_bytes / 4, rows = simt::ceil_div(t.m, t.row_lanes), columns = simt::ceil_div(t.n, t.column_lanes);
  int const registers = words * (rows * columns + 2 * (rows + columns)) + 48;
  int const by_memory = 233472 / (GemmTilesMemory(element_bytes, t).bytes + 1024);
  t.blocks_per_sm = std::clamp(std::min(by_memory, 65536 / (t.threads() * registers)), 1, 32);
  return t;
}

}  // namespace myriad
