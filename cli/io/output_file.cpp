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

bool is_same(struct stat const& a, struct stat const& b) { return a.st_dev == b.st_dev && a.st_ino == b.st_ino; }

/// Whether an open file has this path. Another run may have replaced it.
bool is_at(int fd, std::string const& path) {
  struct stat opened {
  }, present{};
  return ::fstat(fd, &opened) == 0 && ::lstat(path.c_str(), &present) == 0 && is_same(opened, present);
}

/// Temporary files that a signal removes. Its handler reads this, so it is plain memory; a slot is valid when `used` is 2.
struct Slot {
  std::atomic<int> used{0};
  std::array<char, PATH_MAX> path{};
  struct stat file {};  ///< the path may belong to another file since
};
std::array<Slot, 16> slots;
static_assert(std::atomic<int>::is_always_lock_free);

int enter(std::string const& path, int fd) {
  struct stat file {};
  if (path.size() >= PATH_MAX || ::fstat(fd, &file) != 0) return -1;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    int expected = 0;
    if (!slots[i].used.compare_exchange_strong(expected, 1)) continue;
    std::memcpy(slots[i].path.data(), path.c_str(), path.size() + 1);
    slots[i].file = file;
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
  for (Slot& slot : slots) {
    struct stat present {};
    if (slot.used == 2 && ::lstat(slot.path.data(), &present) == 0 && is_same(present, slot.file)) ::unlink(slot.path.data());
  }
  if (auto const report = signal_report.exchange(nullptr)) report();
  if (number == SIGBUS) {
    constexpr std::string_view text = "myriad: an input file became shorter while it was read\n";
    static_cast<void>(!::write(STDERR_FILENO, text.data(), text.size()));
    ::_exit(2);
  }
  ::sigaction(number, &former[static_cast<std::size_t>(number)], nullptr);  // possibly a sanitizer's
  ::raise(number);
}

/// Delays signals to this thread.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, &former_);
  }
  ~BlockedSignals() { ::pthread_sigmask(SIG_SETMASK, &former_, nullptr); }
  BlockedSignals(BlockedSignals const&) = delete;
  BlockedSignals& operator=(BlockedSignals const&) = delete;

 private:
  sigset_t former_{};
};

/// A file that is open until the end of its scope.
struct Descriptor {
  int fd = -1;
  ~Descriptor() { reset(-1); }
  void reset(int other) {
    if (fd >= 0) ::close(fd);
    fd = other;
  }
};

constexpr int open_flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW;

/// The Error for errno.
Error unwritable(std::string const& path) { return Error(fmt::format("{}: cannot be written: {}", path, std::strerror(errno))); }

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

std::string target_of(std::string const& path) {
  std::error_code problem;
  if (!std::filesystem::is_symlink(path, problem)) return path;
  auto const target = std::filesystem::weakly_canonical(path, problem);
  return problem ? path : target.string();
}

bool is_same(FileIdentity const& a, FileIdentity const& b) {
  auto const unknown = [](FileIdentity const& file) { return file[1] == 0 && file[2] == 0; };
  return a[0] == b[0] && (a == b || unknown(a) || unknown(b));
}

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
    access_ == Access::alone || access_ == Access::create ? create() : open();
  } catch (...) {
    if (fd_ >= 0) ::close(fd_);
    throw;
  }
}

/// Replaces what an earlier run has left: its processes may still write there, or a journal may count on it.
void OutputFile::create() {
  Descriptor leftover;  // open until the new file exists, which so gets another inode
  for (;;) {
    bool const created = create_new();
    if (!created) {
      if (errno != EEXIST) throw unwritable(path_);
      fd_ = ::open(temporary_.c_str(), open_flags);
      if (fd_ < 0 && errno == ENOENT) continue;
      if (fd_ < 0) throw unwritable(temporary_);
    }
    bool const locked = lock();
    if (!locked && access_ == Access::alone) {
      if (created) remove();
      break;
    }
    bool const present = is_at(fd_, temporary_);  // otherwise another run has renamed, deleted or replaced it meanwhile
    if (created && present) return;
    if (present && ::unlink(temporary_.c_str()) != 0 && errno != ENOENT) throw unwritable(temporary_);
    leave(std::exchange(slot_, -1));
    leftover.reset(std::exchange(fd_, -1));
  }
  // Other runs cannot be seen without locks, so this one takes a name of its own.
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  for (int attempt = 0; fd_ < 0; ++attempt) {
    temporary_ = fmt::format("{}.{}-{}.part", path_, ::getpid(), attempt);
    if (!create_new() && errno != EEXIST) throw unwritable(path_);
  }
}

/// Creates the temporary file, unless there is one: then errno is EEXIST.
bool OutputFile::create_new() {
  BlockedSignals const until_it_is_entered;
  fd_ = ::open(temporary_.c_str(), O_CREAT | O_EXCL | open_flags, 0666);
  if (fd_ >= 0 && access_ == Access::alone) slot_ = enter(temporary_, fd_);
  return fd_ >= 0;
}

/// Opens what this run, or an earlier one, has created.
void OutputFile::open() {
  for (;;) {
    fd_ = ::open(temporary_.c_str(), open_flags);
    if (fd_ < 0 && errno == ENOENT && access_ == Access::resume)
      throw Error(fmt::format("{}: is missing, with the matrices that an earlier run has finished", temporary_));
    if (fd_ < 0) throw unwritable(temporary_);
    if (access_ == Access::join || !lock() || is_at(fd_, temporary_)) return;
    ::close(std::exchange(fd_, -1));  // a run that has ended meanwhile renamed or deleted the file
  }
}

/// Returns false where the file system has no locks.
bool OutputFile::lock() const {
  while (::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) throw Error(fmt::format("{}: another process is writing this output", temporary_));
    if (errno != EINTR) return false;
  }
  return true;
}

FileIdentity OutputFile::identity() const {
  struct statx status {};
  if (::statx(fd_, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &status) != 0) throw unwritable(temporary_);
  FileIdentity file{static_cast<std::int64_t>(status.stx_ino), 0, 0};
  if ((status.stx_mask & STATX_BTIME) != 0) {
    file[1] = status.stx_btime.tv_sec;
    file[2] = status.stx_btime.tv_nsec;
  }
  return file;
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
  if (!temporary_.empty() && is_at(fd_, temporary_)) ::unlink(temporary_.c_str());
  temporary_.clear();
  leave(std::exchange(slot_, -1));
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
  bool const replaced = !is_at(fd_, temporary_);  // by a run that does not see the lock
  int const locked = ::dup(fd_);                  // keeps the lock while close(), which may report an error, and rename() are called
  bool good = ::close(std::exchange(fd_, locked)) == 0;
  good = good && !replaced && ::rename(temporary_.c_str(), path_.c_str()) == 0;
  std::string const reason = good ? std::string() : replaced ? "another run has replaced " + temporary_ : std::strerror(errno);
  if (!good && access_ == Access::alone) remove();
  leave(std::exchange(slot_, -1));
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
