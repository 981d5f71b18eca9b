/// Diffusion MRI: the tensor of every voxel of a volume by weighted least squares, one small problem per voxel. One call solves all by QR,
/// another by the normal equations; then come eigenvalues and eigenvectors of all tensors. Normal equations and eigenproblems run on a GPU
/// on request.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <filesystem>
#include <string>

#include "fit_report.hpp"
#include "phantom.hpp"

using namespace diffusion;

int main(int argc, char** argv) {
  std::filesystem::path image, b_values, directions, picture;
  std::int64_t extent = 0;
  double noise = 0.03;
  CLI::App app{"Diffusion tensors of all voxels of a volume"};
  CLI::Option const* const image_option = app.add_option("image", image, "NIfTI-1 file (.nii), four dimensions, 16-bit integers");
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
         "where normal equations and eigenproblems are solved: cpu; gpu, the first one; auto, the GPU where one can be used")
      ->check(CLI::IsMember({"cpu", "gpu", "auto"}))
      ->default_str("auto");
  app.add_option("-o,--output", picture, "PNG file for a picture of fractional anisotropy and directions");
  CLI11_PARSE(app, argc, argv);
  if (!*image_option && !*phantom_option) {
    fmt::print(stderr, "diffusion_mri: give an image or --phantom\n");
    return 2;
  }
  if (b_values.empty()) b_values = std::filesystem::path(image).replace_extension(".bval");
  if (directions.empty()) directions = std::filesystem::path(image).replace_extension(".bvec");
  try {
    if (!*phantom_option) return report_fit(read_volume(image, b_values, directions), nullptr, picture, backend);
    Phantom const phantom = make_phantom(extent, 1, noise, 1);
    return report_fit(phantom.volume, &phantom, picture, backend);
  } catch (std::exception const& error) {
    fmt::print(stderr, "diffusion_mri: {}\n", error.what());
    return 2;
  }
}
