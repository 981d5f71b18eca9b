#pragma once
/// Lines of a table with the spread of a quantity over the voxels.

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace diffusion {

inline double quantile(std::vector<double> const& sorted, double share) {
  return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1) + 0.5)];
}

inline void print_quantile_heading() { fmt::print("\n{:<36}{:>9}{:>9}{:>9}\n", "over the voxels", "5 %", "median", "95 %"); }

/// Needs at least one value.
inline void print_quantiles(char const* name, std::vector<double> values) {
  std::sort(values.begin(), values.end());
  fmt::print("{:<36}{:>9.3f}{:>9.3f}{:>9.3f}\n", name, quantile(values, 0.05), quantile(values, 0.5), quantile(values, 0.95));
}

}  // namespace diffusion
