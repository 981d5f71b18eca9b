#include "picture.hpp"

#include <png.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <vector>

namespace diffusion {
namespace {

png_byte shade(double x) { return static_cast<png_byte>(std::lround(255 * std::clamp(x, 0.0, 1.0))); }

using Colour = std::array<png_byte, 3>;

/// White at first; painted in squares of `pixels` x `pixels`, whose column and line count from the upper left corner.
class Canvas {
 public:
  Canvas(std::int64_t columns, std::int64_t lines, int pixels)
      : width_(columns * pixels), height_(lines * pixels), pixels_(pixels), rgb_(static_cast<std::size_t>(3 * width_ * height_), 255) {}

  void paint(std::int64_t column, std::int64_t line, Colour const& colour) {
    for (std::int64_t i = line * pixels_; i < (line + 1) * pixels_; ++i)
      for (std::int64_t j = column * pixels_; j < (column + 1) * pixels_; ++j)
        std::copy(colour.begin(), colour.end(), rgb_.begin() + 3 * (i * width_ + j));
  }

  void write(std::filesystem::path const& path) const {
    png_image image{};
    image.version = PNG_IMAGE_VERSION;
    image.format = PNG_FORMAT_RGB;
    image.width = static_cast<png_uint_32>(width_);
    image.height = static_cast<png_uint_32>(height_);
    if (png_image_write_to_file(&image, path.c_str(), 0, rgb_.data(), 0, nullptr) == 0)
      throw std::runtime_error(path.string() + ": cannot be written: " + image.message);
  }

 private:
  std::int64_t width_, height_;  ///< in pixels
  int pixels_;
  std::vector<png_byte> rgb_;
};

}  // namespace

void draw_anisotropy(std::filesystem::path const& path, std::array<std::int64_t, 3> const& shape, TensorShapes const& shapes, int pixels) {
  auto const [x, y, z] = shape;
  // The number of columns of slices makes the picture about square.
  auto const across =
      std::max<std::int64_t>(std::lround(std::ceil(std::sqrt(2.0 * static_cast<double>(z * y) / static_cast<double>(x)))), 1);
  std::int64_t const columns = std::min(across, z), lines = (z + columns - 1) / columns;
  // White lines as thick as a voxel separate slices.
  std::int64_t const half = lines * (y + 1);
  Canvas canvas(columns * (x + 1) - 1, 2 * half - 1, pixels);
  for (std::int64_t v = 0; v < x * y * z; ++v) {
    double const anisotropy = shapes.is_known(v) ? shapes.fractional_anisotropy(v) : 0;
    auto const direction = shapes.direction(v);
    std::int64_t const slice = v / (x * y);
    std::int64_t const left = slice % columns * (x + 1) + v % x;
    std::int64_t const top = slice / columns * (y + 1) + y - 1 - v / x % y;
    png_byte const gray = shade(anisotropy);
    auto const component = [&](int i) { return anisotropy > 0 ? shade(anisotropy * std::fabs(direction[i])) : png_byte{0}; };
    canvas.paint(left, top, {gray, gray, gray});
    canvas.paint(left, half + top, {component(0), component(1), component(2)});
  }
  canvas.write(path);
}

void draw_denoising(std::filesystem::path const& path, Volume const& before, std::vector<double> const& after, double noise,
                    std::int64_t slice, std::int64_t measurement, int pixels) {
  auto const [x, y, z] = before.shape;
  std::int64_t const first = (measurement * z + slice) * x * y;
  double const brightest = *std::max_element(before.signal.begin() + first, before.signal.begin() + first + x * y);
  Canvas canvas(3 * (x + 1) - 1, y, pixels);
  for (std::int64_t v = 0; v < x * y; ++v) {
    double const removed = before.signal[first + v] - after[first + v];
    auto const paint = [&](std::int64_t panel, double brightness) {
      png_byte const gray = shade(brightness);
      canvas.paint(panel * (x + 1) + v % x, y - 1 - v / x, {gray, gray, gray});
    };
    paint(0, brightest > 0 ? before.signal[first + v] / brightest : 0);
    paint(1, brightest > 0 ? after[first + v] / brightest : 0);
    paint(2, noise > 0 ? 0.5 + removed / (6 * noise) : 0.5);
  }
  canvas.write(path);
}

}  // namespace diffusion
