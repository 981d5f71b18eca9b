#include "io/npz.hpp"

#include <fmt/format.h>
#include <minizip/unzip.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "io/error.hpp"
#include "io/text.hpp"

namespace myriad::io {

NpzReader::NpzReader(std::string path) : path_(std::move(path)), zip_(unzOpen64(path_.c_str())) {
  auto const damaged = [&] { return Error(fmt::format("{}: is no .npz archive that can be read: it is damaged or cut short", path_)); };
  if (!zip_) throw damaged();
  int status = unzGoToFirstFile(zip_);
  unz_global_info64 all{};
  unzGetGlobalInfo64(zip_, &all);
  if (all.number_entry == 0) status = UNZ_END_OF_LIST_OF_FILE;
  for (; status == UNZ_OK; status = unzGoToNextFile(zip_)) {
    std::array<char, 65536> name{};
    unz64_file_pos place{};
    if (unzGetCurrentFileInfo64(zip_, nullptr, name.data(), name.size(), nullptr, 0, nullptr, 0) != UNZ_OK ||
        unzGetFilePos64(zip_, &place) != UNZ_OK)
      break;
    std::string_view const text = name.data();
    if (text.ends_with(".npy"))
      members_.push_back({std::string(text.substr(0, text.size() - 4)), {place.pos_in_zip_directory, place.num_of_file}});
  }
  if (status == UNZ_END_OF_LIST_OF_FILE) return;
  unzClose(zip_);
  throw damaged();
}

NpzReader::~NpzReader() { unzClose(zip_); }

std::vector<std::string> NpzReader::names() const {
  std::vector<std::string> result;
  for (Member const& member : members_) result.push_back(member.name);
  return result;
}

MappedFile NpzReader::open(std::string const& name) const {
  auto const found = std::find_if(members_.begin(), members_.end(), [&](Member const& member) { return member.name == name; });
  if (found == members_.end()) throw Error(fmt::format("{}: has no array {}; there are {}", path_, excerpt(name), first_of(names())));
  std::string const label = path_ + ":" + name;
  auto const damaged = [&](std::string_view problem) { return Error(fmt::format("{}: the archive is damaged: {}", label, problem)); };
  unz64_file_pos const place{.pos_in_zip_directory = found->place.first, .num_of_file = found->place.second};
  unz_file_info64 info{};
  if (unzGoToFilePos64(zip_, &place) != UNZ_OK || unzGetCurrentFileInfo64(zip_, &info, nullptr, 0, nullptr, 0, nullptr, 0) != UNZ_OK)
    throw damaged("its directory cannot be read");
  if ((info.flag & 1U) != 0) throw Error(fmt::format("{}: is encrypted", label));
  bool const stored = info.compression_method == 0;
  if (!stored && info.compression_method != Z_DEFLATED)
    throw Error(fmt::format("{}: is compressed by method {} of zip; those of NumPy, none and deflate, can be read", label,
                            info.compression_method));
  // Deflate expands at most 1032:1. The check comes before memory of that size is allocated.
  std::uint64_t const size = info.uncompressed_size, packed = info.compressed_size;
  if (stored ? size != packed : size / 1032 > packed) throw damaged(fmt::format("{} bytes are said to come from {}", size, packed));
  if (unzOpenCurrentFile(zip_) != UNZ_OK) throw damaged("its headers contradict each other");
  std::uint64_t const offset = unzGetCurrentFileZStreamPos64(zip_);

  auto const read = [&](auto&& piece) {
    for (std::uint64_t done = 0; done < size;) {
      auto const [data, length] = piece(done, std::min<std::uint64_t>(size - done, std::uint64_t{1} << 20));
      int const got = unzReadCurrentFile(zip_, data, static_cast<unsigned>(length));
      if (got <= 0) {
        unzCloseCurrentFile(zip_);
        throw damaged(fmt::format("it ends after {} of {} bytes", done, size));
      }
      done += static_cast<std::uint64_t>(got);
    }
    if (unzCloseCurrentFile(zip_) != UNZ_OK) throw damaged("its checksum is wrong");
  };
  using Piece = std::pair<char*, std::uint64_t>;
  if (!stored)
    return {label, static_cast<std::size_t>(size),
            [&](char* data, std::size_t) { read([&](std::uint64_t at, std::uint64_t length) { return Piece(data + at, length); }); }};
  std::vector<char> scratch(std::size_t{1} << 20);
  read([&](std::uint64_t, std::uint64_t length) { return Piece(scratch.data(), length); });
  return MappedFile(path_).part(label, static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
}

std::string first_of(std::vector<std::string> const& names) {
  constexpr std::size_t most = 8;
  std::string result = names.empty() ? "none" : "";
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i) result += fmt::format("{}{}", i > 0 ? ", " : "", excerpt(names[i]));
  if (names.size() > most) result += fmt::format(" and {} more", names.size() - most);
  return result;
}

}  // namespace myriad::io
