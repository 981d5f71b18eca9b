#pragma once
/// The configs of the gemv kernels that tuning tries. Sums are in the order of the columns, whatever the config.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "core/dtype.hpp"
#include "gemm/vectors/gemv_plan.hpp"
#include "myriad/device.hpp"
#include "runtime/tiny.hpp"
#include "tune/tuned.hpp"

namespace myriad {

/// The problem that the three kernels share: products of m-by-k matrices with vectors.
struct GemvProblem {
  Dtype dtype;
  std::int64_t m, k;

  [[nodiscard]] static bool have_room(int blocks_per_sm, int threads, int registers, Device const& device) {
    if (blocks_per_sm < 1 || blocks_per_sm > 32 || threads > std::min(512, device.max_threads_per_block)) return false;
    return blocks_per_sm * threads <= 2048 && blocks_per_sm * threads * registers <= device.registers_per_multiprocessor;
  }
};

/// gemv: a pipeline in shared memory.
struct GemvSpace : GemvProblem {
  using Config = Gemv;
  using Tuned = tuning::Members<&Gemv::rows, &Gemv::k, &Gemv::lanes, &Gemv::stages, &Gemv::warps, &Gemv::blocks_per_sm>;

  Lines a;

  [[nodiscard]] tuning::Problem problem() const { return {a == Lines::columns ? "gemv" : "gemv by rows", dtype, {m, 1, k}}; }
  [[nodiscard]] Gemv plan() const { return gemv_plan(element_bytes(dtype), m, k, a); }

  [[nodiscard]] bool admits(Gemv const& c, Device const& device) const {
    int const of_chunk = 16 / element_bytes(dtype);
    if (c.rows < of_chunk || c.rows > 256 || c.rows % of_chunk != 0 || c.k < of_chunk || c.k > 128 || c.k % of_chunk != 0) return false;
    if (c.lanes < 1 || c.lanes > 32 || !std::has_single_bit(static_cast<unsigned>(c.lanes)) || c.rows > 8 * c.lanes) return false;
    if (c.stages < 2 || c.stages > 8 || c.warps < 1 || c.warps > 16) return false;
    return GemvMemory(element_bytes(dtype), c).bytes <= device.shared_memory_per_block &&
           have_room(c.blocks_per_sm, c.threads(), c.rows > 4 * c.lanes ? 96 : 64, device);
  }

  [[nodiscard]] std::vector<Gemv> candidates(Device const& device) const {
    Gemv const p = plan();
    auto const round_up = [](std::int64_t x, std::int64_t to) { return static_cast<int>((x + to - 1) / to * to); };
    int const of_chunk = 16 / element_bytes(dtype);
    std::vector<std::pair<double, Gemv>> found;
    std::vector<int> sides;
    for (std::int64_t const most : {32, 64, 96, 128, 256}) {  // rows are divided evenly
      std::int64_t const parts = (m + most - 1) / most;
      int const rows = round_up((m + parts - 1) / parts, of_chunk);
      if (std::find(sides.begin(), sides.end(), rows) == sides.end()) sides.push_back(rows);
    }
    for (int const rows : sides)
      for (int const bytes_of_terms : {64, 128, 256, 512})
        for (int stages = 2; stages <= 4; ++stages)
          for (int const warps : {1, 2, 4, 8})
            for (int const fewer : {1, 2}) {
              Gemv c = p;
              c.rows = rows;
              c.k = std::min(bytes_of_terms / element_bytes(dtype), round_up(std::max<std::int64_t>(k, 1), of_chunk));
              c.lanes = std::clamp(static_cast<int>(std::bit_ceil(static_cast<unsigned>(rows))), 4, 32) / fewer;
              c.stages = stages, c.warps = warps;
              if (c.lanes < 4 || (c.stages - 2) * c.k >= k) continue;
              gpu::with_fewer_blocks(
                  c, device.shared_memory_per_multiprocessor / (GemvMemory(element_bytes(dtype), c).bytes + 1024), 2,
                  [&](Gemv const& x) { return admits(x, device); },
                  [&](Gemv const& x) {
                    // Favours as many bytes in flight as a multiprocessor has room for, in stages that are not small
                    double const under_way = x.blocks_per_sm * GemvMemory(element_bytes(dtype), x).bytes * (x.stages - 1.0) / x.stages;
                    double const part = static_cast<double>(x.rows) * x.k * element_bytes(dtype) / x.lanes * 32;
                    found.emplace_back(0.3 / std::min(1.0, under_way / 130e3) + 800.0 / part + 0.1 * (fewer - 1) +
                                           0.03 * (x.warps != p.warps) + 0.03 * (x.stages != p.stages),
                                       x);
                  });
            }
    return tuning::in_order_of_cost(std::move(found));
  }
};

/// gemv_columns: one row per lane, from global memory to registers.
struct GemvColumnsSpace : GemvProblem {
  using Config = GemvColumns;
  using Tuned = tuning::Members<&GemvColumns::terms, &GemvColumns::warps, &GemvColumns::blocks_per_sm>;

  [[nodiscard]] tuning::Problem problem() const { return {"gemv_columns", dtype, {m, 1, k}}; }
  [[nodiscard]] GemvColumns plan() const { return gemv_columns_plan(element_bytes(dtype), k); }

  [[nodiscard]] bool admits(GemvColumns const& c, Device const& device) const {
    if (c.terms < 1 || c.terms > 64 || c.warps < 1 || c.warps > 16) return false;
    int const words = c.terms * element_bytes(dtype) / 4;  // x is the same for all lanes, and may be loaded when it is used
    return words + 24 <= 255 && have_room(c.blocks_per_sm, c.threads(), std::max(words + 24, 32), device);
  }

  [[nodiscard]] std::vector<GemvColumns> candidates(Device const& device) const {
    GemvColumns const p = plan();
    std::vector<std::pair<double, GemvColumns>> found;
    std::int64_t const terms = std::max<std::int64_t>(k, 1);
    std::vector<int> some;
    for (std::int64_t const most : {4, 6, 8, 12, 16, 24, 32, 48}) {  // divided evenly
      std::int64_t const parts = (terms + most - 1) / most;
      auto const at_once = static_cast<int>((terms + parts - 1) / parts);
      if (std::find(some.begin(), some.end(), at_once) == some.end()) some.push_back(at_once);
    }
    for (int const at_once : some)
      for (int const warps : {2, 4, 8})
        for (int const threads : {512, 768, 1024, 1536, 2048}) {
          GemvColumns const c{.terms = at_once, .warps = warps, .blocks_per_sm = std::min(32, threads / (32 * warps)), .scheduled = 0};
          if (!admits(c, device)) continue;
          double const under_way = 1.0 * c.blocks_per_sm * c.threads() * at_once * element_bytes(dtype);
          found.emplace_back(0.3 / std::min(1.0, under_way / 64e3) + 0.5 / at_once + 0.05 * (warps != p.warps), c);
        }
    return tuning::in_order_of_cost(std::move(found));
  }
};

/// gemv_whole: whole rows in shared memory, or a whole matrix by columns.
struct GemvWholeSpace : GemvProblem {
  using Config = GemvWhole;
  using Tuned = tuning::Members<&GemvWhole::rows, &GemvWhole::warps, &GemvWhole::blocks_per_sm>;

  bool in_one_piece;
  Lines a;

  [[nodiscard]] tuning::Problem problem() const {
    return {a == Lines::columns ? "gemv_whole" : in_one_piece ? "gemv_whole by rows in one piece" : "gemv_whole by rows", dtype, {m, 1, k}};
  }
  [[nodiscard]] GemvWhole plan() const { return gemv_whole_plan(element_bytes(dtype), m, k, in_one_piece, a); }

  [[nodiscard]] bool admits(GemvWhole const& c, Device const& device) const {
    if (c.rows < 1 || c.rows > 256 || c.warps < 1 || c.warps > 16) return false;
    if (a == Lines::columns && c.rows != m) return false;
    return GemvWholeMemory(element_bytes(dtype), c).bytes <= device.shared_memory_per_block &&
           have_room(c.blocks_per_sm, c.threads(), c.rows > 128 ? 96 : 64, device);
  }

  [[nodiscard]] std::vector<GemvWhole> candidates(Device const& device) const {
    GemvWhole const p = plan();
    std::vector<std::pair<double, GemvWhole>> found;
    std::vector<int> sides;
    for (std::int64_t const most :
         a == Lines::columns ? std::vector<std::int64_t>{m} : std::vector<std::int64_t>{16, 24, 32, 48, 64, 96, 128, 192}) {
      std::int64_t const parts = (m + most - 1) / most;
      auto const rows = static_cast<int>((m + parts - 1) / parts);
      if (std::find(sides.begin(), sides.end(), rows) == sides.end()) sides.push_back(rows);
    }
    for (int const rows : sides)
      for (int const warps : {1, 2, 4, 8}) {
        GemvWhole c = p;
        c.rows = rows, c.warps = warps;
        gpu::with_fewer_blocks(
            c, device.shared_memory_per_multiprocessor / (GemvWholeMemory(element_bytes(dtype), c).bytes + 1024), 2,
            [&](GemvWhole const& x) { return admits(x, device); },
            [&](GemvWhole const& x) {
              double const under_way = 1.0 * x.blocks_per_sm * GemvWholeMemory(element_bytes(dtype), x).bytes;
              double const idle = simt::ceil_div(rows, 32) * 32.0 / rows;
              found.emplace_back(0.3 / std::min(1.0, under_way / 200e3) + 0.2 * idle + 0.05 * (warps - 1), x);
            });
      }
    return tuning::in_order_of_cost(std::move(found));
  }
};

}  // namespace myriad
