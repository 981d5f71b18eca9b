#pragma once
/// The diffusion tensor of every voxel, by weighted least squares on the logarithm of the signal.
///
/// Model: log S_i = log S_0 - b_i g_i^T D g_i, linear in log S_0 and the six entries of the symmetric D. The noise of S is constant, so
/// that of log S is proportional to 1 / S, and row i of a voxel gets the weight S_i of an unweighted fit. Source: P. J. Basser, J.
/// Mattiello and D. Le Bihan, J. Magn. Reson. B 103 (1994) 247; R. Salvador et al., Hum. Brain Mapp. 24 (2005) 144.

#include <array>
#include <cstdint>
#include <myriad/myriad.hpp>
#include <vector>

#include "nifti.hpp"

namespace diffusion {

inline constexpr int unknowns = 7;  ///< log S_0, Dxx, Dyy, Dzz, Dxy, Dxz, Dyz

enum class Method { qr, normal_equations };

/// Per voxel log S_0 and the tensor in 1e-3 mm^2/s; voxel v has its unknown j at [j * voxels + v].
struct Fit {
  std::int64_t voxels = 0;
  std::vector<double> unknowns;
  std::vector<int> info;  ///< per voxel: info of gels or posv; nonzero if rank-deficient

  [[nodiscard]] double operator()(std::int64_t voxel, int j) const { return unknowns[j * voxels + voxel]; }
};

/// Fits all voxels at once. Method::qr: a batch of (measurements x 7) least squares problems; Method::normal_equations: a batch of 7 x 7
/// Cholesky solves, with less work and less accuracy. The unweighted fit, one small matrix, always runs on the CPU. Signals that are
/// not positive count as the smallest positive one of the volume. Throws std::invalid_argument for fewer than seven measurements or a
/// volume without a positive signal.
[[nodiscard]] Fit fit_tensors(myriad::Queue& queue, Volume const& volume, Method method);

}  // namespace diffusion
