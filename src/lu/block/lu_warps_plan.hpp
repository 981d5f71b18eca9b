#pragma once
/// The plan of LU by warps that have columns of a matrix.

#include <algorithm>
#include <array>
#include <cstdint>

#include "lu/block/lu_warps_config.cuh"

namespace myriad {

/// All kernels of a type; none of double complex.
struct LuWarpsKernels {
  std::array<LuWarps, 5> all;
  std::size_t count;

  [[nodiscard]] constexpr LuWarps const* begin() const { return all.data(); }
  [[nodiscard]] constexpr LuWarps const* end() const { return all.data() + count; }
};
/// Fastest of those measured on an H200 and an H100, with columns and warps such that registers suffice and many blocks fit. Slower, or not
/// faster than lu_rows: more than 96 rows in double, where NVRTC spills accumulators (128 rows on the H100: 456 ns a matrix, 371 compiled
/// without these spills, lu_rows 376); double complex (48 rows: 98 for 102, 64 rows: 173 for 164); twice as many warps (96 rows in double:
/// 170 for 161; 64 rows: 69 for 63); a loop over the columns of a panel in place of unrolled steps (64 rows: 18 thousand instructions a
/// matrix for 14).
constexpr LuWarpsKernels lu_warps_kernels(int element_bytes, bool complex) {
  if (complex && element_bytes == 8) return {{{{48, 32, 1, 8}, {64, 32, 2, 4}}}, 2};
  if (complex) return {};
  if (element_bytes == 8) return {{{{48, 16, 1, 8}, {64, 48, 1, 7}, {80, 48, 2, 4}, {96, 64, 2, 3}}}, 4};
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
