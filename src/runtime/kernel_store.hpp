#pragma once
/// Compiled kernels, wherever they come from: packs, the user's cache on disk, NVRTC. Kernels that are loaded into a GPU are in
/// runtime/context.hpp.

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/kernel_file.hpp"
#include "runtime/nvrtc.hpp"
#include "runtime/sources.hpp"

namespace myriad::gpu {

/// What names a kernel.
struct KernelSource {
  std::string header;                  ///< the file that defines it, as it is included: "lu/lu_tiny.cuh"
  std::string name;                    ///< name expression of the instance: "myriad::lu_tiny<double, ...>"
  std::vector<std::string> options{};  ///< compiler options beyond the common ones: "--maxrregcount=128"
  bool arch_specific = false;          ///< uses features of one architecture alone: compiled for sm_90a instead of sm_90
  std::span<SourceFile const> files = embedded_sources();  ///< where the header and what it includes are
};

/// The architectures whose machine code runs on compute capability major.minor, best first: sm_89, sm_88 ... sm_80 for 8.9. Code for one
/// architecture alone runs on no other.
std::vector<std::string> usable_archs(int major, int minor, bool arch_specific);

/// The kernels of one user on disk: a folder of theirs, one file per kernel.
class DiskCache {
 public:
  /// An empty folder stands for no cache, with `problem` as the reason.
  explicit DiskCache(std::string folder, std::string problem = {}) : folder_(std::move(folder)), problem_(std::move(problem)) {}

  /// MYRIAD_CACHE_DIR ("off": none), else XDG_CACHE_HOME/myriad, else ~/.cache/myriad.
  static DiskCache from_environment();

  [[nodiscard]] std::string const& folder() const noexcept { return folder_; }

  /// Why the folder cannot be used as it is now; empty where it can, or could be made.
  [[nodiscard]] std::string problem() const;

  /// Makes the folder if need be, for the user alone. Returns problem().
  std::string prepare();

  /// The kernel with this key. A file that is damaged, of another format or of another user is none; `message` tells.
  [[nodiscard]] std::optional<KernelRecord> find(Hash const& key) const;

  /// Keeps a kernel. Returns what went wrong.
  std::string keep(KernelRecord const& record) const;

  /// A lock on one key between processes and threads, held while it lives. Waits for the holder, but not for ever: then, or where the file
  /// system has no locks, the work is done twice.
  class Lock {
   public:
    Lock(DiskCache const& cache, Hash const& key);
    ~Lock();
    Lock(Lock const&) = delete;
    Lock& operator=(Lock const&) = delete;

   private:
    int descriptor_ = -1;
  };

  /// Paths of the files of kernels, whatever their state.
  [[nodiscard]] std::vector<std::string> files() const;

 private:
  [[nodiscard]] std::string path_of(Hash const& key) const { return folder_ + "/" + hex(key) + ".kernel"; }

  std::string folder_;
  std::string problem_;
};

/// Packs in the order in which they are asked.
struct Packs {
  struct Place {
    std::string path;
    std::shared_ptr<Pack const> pack;  ///< null where it cannot be used
    std::string problem;
    bool asked_for;  ///< named by MYRIAD_PACK: that it cannot be used is an error
  };
  std::vector<Place> places;

  /// Files and folders in MYRIAD_PACK, separated by colons, then ../share/myriad/packs beside the library.
  static Packs find();
};

class KernelStore {
 public:
  /// `dump`: a folder that gets source, PTX and cubin of every kernel; packs and cache are then not asked. Empty: none.
  KernelStore(Nvrtc nvrtc, DiskCache cache, Packs packs, std::string dump = {})
      : nvrtc_(std::move(nvrtc)), cache_(std::move(cache)), packs_(std::move(packs)), dump_(std::move(dump)) {}

  /// As the environment has it: the one of this process, made once.
  static KernelStore& instance();

  /// The compiled kernel for compute capability major.minor. Throws Unavailable, naming the kernel, where no pack and no cache has it and
  /// there is no NVRTC; CompileError where it does not compile. Any thread.
  [[nodiscard]] KernelRecord obtain(KernelSource const& source, int major, int minor);

  /// Compiles without looking elsewhere, for a pack.
  [[nodiscard]] KernelRecord compile(KernelSource const& source, std::string const& arch);

  /// What names the compiled kernel: a hash of the format, header, name, options, all sources reached, architecture and compiler.
  static Hash key(KernelSource const& source, std::string const& arch, std::string const& compiler);

  /// Whether a kernel can be had at all, empty, or why not.
  [[nodiscard]] std::string problem() const;

  [[nodiscard]] Nvrtc const& nvrtc() const noexcept { return nvrtc_; }
  [[nodiscard]] DiskCache const& cache() const noexcept { return cache_; }
  [[nodiscard]] Packs const& packs() const noexcept { return packs_; }

 private:
  void dump(KernelSource const& source, std::vector<SourceFile> const& files, std::string const& arch, Compiled const& compiled) const;

  Nvrtc nvrtc_;
  DiskCache cache_;
  Packs packs_;
  std::string dump_;
  std::once_flag cache_checked_;
  bool cache_usable_ = false;
};

}  // namespace myriad::gpu
