#pragma once
/// Singular value decomposition: tasks.

#include <algorithm>
#include <array>
#include <utility>

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
  bool relative = false;  ///< gejsv: whatever the size, values have high relative accuracy
};

/// The task of `count` matrices from number `first` on.
template <typename T>
GesvdTask<T> matrices(GesvdTask<T> const& task, std::int64_t first, std::int64_t count) {
  auto const part = [&](auto const& x) { return x.data || x.pointers ? matrices(x, first, count) : x; };
  return {.job = task.job,
          .a = part(task.a),
          .s = part(task.s),
          .u = part(task.u),
          .vt = part(task.vt),
          .info = task.info ? task.info + first : nullptr,
          .relative = task.relative};
}

/// The same of the conjugate transposed matrices: A^H = V diag(s) U^H.
template <typename T>
GesvdTask<T> conjugate_transposed(GesvdTask<T> task) {
  std::swap(task.u, task.vt);
  for (Batch<T>* const x : {&task.a, &task.u, &task.vt})
    if (x->data || x->pointers) *x = conjugate_transposed(*x);
  if (task.job == SvdJob::left || task.job == SvdJob::right) task.job = task.job == SvdJob::left ? SvdJob::right : SvdJob::left;
  return task;
}

/// Rows that the lane kernel keeps the order of.
inline constexpr std::int64_t svd_lane_rows = 256;

/// Whether the lane kernel decomposes m-by-n matrices. Its workspace holds A, the triangle under rotation and, with vectors, the rotations
/// and the larger of U and V.
///
/// Times as fast as a loop over gesdd, on one core with AVX-512. With U and V, n = 4, 8, 16, 24, 31: single 20, 14, 8.5, 5.8, 3.3, double
/// 13, 8, 4.5, 3.2, 1.8; n = 4, 8, 16, 20: double complex 13, 5.9, 2.9, 2.5. Values alone, n = 4, 8, 16, 20: single 18, 11, 4.7, 3.6,
/// double 9, 4.8, 2.2, 1.8, double complex 11, 3.7, 1.7, 1.3.
template <typename T>
bool gesvd_fits_lanes(SvdJob job, std::array<std::int64_t, 4> const& shape) {
  constexpr std::int64_t packs = lane_workspace_bytes / lane_element_bytes<T>;
  constexpr std::int64_t limit = 31, limit_of_values = sizeof(Real<T>) == 4 ? 31 : 20;
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
