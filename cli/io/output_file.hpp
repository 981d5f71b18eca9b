#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace myriad::io {

/// A file that appears under its name only when it is complete: it is written beside it and renamed by commit().
///
/// A destructor without commit(), and a signal after install_signal_cleanup(), remove what was written.
class OutputFile {
 public:
  /// Creates the temporary file, so that a name that cannot be written is found before any work is done. Throws Error.
  explicit OutputFile(std::string path);
  ~OutputFile();
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;

  [[nodiscard]] std::string const& path() const noexcept { return path_; }
  /// Path of the file that has the bytes until commit().
  [[nodiscard]] std::string const& temporary_path() const noexcept { return temporary_; }

  /// Claims the space on the disk, so that a full one is found before any work is done. Throws Error.
  void reserve(std::uint64_t size);
  void write_at(std::uint64_t offset, void const* data, std::size_t size);
  /// Gives the file its name; nothing may be written afterwards.
  void commit();

 private:
  void discard() noexcept;

  std::string path_;
  std::string temporary_;
  int fd_ = -1;
  int slot_ = -1;
};

/// A nameless file in the folder of `beside`, gone with the object; for what must wait until something else is written.
class SpoolFile {
 public:
  explicit SpoolFile(std::string const& beside);
  ~SpoolFile();
  SpoolFile(SpoolFile&& other) noexcept;
  SpoolFile& operator=(SpoolFile&&) = delete;

  void append(void const* data, std::size_t size);
  /// Reads up to `size` bytes; returns how many there were.
  [[nodiscard]] std::size_t read_at(std::uint64_t offset, void* data, std::size_t size) const;
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

 private:
  std::string name_;
  int fd_ = -1;
  std::uint64_t size_ = 0;
};

/// From now on every signal that ends the program, an interruption as well as a fault such as SIGSEGV, removes unfinished output files
/// first; SIGBUS says why, too: an input file became shorter while it was read. Signals that were ignored stay so. Writing past the limit
/// on file sizes becomes an error instead of a signal.
///
/// SIGKILL, which nothing can catch, and a full stack of a thread other than the caller's leave the temporary file:
/// NAME.PROCESS-NUMBER.part, which is never a result.
void install_signal_cleanup();

}  // namespace myriad::io
