#include "fit_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "picture.hpp"
#include "quantiles.hpp"
#include "tensor_fit.hpp"
#include "tensor_shape.hpp"

namespace diffusion {
namespace {

struct Timed {
  Fit fit;
  double seconds;
};

Timed timed_fit(myriad::Queue& queue, Volume const& volume, Method method) {
  auto const start = std::chrono::steady_clock::now();
  Fit fit = fit_tensors(queue, volume, method);
  return {std::move(fit), std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()};
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

}  // namespace

int report_fit(Volume const& volume, Phantom const* phantom, std::filesystem::path const& picture, myriad::Backend backend) {
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
  print_quantile_heading();
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

}  // namespace diffusion
