/// Diffusion MRI: the tensor of every voxel of a volume by weighted least squares, one small problem per voxel, all in one call; once by QR
/// and once by the normal equations.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "tensor_fit.hpp"

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

int run(std::filesystem::path const& image, std::filesystem::path const& b_values, std::filesystem::path const& directions) {
  Volume const volume = read_volume(image, b_values, directions);
  auto const [x, y, z] = volume.shape;
  fmt::print("{} x {} x {} voxels, {} measurements\n", x, y, z, volume.measurements());

  myriad::Queue queue;
  Timed const qr = timed_fit(queue, volume, Method::qr);
  Timed const normal = timed_fit(queue, volume, Method::normal_equations);

  std::vector<double> mean, anisotropy, largest, smallest;
  std::int64_t not_positive = 0, rank_deficient = 0;
  double difference = 0;
  for (std::int64_t v = 0; v < volume.voxels(); ++v) {
    if (qr.fit.info[v] != 0 || normal.fit.info[v] != 0) {
      ++rank_deficient;
      continue;
    }
    TensorShape const shape = shape_of(qr.fit, v);
    mean.push_back(shape.mean_diffusivity);
    anisotropy.push_back(shape.fractional_anisotropy);
    largest.push_back(shape.eigenvalues[0]);
    smallest.push_back(shape.eigenvalues[2]);
    not_positive += !(shape.eigenvalues[2] > 0);
    for (int j = 0; j < unknowns; ++j) {
      double const apart = std::fabs(qr.fit(v, j) - normal.fit(v, j));
      if (apart > difference || std::isnan(apart)) difference = apart;
    }
  }
  fmt::print("QR of {} x {} matrices: {:.1f} ms; normal equations: {:.1f} ms; largest difference of an unknown: {:.1e}\n",
             volume.measurements(), unknowns, 1e3 * qr.seconds, 1e3 * normal.seconds, difference);
  if (mean.empty()) throw std::runtime_error("no voxel has a tensor");
  fmt::print("\n{:<36}{:>9}{:>9}{:>9}\n", "over the voxels", "5 %", "median", "95 %");
  print_quantiles("mean diffusivity (1e-3 mm^2/s)", mean);
  print_quantiles("largest eigenvalue (1e-3 mm^2/s)", largest);
  print_quantiles("smallest eigenvalue (1e-3 mm^2/s)", smallest);
  print_quantiles("fractional anisotropy", anisotropy);
  fmt::print("\n{} voxels without a solution, {} with an eigenvalue that is not positive (noise)\n", rank_deficient, not_positive);
  return rank_deficient == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::filesystem::path image, b_values, directions;
  CLI::App app{"Diffusion tensors of all voxels of a volume"};
  app.add_option("image", image, "NIfTI-1 file (.nii), four dimensions, 16-bit integers")->required();
  app.add_option("--bval", b_values, "b-values, in s/mm^2 [the image's name with .bval]");
  app.add_option("--bvec", directions, "gradient directions [the image's name with .bvec]");
  CLI11_PARSE(app, argc, argv);
  if (b_values.empty()) b_values = std::filesystem::path(image).replace_extension(".bval");
  if (directions.empty()) directions = std::filesystem::path(image).replace_extension(".bvec");
  try {
    return run(image, b_values, directions);
  } catch (std::exception const& error) {
    fmt::print(stderr, "diffusion_mri: {}\n", error.what());
    return 2;
  }
}
