#include "io/mapped_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "io/error.hpp"

namespace myriad::io {
namespace {

std::size_t page_size() {
  static std::size_t const size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

}  // namespace

MappedFile::MappedFile(std::string path) : path_(std::move(path)) {
  int const fd = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw Error(fmt::format("{}: cannot be read: {}", path_, std::strerror(errno)));
  struct stat status {};
  if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(fd);
    throw Error(fmt::format("{}: is {}, not a file", path_, S_ISDIR(status.st_mode) ? "a directory" : "a device or pipe"));
  }
  size_ = static_cast<std::size_t>(status.st_size);
  if (size_ > 0) {
    void* const p = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED) {
      int const problem = errno;
      ::close(fd);
      throw Error(fmt::format("{}: cannot be mapped: {}", path_, std::strerror(problem)));
    }
    data_ = static_cast<char const*>(p);
    bytes_ = {data_, size_};
  }
  ::close(fd);
}

MappedFile::MappedFile(std::string path, std::size_t size) : path_(std::move(path)), size_(size), from_disk_(false) {
  if (size_ == 0) return;
  void* const p = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) throw Error(fmt::format("{}: not enough memory to unpack {} bytes", path_, size_));
  data_ = static_cast<char const*>(p);
  bytes_ = {data_, size_};
}

MappedFile MappedFile::part(std::string path, std::size_t offset, std::size_t size) && {
  MappedFile result(std::move(*this));
  result.path_ = std::move(path);
  result.bytes_ = result.bytes_.substr(offset, size);
  return result;
}

MappedFile::~MappedFile() {
  if (data_) ::munmap(const_cast<char*>(data_), size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      bytes_(std::exchange(other.bytes_, {})),
      from_disk_(other.from_disk_) {}

void MappedFile::populate(std::size_t offset, std::size_t size) const noexcept {
  if (!from_disk_ || offset >= bytes_.size() || size == 0) return;
  offset += static_cast<std::size_t>(bytes_.data() - data_);
  std::size_t const begin = offset / page_size() * page_size();
  std::size_t const end = std::min(offset + size, size_);
  char* const p = const_cast<char*>(data_) + begin;
#ifdef MADV_POPULATE_READ
  if (::madvise(p, end - begin, MADV_POPULATE_READ) == 0) return;
#endif
  // Kernels before 5.14: request the pages and touch each one.
  ::madvise(p, end - begin, MADV_WILLNEED);
  for (std::size_t i = begin; i < end; i += page_size()) static_cast<void>(*static_cast<char const volatile*>(data_ + i));
}

void MappedFile::release(std::size_t offset, std::size_t size) const noexcept {
  if (!from_disk_ || offset >= bytes_.size()) return;
  offset += static_cast<std::size_t>(bytes_.data() - data_);
  std::size_t const begin = offset / page_size() * page_size();
  std::size_t const end = std::min(offset + size, size_) / page_size() * page_size();
  if (begin < end) ::madvise(const_cast<char*>(data_) + begin, end - begin, MADV_DONTNEED);
}

}  // namespace myriad::io
