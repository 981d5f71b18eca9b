#pragma once
/// Output of the program. All text goes to the terminal through `say` or `json_text`, except the progress bar and --help.

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <type_traits>

#include "io/text.hpp"

namespace myriad::cli {

/// Whether this process says nothing, since another one speaks for it.
inline bool silent = false;

/// Converts an argument for display: control bytes, line feeds too, as \xNN; NaN without a sign.
template <typename A>
[[nodiscard]] auto shown(A const& argument) {
  if constexpr (std::is_convertible_v<A const&, std::string_view>)
    return io::printable(argument);
  else if constexpr (std::is_floating_point_v<A>)
    return io::unsigned_nan(argument);
  else
    return argument;
}
template <typename A>
using Shown = decltype(shown(std::declval<A const&>()));

/// fmt::print for the terminal: names and other text from outside cannot send it escape sequences.
template <typename... A>
void say(std::FILE* stream, fmt::format_string<Shown<A>...> text, A const&... arguments) {
  if (!silent) fmt::print(stream, text, shown(arguments)...);
}
template <typename... A>
void say(fmt::format_string<Shown<A>...> text, A const&... arguments) {
  if (!silent) fmt::print(stdout, text, shown(arguments)...);
}

/// JSON in ASCII, so that it holds no control character either; bytes that are not UTF-8 are replaced.
template <typename Json>
[[nodiscard]] std::string json_text(Json const& json) {
  return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace myriad::cli
