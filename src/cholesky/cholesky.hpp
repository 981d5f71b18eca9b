#pragma once
/// What the files of this room share: the tasks of the lane kernels, and how far these are used.
///
/// Below the entry points there is only A = L L^H with the lower triangle, not conjugated. The upper triangle of A is the lower one of
/// A^T = conj(A), whose factor is conj(L) = U^T: the view is transposed, and where there is a right-hand side, that is conjugated.

#include <array>

#include "myriad/cholesky.hpp"
#include "simd/dispatch.hpp"
#include "simd/group.hpp"

namespace myriad {

/// Whether matrices of this shape (and right-hand sides beside them) are factored side by side in SIMD lanes: the packs of the matrix and
/// of a few right-hand sides fit the workspace.
template <typename T>
bool cholesky_fits_lanes(std::array<std::int64_t, 4> const& shape) {
  std::int64_t const n = shape[1];
  return (n * n + 2 * n) * lane_element_bytes<T> <= lane_workspace_bytes;
}

/// potrf and potri
template <typename T>
struct PotrfTask {
  Batch<T> a;
  int* info;
};

/// potrs
template <typename T>
struct PotrsTask {
  Batch<T const> a;
  Batch<T> b;
};

/// posv
template <typename T>
struct PosvTask {
  Batch<T> a;
  Batch<T> b;
  int* info;
};

}  // namespace myriad
