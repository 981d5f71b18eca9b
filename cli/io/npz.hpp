#pragma once
/// NumPy's .npz: a zip archive of .npy files of any size (zip64), written without compression and read with or without.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/mapped_file.hpp"
#include "io/npy.hpp"
#include "io/output_file.hpp"

namespace myriad::io {

/// Writes arrays in C order one after another.
class NpzWriter {
 public:
  explicit NpzWriter(std::string path);
  ~NpzWriter();
  NpzWriter(NpzWriter const&) = delete;
  NpzWriter& operator=(NpzWriter const&) = delete;

  [[nodiscard]] std::string const& path() const noexcept { return file_.path(); }

  /// Reserves disk space for this many bytes of arrays. Throws Error if there is too little.
  void reserve(std::uint64_t size) { file_.reserve(size); }
  /// Starts the array `name` of numpy.load(...). The previous array must be complete.
  void begin(std::string_view name, std::string_view descr, Shape const& shape, std::size_t item_size);
  void append(void const* data, std::size_t size);
  /// Renames the file to its final name. Throws Error if elements are missing.
  void commit();

 private:
  void end();
  void check(int status) const;

  OutputFile file_;
  void* zip_ = nullptr;
  std::uint64_t left_ = 0;
  bool open_ = false;
};

/// Reads arrays, each an .npy file.
class NpzReader {
 public:
  /// Throws Error where the archive is damaged.
  explicit NpzReader(std::string path);
  ~NpzReader();
  NpzReader(NpzReader const&) = delete;
  NpzReader& operator=(NpzReader const&) = delete;

  /// The names of the arrays, in the order of the archive.
  [[nodiscard]] std::vector<std::string> names() const;
  /// The bytes of an array's .npy file, named "archive:name": in the archive's memory if stored uncompressed, else unpacked. The checksum
  /// has been verified. Throws Error, listing the names of the archive if this is none of them.
  [[nodiscard]] MappedFile open(std::string const& name) const;

 private:
  struct Member {
    std::string name;
    std::pair<std::uint64_t, std::uint64_t> place;  ///< in the archive's directory
  };

  std::string path_;
  void* zip_ = nullptr;
  std::vector<Member> members_;
};

/// "x, y and 3 more": the first few names for a message.
[[nodiscard]] std::string first_of(std::vector<std::string> const& names);

}  // namespace myriad::io
