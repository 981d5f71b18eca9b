#include "runtime/kernel_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "myriad/error.hpp"

namespace myriad::gpu {
namespace {

constexpr std::string_view record_magic = "MYRIADK\n";
constexpr std::string_view pack_magic = "MYRIADP\n";
constexpr std::uint64_t format_version = 1;
constexpr std::size_t hash_bytes = sizeof(Hash);
/// Magic number, version, checksum: the prefix of both kinds of file.
constexpr std::size_t prefix_bytes = 8 + 8 + hash_bytes;

void put(std::string& out, std::uint64_t value) {
  for (int shift = 0; shift < 64; shift += 8) out += static_cast<char>(value >> shift & 0xff);
}
void put(std::string& out, Hash const& hash) { out.append(reinterpret_cast<char const*>(hash.data()), hash.size()); }
void put_field(std::string& out, std::string_view text) {
  put(out, std::uint64_t{text.size()});
  out += text;
}

/// Reads from the front of `left`; `good` becomes false, for good, if the bytes end too early.
struct Reader {
  std::string_view left;
  bool good = true;

  std::string_view take(std::uint64_t size) {
    if (!good || size > left.size()) {
      good = false;
      return {};
    }
    std::string_view const out = left.substr(0, size);
    left.remove_prefix(size);
    return out;
  }
  std::uint64_t number() {
    std::uint64_t out = 0;
    int shift = 0;
    for (char const c : take(8)) {
      out |= std::uint64_t{static_cast<unsigned char>(c)} << shift;
      shift += 8;
    }
    return out;
  }
  Hash hash() {
    Hash out{};
    std::string_view const bytes = take(hash_bytes);
    if (good) std::memcpy(out.data(), bytes.data(), hash_bytes);
    return out;
  }
  std::string field() { return std::string(take(number())); }
};

std::string with_prefix(std::string_view magic, std::string_view content) {
  std::string out(magic);
  put(out, format_version);
  put(out, sha256(content));
  out += content;
  return out;
}

/// Checks magic number and version; returns the checksum that follows.
Hash read_prefix(Reader& reader, std::string_view magic, std::string& problem) {
  if (reader.take(magic.size()) != magic) {
    problem = "is not a file of this kind";
    return {};
  }
  std::uint64_t const version = reader.number();
  Hash const checksum = reader.hash();
  if (reader.good && version != format_version)
    problem = fmt::format("has format {}, this is the library of format {}", version, format_version);
  else if (!reader.good)
    problem = "is cut short";
  return checksum;
}

}  // namespace

/// A file open for reading.
class File {
 public:
  explicit File(std::string const& path) : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (open()) (void)::fstat(descriptor_, &opened_);
  }
  ~File() {
    if (open()) ::close(descriptor_);
  }
  File(File const&) = delete;
  File& operator=(File const&) = delete;

  [[nodiscard]] bool open() const { return descriptor_ >= 0; }
  /// Size when it was opened; 0 unless it is a regular file.
  [[nodiscard]] std::uint64_t size() const { return S_ISREG(opened_.st_mode) ? static_cast<std::uint64_t>(opened_.st_size) : 0; }
  /// Whether the file was written since it was opened, according to size and time, or cannot be queried any more. A new file with the same
  /// name does not count.
  [[nodiscard]] bool changed() const {
    struct stat now {};
    return ::fstat(descriptor_, &now) != 0 || now.st_size != opened_.st_size || now.st_mtim.tv_sec != opened_.st_mtim.tv_sec ||
           now.st_mtim.tv_nsec != opened_.st_mtim.tv_nsec;
  }
  /// Bytes from `offset` on; fewer than requested at the end of the file.
  [[nodiscard]] std::string read(std::uint64_t offset, std::uint64_t length) const {
    std::string out(length, '\0');
    std::size_t done = 0;
    while (done < length) {
      ::ssize_t const n = ::pread(descriptor_, out.data() + done, length - done, static_cast<::off_t>(offset + done));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;
      done += static_cast<std::size_t>(n);
    }
    out.resize(done);
    return out;
  }

 private:
  int descriptor_;
  struct stat opened_ {};
};

std::string to_bytes(KernelRecord const& record) {
  std::string content;
  put(content, record.key);
  for (std::string const* field : {&record.name, &record.arch, &record.compiler, &record.lowered_name, &record.log, &record.cubin})
    put_field(content, *field);
  return with_prefix(record_magic, content);
}

std::optional<KernelRecord> from_bytes(std::string_view bytes, std::string& problem) {
  Reader reader{.left = bytes};
  problem.clear();
  Hash const checksum = read_prefix(reader, record_magic, problem);
  if (!problem.empty()) return std::nullopt;
  if (sha256(reader.left) != checksum) {
    problem = "is damaged";
    return std::nullopt;
  }
  KernelRecord out;
  out.key = reader.hash();
  for (std::string* field : {&out.name, &out.arch, &out.compiler, &out.lowered_name, &out.log, &out.cubin}) *field = reader.field();
  if (!reader.good || !reader.left.empty()) {
    problem = "is damaged";
    return std::nullopt;
  }
  return out;
}

std::optional<std::string> read_file(std::string const& path) {
  File const file(path);
  if (!file.open()) return std::nullopt;
  return file.read(0, file.size());
}

std::string write_file(std::string const& path, std::string_view bytes, unsigned mode) {
  std::string temporary = path + ".XXXXXX";
  int const descriptor = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (descriptor < 0) return fmt::format("{} cannot be created: {}", temporary, std::strerror(errno));
  int problem = ::fchmod(descriptor, mode) == 0 ? 0 : errno;
  while (problem == 0 && !bytes.empty()) {
    ::ssize_t const n = ::write(descriptor, bytes.data(), bytes.size());
    if (n >= 0)
      bytes.remove_prefix(static_cast<std::size_t>(n));
    else if (errno != EINTR)
      problem = errno;
  }
  if (::close(descriptor) != 0 && problem == 0) problem = errno;
  if (problem == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) problem = errno;
  if (problem == 0) return {};
  ::unlink(temporary.c_str());
  return fmt::format("{} cannot be written: {}", path, std::strerror(problem));
}

Pack::Pack(std::string path) : path_(std::move(path)), file_(std::make_shared<File const>(path_)) {
  auto const fail = [&](std::string_view problem) { throw Error(fmt::format("pack {} {}", path_, problem)); };
  File const& file = *file_;
  if (!file.open()) fail(fmt::format("cannot be opened: {}", std::strerror(errno)));
  std::uint64_t const size = file.size();
  std::string const start = file.read(0, std::min<std::uint64_t>(prefix_bytes + 8, size));
  Reader prefix{.left = start};
  std::string problem;
  Hash const checksum = read_prefix(prefix, pack_magic, problem);
  std::uint64_t const length = prefix.number();
  if (problem.empty() && !prefix.good) problem = "is cut short";
  if (!problem.empty()) fail(problem);
  if (length > size - start.size()) fail("is cut short");
  std::string const index = file.read(start.size(), length);
  if (sha256(index) != checksum) fail("is damaged");
  Reader reader{.left = index};
  compiler_ = reader.field();
  std::uint64_t const count = reader.number();
  for (std::uint64_t i = 0; reader.good && i < count; ++i) {
    Entry entry{};
    entry.key = reader.hash();
    entry.offset = reader.number();
    entry.length = reader.number();
    if (entry.offset > size || entry.length > size - entry.offset) fail("is cut short");
    if (reader.good) index_.push_back(entry);
  }
  if (!reader.good || !reader.left.empty()) fail("is damaged");
}

std::optional<KernelRecord> Pack::find(Hash const& key) const {
  auto const at = std::lower_bound(index_.begin(), index_.end(), key, [](Entry const& entry, Hash const& k) { return entry.key < k; });
  if (at == index_.end() || at->key != key) return std::nullopt;
  std::string problem;
  std::optional<KernelRecord> record = from_bytes(file_->read(at->offset, at->length), problem);
  if (record && record->key != key) problem = "is damaged";
  if (problem.empty()) return record;
  if (file_->changed())
    problem =
        "is gone: the file was written over after it was opened; a new pack is to be written aside and renamed, as `myriad pack build` "
        "does";
  throw Error(fmt::format("pack {}: the kernel {} {}", path_, hex(key), problem));
}

void Pack::write(std::string const& path, std::vector<KernelRecord> records) {
  std::sort(records.begin(), records.end(), [](KernelRecord const& a, KernelRecord const& b) { return a.key < b.key; });
  std::string bodies;
  std::string index;
  put_field(index, records.empty() ? std::string() : records.front().compiler);
  put(index, std::uint64_t{records.size()});
  std::uint64_t const first = prefix_bytes + 8 + index.size() + records.size() * (hash_bytes + 16);
  for (KernelRecord const& record : records) {
    std::string const body = to_bytes(record);
    put(index, record.key);
    put(index, first + bodies.size());
    put(index, std::uint64_t{body.size()});
    bodies += body;
  }
  std::string file(pack_magic);
  put(file, format_version);
  put(file, sha256(index));
  put_field(file, index);
  file += bodies;
  if (std::string const problem = write_file(path, file, 0644); !problem.empty()) throw Error(problem);
}

}  // namespace myriad::gpu
