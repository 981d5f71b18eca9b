#include "tensor_fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace diffusion {
namespace {

/// Row m of the model for b in s/mm^2 and D in 1e-3 mm^2/s, which makes all unknowns of order one.
std::array<double, unknowns> model_row(Volume const& volume, std::int64_t m) {
  double const b = 1e-3 * volume.b_values[m];
  auto const [x, y, z] = volume.directions[m];
  return {1, -b * x * x, -b * y * y, -b * z * z, -2 * b * x * y, -2 * b * x * z, -2 * b * y * z};
}

}  // namespace

Fit fit_tensors(myriad::Queue& queue, Volume const& volume, Method method) {
  std::int64_t const voxels = volume.voxels(), rows = volume.measurements();
  if (rows < unknowns) throw std::invalid_argument("a tensor fit needs at least seven measurements");
  double smallest = std::numeric_limits<double>::infinity();
  for (double const s : volume.signal)
    if (s > 0) smallest = std::min(smallest, s);
  if (!std::isfinite(smallest)) throw std::invalid_argument("the volume has no positive signal");

  std::vector<double> log_signal(volume.signal.size());
  std::transform(volume.signal.begin(), volume.signal.end(), log_signal.begin(), [&](double s) { return std::log(std::max(s, smallest)); });

  // Unweighted fit: all voxels share one matrix, so they are right-hand sides of a single problem. Measurements of a voxel are `voxels`
  // numbers apart in the file, so the right-hand sides are one row-major matrix with a column per voxel.
  std::vector<double> model(rows * unknowns);
  for (std::int64_t m = 0; m < rows; ++m) std::ranges::copy(model_row(volume, m), model.begin() + m * unknowns);
  std::vector<double> first = log_signal, factored = model;
  int info = 0;
  myriad::Queue host({.backend = myriad::Backend::cpu, .threads = queue.threads()});
  myriad::gels(host, myriad::row_major(factored.data(), rows, unknowns), myriad::row_major(first.data(), rows, voxels), &info);
  if (info != 0) throw std::invalid_argument("the directions do not determine a tensor");

  // Weighted problems, interleaved: element (m, j) of all voxels side by side, like the signals in the file.
  std::vector<double> a(rows * unknowns * voxels), b(rows * voxels);
  for (std::int64_t m = 0; m < rows; ++m)
    for (std::int64_t v = 0; v < voxels; ++v) {
      double predicted = 0;
      for (int j = 0; j < unknowns; ++j) predicted += model[m * unknowns + j] * first[j * voxels + v];
      double const weight = std::exp(predicted);
      for (int j = 0; j < unknowns; ++j) a[(j * rows + m) * voxels + v] = weight * model[m * unknowns + j];
      b[m * voxels + v] = weight * log_signal[m * voxels + v];
    }
  auto const matrices = myriad::interleaved(a.data(), rows, unknowns, voxels);
  auto const right_sides = myriad::interleaved(b.data(), rows, 1, voxels);

  Fit fit{.voxels = voxels, .unknowns = std::vector<double>(unknowns * voxels), .info = std::vector<int>(voxels)};
  if (method == Method::qr) {
    // Streamed through a GPU in chunks of voxels; on the CPU all at once.
    myriad::stream(queue, {}, myriad::in_out(matrices), myriad::in_out(right_sides), myriad::out(fit.info.data()),
                   [](myriad::Queue& q, auto const& of_voxels, auto const& signals, int* problems) {
                     myriad::gels<double>(q, of_voxels, signals, problems);
                   });
    std::copy_n(b.begin(), unknowns * voxels, fit.unknowns.begin());
  } else {
    auto const solution = myriad::interleaved(fit.unknowns.data(), unknowns, 1, voxels);
    myriad::stream(queue, {}, myriad::in(matrices), myriad::in(right_sides), myriad::out(solution), myriad::out(fit.info.data()),
                   [](myriad::Queue& q, auto const& of_voxels, auto const& signals, auto const& x, int* problems) {
                     myriad::DeviceArray<double> products(q, unknowns * unknowns * x.count);
                     auto const normal = myriad::interleaved(products.data(), unknowns, unknowns, x.count);
                     myriad::gemm<double>(q, 1.0, myriad::transposed(of_voxels), of_voxels, 0.0, normal);
                     myriad::gemm<double>(q, 1.0, myriad::transposed(of_voxels), signals, 0.0, x);
                     myriad::posv<double>(q, myriad::Uplo::lower, normal, x, problems);
                   });
  }
  return fit;
}

}  // namespace diffusion
