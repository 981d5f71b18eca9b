#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace myriad::io {

/// A file seen as memory, read only. The kernel brings pages in as they are touched.
class MappedFile {
 public:
  /// Throws Error where the file cannot be opened or is not a regular file.
  explicit MappedFile(std::string path);
  /// Memory to be filled by `fill(data, size)`, as if it were a file: for what a file holds compressed.
  template <typename Fill>
  MappedFile(std::string path, std::size_t size, Fill&& fill) : MappedFile(std::move(path), size) {
    fill(const_cast<char*>(data_), size);
  }
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;

  [[nodiscard]] std::string const& path() const noexcept { return path_; }
  [[nodiscard]] std::string_view bytes() const noexcept { return bytes_; }
  /// The same file, of which only these bytes are seen from now on, by another name.
  [[nodiscard]] MappedFile part(std::string path, std::size_t offset, std::size_t size) &&;

  /// Reads these bytes from the disk now, so that whoever computes on them does not wait for it.
  void populate(std::size_t offset, std::size_t size) const noexcept;
  /// Gives back the memory of these bytes, but for a last page that goes on behind them; touching them again reads them again.
  void release(std::size_t offset, std::size_t size) const noexcept;

 private:
  MappedFile(std::string path, std::size_t size);

  std::string path_;
  char const* data_ = nullptr;  ///< of all that is mapped
  std::size_t size_ = 0;
  std::string_view bytes_;
  bool from_disk_ = true;
};

}  // namespace myriad::io
