#pragma once
/// Tuned values of LU of tiny matrices.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <tuple>
#include <utility>
#include <vector>

#include "lu/lu_tiny_plan.hpp"
#include "runtime/tiny.hpp"
#include "tune/tuned.hpp"

namespace myriad {

/// See lu_tiny_plan. The method may change among those that give the same bits: all but that by products.
struct LuTinySpace {
  using Config = LuTiny;
  using Tuned = tuning::Members<&LuTiny::lanes, &LuTiny::matrices, &LuTiny::method, &LuTiny::panel, &LuTiny::blocks_per_sm>;

  LuJob job;
  Dtype dtype;
  int m, n, nrhs;
  bool ragged = false;

  [[nodiscard]] int words() const { return dtype == Dtype::f32 ? 1 : dtype == Dtype::c64 ? 4 : 2; }
  [[nodiscard]] tuning::Problem problem() const {
    constexpr std::array kernels{
        "lu_tiny factor",      "lu_tiny factor without pivoting", "lu_tiny solve", "lu_tiny solve and factor", "lu_tiny inverse",
        "lu_tiny determinant", "lu_tiny log determinant"};
    return {ragged && job == LuJob::inverse ? "lu_tiny inverse, ragged" : kernels[static_cast<std::size_t>(job)], dtype, {m, n, nrhs}};
  }
  [[nodiscard]] LuTiny plan() const { return lu_tiny_plan(job, dtype, m, n, nrhs, ragged); }

  [[nodiscard]] bool admits(LuTiny const& c, Device const& device) const {
    LuTiny const p = plan();
    bool const eliminates = c.method == LuMethod::elimination;
    if (!gpu::admits_block(c.lanes, c.matrices, c.blocks_per_sm, device)) return false;
    if (c.method < LuMethod::in_registers || c.method > LuMethod::products) return false;
    if ((p.method == LuMethod::products) != (c.method == LuMethod::products)) return false;
    if (c.method == LuMethod::products) return c.lanes == 32 && c.panel == 0 && fits(c, device);
    if (c.method == LuMethod::in_registers) return c.panel == 0 && (c.lanes == 1 || job == LuJob::inverse) && fits(c, device);
    bool const of_values = job == LuJob::solve || job == LuJob::determinant || job == LuJob::log_determinant;
    if (job == LuJob::inverse || (eliminates && (!of_values || c.lanes > n)) || (!eliminates && c.lanes == 1)) return false;
    return c.panel >= 1 && c.panel <= n && (eliminates || simt::ceil_div(n, c.panel) <= lu_most_panels) && fits(c, device);
  }
  [[nodiscard]] bool fits(LuTiny const& c, Device const& device) const {
    auto const bytes = [&](LuTiny const& x) {
      return LuTinyMemory(4 * words(), x.a == simt::Layout::interleaved ? lu_tiny_interleaved(x, 4 * words()) : x).bytes;
    };
    return gpu::most_bytes(c, bytes, &LuTiny::a) <= device.shared_memory_per_block;
  }

  [[nodiscard]] std::vector<LuTiny> candidates(Device const& device) const {
    LuTiny const p = plan();
    std::vector<std::pair<int, LuTiny>> found;
    for (int lanes = 1; lanes <= 32; lanes *= 2)
      for (LuMethod const method : {LuMethod::in_registers, LuMethod::panels, LuMethod::elimination, LuMethod::products})
        for (int panel = 0; panel <= std::min(n, 12); ++panel) {
          if (lanes > 1 && lanes / 2 >= m) continue;
          LuTiny c = p;
          c.lanes = lanes, c.method = method, c.panel = panel;
          int const threads = lanes > 1 || panel > 0 ? 32 : std::max(m, n) > 1 ? 64 : 128;
          c.matrices = threads / lanes;
          // Registers for what a lane holds; less would go to memory.
          int const held = (panel > 0 ? panel : n + nrhs) * simt::ceil_div(m, lanes) * words();
          int tried = 0;
          for (int const registers : gpu::register_limits)
            if (registers >= held + 24 && tried < 4) {
              c.blocks_per_sm = gpu::blocks_of_registers(registers, threads);
              if (!admits(c, device)) continue;
              int const far =
                  4 * std::abs(std::countr_zero(static_cast<unsigned>(lanes)) - std::countr_zero(static_cast<unsigned>(p.lanes)));
              found.emplace_back(far + std::abs(panel - p.panel) + 2 * (method != p.method) + tried, c);
              ++tried;
            }
        }
    return tuning::in_order_of_cost(std::move(found));
  }
};

}  // namespace myriad
