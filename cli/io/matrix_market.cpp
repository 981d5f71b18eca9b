#include "io/matrix_market.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <system_error>
#include <vector>

#include "io/error.hpp"
#include "io/text.hpp"
#include "myriad/types.hpp"

namespace myriad::io {
namespace {

using Field = MarketHeader::Field;
using Symmetry = MarketHeader::Symmetry;

bool blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

/// Iterates over the lines of a file and the words of a line, and counts lines for messages.
class Lines {
 public:
  Lines(std::string_view bytes, std::string const& path, std::size_t offset = 0, std::int64_t next_line = 1)
      : bytes_(bytes), path_(path), next_(offset), number_(next_line - 1) {}

  [[noreturn]] void fail(std::string_view problem) const {
    throw Error(fmt::format("{}, line {}: {}", path_, std::max<std::int64_t>(number_, 1), problem));
  }

  /// Goes to the next line that is neither empty nor a comment; returns false at the end of the file.
  bool next(bool skip_comments = true) {
    while (next_ < bytes_.size()) {
      std::size_t const end = std::min(bytes_.find('\n', next_), bytes_.size());
      line_ = bytes_.substr(next_, end - next_);
      next_ = end + 1;
      ++number_;
      skip_blanks();
      if (!line_.empty() && !(skip_comments && line_[0] == '%')) return true;
    }
    line_ = {};
    return false;
  }

  /// The next word of the line, empty at its end.
  std::string_view word() {
    skip_blanks();
    std::size_t length = 0;
    while (length < line_.size() && !blank(line_[length])) ++length;
    std::string_view const result = line_.substr(0, length);
    line_.remove_prefix(length);
    return result;
  }

  void expect_end() {
    if (std::string_view const rest = word(); !rest.empty()) fail(fmt::format("{} is more than the line should hold", excerpt(rest)));
  }

  std::int64_t integer(char const* what) {
    std::string_view const text = word();
    std::int64_t value = 0;
    auto const [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || problem != std::errc() || end != text.data() + text.size())
      fail(text.empty() ? fmt::format("{} is missing", what) : fmt::format("{} is {}, not a whole number", what, excerpt(text)));
    return value;
  }

  double real() {
    std::string_view text = word();
    if (text.empty()) fail("a value is missing");
    if (text.size() > 1 && text[0] == '+' && text[1] != '-' && text[1] != '+') text.remove_prefix(1);
    double value = 0;
    auto const [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (end == text.data() + text.size()) {
      if (problem == std::errc()) return value;
      // Numbers out of the range of double become infinity, zero or a denormal number, as usual.
      if (problem == std::errc::result_out_of_range) return std::strtod(std::string(text).c_str(), nullptr);
    }
    // Fortran writes the exponent of a double with a D.
    if (std::size_t const d = text.find_first_of("dD"); d != std::string_view::npos && d > 0) {
      std::string const copy = std::string(text.substr(0, d)) + 'e' + std::string(text.substr(d + 1));
      char* stop = nullptr;
      value = std::strtod(copy.c_str(), &stop);
      if (stop == copy.c_str() + copy.size() && copy.find_first_of("xX") == std::string::npos) return value;
    }
    fail(fmt::format("{} is not a number", excerpt(text)));
  }

  [[nodiscard]] std::int64_t number() const { return number_; }
  [[nodiscard]] std::size_t offset() const { return std::min(next_, bytes_.size()); }

 private:
  void skip_blanks() {
    std::size_t i = 0;
    while (i < line_.size() && blank(line_[i])) ++i;
    line_.remove_prefix(i);
  }

  std::string_view bytes_;
  std::string const& path_;
  std::string_view line_;
  std::size_t next_;
  std::int64_t number_;
};

template <typename E, std::size_t N>
E choose(Lines const& lines, std::string_view what, std::string const& word, std::array<std::pair<std::string_view, E>, N> const& choices) {
  for (auto const& [name, value] : choices)
    if (name == word) return value;
  std::string names;
  for (auto const& [name, value] : choices) names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
  lines.fail(fmt::format("{} {} is not known; there are {}", what, excerpt(word), names));
}

template <typename T>
T mirror(T value, Symmetry symmetry) {
  if (symmetry == Symmetry::skew) return -value;
  if constexpr (is_complex<T>)
    if (symmetry == Symmetry::hermitian) return std::conj(value);
  return value;
}

template <typename T>
T value_of(Lines& lines, Field field) {
  if (field == Field::pattern) return T(1);
  double const real = lines.real();
  if constexpr (is_complex<T>) {
    if (field == Field::complex) return T(real, lines.real());
  }
  return T(real);
}

[[noreturn]] void fail_short(Lines const& lines, std::int64_t there, std::int64_t entries) {
  lines.fail(fmt::format("the file ends after {} of {} entries", there, entries));
}

/// Checks that entry (i, i), counted from 0, agrees with the symmetry.
template <typename T>
void check_diagonal(Lines const& lines, Symmetry symmetry, std::int64_t i, T value) {
  if (symmetry == Symmetry::skew && value != T(0))
    lines.fail(fmt::format("entry ({0}, {0}) is on the diagonal of a skew-symmetric matrix and must be zero", i + 1));
  if constexpr (is_complex<T>)
    if (symmetry == Symmetry::hermitian && value.imag() != 0)
      lines.fail(fmt::format("entry ({0}, {0}) is on the diagonal of a hermitian matrix and must be real", i + 1));
}

}  // namespace

bool looks_like_market(std::string_view bytes) { return lower(bytes.substr(0, 14)) == "%%matrixmarket"; }

MarketHeader parse_market_header(std::string_view bytes, std::string const& path) {
  Lines lines(bytes, path);
  if (!looks_like_market(bytes) || !lines.next(false))
    throw Error(fmt::format("{}: is not a Matrix Market file (it does not start with %%MatrixMarket)", path));
  lines.word();
  MarketHeader header;
  if (std::string const object = lower(lines.word()); object != "matrix")
    lines.fail(fmt::format("the object is {}; only 'matrix' can be read", excerpt(object)));
  header.coordinate = choose<bool, 2>(lines, "format", lower(lines.word()), {{{"array", false}, {"coordinate", true}}});
  header.field = choose<Field, 5>(lines, "field", lower(lines.word()),
                                  {{{"real", Field::real},
                                    {"double", Field::real},
                                    {"complex", Field::complex},
                                    {"integer", Field::integer},
                                    {"pattern", Field::pattern}}});
  header.symmetry = choose<Symmetry, 4>(lines, "symmetry", lower(lines.word()),
                                        {{{"general", Symmetry::general},
                                          {"symmetric", Symmetry::symmetric},
                                          {"skew-symmetric", Symmetry::skew},
                                          {"hermitian", Symmetry::hermitian}}});
  lines.expect_end();
  if (header.field == Field::pattern && !header.coordinate) lines.fail("an array cannot be a pattern");
  if (header.symmetry == Symmetry::hermitian && header.field != Field::complex) lines.fail("only a complex matrix can be hermitian");
  if (header.field == Field::pattern && header.symmetry == Symmetry::skew) lines.fail("a pattern cannot be skew-symmetric");

  if (!lines.next()) lines.fail("the file ends before the line with the sizes");
  header.rows = lines.integer("the number of rows");
  header.cols = lines.integer("the number of columns");
  if (header.coordinate) header.entries = lines.integer("the number of entries");
  lines.expect_end();
  if (header.rows < 0 || header.cols < 0 || header.entries < 0) lines.fail("a size is negative");
  std::int64_t const elements = element_count({header.rows, header.cols}, path);
  if (header.symmetry != Symmetry::general && header.rows != header.cols)
    lines.fail(fmt::format("a matrix of {} x {} cannot be symmetric, skew-symmetric or hermitian", header.rows, header.cols));
  header.data_offset = lines.offset();
  header.data_line = lines.number() + 1;
  auto const lines_left = [&] {
    Lines rest(bytes, path, header.data_offset, header.data_line);
    std::int64_t count = 0;
    while (rest.next()) ++count;
    return count;
  };
  if (!header.coordinate) {
    std::int64_t const n = header.rows, triangle = (elements + n) / 2;
    header.entries = header.symmetry == Symmetry::general ? elements : triangle;
    // A skew-symmetric array does not store the zeros on its diagonal, but some programs write them.
    if (header.symmetry == Symmetry::skew && lines_left() != triangle) {
      header.diagonal = false;
      header.entries = triangle - n;
    }
  }
  // Each number takes at least a character and a separator. This is checked before memory for the entries is allocated.
  std::uint64_t const numbers = (header.coordinate ? 2U : 0U) + (header.field == Field::pattern   ? 0U
                                                                 : header.field == Field::complex ? 2U
                                                                                                  : 1U);
  std::uint64_t const most = (bytes.size() - header.data_offset + 1) / (2 * numbers);
  if (static_cast<std::uint64_t>(header.entries) > most) {
    std::int64_t count = 0;
    while (lines.next()) ++count;
    if (count < header.entries) fail_short(lines, count, header.entries);  // else a line is too short; reading it reports that
  }
  return header;
}

template <typename T>
void parse_market(std::string_view bytes, MarketHeader const& header, std::string const& path, T* out) {
  std::int64_t const rows = header.rows, cols = header.cols;
  if (header.coordinate || header.symmetry != Symmetry::general) std::fill_n(out, rows * cols, T(0));
  if (header.field == Field::complex && !is_complex<T>) throw Error(fmt::format("{}: a complex matrix cannot be read as a real one", path));
  bool const general = header.symmetry == Symmetry::general;

  Lines lines(bytes, path, header.data_offset, header.data_line);
  std::int64_t i = header.diagonal ? 0 : 1, j = 0;  // position of the next element of an array
  for (std::int64_t k = 0; k < header.entries; ++k) {
    if (!lines.next()) fail_short(lines, k, header.entries);
    if (header.coordinate) {
      i = lines.integer("the row") - 1;
      j = lines.integer("the column") - 1;
      if (i < 0 || i >= rows || j < 0 || j >= cols)
        lines.fail(fmt::format("entry ({}, {}) lies outside of the {} x {} matrix", i + 1, j + 1, rows, cols));
      if (!general && i < j)
        lines.fail(fmt::format("entry ({}, {}) lies above the diagonal; a file with symmetry holds the lower triangle", i + 1, j + 1));
      T const value = value_of<T>(lines, header.field);
      if (i == j) check_diagonal(lines, header.symmetry, i, value);
      out[i * cols + j] += value;
      if (!general && i != j) out[j * cols + i] += mirror(value, header.symmetry);
    } else {
      T const value = value_of<T>(lines, header.field);
      if (i == j) check_diagonal(lines, header.symmetry, i, value);
      out[i * cols + j] = value;
      if (!general && i != j) out[j * cols + i] = mirror(value, header.symmetry);
      if (++i == rows) {
        ++j;
        i = general ? 0 : header.diagonal ? j : j + 1;
      }
    }
    lines.expect_end();
  }
  if (lines.next()) lines.fail(fmt::format("the file goes on after its {} entries", header.entries));
}
template void parse_market(std::string_view, MarketHeader const&, std::string const&, double*);
template void parse_market(std::string_view, MarketHeader const&, std::string const&, std::complex<double>*);

template <typename T>
void save_market(std::string const& path, T const* data, std::int64_t rows, std::int64_t cols) {
  fmt::memory_buffer text;
  fmt::format_to(std::back_inserter(text), "%%MatrixMarket matrix array {} general\n{} {}\n", is_complex<T> ? "complex" : "real", rows,
                 cols);
  for (std::int64_t j = 0; j < cols; ++j)
    for (std::int64_t i = 0; i < rows; ++i) {
      T const value = data[i * cols + j];
      if constexpr (is_complex<T>)
        fmt::format_to(std::back_inserter(text), "{} {}\n", unsigned_nan(value.real()), unsigned_nan(value.imag()));
      else
        fmt::format_to(std::back_inserter(text), "{}\n", unsigned_nan(value));
    }
  OutputFile file(path);
  file.write_at(0, text.data(), text.size());
  file.commit();
}
template void save_market(std::string const&, float const*, std::int64_t, std::int64_t);
template void save_market(std::string const&, double const*, std::int64_t, std::int64_t);
template void save_market(std::string const&, std::complex<float> const*, std::int64_t, std::int64_t);
template void save_market(std::string const&, std::complex<double> const*, std::int64_t, std::int64_t);

}  // namespace myriad::io
