#pragma once
/// Cholesky: tasks of the lane kernels, and the sizes up to which these are used.
///
/// Below the entry points there is only A = L L^H with the lower triangle, not conjugated. The upper triangle of A is the lower one of
/// A^T = conj(A), whose factor is conj(L) = U^T: the view is transposed, and where there is a right-hand side, that is conjugated.

#include <array>

#include "myriad/cholesky.hpp"
#include "simd/dispatch.hpp"
#include "simd/group.hpp"

namespace myriad {

/// Up to which order matrices are factored side by side in SIMD lanes. Lanes still win by a factor of two at twice that order if all are
/// filled (double, AVX-512), but lose to LAPACK where a batch has fewer matrices than lanes.
template <typename T>
inline constexpr std::int64_t cholesky_lane_limit = is_complex<T> ? 96 : 128;

template <typename T>
bool cholesky_fits_lanes(std::array<std::int64_t, 4> const& shape) {
  return shape[1] <= cholesky_lane_limit<T>;
}

/// A factor that is not written stays in the workspace, beside up to eight right-hand sides.
template <typename T>
bool cholesky_solve_fits_lanes(std::array<std::int64_t, 4> const& shape) {
  std::int64_t const n = shape[1];
  return n * (n + 1 + 8) * lane_element_bytes<T> <= lane_workspace_bytes;
}

/// The inverse needs the whole matrix in the workspace.
template <typename T>
bool cholesky_inverse_fits_lanes(std::array<std::int64_t, 4> const& shape) {
  std::int64_t const n = shape[1];
  return n * (n + 1) * lane_element_bytes<T> <= lane_workspace_bytes;
}

/// The numbers of potrf_regularized and posv_regularized, one for each matrix; each may be null.
template <typename R>
struct Regularization {
  R const* jitter = nullptr;  ///< is added to the diagonal
  R const* floor = nullptr;   ///< replaces pivots below it, where it is positive
  int* replaced = nullptr;    ///< pivots, a result

  [[nodiscard]] bool given() const { return jitter || floor || replaced; }
  /// The entries of the matrices from number `first` on.
  [[nodiscard]] Regularization from(std::int64_t first) const {
    return {jitter ? jitter + first : nullptr, floor ? floor + first : nullptr, replaced ? replaced + first : nullptr};
  }
};

/// potrf and potri
template <typename T>
struct PotrfTask {
  Batch<T> a;
  int* info;
  Regularization<Real<T>> regularization{};  ///< not of potri
};

MYRIAD_LANES_DECLARE(potrf_lanes, PotrfTask);
MYRIAD_LANES_DECLARE(potri_lanes, PotrfTask);

/// potrs
template <typename T>
struct PotrsTask {
  Batch<T const> a;
  Batch<T> b;
};

MYRIAD_LANES_DECLARE(potrs_lanes, PotrsTask);

/// posv and solve_positive_definite. Where `factor` has no data, the factor is not written; else it is a. b may be x.
template <typename T>
struct PosvTask {
  Batch<T const> a;
  Batch<T const> b;
  Batch<T> x;
  Batch<T> factor;
  int* info;
  bool nan_where_not_definite;  ///< otherwise x is left as it was
  Regularization<Real<T>> regularization{};

  [[nodiscard]] bool writes_factor() const { return factor.data || factor.pointers; }
};
MYRIAD_LANES_DECLARE(posv_lanes, PosvTask);

}  // namespace myriad
