#pragma once
/// Plans of the kernels for the reduction to tridiagonal form.
///
/// Tried without gain (H200):
/// - y^H v from x^H A x, which saves a grid barrier per column but needs consecutive tiles for each block: slower from 4096 rows on.
/// - The first tile of a block prefetched into the L2 cache before the grid barrier: slower from 4096 rows on.

#include <algorithm>
#include <cstdint>
#include <span>

#include "blocked/arena.hpp"
#include "eigen/eigen_plan.hpp"
#include "eigen/tridiagonal/tridiagonal_config.cuh"
#include "myriad/device.hpp"

namespace myriad {

/// Kernels for matrices that a block has in its registers, by size. Of those with 33 rows and more the fastest of two to five on an H200.
inline constexpr TridiagonalBlock tridiagonal_blocks_single[]{{8, 4, 4, 2, 8, 16},   {8, 4, 6, 2, 12, 12}, {8, 4, 8, 2, 16, 10},
                                                              {8, 8, 12, 2, 12, 5},  {8, 16, 16, 1, 8, 3}, {8, 16, 20, 2, 10, 2},
                                                              {16, 16, 13, 3, 5, 2}, {16, 16, 15, 4, 8, 1}};
inline constexpr TridiagonalBlock tridiagonal_blocks_double[]{{8, 4, 4, 2, 8, 14},   {8, 4, 6, 3, 6, 10},  {8, 8, 8, 2, 4, 7},
                                                              {8, 8, 10, 3, 5, 4},   {8, 8, 12, 3, 4, 4},  {8, 16, 16, 1, 4, 2},
                                                              {16, 16, 10, 2, 5, 1}, {16, 16, 11, 3, 4, 1}};
inline constexpr TridiagonalBlock tridiagonal_blocks_single_complex[]{{8, 4, 4, 2, 8, 14},   {8, 4, 6, 2, 12, 8},  {8, 8, 8, 1, 8, 6},
                                                                      {8, 8, 10, 3, 5, 4},   {8, 8, 12, 3, 4, 4},  {8, 16, 16, 2, 4, 2},
                                                                      {16, 16, 10, 2, 5, 1}, {16, 16, 11, 3, 4, 1}};
inline constexpr TridiagonalBlock tridiagonal_blocks_double_complex[]{{8, 8, 4, 1, 4, 6},   {8, 8, 6, 1, 6, 4},   {8, 16, 8, 1, 2, 3},
                                                                      {16, 16, 6, 1, 3, 1}, {16, 16, 7, 2, 2, 1}, {16, 16, 8, 2, 2, 1}};

constexpr std::span<TridiagonalBlock const> tridiagonal_blocks(int element_bytes, bool complex) {
  if (element_bytes == 16) return tridiagonal_blocks_double_complex;
  if (element_bytes == 4) return tridiagonal_blocks_single;
  return complex ? std::span<TridiagonalBlock const>(tridiagonal_blocks_single_complex) : tridiagonal_blocks_double;
}
/// Rows of the largest matrix that a block has in its registers.
constexpr int tridiagonal_block_largest(int element_bytes, bool complex) {
  return tridiagonal_blocks(element_bytes, complex).back().rows();
}

/// Wider panels read columns of V and W more often, and the matrix less often. A block of the update holds its rows and columns of V and W
/// in shared memory, which for double complex needs more than most GPUs have.
constexpr int tridiagonal_width(int element_bytes, int shared_bytes) {
  return TridiagonalUpdate{.width = 32}.shared_bytes(element_bytes) <= shared_bytes ? 32 : 16;
}
constexpr TridiagonalUpdate tridiagonal_update_plan(int element_bytes, int shared_bytes) {
  return {.width = tridiagonal_width(element_bytes, shared_bytes)};
}

/// A block has 8 warps, a lane 16 loads of 16 bytes in flight, and a multiprocessor two blocks, with 128 registers per thread: 128 KB are
/// in flight. A warp has 16 columns; in double complex it has 8, since 16 sums would leave no registers, and half as much in flight.
constexpr TridiagonalPanel tridiagonal_panel_plan(int element_bytes, int shared_bytes = most_shared_bytes) {
  return {.width = tridiagonal_width(element_bytes, shared_bytes), .warps = 8, .columns = element_bytes == 16 ? 8 : 16, .blocks_per_sm = 2};
}
/// Blocks per multiprocessor: one if shared memory has no room for more.
inline int tridiagonal_panel_blocks(TridiagonalPanel const& c, int element_bytes, Device const& device) {
  int const of_block = c.shared_bytes(element_bytes, 0) + device.reserved_shared_memory_per_block;
  return std::clamp(device.shared_memory_per_multiprocessor / of_block, 1, c.blocks_per_sm);
}
/// Number of tiles that fit in a block's shared memory.
inline int tridiagonal_held_tiles(TridiagonalPanel const& c, int element_bytes, Device const& device) {
  int const of_block = device.shared_memory_per_multiprocessor / tridiagonal_panel_blocks(c, element_bytes, device);
  int const room = std::min(of_block - device.reserved_shared_memory_per_block, device.shared_memory_per_block);
  return std::max(0, (room - c.shared_bytes(element_bytes, 0)) / (c.tile(element_bytes) * element_bytes));
}
/// Number of tiles, out of TridiagonalWork::kept_of, that are kept in the L2 cache: all if they fit, else so many that streaming data has
/// room. Measured on an H200.
constexpr int tridiagonal_kept(TridiagonalTiles const& tiles, int element_bytes, std::int64_t l2_bytes) {
  std::int64_t const bytes = std::int64_t{tiles.read} * tiles.rows * tiles.columns * element_bytes, of = TridiagonalWork<float>::kept_of;
  std::int64_t const kept = bytes <= l2_bytes * 6 / 5 ? l2_bytes * 7 / 10 : l2_bytes / 2;
  return static_cast<int>(bytes <= kept ? of : of * kept / bytes);
}

constexpr TridiagonalResident tridiagonal_resident_plan() { return {.row_parts = 4, .column_parts = 4}; }
/// Rows of the largest matrix that fits in `blocks` blocks with `shared_bytes` each.
constexpr int tridiagonal_resident_rows(TridiagonalResident const& c, int element_bytes, int blocks, int shared_bytes) {
  int m = 0;
  while (c.elements(m + 1, blocks) * element_bytes <= shared_bytes) ++m;
  return m;
}

/// Partition of all blocks into equal groups for matrices of n rows that fit in them; each group takes one matrix after the other. The
/// number of groups is the smallest with as few rounds as with the smallest groups: a column costs 3 us of latency, but at most 0.6 us of
/// work per block. The bits do not depend on it.
struct TridiagonalGroups {
  int count, blocks;
};
constexpr TridiagonalGroups tridiagonal_groups(TridiagonalResident const& c, int element_bytes, int n, std::int64_t matrices,
                                               int multiprocessors, int shared_bytes) {
  int fewest = 1;
  while (fewest < multiprocessors && c.elements(n, fewest) * element_bytes > shared_bytes) ++fewest;
  std::int64_t const most = multiprocessors / fewest, turns = (matrices + most - 1) / most;
  int const count = static_cast<int>((matrices + turns - 1) / turns);
  return {count, multiprocessors / count};
}

/// Bytes of workspace, which limit the number of matrices at a time, but at least one. With panels only one at a time, since each matrix
/// uses the whole GPU.
constexpr std::int64_t tridiagonal_workspace = std::int64_t{1} << 30;

/// Workspace of one matrix, number `number` of the batch.
template <typename T>
struct TridiagonalWorkspace {
  TridiagonalMatrix<T> matrix{};
  int margin;  ///< see tridiagonal_margin; 0 without panels

  /// `panel_blocks`: zero without panels.
  TridiagonalWorkspace(Arena& arena, std::int64_t number, TridiagonalPanel const& c, int n, int panel_blocks, int copy_blocks)
      : margin(panel_blocks > 0 ? tridiagonal_margin : 0) {
    using R = simt::Real<T>;
    std::int64_t const ld = (n + 31) / 32 * 32 + margin, groups = ld / 32;
    auto const for_panels = [&](std::int64_t count) { return panel_blocks > 0 ? count : 0; };
    matrix.number = number;
    matrix.a = arena.take<T>(ld * (n + margin));
    matrix.ld = ld;
    for (T** const to : {&matrix.v, &matrix.w}) *to = arena.take<T>(for_panels(ld * c.width));
    matrix.x = arena.take<T>(for_panels(ld));
    matrix.products = arena.take<T>(for_panels(std::int64_t{2} * c.width));
    matrix.products_of_groups = arena.take<T>(for_panels(2 * c.width * groups));
    matrix.squares = arena.take<R>(for_panels(groups));
    matrix.x_a_x = arena.take<R>(for_panels(panel_blocks));
    matrix.sums = arena.take<T>(for_panels(TridiagonalTiles(n, c.tile_rows(sizeof(T)), c.tile_columns(), 1, 0).elements()));
    matrix.d = arena.take<R>(ld);
    matrix.e = arena.take<R>(ld);
    matrix.tau = arena.take<T>(ld);
    matrix.largest = arena.take<R>(copy_blocks);
    matrix.arrived = arena.take<unsigned>(1);
    matrix.others = arena.take<unsigned>(1);
    matrix.pairs = arena.take<T>(4 * ld);
  }
};

}  // namespace myriad
