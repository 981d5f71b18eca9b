#pragma once
/// The cells of the job: places with their own temperature, light, humidity and emissions.

#include <cmath>
#include <cstdint>
#include <numbers>

#include "mechanism.hpp"

namespace atmosphere {

struct Cell {
  State initial = initial_state;
  Rates rates;
  double temperature = 298;  ///< kelvin
  double light = 1;          ///< actinic flux over that of the published problem
  double humidity = 1;       ///< likewise
};

/// A stream of random numbers that depends on the cell only, so that a cell is the same for any thread and order.
/// Source: SplitMix64, Steele, Lea and Flood 2014.
class RandomStream {
 public:
  explicit RandomStream(std::int64_t cell) : state_(static_cast<std::uint64_t>(cell) * 0x9e3779b97f4a7c15u ^ 0x5851f42d4c957f2du) {
    uniform();
  }
  /// In [0, 1).
  double uniform() {
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
  }
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  double normal() { return std::sqrt(-2 * std::log(1 - uniform())) * std::cos(2 * std::numbers::pi * uniform()); }
  /// A factor with median 1 whose logarithm has this standard deviation.
  double factor(double spread) { return std::exp(spread * normal()); }

 private:
  std::uint64_t state_;
};

/// Cell 0 is the published problem; the others vary it.
inline Cell make_cell(std::int64_t index) {
  Cell cell;
  if (index > 0) {
    RandomStream random(index);
    cell.temperature = random.uniform(283, 313);
    cell.light = random.uniform(0.4, 1.3);
    cell.humidity = random.factor(0.3);
    for (int const species : {NO, O3, HCHO, CO, ALD, SO2}) cell.initial[species] *= random.factor(0.35);
  }
  for (std::size_t r = 0; r < reactions.size(); ++r) {
    Reaction const& reaction = reactions[r];
    cell.rates[r] = reaction.rate * std::exp(-reaction.activation * (1 / cell.temperature - 1 / 298.0)) *
                    std::pow(cell.light, reaction.light_power) * (r == water_reaction ? cell.humidity : 1.0);
  }
  return cell;
}

}  // namespace atmosphere
