#pragma once
/// Denoising and its report on the terminal.

#include <filesystem>
#include <optional>

#include "denoise.hpp"

namespace diffusion {

/// Ground truth of a phantom.
struct KnownNoise {
  Volume clean;
  double level = 0;
};

struct DenoiseRequest {
  myriad::Backend backend = myriad::Backend::automatic;
  DenoiseOptions options{};         ///< `progress` is set by the report
  std::filesystem::path picture{};  ///< none if empty
  std::filesystem::path volume{};   ///< file for the denoised volume; none if empty
};

/// Denoises the volume, with a progress bar on a terminal, and prints voxels per second, the time beside a loop over LAPACK, noise levels
/// and numbers of components; with a known noise also the errors. Returns the exit status: 1 if a neighbourhood has no decomposition.
int report_denoising(Volume const& volume, std::optional<KnownNoise> const& known, DenoiseRequest request);

}  // namespace diffusion
