#pragma once
/// Triangular systems: the task of the lane kernel, and the sizes up to which it is used.

#include <array>

#include "myriad/trsm.hpp"
#include "simd/dispatch.hpp"
#include "simd/group.hpp"

namespace myriad {

/// Rows of a triangle that the lane kernel holds at a time where it does not hold all of them.
template <typename T>
inline constexpr int trsm_panel = is_complex<T> ? 8 : 16;

/// Up to which order triangles are solved with side by side in SIMD lanes. With one right-hand side, where all is loading of A, double
/// about breaks even with a loop over OpenBLAS there and double complex loses a little. Beyond, batches with fewer matrices than lanes
/// would lose more than full ones win.
template <typename T>
inline constexpr std::int64_t trsm_lane_limit = is_complex<T> ? 64 : 96;

/// Whether systems of this shape are solved side by side in SIMD lanes.
template <typename T>
bool trsm_fits_lanes(std::array<std::int64_t, 4> const& shape) {
  constexpr std::int64_t most_columns = 8192;  // beyond, one matrix has work enough for BLAS
  return shape[0] <= trsm_lane_limit<T> && shape[3] <= most_columns;
}

/// A X = alpha B, X replaces B; A is the triangle `uplo` of a. The right side is the left side of the transposed problem, and B is not
/// conjugated (see `trsm`). Products, B = alpha A B, have the same.
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
