#include "io/output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "io/error.hpp"

namespace myriad::io {
namespace {

/// Existing temporary files. A signal handler reads this, so it is plain memory; a slot is valid when `used` is 2.
struct Slot {
  std::atomic<int> used{0};
  std::array<char, PATH_MAX> path{};
};
std::array<Slot, 16> slots;
static_assert(std::atomic<int>::is_always_lock_free);

int enter(std::string const& path) {
  if (path.size() >= PATH_MAX) return -1;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    int expected = 0;
    if (!slots[i].used.compare_exchange_strong(expected, 1)) continue;
    std::memcpy(slots[i].path.data(), path.c_str(), path.size() + 1);
    slots[i].used = 2;
    return static_cast<int>(i);
  }
  return -1;
}

void leave(int slot) {
  if (slot >= 0) slots[static_cast<std::size_t>(slot)].used = 0;
}

std::atomic<void (*)()> signal_report{nullptr};

/// The handlers that were installed before ours, by signal.
std::array<struct sigaction, NSIG> former;

extern "C" void remove_unfinished(int number) {
  for (Slot& slot : slots)
    if (slot.used == 2) ::unlink(slot.path.data());
  if (auto const report = signal_report.exchange(nullptr)) report();
  if (number == SIGBUS) {
    constexpr std::string_view text = "myriad: an input file became shorter while it was read\n";
    static_cast<void>(!::write(STDERR_FILENO, text.data(), text.size()));
    ::_exit(2);
  }
  ::sigaction(number, &former[static_cast<std::size_t>(number)], nullptr);  // possibly a sanitizer's
  ::raise(number);
}

/// The target of a symbolic link, which a rename must replace instead of the link; the path itself otherwise.
std::string target_of(std::string const& path) {
  std::error_code problem;
  if (!std::filesystem::is_symlink(path, problem)) return path;
  auto const target = std::filesystem::weakly_canonical(path, problem);
  return problem ? path : target.string();
}

void write_all(int fd, std::uint64_t offset, void const* data, std::size_t size, std::string const& path) {
  auto const* p = static_cast<char const*>(data);
  while (size > 0) {
    ssize_t const written = ::pwrite(fd, p, size, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw Error(fmt::format("{}: cannot be written: {}", path, std::strerror(errno)));
    p += written;
    offset += static_cast<std::uint64_t>(written);
    size -= static_cast<std::size_t>(written);
  }
}

}  // namespace

std::string unfinished_path(std::string const& path) { return target_of(path) + ".part"; }

OutputFile::OutputFile(std::string path, Access access) : path_(std::move(path)), access_(access) {
  if (path_.empty()) throw Error("the name of the output file is empty");
  struct stat status {};
  if (::stat(path_.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) throw Error(fmt::format("{}: cannot be written: it is a directory", path_));
    if (!S_ISREG(status.st_mode)) throw Error(fmt::format("{}: cannot be written: it is not a regular file", path_));
    if (::access(path_.c_str(), W_OK) != 0) throw Error(fmt::format("{}: cannot be written: {}", path_, std::strerror(errno)));
  }
  path_ = target_of(path_);
  if (access_ == Access::complete) return;
  temporary_ = unfinished_path(path_);
  try {
    open();
  } catch (...) {
    if (fd_ >= 0) ::close(fd_);
    throw;
  }
  if (access_ == Access::alone) slot_ = enter(temporary_);
}

void OutputFile::open() {
  bool const creates = access_ == Access::alone || access_ == Access::create;
  for (;;) {
    fd_ = ::open(temporary_.c_str(), (creates ? O_CREAT : 0) | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd_ < 0 && errno == ENOENT && access_ == Access::resume)
      throw Error(fmt::format("{}: is missing, with the matrices that an earlier run has finished", temporary_));
    if (fd_ < 0) throw Error(fmt::format("{}: cannot be written: {}", access_ == Access::alone ? path_ : temporary_, std::strerror(errno)));
    if (access_ == Access::join) return;
    lock();
    struct stat locked {
    }, present{};
    if (::fstat(fd_, &locked) == 0 && ::stat(temporary_.c_str(), &present) == 0 && locked.st_dev == present.st_dev &&
        locked.st_ino == present.st_ino)
      break;
    ::close(std::exchange(fd_, -1));  // a run that has ended meanwhile renamed or deleted the file
  }
  if (creates && ::ftruncate(fd_, 0) != 0) throw Error(fmt::format("{}: cannot be written: {}", temporary_, std::strerror(errno)));
}

void OutputFile::lock() const {
  while (::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) throw Error(fmt::format("{}: another process is writing this output", temporary_));
    if (errno != EINTR) return;  // a file system without locks
  }
}

OutputFile::~OutputFile() {
  if (access_ == Access::alone) remove();
  if (fd_ >= 0) ::close(fd_);
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      access_(other.access_),
      fd_(std::exchange(other.fd_, -1)),
      slot_(std::exchange(other.slot_, -1)) {}

void OutputFile::remove() noexcept {
  leave(std::exchange(slot_, -1));
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  temporary_.clear();
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

void OutputFile::reserve(std::uint64_t size) {
  // Where the file system cannot do this (EOPNOTSUPP), a full disk is an error while writing.
  if (size > 0 && ::fallocate(fd_, FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(size)) != 0 &&
      (errno == ENOSPC || errno == EFBIG || errno == EDQUOT))
    throw Error(fmt::format("{}: cannot be written: {} ({} bytes needed)", path_, std::strerror(errno), size));
}

void OutputFile::write_at(std::uint64_t offset, void const* data, std::size_t size) { write_all(fd_, offset, data, size, path_); }

void OutputFile::sync() {
  if (access_ == Access::complete) return;
  if (::fdatasync(fd_) != 0 && errno != EINVAL) throw Error(fmt::format("{}: cannot be written: {}", path_, std::strerror(errno)));
}

void OutputFile::commit() {
  if (access_ == Access::complete) return;
  if (access_ != Access::alone) sync();
  int const locked = ::dup(fd_);  // keeps the lock while close(), which may report an error, and rename() are called
  bool good = ::close(std::exchange(fd_, locked)) == 0;
  leave(std::exchange(slot_, -1));  // the next run may create a file of this name as soon as this one is renamed
  good = good && ::rename(temporary_.c_str(), path_.c_str()) == 0;
  std::string const reason = good ? std::string() : std::strerror(errno);
  if (!good && access_ == Access::alone) remove();
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  if (!good) throw Error(fmt::format("{}: cannot be written: {}", path_, reason));
  temporary_.clear();
}

void install_signal_cleanup() {
  // The handler needs its own stack after a stack overflow.
  static std::array<char, 65536> stack;
  stack_t const other_stack{.ss_sp = stack.data(), .ss_flags = 0, .ss_size = stack.size()};
  if (stack_t present{}; ::sigaltstack(nullptr, &present) == 0 && (present.ss_flags & SS_DISABLE) != 0)
    ::sigaltstack(&other_stack, nullptr);
  struct sigaction action {};
  action.sa_handler = remove_unfinished;
  action.sa_flags = SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  for (int const number : {SIGHUP, SIGINT, SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGUSR1, SIGSEGV, SIGUSR2, SIGPIPE, SIGALRM,
                           SIGTERM, SIGXCPU, SIGVTALRM, SIGPROF, SIGIO, SIGSYS}) {
    struct sigaction& before = former[static_cast<std::size_t>(number)];
    ::sigaction(number, nullptr, &before);
    if (before.sa_handler != SIG_IGN) ::sigaction(number, &action, nullptr);  // nohup ignores SIGHUP
  }
  std::signal(SIGXFSZ, SIG_IGN);
}

void set_signal_report(void (*report)()) noexcept { signal_report = report; }

}  // namespace myriad::io
