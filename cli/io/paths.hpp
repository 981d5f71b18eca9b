#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace myriad::io {

/// Whether `a` comes before `b` when runs of digits are compared as numbers: cell9 before cell10.
[[nodiscard]] bool natural_less(std::string_view a, std::string_view b);

/// Whether a shell would expand this: it holds one of * ? [ and does not name a file as it stands.
[[nodiscard]] bool is_pattern(std::string const& text);

/// The files that a pattern (as a shell's, `~` and `{a,b}` included) matches, in natural order. Throws Error where there are none.
[[nodiscard]] std::vector<std::string> expand_pattern(std::string const& pattern);

/// The files that a list names, one a line, in the order of the list; empty lines and lines that start with # do not count.
/// Throws Error where it cannot be read or is empty.
[[nodiscard]] std::vector<std::string> read_list(std::string const& path);

}  // namespace myriad::io
