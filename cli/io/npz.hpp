#pragma once
/// Reads NumPy's .npz: a zip archive of .npy files of any size (zip64), with or without compression. ResultFile writes such archives.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/mapped_file.hpp"

namespace myriad::io {

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
