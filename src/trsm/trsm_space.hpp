#pragma once
/// Tuning spaces of the kernels for triangular solves: the order of operations per right-hand side does not depend on the config.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <tuple>
#include <utility>
#include <vector>

#include "core/dtype.hpp"
#include "myriad/device.hpp"
#include "runtime/tiny.hpp"
#include "trsm/trsm_columns_plan.hpp"
#include "trsm/trsm_panels_plan.hpp"
#include "trsm/trsm_tiny_plan.hpp"
#include "tune/tuned.hpp"

namespace myriad {

/// Common sizes: order of the triangles, and number of right-hand sides.
struct TrsmProblem {
  Dtype dtype;
  std::int64_t rows, columns;

  [[nodiscard]] constexpr bool complex() const { return is_complex_dtype(dtype); }
  [[nodiscard]] constexpr int real_bytes() const { return dtype == Dtype::f32 || dtype == Dtype::c32 ? 4 : 8; }
  [[nodiscard]] constexpr int words() const { return real_bytes() / 4 * (complex() ? 2 : 1); }
  [[nodiscard]] static int registers(int blocks_per_sm, int warps) { return gpu::register_limit(blocks_per_sm, 32 * warps); }
};

/// trsm_columns: one config for both triangles and all layouts. An inverse skips zeros in units of a warp's columns, so their number stays
/// as planned.
struct TrsmColumnsSpace : TrsmProblem {
  using Config = TrsmColumns;
  using Tuned = tuning::Members<&TrsmColumns::held, &TrsmColumns::warps, &TrsmColumns::blocks_per_sm>;

  bool inverse = false;

  [[nodiscard]] tuning::Problem problem() const {
    return {inverse ? "trsm_columns, inverse" : "trsm_columns", dtype, {rows, rows, columns}};
  }
  [[nodiscard]] TrsmColumns plan() const { return trsm_columns_plan(real_bytes(), complex(), rows, columns); }
  [[nodiscard]] int bytes(TrsmColumns c) const {
    int most = 0;
    for (bool const lower : {true, false}) {
      c.lower = lower;
      most = std::max(most, TrsmColumnsMemory(real_bytes(), complex(), c).bytes);
    }
    return most;
  }
  [[nodiscard]] int held_words(TrsmColumns const& c) const { return c.n * c.held / 4 * words(); }

  [[nodiscard]] bool admits(TrsmColumns const& c, Device const& device) const {
    bool const as_planned = inverse || real_bytes() == 8;  // a tile of tensor cores has 16
    if (as_planned ? c.held != plan().held : c.held != 1 && c.held != 2 && c.held != 4) return false;
    if (c.warps < 1 || c.warps > 16 || c.blocks_per_sm < 1 || c.blocks_per_sm > 32) return false;
    if (c.threads() > device.max_threads_per_block || c.blocks_per_sm * c.threads() > 2048) return false;
    if (held_words(c) > 160 || (c.blocks_per_sm > 1 && held_words(c) + 48 > registers(c.blocks_per_sm, c.warps))) return false;
    return held_words(c) + 40 <= registers(1, c.warps) && bytes(c) <= device.shared_memory_per_block;
  }

  [[nodiscard]] std::vector<TrsmColumns> candidates(Device const& device) const {
    TrsmColumns const p = plan();
    std::vector<std::pair<double, TrsmColumns>> found;
    for (int const held : {1, 2, 4})
      for (int warps = 1; warps <= 8; ++warps) {
        TrsmColumns c = p;
        c.held = held, c.warps = warps;
        // No idle warps, except one, which helps to load the triangle
        if (warps > 2 && (warps - 1) * c.columns_of_warp() >= columns) continue;
        gpu::with_fewer_blocks(
            c, device.shared_memory_per_multiprocessor / (bytes(c) + 1024), 3, [&](TrsmColumns const& x) { return admits(x, device); },
            [&](TrsmColumns const& x) {
              std::int64_t const at_once = warps * x.columns_of_warp();
              double const idle = static_cast<double>((columns + at_once - 1) / at_once * at_once) / static_cast<double>(columns);
              // The right-hand sides of a lane share reads of the triangle.
              found.emplace_back(idle * (1 + 1.0 / held) + 4.0 / (x.blocks_per_sm * warps) + 0.1 * std::abs(warps - p.warps), x);
            });
      }
    return tuning::in_order_of_cost(std::move(found));
  }
};

/// trsm_panels: one config for both triangles and all layouts.
struct TrsmPanelsSpace : TrsmProblem {
  using Config = TrsmPanels;
  using Tuned = tuning::Members<&TrsmPanels::warps, &TrsmPanels::blocks_per_sm>;

  [[nodiscard]] tuning::Problem problem() const { return {"trsm_panels", dtype, {rows, rows, columns}}; }
  [[nodiscard]] TrsmPanels plan() const { return trsm_panels_plan(real_bytes(), complex(), rows, columns); }
  [[nodiscard]] int bytes(TrsmPanels c) const {
    int most = 0;
    for (int const lower : {0, 1}) {
      c.lower = lower;
      most = std::max(most, TrsmPanelsMemory(real_bytes(), complex(), c).bytes);
    }
    return most;
  }

  [[nodiscard]] bool admits(TrsmPanels const& c, Device const& device) const {
    if (c.warps < 1 || c.warps > 16 || c.blocks_per_sm < 1 || c.blocks_per_sm > 32 || c.threads() > device.max_threads_per_block)
      return false;
    return c.blocks_per_sm * c.threads() * 64 <= device.registers_per_multiprocessor && bytes(c) <= device.shared_memory_per_block;
  }

  [[nodiscard]] std::vector<TrsmPanels> candidates(Device const& device) const {
    TrsmPanels const p = plan();
    std::vector<std::pair<double, TrsmPanels>> found;
    for (int warps = 1; warps <= 8 && (warps == 1 || 32 * (warps - 1) < columns + 32); ++warps) {
      TrsmPanels c = p;
      c.warps = warps;
      gpu::with_fewer_blocks(
          c, device.shared_memory_per_multiprocessor / (bytes(c) + 1024), 3, [&](TrsmPanels const& x) { return admits(x, device); },
          [&](TrsmPanels const& x) { found.emplace_back(8.0 / (x.blocks_per_sm * warps) + 0.2 * std::abs(warps - p.warps), x); });
    }
    return tuning::in_order_of_cost(std::move(found));
  }
};

/// trsm_vector: one config for both triangles and all layouts.
struct TrsmVectorSpace : TrsmProblem {
  using Config = TrsmVector;
  using Tuned = tuning::Members<&TrsmVector::columns, &TrsmVector::warps, &TrsmVector::blocks_per_sm>;

  [[nodiscard]] tuning::Problem problem() const { return {"trsm_vector", dtype, {rows, rows, 1}}; }
  [[nodiscard]] TrsmVector plan() const { return trsm_vector_plan(real_bytes(), complex(), rows); }
  /// Registers for two loads ahead, x, reciprocals, and the rest.
  [[nodiscard]] int registers_wanted(TrsmVector const& c) const { return c.n / 32 * words() * (2 * c.columns + 3) + 24; }

  [[nodiscard]] bool admits(TrsmVector const& c, Device const& device) const {
    if (c.columns < 1 || c.columns > 16 || !std::has_single_bit(static_cast<unsigned>(c.columns))) return false;
    if (c.warps < 1 || c.warps > 16 || c.blocks_per_sm < 1 || c.blocks_per_sm > 32 || c.threads() > device.max_threads_per_block)
      return false;
    if (c.blocks_per_sm * c.threads() > 2048) return false;
    int const least = c.columns > plan().columns ? registers_wanted(c) : 32;
    return least <= 255 && c.blocks_per_sm * c.threads() * least <= device.registers_per_multiprocessor;
  }

  [[nodiscard]] std::vector<TrsmVector> candidates(Device const& device) const {
    TrsmVector const p = plan();
    std::vector<std::pair<double, TrsmVector>> found;
    for (int at_once = 1; at_once <= 16; at_once *= 2)
      for (int const warps : {1, 2, 4, 8})
        for (int const of_all : {16, 20, 24, 28, 32, 40, 48, 64}) {  // warps per multiprocessor
          TrsmVector c = p;
          c.columns = at_once, c.warps = warps, c.blocks_per_sm = std::min(32, of_all / warps);
          int const wanted = registers_wanted(c);
          if (!admits(c, device) || 65536 / (c.blocks_per_sm * c.threads()) < std::min(wanted, 255) - 24) continue;
          double const under_way = c.blocks_per_sm * warps * at_once;
          found.emplace_back(
              100 / under_way +
                  0.1 * std::abs(std::countr_zero(static_cast<unsigned>(at_once)) - std::countr_zero(static_cast<unsigned>(p.columns))) +
                  0.2 * (warps != p.warps),
              c);
        }
    return tuning::in_order_of_cost(std::move(found));
  }
};

/// trsm_tiny: up to 32 rows, batches that are not interleaved. One config for all layouts.
struct TrsmTinySpace {
  using Config = TrsmTiny;
  using Tuned = tuning::Members<&TrsmTiny::lanes, &TrsmTiny::matrices>;

  Dtype dtype;
  int n;
  std::int64_t columns;
  Triangle lower, upper;
  Interchange interchange;
  RightSide right;

  [[nodiscard]] tuning::Problem problem() const {
    bool const both = lower != Triangle::unused && upper != Triangle::unused;
    char const* const name = right == RightSide::identity_in_place ? "trsm_tiny, triangle inverted"
                             : right == RightSide::identity        ? "trsm_tiny, matrix inverted"
                             : both                                ? "trsm_tiny, both triangles"
                                                                   : "trsm_tiny";
    return {name, dtype, {n, n, columns}};
  }
  [[nodiscard]] TrsmTiny plan() const {
    TrsmTiny c = trsm_tiny_plan(n, columns);
    c.lower = lower, c.upper = upper, c.interchange = interchange, c.right = right;
    return c;
  }

  [[nodiscard]] bool admits(TrsmTiny const& c, Device const& device) const {
    if (!gpu::admits_block(c.lanes, c.matrices, 1, device)) return false;
    auto const bytes = [&](TrsmTiny x) {
      x.interchange = Interchange::before;  // which needs most shared memory
      return TrsmTinyMemory(element_bytes(dtype), x).bytes;
    };
    return gpu::most_bytes(c, bytes, &TrsmTiny::a, &TrsmTiny::b) <= device.shared_memory_per_block;
  }

  [[nodiscard]] std::vector<TrsmTiny> candidates(Device const& device) const {
    TrsmTiny const p = plan();
    std::vector<std::pair<int, TrsmTiny>> found;
    auto const log = [](int x) { return std::countr_zero(static_cast<unsigned>(x)); };
    for (int lanes = 1; lanes <= 32 && (lanes == 1 || lanes / 2 < n); lanes *= 2)
      for (int const threads : {32, 64, 128}) {
        TrsmTiny c = p;
        c.lanes = lanes, c.matrices = threads / lanes;
        // Limits the registers of a lane for right-hand sides
        if (simt::ceil_div(n, lanes) * p.nrhs * element_bytes(dtype) / 4 > 160 || !admits(c, device)) continue;
        found.emplace_back(2 * std::abs(log(lanes) - log(p.lanes)) + log(threads / 32), c);
      }
    return tuning::in_order_of_cost(std::move(found));
  }
};

}  // namespace myriad
