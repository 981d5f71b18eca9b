#pragma once
/// Compiled kernels as bytes: a file of the cache holds one, a pack many.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/sha256.hpp"

namespace myriad::gpu {

/// A compiled kernel with all that is known about it.
struct KernelRecord {
  Hash key{};                ///< of sources, options, architecture and compiler: KernelStore::key
  std::string name;          ///< name expression: "myriad::lu_tiny<double, ...>"
  std::string arch;          ///< "sm_90"
  std::string compiler;      ///< "NVRTC 13.0"
  std::string lowered_name;  ///< its symbol in the cubin
  std::string log;           ///< of the compiler
  std::string cubin;
};

/// Magic number, format version, checksum, then key and fields.
std::string to_bytes(KernelRecord const& record);

/// The record that `bytes` hold from first to last; nothing, and `problem`, where they are damaged, cut short or something else.
std::optional<KernelRecord> from_bytes(std::string_view bytes, std::string& problem);

/// The whole file; nothing where it cannot be read.
std::optional<std::string> read_file(std::string const& path);

/// Writes a temporary file beside `path` and renames it, so that a reader sees all or nothing. Returns what went wrong, empty if nothing.
std::string write_file(std::string const& path, std::string_view bytes, unsigned mode);

class File;  ///< that is open for reading

/// A file of many records with an index. It stays open, so that a pack keeps its kernels when another file takes its name. Nothing is
/// mapped: a file that is cut short under its reader is an error, not a signal.
class Pack {
 public:
  /// Reads the index. Throws Error where the file is no pack or is damaged.
  explicit Pack(std::string path);

  [[nodiscard]] std::string const& path() const noexcept { return path_; }
  [[nodiscard]] std::string const& compiler() const noexcept { return compiler_; }
  [[nodiscard]] std::size_t size() const noexcept { return index_.size(); }

  /// The kernel with this key; nothing where it is not there. Throws Error where the record is damaged, or no longer there
  /// because the file was written over. Any thread.
  [[nodiscard]] std::optional<KernelRecord> find(Hash const& key) const;

  /// Writes records, all of one compiler, as a pack, aside and renamed as write_file does: who has the old one open is not disturbed.
  static void write(std::string const& path, std::vector<KernelRecord> records);

 private:
  struct Entry {
    Hash key;
    std::uint64_t offset;
    std::uint64_t length;
  };
  std::string path_;
  std::shared_ptr<File const> file_;
  std::string compiler_;
  std::vector<Entry> index_;  ///< sorted by key
};

}  // namespace myriad::gpu
