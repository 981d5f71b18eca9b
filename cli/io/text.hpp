#pragma once
/// Text that comes from files, names and the command line, made fit for messages.

#include <cmath>
#include <string>
#include <string_view>

namespace myriad::io {

/// The text with every byte that a terminal might obey, or cannot show, as \xNN: control characters and what is not valid UTF-8.
[[nodiscard]] std::string printable(std::string_view text);

/// A word of a file for a message: 'word', printable, and cut to some 40 characters with "...".
[[nodiscard]] std::string excerpt(std::string_view word);

/// NaN without a sign, which fmt would show; any other number as it is.
template <typename R>
[[nodiscard]] R unsigned_nan(R x) {
  return std::isnan(x) ? std::abs(x) : x;
}

}  // namespace myriad::io
