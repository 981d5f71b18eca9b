#include "runtime/nvrtc.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "myriad/error.hpp"
#include "myriad/kernels.hpp"
#include "runtime/messages.hpp"
#include "runtime/search_folders.hpp"

namespace myriad::gpu {
namespace {

namespace fs = std::filesystem;

/// The first NVRTC with C++20 and a built-in ptxas.
constexpr int oldest_version = 12000;

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

/// Compares numbers in names as numbers: cuda-12.10 is newer than cuda-12.9.
bool newer_name(fs::path const& a, fs::path const& b) {
  std::string const x = a.filename().string();
  std::string const y = b.filename().string();
  return ::strverscmp(x.c_str(), y.c_str()) > 0;
}

/// Entries of a folder whose names start with `prefix`, newest name first; none if the folder cannot be read.
std::vector<fs::path> entries(fs::path const& folder, std::string_view prefix) {
  std::vector<fs::path> out;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (at->path().filename().string().starts_with(prefix)) out.push_back(at->path());
  std::sort(out.begin(), out.end(), newer_name);
  return out;
}

/// Shared objects of NVRTC in a folder, newest first: libnvrtc.so.13, libnvrtc.so.12, libnvrtc.so.
std::vector<fs::path> libraries_in(fs::path const& folder) { return entries(folder, "libnvrtc.so"); }

/// Library folders of a CUDA toolkit, or of a folder with its layout.
std::vector<fs::path> library_folders(fs::path const& root) {
  std::vector<fs::path> out{root / "lib64", root / "lib"};
  for (fs::path const& target : entries(root / "targets", "")) out.push_back(target / "lib");
  return out;
}

/// Library folders of NVIDIA's packages among Python's packages.
void add_packages(std::vector<fs::path>& out, fs::path const& packages) {
  for (fs::path const& package : entries(packages / "nvidia", "")) out.push_back(package / "lib");
}
/// The same in the Python environment at `root`.
std::vector<fs::path> python_folders(fs::path const& root) {
  std::vector<fs::path> out;
  for (char const* const lib : {"lib", "lib64"})
    for (fs::path const& python : entries(root / lib, "python3"))
      for (char const* const packages : {"site-packages", "dist-packages"}) add_packages(out, python / packages);
  return out;
}
/// Library folders of a folder that search_nvrtc takes.
std::vector<fs::path> folders_of(fs::path const& given) {
  std::vector<fs::path> out = library_folders(given);
  out.insert(out.begin(), given);
  add_packages(out, given);
  return out;
}

/// The folders of search_nvrtc. Never destroyed: at process exit static queues may still use the library.
SearchFolders& first_folders() {
  static auto* const folders = new SearchFolders("search_nvrtc", "NVRTC has been");
  return *folders;
}

/// The environments that `python3` on PATH may belong to, found without running it.
std::vector<fs::path> python_roots() {
  std::vector<fs::path> out;
  auto const add = [&](fs::path const& root) {
    if (!root.empty() && std::find(out.begin(), out.end(), root) == out.end()) out.push_back(root);
  };
  for (char const* const name : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (char const* const root = environment(name)) add(root);
  if (char const* const path = environment("PATH")) {
    std::istringstream folders(path);
    for (std::string folder; std::getline(folders, folder, ':');) {
      std::error_code error;
      fs::path const python = fs::path(folder) / "python3";
      if (folder.empty() || !fs::exists(python, error)) continue;
      add(fs::path(folder).parent_path());  // a virtual environment's python3 is a link to another's
      fs::path const real = fs::canonical(python, error);
      if (!error) add(real.parent_path().parent_path());
      break;
    }
  }
  if (char const* const home = environment("HOME")) add(fs::path(home) / ".local");
  add("/usr/local");
  add("/usr");
  return out;
}

/// NVRTC opens libnvrtc-builtins by its bare name, which fails outside the loader's path although both are in the same folder. So it is
/// loaded here first, by its path.
void load_builtins(std::string const& path, int version) {
  std::string const name = "libnvrtc-builtins.so." + version_text(version);
  std::error_code error;
  fs::path const real = fs::canonical(path, error);
  for (fs::path const& folder : {fs::path(path).parent_path(), real.parent_path()})
    if (!folder.empty() && ::dlopen((folder / name).c_str(), RTLD_NOW | RTLD_LOCAL)) return;
}

std::string log_of(nvrtc::Api const& api, nvrtc::Program program) {
  std::size_t size = 0;
  if (api.nvrtcGetProgramLogSize(program, &size) != nvrtc::Result::success || size <= 1) return {};
  std::string log(size, '\0');
  if (api.nvrtcGetProgramLog(program, log.data()) != nvrtc::Result::success) return {};
  log.resize(size - 1);
  return log;
}

}  // namespace

bool Nvrtc::try_library(std::string const& path) {
  // Not closed once in use: compilers keep global state.
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    char const* const reason = ::dlerror();
    tried_.push_back(reason && std::string_view(reason).starts_with(path) ? std::string(reason)
                                                                          : fmt::format("{}: {}", path, reason ? reason : "not found"));
    return false;
  }
  auto api = std::make_shared<nvrtc::Api>();
  char const* missing = nullptr;
  api->nvrtcGetErrorString = reinterpret_cast<char const* (*)(nvrtc::Result)>(::dlsym(library, "nvrtcGetErrorString"));
  if (!api->nvrtcGetErrorString) missing = "nvrtcGetErrorString";
#define MYRIAD_LOAD(name, parameters)                                         \
  api->name = reinterpret_cast<decltype(api->name)>(::dlsym(library, #name)); \
  if (!api->name && !missing) missing = #name;
  MYRIAD_NVRTC_FUNCTIONS(MYRIAD_LOAD)
#undef MYRIAD_LOAD
  int major = 0;
  int minor = 0;
  int number = 0;
  std::string problem;
  if (missing)
    problem = fmt::format("has no {}", missing);
  else if (api->nvrtcVersion(&major, &minor) != nvrtc::Result::success)
    problem = "does not tell its version";
  else if (major * 1000 + minor * 10 < oldest_version)
    problem = fmt::format("is version {}.{}; {} or newer is needed", major, minor, version_text(oldest_version));
  else if (api->nvrtcGetNumSupportedArchs(&number) != nvrtc::Result::success || number <= 0)
    problem = "does not tell what it compiles for";
  if (!problem.empty()) {
    tried_.push_back(fmt::format("{}: {}", path, problem));
    ::dlclose(library);
    return false;
  }
  archs_.resize(static_cast<std::size_t>(number));
  if (api->nvrtcGetSupportedArchs(archs_.data()) != nvrtc::Result::success) archs_.clear();
  std::sort(archs_.begin(), archs_.end());
  version_ = major * 1000 + minor * 10;
  path_ = path;
  // If the loader found it by its bare name, records the path of the file.
  Dl_info place{};
  if (path.find('/') == std::string::npos && ::dladdr(reinterpret_cast<void*>(api->nvrtcVersion), &place) && place.dli_fname)
    path_ = place.dli_fname;
  tried_.push_back(fmt::format("{}: version {}", path_, version_text(version_)));
  load_builtins(path_, version_);
  api_ = std::move(api);
  return true;
}

Nvrtc Nvrtc::find(std::vector<std::string> const& first) {
  Nvrtc out;
  if (char const* const path = environment("MYRIAD_NVRTC")) {
    out.try_library(path);
    if (!out.available() && !out.tried_.empty()) out.tried_.back() += " (MYRIAD_NVRTC; nothing else is tried)";
    return out;
  }
  auto const in_folders = [&](std::string const& what, std::vector<fs::path> const& folders) {
    bool any = false;
    for (fs::path const& folder : folders)
      for (fs::path const& library : libraries_in(folder)) {
        any = true;
        if (out.try_library(library.string())) return true;
      }
    if (!any) out.tried_.push_back(fmt::format("{}: no libnvrtc.so", what));
    return false;
  };

  for (std::string const& folder : first)
    if (in_folders(folder, folders_of(folder))) return out;
  for (char const* const name : {"CUDA_HOME", "CUDA_PATH"}) {
    if (char const* const root = environment(name)) {
      if (in_folders(fmt::format("{}={}", name, root), library_folders(root))) return out;
    } else {
      out.tried_.push_back(fmt::format("{}: not set", name));
    }
  }
  std::vector<fs::path> toolkits = entries("/usr/local", "cuda-");
  toolkits.insert(toolkits.begin(), "/usr/local/cuda");
  for (fs::path const& toolkit : toolkits)
    if (in_folders(toolkit.string(), library_folders(toolkit))) return out;
  for (char const* const name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"})
    if (out.try_library(name)) return out;
  for (fs::path const& root : python_roots()) {
    std::vector<fs::path> folders = python_folders(root);
    if (char const* const conda = environment("CONDA_PREFIX"); conda && root == conda) folders.push_back(root / "lib");
    if (in_folders(fmt::format("Python packages in {}", root.string()), folders)) return out;
  }
  return out;
}

Nvrtc const& Nvrtc::instance() {
  static Nvrtc const found = find(first_folders().take());
  return found;
}

std::string Nvrtc::name() const { return available() ? "NVRTC " + version_text(version_) : "no NVRTC"; }

std::string Nvrtc::problem() const {
  return available() ? std::string() : fmt::format("NVRTC, the compiler for GPU kernels, is not there; tried: {}", fmt::join(tried_, "; "));
}

std::vector<std::string> const& common_compile_options() {
  // The log has ptxas's report, from which a test reads registers and spills.
  static std::vector<std::string> const options{"--std=c++20", "--ptxas-options=-v"};
  return options;
}

Compiled Nvrtc::compile(CompileJob const& job) const {
  if (!available()) throw Unavailable(problem());
  nvrtc::Api const& rtc = *api_;
  auto const check = [&](nvrtc::Result result, char const* call) {
    if (result != nvrtc::Result::success)
      throw CompileError(fmt::format("{} for {}: {}: {}", job.name, job.arch, call, rtc.nvrtcGetErrorString(result)), {});
  };

  // NVRTC needs zero-terminated texts, which views are not.
  std::vector<std::string> names;
  std::vector<std::string> texts;
  for (SourceFile const& header : job.headers) {
    names.emplace_back(header.name);
    texts.emplace_back(header.text);
  }
  std::vector<char const*> name_pointers;
  std::vector<char const*> text_pointers;
  for (std::string const& name : names) name_pointers.push_back(name.c_str());
  for (std::string const& text : texts) text_pointers.push_back(text.c_str());

  std::vector<std::string> options{"--gpu-architecture=" + job.arch};
  options.insert(options.end(), common_compile_options().begin(), common_compile_options().end());
  options.insert(options.end(), job.options.begin(), job.options.end());
  std::vector<char const*> option_pointers;
  for (std::string const& option : options) option_pointers.push_back(option.c_str());

  struct OwnedProgram {
    nvrtc::Api const& rtc;
    nvrtc::Program program = nullptr;
    ~OwnedProgram() {
      if (program) rtc.nvrtcDestroyProgram(&program);
    }
  } owner{.rtc = rtc};
  nvrtc::Program& program = owner.program;
  check(rtc.nvrtcCreateProgram(&program, job.source.c_str(), "kernel.cu", static_cast<int>(names.size()), text_pointers.data(),
                               name_pointers.data()),
        "nvrtcCreateProgram");
  check(rtc.nvrtcAddNameExpression(program, job.name.c_str()), "nvrtcAddNameExpression");
  nvrtc::Result const result = rtc.nvrtcCompileProgram(program, static_cast<int>(options.size()), option_pointers.data());
  Compiled out;
  out.log = log_of(rtc, program);
  if (result != nvrtc::Result::success)
    throw CompileError(fmt::format("{} does not compile for {} with {} (options {}): {}\n{}", job.name, job.arch, name(),
                                   fmt::join(options, " "), rtc.nvrtcGetErrorString(result), out.log),
                       out.log);
  char const* lowered = nullptr;
  check(rtc.nvrtcGetLoweredName(program, job.name.c_str(), &lowered), "nvrtcGetLoweredName");
  out.lowered_name = lowered;
  std::size_t size = 0;
  if (!job.is_virtual()) {
    check(rtc.nvrtcGetCUBINSize(program, &size), "nvrtcGetCUBINSize");
    if (size == 0)
      throw CompileError(fmt::format("{}: '{}' is not an architecture that machine code is made for (sm_90 is)", job.name, job.arch),
                         out.log);
    out.cubin.resize(size);
    check(rtc.nvrtcGetCUBIN(program, out.cubin.data()), "nvrtcGetCUBIN");
  }
  if ((job.want_ptx || job.is_virtual()) && rtc.nvrtcGetPTXSize(program, &size) == nvrtc::Result::success && size > 0) {
    out.ptx.resize(size);
    check(rtc.nvrtcGetPTX(program, out.ptx.data()), "nvrtcGetPTX");
    out.ptx.resize(size - 1);
  }
  if (job.is_virtual() && out.ptx.empty()) throw CompileError(fmt::format("{} for {}: there is no PTX", job.name, job.arch), out.log);
  return out;
}

}  // namespace myriad::gpu

namespace myriad {

void search_nvrtc(std::string const& folder) { gpu::first_folders().add(folder); }

}  // namespace myriad
