#pragma once
/// Tables of tuned configs as JSON: {"format": 1, "gpu": "NVIDIA H200", "entries": [...]}, an entry a line.

#include <string>
#include <string_view>
#include <vector>

#include "myriad/tune.hpp"

namespace myriad::tuning {

inline constexpr int table_format = 1;

/// The entries of a table's text. Throws Error, naming `where` it is from, where it is none.
std::vector<TunedConfig> entries_of(std::string_view text, std::string const& where);
std::string text_of(std::string const& gpu, std::vector<TunedConfig> const& entries);

/// Puts an entry in the place of the one for the same problem in the user's table. Throws Error where that cannot be written.
void keep(TunedConfig const& entry);

}  // namespace myriad::tuning
