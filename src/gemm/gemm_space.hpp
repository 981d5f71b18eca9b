#pragma once
/// The configs of gemm_pipelined and gemm_tiles that tuning tries.

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

#include "core/dtype.hpp"
#include "gemm/pipelined/gemm_pipelined_plan.hpp"
#include "gemm/tiles/gemm_tiles_plan.hpp"
#include "myriad/device.hpp"
#include "runtime/tiny.hpp"
#include "tune/tuned.hpp"

namespace myriad {

/// Products of m-by-k and k-by-n matrices by gemm_pipelined. One config for all layouts, structures and parts of C.
struct GemmPipelinedSpace {
  using Config = GemmPipelined;
  using Tuned = tuning::Members<&GemmPipelined::m, &GemmPipelined::n, &GemmPipelined::k, &GemmPipelined::stages, &GemmPipelined::warps_down,
                                &GemmPipelined::warps_across, &GemmPipelined::blocks_per_sm, &GemmPipelined::c_beside>;

  Dtype dtype;
  std::int64_t m, n, k;
  int blocks = any_blocks;  ///< see gemm_pipelined_plan
  bool operator==(GemmPipelinedSpace const&) const = default;

  [[nodiscard]] constexpr bool single() const { return dtype == Dtype::f32 || dtype == Dtype::c32; }
  [[nodiscard]] constexpr bool complex() const { return dtype == Dtype::c32 || dtype == Dtype::c64; }
  [[nodiscard]] tuning::Problem problem() const { return {"gemm_pipelined", dtype, {m, n, k}}; }
  [[nodiscard]] GemmPipelined plan() const { return gemm_pipelined_plan(single() ? 4 : 8, complex(), m, n, k, blocks); }

  /// Shared memory: the most of all layouts.
  [[nodiscard]] int bytes(GemmPipelined c) const {
    int most = 0;
    for (Lines const a : {Lines::columns, Lines::rows})
      for (Lines const b : {Lines::columns, Lines::rows})
        for (Lines const in_c : {Lines::columns, Lines::rows}) {
          c.a = a, c.b = b, c.c = in_c;
          most = std::max(most, GemmPipelinedMemory(single() ? 4 : 8, complex(), c).bytes);
        }
    return most;
  }
  /// 32-bit registers of a lane for sums, and for the operands of one term, which those of the next term replace.
  [[nodiscard]] int words(GemmPipelined const& c) const { return c.m * c.n * (complex() ? 2 : 1) * (single() ? 1 : 2) / c.threads(); }
  [[nodiscard]] int operand_words(GemmPipelined const& c) const {
    return single() ? (c.m / (4 * c.warps_down) + c.n / (8 * c.warps_across)) * (complex() ? 2 : 1) : 24;
  }
  [[nodiscard]] static int registers(GemmPipelined const& c) { return gpu::register_limit(c.blocks_per_sm, c.threads()); }

  [[nodiscard]] bool admits(GemmPipelined const& c, Device const& device) const {
    int const row_unit = single() ? 4 : 16, limit = 256;
    if (c.m < 1 || c.n < 1 || c.k < 4 || c.k % 4 != 0 || c.stages < 1 || c.stages > 8 || c.blocks_per_sm < 1 || c.blocks_per_sm > 32)
      return false;
    if (c.m > limit || c.n > limit || c.k > limit || c.warps_down < 1 || c.warps_down > 16 || c.warps_across < 1 || c.warps_across > 16)
      return false;
    if (c.m % (row_unit * c.warps_down) != 0 || c.n % (8 * c.warps_across) != 0 || c.c_beside < 0 || c.c_beside > 1) return false;
    if (c.threads() > std::min(512, device.max_threads_per_block)) return false;
    if (m <= 32 && c.m < m) return false;  // a product in place needs all rows in one block
    // A config that spills is slow, which a search finds out.
    return words(c) <= (single() ? 176 : 144) && words(c) + operand_words(c) <= registers(c) && bytes(c) <= device.shared_memory_per_block;
  }

  /// Estimated cycles of a product on a multiprocessor of compute capability 9.0. They only set the order in which configs are tried.
  [[nodiscard]] double cost(GemmPipelined const& c) const {
    if (single()) {
      // With three or five warps, one quarter of a multiprocessor has more to do than the others.
      int const warps = c.threads() / 32, quarters = simt::ceil_div(c.blocks_per_sm * warps, 4) * 4;
      double const uneven = (warps & (warps - 1)) == 0 ? 1.0 : 1.2 * quarters / (c.blocks_per_sm * warps);
      return uneven * gemm_pipelined_cost_of_lanes(complex(), m, n, k, c, c.blocks_per_sm);
    }
    double const tiles = std::ceil(1.0 * static_cast<double>(m) / c.m) * std::ceil(1.0 * static_cast<double>(n) / c.n);
    double const terms = static_cast<double>(k), numbers = complex() ? 2 : 1, size = 8 * numbers;
    double const math = c.m * c.n * terms * numbers * numbers / 128;
    double const from_cache = (c.m + c.n) * terms * size / 64;
    double const moved = 4.0 * static_cast<double>(m * n) / tiles * size / 18;
    int const per_warp_m = c.m / c.warps_down, per_warp_n = c.n / c.warps_across;
    double const reads = c.warps_down * c.warps_across * terms * size * (per_warp_m + numbers * per_warp_n) / 128;
    double const rounds = std::ceil(terms / c.k) / std::max(1, c.stages - 1);
    double const busy = std::max({math, from_cache, moved, reads});
    double const waits = 900 * (rounds + 1.5);
    return tiles * std::max(busy, (busy + waits) / c.blocks_per_sm);
  }

  [[nodiscard]] std::vector<GemmPipelined> candidates(Device const& device) const {
    auto const up = [](std::int64_t size, int unit) { return static_cast<int>((size + unit - 1) / unit) * unit; };
    // Tiles divide a matrix evenly.
    auto const sides = [&](std::int64_t size, int unit) {
      std::vector<int> out;
      for (int parts = 1; parts <= 64; ++parts) {
        int const side = up((size + parts - 1) / parts, unit);
        if (side <= 160 && (side >= 32 || parts == 1) && std::find(out.begin(), out.end(), side) == out.end()) out.push_back(side);
      }
      return out;
    };
    GemmPipelined c = plan();
    std::vector<std::pair<double, GemmPipelined>> found;
    std::vector<int> parts{8, 16, 24, 32};
    if (k <= 128) parts.push_back(up(k, 4));
    if (k <= 128 && k > 8) parts.push_back(up((k + 1) / 2, 4));
    std::sort(parts.begin(), parts.end());
    parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
    for (int down = 1; down <= 8; ++down)
      for (int across = 1; down * across <= 16; ++across)
        for (int const rows : sides(m, (single() ? 4 : 16) * down))
          for (int const columns : sides(n, 8 * across))
            for (int const terms : parts)
              for (int stages = 1; stages <= 4; ++stages) {
                if (terms > up(k, 4) || (stages > 1 && (stages - 1) * terms >= k)) continue;
                for (int const c_beside : {0, 1}) {
                  c.m = rows, c.n = columns, c.k = terms, c.stages = stages, c.warps_down = down, c.warps_across = across;
                  c.c_beside = c_beside;
                  gpu::with_fewer_blocks(
                      c, device.shared_memory_per_multiprocessor / (bytes(c) + 1024), 2,
                      [&](GemmPipelined const& x) {
                        return admits(x, device) && (x.blocks_per_sm == 1 || words(x) + operand_words(x) + 32 <= registers(x));
                      },
                      [&](GemmPipelined const& x) { found.emplace_back(cost(x), x); });
                }
              }
    std::vector<GemmPipelined> out = tuning::in_order_of_cost(std::move(found));
    if (out.size() > 2000) out.resize(2000);
    return out;
  }
};

/// Products by gemm_tiles, for batches that are not interleaved.
struct GemmTilesSpace {
  using Config = GemmTiles;
  using Tuned =
      tuning::Members<&GemmTiles::k, &GemmTiles::row_lanes, &GemmTiles::column_lanes, &GemmTiles::matrices, &GemmTiles::blocks_per_sm>;

  Dtype dtype;
  std::int64_t m, n, k;

  [[nodiscard]] tuning::Problem problem() const { return {"gemm_tiles", dtype, {m, n, k}}; }
  [[nodiscard]] GemmTiles plan() const { return gemm_tiles_plan(element_bytes(dtype), m, n, k, false); }
  [[nodiscard]] int words(GemmTiles const& c) const {
    int const rows = simt::ceil_div(c.m, c.row_lanes), columns = simt::ceil_div(c.n, c.column_lanes);
    return element_bytes(dtype) / 4 * (rows * columns + 2 * (rows + columns));
  }

  [[nodiscard]] bool admits(GemmTiles const& c, Device const& device) const {
    GemmTiles const p = plan();
    auto const power_of_two = [](int x) { return x >= 1 && (x & (x - 1)) == 0; };
    if (!power_of_two(c.row_lanes) || !power_of_two(c.column_lanes) || c.row_lanes > 512 || c.column_lanes > 512) return false;
    if (c.lanes() > 512 || c.matrices < 1 || c.matrices > 256) return false;
    if (c.k < 1 || c.k > 64 || (p.whole() && c.k != p.k) || c.blocks_per_sm < 1 || c.blocks_per_sm > 32) return false;
    // A block of packed matrices has whole 16-byte chunks and whole warps.
    if (p.whole() && c.matrices % std::max(1, 16 / element_bytes(dtype)) != 0) return false;
    if (!p.whole() && c.matrices != 1) return false;
    if (c.threads() % 32 != 0 || c.threads() > std::min(512, device.max_threads_per_block)) return false;
    auto const bytes = [&](GemmTiles const& x) { return GemmTilesMemory(element_bytes(dtype), x).bytes; };
    if (gpu::most_bytes(c, bytes, &GemmTiles::a, &GemmTiles::b, &GemmTiles::c) > device.shared_memory_per_block) return false;
    return words(c) + 32 <= std::min(255, 65536 / (c.blocks_per_sm * c.threads()));
  }

  [[nodiscard]] std::vector<GemmTiles> candidates(Device const& device) const {
    GemmTiles const p = plan();
    std::vector<std::pair<double, GemmTiles>> found;
    for (int row_lanes = 1; row_lanes <= 32; row_lanes *= 2)
      for (int column_lanes = 1; row_lanes * column_lanes <= 256; column_lanes *= 2) {
        if (row_lanes > 2 * p.m || column_lanes > 2 * p.n) continue;
        for (int matrices = 1; matrices <= 256; matrices *= 2)
          for (int const terms : p.whole() ? std::vector{p.k} : std::vector{8, 16, 32}) {
            GemmTiles c = p;
            c.row_lanes = row_lanes, c.column_lanes = column_lanes, c.matrices = matrices, c.k = terms;
            int const bytes = GemmTilesMemory(element_bytes(dtype), c).bytes;
            gpu::with_fewer_blocks(
                c, device.shared_memory_per_multiprocessor / (bytes + 1024), 3, [&](GemmTiles const& x) { return admits(x, device); },
                [&](GemmTiles const& x) {
                  // Favours many bytes in flight and few reads from shared memory per product.
                  double const rows = simt::ceil_div(x.m, row_lanes), columns = simt::ceil_div(x.n, column_lanes);
                  double const reads = 1 / rows + 1 / columns, under_way = 1.0 * x.blocks_per_sm * bytes / 200e3;
                  double const idle = row_lanes * rows / x.m * (column_lanes * columns / x.n);
                  found.emplace_back(idle * (1 + reads) + 0.3 / std::min(1.0, under_way) + 0.002 * x.threads() / 32, x);
                });
          }
      }
    return tuning::in_order_of_cost(std::move(found));
  }
};

}  // namespace myriad
