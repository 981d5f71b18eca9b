#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace myriad::io {

/// Whether `a` comes before `b` when runs of digits are compared as numbers: cell9 before cell10.
[[nodiscard]] bool natural_less(std::string_view a, std::string_view b);

/// Whether a shell would expand this: it contains * ? or [ and is not the name of a file.
[[nodiscard]] bool is_pattern(std::string const& text);

/// The files that match a shell pattern (including `~` and `{a,b}`), in natural order. Throws Error if there are none.
[[nodiscard]] std::vector<std::string> expand_pattern(std::string const& pattern);

/// The files of a list, one per line, in the order of the list. Empty lines and lines that start with # are skipped. Throws Error if the
/// list is unreadable or empty.
[[nodiscard]] std::vector<std::string> read_list(std::string const& path);

}  // namespace myriad::io
