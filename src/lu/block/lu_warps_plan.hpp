#pragma once
/// The plan of LU by warps that have columns of a matrix.

#include <algorithm>
#include <array>
#include <cstdint>

#include "lu/block/lu_warps_config.cuh"

namespace myriad {

/// All kernels of a type.
struct LuWarpsKernels {
  std::array<LuWarps, 6> all;
  std::size_t count;

  [[nodiscard]] constexpr LuWarps const* begin() const { return all.data(); }
  [[nodiscard]] constexpr LuWarps const* end() const { return all.data() + count; }
};
constexpr LuWarpsKernels lu_warps_kernels(int element_bytes, bool complex) {
  if (complex) return {};
  if (element_bytes == 8) return {{{{48, 16, 1, 8}, {64, 32, 1, 8}, {80, 48, 2, 4}, {96, 64, 2, 3}, {128, 64, 4, 2}, {160, 96, 8, 1}}}, 6};
  return {{{{48, 16, 1, 16}, {64, 32, 1, 12}, {96, 48, 2, 6}, {128, 64, 2, 4}, {160, 96, 4, 2}}}, 5};
}

/// The kernel for matrices of up to m rows and n columns, D the element type of the device; none, with zero rows, where lu_rows is faster
/// or a block has too little shared memory.
template <typename D>
constexpr LuWarps lu_warps_plan(std::int64_t m, std::int64_t n, std::int64_t shared_bytes) {
  // Narrow matrices have their columns in a few warps, or in one.
  if (2 * n < m || 2 * m < n) return {};
  for (LuWarps const& c : lu_warps_kernels(sizeof(D), simt::is_complex<D>))
    if (std::max(m, n) <= c.rows) return LuWarpsMemory<D>(c).bytes <= shared_bytes ? c : LuWarps{};
  return {};
}

}  // namespace myriad
