#pragma once
/// The configs of symv_tiny that tuning tries: one lane sums a row, whichever it is, so no config changes a sum.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <tuple>
#include <utility>
#include <vector>

#include "core/dtype.hpp"
#include "runtime/tiny.hpp"
#include "symv/symv_plan.hpp"
#include "tune/tuned.hpp"

namespace myriad {

/// symv_tiny, for batches that are not interleaved; one config for all other layouts. See symv_tiny_plan.
struct SymvTinySpace {
  using Config = SymvTiny;
  using Tuned = tuning::Members<&SymvTiny::lanes, &SymvTiny::matrices>;

  Dtype dtype;
  Symmetry symmetry;
  int n;

  [[nodiscard]] tuning::Problem problem() const {
    return {symmetry == Symmetry::hermitian ? "symv_tiny, hermitian" : "symv_tiny", dtype, {n, n, 0}};
  }
  [[nodiscard]] SymvTiny plan() const { return symv_tiny_plan(symmetry, n); }

  [[nodiscard]] bool admits(SymvTiny const& c, Device const& device) const {
    auto const bytes = [&](SymvTiny const& x) { return SymvTinyMemory(element_bytes(dtype), x).bytes; };
    return gpu::admits_block(c.lanes, c.matrices, 1, device) &&
           gpu::most_bytes(c, bytes, &SymvTiny::a, &SymvTiny::x, &SymvTiny::y) <= device.shared_memory_per_block;
  }

  [[nodiscard]] std::vector<SymvTiny> candidates(Device const& device) const {
    SymvTiny const p = plan();
    std::vector<std::pair<int, SymvTiny>> found;
    auto const log = [](int x) { return std::countr_zero(static_cast<unsigned>(x)); };
    for (int lanes = 1; lanes <= 32 && (lanes == 1 || lanes / 2 < n); lanes *= 2)
      for (int const threads : {32, 64, 128, 256}) {
        SymvTiny c = p;
        c.lanes = lanes, c.matrices = threads / lanes;
        if (!admits(c, device)) continue;
        found.emplace_back(2 * std::abs(log(lanes) - log(p.lanes)) + std::abs(log(threads) - log(p.threads())), c);
      }
    return tuning::in_order_of_cost(std::move(found));
  }
};

}  // namespace myriad
