#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace myriad::io {

/// A file that appears under its name only when complete: it is written under a temporary name beside it and renamed by commit().
///
/// A destructor without commit(), and a signal after install_signal_cleanup(), remove what was written.
class OutputFile {
 public:
  /// Creates the temporary file, so that an unwritable name is reported before any work is done. Throws Error.
  explicit OutputFile(std::string path);
  ~OutputFile();
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;

  [[nodiscard]] std::string const& path() const noexcept { return path_; }
  /// Path of the temporary file.
  [[nodiscard]] std::string const& temporary_path() const noexcept { return temporary_; }

  /// Reserves disk space, so that a full disk is reported before any work is done. Throws Error.
  void reserve(std::uint64_t size);
  void write_at(std::uint64_t offset, void const* data, std::size_t size);
  /// Renames the file to its final name; nothing may be written afterwards.
  void commit();

 private:
  void discard() noexcept;

  std::string path_;
  std::string temporary_;
  int fd_ = -1;
  int slot_ = -1;
};

/// A temporary file without name in the folder of `beside`, deleted with the object. Buffers output that is written later.
class SpoolFile {
 public:
  explicit SpoolFile(std::string const& beside);
  ~SpoolFile();
  SpoolFile(SpoolFile&& other) noexcept;
  SpoolFile& operator=(SpoolFile&&) = delete;

  void append(void const* data, std::size_t size);
  /// Reads up to `size` bytes; returns how many were read.
  [[nodiscard]] std::size_t read_at(std::uint64_t offset, void* data, std::size_t size) const;
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

 private:
  std::string name_;
  int fd_ = -1;
  std::uint64_t size_ = 0;
};

/// Installs handlers that remove unfinished output files before a signal (an interruption or a fault such as SIGSEGV) ends the program.
/// SIGBUS also prints its cause: an input file was truncated while it was read. Ignored signals stay ignored. Writing past the limit on
/// file sizes becomes an error instead of a signal.
///
/// SIGKILL, which nothing can catch, and a full stack of a thread other than the caller's leave the temporary file:
/// NAME.PROCESS-NUMBER.part, which is never a result.
void install_signal_cleanup();

}  // namespace myriad::io
