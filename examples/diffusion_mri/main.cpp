/// Diffusion MRI: the tensor of every voxel of a volume by weighted least squares, one small problem per voxel. One call solves all by QR,
/// another by the normal equations; then come eigenvalues and eigenvectors of all tensors. Or denoising: a singular value decomposition per
/// neighbourhood of a voxel.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>

#include "denoise_report.hpp"
#include "fit_report.hpp"
#include "phantom.hpp"

using namespace diffusion;

int main(int argc, char** argv) {
  std::filesystem::path image, b_values, directions, picture, output_volume;
  std::int64_t extent = 0;
  double noise = 0.03;
  DenoiseOptions denoising;
  std::int64_t mebibytes = denoising.memory >> 20;
  bool wants_denoising = false;
  CLI::App app{"Diffusion tensors of all voxels of a volume, or denoising"};
  CLI::Option const* const image_option =
      app.add_option("image", image, "NIfTI-1 file (.nii), four dimensions, 16-bit integers or 32-bit floats");
  app.add_option("--bval", b_values, "b-values, in s/mm^2 [the image's name with .bval]")->needs("image");
  app.add_option("--bvec", directions, "gradient directions [the image's name with .bvec]")->needs("image");
  CLI::Option* const phantom_option =
      app.add_option("--phantom", extent, "instead of an image a volume with known tensors, of so many voxels along x and y")
          ->check(CLI::Range(1, 2000))
          ->excludes("image");
  app.add_option("--noise", noise, "of the phantom: standard deviation over the signal without gradient [0.03]")
      ->check(CLI::NonNegativeNumber)
      ->needs("--phantom");
  myriad::Backend backend = myriad::Backend::automatic;
  app.add_option_function<std::string>(
         "--backend",
         [&](std::string const& name) {
           backend = name == "gpu" ? myriad::Backend::gpu : name == "auto" ? myriad::Backend::automatic : myriad::Backend::cpu;
         },
         "where the problems are solved: cpu; gpu, the first one; auto, the GPU where one can be used")
      ->check(CLI::IsMember({"cpu", "gpu", "auto"}))
      ->default_str("auto");
  CLI::Option* const denoise_option =
      app.add_flag("--denoise", wants_denoising, "remove noise by random-matrix PCA, instead of fitting tensors");
  app.add_option("--patch", denoising.patch, "voxels along an edge of a neighbourhood, odd [5]")->needs(denoise_option);
  app.add_option("--memory", mebibytes, "MiB of matrices that are decomposed at a time [64]")
      ->check(CLI::Range(1, 1 << 20))
      ->needs(denoise_option);
  app.add_option("-o,--output", picture,
                 "PNG file for a picture: fractional anisotropy and directions; --denoise: before, after, difference");
  app.add_option("--output-volume", output_volume, "NIfTI-1 file for the denoised volume, 32-bit floats")->needs(denoise_option);
  CLI11_PARSE(app, argc, argv);
  if (!*image_option && !*phantom_option) {
    fmt::print(stderr, "diffusion_mri: give an image or --phantom\n");
    return 2;
  }
  if (b_values.empty()) b_values = std::filesystem::path(image).replace_extension(".bval");
  if (directions.empty()) directions = std::filesystem::path(image).replace_extension(".bvec");
  denoising.memory = mebibytes << 20;
  try {
    if (wants_denoising) {
      DenoiseRequest const request{.backend = backend, .options = denoising, .picture = picture, .volume = output_volume};
      if (!*phantom_option) return report_denoising(read_volume(image, b_values, directions), std::nullopt, request);
      std::int64_t const thickness = std::clamp<std::int64_t>(denoising.patch, 1, extent);  // for one layer of neighbourhoods
      auto const slab = [&](double with) { return make_phantom(extent, thickness, with, 1); };
      Phantom const phantom = slab(noise);
      return report_denoising(phantom.volume, KnownNoise{.clean = slab(0).volume, .level = phantom.noise}, request);
    }
    if (!*phantom_option) return report_fit(read_volume(image, b_values, directions), nullptr, picture, backend);
    Phantom const phantom = make_phantom(extent, 1, noise, 1);
    return report_fit(phantom.volume, &phantom, picture, backend);
  } catch (std::exception const& error) {
    fmt::print(stderr, "diffusion_mri: {}\n", error.what());
    return 2;
  }
}
