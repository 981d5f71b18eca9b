#include "tensor_shape.hpp"

#include <algorithm>
#include <cmath>

namespace diffusion {

TensorShapes::TensorShapes(myriad::Queue& queue, Fit const& fit)
    : voxels_(fit.voxels), values_(3 * voxels_), vectors_(9 * voxels_), info_(voxels_) {
  // The lower triangle, by columns: xx, xy, xz, yy, yz, zz. The upper triangle is not read.
  constexpr std::array<std::array<int, 2>, 6> element_and_unknown{{{0, 1}, {1, 4}, {2, 5}, {4, 2}, {5, 6}, {8, 3}}};
  for (auto const [element, unknown] : element_and_unknown)
    std::copy_n(fit.unknowns.begin() + unknown * voxels_, voxels_, vectors_.begin() + element * voxels_);
  myriad::stream(queue, {}, myriad::in_out(myriad::interleaved(vectors_.data(), 3, 3, voxels_)),
                 myriad::out(myriad::interleaved(values_.data(), 3, 1, voxels_)), myriad::out(info_.data()),
                 [](myriad::Queue& q, auto const& tensors, auto const& values, int* info) {
                   myriad::syevd<double>(q, myriad::Job::vectors, myriad::Uplo::lower, tensors, values, info);
                 });
  for (std::int64_t v = 0; v < voxels_; ++v)
    if (fit.info[v] != 0) info_[v] = fit.info[v];
}

double TensorShapes::mean_diffusivity(std::int64_t voxel) const {
  return (eigenvalue(voxel, 0) + eigenvalue(voxel, 1) + eigenvalue(voxel, 2)) / 3;
}

double TensorShapes::fractional_anisotropy(std::int64_t voxel) const {
  double const mean = mean_diffusivity(voxel);
  double deviation = 0, whole = 0;
  for (int k = 0; k < 3; ++k) {
    double const value = eigenvalue(voxel, k);
    deviation += (value - mean) * (value - mean);
    whole += value * value;
  }
  return whole > 0 ? std::sqrt(1.5 * deviation / whole) : 0;
}

std::array<double, 3> TensorShapes::direction(std::int64_t voxel) const {
  auto const of_last_column = [&](int i) { return vectors_[(2 * 3 + i) * voxels_ + voxel]; };
  return {of_last_column(0), of_last_column(1), of_last_column(2)};
}

}  // namespace diffusion
