#pragma once
/// Usual quantities of diffusion tensors: eigenvalues, mean diffusivity, fractional anisotropy, the direction of fibres.

#include "tensor_fit.hpp"

namespace diffusion {

/// Per voxel; eigenvalues ascend, in 1e-3 mm^2/s.
class TensorShapes {
 public:
  /// One 3 x 3 eigenproblem for each voxel, all in one call.
  TensorShapes(myriad::Queue& queue, Fit const& fit);

  [[nodiscard]] bool is_known(std::int64_t voxel) const { return info_[voxel] == 0; }
  [[nodiscard]] double eigenvalue(std::int64_t voxel, int k) const { return values_[k * voxels_ + voxel]; }
  [[nodiscard]] double mean_diffusivity(std::int64_t voxel) const;
  /// 0: a sphere, 1: a line. Source: P. J. Basser and C. Pierpaoli, J. Magn. Reson. B 111 (1996) 209.
  [[nodiscard]] double fractional_anisotropy(std::int64_t voxel) const;
  /// The eigenvector of the largest eigenvalue; its sign is arbitrary.
  [[nodiscard]] std::array<double, 3> direction(std::int64_t voxel) const;

 private:
  std::int64_t voxels_;
  std::vector<double> values_, vectors_;  ///< interleaved, like the fit
  std::vector<int> info_;
};

}  // namespace diffusion
