#pragma once
/// Symmetric eigenproblems: tasks, and the sizes up to which the lane kernel is used.

#include <array>
#include <cstdint>

#include "myriad/batch.hpp"
#include "myriad/eigen.hpp"
#include "simd/dispatch.hpp"
#include "simd/group.hpp"

namespace myriad {

/// Eigenvalues and, with Job::vectors, eigenvectors of Hermitian matrices; the triangle `uplo` is read.
template <typename T>
struct SyevdTask {
  Job job;
  Uplo uplo;
  Batch<T> a;
  Batch<Real<T>> w;
  int* info;
};

/// Rows of the largest matrix that the lane kernel has room for beside its workspace.
inline constexpr std::int64_t eigen_lane_rows = 32;

/// Whether the lane kernel solves n-by-n eigenproblems. Its workspace holds A, tau and a column beside it, the tridiagonal matrix and, with
/// vectors, the rotations of QL and Q.
///
/// Times as fast as a loop over LAPACK's syevd or heevd (OpenBLAS 0.3.21), on one core with AVX-512:
///
/// | n                       | 3   | 4   | 8   | 16  | 24  | 32  |
/// | ----------------------- | --- | --- | --- | --- | --- | --- |
/// | vectors, double         | 8.2 | 7.7 | 8.1 | 8.3 | 7.2 | 6.2 |
/// | vectors, single         | 11  | 14  | 15  | 15  | 14  | 11  |
/// | vectors, double complex | 12  | 10  | 10  | 11  | 11  |     |
/// | vectors, single complex | 24  | 22  | 21  | 20  | 22  |     |
/// | values, double          |     |     | 5.5 | 5.8 | 5.3 | 4.9 |
/// | values, single          |     |     |     | 11  | 10  | 9.7 |
/// | values, double complex  | 8.7 | 7.3 | 6.6 | 6.4 | 5.7 | 5.3 |
/// | values, single complex  | 17  | 16  | 14  | 13  | 11  | 11  |
///
/// Missing: complex matrices with vectors beyond 27 rows, and where LAPACK's time varied by a factor of two. Vectors in double with
/// AVX2: 5.7 to 5.9 up to 16 rows; with one lane: 1.8 to 2.2. A batch of a single matrix takes 0.7 to 1.6 times as long as LAPACK from 8
/// rows on.
template <typename T>
bool syevd_fits_lanes(Job job, std::array<std::int64_t, 4> const& shape) {
  constexpr std::int64_t element = lane_element_bytes<T>, real = lane_element_bytes<Real<T>>;
  std::int64_t const n = shape[0], ld = n + 1;
  std::int64_t const bytes = (ld * n + 2 * n) * element + 2 * n * real + (job == Job::vectors ? ld * n * (element + real) : 0);
  return n <= eigen_lane_rows && bytes <= lane_workspace_bytes;
}

/// syevd of the matrices of `call` that fit. unsolved[b - first] is set for those that the kernel leaves alone: those with NaN or infinity,
/// and those for which QL does not converge.
template <typename T>
struct SyevdLanesTask {
  SyevdTask<T> call;
  std::int64_t first;
  unsigned char* unsolved;
};
MYRIAD_LANES_DECLARE(syevd_lanes, SyevdLanesTask);

}  // namespace myriad
