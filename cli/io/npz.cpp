#include "io/npz.hpp"

#include <fmt/format.h>
#include <minizip/unzip.h>
#include <minizip/zip.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "io/error.hpp"
#include "io/text.hpp"

namespace myriad::io {

NpzWriter::NpzWriter(std::string path) : file_(std::move(path)) {
  // The file exists already. If it were created here, an interruption could remove it just before.
  zlib_filefunc64_def functions{};
  fill_fopen64_filefunc(&functions);
  functions.zopen64_file = [](voidpf, void const* name, int) -> voidpf { return std::fopen(static_cast<char const*>(name), "r+b"); };
  zip_ = zipOpen2_64(file_.temporary_path().c_str(), APPEND_STATUS_CREATE, nullptr, &functions);
  if (!zip_) throw Error(fmt::format("{}: cannot be written: {}", file_.path(), std::strerror(errno)));
}

NpzWriter::~NpzWriter() {
  if (zip_) zipClose(zip_, nullptr);
}

void NpzWriter::check(int status) const {
  if (status == ZIP_OK) return;
  throw Error(fmt::format("{}: cannot be written: {}", file_.path(), errno != 0 ? std::strerror(errno) : "the archive is damaged"));
}

void NpzWriter::end() {
  if (!open_) return;
  if (left_ != 0) throw Error(fmt::format("{}: fewer elements than the shape of an array holds", file_.path()));
  open_ = false;
  check(zipCloseFileInZip(zip_));
}

void NpzWriter::begin(std::string_view name, std::string_view descr, Shape const& shape, std::size_t item_size) {
  end();
  errno = 0;
  std::string const preamble = npy_preamble(descr, shape);
  std::uint64_t const size = static_cast<std::uint64_t>(element_count(shape, file_.path())) * item_size;
  zip_fileinfo when{};
  when.tmz_date = {
      .tm_sec = 0, .tm_min = 0, .tm_hour = 0, .tm_mday = 1, .tm_mon = 0, .tm_year = 1980};  // the same input gives the same bytes
  bool const large = preamble.size() + size >= 0xffffffffU;
  check(zipOpenNewFileInZip64(zip_, fmt::format("{}.npy", name).c_str(), &when, nullptr, 0, nullptr, 0, nullptr, 0, 0, large ? 1 : 0));
  open_ = true;
  left_ = preamble.size() + size;
  append(preamble.data(), preamble.size());
}

void NpzWriter::append(void const* data, std::size_t size) {
  if (!open_ || size > left_) throw Error(fmt::format("{}: more elements than the shape of an array holds", file_.path()));
  left_ -= size;
  auto const* p = static_cast<char const*>(data);
  while (size > 0) {
    // minizip's lengths have 32 bits.
    auto const piece = static_cast<unsigned>(std::min<std::size_t>(size, std::size_t{1} << 30));
    errno = 0;
    check(zipWriteInFileInZip(zip_, p, piece));
    p += piece;
    size -= piece;
  }
}

void NpzWriter::commit() {
  end();
  errno = 0;
  check(zipClose(std::exchange(zip_, nullptr), nullptr));
  file_.commit();
}

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
