#pragma once
/// A diffusion-weighted volume: a NIfTI-1 file with its b-values and gradient directions.

#include <array>
#include <cstdint>
#include <filesystem>
#include <vector>

namespace diffusion {

struct Volume {
  std::array<std::int64_t, 3> shape{};              ///< voxels along x, y, z
  std::vector<double> b_values{};                   ///< one per measurement, in s/mm^2
  std::vector<std::array<double, 3>> directions{};  ///< one per measurement; zero where b = 0
  std::vector<double> signal{};                     ///< one volume per measurement, x fastest
  std::vector<char> header{};                       ///< of the file, with its extensions; empty if there is no file

  [[nodiscard]] std::int64_t voxels() const { return shape[0] * shape[1] * shape[2]; }
  [[nodiscard]] std::int64_t measurements() const { return static_cast<std::int64_t>(b_values.size()); }
};

/// Reads an uncompressed, little-endian NIfTI-1 file of 16-bit integers or 32-bit floats, and the text files with b-values (one per
/// measurement) and directions (three per measurement, by measurement or, as FSL writes them, all x, all y, all z). Throws
/// std::runtime_error that names the file and the fault.
[[nodiscard]] Volume read_volume(std::filesystem::path const& image, std::filesystem::path const& b_values,
                                 std::filesystem::path const& directions);

/// Writes other signals for the voxels and measurements of a volume, as a NIfTI-1 file of 32-bit floats with the header of the volume's
/// file, so that it has the same place in space. Throws std::runtime_error that names the file if it cannot be written.
void write_signal(std::filesystem::path const& path, Volume const& volume, std::vector<double> const& signal);

}  // namespace diffusion
