#pragma once
/// Triangular systems: tasks, and size limits of the lane kernel.

#include <array>

#include "myriad/trsm.hpp"
#include "simd/dispatch.hpp"
#include "simd/group.hpp"

namespace myriad {

/// Number of right-hand sides that solves with the diagonal block of a panel are planned for.
inline constexpr std::int64_t columns_of_panel = 1024;

/// Rows of a triangle that the lane kernel holds at a time if it does not hold all of them.
template <typename T>
inline constexpr int trsm_panel = is_complex<T> ? 8 : 16;

/// Largest order of triangles solved in SIMD lanes. With one right-hand side, where loading A dominates, double about breaks even with a
/// loop over OpenBLAS at this order, and double complex loses a little. Beyond it, batches with fewer matrices than lanes would lose more
/// than full ones gain.
template <typename T>
inline constexpr std::int64_t trsm_lane_limit = is_complex<T> ? 64 : 96;

/// Whether systems of this shape are solved in SIMD lanes.
template <typename T>
bool trsm_fits_lanes(std::array<std::int64_t, 4> const& shape) {
  constexpr std::int64_t most_columns = 8192;  // beyond, one matrix has enough work for BLAS
  return shape[0] <= trsm_lane_limit<T> && shape[3] <= most_columns;
}

/// A X = alpha B, X replaces B; A is the triangle `uplo` of a. Side::right is transposed to the left, and B is not conjugated (see `trsm`).
/// Products B = alpha A B use the same task.
template <typename T>
struct TrsmTask {
  Uplo uplo;
  Diag diag;
  T alpha;
  Batch<T const> a;
  Batch<T> b;
};
MYRIAD_LANES_DECLARE(trsm_lanes, TrsmTask);

}  // namespace myriad
