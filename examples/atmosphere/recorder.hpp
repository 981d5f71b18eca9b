#pragma once
/// Records of an integration: final states, curves for the picture, and some of the linear systems that were solved on the way.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "mechanism.hpp"

namespace atmosphere {

/// Every cell writes to its own places only, so that any number of threads may record at the same time.
class Recorder {
 public:
  struct Settings {
    std::int64_t cells = 0;
    std::vector<int> species{};         ///< whose curves are kept
    int intervals = 120;                ///< the curves have one point more, from 0 to end_time
    std::int64_t curve_cells = 20'000;  ///< limit on cells with curves; more do not improve the picture
    std::int64_t systems = 0;           ///< limit on recorded linear systems, one per cell
  };

  explicit Recorder(Settings const& settings) : settings_(settings), final_(settings.cells), next_point_(settings.cells) {
    settings_.curve_cells = std::min(settings.curve_cells, settings.cells);
    settings_.systems = std::min(settings.systems, settings.cells);
    curves_.resize(settings_.species.size() * (settings_.intervals + 1) * settings_.curve_cells);
    matrices_.resize(settings_.systems * matrix_elements);
    right_sides_.resize(settings_.systems * species_count);
    kept_.resize(settings_.systems);
  }

  void start(std::int64_t cell, State const& initial) {
    record_point(cell, [&](int species) { return initial[species]; });
  }

  /// Records one system of each of the first cells, each at a later step than the one before, so that small and large steps occur.
  void system(std::int64_t cell, std::int64_t attempt, double const* w, double const* x, std::int64_t stride) {
    if (cell >= settings_.systems || attempt != 1 + cell % 60) return;
    for (int i = 0; i < species_count; ++i) {
      for (int j = 0; j < species_count; ++j)
        matrices_[cell * matrix_elements + i * species_count + j] = w[(i + j * species_count) * stride];
      right_sides_[cell * species_count + i] = x[i * stride];
    }
    kept_[cell] = true;
  }

  template <typename Step>
  void step(Step const& step) {
    while (step.cell < settings_.curve_cells && next_point_[step.cell] <= settings_.intervals) {
      double const t = time(next_point_[step.cell]);
      if (t > (step.start + step.length) * (1 + 1e-12)) return;
      record_point(step.cell, [&](int species) { return step.value(species, t); });
    }
  }

  void done(std::int64_t cell, State const& y) { final_[cell] = y; }

  [[nodiscard]] std::vector<State> const& final_states() const { return final_; }
  [[nodiscard]] std::int64_t curve_cells() const { return settings_.curve_cells; }
  [[nodiscard]] int points() const { return settings_.intervals + 1; }
  [[nodiscard]] double time(int point) const { return end_time * point / settings_.intervals; }
  /// Concentrations of the s-th recorded species at one time, over the cells.
  [[nodiscard]] std::vector<float> across_cells(std::size_t s, int point) const {
    auto const first = curves_.begin() + static_cast<std::ptrdiff_t>(place(s, point, 0));
    return {first, first + settings_.curve_cells};
  }

  /// The kept matrices, (systems, 20, 20) in C order, and right-hand sides, (systems, 20).
  struct Systems {
    std::int64_t count = 0;
    std::vector<double> matrices, right_sides;
  };
  [[nodiscard]] Systems systems() const {
    Systems result;
    for (std::int64_t cell = 0; cell < settings_.systems; ++cell) {
      if (!kept_[cell]) continue;
      ++result.count;
      auto const matrix = matrices_.begin() + cell * matrix_elements;
      auto const right = right_sides_.begin() + cell * species_count;
      result.matrices.insert(result.matrices.end(), matrix, matrix + matrix_elements);
      result.right_sides.insert(result.right_sides.end(), right, right + species_count);
    }
    return result;
  }

 private:
  static constexpr std::int64_t matrix_elements = std::int64_t{species_count} * species_count;

  [[nodiscard]] std::size_t place(std::size_t s, int point, std::int64_t cell) const {
    return (s * points() + point) * settings_.curve_cells + cell;
  }
  template <typename Value>
  void record_point(std::int64_t cell, Value const& value) {
    if (cell >= settings_.curve_cells) return;
    int const point = next_point_[cell]++;
    for (std::size_t s = 0; s < settings_.species.size(); ++s)
      curves_[place(s, point, cell)] = static_cast<float>(value(settings_.species[s]));
  }

  Settings settings_;
  std::vector<State> final_;
  std::vector<int> next_point_;
  std::vector<float> curves_;
  std::vector<double> matrices_, right_sides_;
  std::vector<char> kept_;  // not bool: threads write neighbouring entries
};

}  // namespace atmosphere
