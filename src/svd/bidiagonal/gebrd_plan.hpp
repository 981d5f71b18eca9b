#pragma once
/// The plans of gebrd.

#include <cstdint>
#include <iterator>

#include "svd/bidiagonal/gebrd_block_config.cuh"
#include "svd/bidiagonal/gebrd_panels_config.cuh"

namespace myriad {

/// Kernels for matrices that a block has in registers and shared memory, by size: those with the smallest phases that compile within about
/// a second. More blocks at a time, with a part of the columns in shared memory, are worth some spills: 2 in place of 1 took 16% less time
/// (double, 128 rows), 4 in place of 2 took 21% less (80 rows). Phases of two columns took less time than those of four, 15% (128 rows).
inline constexpr GebrdBlock gebrd_blocks_single[]{{8, 4, 2, 4, 0, 4, 32},    {8, 4, 3, 6, 0, 2, 20},  {8, 4, 4, 8, 0, 2, 16},
                                                  {8, 4, 6, 12, 0, 3, 12},   {8, 8, 8, 8, 0, 2, 7},   {8, 16, 10, 5, 0, 2, 4},
                                                  {8, 16, 12, 6, 0, 2, 3},   {16, 16, 8, 8, 0, 2, 2}, {16, 16, 10, 10, 4, 3, 2},
                                                  {16, 16, 12, 12, 6, 4, 2}, {16, 32, 15, 8, 5, 3, 1}};
inline constexpr GebrdBlock gebrd_blocks_double[]{{8, 4, 2, 4, 0, 4, 24},  {8, 4, 3, 6, 0, 2, 14},  {8, 4, 4, 8, 2, 2, 14},
                                                  {8, 4, 6, 12, 0, 3, 8},  {8, 8, 8, 8, 2, 2, 5},   {8, 16, 10, 5, 2, 1, 4},
                                                  {8, 16, 12, 6, 2, 2, 3}, {16, 16, 8, 8, 4, 2, 2}, {16, 16, 10, 10, 5, 3, 1}};
inline constexpr GebrdBlock gebrd_blocks_single_complex[]{{8, 4, 2, 4, 0, 4, 20},  {8, 4, 3, 6, 0, 2, 12},  {8, 4, 4, 8, 0, 2, 12},
                                                          {8, 8, 6, 6, 0, 2, 6},   {8, 8, 8, 8, 0, 3, 4},   {8, 16, 10, 5, 0, 2, 2},
                                                          {8, 16, 12, 6, 0, 3, 2}, {16, 16, 8, 8, 4, 3, 2}, {16, 16, 10, 10, 5, 5, 1}};
inline constexpr GebrdBlock gebrd_blocks_double_complex[]{{8, 4, 2, 4, 0, 4, 12}, {8, 4, 3, 6, 0, 3, 10}, {8, 8, 4, 4, 0, 2, 6},
                                                          {8, 16, 6, 3, 0, 1, 3}, {8, 16, 8, 4, 0, 2, 2}, {16, 16, 6, 6, 3, 2, 1},
                                                          {16, 16, 7, 7, 5, 3, 1}};

struct GebrdBlocks {
  GebrdBlock const* first;
  int count;
};
constexpr GebrdBlocks gebrd_blocks(int element_bytes, bool complex) {
  auto const all = [](auto const& blocks) { return GebrdBlocks{blocks, static_cast<int>(std::size(blocks))}; };
  if (complex) return element_bytes == 16 ? all(gebrd_blocks_double_complex) : all(gebrd_blocks_single_complex);
  return element_bytes == 8 ? all(gebrd_blocks_double) : all(gebrd_blocks_single);
}
/// The number of the kernel for m-by-n matrices, as many as there are kernels where none holds them.
constexpr int gebrd_block_plan(GebrdBlocks const& blocks, int element_bytes, std::int64_t m, std::int64_t n, std::int64_t shared_bytes) {
  for (int k = 0; k < blocks.count; ++k)
    if (blocks.first[k].holds(m < n ? n : m, m < n ? m : n) && blocks.first[k].shared_bytes(element_bytes) <= shared_bytes) return k;
  return blocks.count;
}

/// The kernel that reads columns of so many rows. Fewer columns of a warp at a time, and so more blocks, took up to 13% less time.
constexpr GebrdRows gebrd_stream_plan(int element_bytes, std::int64_t rows) {
  bool const low = rows <= 256, middle = !low && (rows <= 512 || element_bytes == 16);
  if (element_bytes == 4) return low ? GebrdRows{8, 4, 3} : middle ? GebrdRows{16, 2, 3} : GebrdRows{32, 1, 2};
  if (element_bytes == 8) return low ? GebrdRows{8, 2, 3} : middle ? GebrdRows{16, 2, 2} : GebrdRows{32, 1, 1};
  return low ? GebrdRows{8, 1, 2} : GebrdRows{16, 1, 1};
}

}  // namespace myriad
