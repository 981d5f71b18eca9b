/// The format: https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT

#include "io/stored_zip.hpp"

#include <zlib.h>

namespace myriad::io {
namespace {

constexpr std::uint64_t most_of_32_bits = 0xffffffffU, most_of_16_bits = 0xffffU;

/// Numbers of zip are little endian.
template <std::size_t Bytes>
void put(std::string& text, std::uint64_t value) {
  for (std::size_t i = 0; i < Bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xff);
}

bool large(std::uint64_t number) { return number >= most_of_32_bits; }

/// Version that is needed to read, flags, method 0 (stored), and the date 1980-01-01, so that the same input gives the same bytes.
void put_common(std::string& text, bool zip64, std::uint32_t checksum, std::uint64_t size) {
  put<2>(text, zip64 ? 45 : 20);
  put<2>(text, 0);
  put<2>(text, 0);
  put<2>(text, 0);
  put<2>(text, 1U << 5 | 1U);
  put<4>(text, checksum);
  put<4>(text, large(size) ? most_of_32_bits : size);
  put<4>(text, large(size) ? most_of_32_bits : size);
}

}  // namespace

void StoredZip::add(std::string_view name, std::uint64_t size) {
  std::uint64_t const header = 30 + name.size() + (large(size) ? 20 : 0);
  places_.push_back({end_, end_ + header, size});
  end_ += header + size;
}

std::string StoredZip::header(std::size_t member, std::string_view name, std::uint32_t checksum) const {
  std::uint64_t const size = places_.at(member).size;
  std::string text = "PK\3\4";
  put_common(text, large(size), checksum, size);
  put<2>(text, name.size());
  put<2>(text, large(size) ? 20 : 0);
  text += name;
  if (large(size)) {
    put<2>(text, 1);
    put<2>(text, 16);
    put<8>(text, size);
    put<8>(text, size);
  }
  return text;
}

void StoredZip::write_directory(std::function<std::string(std::size_t)> const& name, std::span<std::uint32_t const> checksums,
                                std::function<void(std::uint64_t, std::string_view)> const& write) const {
  std::string text;
  std::uint64_t at = end_;
  auto const flush = [&] {
    write(at, text);
    at += text.size();
    text.clear();
  };
  for (std::size_t m = 0; m < places_.size(); ++m) {
    Place const& place = places_[m];
    std::string const member = name(m);
    std::string extra;
    if (large(place.size)) {
      put<8>(extra, place.size);
      put<8>(extra, place.size);
    }
    if (large(place.header)) put<8>(extra, place.header);
    text += "PK\1\2";
    put<2>(text, 45);
    put_common(text, !extra.empty(), checksums[m], place.size);
    put<2>(text, member.size());
    put<2>(text, extra.empty() ? 0 : extra.size() + 4);
    put<2>(text, 0);  // comment
    put<2>(text, 0);  // disk
    put<2>(text, 0);  // attributes
    put<4>(text, 0);
    put<4>(text, large(place.header) ? most_of_32_bits : place.header);
    text += member;
    if (!extra.empty()) {
      put<2>(text, 1);
      put<2>(text, extra.size());
      text += extra;
    }
    if (text.size() >= std::size_t{1} << 20) flush();
  }
  flush();
  std::uint64_t const size = at - end_, count = places_.size();
  bool const zip64 = count >= most_of_16_bits || large(size) || large(end_);
  if (zip64) {
    text += "PK\6\6";
    put<8>(text, 44);  // bytes that follow
    put<2>(text, 45);
    put<2>(text, 45);
    put<4>(text, 0);
    put<4>(text, 0);
    put<8>(text, count);
    put<8>(text, count);
    put<8>(text, size);
    put<8>(text, end_);
    text += "PK\6\7";
    put<4>(text, 0);
    put<8>(text, at);
    put<4>(text, 1);
  }
  text += "PK\5\6";
  put<2>(text, 0);
  put<2>(text, 0);
  put<2>(text, count >= most_of_16_bits ? most_of_16_bits : count);
  put<2>(text, count >= most_of_16_bits ? most_of_16_bits : count);
  put<4>(text, large(size) ? most_of_32_bits : size);
  put<4>(text, large(end_) ? most_of_32_bits : end_);
  put<2>(text, 0);
  flush();
}

std::uint32_t checksum_of(void const* data, std::size_t size) {
  return static_cast<std::uint32_t>(::crc32_z(0, static_cast<Bytef const*>(data), size));
}

std::uint32_t joined_checksum(std::uint32_t first, std::uint32_t second, std::uint64_t second_size) {
  static_assert(sizeof(z_off_t) == 8);
  return static_cast<std::uint32_t>(::crc32_combine(first, second, static_cast<z_off_t>(second_size)));
}

}  // namespace myriad::io
