#pragma once
/// Finds compiled kernels in packs and the user's disk cache, or compiles them by NVRTC. Loaded kernels are in runtime/context.hpp.

#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/kernel_file.hpp"
#include "runtime/nvrtc.hpp"
#include "runtime/sources.hpp"

namespace myriad::gpu {

/// Identifies a kernel's source.
struct KernelSource {
  std::string header;                                      ///< header that defines it: "lu/lu_tiny.cuh"
  std::string name;                                        ///< name expression of the instance: "myriad::lu_tiny<double, ...>"
  std::vector<std::string> options{};                      ///< compiler options beyond the common ones: "--maxrregcount=128"
  bool arch_specific = false;                              ///< uses architecture-specific features: compiled for sm_90a instead of sm_90
  std::span<SourceFile const> files = embedded_sources();  ///< the header and its includes
};

/// The architectures whose machine code runs on compute capability major.minor, best first: sm_89, sm_88 ... sm_80 for 8.9.
/// Architecture-specific code runs on no other.
std::vector<std::string> usable_archs(int major, int minor, bool arch_specific);

/// The architecture of a pack's PTX, which drivers compile for any GPU of compute capability 9.0 or newer. It is that of clusters, which
/// routines use from 9.0 on; older GPUs run machine code for sm_80.
inline constexpr std::string_view virtual_arch = "compute_90";

/// Kinds of code that a driver loads.
struct DriverLimits {
  int version = std::numeric_limits<int>::max();  ///< 13000 is CUDA 13.0
  bool compiles_ptx = true;
  /// Whether it loads machine code, or PTX, of that compiler ("NVRTC 13.0"): machine code of its own major version and older ones, PTX of
  /// its own version and older ones.
  [[nodiscard]] bool take(std::string const& compiler, bool ptx) const;
};

/// A user's kernels on disk: one folder, one file per kernel.
class DiskCache {
 public:
  /// An empty folder means no cache, with `problem` as the reason.
  explicit DiskCache(std::string folder, std::string problem = {}) : folder_(std::move(folder)), problem_(std::move(problem)) {}

  /// MYRIAD_CACHE_DIR ("off": none), else XDG_CACHE_HOME/myriad, else ~/.cache/myriad.
  static DiskCache from_environment();

  [[nodiscard]] std::string const& folder() const noexcept { return folder_; }

  /// Why the folder cannot be used now; empty if it can be used or created.
  [[nodiscard]] std::string problem() const;

  /// Creates the folder if necessary, accessible to the user only. Returns problem().
  std::string prepare();

  /// The kernel with this key. Ignores, with a `message`, a file that is damaged, of another format or of another user.
  [[nodiscard]] std::optional<KernelRecord> find(Hash const& key) const;

  /// Stores a kernel. Returns the error, if any.
  std::string keep(KernelRecord const& record) const;

  /// A lock on one key between processes and threads, held during its lifetime. It waits for the holder with a timeout. After that, or if
  /// the file system has no locks, the work is done twice.
  class Lock {
   public:
    Lock(DiskCache const& cache, Hash const& key);
    ~Lock();
    Lock(Lock const&) = delete;
    Lock& operator=(Lock const&) = delete;

   private:
    int descriptor_ = -1;
  };

  /// Paths of all kernel files, also damaged ones.
  [[nodiscard]] std::vector<std::string> files() const;

 private:
  [[nodiscard]] std::string path_of(Hash const& key) const { return folder_ + "/" + hex(key) + ".kernel"; }

  std::string folder_;
  std::string problem_;
};

/// Packs in search order.
struct Packs {
  struct Place {
    std::string path;
    std::shared_ptr<Pack const> pack;  ///< null if it cannot be used
    std::string problem;
    bool asked_for;  ///< named by MYRIAD_PACK: it is an error if it cannot be used
  };
  std::vector<Place> places;

  /// Files and folders in MYRIAD_PACK, separated by colons, then `folders`, which are those of search_packs, then ../share/myriad/packs
  /// beside the library.
  static Packs find(std::vector<std::string> const& folders = {});
};

class KernelStore {
 public:
  /// `dump`: folder to which source, PTX and cubin of every kernel are written; packs and cache are then not used. Empty: none. `list`:
  /// file to which every kernel that is obtained is appended (kernel_list.hpp). Empty: none.
  KernelStore(Nvrtc nvrtc, DiskCache cache, Packs packs, std::string dump = {}, std::string list = {})
      : nvrtc_(std::move(nvrtc)), cache_(std::move(cache)), packs_(std::move(packs)), dump_(std::move(dump)), list_(std::move(list)) {}

  /// The process-wide instance, configured by the environment.
  static KernelStore& instance();

  /// The compiled kernel for compute capability major.minor: machine code of a pack, else PTX of a pack, else machine code of the cache or
  /// NVRTC. Packs whose compiler is too new for the driver are passed over. Throws Unavailable, with the kernel's name, if it is in no pack
  /// or cache and there is no NVRTC; CompileError if it does not compile. Thread-safe.
  [[nodiscard]] KernelRecord obtain(KernelSource const& source, int major, int minor, DriverLimits driver = {});

  /// Compiles without searching packs and cache; for building a pack. For virtual_arch the record holds PTX.
  [[nodiscard]] KernelRecord compile(KernelSource const& source, std::string const& arch);

  /// Key of the compiled kernel: a hash of the format, header, name, options, all included sources, architecture and compiler.
  static Hash key(KernelSource const& source, std::string const& arch, std::string const& compiler);

  /// Why no kernel can be obtained at all; empty if kernels can be.
  [[nodiscard]] std::string problem() const;

  [[nodiscard]] Nvrtc const& nvrtc() const noexcept { return nvrtc_; }
  [[nodiscard]] DiskCache const& cache() const noexcept { return cache_; }
  [[nodiscard]] Packs const& packs() const noexcept { return packs_; }

 private:
  std::optional<KernelRecord> find_in_packs(KernelSource const& source, std::vector<std::string> const& archs, int major,
                                            DriverLimits const& driver) const;
  void dump(KernelSource const& source, std::vector<SourceFile> const& files, std::string const& arch, Compiled const& compiled) const;

  Nvrtc nvrtc_;
  DiskCache cache_;
  Packs packs_;
  std::string dump_;
  std::string list_;
  std::once_flag cache_checked_;
  bool cache_usable_ = false;
};

}  // namespace myriad::gpu
