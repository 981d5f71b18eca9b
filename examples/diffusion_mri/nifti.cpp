#include "nifti.hpp"

#include <algorithm>
#include <array>
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
template <typename T>
void set_field(std::vector<char>& bytes, std::size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

static_assert(std::endian::native == std::endian::little);
constexpr std::size_t header_size = 348, magic = 344;
// Places in the header
constexpr std::size_t dimensions = 40, data_type = 70, bits = 72, voxel_sizes = 76, data_offset = 108, scale_slope = 112,
                      scale_intercept = 116, display_range = 124;
constexpr std::int16_t type_int16 = 4, type_float32 = 16;

template <typename T>
void read_signal(std::vector<char> const& bytes, std::int64_t offset, std::vector<double>& signal) {
  double const slope = field<float>(bytes, scale_slope), intercept = field<float>(bytes, scale_intercept);  // slope 0: no scaling
  for (std::size_t e = 0; e < signal.size(); ++e) {
    double const stored = field<T>(bytes, static_cast<std::size_t>(offset) + e * sizeof(T));
    signal[e] = slope != 0 ? slope * stored + intercept : stored;
  }
}

/// A header for a volume without a file: voxels of 1 mm.
std::vector<char> new_header() {
  std::vector<char> header(header_size + 4);
  set_field(header, 0, static_cast<std::int32_t>(header_size));
  for (std::size_t d = 0; d < 8; ++d) set_field(header, voxel_sizes + 4 * d, 1.0F);
  std::memcpy(header.data() + magic, "n+1", 4);
  return header;
}

}  // namespace

Volume read_volume(fs::path const& image, fs::path const& b_values, fs::path const& directions) {
  std::vector<char> const bytes = read_bytes(image);
  if (bytes.size() < header_size + 4 || field<std::int32_t>(bytes, 0) != static_cast<std::int32_t>(header_size) ||
      std::memcmp(bytes.data() + magic, "n+1", 4) != 0)
    throw problem(image, "is not an uncompressed little-endian NIfTI-1 file");
  auto const type = field<std::int16_t>(bytes, data_type);
  if (type != type_int16 && type != type_float32) throw problem(image, "holds another data type than 16-bit integers and 32-bit floats");
  if (field<std::int16_t>(bytes, dimensions) != 4) throw problem(image, "does not have four dimensions");
  std::array<std::int64_t, 4> extents{};
  for (std::size_t d = 0; d < 4; ++d) extents[d] = field<std::int16_t>(bytes, dimensions + 2 * (d + 1));
  if (std::ranges::any_of(extents, [](std::int64_t extent) { return extent <= 0; }))
    throw problem(image, "has a dimension that is empty or negative");
  Volume volume;
  std::copy_n(extents.begin(), 3, volume.shape.begin());
  std::int64_t const measurements = extents[3];

  auto const offset = static_cast<std::int64_t>(field<float>(bytes, data_offset));
  std::int64_t const elements = volume.voxels() * measurements, size = type == type_int16 ? 2 : 4;
  if (offset < static_cast<std::int64_t>(header_size) || offset + size * elements > static_cast<std::int64_t>(bytes.size()))
    throw problem(image, "ends before its data do");
  volume.signal.resize(elements);
  type == type_int16 ? read_signal<std::int16_t>(bytes, offset, volume.signal) : read_signal<float>(bytes, offset, volume.signal);
  volume.header.assign(bytes.begin(), bytes.begin() + offset);

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

void write_signal(fs::path const& path, Volume const& volume, std::vector<double> const& signal) {
  std::vector<char> bytes = volume.header.empty() ? new_header() : volume.header;
  bytes.resize(std::max(bytes.size(), header_size + 4));  // the standard's least offset of the data
  std::array<std::int64_t, 5> const extents{4, volume.shape[0], volume.shape[1], volume.shape[2], volume.measurements()};
  for (std::size_t d = 0; d < 8; ++d) set_field(bytes, dimensions + 2 * d, static_cast<std::int16_t>(d < extents.size() ? extents[d] : 1));
  set_field(bytes, data_type, type_float32);
  set_field(bytes, bits, std::int16_t{32});
  set_field(bytes, data_offset, static_cast<float>(bytes.size()));
  set_field(bytes, scale_slope, 1.0F);
  set_field(bytes, scale_intercept, 0.0F);
  set_field(bytes, display_range, 0.0F);  // unknown
  set_field(bytes, display_range + 4, 0.0F);
  std::vector<float> const stored(signal.begin(), signal.end());
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.write(reinterpret_cast<char const*>(stored.data()), static_cast<std::streamsize>(stored.size() * sizeof(float)));
  file.close();
  if (!file) throw problem(path, "cannot be written");
}

}  // namespace diffusion
