#include "io/paths.hpp"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <cctype>
#include <climits>
#include <filesystem>

#include "io/error.hpp"
#include "io/mapped_file.hpp"
#include "io/text.hpp"

namespace myriad::io {
namespace {

bool digit(char c) { return c >= '0' && c <= '9'; }

std::string_view digits_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && digit(text[end])) ++end;
  return text.substr(at, end - at);
}

std::string_view without_zeros(std::string_view digits) {
  std::size_t const first = digits.find_first_not_of('0');
  return first == std::string_view::npos ? std::string_view() : digits.substr(first);
}

}  // namespace

bool natural_less(std::string_view a, std::string_view b) {
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (digit(a[i]) && digit(b[j])) {
      std::string_view const x = digits_at(a, i), y = digits_at(b, j);
      std::string_view const u = without_zeros(x), v = without_zeros(y);
      if (u.size() != v.size()) return u.size() < v.size();
      if (u != v) return u < v;
      i += x.size();
      j += y.size();
    } else {
      if (a[i] != b[j]) {
        // A folder's name comes before longer names with the same beginning: a/x before a-b/x.
        if (a[i] == '/' || b[j] == '/') return a[i] == '/';
        return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[j]);
      }
      ++i;
      ++j;
    }
  }
  if (a.size() - i != b.size() - j) return a.size() - i < b.size() - j;
  return a < b;  // they differ in leading zeros only
}

bool is_pattern(std::string const& text) {
  std::error_code ignored;
  return text.find_first_of("*?[") != std::string::npos && !std::filesystem::exists(text, ignored);
}

std::vector<std::string> expand_pattern(std::string const& pattern) {
  glob_t found{};
  int const status = ::glob(pattern.c_str(), GLOB_BRACE | GLOB_TILDE | GLOB_NOSORT, nullptr, &found);
  std::vector<std::string> paths;
  if (status == 0) paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  if (status != 0 && status != GLOB_NOMATCH) throw Error(fmt::format("{}: the pattern cannot be expanded", pattern));
  if (paths.empty()) throw Error(fmt::format("{}: no file matches this pattern", pattern));
  std::sort(paths.begin(), paths.end(), natural_less);
  return paths;
}

std::vector<std::string> read_list(std::string const& path) {
  MappedFile const file(path);
  std::vector<std::string> paths;
  std::string_view rest = file.bytes();
  while (!rest.empty()) {
    std::size_t const end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    auto const blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
    while (!line.empty() && blank(line.front())) line.remove_prefix(1);
    while (!line.empty() && blank(line.back())) line.remove_suffix(1);
    if (line.empty() || line[0] == '#') continue;
    if (line.size() >= PATH_MAX) throw Error(fmt::format("{}: {} is too long for the name of a file", path, excerpt(line)));
    paths.emplace_back(line);
  }
  if (paths.empty()) throw Error(fmt::format("{}: the list names no file", path));
  return paths;
}

}  // namespace myriad::io
