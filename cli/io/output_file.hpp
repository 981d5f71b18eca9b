#pragma once
#include <array>
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

/// The target of a symbolic link, which a rename must replace instead of the link; the path itself otherwise.
[[nodiscard]] std::string target_of(std::string const& path);

/// PATH.part, beside the target where PATH is a symbolic link.
[[nodiscard]] std::string unfinished_path(std::string const& path);

/// Tells a file from another one that gets its name later: inode, seconds and nanoseconds of its creation. The times are 0 where the file
/// system does not tell them. All hosts and mounts see the same values, unlike numbers of devices.
using FileIdentity = std::array<std::int64_t, 3>;
[[nodiscard]] bool is_same(FileIdentity const& a, FileIdentity const& b);

/// A file that appears under its name only when complete: it is written as PATH.part and renamed by commit(). PATH.part is locked until
/// then, so that no other run writes it. The lock ends with the process that created or resumed the file; one that joins it takes none.
/// Access::alone writes PATH.PID-N.part where the file system has no locks. A PATH.part that an earlier run has left is replaced by a new
/// file, unless it is resumed.
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
  /// Identity of the temporary file.
  [[nodiscard]] FileIdentity identity() const;

  /// Reserves disk space, so that a full disk is reported before any work is done. Throws Error.
  void reserve(std::uint64_t size);
  void write_at(std::uint64_t offset, void const* data, std::size_t size);
  /// Waits until what was written is on the disk.
  void sync();
  /// Deletes the temporary file, unless another run has replaced it.
  void remove() noexcept;
  /// Renames the file to its final name; nothing may be written afterwards. Throws Error, also where another run has replaced the file.
  void commit();

 private:
  void create();
  bool create_new();
  void open();
  [[nodiscard]] bool lock() const;

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
/// SIGKILL, which nothing can catch, and a full stack of a thread other than the caller's leave PATH.part, which the next run replaces.
void install_signal_cleanup();

/// Sets a function that the handlers call as well, which must be async-signal-safe; nullptr: none.
void set_signal_report(void (*report)()) noexcept;

}  // namespace myriad::io
