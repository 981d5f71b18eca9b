#include "runtime/sources.hpp"

#include <algorithm>

namespace myriad::gpu {
namespace {

/// The names in `#include "name"` of a text, in order.
std::vector<std::string_view> quoted_includes(std::string_view text) {
  std::vector<std::string_view> out;
  auto const skip_blanks = [](std::string_view s) {
    std::size_t const start = s.find_first_not_of(" \t");
    return start == std::string_view::npos ? std::string_view() : s.substr(start);
  };
  while (!text.empty()) {
    std::size_t const end = text.find('\n');
    std::string_view line = skip_blanks(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (!line.starts_with('#')) continue;
    line = skip_blanks(line.substr(1));
    if (!line.starts_with("include")) continue;
    line = skip_blanks(line.substr(7));
    if (!line.starts_with('"')) continue;
    std::size_t const close = line.find('"', 1);
    if (close != std::string_view::npos) out.push_back(line.substr(1, close - 1));
  }
  return out;
}

}  // namespace

std::vector<SourceFile> reached_sources(std::string_view header, std::span<SourceFile const> files) {
  std::vector<SourceFile> out;
  std::vector<std::string_view> open{header};
  while (!open.empty()) {
    std::string_view const name = open.back();
    open.pop_back();
    auto const same_name = [&](SourceFile const& file) { return file.name == name; };
    auto const found = std::find_if(files.begin(), files.end(), same_name);
    if (found == files.end() || std::any_of(out.begin(), out.end(), same_name)) continue;
    out.push_back(*found);
    for (std::string_view const include : quoted_includes(found->text)) open.push_back(include);
  }
  std::sort(out.begin(), out.end(), [](SourceFile const& a, SourceFile const& b) { return a.name < b.name; });
  return out;
}

}  // namespace myriad::gpu
