#pragma once
/// Tuned values of Cholesky of tiny matrices.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <tuple>
#include <utility>
#include <vector>

#include "cholesky/cholesky_tiny_plan.hpp"
#include "runtime/tiny.hpp"
#include "tune/tuned.hpp"

namespace myriad {

/// See cholesky_tiny_plan.
struct CholeskyTinySpace {
  using Config = CholeskyTiny;
  using Tuned = tuning::Members<&CholeskyTiny::lanes, &CholeskyTiny::matrices, &CholeskyTiny::blocks_per_sm, &CholeskyTiny::load,
                                &CholeskyTiny::store>;

  CholeskyJob job;
  Dtype dtype;
  int n, nrhs;

  [[nodiscard]] int words() const { return dtype == Dtype::f32 ? 1 : dtype == Dtype::c64 ? 4 : 2; }
  [[nodiscard]] tuning::Problem problem() const {
    constexpr std::array kernels{"cholesky_tiny factor", "cholesky_tiny solve by factor", "cholesky_tiny solve",
                                 "cholesky_tiny solve and factor", "cholesky_tiny inverse"};
    return {kernels[static_cast<std::size_t>(job)], dtype, {n, n, nrhs}};
  }
  [[nodiscard]] CholeskyTiny plan() const { return cholesky_tiny_plan(job, dtype, n, nrhs); }

  [[nodiscard]] bool admits(CholeskyTiny const& c, Device const& device) const {
    if (!gpu::admits_block(c.lanes, c.matrices, c.blocks_per_sm, device)) return false;
    bool const loads_rows = c.load == CholeskyLoad::to_registers, stores_rows = c.store == CholeskyStore::by_rows;
    if (c.load < CholeskyLoad::whole || c.load > CholeskyLoad::to_registers || (loads_rows && (job != CholeskyJob::solve || c.lanes == 1)))
      return false;
    if (c.store < CholeskyStore::from_tile || c.store > CholeskyStore::by_rows || (stores_rows && c.writes_factor() && c.lanes == 1))
      return false;
    // The sums of L D L^H depend on how many lanes there are.
    if (job == CholeskyJob::solve && c.lanes != plan().lanes) return false;
    auto const bytes = [&](CholeskyTiny const& x) {
      return CholeskyTinyMemory(4 * words(), x.a == simt::Layout::interleaved ? cholesky_tiny_interleaved(x, 4 * words()) : x).bytes;
    };
    return gpu::most_bytes(c, bytes, &CholeskyTiny::a, &CholeskyTiny::b) <= device.shared_memory_per_block;
  }

  [[nodiscard]] std::vector<CholeskyTiny> candidates(Device const& device) const {
    CholeskyTiny const p = plan();
    std::vector<std::pair<int, CholeskyTiny>> found;
    for (int lanes = 1; lanes <= 32 && (lanes == 1 || lanes / 2 < n); lanes *= 2)
      for (CholeskyLoad const load : {CholeskyLoad::whole, CholeskyLoad::lower, CholeskyLoad::to_registers})
        for (CholeskyStore const store : {CholeskyStore::from_tile, CholeskyStore::by_rows}) {
          CholeskyTiny c = p;
          c.lanes = lanes, c.load = load, c.store = store;
          int const threads = lanes == 1 ? 64 : 32, held = (lanes == 1 ? n * (n + 1) / 2 : simt::ceil_div(n, lanes) * n) * words();
          c.matrices = threads / lanes;
          int tried = 0;
          for (int const registers : gpu::register_limits)
            if (registers >= std::min(held + 24, 255) && held < 255 && tried < 4) {
              c.blocks_per_sm = gpu::blocks_of_registers(registers, threads);
              if (!admits(c, device)) continue;
              int const far =
                  4 * std::abs(std::countr_zero(static_cast<unsigned>(lanes)) - std::countr_zero(static_cast<unsigned>(p.lanes)));
              found.emplace_back(far + (load != p.load) + (store != p.store) + tried, c);
              ++tried;
            }
        }
    return tuning::in_order_of_cost(std::move(found));
  }
};

}  // namespace myriad
