#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace myriad::io {

/// A file seen as memory, read only. The kernel brings pages in as they are touched.
class MappedFile {
 public:
  /// Throws Error where the file cannot be opened or is not a regular file.
  explicit MappedFile(std::string path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;

  [[nodiscard]] std::string const& path() const noexcept { return path_; }
  [[nodiscard]] std::string_view bytes() const noexcept { return {data_, size_}; }

  /// Reads these bytes from the disk now, so that whoever computes on them does not wait for it.
  void populate(std::size_t offset, std::size_t size) const noexcept;
  /// Gives back the memory of these bytes, but for a last page that goes on behind them; touching them again reads them again.
  void release(std::size_t offset, std::size_t size) const noexcept;

 private:
  std::string path_;
  char const* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace myriad::io
