/// Diffusion MRI: the tensor of every voxel of a volume by weighted least squares, one small problem per voxel. One call solves all by QR,
/// another by the normal equations; then come eigenvalues and eigenvectors of all tensors. Normal equations and eigenproblems run on a GPU
/// on request.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <filesystem>
#include <numbers>
#include <string>
#include <vector>

#include "phantom.hpp"
#include "picture.hpp"
#include "tensor_fit.hpp"
#include "tensor_shape.hpp"

namespace {

using namespace diffusion;

struct Timed {
  Fit fit;
  double seconds;
};

Timed timed_fit(myriad::Queue& queue, Volume const& volume, Method method) {
  auto const start = std::chrono::steady_clock::now();
  Fit fit = fit_tensors(queue, volume, method);
  return {std::move(fit), std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()};
}

void print_quantiles(char const* name, std::vector<double> values) {
  std::sort(values.begin(), values.end());
  auto const at = [&](double share) { return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5)]; };
  fmt::print("{:<36}{:>9.3f}{:>9.3f}{:>9.3f}\n", name, at(0.05), at(0.5), at(0.95));
}

/// Errors of the directions of fibres, in degrees.
void print_angles(Phantom const& phantom, TensorShapes const& shapes) {
  std::vector<double> angles;
  std::int64_t const voxels = phantom.volume.voxels();
  for (std::int64_t v = 0; v < voxels; ++v) {
    if (!phantom.has_fibres[v] || !shapes.is_known(v)) continue;
    double cosine = 0;
    for (int i = 0; i < 3; ++i) cosine += phantom.direction[i * voxels + v] * shapes.direction(v)[i];
    angles.push_back(std::acos(std::min(std::fabs(cosine), 1.0)) * 180 / std::numbers::pi);
  }
  if (!angles.empty()) print_quantiles("error of fibre directions (degrees)", angles);
}

int run(Volume const& volume, Phantom const* phantom, std::filesystem::path const& picture, myriad::Backend backend) {
  auto const [x, y, z] = volume.shape;
  fmt::print("{} x {} x {} voxels, {} measurements\n", x, y, z, volume.measurements());

  myriad::Queue queue({.backend = backend});
  bool const on_gpu = queue.backend() == myriad::Backend::gpu;
  if (!queue.gpu_problem().empty()) fmt::print("on the CPU; no GPU: {}\n", queue.gpu_problem());
  Timed const qr = timed_fit(queue, volume, Method::qr);
  Timed const normal = timed_fit(queue, volume, Method::normal_equations);
  auto const start = std::chrono::steady_clock::now();
  TensorShapes const shapes(queue, qr.fit);
  double const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

  std::vector<double> mean, anisotropy, largest, smallest;
  std::int64_t not_positive = 0, rank_deficient = 0;
  double difference = 0;
  for (std::int64_t v = 0; v < volume.voxels(); ++v) {
    if (!shapes.is_known(v) || qr.fit.info[v] != 0 || normal.fit.info[v] != 0) {
      ++rank_deficient;
      continue;
    }
    mean.push_back(shapes.mean_diffusivity(v));
    anisotropy.push_back(shapes.fractional_anisotropy(v));
    largest.push_back(shapes.eigenvalue(v, 2));
    smallest.push_back(shapes.eigenvalue(v, 0));
    not_positive += !(shapes.eigenvalue(v, 0) > 0);
    for (int j = 0; j < unknowns; ++j) {
      double const apart = std::fabs(qr.fit(v, j) - normal.fit(v, j));
      if (apart > difference || std::isnan(apart)) difference = apart;
    }
  }
  std::string const where = on_gpu ? " (" + queue.device().name + ")" : "";
  fmt::print("QR of {} x {} matrices{}: {:.1f} ms; normal equations{}: {:.1f} ms; largest difference of an unknown: {:.1e}\n",
             volume.measurements(), unknowns, where, 1e3 * qr.seconds, where, 1e3 * normal.seconds, difference);
  fmt::print("eigenvalues and eigenvectors of {} tensors{}: {:.1f} ms\n", volume.voxels(), where, 1e3 * seconds);
  if (mean.empty()) throw std::runtime_error("no voxel has a tensor");
  fmt::print("\n{:<36}{:>9}{:>9}{:>9}\n", "over the voxels", "5 %", "median", "95 %");
  print_quantiles("mean diffusivity (1e-3 mm^2/s)", mean);
  print_quantiles("largest eigenvalue (1e-3 mm^2/s)", largest);
  print_quantiles("smallest eigenvalue (1e-3 mm^2/s)", smallest);
  print_quantiles("fractional anisotropy", anisotropy);
  if (phantom) print_angles(*phantom, shapes);
  fmt::print("\n{} voxels without a solution, {} with an eigenvalue that is not positive (noise)\n", rank_deficient, not_positive);
  if (!picture.empty()) {
    draw_anisotropy(picture, volume.shape, shapes, static_cast<int>(std::max<std::int64_t>(400 / x, 1)));
    fmt::print("wrote {}\n", picture.string());
  }
  return rank_deficient == 0 ? 0 : 1;
}

}  // namespace

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
    if (!*phantom_option) return run(read_volume(image, b_values, directions), nullptr, picture, backend);
    Phantom const phantom = make_phantom(extent, 1, noise, 1);
    return run(phantom.volume, &phantom, picture, backend);
  } catch (std::exception const& error) {
    fmt::print(stderr, "diffusion_mri: {}\n", error.what());
    return 2;
  }
}
