#include "io/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace myriad::io {
namespace {

/// Length of the first character of `text` in UTF-8; 0 if it is invalid or a control character.
std::size_t harmless_length(std::string_view text) {
  auto const byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return byte(0) >= 0x20 && byte(0) != 0x7f ? 1 : 0;
  std::size_t const length = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (byte(0) < 0xc2 || byte(0) > 0xf4 || text.size() < length) return 0;
  std::uint32_t code = byte(0) & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3f);
  }
  constexpr std::uint32_t smallest[] = {0, 0, 0xa0, 0x800, 0x10000};  // U+0080 to U+009F are control characters
  bool const surrogate = code >= 0xd800 && code < 0xe000;
  return code >= smallest[length] && code <= 0x10ffff && !surrogate ? length : 0;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    std::size_t const length = harmless_length(text);
    if (length > 0)
      result += text.substr(0, length);
    else
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return result;
}

std::string excerpt(std::string_view word) {
  constexpr std::size_t most = 40;
  if (word.size() <= most) return fmt::format("'{}'", printable(word));
  // Do not cut within a character.
  std::size_t end = most - 3;
  while (end > most - 7 && (static_cast<unsigned char>(word[end]) & 0xc0) == 0x80) --end;
  return fmt::format("'{}...'", printable(word.substr(0, end)));
}

}  // namespace myriad::io
