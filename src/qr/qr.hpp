#pragma once
/// QR: tasks of the lane kernels, and the sizes up to which these are used.

#include <algorithm>
#include <array>
#include <limits>

#include "myriad/qr.hpp"
#include "simd/dispatch.hpp"
#include "simd/group.hpp"

namespace myriad {

/// The workspace of the lane kernels holds columns of A, or of what reflectors are applied to, a block of four reflectors, and the taus.
/// Matrices that do not fit go through it in panels of columns, of which there have to be a few. The limit: lanes still win by a factor of
/// two at twice that order if all are filled (double, AVX-512), but lose to LAPACK where a batch has fewer matrices than lanes.
///
/// Whether m-by-n matrices (m >= n, or m the length of the reflectors) are worked on side by side in SIMD lanes.
template <typename T>
bool qr_fits_lanes(std::int64_t m, std::int64_t n) {
  constexpr std::int64_t packs = lane_workspace_bytes / lane_element_bytes<T>;
  constexpr std::int64_t limit = is_complex<T> ? 96 : 128;
  std::int64_t const steps = std::min(m, n);
  return (m + 1) * (n + 5) + steps <= packs || (m <= limit && n <= limit && (m + 1) * 12 + steps <= packs);
}
template <typename T>
bool geqrf_fits_lanes(std::array<std::int64_t, 4> const& shape) {
  return qr_fits_lanes<T>(shape[0], shape[1]);
}
template <typename T>
bool gels_fits_lanes(std::array<std::int64_t, 4> const& shape) {
  return qr_fits_lanes<T>(std::max(shape[0], shape[1]), std::min(shape[0], shape[1]));
}
/// shape: of A, whose rows are the length of the reflectors, and of what they are applied to.
template <typename T>
bool ormqr_fits_lanes(std::array<std::int64_t, 4> const& shape) {
  return qr_fits_lanes<T>(shape[0], shape[1]);
}

/// Reflectors of matrix k. A tau that is not ragged may be longer than the matrices of a ragged batch have room for.
template <typename T>
std::int64_t reflectors_of(Batch<T const> const& a, Batch<T const> const& tau, std::int64_t k) {
  return std::min({tau.rows_of(k), a.rows_of(k), a.cols_of(k)});
}

/// Shapes that ormqr distinguishes: of the reflectors, and of what they are applied to.
template <typename T>
Shapes ormqr_shapes(Batch<T const> const& a, Batch<T const> const& tau, Batch<T> const& c) {
  Shapes result = shapes(a, c);
  if (tau.row_sizes) {
    result.a.cols = tau.rows;
    result.a.col_sizes = tau.row_sizes;
    result.a.col_offset = tau.row_offset;
  }
  return result;
}

/// Least squares scale A and B where their largest elements are below `smallest` or above `largest`, as LAPACK's gels does: else norms of
/// columns overflow, and underflow takes digits. They are multiplied by `up` or `down`, powers of two that take them just across these
/// bounds, so that elements much smaller than the largest keep their digits.
template <typename R>
struct QrRange {
  static constexpr bool narrow = sizeof(R) == 4;
  static constexpr R smallest = std::numeric_limits<R>::min() / std::numeric_limits<R>::epsilon(), largest = 1 / smallest;
  static constexpr R up = narrow ? R(0x1p46) : static_cast<R>(0x1p104), down = narrow ? R(0x1p-25) : static_cast<R>(0x1p-54);
};

/// geqrf
template <typename T>
struct GeqrfTask {
  Batch<T> a;
  Batch<T> tau;
};
MYRIAD_LANES_DECLARE(geqrf_lanes, GeqrfTask);

/// ormqr from the left: C = Q C or Q^H C.
template <typename T>
struct OrmqrTask {
  bool adjoint;
  Batch<T const> a;
  Batch<T const> tau;
  Batch<T> c;
};
MYRIAD_LANES_DECLARE(ormqr_lanes, OrmqrTask);

/// orgqr
template <typename T>
struct OrgqrTask {
  Batch<T> a;
  Batch<T const> tau;
};
MYRIAD_LANES_DECLARE(orgqr_lanes, OrgqrTask);

/// geqp3
template <typename T>
struct Geqp3Task {
  Batch<T> a;
  Batch<int> jpvt;
  Batch<T> tau;
};

/// gelsy
template <typename T>
struct GelsyTask {
  Batch<T> a;
  Batch<T> b;
  Batch<int> jpvt;
  Real<T> rcond;
  int* rank;
};

/// gels. A is factored where a matrix is tall or square, else A^H.
template <typename T>
struct GelsTask {
  Batch<T> a;
  Batch<T> b;
  int* info;
};
MYRIAD_LANES_DECLARE(gels_lanes, GelsTask);

}  // namespace myriad
