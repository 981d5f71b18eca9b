#include "io/npz.hpp"

#include <fmt/format.h>
#include <minizip/zip.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "io/error.hpp"

namespace myriad::io {

NpzWriter::NpzWriter(std::string path) : file_(std::move(path)) {
  // The file exists already. Were it created here again, an interruption could remove it just before that.
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
  std::uint64_t const size = static_cast<std::uint64_t>(element_count(shape)) * item_size;
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
    // minizip takes 32-bit lengths.
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

}  // namespace myriad::io
