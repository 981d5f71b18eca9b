#pragma once
/// NumPy's .npy format, versions 1 to 3: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/element.hpp"
#include "io/output_file.hpp"

namespace myriad::io {

using Shape = std::vector<std::int64_t>;

/// "(3, 4)", as Python writes a shape.
[[nodiscard]] std::string to_string(Shape const& shape);

/// Number of elements. Throws Error, naming `path` if given, where NumPy could not load such an array: where the bytes of elements of the
/// largest type do not fit in 63 bits, an extent of 0 counting as 1.
[[nodiscard]] std::int64_t element_count(Shape const& shape, std::string_view path = {});

struct NpyHeader {
  std::string descr;           ///< NumPy's type string, "<f8"
  bool fortran_order = false;  ///< column-major
  Shape shape;
  std::size_t data_offset = 0;  ///< where the elements start in the file
};

/// Whether these are the first bytes of an .npy file.
[[nodiscard]] bool looks_like_npy(std::string_view bytes);

/// Reads the header from the first bytes of an .npy file. Throws Error, naming `path`.
[[nodiscard]] NpyHeader parse_npy_header(std::string_view bytes, std::string const& path);

/// The element type of a header. Throws Error, naming `path`, for unsupported types (objects, strings).
[[nodiscard]] Stored stored_type(NpyHeader const& header, std::string const& path);
/// Whether the byte order is not this machine's.
[[nodiscard]] bool byte_swapped(NpyHeader const& header);

/// Magic, version and header of an array in C order, padded so that the elements are aligned to 64 bytes.
[[nodiscard]] std::string npy_preamble(std::string_view descr, Shape const& shape);

/// Writes one array in C order piece by piece.
class NpyWriter {
 public:
  NpyWriter(std::string path, std::string_view descr, Shape const& shape, std::size_t item_size);

  void append(void const* data, std::size_t size);
  /// Renames the file to its final name. Throws Error if elements are missing.
  void commit();

 private:
  OutputFile file_;
  std::uint64_t end_ = 0;  ///< bytes of the file
  std::uint64_t written_ = 0;
};

/// Saves an array in C order as .npy, through a temporary file. T: an element type of a routine or a fixed-width integer. Throws Error.
template <typename T>
void save_npy(std::string const& path, T const* data, Shape const& shape) {
  NpyWriter writer(path, descr_of<T>(), shape, sizeof(T));
  writer.append(data, static_cast<std::size_t>(element_count(shape)) * sizeof(T));
  writer.commit();
}

}  // namespace myriad::io
