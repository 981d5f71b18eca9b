#pragma once
/// Tables of tuned configs as JSON: {"format": 1, "gpu": "NVIDIA H200", "entries": [...]}, one entry per line.

#include <string>
#include <string_view>
#include <vector>

#include "myriad/tune.hpp"

namespace myriad::tuning {

inline constexpr int table_format = 1;

/// Parses the entries of a table. Throws Error, which names `where` the text is from, if it is no table.
std::vector<TunedConfig> entries_of(std::string_view text, std::string const& where);
std::string text_of(std::string const& gpu, std::vector<TunedConfig> const& entries);

/// Stores an entry in the user's table, replacing that of the same problem. Throws Error if the table cannot be written.
void keep(TunedConfig const& entry);

}  // namespace myriad::tuning
