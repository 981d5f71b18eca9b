#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace myriad::io {

/// Who writes a file, which is PATH.part until it is complete.
enum class Access {
  alone,    ///< this process; what it leaves unfinished is removed
  create,   ///< several processes, or several runs; PATH.part stays until it is complete
  resume,   ///< the same, where an earlier run has left PATH.part
  join,     ///< the same, where another process of this run has PATH.part
  complete  ///< nobody: an earlier run has completed it
};

/// PATH.part, beside the target where PATH is a symbolic link.
[[nodiscard]] std::string unfinished_path(std::string const& path);

/// A file that appears under its name only when complete: it is written as PATH.part and renamed by commit(). PATH.part is locked until
/// then, so that no other run writes it. The lock ends with the process; file systems without locks are taken to have none.
///
/// A destructor without commit(), and a signal after install_signal_cleanup(), remove what was written with Access::alone.
class OutputFile {
 public:
  /// Creates or opens PATH.part, so that an unwritable name is reported before any work is done. Throws Error, also where another process
  /// has locked it.
  explicit OutputFile(std::string path, Access access = Access::alone);
  ~OutputFile();
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;

  [[nodiscard]] std::string const& path() const noexcept { return path_; }
  /// Path of the temporary file.
  [[nodiscard]] std::string const& temporary_path() const noexcept { return temporary_; }

  /// Reserves disk space, so that a full disk is reported before any work is done. Throws Error.
  void reserve(std::uint64_t size);
  void write_at(std::uint64_t offset, void const* data, std::size_t size);
  /// Waits until what was written is on the disk.
  void sync();
  /// Deletes the temporary file.
  void remove() noexcept;
  /// Renames the file to its final name; nothing may be written afterwards.
  void commit();

 private:
  void open();
  void lock() const;

  std::string path_;
  std::string temporary_;
  Access access_ = Access::alone;
  int fd_ = -1;
  int slot_ = -1;
};

/// Installs handlers that remove unfinished output files before a signal (an interruption or a fault such as SIGSEGV) ends the program.
/// SIGBUS also prints its cause: an input file was truncated while it was read. Ignored signals stay ignored. Writing past the limit on
/// file sizes becomes an error instead of a signal.
///
/// SIGKILL, which nothing can catch, and a full stack of a thread other than the caller's leave PATH.part, which the next run overwrites.
void install_signal_cleanup();

/// Sets a function that the handlers call as well, which must be async-signal-safe; nullptr: none.
void set_signal_report(void (*report)()) noexcept;

}  // namespace myriad::io
