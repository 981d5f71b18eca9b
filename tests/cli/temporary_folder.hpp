#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace myriad::test {

/// A folder for one test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "myriad-test-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  TemporaryFolder(TemporaryFolder const&) = delete;
  TemporaryFolder& operator=(TemporaryFolder const&) = delete;

  [[nodiscard]] std::string path(std::string const& name) const { return (root_ / name).string(); }

  std::string write(std::string const& name, std::string const& bytes) const {
    std::filesystem::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name, std::ios::binary) << bytes;
    return path(name);
  }

  [[nodiscard]] std::string read(std::string const& name) const {
    std::ostringstream bytes;  // in blocks: byte by byte, 50 MB take seconds
    bytes << std::ifstream(root_ / name, std::ios::binary).rdbuf();
    return std::move(bytes).str();
  }

  /// The sorted names of its direct contents.
  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (auto const& entry : std::filesystem::directory_iterator(root_)) names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  std::filesystem::path root_;
};

/// Sets an environment variable and restores it.
class Environment {
 public:
  Environment(char const* name, char const* value) : name_(name) {
    if (char const* const before = std::getenv(name)) before_ = before;
    ::setenv(name, value, 1);
  }
  ~Environment() {
    if (before_)
      ::setenv(name_, before_->c_str(), 1);
    else
      ::unsetenv(name_);
  }
  Environment(Environment const&) = delete;
  Environment& operator=(Environment const&) = delete;

 private:
  char const* name_;
  std::optional<std::string> before_;
};

}  // namespace myriad::test
