#pragma once
/// Sources of GPU kernels: the compiler on this machine, the user's cache, packs.
///
/// A kernel is compiled for exactly the case at hand when it is used for the first time, and kept: in memory, and in a folder of the user's
/// own. A pack is a file of kernels compiled ahead of time; with one, no compiler is needed. docs/gpu.md says where each is looked for.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "myriad/device.hpp"
#include "myriad/export.h"
#include "myriad/types.hpp"

namespace myriad {

/// Gets one line of text: a kernel was compiled, a cache cannot be used.
using MessageHandler = std::function<void(std::string_view)>;

/// Messages of the library go to `handler` from now on, from whichever thread has one; an empty one drops them. Returns the handler before.
/// With the environment variable MYRIAD_VERBOSE=1 they also appear on stderr.
MYRIAD_API MessageHandler on_message(MessageHandler handler);

/// GPUs, compiler, cache and packs of this machine. `..._problem` is empty where all is well.
struct GpuReport {
  int driver_version = 0;       ///< 13000 is CUDA 13.0; 0: none
  std::string driver_problem;   ///< why there is no GPU
  std::vector<Device> devices;  ///< GPUs of this machine

  int compiler_version = 0;         ///< of NVRTC, 13000 is 13.0; 0: none
  std::string compiler_path;        ///< where NVRTC was found
  std::vector<std::string> tried;   ///< where it was looked for, in order, and what was there
  std::vector<int> compiler_archs;  ///< what it compiles for: 90 is sm_90

  std::string cache_folder;   ///< the user's cache; empty: none is used
  std::string cache_problem;  ///< why the cache is not used

  struct Pack {
    std::string path;
    std::int64_t kernels = 0;
    std::string problem;
  };
  std::vector<Pack> packs;  ///< in the order in which they are searched
};
/// Looks for the driver, NVRTC, the cache and packs. Makes no folder.
MYRIAD_API GpuReport gpu_report();

/// A kernel in the user's cache.
struct CachedKernel {
  std::string file;        ///< path
  std::string name;        ///< "myriad::lu_tiny<double, ...> for sm_90"; empty where the file is damaged
  std::string compiler;    ///< "NVRTC 13.0"
  std::int64_t bytes = 0;  ///< size of the file
};
MYRIAD_API std::vector<CachedKernel> cached_kernels();  ///< the kernels in the user's cache
/// Removes the kernels in the user's cache; returns how many there were. Other files in the folder are left alone.
MYRIAD_API std::int64_t clear_kernel_cache();

/// The kernels that a pack is to hold. An empty list stands for all.
struct PackOptions {
  std::vector<std::string> archs;     ///< "sm_90"; there has to be one
  std::vector<std::string> routines;  ///< "gesv"
  std::vector<int> sizes;             ///< n
  std::vector<Dtype> dtypes;          ///< element types
  int threads = 0;                    ///< compilations at the same time; 0: as many as there are cores
};
/// Compiles the kernels that `options` names, whether or not this machine has a GPU, and writes them to `path`. Returns how many there
/// are; writes nothing and returns 0 where no kernel matches. Throws BadArgument for what is no architecture (sm_90a is none: see
/// docs/gpu.md), Unavailable without NVRTC, CompileError, Error where the file cannot be written.
MYRIAD_API std::int64_t build_pack(PackOptions const& options, std::string const& path);

}  // namespace myriad
