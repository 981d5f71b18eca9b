#include "denoise.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

namespace diffusion {

Neighbourhoods::Neighbourhoods(std::array<std::int64_t, 3> const& shape, std::int64_t patch) : shape_(shape), patch_(patch) {
  if (patch < 3 || patch % 2 == 0)
    throw std::invalid_argument("the patch must be an odd number of voxels, at least 3; it is " + std::to_string(patch));
  for (std::size_t d = 0; d < 3; ++d) {
    if (patch > shape[d])
      throw std::invalid_argument("a patch of " + std::to_string(patch) + " voxels along each axis does not fit a volume of " +
                                  std::to_string(shape[0]) + " x " + std::to_string(shape[1]) + " x " + std::to_string(shape[2]));
    along_[d] = shape[d] - patch + 1;
  }
}

void Neighbourhoods::gather(Volume const& volume, std::int64_t neighbourhood, double* matrix) const {
  auto const [x, y, z] = corner(neighbourhood);
  for (std::int64_t m = 0; m < volume.measurements(); ++m)
    for (std::int64_t k = z; k < z + patch_; ++k)
      for (std::int64_t j = y; j < y + patch_; ++j) {
        auto const from = volume.signal.begin() + ((m * shape_[2] + k) * shape_[1] + j) * shape_[0] + x;
        matrix = std::copy_n(from, patch_, matrix);
      }
}

Spectrum separate_noise(std::span<double const> values, std::int64_t rows, std::int64_t cols) {
  auto const few = static_cast<std::int64_t>(values.size()), many = std::max(rows, cols);
  double const smallest = few > 0 ? values.back() : 0;
  std::vector<double> squares_from(values.size() + 1);  // sums of squares from a value on
  for (std::int64_t p = few; p-- > 0;) squares_from[p] = squares_from[p + 1] + values[p] * values[p];
  // Without p components the rest should be the noise of a (few - p) x (many - p) matrix. Its mean square is one estimate of the variance
  // s; the width 4 s sqrt(ratio) of the Marchenko-Pastur distribution, ratio = (few - p) / (many - p), is another. The latter is the larger
  // one as long as the rest holds signal. For p = few - 1 it is zero, so the loop ends.
  for (std::int64_t p = 0; p < few; ++p) {
    auto const rest = static_cast<double>(few - p), longer = static_cast<double>(many - p);
    double const by_mean = squares_from[p] / (rest * longer);
    double const by_width = (values[p] * values[p] - smallest * smallest) / (4 * std::sqrt(rest * longer));
    if (by_width <= by_mean) return {.components = static_cast<int>(p), .noise = std::sqrt(by_mean)};
  }
  return {.components = 0, .noise = std::numeric_limits<double>::quiet_NaN()};
}

Denoised denoise(myriad::Queue& queue, Volume const& volume, DenoiseOptions const& options) {
  std::int64_t const cols = volume.measurements(), voxels = volume.voxels();
  if (cols < 2) throw std::invalid_argument("denoising needs at least two measurements; the volume has " + std::to_string(cols));
  if (options.memory <= 0) throw std::invalid_argument("denoising needs memory for at least one matrix");
  Neighbourhoods const neighbourhoods(volume.shape, options.patch);
  std::int64_t const rows = neighbourhoods.rows(), few = std::min(rows, cols), total = neighbourhoods.count();
  std::int64_t const numbers = rows * cols + few + few * cols;
  std::int64_t const batch = std::clamp<std::int64_t>(options.memory / (numbers * static_cast<std::int64_t>(sizeof(double))), 1, total);

  Denoised out{.signal = volume.signal, .of_voxels = std::vector<Spectrum>(voxels), .neighbourhoods = total};
  std::vector<double> a(rows * cols * batch), s(few * batch), vt(few * cols * batch);
  std::vector<int> info(batch);
  std::vector<double> projections(few);
  for (std::int64_t begin = 0; begin < total; begin += batch) {
    std::int64_t const count = std::min(batch, total - begin);
    for (std::int64_t b = 0; b < count; ++b) neighbourhoods.gather(volume, begin + b, a.data() + b * rows * cols);
    auto const start = std::chrono::steady_clock::now();
    // A voxel's signals are a row of A, and its projection on the right singular vectors gives what U diag(s) would, so U is not needed.
    myriad::stream(
        queue, {},
        myriad::StreamOperand<myriad::Batch<double>>{myriad::batch(a.data(), rows, cols, {.count = count}), myriad::StreamUse::in},
        myriad::out(myriad::vectors(s.data(), few, count)), myriad::out(myriad::batch(vt.data(), few, cols, {.count = count})),
        myriad::out(info.data()), [](myriad::Queue& q, auto const& matrices, auto const& values, auto const& right, int* problems) {
          myriad::gesvd<double>(q, myriad::SvdJob::right, matrices, values, {}, right, problems);
        });
    out.svd_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    for (std::int64_t b = 0; b < count; ++b) {
      bool const solved = info[b] == 0;
      Spectrum const spectrum = solved ? separate_noise({s.data() + b * few, static_cast<std::size_t>(few)}, rows, cols)
                                       : Spectrum{.noise = std::numeric_limits<double>::quiet_NaN()};
      double const* const right = vt.data() + b * few * cols;
      neighbourhoods.for_each_voxel(begin + b, [&](std::int64_t v) {
        out.of_voxels[v] = spectrum;
        if (!solved) {
          ++out.unsolved;
          return;
        }
        std::fill(projections.begin(), projections.end(), 0.0);
        for (std::int64_t m = 0; m < cols; ++m)
          for (int c = 0; c < spectrum.components; ++c) projections[c] += volume.signal[m * voxels + v] * right[m * few + c];
        for (std::int64_t m = 0; m < cols; ++m) {
          double signal = 0;
          for (int c = 0; c < spectrum.components; ++c) signal += projections[c] * right[m * few + c];
          out.signal[m * voxels + v] = signal;
        }
      });
    }
    if (options.progress) options.progress(begin + count, total);
  }
  return out;
}

}  // namespace diffusion
