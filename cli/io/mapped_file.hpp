#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace myriad::io {

/// A file mapped into memory, read only. The kernel loads pages when they are touched.
class MappedFile {
 public:
  /// Throws Error where the file cannot be opened or is not a regular file.
  explicit MappedFile(std::string path);
  /// Memory filled by `fill(data, size)`, for compressed contents of a file.
  template <typename Fill>
  MappedFile(std::string path, std::size_t size, Fill&& fill) : MappedFile(std::move(path), size) {
    fill(const_cast<char*>(data_), size);
  }
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;

  [[nodiscard]] std::string const& path() const noexcept { return path_; }
  [[nodiscard]] std::string_view bytes() const noexcept { return bytes_; }
  /// The same file under another name, restricted to these bytes.
  [[nodiscard]] MappedFile part(std::string path, std::size_t offset, std::size_t size) &&;

  /// Reads these bytes from the disk now, so that computing does not wait for it.
  void populate(std::size_t offset, std::size_t size) const noexcept;
  /// Frees the memory of these bytes, except a last page that extends behind them. Touching them again reads them again.
  void release(std::size_t offset, std::size_t size) const noexcept;

 private:
  MappedFile(std::string path, std::size_t size);

  std::string path_;
  char const* data_ = nullptr;  ///< of the whole mapping
  std::size_t size_ = 0;
  std::string_view bytes_;
  bool from_disk_ = true;
};

}  // namespace myriad::io
