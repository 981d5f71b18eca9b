#pragma once
/// Tuning space of eigenproblems of tiny matrices: neither the number of lanes nor matrices per block change the bits.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <tuple>
#include <utility>
#include <vector>

#include "core/dtype.hpp"
#include "eigen/eigen_plan.hpp"
#include "runtime/tiny.hpp"
#include "tune/tuned.hpp"

namespace myriad {

/// See eigen_tiny_plan. For batches that are not interleaved; one config for all other layouts.
struct EigenTinySpace {
  using Config = EigenTiny;
  using Tuned = tuning::Members<&EigenTiny::lanes, &EigenTiny::matrices>;

  EigenJob job;
  Dtype dtype;
  int n;
  bool few;

  [[nodiscard]] int real_bytes() const { return dtype == Dtype::f32 || dtype == Dtype::c32 ? 4 : 8; }
  [[nodiscard]] tuning::Problem problem() const {
    char const* const name = job == EigenJob::vectors ? few ? "eigen_tiny vectors, few" : "eigen_tiny vectors"
                             : few                    ? "eigen_tiny values, few"
                                                      : "eigen_tiny values";
    return {name, dtype, {n, n, 0}};
  }
  [[nodiscard]] EigenTiny plan() const { return eigen_tiny_plan(job, n, few); }

  [[nodiscard]] bool admits(EigenTiny const& c, Device const& device) const {
    auto const bytes = [&](EigenTiny const& x) { return EigenTinyMemory(element_bytes(dtype), real_bytes(), x).bytes; };
    return gpu::admits_block(c.lanes, c.matrices, 1, device) && gpu::most_bytes(c, bytes, &EigenTiny::a) <= device.shared_memory_per_block;
  }

  [[nodiscard]] std::vector<EigenTiny> candidates(Device const& device) const {
    EigenTiny const p = plan();
    std::vector<std::pair<int, EigenTiny>> found;
    auto const log = [](int x) { return std::countr_zero(static_cast<unsigned>(x)); };
    for (int lanes = 1; lanes <= 32 && (lanes == 1 || lanes / 2 < n); lanes *= 2)
      for (int const threads : {32, 64, 128}) {
        EigenTiny c = p;
        c.lanes = lanes, c.matrices = threads / lanes;
        if (admits(c, device)) found.emplace_back(2 * std::abs(log(lanes) - log(p.lanes)) + log(threads / 32), c);
      }
    return tuning::in_order_of_cost(std::move(found));
  }
};

}  // namespace myriad
