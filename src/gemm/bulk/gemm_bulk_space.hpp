#pragma once
/// The configs of gemm_bulk that tuning tries.

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "core/dtype.hpp"
#include "gemm/bulk/gemm_bulk_plan.hpp"
#include "myriad/device.hpp"
#include "runtime/tiny.hpp"
#include "tune/tuned.hpp"

namespace myriad {

/// Products of m-by-k and k-by-n matrices without gaps. No config changes a sum: neither the assignment to lanes nor the size of stages.
struct GemmBulkSpace {
  using Config = GemmBulk;
  using Tuned = tuning::Members<&GemmBulk::columns, &GemmBulk::stages, &GemmBulk::a_stages, &GemmBulk::blocks_per_sm, &GemmBulk::held_rows,
                                &GemmBulk::held_columns, &GemmBulk::c_shared>;

  Dtype dtype;
  int m, n, k;
  Lines a;
  int unit;                                               ///< see GemmBulk
  bool operator==(GemmBulkSpace const&) const = default;  ///< lets plans be cached, since one by lanes takes long

  [[nodiscard]] constexpr bool single() const { return dtype == Dtype::f32 || dtype == Dtype::c32; }
  [[nodiscard]] constexpr bool complex() const { return dtype == Dtype::c32 || dtype == Dtype::c64; }
  [[nodiscard]] constexpr int real_bytes() const { return single() ? 4 : 8; }

  /// "gemm_bulk n 2": A by columns (t: by rows), columns of A, B and C (t: A and B) at multiples of two elements; on tensor cores
  /// always 1.
  [[nodiscard]] std::string_view name() const {
    static constexpr std::array<std::string_view, 6> all{"gemm_bulk n 1", "gemm_bulk n 2", "gemm_bulk n 4",
                                                         "gemm_bulk t 1", "gemm_bulk t 2", "gemm_bulk t 4"};
    return all[(a == Lines::columns ? 0U : 3U) + (single() ? static_cast<unsigned>(unit) / 2 : 0U)];
  }
  [[nodiscard]] tuning::Problem problem() const { return {name(), dtype, {m, n, k}}; }
  [[nodiscard]] constexpr GemmBulk plan() const { return gemm_bulk_plan(real_bytes(), complex(), m, n, k, a, unit); }
  [[nodiscard]] constexpr int bytes(GemmBulk const& c) const { return GemmBulkMemory(element_bytes(dtype), c).bytes; }

  [[nodiscard]] bool admits(GemmBulk const& c, Device const& device) const {
    if (c.c_shared < (single() ? 0 : 1) || c.c_shared > 1) return false;
    if (c.columns < 1 || c.columns > 256 || c.stages < 1 || c.stages > 8 || c.a_stages < 1 || c.a_stages > 4) return false;
    if (single()) {
      if (c.held_rows < 1 || c.held_rows > 32 || c.held_columns < 1 || c.held_columns > 32) return false;
      if (c.columns > n || (a == Lines::columns && c.held_rows % unit != 0)) return false;
      // The kernel checks only the last row of a lane against the matrix.
      if ((c.held_rows - (a == Lines::columns ? unit : 1)) * c.row_lanes() >= m) return false;
    } else if (c.held_rows != 0 || c.held_columns != 0 || c.columns % 16 != 0) {
      return false;
    }
    return c.threads() <= std::min(512, device.max_threads_per_block) && bytes(c) <= device.shared_memory_per_block &&
           c.blocks_per_sm >= 1 && c.blocks_per_sm <= gemm_bulk_most_blocks(real_bytes(), complex(), c);
  }

  [[nodiscard]] std::vector<GemmBulk> candidates(Device const& device) const {
    std::vector<std::pair<double, GemmBulk>> found;
    GemmBulk const p = plan();
    auto const consider = [&](GemmBulk c) {
      for (c.stages = 1; c.stages <= 6 && c.stages <= 2 * c.parts(); ++c.stages)
        for (c.a_stages = 1; c.a_stages <= std::min(c.stages, 2); ++c.a_stages) {
          if (bytes(c) > device.shared_memory_per_block) continue;
          // A block that shares a multiprocessor has one product (gemm_bulk_grid), and no later one to load.
          bool const goes_on = c.a_stages > 1 || c.stages > c.parts();
          gpu::with_fewer_blocks(
              c, gemm_bulk_most_blocks(real_bytes(), complex(), c), 2,
              [&](GemmBulk const& x) { return admits(x, device) && !(goes_on && x.blocks_per_sm > 1); },
              [&](GemmBulk const& x) {
                // Among equals, the one that loads furthest ahead comes first.
                found.emplace_back(gemm_bulk_cost(real_bytes(), complex(), x) * (1 + 0.01 / x.stages), x);
              });
        }
    };
    for (int parts = 1, before = 0; parts <= 8; ++parts) {
      GemmBulk c = p;
      c.columns = (n + parts - 1) / parts;
      if (!single()) c.columns = (c.columns + 15) / 16 * 16;
      if (std::exchange(before, c.columns) == c.columns) continue;
      if (!single()) {
        consider(c);
        continue;
      }
      int const row_unit = a == Lines::columns ? unit : 1;
      for (c.held_rows = row_unit; c.held_rows <= 16; c.held_rows += row_unit)
        for (c.held_columns = 1; c.held_columns <= 16; ++c.held_columns)
          for (c.c_shared = 0; c.c_shared <= 1; ++c.c_shared)
            if (c.held_rows * c.held_columns * (complex() ? 2 : 1) <= 96) consider(c);
    }
    std::vector<GemmBulk> out = tuning::in_order_of_cost(std::move(found));
    if (out.size() > 2000) out.resize(2000);
    return out;
  }
};

}  // namespace myriad
