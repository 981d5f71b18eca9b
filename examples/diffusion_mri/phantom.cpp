#include "phantom.hpp"

#include <cmath>
#include <numbers>
#include <random>
#include <stdexcept>

namespace diffusion {
namespace {

using Vector = std::array<double, 3>;

/// Directions over half a sphere along a spiral; opposite directions measure the same.
Vector gradient(std::int64_t m, std::int64_t count) {
  double const z = 1 - (static_cast<double>(m) + 0.5) / static_cast<double>(count), r = std::sqrt(1 - z * z);
  double const angle = static_cast<double>(m) * std::numbers::pi * (3 - std::sqrt(5.0));
  return {r * std::cos(angle), r * std::sin(angle), z};
}

/// The tissue at a point of the slab; coordinates are from its middle, in units of half its extent.
struct Tissue {
  double along, across;  ///< diffusivities in 1e-3 mm^2/s
  Vector direction;
  bool has_fibres;
};
Tissue tissue_at(double x, double y) {
  double const r = std::hypot(x, y);
  if (std::fabs(y) < 0.12 && std::fabs(x) < 0.9) return {1.7, 0.3, {1, 0, 0}, true};
  if (r > 0.5 && r < 0.8) return {1.7, 0.3, {-y / r, x / r, 0}, true};
  if (r <= 0.5) return {3.0, 3.0, {0, 0, 1}, false};
  return {0.8, 0.8, {0, 0, 1}, false};
}

}  // namespace

Phantom make_phantom(std::int64_t extent, std::int64_t thickness, double noise, unsigned seed) {
  if (extent < 1 || thickness < 1) throw std::invalid_argument("a phantom needs at least one voxel");
  if (!(noise >= 0)) throw std::invalid_argument("noise cannot be negative");
  constexpr std::int64_t directions = 64;
  constexpr double without_gradient = 1000;
  Phantom out;
  out.noise = noise * without_gradient;
  Volume& volume = out.volume;
  volume.shape = {extent, extent, thickness};
  volume.b_values.assign(directions + 1, 1000);
  volume.b_values[0] = 0;
  volume.directions.push_back({0, 0, 0});
  for (std::int64_t m = 0; m < directions; ++m) volume.directions.push_back(gradient(m, directions));

  std::int64_t const voxels = volume.voxels();
  out.truth = {.voxels = voxels, .unknowns = std::vector<double>(unknowns * voxels), .info = std::vector<int>(voxels)};
  out.has_fibres.resize(voxels);
  out.direction.resize(3 * voxels);
  for (std::int64_t v = 0; v < voxels; ++v) {
    auto const place = [&](std::int64_t i) { return (2.0 * static_cast<double>(i) + 1) / static_cast<double>(extent) - 1; };
    Tissue const tissue = tissue_at(place(v % extent), place(v / extent % extent));
    out.has_fibres[v] = tissue.has_fibres;
    for (int i = 0; i < 3; ++i) out.direction[i * voxels + v] = tissue.direction[i];
    // D = across I + (along - across) u u^T
    auto const entry = [&](int i, int j) {
      return (i == j ? tissue.across : 0) + (tissue.along - tissue.across) * tissue.direction[i] * tissue.direction[j];
    };
    std::array<double, unknowns> const u{
        std::log(without_gradient), entry(0, 0), entry(1, 1), entry(2, 2), entry(0, 1), entry(0, 2), entry(1, 2)};
    for (int j = 0; j < unknowns; ++j) out.truth.unknowns[j * voxels + v] = u[j];
  }

  std::mt19937_64 random(seed);
  std::normal_distribution<double> channel(0, noise > 0 ? out.noise : 1);
  for (std::int64_t m = 0; m < volume.measurements(); ++m) {
    auto const [x, y, z] = volume.directions[m];
    for (std::int64_t v = 0; v < voxels; ++v) {
      Fit const& d = out.truth;
      double const along = d(v, 1) * x * x + d(v, 2) * y * y + d(v, 3) * z * z + 2 * (d(v, 4) * x * y + d(v, 5) * x * z + d(v, 6) * y * z);
      double const signal = without_gradient * std::exp(-1e-3 * volume.b_values[m] * along);
      volume.signal.push_back(noise > 0 ? std::hypot(signal + channel(random), channel(random)) : signal);
    }
  }
  return out;
}

}  // namespace diffusion
