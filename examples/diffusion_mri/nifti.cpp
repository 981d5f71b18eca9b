#include "nifti.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>

namespace diffusion {
namespace {

namespace fs = std::filesystem;

std::runtime_error problem(fs::path const& path, std::string const& text) { return std::runtime_error(path.string() + ": " + text); }

std::vector<char> read_bytes(fs::path const& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw problem(path, "cannot be opened");
  std::vector<char> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file.bad()) throw problem(path, "cannot be read");
  return bytes;
}

/// The numbers of a text file, line by line. Unlike operator>>, accepts "nan".
std::vector<std::vector<double>> read_numbers(fs::path const& path) {
  std::ifstream file(path);
  if (!file) throw problem(path, "cannot be opened");
  std::vector<std::vector<double>> lines;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::vector<double> numbers;
    for (std::string word; words >> word;) {
      std::size_t used = 0;
      double value = 0;
      try {
        value = std::stod(word, &used);
      } catch (std::exception const&) {
        used = 0;
      }
      if (used != word.size()) throw problem(path, "line " + std::to_string(lines.size() + 1) + ": '" + word + "' is not a number");
      numbers.push_back(value);
    }
    if (!numbers.empty()) lines.push_back(numbers);
  }
  return lines;
}

template <typename T>
T field(std::vector<char> const& bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

}  // namespace

Volume read_volume(fs::path const& image, fs::path const& b_values, fs::path const& directions) {
  static_assert(std::endian::native == std::endian::little);
  constexpr std::size_t header_size = 348;
  constexpr std::int16_t type_int16 = 4;

  std::vector<char> const bytes = read_bytes(image);
  if (bytes.size() < header_size + 4 || field<std::int32_t>(bytes, 0) != static_cast<std::int32_t>(header_size) ||
      std::memcmp(bytes.data() + 344, "n+1", 4) != 0)
    throw problem(image, "is not an uncompressed little-endian NIfTI-1 file");
  if (field<std::int16_t>(bytes, 70) != type_int16) throw problem(image, "holds another data type than 16-bit integers");
  if (field<std::int16_t>(bytes, 40) != 4) throw problem(image, "does not have four dimensions");
  Volume volume;
  for (std::size_t d = 0; d < 3; ++d) volume.shape[d] = field<std::int16_t>(bytes, 42 + 2 * d);
  std::int64_t const measurements = field<std::int16_t>(bytes, 48);
  if (volume.voxels() <= 0 || measurements <= 0) throw problem(image, "has an empty dimension");

  auto const offset = static_cast<std::int64_t>(field<float>(bytes, 108));
  std::int64_t const elements = volume.voxels() * measurements;
  if (offset < static_cast<std::int64_t>(header_size) || offset + 2 * elements > static_cast<std::int64_t>(bytes.size()))
    throw problem(image, "ends before its data do");
  double const slope = field<float>(bytes, 112), intercept = field<float>(bytes, 116);  // slope 0: no scaling
  volume.signal.resize(elements);
  for (std::int64_t e = 0; e < elements; ++e) {
    double const stored = field<std::int16_t>(bytes, offset + 2 * e);
    volume.signal[e] = slope != 0 ? slope * stored + intercept : stored;
  }

  for (auto const& line : read_numbers(b_values)) volume.b_values.insert(volume.b_values.end(), line.begin(), line.end());
  if (volume.measurements() != measurements)
    throw problem(b_values,
                  "has " + std::to_string(volume.measurements()) + " b-values for " + std::to_string(measurements) + " measurements");

  auto const lines = read_numbers(directions);
  volume.directions.resize(measurements);
  auto const all_of_length = [&](std::int64_t length) {
    for (auto const& line : lines)
      if (static_cast<std::int64_t>(line.size()) != length) return false;
    return true;
  };
  bool const by_measurement = static_cast<std::int64_t>(lines.size()) == measurements && all_of_length(3);
  if (!by_measurement && !(lines.size() == 3 && all_of_length(measurements)))
    throw problem(directions, "does not hold three numbers for each of " + std::to_string(measurements) + " measurements");
  for (std::int64_t m = 0; m < measurements; ++m)
    for (std::size_t d = 0; d < 3; ++d) {
      double const component = by_measurement ? lines[m][d] : lines[d][m];
      if (volume.b_values[m] > 0 && !std::isfinite(component))
        throw problem(directions, "has no direction for measurement " + std::to_string(m + 1) + ", whose b-value is not zero");
      volume.directions[m][d] = std::isfinite(component) ? component : 0;  // measurements without direction often have nan
    }
  return volume;
}

}  // namespace diffusion
