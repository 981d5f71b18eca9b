#pragma once
/// File formats of compiled kernels: a file of the cache holds one, a pack many.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/sha256.hpp"

namespace myriad::gpu {

/// A compiled kernel with its metadata.
struct KernelRecord {
  Hash key{};                ///< of sources, options, architecture and compiler: KernelStore::key
  std::string name;          ///< name expression: "myriad::lu_tiny<double, ...>"
  std::string arch;          ///< "sm_90"; "compute_90" for PTX
  std::string compiler;      ///< "NVRTC 13.0"
  std::string lowered_name;  ///< symbol in the cubin
  std::string log;           ///< compiler output
  std::string cubin;         ///< machine code; for compute_90 PTX

  [[nodiscard]] bool is_ptx() const { return arch.starts_with("compute_"); }
};

/// Serializes a record: magic number, format version, checksum, then key and fields.
std::string to_bytes(KernelRecord const& record);

/// The record in `bytes`; if they are damaged, truncated or no record, returns nothing and sets `problem`.
std::optional<KernelRecord> from_bytes(std::string_view bytes, std::string& problem);

/// The whole file; nothing if it cannot be read.
std::optional<std::string> read_file(std::string const& path);

/// Writes a temporary file beside `path` and renames it, so that readers see all or nothing. Returns the error, empty on success.
std::string write_file(std::string const& path, std::string_view bytes, unsigned mode);

class File;  ///< open for reading

/// A file of many records with an index. It stays open, so that a pack keeps its kernels when its path is replaced. It is not
/// memory-mapped: truncation under a reader is an error, not a signal.
class Pack {
 public:
  /// Reads the index. Throws Error if the file is no pack or is damaged.
  explicit Pack(std::string path);

  [[nodiscard]] std::string const& path() const noexcept { return path_; }
  [[nodiscard]] std::string const& compiler() const noexcept { return compiler_; }
  [[nodiscard]] std::size_t size() const noexcept { return index_.size(); }

  /// The kernel with this key, if the pack has it. Throws Error if the record is damaged, or lost because the file was overwritten.
  /// Thread-safe.
  [[nodiscard]] std::optional<KernelRecord> find(Hash const& key) const;

  /// Writes records, all of one compiler, as a pack. The file is written aside and renamed, as by write_file, so readers of the old one are
  /// not disturbed.
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
