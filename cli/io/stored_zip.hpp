#pragma once
/// Zip archives without compression (zip64 where needed). The sizes of all members are known from the start, and so is the place of each
/// byte: processes can write any parts of the members in any order.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace myriad::io {

class StoredZip {
 public:
  /// Gives the next member its place.
  void add(std::string_view name, std::uint64_t size);

  [[nodiscard]] std::size_t members() const noexcept { return places_.size(); }
  /// Offset of a member's header.
  [[nodiscard]] std::uint64_t header_of(std::size_t member) const { return places_.at(member).header; }
  /// Offset of a member's contents.
  [[nodiscard]] std::uint64_t contents_of(std::size_t member) const { return places_.at(member).contents; }
  /// Bytes of all headers and contents: the offset of the directory.
  [[nodiscard]] std::uint64_t directory() const noexcept { return end_; }

  /// The header that precedes the contents.
  [[nodiscard]] std::string header(std::size_t member, std::string_view name, std::uint32_t checksum) const;
  /// Passes the directory, which follows the last member, to write(offset, bytes) in pieces. `checksums`: CRC-32 of the members.
  void write_directory(std::function<std::string(std::size_t)> const& name, std::span<std::uint32_t const> checksums,
                       std::function<void(std::uint64_t, std::string_view)> const& write) const;

 private:
  struct Place {
    std::uint64_t header, contents, size;
  };
  std::vector<Place> places_;
  std::uint64_t end_ = 0;
};

/// CRC-32 of some bytes, as zip has it.
[[nodiscard]] std::uint32_t checksum_of(void const* data, std::size_t size);
/// That of two pieces, of which the second has this size.
[[nodiscard]] std::uint32_t joined_checksum(std::uint32_t first, std::uint32_t second, std::uint64_t second_size);

}  // namespace myriad::io
