#include "io/npy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <limits>
#include <utility>

#include "io/error.hpp"
#include "io/text.hpp"

namespace myriad::io {
namespace {

constexpr std::string_view magic = "\x93NUMPY";

/// Reads the Python dictionary literal of a header: {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }
class HeaderParser {
 public:
  HeaderParser(std::string_view text, std::string const& path) : text_(text), path_(path) {}

  NpyHeader parse() {
    NpyHeader header;
    bool descr = false, order = false, shape = false;
    auto const once = [this](bool& given, std::string const& key) {
      if (std::exchange(given, true)) fail(fmt::format("{} is there twice", excerpt(key)));
    };
    expect('{');
    while (!accept('}')) {
      std::string const key = string();
      expect(':');
      if (key == "descr") {
        once(descr, key);
        skip_blanks();
        if (at_ < text_.size() && text_[at_] == '[') throw Error(fmt::format("{}: holds records (a structured dtype), not numbers", path_));
        header.descr = string();
      } else if (key == "fortran_order") {
        once(order, key);
        header.fortran_order = boolean();
      } else if (key == "shape") {
        once(shape, key);
        header.shape = tuple();
      } else {
        fail(fmt::format("{} is no key of it", excerpt(key)));
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    for (auto const& [given, key] : {std::pair{descr, "descr"}, {order, "fortran_order"}, {shape, "shape"}})
      if (!given) fail(fmt::format("'{}' is missing", key));
    constexpr std::string_view padding = " \n";
    std::string_view rest = text_.substr(at_);
    rest.remove_prefix(std::min(rest.find_first_not_of(padding), rest.size()));
    rest = rest.substr(0, rest.find_last_not_of(padding) + 1);
    if (!rest.empty()) fail(fmt::format("{} follows its closing brace, where only spaces and a line feed may be", excerpt(rest)));
    return header;
  }

 private:
  [[noreturn]] void fail(std::string_view problem) const { throw Error(fmt::format("{}: the .npy header is damaged: {}", path_, problem)); }

  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  bool accept(char c) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(fmt::format("'{}' is missing before {}", c, excerpt(text_.substr(at_))));
  }
  std::string string() {
    skip_blanks();
    char const quote = at_ < text_.size() ? text_[at_] : '\0';
    std::size_t const end = quote == '\'' || quote == '"' ? text_.find(quote, at_ + 1) : std::string_view::npos;
    if (end == std::string_view::npos) fail(fmt::format("{} does not begin with text in quotes", excerpt(text_.substr(at_))));
    std::string const result(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return result;
  }
  bool boolean() {
    skip_blanks();
    for (auto const& [word, value] : {std::pair{std::string_view("True"), true}, {"False", false}})
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return value;
      }
    fail(fmt::format("'fortran_order' is neither True nor False at {}", excerpt(text_.substr(at_))));
  }
  Shape tuple() {
    Shape shape;
    expect('(');
    while (!accept(')')) {
      skip_blanks();
      std::int64_t value = 0;
      std::string_view const rest = text_.substr(at_);
      auto const [end, problem] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
      auto const digits = static_cast<std::size_t>(end - rest.data());
      // Python forbids leading zeros.
      if (problem != std::errc() || rest[0] == '-' || (rest[0] == '0' && digits > 1))
        fail(fmt::format("'shape' has no size at {}", excerpt(rest)));
      at_ += digits;
      if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // suffix of long integers in Python 2
      shape.push_back(value);
      constexpr std::size_t most = 64;  // NumPy's limit, and short enough for messages
      if (shape.size() > most) fail(fmt::format("'shape' has more than {} dimensions", most));
      if (!accept(',')) {
        expect(')');
        if (shape.size() == 1) fail("'shape' is a number in brackets and not a tuple, which would be (n,)");
        break;
      }
    }
    return shape;
  }

  std::string_view text_;
  std::string const& path_;
  std::size_t at_ = 0;
};

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

}  // namespace

std::string to_string(Shape const& shape) {
  if (shape.size() == 1) return fmt::format("({},)", shape[0]);
  return fmt::format("({})", fmt::join(shape, ", "));
}

std::int64_t element_count(Shape const& shape, std::string_view path) {
  std::int64_t count = 1;
  for (std::int64_t const extent : shape) {
    if (extent == 0) continue;
    if (count > std::numeric_limits<std::int64_t>::max() / 16 / extent)
      throw Error(fmt::format("{}{}an array of shape {} is too large", path, path.empty() ? "" : ": ", to_string(shape)));
    count *= extent;
  }
  return std::find(shape.begin(), shape.end(), 0) == shape.end() ? count : 0;
}

bool looks_like_npy(std::string_view bytes) { return bytes.starts_with(magic); }

NpyHeader parse_npy_header(std::string_view bytes, std::string const& path) {
  if (!looks_like_npy(bytes)) throw Error(fmt::format("{}: is not an .npy file (it does not start with \\x93NUMPY)", path));
  if (bytes.size() < 10) throw Error(fmt::format("{}: the file ends inside its .npy header", path));
  int const version = static_cast<unsigned char>(bytes[6]);
  int const minor = static_cast<unsigned char>(bytes[7]);
  if (version < 1 || version > 3 || minor != 0)
    throw Error(fmt::format("{}: .npy format version {}.{} is not known", path, version, minor));
  std::size_t const length_size = version == 1 ? 2 : 4;
  std::size_t const start = 8 + length_size;
  if (bytes.size() < start) throw Error(fmt::format("{}: the file ends inside its .npy header", path));
  std::uint64_t const length = little_endian(bytes.substr(8, length_size));
  if (bytes.size() - start < length) throw Error(fmt::format("{}: the file ends inside its .npy header", path));
  NpyHeader header = HeaderParser(bytes.substr(start, length), path).parse();
  header.data_offset = start + length;
  return header;
}

Stored stored_type(NpyHeader const& header, std::string const& path) {
  std::string const& descr = header.descr;
  if (descr.size() >= 2) {
    char const order = descr[0];
    std::string_view const type = std::string_view(descr).substr(1);
    static constexpr std::pair<std::string_view, Stored> types[] = {
        {"b1", Stored::b1}, {"i1", Stored::i1}, {"i2", Stored::i2}, {"i4", Stored::i4},  {"i8", Stored::i8},
        {"u1", Stored::u1}, {"u2", Stored::u2}, {"u4", Stored::u4}, {"u8", Stored::u8},  {"f2", Stored::f2},
        {"f4", Stored::f4}, {"f8", Stored::f8}, {"c8", Stored::c8}, {"c16", Stored::c16}};
    if (type[0] == 'O') throw Error(fmt::format("{}: holds Python objects (dtype object), not numbers", path));
    for (auto const& [name, stored] : types)
      if (type == name && std::string_view("<>=|").find(order) != std::string_view::npos) return stored;
  }
  throw Error(fmt::format("{}: holds elements of type {}; Myriad computes with f4, f8, c8 and c16", path, excerpt(descr)));
}

bool byte_swapped(NpyHeader const& header) { return header.descr.starts_with(std::endian::native == std::endian::little ? '>' : '<'); }

std::string npy_preamble(std::string_view descr, Shape const& shape) {
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", descr, to_string(shape));
  // 10 bytes of magic, version and length come before, a newline after. A header this small always fits version 1.0.
  text.append(63 - (10 + text.size()) % 64, ' ');
  text += '\n';
  std::string preamble(magic);
  preamble += {'\1', '\0', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return preamble + text;
}

NpyWriter::NpyWriter(std::string path, std::string_view descr, Shape const& shape, std::size_t item_size) : file_(std::move(path)) {
  std::string const preamble = npy_preamble(descr, shape);
  end_ = preamble.size() + static_cast<std::uint64_t>(element_count(shape, file_.path())) * item_size;
  file_.reserve(end_);
  append(preamble.data(), preamble.size());
}

void NpyWriter::append(void const* data, std::size_t size) {
  if (written_ + size > end_) throw Error(fmt::format("{}: more elements than its shape holds", file_.path()));
  file_.write_at(written_, data, size);
  written_ += size;
}

void NpyWriter::commit() {
  if (written_ != end_) throw Error(fmt::format("{}: fewer elements than its shape holds", file_.path()));
  file_.commit();
}

}  // namespace myriad::io
