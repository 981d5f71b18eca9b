#pragma once
/// Which kernels are used for the reduction to tridiagonal form on a GPU. Those of matrices that a block holds are planned as in
/// eigen_plan.hpp.
///
/// Tried without gain (H200):
/// - y^H v from x^H A x, which spares a grid barrier a column but needs a run of neighbouring tiles for each block: slower from 4096 rows
///   on.
/// - The first tile of a block prefetched into the L2 cache before the grid barrier: slower from 4096 rows on.

#include <algorithm>
#include <cstdint>

#include "eigen/eigen_plan.hpp"
#include "eigen/tridiagonal/tridiagonal_config.cuh"
#include "myriad/device.hpp"

namespace myriad {

/// Columns of V and W are read again for every column behind them, and the matrix once a panel; and a block of the update has what its tile
/// needs of V and W in its shared memory, which of double complex numbers takes as much as few GPUs have.
constexpr int tridiagonal_width(int element_bytes, int shared_bytes) {
  return TridiagonalUpdate{.width = 32}.shared_bytes(element_bytes) <= shared_bytes ? 32 : 16;
}
constexpr TridiagonalUpdate tridiagonal_update_plan(int element_bytes, int shared_bytes) {
  return {.width = tridiagonal_width(element_bytes, shared_bytes)};
}

/// A block has 8 warps, a lane 16 loads of 16 bytes under way, and two blocks, with 128 registers a thread, are on a multiprocessor: 128 KB
/// are under way. A warp has 16 columns; in double complex, of which 16 sums would leave no registers, it has 8, and half as much under
/// way.
constexpr TridiagonalPanel tridiagonal_panel_plan(int element_bytes, int shared_bytes = most_shared_bytes) {
  return {.width = tridiagonal_width(element_bytes, shared_bytes), .warps = 8, .columns = element_bytes == 16 ? 8 : 16, .blocks_per_sm = 2};
}
/// Blocks on a multiprocessor: one where shared memory has no room for more.
inline int tridiagonal_panel_blocks(TridiagonalPanel const& c, int element_bytes, Device const& device) {
  int const of_block = c.shared_bytes(element_bytes, 0) + device.reserved_shared_memory_per_block;
  return std::clamp(device.shared_memory_per_multiprocessor / of_block, 1, c.blocks_per_sm);
}
/// As many tiles as shared memory has room for.
inline int tridiagonal_held_tiles(TridiagonalPanel const& c, int element_bytes, Device const& device) {
  int const of_block = device.shared_memory_per_multiprocessor / tridiagonal_panel_blocks(c, element_bytes, device);
  int const room = std::min(of_block - device.reserved_shared_memory_per_block, device.shared_memory_per_block);
  return std::max(0, (room - c.shared_bytes(element_bytes, 0)) / (c.tile(element_bytes) * element_bytes));
}
/// Of TridiagonalWork::kept_of tiles so many stay in the second cache: all where they fit, else what leaves room for what passes through.
/// Measured on an H200.
constexpr int tridiagonal_kept(TridiagonalTiles const& tiles, int element_bytes, std::int64_t l2_bytes) {
  std::int64_t const bytes = std::int64_t{tiles.read} * tiles.rows * tiles.columns * element_bytes, of = TridiagonalWork<float>::kept_of;
  std::int64_t const kept = bytes <= l2_bytes * 6 / 5 ? l2_bytes * 7 / 10 : l2_bytes / 2;
  return static_cast<int>(bytes <= kept ? of : of * kept / bytes);
}

constexpr TridiagonalResident tridiagonal_resident_plan() { return {.row_parts = 4, .column_parts = 4}; }
/// Rows of the largest matrix that so many blocks of so much shared memory hold.
constexpr int tridiagonal_resident_rows(TridiagonalResident const& c, int element_bytes, int blocks, int shared_bytes) {
  int m = 0;
  while (c.elements(m + 1, blocks) * element_bytes <= shared_bytes) ++m;
  return m;
}

/// How matrices of n rows, which blocks on all multiprocessors hold, are divided among these: groups of as many blocks, which take one
/// after the other. As many groups as it takes to have no more turns than with the smallest ones: a column is 3 us of latency, and what a
/// block does with what it holds, 0.6 us at most. The bits do not depend on it.
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

/// Bytes of workspace: as many matrices at a time as that holds, but at least one; and no more where columns go by panels, of which each
/// matrix has the whole GPU.
constexpr std::int64_t tridiagonal_workspace = std::int64_t{1} << 30;

/// What is in the workspace of a matrix, in bytes from its beginning.
struct TridiagonalWorkspace {
  std::int64_t ld;  ///< elements
  int margin;       ///< see tridiagonal_margin; none without panels
  std::int64_t a, v, w, x, products, products_of_groups, squares, x_a_x, sums, d, e, tau, largest, arrived, others, pairs, bytes;

  /// `panel_blocks`: zero where no columns go by panels.
  constexpr TridiagonalWorkspace(int element_bytes, int real_bytes, TridiagonalPanel const& c, int n, int panel_blocks, int copy_blocks)
      : ld((n + 31) / 32 * 32), margin(panel_blocks > 0 ? tridiagonal_margin : 0) {
    ld += margin;
    std::int64_t const groups = ld / 32;
    std::int64_t next = 0;
    auto const take = [&](std::int64_t count, int size) {
      std::int64_t const here = next;
      next += (count * size + 255) / 256 * 256;
      return here;
    };
    auto const take_for_panels = [&](std::int64_t count, int size) { return take(panel_blocks > 0 ? count : 0, size); };
    a = take(ld * (n + margin), element_bytes);
    v = take_for_panels(ld * c.width, element_bytes);
    w = take_for_panels(ld * c.width, element_bytes);
    x = take_for_panels(ld, element_bytes);
    products = take_for_panels(std::int64_t{2} * c.width, element_bytes);
    products_of_groups = take_for_panels(2 * c.width * groups, element_bytes);
    squares = take_for_panels(groups, real_bytes);
    x_a_x = take_for_panels(panel_blocks, real_bytes);
    sums = take_for_panels(TridiagonalTiles(n, c.tile_rows(element_bytes), c.tile_columns(), 1, 0).elements(), element_bytes);
    d = take(ld, real_bytes);
    e = take(ld, real_bytes);
    tau = take(ld, element_bytes);
    largest = take(copy_blocks, real_bytes);
    arrived = take(1, 4);
    others = take(1, 4);
    pairs = take(4 * ld, element_bytes);
    bytes = next;
  }

  /// Addresses of a workspace that begins at `memory`.
  template <typename T>
  [[nodiscard]] TridiagonalMatrix<T> matrix(std::int64_t number, char* memory) const {
    using R = simt::Real<T>;
    auto const as = [&]<typename X>(X*, std::int64_t offset) { return reinterpret_cast<X*>(memory + offset); };
    T* const t = nullptr;
    R* const r = nullptr;
    unsigned* const u = nullptr;
    return {.number = number,
            .a = as(t, a),
            .ld = ld,
            .v = as(t, v),
            .w = as(t, w),
            .x = as(t, x),
            .products = as(t, products),
            .products_of_groups = as(t, products_of_groups),
            .squares = as(r, squares),
            .x_a_x = as(r, x_a_x),
            .sums = as(t, sums),
            .d = as(r, d),
            .e = as(r, e),
            .tau = as(t, tau),
            .largest = as(r, largest),
            .arrived = as(u, arrived),
            .others = as(u, others),
            .pairs = as(t, pairs)};
  }
};

}  // namespace myriad
