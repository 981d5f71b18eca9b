#pragma once
/// Denoising by random-matrix PCA: noise in all measurements of a neighbourhood has the singular values of a random matrix, so larger ones
/// are signal.
///
/// Sources: J. Veraart, D. S. Novikov et al., NeuroImage 142 (2016) 394 (the rule); L. Cordero-Grande et al., NeuroImage 200 (2019) 391
/// (the size of the noise matrix once the signal is taken out).

#include <array>
#include <cstdint>
#include <functional>
#include <myriad/myriad.hpp>
#include <span>
#include <vector>

#include "nifti.hpp"

namespace diffusion {

/// All cubes of `patch`^3 voxels within a volume. Voxels near the border have no cube around them and share the nearest one.
class Neighbourhoods {
 public:
  /// Throws std::invalid_argument unless `patch` is odd, at least 3 and at most every extent of the volume.
  Neighbourhoods(std::array<std::int64_t, 3> const& shape, std::int64_t patch);

  [[nodiscard]] std::int64_t count() const { return along_[0] * along_[1] * along_[2]; }
  [[nodiscard]] std::int64_t rows() const { return patch_ * patch_ * patch_; }

  /// Copies the signals of a neighbourhood to a column-major matrix of rows() x measurements.
  void gather(Volume const& volume, std::int64_t neighbourhood, double* matrix) const;

  /// Calls visit(voxel) for the voxels that belong to a neighbourhood: its centre and, at the border, those beyond.
  template <typename Visit>
  void for_each_voxel(std::int64_t neighbourhood, Visit const& visit) const {
    auto const first = corner(neighbourhood);
    std::array<std::int64_t, 3> begin{}, end{};
    for (std::size_t d = 0; d < 3; ++d) {
      std::int64_t const centre = first[d] + patch_ / 2;
      begin[d] = first[d] == 0 ? 0 : centre;
      end[d] = first[d] == along_[d] - 1 ? shape_[d] : centre + 1;
    }
    for (std::int64_t z = begin[2]; z < end[2]; ++z)
      for (std::int64_t y = begin[1]; y < end[1]; ++y)
        for (std::int64_t x = begin[0]; x < end[0]; ++x) visit((z * shape_[1] + y) * shape_[0] + x);
  }

 private:
  [[nodiscard]] std::array<std::int64_t, 3> corner(std::int64_t neighbourhood) const {
    return {neighbourhood % along_[0], neighbourhood / along_[0] % along_[1], neighbourhood / (along_[0] * along_[1])};
  }

  std::array<std::int64_t, 3> shape_, along_{};  ///< voxels and neighbourhoods along x, y, z
  std::int64_t patch_;
};

struct Spectrum {
  int components = 0;  ///< singular values above the Marchenko-Pastur edge
  double noise = 0;    ///< standard deviation
};
/// Separates signal and noise in the singular values of a rows x cols matrix; they descend, and there are min(rows, cols).
[[nodiscard]] Spectrum separate_noise(std::span<double const> values, std::int64_t rows, std::int64_t cols);

struct DenoiseOptions {
  std::int64_t patch = 5;            ///< voxels along an edge of a neighbourhood
  std::int64_t memory = 64LL << 20;  ///< bytes of matrices and results at a time; at least one matrix is taken
  std::function<void(std::int64_t done, std::int64_t total)> progress{};  ///< called after each batch with numbers of neighbourhoods
};

struct Denoised {
  std::vector<double> signal;  ///< as the volume's
  std::vector<Spectrum> of_voxels;
  std::int64_t neighbourhoods = 0;  ///< with an SVD each
  std::int64_t unsolved = 0;        ///< voxels with NaN or infinity around; they keep their signals, and their noise is NaN
  double svd_seconds = 0;           ///< part of the time that the SVDs took
};

/// Projects the signals of every voxel on the components of its neighbourhood that are above the noise. Throws std::invalid_argument for a
/// patch that does not fit (see Neighbourhoods), fewer than two measurements, or memory that is not positive.
[[nodiscard]] Denoised denoise(myriad::Queue& queue, Volume const& volume, DenoiseOptions const& options);

}  // namespace diffusion
