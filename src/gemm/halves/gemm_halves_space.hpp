#pragma once
/// The configs of the 16-bit product kernels that tuning tries.

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "core/dtype.hpp"
#include "gemm/halves/gemm_halves_blocks_plan.hpp"
#include "gemm/halves/gemm_halves_plan.hpp"
#include "gemm/halves/gemm_halves_stream_plan.hpp"
#include "gemm/halves/gemm_halves_warpgroups_plan.hpp"
#include "myriad/device.hpp"
#include "runtime/tiny.hpp"
#include "tune/tuned.hpp"

namespace myriad {

/// The problem that the kernels share: products of m-by-k and k-by-n matrices; `widened`: C has the compute type.
struct GemmHalvesProblem {
  Dtype dtype;
  bool widened;
  std::int64_t m, n, k;

  [[nodiscard]] constexpr bool complex() const { return is_complex_dtype(dtype); }
  [[nodiscard]] constexpr int output_bytes() const { return element_bytes(dtype) * (widened ? 2 : 1); }
  /// Whether `blocks_per_sm` blocks of so many threads, with so many registers each, fit a multiprocessor.
  [[nodiscard]] static bool have_room(int blocks_per_sm, int threads, int registers, Device const& device) {
    if (blocks_per_sm < 1 || blocks_per_sm > 32 || threads > std::min(512, device.max_threads_per_block)) return false;
    if (blocks_per_sm * threads > 2048) return false;
    return blocks_per_sm == 1 || blocks_per_sm * threads * std::min(registers, 255) <= device.registers_per_multiprocessor;
  }
};

/// gemm_halves: small products, in shared memory as a whole, of batches that are not interleaved. One config for all layouts. Whether a
/// lane has a product decides its bits, and stays as planned.
struct GemmHalvesSpace : GemmHalvesProblem {
  using Config = GemmHalves;
  using Tuned = tuning::Members<&GemmHalves::warps, &GemmHalves::warps_down, &GemmHalves::warps_across, &GemmHalves::matrices,
                                &GemmHalves::places, &GemmHalves::blocks_per_sm>;

  [[nodiscard]] tuning::Problem problem() const { return {widened ? "gemm_halves, widened" : "gemm_halves", dtype, {m, n, k}}; }
  [[nodiscard]] GemmHalves plan() const { return gemm_halves_plan(element_bytes(dtype), output_bytes(), complex(), m, n, k, false); }
  [[nodiscard]] int registers(GemmHalves const& c) const {
    if (c.by_lanes()) return 48 + (complex() ? 2 : 1) * (c.m * c.k + c.k * c.n + c.m * c.n);
    return 52 + 4 * c.down(complex()) * c.across() + 2 * c.across();
  }

  [[nodiscard]] bool admits(GemmHalves const& c, Device const& device) const {
    GemmHalves const p = plan();
    if (c.warps < 1 || c.warps > 16 || c.matrices < 1 || c.matrices > 256) return false;
    if (c.places < Places::as_in_memory || c.places > Places::swizzled) return false;
    if (c.warps_down < 0 || c.warps_down > 16 || c.warps_across < 0 || c.warps_across > 16) return false;
    if (p.by_lanes()) {
      if (c.warps_down != 0 || c.warps_across != 0 || c.matrices != 32 * c.warps || c.places != p.places) return false;
    } else {
      if (c.warps_down == 0 || c.warps_across == 0 || c.warps % c.warps_of_tile() != 0) return false;
      if (c.matrices % (c.warps / c.warps_of_tile()) != 0 || c.down(complex()) * c.across() > 32) return false;
    }
    auto const bytes = [&](GemmHalves const& x) { return GemmHalvesMemory(element_bytes(dtype), output_bytes(), x).bytes; };
    if (gpu::most_bytes(c, bytes, &GemmHalves::a, &GemmHalves::b, &GemmHalves::c) > device.shared_memory_per_block) return false;
    return have_room(c.blocks_per_sm, c.threads(), registers(c), device);
  }

  [[nodiscard]] std::vector<GemmHalves> candidates(Device const& device) const {
    GemmHalves const p = plan();
    std::vector<std::pair<double, GemmHalves>> found;
    auto const add = [&](GemmHalves const& of_any_blocks) {
      int const bytes = GemmHalvesMemory(element_bytes(dtype), output_bytes(), of_any_blocks).bytes;
      gpu::with_fewer_blocks(
          of_any_blocks, device.shared_memory_per_multiprocessor / (bytes + 1024), 2,
          [&](GemmHalves const& c) { return admits(c, device); },
          [&](GemmHalves const& c) {
            double cost = 0.3 / std::min(1.0, c.blocks_per_sm * bytes / 200e3) + 2.0 / (c.blocks_per_sm * c.warps);
            if (!c.by_lanes()) {
              int const side = complex() ? 8 : 16;
              double const rows = c.down(complex()) * c.warps_down * side, columns = c.across() * c.warps_across * 8;
              // Elements beyond the matrix are multiplied, too; each warp reads the operands of its tiles.
              cost += rows * columns / (c.m * c.n) * (0.3 + 0.1 * (c.warps_across * rows + c.warps_down * columns) / (rows + columns));
              cost += c.places == p.places ? 0 : 0.1;
            }
            found.emplace_back(cost, c);
          });
    };
    if (p.by_lanes()) {
      for (int const warps : {1, 2, 4, 8}) {
        GemmHalves c = p;
        c.warps = warps, c.matrices = 32 * warps;
        add(c);
      }
      return tuning::in_order_of_cost(std::move(found));
    }
    // As many as fill whole 16-byte chunks
    int const of_chunk = 16 / element_bytes(dtype);
    auto const least_for = [&](int elements) { return of_chunk / std::gcd(of_chunk, elements); };
    int const least = std::max({least_for(p.m * p.k), least_for(p.k * p.n), least_for(p.m * p.n)});
    bool const may_swizzle = [&] {
      constexpr auto packed = simt::Layout::packed_columns;
      return simt::swizzle_of(element_bytes(dtype), p.m, p.k, packed).mask != 0 ||
             simt::swizzle_of(element_bytes(dtype), p.k, p.n, packed).mask != 0;
    }();
    for (int down = 1; down <= 4; ++down)
      for (int across = 1; down * across <= 8; ++across)
        for (int teams = 1; teams * down * across <= 8; teams *= 2)
          for (int matrices = least; matrices <= 64; matrices *= 2)
            for (Places const places : {Places::as_in_memory, Places::padded, Places::swizzled}) {
              if (matrices % teams != 0 || (places == Places::swizzled && !may_swizzle)) continue;
              GemmHalves c = p;
              c.warps = teams * down * across, c.warps_down = down, c.warps_across = across, c.matrices = matrices, c.places = places;
              if ((down > 1 && c.down(complex()) * (down - 1) * (complex() ? 8 : 16) >= c.m) ||
                  (across > 1 && c.across() * (across - 1) * 8 >= c.n))
                continue;  // a warp would have nothing to do
              add(c);
            }
    return tuning::in_order_of_cost(std::move(found));
  }
};

/// gemm_halves_stream: products with A in registers. A config is for one kind of matrices: lines of A and B, and which of the three are in
/// one piece, are part of the name in tables.
struct GemmHalvesStreamSpace : GemmHalvesProblem {
  using Config = GemmHalvesStream;
  using Tuned = tuning::Members<&GemmHalvesStream::columns, &GemmHalvesStream::stages, &GemmHalvesStream::warps, &GemmHalvesStream::down,
                                &GemmHalvesStream::blocks_per_sm>;

  GemmHalvesStreamOperands operands;

  /// "gemm_halves_stream nt lpl, widened": A by columns (n) and B by rows (t); A and C by lines of 16 bytes (l), B in one piece (p).
  [[nodiscard]] std::string_view name() const {
    static auto const* const all = [] {
      auto* const out = new std::array<std::string, 64>;
      for (unsigned i = 0; i < 64; ++i) {
        std::string& text = (*out)[i] = "gemm_halves_stream ";
        for (unsigned const bit : {0u, 1u}) text += (i >> bit & 1) != 0 ? 't' : 'n';
        text += ' ';
        for (unsigned const bit : {2u, 3u, 4u}) text += (i >> bit & 1) != 0 ? 'p' : 'l';
        if ((i >> 5 & 1) != 0) text += ", widened";
      }
      return out;
    }();
    unsigned at = 0, bit = 1;
    for (bool const is : {operands.a == Lines::rows, operands.b == Lines::rows, operands.a_unit == 0, operands.b_unit == 0,
                          operands.c_unit == 0, widened}) {
      at += is ? bit : 0;
      bit *= 2;
    }
    return (*all)[at];
  }
  [[nodiscard]] tuning::Problem problem() const { return {name(), dtype, {m, n, k}}; }
  [[nodiscard]] GemmHalvesStream plan() const {
    return gemm_halves_stream_plan(element_bytes(dtype), output_bytes(), complex(), static_cast<int>(m), static_cast<int>(n),
                                   static_cast<int>(k), operands);
  }
  [[nodiscard]] int bytes(GemmHalvesStream const& c) const {
    return GemmHalvesStreamMemory(element_bytes(dtype), output_bytes(), complex(), c).bytes;
  }

  [[nodiscard]] bool admits(GemmHalvesStream const& c, Device const& device) const {
    if (c.columns < 8 || c.columns > 256 || c.columns % 8 != 0 || c.stages < 1 || c.stages > 8) return false;
    if (c.warps < 1 || c.warps > 16 || c.down < 1 || c.down > 8 || c.rows() < m) return false;
    bool const all_columns = c.columns >= n;
    if (c.stages == 1 ? !all_columns : c.stages - 1 > c.chunks()) return false;
    // In one piece by rows, lines have all columns.
    if (c.b_unit == 0 && c.b == Lines::rows && !all_columns) return false;
    if (c.down > plan().down && gemm_halves_stream_registers(c, complex()) > 255) return false;
    return bytes(c) <= device.shared_memory_per_block &&
           have_room(c.blocks_per_sm, c.threads(), gemm_halves_stream_registers(c, complex()), device);
  }

  [[nodiscard]] std::vector<GemmHalvesStream> candidates(Device const& device) const {
    GemmHalvesStream const p = plan();
    std::vector<std::pair<double, GemmHalvesStream>> found;
    int const tiles = simt::ceil_div(p.m, 16);
    for (int down = 1; down <= std::min(tiles, 4); ++down)
      for (int parts = 1; parts <= 16 && (parts == 1 || 8 * parts < p.n + 8); ++parts)
        for (int stages = 1; stages <= 4; ++stages) {
          GemmHalvesStream c = p;
          c.warps = simt::ceil_div(tiles, down);
          c.down = simt::ceil_div(tiles, c.warps);
          c.columns = simt::ceil_div(simt::ceil_div(p.n, parts), 8) * 8;
          c.stages = stages;
          if (c.down != down || c.chunks() != parts) continue;
          gemm_halves_stream_complete(c, element_bytes(dtype), output_bytes(), complex());
          gpu::with_fewer_blocks(
              c, c.blocks_per_sm, 2, [&](GemmHalvesStream const& x) { return admits(x, device); },
              [&](GemmHalvesStream const& x) {
                double const warps = x.blocks_per_sm * x.warps, filled = std::min(1.0, x.blocks_per_sm * bytes(x) / 200e3);
                // One stage is fastest where several blocks fit; narrow parts mean many barriers.
                double const waits = stages == 1 ? 0.5 / x.blocks_per_sm : 0.2 + 0.1 * parts / stages;
                found.emplace_back(0.3 * x.rows() / p.m + 0.3 / filled + 2.0 / warps + waits + (down == p.down ? 0 : 0.05), x);
              });
        }
    return tuning::in_order_of_cost(std::move(found));
  }
};

/// gemm_halves_blocks: large products, tile by tile. One config for all layouts and alignments.
struct GemmHalvesBlocksSpace : GemmHalvesProblem {
  using Config = GemmHalvesBlocks;
  using Tuned = tuning::Members<&GemmHalvesBlocks::m, &GemmHalvesBlocks::n, &GemmHalvesBlocks::k, &GemmHalvesBlocks::stages,
                                &GemmHalvesBlocks::warps_down, &GemmHalvesBlocks::warps_across, &GemmHalvesBlocks::blocks_per_sm>;

  GemmHalvesBlocksOperands operands;

  [[nodiscard]] tuning::Problem problem() const {
    return {widened ? "gemm_halves_blocks, widened" : "gemm_halves_blocks", dtype, {m, n, k}};
  }
  [[nodiscard]] GemmHalvesBlocks plan() const {
    return gemm_halves_blocks_plan(element_bytes(dtype), output_bytes(), complex(), m, n, k, operands);
  }
  /// Shared memory: the most of all layouts.
  [[nodiscard]] int bytes(GemmHalvesBlocks c) const {
    int most = 0;
    c.aligned = 0;
    for (Lines const a : {Lines::columns, Lines::rows})
      for (Lines const b : {Lines::columns, Lines::rows})
        for (Lines const of_c : {Lines::columns, Lines::rows}) {
          c.a = a, c.b = b, c.c = of_c;
          most = std::max(most, GemmHalvesBlocksMemory(element_bytes(dtype), output_bytes(), complex(), c).bytes);
        }
    return most;
  }
  [[nodiscard]] int registers(GemmHalvesBlocks const& c) const {
    return 72 + c.down() * c.across() * (complex() ? 8 : 4) + 4 * c.down() + 2 * c.across();
  }

  [[nodiscard]] bool admits(GemmHalvesBlocks const& c, Device const& device) const {
    if (c.m < 16 || c.m > 256 || c.n < 8 || c.n > 256 || c.k < 8 || c.k > 128 || c.stages < 2 || c.stages > 8) return false;
    if (c.warps_down < 1 || c.warps_down > 8 || c.warps_across < 1 || c.warps_across > 8) return false;
    // All kernels sum this many terms at a time, or bits would differ.
    if (c.m % (16 * c.warps_down) != 0 || c.n % (8 * c.warps_across) != 0 || c.k % (complex() ? 8 : 16) != 0) return false;
    return registers(c) <= 255 && bytes(c) <= device.shared_memory_per_block &&
           have_room(c.blocks_per_sm, c.threads(), registers(c), device);
  }

  [[nodiscard]] std::vector<GemmHalvesBlocks> candidates(Device const& device) const {
    GemmHalvesBlocks const p = plan();
    std::vector<std::pair<double, GemmHalvesBlocks>> found;
    // Tiles divide a matrix evenly.
    auto const sides = [](std::int64_t size, int unit) {
      std::vector<int> out;
      for (std::int64_t parts = 1; parts <= 64; ++parts) {
        auto const side = static_cast<int>(((size + parts - 1) / parts + unit - 1) / unit * unit);
        if (side <= 192 && (side >= 32 || parts == 1) && std::find(out.begin(), out.end(), side) == out.end()) out.push_back(side);
      }
      return out;
    };
    int const at_once = complex() ? 8 : 16;
    for (int down = 1; down <= 4; down *= 2)
      for (int across = 1; down * across <= 8; across *= 2)
        for (int const rows : sides(m, 16 * down))
          for (int const columns : sides(n, 8 * across))
            for (int const terms : {at_once, 2 * at_once, 4 * at_once})
              for (int stages = 2; stages <= 4; ++stages) {
                GemmHalvesBlocks c = p;
                c.m = rows, c.n = columns, c.k = terms, c.stages = stages, c.warps_down = down, c.warps_across = across;
                if ((stages - 2) * terms >= k && stages > 2) continue;
                c.blocks_per_sm = std::clamp(device.shared_memory_per_multiprocessor / (bytes(c) + 1024), 1, 16);
                while (c.blocks_per_sm > 1 && !admits(c, device)) --c.blocks_per_sm;
                if (!admits(c, device)) continue;
                double const work = static_cast<double>((m + rows - 1) / rows * rows * ((n + columns - 1) / columns * columns));
                double const of_warp_m = rows / down, of_warp_n = columns / across;
                double const reads = (of_warp_m + of_warp_n) / (of_warp_m * of_warp_n), warps = c.blocks_per_sm * down * across;
                double const from_cache = 12.0 / rows + 12.0 / columns;
                found.emplace_back(work / static_cast<double>(m * n) * (1 + 16 * reads + from_cache) * (1 + 2 / warps) +
                                       0.1 * std::abs(terms - p.k) / p.k + 0.05 * (4 - stages),
                                   c);
              }
    return tuning::in_order_of_cost(std::move(found));
  }
};

/// gemm_halves_warpgroups. One config for all layouts and alignments.
struct GemmHalvesWarpgroupsSpace : GemmHalvesProblem {
  using Config = GemmHalvesWarpgroups;
  using Tuned = tuning::Members<&GemmHalvesWarpgroups::warpgroups, &GemmHalvesWarpgroups::columns, &GemmHalvesWarpgroups::stages,
                                &GemmHalvesWarpgroups::c_stages>;

  GemmHalvesWarpgroupsOperands operands;

  [[nodiscard]] tuning::Problem problem() const {
    return {widened ? "gemm_halves_warpgroups, widened" : "gemm_halves_warpgroups", dtype, {m, n, k}};
  }
  [[nodiscard]] GemmHalvesWarpgroups plan() const { return gemm_halves_warpgroups_plan(output_bytes(), m, n, operands); }
  /// Shared memory: the most of all layouts.
  [[nodiscard]] int bytes(GemmHalvesWarpgroups c) const {
    c.a = Lines::columns, c.b = Lines::rows;
    return GemmHalvesWarpgroupsMemory(output_bytes(), c).bytes;
  }

  [[nodiscard]] bool admits(GemmHalvesWarpgroups const& c, Device const& device) const {
    if (c.warpgroups < 1 || c.warpgroups > 3 || c.stages < 2 || c.stages > 8 || c.c_stages < 1 || c.c_stages > 2) return false;
    if (c.columns < 32 || c.columns > (c.warpgroups == 3 ? 192 : 256) || c.columns % 32 != 0) return false;
    // Beside another tile, C has whole boxes: a box that contained elements of the other tile would store them as they were read.
    if (c.columns < n && c.columns * output_bytes() % 128 != 0) return false;
    return bytes(c) <= device.shared_memory_per_block;
  }

  [[nodiscard]] std::vector<GemmHalvesWarpgroups> candidates(Device const& device) const {
    std::vector<std::pair<double, GemmHalvesWarpgroups>> found;
    auto const parts = [](std::int64_t size, int of) { return (size + of - 1) / of; };
    for (int warpgroups = 1; warpgroups <= std::min<std::int64_t>(parts(m, 64), 3); ++warpgroups)
      for (int columns = 32; columns <= 256 && columns < n + 32; columns += 32)
        for (int c_stages = 1; c_stages <= 2; ++c_stages) {
          GemmHalvesWarpgroups c = plan();
          c.warpgroups = warpgroups, c.columns = columns, c.c_stages = c_stages;
          for (c.stages = 8; c.stages > 2 && !admits(c, device);) --c.stages;
          if (!admits(c, device)) continue;
          // Products and reads, and the time that a tile waits for its first terms
          double const tiles = static_cast<double>(parts(m, c.rows()) * parts(n, columns));
          double const moved = (c.rows() + columns) * static_cast<double>(k) + 2.0 * c.rows() * columns;
          found.emplace_back(tiles * (moved + 16000) * (c.stages == 2 ? 1.3 : 1.0) * (c_stages == 1 ? 1.1 : 1.0), c);
        }
    return tuning::in_order_of_cost(std::move(found));
  }
};

}  // namespace myriad
