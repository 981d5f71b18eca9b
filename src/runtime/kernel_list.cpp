#include "runtime/kernel_list.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <set>
#include <sstream>
#include <string_view>

#include "myriad/error.hpp"

namespace myriad::gpu {
namespace {

/// Fields of a line, separated by tabs: header, name, `any` or `specific` for its architectures, options.
constexpr std::string_view any = "any", specific = "specific";

std::vector<std::string> fields_of(std::string const& line) {
  std::vector<std::string> out;
  std::istringstream fields(line);
  for (std::string field; std::getline(fields, field, '\t');) out.push_back(field);
  return out;
}

}  // namespace

std::string append_to_kernel_list(std::string const& path, KernelSource const& source) {
  std::string line = fmt::format("{}\t{}\t{}", source.header, source.name, source.arch_specific ? specific : any);
  for (std::string const& option : source.options) line += "\t" + option;
  line += '\n';
  int const file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  // One write, so that lines of several processes do not mix.
  bool const good = file >= 0 && ::write(file, line.data(), line.size()) == static_cast<::ssize_t>(line.size());
  int const problem = errno;
  if (file >= 0) ::close(file);
  return good ? std::string() : fmt::format("{} cannot be written: {}", path, std::strerror(problem));
}

std::vector<KernelSource> read_kernel_list(std::string const& path) {
  auto const text = read_file(path);
  if (!text) throw Error(fmt::format("the list of kernels {} cannot be read: {}", path, std::strerror(errno)));
  std::vector<KernelSource> out;
  std::set<std::string> seen;
  std::istringstream lines(*text);
  std::int64_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (!seen.insert(line).second) continue;
    std::vector<std::string> const fields = fields_of(line);
    if (fields.size() < 3 || (fields[2] != any && fields[2] != specific))
      throw Error(fmt::format("the list of kernels {}: line {} is not a header, a name, and {} or {}, separated by tabs", path, number, any,
                              specific));
    out.push_back(
        {.header = fields[0], .name = fields[1], .options = {fields.begin() + 3, fields.end()}, .arch_specific = fields[2] == specific});
  }
  return out;
}

}  // namespace myriad::gpu
