#pragma once
/// Plans of the kernels that form or apply Q.

#include <algorithm>
#include <cstdint>

#include "reflectors/reflectors_config.cuh"

namespace myriad {

/// Most reflectors that reflectors_small applies, two at a time, to columns in registers.
constexpr int reflectors_small_largest = 64;

/// For n-by-n matrices with up to reflectors_small_largest reflectors. A lane has 128 bytes of a column; blocks have 128 threads, unless
/// one matrix needs more.
constexpr ReflectorsSmall reflectors_small_plan(int element_bytes, std::int64_t n, ReflectorsJob job) {
  int const rows = n <= 9 ? 8 : n <= 17 ? 16 : n <= 33 ? 32 : 64;
  int const lanes = std::max(1, rows * element_bytes / 128);
  return {.rows = rows, .lanes = lanes, .matrices = std::max(1, 128 / (rows * lanes)), .job = job};
}

/// Reflectors of a panel. C is read twice and written once per panel: with 128 in double that takes half as long as the products, with 64
/// in double complex less. A matrix with a single panel gets the smallest multiple of 32.
constexpr int reflectors_width(bool complex, std::int64_t reflectors) {
  std::int64_t const most = complex ? 64 : 128;
  return static_cast<int>(std::clamp<std::int64_t>((reflectors + 31) / 32 * 32, 32, most));
}

/// Bytes of workspace for panels, which limit the panels and matrices at a time, but at least one.
constexpr std::int64_t reflectors_workspace = std::int64_t{512} << 20;

}  // namespace myriad
