#pragma once
/// Singular value decomposition: tasks.

#include <algorithm>
#include <array>

#include "myriad/batch.hpp"
#include "myriad/svd.hpp"
#include "simd/dispatch.hpp"
#include "simd/group.hpp"

namespace myriad {

inline bool wants_u(SvdJob job) { return job == SvdJob::thin || job == SvdJob::full || job == SvdJob::left; }
inline bool wants_vt(SvdJob job) { return job == SvdJob::thin || job == SvdJob::full || job == SvdJob::right; }

/// A = U diag(s) V^H. Views that `job` does not ask for are empty.
template <typename T>
struct GesvdTask {
  SvdJob job;
  Batch<T> a;
  Batch<Real<T>> s;
  Batch<T> u, vt;
  int* info;
};

/// Rows that the lane kernel keeps the order of.
inline constexpr std::int64_t svd_lane_rows = 256;

/// Whether the lane kernel decomposes m-by-n matrices. Its workspace holds A, the triangle under rotation and, with vectors, the rotations
/// and the larger of U and V. Times as fast as a loop over gesdd (one core with AVX-512), n = 4, 8, 16, 20, 24, with U and V: single 18,
/// 12, 6.5, 5, 3.5, double 12, 9, 3.8, 3, 1.9, single complex 16, 8, 3, 2.4, double complex 10, 5, 1.8, 1.5; values alone, n = 4, 8, 16:
/// single 20, 11, 4.8, double 9, 4.8, 2.3, double complex 10, 3.8, 1.7.
template <typename T>
bool gesvd_fits_lanes(SvdJob job, std::array<std::int64_t, 4> const& shape) {
  constexpr std::int64_t packs = lane_workspace_bytes / lane_element_bytes<T>;
  constexpr std::int64_t limit = 24, limit_of_values = sizeof(Real<T>) == 4 ? 24 : 16;
  std::int64_t const m = std::max(shape[0], shape[1]), n = std::min(shape[0], shape[1]);
  std::int64_t const columns = job == SvdJob::full ? m : n;
  return m <= svd_lane_rows && n <= (job == SvdJob::values ? limit_of_values : limit) &&
         (m + 1) * n + 2 * (n + 1) * n + n + (m + 1) * columns <= packs;
}

/// gesvd of the matrices of `call` that the lanes can decompose. unsolved[b - first] is set for the others: those with NaN or infinity, and
/// those with singular values that are zero or nearly so while their vectors are asked for.
template <typename T>
struct GesvdLanesTask {
  GesvdTask<T> call;
  std::int64_t first;
  unsigned char* unsolved;
};
MYRIAD_LANES_DECLARE(gesvd_lanes, GesvdLanesTask);

}  // namespace myriad
