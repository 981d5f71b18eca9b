#include "runtime/kernel_store.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <thread>

#include "myriad/error.hpp"
#include "myriad/kernels.hpp"
#include "runtime/kernel_list.hpp"
#include "runtime/messages.hpp"
#include "runtime/search_folders.hpp"

namespace myriad::gpu {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kernel_suffix = ".kernel";

/// Processor time of this thread, in which NVRTC compiles.
double processor_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

std::string translation_unit(KernelSource const& source) { return fmt::format("#include \"{}\"\n", source.header); }

std::vector<SourceFile> sources_of(KernelSource const& source) {
  std::vector<SourceFile> files = reached_sources(source.header, source.files);
  if (files.empty()) throw CompileError(fmt::format("{}: there is no source '{}'", source.name, source.header), {});
  return files;
}

/// Why a folder is unsafe for code that will be executed; empty if it is safe.
std::string folder_problem(std::string const& folder) {
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) return errno == ENOENT ? std::string() : fmt::format("{}: {}", folder, std::strerror(errno));
  if (!S_ISDIR(status.st_mode)) return fmt::format("{} is not a folder", folder);
  if (status.st_uid != ::geteuid()) return fmt::format("{} belongs to another user", folder);
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) return fmt::format("{} can be written by other users", folder);
  return {};
}

/// The folders of search_packs. Never destroyed: at process exit static queues may still use the library.
SearchFolders& pack_folders() {
  static auto* const folders = new SearchFolders("search_packs", "packs have been");
  return *folders;
}

/// The part of keys that depends on the kernel only. Reading all sources takes longer than the rest.
Sha256 hash_of(KernelSource const& source) {
  Sha256 hash;
  hash.add_field("myriad kernel 1").add_field(source.header).add_field(source.name);
  for (std::string const& option : common_compile_options()) hash.add_field(option);
  for (std::string const& option : source.options) hash.add_field(option);
  for (SourceFile const& file : sources_of(source)) hash.add_field("file").add_field(file.name).add_field(file.text);
  return hash;
}
Hash key_of(Sha256 kernel, std::string_view arch, std::string const& compiler) {
  return kernel.add_field("for").add_field(arch).add_field(compiler).finish();
}

/// 13000 for "NVRTC 13.0"; 0 if it is unknown.
int version_of(std::string const& compiler) {
  int major = 0;
  int minor = 0;
  return std::sscanf(compiler.c_str(), "NVRTC %d.%d", &major, &minor) == 2 ? major * 1000 + minor * 10 : 0;
}

}  // namespace

bool DriverLimits::take(std::string const& compiler, bool ptx) const {
  int const of_compiler = version_of(compiler);
  return ptx ? compiles_ptx && of_compiler <= version : of_compiler / 1000 <= version / 1000;
}

std::vector<std::string> usable_archs(int major, int minor, bool arch_specific) {
  if (arch_specific) return {fmt::format("sm_{}{}a", major, minor)};
  std::vector<std::string> out;
  for (int m = minor; m >= 0; --m) out.push_back(fmt::format("sm_{}{}", major, m));
  return out;
}

DiskCache DiskCache::from_environment() {
  if (char const* const folder = environment("MYRIAD_CACHE_DIR"))
    return std::strcmp(folder, "off") == 0 ? DiskCache("", "switched off by MYRIAD_CACHE_DIR") : DiskCache(folder);
  if (char const* const folder = environment("XDG_CACHE_HOME")) return DiskCache(std::string(folder) + "/myriad");
  if (char const* const home = environment("HOME")) return DiskCache(std::string(home) + "/.cache/myriad");
  return DiskCache("", "there is no place for it: none of MYRIAD_CACHE_DIR, XDG_CACHE_HOME and HOME is set");
}

std::string DiskCache::problem() const { return folder_.empty() ? problem_ : folder_problem(folder_); }

std::string DiskCache::prepare() {
  if (folder_.empty()) return problem_;
  std::error_code error;
  fs::path const path = fs::path(folder_).lexically_normal();
  fs::create_directories(path.has_filename() ? path.parent_path() : path.parent_path().parent_path(), error);
  if (::mkdir(folder_.c_str(), 0700) != 0 && errno != EEXIST) return fmt::format("{} cannot be made: {}", folder_, std::strerror(errno));
  return folder_problem(folder_);
}

std::optional<KernelRecord> DiskCache::find(Hash const& key) const {
  std::string const path = path_of(key);
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  if (status.st_uid != ::geteuid()) {
    message(fmt::format("{} belongs to another user and is not used", path));
    return std::nullopt;
  }
  std::string problem = "cannot be read";
  std::optional<KernelRecord> record;
  if (auto const bytes = read_file(path)) record = from_bytes(*bytes, problem);
  if (record && record->key != key) problem = "holds another kernel";
  if (problem.empty()) return record;
  message(fmt::format("{} {} and is made anew", path, problem));
  return std::nullopt;
}

std::string DiskCache::keep(KernelRecord const& record) const { return write_file(path_of(record.key), to_bytes(record), 0600); }

// Each key locks one byte of a common file, which needs no cleanup and does not grow. The lock belongs to the open file description, not to
// the process, so it also excludes other threads.
DiskCache::Lock::Lock(DiskCache const& cache, Hash const& key) {
  descriptor_ = ::open((cache.folder_ + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor_ < 0) return;
  struct flock range {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  std::uint64_t place = 0;
  std::memcpy(&place, key.data(), sizeof(place));
  range.l_start = static_cast<::off_t>(place >> 2);
  range.l_len = 1;
  auto const patience = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (::fcntl(descriptor_, F_OFD_SETLK, &range) != 0) {
    if ((errno != EAGAIN && errno != EACCES && errno != EINTR) || std::chrono::steady_clock::now() > patience) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}
DiskCache::Lock::~Lock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::vector<std::string> DiskCache::files() const {
  std::vector<std::string> out;
  std::error_code error;
  if (folder_.empty()) return out;
  for (fs::directory_iterator at(folder_, error), end; !error && at != end; at.increment(error)) {
    std::string const name = at->path().filename().string();
    if (name.size() == 2 * sizeof(Hash) + kernel_suffix.size() && name.ends_with(kernel_suffix)) out.push_back(at->path().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

Packs Packs::find(std::vector<std::string> const& folders) {
  Packs out;
  auto const add = [&](fs::path const& path, bool asked_for) {
    Place place{.path = path.string(), .pack = nullptr, .problem = {}, .asked_for = asked_for};
    try {
      place.pack = std::make_shared<Pack const>(place.path);
    } catch (Error const& error) {
      place.problem = error.what();
      message(place.problem);
    }
    out.places.push_back(std::move(place));
  };
  auto const add_folder = [&](fs::path const& folder, bool asked_for) {
    std::vector<fs::path> files;
    std::error_code error;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
      if (at->path().extension() == ".pack") files.push_back(at->path());
    std::sort(files.begin(), files.end());
    for (fs::path const& file : files) add(file, asked_for);
  };
  std::error_code error;
  if (char const* const list = environment("MYRIAD_PACK")) {
    std::istringstream paths(list);
    for (std::string path; std::getline(paths, path, ':');) {
      if (path.empty()) continue;
      if (fs::is_directory(path, error))
        add_folder(path, true);
      else
        add(path, true);
    }
  }
  for (std::string const& folder : folders) add_folder(folder, false);
  Dl_info library{};
  if (::dladdr(reinterpret_cast<void*>(&usable_archs), &library) && library.dli_fname) {
    fs::path const file = fs::canonical(library.dli_fname, error);
    if (!error) {
      // lib/libmyriad.so, and lib/x86_64-linux-gnu/libmyriad.so on Debian
      fs::path const folder = file.parent_path();
      add_folder(folder.parent_path() / "share/myriad/packs", false);
      if (folder.parent_path().filename() == "lib") add_folder(folder.parent_path().parent_path() / "share/myriad/packs", false);
    }
  }
  return out;
}

KernelStore& KernelStore::instance() {
  static auto* const store = [] {
    auto const path = [](char const* name) {
      char const* const value = environment(name);
      return std::string(value ? value : "");
    };
    return new KernelStore(Nvrtc::instance(), DiskCache::from_environment(), Packs::find(pack_folders().take()), path("MYRIAD_DUMP"),
                           path("MYRIAD_KERNEL_LIST"));
  }();  // not destroyed: queues may outlive main
  return *store;
}

Hash KernelStore::key(KernelSource const& source, std::string const& arch, std::string const& compiler) {
  return key_of(hash_of(source), arch, compiler);
}

std::string KernelStore::problem() const {
  if (nvrtc_.available()) return {};
  for (Packs::Place const& place : packs_.places)
    if (place.pack) return {};
  return nvrtc_.problem() + "; and there is no pack of compiled kernels (MYRIAD_PACK)";
}

KernelRecord KernelStore::compile(KernelSource const& source, std::string const& arch) {
  auto const start = std::chrono::steady_clock::now();
  double const processor_start = processor_seconds();
  std::vector<SourceFile> const files = sources_of(source);
  Compiled compiled = nvrtc_.compile({.source = translation_unit(source),
                                      .name = source.name,
                                      .headers = files,
                                      .arch = arch,
                                      .options = source.options,
                                      .want_ptx = !dump_.empty()});
  double const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  message(fmt::format("compiled {} for {} in {:.2f} s, {:.2f} s of processor time", source.name, arch, seconds,
                      processor_seconds() - processor_start));
  if (!dump_.empty()) dump(source, files, arch, compiled);
  return {.key = key(source, arch, nvrtc_.name()),
          .name = source.name,
          .arch = arch,
          .compiler = nvrtc_.name(),
          .lowered_name = std::move(compiled.lowered_name),
          .log = std::move(compiled.log),
          .cubin = std::move(arch == virtual_arch ? compiled.ptx : compiled.cubin)};
}

std::optional<KernelRecord> KernelStore::find_in_packs(KernelSource const& source, std::vector<std::string> const& archs, int major,
                                                       DriverLimits const& driver) const {
  for (Packs::Place const& place : packs_.places)
    if (!place.pack && place.asked_for) throw Error(fmt::format("MYRIAD_PACK: {}", place.problem));
  if (packs_.places.empty()) return std::nullopt;
  Sha256 const kernel = hash_of(source);
  auto const find = [&](std::string_view arch, bool ptx) -> std::optional<KernelRecord> {
    for (Packs::Place const& place : packs_.places)
      if (place.pack && driver.take(place.pack->compiler(), ptx))
        if (auto record = place.pack->find(key_of(kernel, arch, place.pack->compiler()))) return record;
    return std::nullopt;
  };
  for (std::string const& arch : archs)
    if (auto record = find(arch, false)) return record;
  return major >= 9 && !source.arch_specific ? find(virtual_arch, true) : std::nullopt;
}

KernelRecord KernelStore::obtain(KernelSource const& source, int major, int minor, DriverLimits driver) {
  if (!list_.empty())
    if (std::string const problem = append_to_kernel_list(list_, source); !problem.empty())
      throw Error(fmt::format("MYRIAD_KERNEL_LIST: {}", problem));
  std::vector<std::string> const archs = usable_archs(major, minor, source.arch_specific);
  if (dump_.empty())
    if (auto record = find_in_packs(source, archs, major, driver)) return *std::move(record);
  if (!nvrtc_.available()) {
    std::vector<std::string> paths;
    for (Packs::Place const& place : packs_.places) {
      paths.push_back(place.problem.empty() ? place.path : place.problem);
      if (place.pack && !driver.take(place.pack->compiler(), false))
        paths.back() +=
            fmt::format(": {} is newer than the driver, {}.{}", place.pack->compiler(), driver.version / 1000, driver.version % 1000 / 10);
      else if (place.pack && !driver.compiles_ptx)
        paths.back() += ": its PTX is not used, since the driver does not compile PTX";
    }
    throw Unavailable(fmt::format("the kernel {} for {} is in no pack ({}) and cannot be compiled: {}", source.name, archs.front(),
                                  paths.empty() ? "there is none" : fmt::format("{}", fmt::join(paths, ", ")), nvrtc_.problem()));
  }
  // The best architecture that this NVRTC supports.
  auto const known = [&](std::string const& arch) {
    return std::any_of(nvrtc_.archs().begin(), nvrtc_.archs().end(),
                       [&](int a) { return arch == fmt::format("sm_{}", a) || arch == fmt::format("sm_{}a", a); });
  };
  auto const arch = std::find_if(archs.begin(), archs.end(), known);
  if (arch == archs.end())
    throw Unavailable(
        fmt::format("{} compiles for none of {}; it knows {}", nvrtc_.name(), fmt::join(archs, ", "), fmt::join(nvrtc_.archs(), ", ")));
  if (!dump_.empty()) return compile(source, *arch);

  std::call_once(cache_checked_, [&] {
    std::string const problem = cache_.prepare();
    cache_usable_ = problem.empty();
    if (!cache_usable_) message(fmt::format("compiled kernels are not kept: {}", problem));
  });
  if (!cache_usable_) return compile(source, *arch);
  Hash const name = key(source, *arch, nvrtc_.name());
  if (auto record = cache_.find(name)) return *std::move(record);
  DiskCache::Lock const lock(cache_, name);
  if (auto record = cache_.find(name)) return *std::move(record);  // another process compiled it meanwhile
  KernelRecord record = compile(source, *arch);
  if (std::string const problem = cache_.keep(record); !problem.empty()) message(problem);
  return record;
}

void KernelStore::dump(KernelSource const& source, std::vector<SourceFile> const& files, std::string const& arch,
                       Compiled const& compiled) const {
  std::string problem;
  auto const write = [&](fs::path const& path, std::string_view text) {
    std::error_code error;
    fs::create_directories(path.parent_path(), error);
    if (problem.empty()) problem = write_file(path.string(), text, 0644);
  };
  fs::path const folder(dump_);
  for (SourceFile const& file : files) write(folder / file.name, file.text);
  std::string stem;
  for (char const c : source.name) {
    bool const plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (plain || (!stem.empty() && stem.back() != '_')) stem += plain ? c : '_';
  }
  // Long names are truncated; the key makes them unique.
  stem = fmt::format("{}-{}-{}", stem.substr(0, 100), hex(key(source, arch, nvrtc_.name())).substr(0, 8), arch);
  write(folder / (stem + ".cu"), fmt::format("// {}\n// {} {}\n{}", source.name, fmt::join(common_compile_options(), " "),
                                             fmt::join(source.options, " "), translation_unit(source)));
  write(folder / (stem + ".ptx"), compiled.ptx);
  write(folder / (stem + ".cubin"), compiled.cubin);
  write(folder / (stem + ".log"), compiled.log);
  if (!problem.empty()) message(fmt::format("MYRIAD_DUMP: {}", problem));
}

}  // namespace myriad::gpu

namespace myriad {

void search_packs(std::string const& folder) { gpu::pack_folders().add(folder); }

}  // namespace myriad
