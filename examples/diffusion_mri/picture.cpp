#include "picture.hpp"

#include <png.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace diffusion {
namespace {

png_byte shade(double x) { return static_cast<png_byte>(std::lround(255 * std::clamp(x, 0.0, 1.0))); }

}  // namespace

void draw_anisotropy(std::filesystem::path const& path, std::array<std::int64_t, 3> const& shape, TensorShapes const& shapes, int pixels) {
  auto const [x, y, z] = shape;
  // The number of columns of slices makes the picture about square.
  auto const across =
      std::max<std::int64_t>(std::lround(std::ceil(std::sqrt(2.0 * static_cast<double>(z * y) / static_cast<double>(x)))), 1);
  std::int64_t const columns = std::min(across, z), lines = (z + columns - 1) / columns;
  // White lines as thick as a voxel separate slices.
  std::int64_t const width = (columns * (x + 1) - 1) * pixels, half = lines * (y + 1) * pixels, height = 2 * half - pixels;
  std::vector<png_byte> rgb(static_cast<std::size_t>(3 * width * height), 255);
  for (std::int64_t v = 0; v < x * y * z; ++v) {
    double const anisotropy = shapes.is_known(v) ? shapes.fractional_anisotropy(v) : 0;
    auto const direction = shapes.direction(v);
    std::int64_t const slice = v / (x * y);
    std::int64_t const left = (slice % columns * (x + 1) + v % x) * pixels;
    std::int64_t const top = (slice / columns * (y + 1) + y - 1 - v / x % y) * pixels;
    for (std::int64_t i = 0; i < pixels; ++i)
      for (std::int64_t j = 0; j < pixels; ++j)
        for (int colour = 0; colour < 3; ++colour) {
          auto const at = [&](std::int64_t line) { return 3 * (line * width + left + j) + colour; };
          rgb[at(top + i)] = shade(anisotropy);
          rgb[at(half + top + i)] = anisotropy > 0 ? shade(anisotropy * std::fabs(direction[colour])) : png_byte{0};
        }
  }
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.format = PNG_FORMAT_RGB;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  if (png_image_write_to_file(&image, path.c_str(), 0, rgb.data(), 0, nullptr) == 0)
    throw std::runtime_error(path.string() + ": cannot be written: " + image.message);
}

}  // namespace diffusion
