#include "journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>

#include "command.hpp"
#include "io/error.hpp"
#include "io/output_file.hpp"
#include "io/text.hpp"

namespace myriad::cli {

using nlohmann::json;

void Chunk::keep_worse(double error, std::int64_t matrix) {
  if (worst && (std::isnan(*worst) || error <= *worst)) return;
  worst = error;
  worst_matrix = matrix;
}

void Chunk::add(Chunk const& later) {
  count += later.count;
  failed += later.failed;
  warned += later.warned;
  for (Failure const& failure : later.failures)
    if (failures.size() < listed) failures.push_back(failure);
  for (std::string const& warning : later.warnings)
    if (warnings.size() < listed) warnings.push_back(warning);
  if (later.worst) keep_worse(*later.worst, later.worst_matrix);
}

json to_json(Chunk const& chunk) {
  json out{{"first", chunk.first}, {"count", chunk.count}};
  if (chunk.failed > 0) {
    json failures = json::array();
    for (auto const& f : chunk.failures) failures.push_back({f.matrix, f.info, io::printable(f.reason)});
    out["failed"] = chunk.failed;
    out["failures"] = std::move(failures);
  }
  if (chunk.warned > 0) {
    json warnings = json::array();
    for (std::string const& text : chunk.warnings) warnings.push_back(io::printable(text));
    out["warned"] = chunk.warned;
    out["warnings"] = std::move(warnings);
  }
  // JSON has neither NaN nor infinity.
  if (chunk.worst)
    out["worst"] = {std::isfinite(*chunk.worst) ? json(*chunk.worst) : json(fmt::format("{}", *chunk.worst)), chunk.worst_matrix};
  json checksums = json::array();
  for (io::Piece const& piece : chunk.pieces) checksums.push_back(piece.checksums);
  out["checksums"] = std::move(checksums);
  return out;
}

Chunk chunk_of(json const& in) {
  Chunk chunk;
  chunk.first = in.at("first");
  chunk.count = in.at("count");
  if (in.contains("failed")) {
    chunk.failed = in.at("failed");
    for (json const& f : in.at("failures")) chunk.failures.push_back({f.at(0), f.at(1), f.at(2)});
  }
  if (in.contains("warned")) {
    chunk.warned = in.at("warned");
    chunk.warnings = in.at("warnings");
  }
  if (in.contains("worst")) {
    json const& error = in.at("worst").at(0);
    chunk.worst = error.is_string() ? std::strtod(error.get<std::string>().c_str(), nullptr) : error.get<double>();
    chunk.worst_matrix = in.at("worst").at(1);
  }
  for (json const& checksums : in.at("checksums")) chunk.pieces.push_back({chunk.first, chunk.count, checksums});
  return chunk;
}

Ranges missing_from(std::vector<Chunk> const& chunks, std::int64_t count) {
  Ranges done;
  for (Chunk const& chunk : chunks) done.emplace_back(chunk.first, chunk.count);
  std::sort(done.begin(), done.end());
  Ranges missing;
  std::int64_t next = 0;
  for (auto const& [first, many] : done) {
    if (first > next) missing.emplace_back(next, first - next);
    next = std::max(next, first + many);
  }
  if (next < count) missing.emplace_back(next, count - next);
  return missing;
}

namespace {

constexpr std::int64_t line_length = 512;              ///< of the first line, with its line feed
constexpr std::int64_t reported_at = line_length - 2;  ///< offset of its mark: a process has reported what is missing
constexpr char reported = '*';

/// Locks a byte of the journal for this process; false where another one has it. File systems without locks are taken to have it free.
bool lock(int fd, int how, std::int64_t offset) {
  struct flock range {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_start = offset;
  range.l_len = 1;
  while (::fcntl(fd, how, &range) != 0) {
    if (errno == EACCES || errno == EAGAIN) return false;
    if (errno != EINTR) break;
  }
  return true;
}

int reporting_fd = -1;

/// Async-signal-safe.
void report_missing() {
  int const fd = reporting_fd;
  if (fd < 0) return;
  lock(fd, F_SETLKW, reported_at);
  std::array<char, line_length> line{};
  if (::pread(fd, line.data(), line.size(), 0) != line_length || line[reported_at] == reported) return;
  static_cast<void>(!::pwrite(fd, &reported, 1, reported_at));
  std::size_t length = reported_at;
  while (length > 0 && line[length - 1] == ' ') --length;
  line[length] = '\n';
  static_cast<void>(!::write(STDERR_FILENO, line.data(), length + 1));
}

/// Size and time of modification, which a rename keeps; null where there is no file.
json identity_of(std::string const& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return nullptr;
  return {status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

std::string range_text(std::pair<std::int64_t, std::int64_t> const& range) {
  return range.second == 1 ? fmt::format("{}", range.first) : fmt::format("{} to {}", range.first, range.first + range.second - 1);
}

}  // namespace

std::string missing_text(std::string const& output, std::vector<Chunk> const& chunks, std::int64_t count) {
  Ranges const missing = missing_from(chunks, count);
  std::int64_t left = 0;
  for (auto const& range : missing) left += range.second;
  constexpr std::size_t most = 5;
  std::string ranges;
  for (std::size_t i = 0; i < std::min(missing.size(), most); ++i) ranges += (i > 0 ? ", " : "") + range_text(missing[i]);
  if (missing.size() > most) ranges += fmt::format(" and {} more ranges", missing.size() - most);
  std::string name = io::printable(output);
  if (name.size() > 120) name = "..." + name.substr(name.size() - 117);
  if (left == 0) return fmt::format("{} is not complete: all {} matrices are done; --resume completes it", name, count);
  return fmt::format("{} is not complete: {} of {} matrices are done; missing: {}; --resume goes on from there", name, count - left, count,
                     ranges);
}

Journal::Journal(std::string const& command, std::string const& output, std::int64_t count, json const& job, bool resume)
    : command_(command), output_(output), path_(path_for(output)), count_(count) {
  for (;;) {
    fd_ = ::open(path_.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666);
    if (fd_ < 0) throw io::Error(fmt::format("{}: cannot be written: {}", path_, std::strerror(errno)));
    if (!lock(fd_, F_SETLK, 0)) {
      ::close(fd_);
      throw UsageError(fmt::format("{}: another process is writing this output", path_));
    }
    struct stat locked {
    }, present{};
    if (::fstat(fd_, &locked) == 0 && ::stat(path_.c_str(), &present) == 0 && locked.st_dev == present.st_dev &&
        locked.st_ino == present.st_ino)
      break;
    ::close(fd_);  // a process that has ended meanwhile deleted the file
  }
  std::string text;
  std::array<char, 65536> piece{};
  for (ssize_t got = 0; (got = ::pread(fd_, piece.data(), piece.size(), static_cast<off_t>(text.size()))) > 0;)
    text.append(piece.data(), static_cast<std::size_t>(got));
  try {
    read(text, job, resume);
  } catch (...) {
    ::close(fd_);
    throw;
  }
  if (chunks_.empty()) start(job);
  write(" ", reported_at);
}

Journal::~Journal() {
  if (fd_ >= 0) ::close(fd_);
}

void Journal::read(std::string const& text, json const& job, bool resume) {
  std::size_t at = line_length;
  auto const next_line = [&]() -> std::optional<json> {
    if (at >= text.size()) return std::nullopt;
    std::size_t const end = text.find('\n', at);
    if (end == std::string::npos) return std::nullopt;  // the run ended while it was written
    json line =
        json::parse(text.begin() + static_cast<std::ptrdiff_t>(at), text.begin() + static_cast<std::ptrdiff_t>(end), nullptr, false);
    if (line.is_discarded())
      throw UsageError(fmt::format("{}: is damaged; to start anew, delete it and {}", path_, io::unfinished_path(output_)));
    at = end + 1;
    return line;
  };
  auto const former = next_line();
  if (!former) return;
  try {
    while (auto const line = next_line()) {
      if (line->contains("complete"))
        files_ = line->at("complete");
      else if (line->contains("unfinished"))
        unfinished_ = line->at("unfinished");
      else
        chunks_.push_back(chunk_of(*line));
    }
  } catch (json::exception const&) {
    throw UsageError(fmt::format("{}: is damaged; to start anew, delete it and {}", path_, io::unfinished_path(output_)));
  }
  end_ = static_cast<std::int64_t>(at);
  if (chunks_.empty()) return;
  std::int64_t done = 0;
  for (Chunk const& chunk : chunks_) done += chunk.count;
  if (!resume)
    throw UsageError(
        fmt::format("an earlier run has left {} finished matrices of {}; --resume goes on from there; to start anew, delete {} and {}",
                    done, output_, path_, io::unfinished_path(output_)));
  for (auto const& [key, value] : job.items())
    if (!former->contains(key) || (*former)[key] != value)
      throw UsageError(fmt::format("--resume: {} is of another job: {} {}, now {}; to start anew, delete it and {}", path_, key,
                                   former->contains(key) ? (*former)[key].dump() : "missing", value.dump(), io::unfinished_path(output_)));
}

void Journal::start(json const& job) {
  files_ = nullptr;
  if (::ftruncate(fd_, 0) != 0) throw io::Error(fmt::format("{}: cannot be written: {}", path_, std::strerror(errno)));
  write_missing();
  write("\n", line_length - 1);
  std::string const line = job.dump() + "\n";
  write(line, line_length);
  end_ = line_length + static_cast<std::int64_t>(line.size());
}

void Journal::write_missing() {
  std::string line = fmt::format("myriad {}: {}", command_, missing());
  line.resize(static_cast<std::size_t>(reported_at), ' ');
  write(line, 0);
}

void Journal::append(std::string_view text) {
  write(text, end_);
  end_ += static_cast<std::int64_t>(text.size());
  if (::fdatasync(fd_) != 0 && errno != EINVAL) throw io::Error(fmt::format("{}: cannot be written: {}", path_, std::strerror(errno)));
}

void Journal::begin(std::vector<io::FileIdentity> const& unfinished) { append(json{{"unfinished", unfinished}}.dump() + "\n"); }

void Journal::expect_unfinished(std::size_t f, io::FileIdentity const& file, std::string const& path) const {
  if (f < unfinished_.size() && io::is_same(file, unfinished_[f])) return;
  throw UsageError(
      fmt::format("--resume: {}: is not the file that the earlier run has left, so its finished matrices are lost; to start "
                  "anew, delete {}",
                  path, path_));
}

void Journal::complete(std::vector<std::string> const& files) {
  json identities = json::array();
  for (std::string const& file : files) identities.push_back(identity_of(file));
  append(json{{"complete", identities}}.dump() + "\n");
}

bool Journal::has_completed(std::size_t f, std::string const& path) const {
  return f < files_.size() && !files_[f].is_null() && identity_of(path) == files_[f];
}

void Journal::add(std::vector<Chunk> chunks) {
  std::string text;
  for (Chunk const& chunk : chunks) text += to_json(chunk).dump() + "\n";
  append(text);
  for (Chunk& chunk : chunks) chunks_.push_back(std::move(chunk));
  write_missing();
}

void Journal::write(std::string_view text, std::int64_t offset) const {
  while (!text.empty()) {
    ssize_t const written = ::pwrite(fd_, text.data(), text.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw io::Error(fmt::format("{}: cannot be written: {}", path_, std::strerror(errno)));
    text.remove_prefix(static_cast<std::size_t>(written));
    offset += written;
  }
}

void Journal::remove() noexcept { ::unlink(path_.c_str()); }

void report_missing_on_signal(std::string const& output) {
  reporting_fd = ::open(Journal::path_for(output).c_str(), O_RDWR | O_CLOEXEC);
  io::set_signal_report(report_missing);
}

void report_nothing_on_signal() noexcept { io::set_signal_report(nullptr); }

}  // namespace myriad::cli
