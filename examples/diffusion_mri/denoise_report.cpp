#include "denoise_report.hpp"

#include <fmt/format.h>
#include <lapacke.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "picture.hpp"
#include "progress.hpp"
#include "quantiles.hpp"

namespace diffusion {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

struct LapackLoop {
  std::int64_t matrices = 0;
  double seconds = 0;
  double difference = 0;  ///< largest one of a noise level, relative
};

/// The thin SVD of some neighbourhoods, one after the other.
LapackLoop loop_over_lapack(Volume const& volume, Neighbourhoods const& neighbourhoods, Denoised const& denoised) {
  std::int64_t const m = neighbourhoods.rows(), n = volume.measurements(), k = std::min(m, n);
  std::int64_t const samples = std::min<std::int64_t>(neighbourhoods.count(), 100);
  std::vector<double> a(m * n), s(k), u(m * k), vt(k * n);
  LapackLoop loop;
  for (std::int64_t sample = 0; sample < samples; ++sample) {
    std::int64_t const neighbourhood = sample * neighbourhoods.count() / samples;
    neighbourhoods.gather(volume, neighbourhood, a.data());
    auto const start = Clock::now();
    auto const size = [](std::int64_t x) { return static_cast<lapack_int>(x); };
    auto const info =
        LAPACKE_dgesdd(LAPACK_COL_MAJOR, 'S', size(m), size(n), a.data(), size(m), s.data(), u.data(), size(m), vt.data(), size(k));
    if (info != 0) continue;  // LAPACKE refuses NaN
    loop.seconds += seconds_since(start);
    ++loop.matrices;
    double const noise = separate_noise(s, m, n).noise;
    neighbourhoods.for_each_voxel(neighbourhood, [&](std::int64_t v) {
      double const apart = std::fabs(denoised.of_voxels[v].noise - noise);
      if (apart > 0) loop.difference = std::max(loop.difference, apart / noise);
    });
  }
  return loop;
}

double rms_difference(std::vector<double> const& a, std::vector<double> const& b) {
  double sum = 0;
  for (std::size_t e = 0; e < a.size(); ++e) sum += (a[e] - b[e]) * (a[e] - b[e]);
  return std::sqrt(sum / static_cast<double>(a.size()));
}

}  // namespace

int report_denoising(Volume const& volume, std::optional<KnownNoise> const& known, DenoiseRequest request) {
  auto const [x, y, z] = volume.shape;
  fmt::print("{} x {} x {} voxels, {} measurements\n", x, y, z, volume.measurements());
  myriad::Queue queue({.backend = request.backend});
  if (!queue.gpu_problem().empty()) fmt::print("on the CPU; no GPU: {}\n", queue.gpu_problem());

  myriad::cli::ProgressBar bar;
  auto const start = Clock::now();
  request.options.progress = [&](std::int64_t done, std::int64_t total) {
    double const seconds = seconds_since(start);
    if (bar.due(seconds))
      bar.draw({.done = static_cast<double>(done),
                .total = static_cast<double>(total),
                .seconds = seconds,
                .what = fmt::format("{} of {} neighbourhoods", done, total)});
  };
  Denoised const denoised = denoise(queue, volume, request.options);
  double const seconds = seconds_since(start);
  bar.clear();

  Neighbourhoods const neighbourhoods(volume.shape, request.options.patch);
  std::string const where = queue.backend() == myriad::Backend::gpu
                                ? queue.device().name
                                : fmt::format("CPU, {} thread{}", queue.threads(), queue.threads() == 1 ? "" : "s");
  auto const each = [](double of_all, std::int64_t count) { return 1e3 * of_all / static_cast<double>(count); };
  fmt::print("{} voxels denoised in {:.2f} s: {:.0f} voxels/s\n", volume.voxels(), seconds, static_cast<double>(volume.voxels()) / seconds);
  fmt::print("{} singular value decompositions of {} x {} matrices ({}): {:.3f} ms each\n", denoised.neighbourhoods, neighbourhoods.rows(),
             volume.measurements(), where, each(denoised.svd_seconds, denoised.neighbourhoods));
  LapackLoop const loop = loop_over_lapack(volume, neighbourhoods, denoised);
  if (loop.matrices > 0)
    fmt::print("a loop over LAPACK's gesdd, {} of them: {:.3f} ms each; largest relative difference of a noise level: {:.1e}\n",
               loop.matrices, each(loop.seconds, loop.matrices), loop.difference);

  std::vector<double> noise, components;
  for (Spectrum const& spectrum : denoised.of_voxels)
    if (!std::isnan(spectrum.noise)) {
      noise.push_back(spectrum.noise);
      components.push_back(spectrum.components);
    }
  if (noise.empty()) throw std::runtime_error("no neighbourhood is free of NaN and infinity");
  print_quantile_heading();
  print_quantiles("noise level", noise);
  print_quantiles("components above the noise", components);
  std::sort(noise.begin(), noise.end());
  double const median = quantile(noise, 0.5);
  if (known) {
    fmt::print("\nknown noise level {:.3f}, median of the estimates {:.3f}", known->level, median);
    if (known->level > 0) fmt::print(" ({:+.1f} %)", 100 * (median / known->level - 1));
    fmt::print("\nroot mean square error against the clean phantom: {:.3f} before, {:.3f} after\n",
               rms_difference(volume.signal, known->clean.signal), rms_difference(denoised.signal, known->clean.signal));
  }
  if (denoised.unsolved > 0) fmt::print("{} voxels with NaN or infinity around keep their signals\n", denoised.unsolved);
  if (!request.picture.empty()) {
    auto const weighted = std::find_if(volume.b_values.begin(), volume.b_values.end(), [](double b) { return b > 0; });
    std::int64_t const measurement = weighted == volume.b_values.end() ? 0 : weighted - volume.b_values.begin();
    draw_denoising(request.picture, volume, denoised.signal, median, z / 2, measurement,
                   static_cast<int>(std::max<std::int64_t>(400 / x, 1)));
    fmt::print("wrote {}\n", request.picture.string());
  }
  if (!request.volume.empty()) {
    write_signal(request.volume, volume, denoised.signal);
    fmt::print("wrote {}\n", request.volume.string());
  }
  return denoised.unsolved == 0 ? 0 : 1;
}

}  // namespace diffusion
