#pragma once
/// The kernel of the tests, and helpers for the environment in which they compile it.

#include <gtest/gtest.h>
#include <stdlib.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "runtime/kernel_store.hpp"

namespace myriad::test {

inline std::string text_of(std::filesystem::path const& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.is_open()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The sources of the test kernel, in the form of the library's embedded ones.
inline std::span<gpu::SourceFile const> test_sources() {
  static std::string const kernel = text_of(MYRIAD_SOURCE_DIR "/tests/runtime/scale.cuh");
  static std::string const arithmetic =
      "#pragma once\nnamespace myriad::test {\n"
      "template <int Times, typename T> __device__ T repeated(T x, T factor) { for (int i = 0; i < Times; ++i) x *= factor; return x; "
      "}\n}\n";
  static std::array<gpu::SourceFile, 2> const files{gpu::SourceFile{"scale.cuh", kernel}, {"simt/arithmetic.hpp", arithmetic}};
  return files;
}

inline gpu::KernelSource scale_source(std::string const& type, int times) {
  gpu::KernelSource out{.header = "scale.cuh", .name = "myriad::test::scale<" + type + ", " + std::to_string(times) + ">"};
  out.files = test_sources();
  return out;
}

/// A folder that exists as long as the object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "myriad-runtime-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  TemporaryFolder(TemporaryFolder const&) = delete;
  TemporaryFolder& operator=(TemporaryFolder const&) = delete;
  [[nodiscard]] std::filesystem::path const& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// Sets an environment variable, nullptr for unset, and restores it.
class Environment {
 public:
  Environment(char const* name, char const* value) : name_(name) {
    if (char const* const before = ::getenv(name)) before_ = before;
    set(value);
  }
  ~Environment() { set(before_ ? before_->c_str() : nullptr); }
  Environment(Environment const&) = delete;
  Environment& operator=(Environment const&) = delete;

 private:
  void set(char const* value) const {
    if (value)
      ::setenv(name_, value, 1);
    else
      ::unsetenv(name_);
  }
  char const* name_;
  std::optional<std::string> before_;
};

}  // namespace myriad::test
