#pragma once
/// NVRTC, the compiler of GPU kernels, loaded at run time through own declarations of its API; a test compares them with nvrtc.h if that
/// exists.

#include <memory>
#include <string>
#include <vector>

#include "runtime/sources.hpp"

namespace myriad::gpu {

namespace nvrtc {

enum class Result : int { success = 0, invalid_option = 5, compilation = 6 };
using Program = struct ProgramObject*;

#define MYRIAD_NVRTC_FUNCTIONS(X)                                                                          \
  X(nvrtcVersion, (int*, int*))                                                                            \
  X(nvrtcGetNumSupportedArchs, (int*))                                                                     \
  X(nvrtcGetSupportedArchs, (int*))                                                                        \
  X(nvrtcCreateProgram, (Program*, char const*, char const*, int, char const* const*, char const* const*)) \
  X(nvrtcDestroyProgram, (Program*))                                                                       \
  X(nvrtcAddNameExpression, (Program, char const*))                                                        \
  X(nvrtcCompileProgram, (Program, int, char const* const*))                                               \
  X(nvrtcGetLoweredName, (Program, char const*, char const**))                                             \
  X(nvrtcGetProgramLogSize, (Program, std::size_t*))                                                       \
  X(nvrtcGetProgramLog, (Program, char*))                                                                  \
  X(nvrtcGetPTXSize, (Program, std::size_t*))                                                              \
  X(nvrtcGetPTX, (Program, char*))                                                                         \
  X(nvrtcGetCUBINSize, (Program, std::size_t*))                                                            \
  X(nvrtcGetCUBIN, (Program, char*))

struct Api {
  char const* (*nvrtcGetErrorString)(Result) = nullptr;
#define MYRIAD_DECLARE(name, parameters) Result(*name) parameters = nullptr;
  MYRIAD_NVRTC_FUNCTIONS(MYRIAD_DECLARE)
#undef MYRIAD_DECLARE
};

}  // namespace nvrtc

/// One kernel to compile.
struct CompileJob {
  std::string source;                ///< text of the translation unit
  std::string name;                  ///< name expression of the kernel: "myriad::lu_tiny<double, ...>"
  std::vector<SourceFile> headers;   ///< included headers, under the names in #include
  std::string arch;                  ///< "sm_90", "sm_90a"; "compute_90": PTX only
  std::vector<std::string> options;  ///< beyond common_compile_options
  bool want_ptx = false;

  [[nodiscard]] bool is_virtual() const { return arch.starts_with("compute_"); }
};

struct Compiled {
  std::string cubin;  ///< empty for a virtual architecture
  std::string lowered_name;
  std::string log;  ///< with ptxas's report of registers, shared memory and spills
  std::string ptx;  ///< empty unless requested or for a virtual architecture
};

/// NVRTC, if it was found.
class Nvrtc {
 public:
  /// Looks for NVRTC: only at MYRIAD_NVRTC if that is set; else in `first`, which are folders as search_nvrtc takes them, CUDA toolkits,
  /// the loader's path, and NVIDIA's packages of Python environments.
  static Nvrtc find(std::vector<std::string> const& first = {});

  /// The process-wide instance, looked for once, in the folders of search_nvrtc first.
  static Nvrtc const& instance();

  [[nodiscard]] bool available() const noexcept { return static_cast<bool>(api_); }
  [[nodiscard]] int version() const noexcept { return version_; }  ///< 13000 is 13.0
  [[nodiscard]] std::string const& path() const noexcept { return path_; }
  [[nodiscard]] std::vector<std::string> const& tried() const noexcept { return tried_; }
  [[nodiscard]] std::vector<int> const& archs() const noexcept { return archs_; }
  /// "NVRTC 13.0", as in kernels' keys.
  [[nodiscard]] std::string name() const;
  /// Why it is not available, with everything that was tried.
  [[nodiscard]] std::string problem() const;

  /// Throws Unavailable if NVRTC is not available, CompileError with the log if the kernel does not compile. Thread-safe.
  [[nodiscard]] Compiled compile(CompileJob const& job) const;

 private:
  bool try_library(std::string const& path);

  std::shared_ptr<nvrtc::Api const> api_;
  int version_ = 0;
  std::string path_;
  std::vector<std::string> tried_;
  std::vector<int> archs_;
};

/// The options for every kernel, without the architecture.
std::vector<std::string> const& common_compile_options();

}  // namespace myriad::gpu
