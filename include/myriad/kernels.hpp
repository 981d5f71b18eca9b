#pragma once
/// Where GPU kernels come from: the compiler (NVRTC), the user's cache, and packs.
///
/// A kernel is compiled for its exact problem when it is first used, and cached in memory and in a folder of the user. A pack is a file of
/// kernels compiled ahead of time; with one, no compiler is needed. docs/gpu.md has the search order.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "myriad/device.hpp"
#include "myriad/export.h"
#include "myriad/types.hpp"

namespace myriad {

/// Receives one line of text, such as: a kernel was compiled, the cache cannot be used.
using MessageHandler = std::function<void(std::string_view)>;

/// Sets the handler of the library's messages and returns the previous one. It may be called from any thread; an empty handler drops
/// messages. With the environment variable MYRIAD_VERBOSE=1 messages also appear on stderr.
MYRIAD_API MessageHandler on_message(MessageHandler handler);

/// GPUs, compiler, cache and packs of this machine. Members `..._problem` are empty if there is none.
struct GpuReport {
  int driver_version = 0;       ///< 13000 is CUDA 13.0; 0: none
  std::string driver_problem;   ///< why no GPU can be used
  std::vector<Device> devices;  ///< GPUs of this machine

  int compiler_version = 0;         ///< of NVRTC: 13000 is 13.0; 0: none
  std::string compiler_path;        ///< where NVRTC was found
  std::vector<std::string> tried;   ///< where NVRTC was looked for, in order, and what was found
  std::vector<int> compiler_archs;  ///< architectures that it compiles for: 90 is sm_90

  std::string cache_folder;   ///< the user's cache; empty: none is used
  std::string cache_problem;  ///< why the cache is not used

  struct Pack {
    std::string path;
    std::int64_t kernels = 0;
    std::string problem;
  };
  std::vector<Pack> packs;  ///< in the order in which they are searched
};
/// Looks for the driver, NVRTC, the cache and packs. Creates no folder.
MYRIAD_API GpuReport gpu_report();

/// Adds a folder in which NVRTC is looked for before all other places, unless MYRIAD_NVRTC is set: one that holds libnvrtc.so, a CUDA
/// toolkit, or the folder with Python's packages (site-packages). Folders are searched in the order in which they were added. NVRTC is
/// looked for once per process, when the first GPU queue is made or gpu_report is called; after that this throws Error.
MYRIAD_API void search_nvrtc(std::string const& folder);

/// Adds a folder whose *.pack files are searched for kernels after those of MYRIAD_PACK. Folders are searched in the order in which they
/// were added; one that does not exist has no packs. Packs are opened once per process, when the first GPU queue is made or gpu_report is
/// called; after that this throws Error.
MYRIAD_API void search_packs(std::string const& folder);

/// A kernel in the user's cache.
struct CachedKernel {
  std::string file;        ///< path
  std::string name;        ///< "myriad::lu_tiny<double, ...> for sm_90"; empty if the file is damaged
  std::string compiler;    ///< "NVRTC 13.0"
  std::int64_t bytes = 0;  ///< size of the file
};
MYRIAD_API std::vector<CachedKernel> cached_kernels();  ///< the kernels in the user's cache
/// Removes the kernels in the user's cache and returns their number. Other files in the folder are kept.
MYRIAD_API std::int64_t clear_kernel_cache();

/// Selects the kernels of a pack. An empty list of routines, sizes or types selects all.
struct PackOptions {
  std::vector<std::string> archs;     ///< "sm_90"; "compute_90": PTX for GPUs newer than the pack; at least one
  std::vector<std::string> routines;  ///< "gesv"
  std::vector<int> sizes;             ///< n
  std::vector<Dtype> dtypes;          ///< element types
  /// Files that programs wrote with MYRIAD_KERNEL_LIST: the pack has the kernels that these programs used, whatever their layouts and
  /// sizes. Routines, sizes and types must then be empty.
  std::vector<std::string> lists;
  int threads = 0;  ///< concurrent compilations; 0: number of cores
};
/// Compiles the kernels that `options` selects and writes them to `path`; needs no GPU. Returns their number; if no kernel matches, writes
/// nothing and returns 0. Throws BadArgument for an invalid architecture (sm_90a is not accepted: see docs/gpu.md) and for lists beside
/// routines, sizes or types, Unavailable without NVRTC, CompileError, and Error if a list cannot be read or the file cannot be written.
MYRIAD_API std::int64_t build_pack(PackOptions const& options, std::string const& path);

}  // namespace myriad
