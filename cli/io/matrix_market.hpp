#pragma once
/// The Matrix Market exchange format: https://math.nist.gov/MatrixMarket/formats.html

#include <complex>
#include <cstdint>
#include <string>
#include <string_view>

#include "io/npy.hpp"

namespace myriad::io {

struct MarketHeader {
  enum class Field { real, complex, integer, pattern };
  enum class Symmetry { general, symmetric, skew, hermitian };

  bool coordinate = false;  ///< entries with their indices; otherwise every element, column by column
  Field field = Field::real;
  Symmetry symmetry = Symmetry::general;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t entries = 0;     ///< lines of data
  bool diagonal = true;         ///< the array of a triangle includes the diagonal
  std::size_t data_offset = 0;  ///< offset of the data in the file
  std::int64_t data_line = 0;   ///< number of their first line, from 1
};

/// Whether these are the first bytes of a Matrix Market file.
[[nodiscard]] bool looks_like_market(std::string_view bytes);

/// Reads banner, comments and sizes, and checks that the file is long enough for its entries. Throws Error, naming `path` and the line.
[[nodiscard]] MarketHeader parse_market_header(std::string_view bytes, std::string const& path);

/// Reads the elements as a dense row-major matrix, with both triangles of symmetric matrices. Duplicate entries are added, as usual. The
/// diagonal of a hermitian matrix must be real, that of a skew-symmetric one zero where it is stored.
///
/// T: double or std::complex<double> (which takes real files too). Throws Error, naming `path` and the line.
template <typename T>
void parse_market(std::string_view bytes, MarketHeader const& header, std::string const& path, T* out);

/// Saves a row-major matrix in array form, with enough digits to read the same numbers back.
template <typename T>
void save_market(std::string const& path, T const* data, std::int64_t rows, std::int64_t cols);

}  // namespace myriad::io
