#pragma once
/// Makes text from files, names and the command line safe for messages.

#include <cmath>
#include <string>
#include <string_view>

namespace myriad::io {

/// The text with control characters and invalid UTF-8 as \xNN.
[[nodiscard]] std::string printable(std::string_view text);

/// A word of a file for a message: 'word', printable, and cut to some 40 characters with "...".
[[nodiscard]] std::string excerpt(std::string_view word);

/// NaN without a sign, which fmt would show; any other number as it is.
template <typename R>
[[nodiscard]] R unsigned_nan(R x) {
  return std::isnan(x) ? std::abs(x) : x;
}

}  // namespace myriad::io
