#pragma once
/// GPUs with their primary contexts and loaded kernels.

#include <array>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <future>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>

#include "myriad/device.hpp"
#include "runtime/driver.hpp"
#include "runtime/kernel_store.hpp"

namespace myriad::gpu {

/// Key of a loaded kernel: the kernel and its instance. Different KernelSources must have different keys.
struct KernelKey {
  std::uint64_t kernel = 0;
  std::array<std::uint64_t, 10> config{};

  bool operator==(KernelKey const&) const = default;
};

/// The FNV-1a hash of a text; KernelName uses it as the kernel's id.
constexpr std::uint64_t kernel_id(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (char const c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

/// The key of kernel `id` with the bytes of `parts`: integers, enumerations, plain structs without padding; 80 bytes at most. All uses of
/// one id must have the same types of parts.
template <typename... Parts>
KernelKey kernel_key(std::uint64_t id, Parts const&... parts) {
  static_assert((std::has_unique_object_representations_v<Parts> && ...), "padding would make equal parts differ");
  static_assert((sizeof(Parts) + ... + 0) <= sizeof(KernelKey::config));
  KernelKey key{.kernel = id};
  auto* at = reinterpret_cast<unsigned char*>(key.config.data());
  ((std::memcpy(at, &parts, sizeof(Parts)), at += sizeof(Parts)), ...);
  return key;
}

/// A loaded kernel.
struct Kernel {
  std::string name;  ///< with its architecture: "myriad::lu_tiny<double, ...> for sm_90"
  driver::FunctionHandle function = nullptr;
  int registers = 0;
  int local_bytes = 0;   ///< per thread; more than 0 means spills or arrays indexed at run time
  int shared_bytes = 0;  ///< static
  int max_threads = 0;
  int max_dynamic_shared_bytes = 0;  ///< maximum of a launch
  std::string log;                   ///< compiler output
};

/// A GPU. One object per device and process. Never destroyed: at process exit the driver may be unloaded first.
class Context {
 public:
  /// Throws Unavailable without a driver or a GPU, BadArgument if there are GPUs but not this one.
  static Context& of(int ordinal);

  [[nodiscard]] Device const& device() const noexcept { return device_; }
  [[nodiscard]] driver::ContextHandle handle() const noexcept { return handle_; }
  /// Whether kernels can access the address: device, managed or pinned memory, or any host memory if the system supports that.
  [[nodiscard]] bool reaches(void const* address) const;

  /// The object of type T that the library keeps for this GPU (so far tuning::Table only); the first call makes it. Thread-safe.
  template <typename T, std::invocable F>
  T& kept(F&& make) {
    std::call_once(kept_once_, [&] { kept_ = std::shared_ptr<T>(std::forward<F>(make)()); });
    return *static_cast<T*>(kept_.get());
  }

  /// The kernel of `key`; if it is not loaded yet, loads the KernelSource that `source()` returns. Thread-safe: concurrent calls load a
  /// kernel once. If loading fails, all waiting callers get the exception, and the next call tries again.
  template <std::invocable F>
  Kernel const& kernel(KernelKey const& key, F&& source) {
    if (Kernel const* const found = find(key)) return *found;
    return load(key, std::forward<F>(source)());
  }
  /// The same, or null if no pack has the kernel and there is no compiler. That result is cached, since packs and compiler do not change. A
  /// failure to compile or load throws here, too.
  template <std::invocable F>
  Kernel const* kernel_if_there(KernelKey const& key, F&& source) {
    if (Kernel const* const found = find(key)) return found;
    return is_missing(key) ? nullptr : load_if_there(key, std::forward<F>(source)());
  }

 private:
  explicit Context(int ordinal);
  ~Context();

  struct KeyHash {
    std::size_t operator()(KernelKey const& key) const noexcept {
      std::uint64_t hash = key.kernel;
      for (std::uint64_t const word : key.config) {
        hash = (hash ^ word) * 0x9e3779b97f4a7c15;
        hash ^= hash >> 32;
      }
      return hash;
    }
  };

  Kernel const* find(KernelKey const& key) const;
  Kernel const& load(KernelKey const& key, KernelSource const& source);
  bool is_missing(KernelKey const& key) const;
  Kernel const* load_if_there(KernelKey const& key, KernelSource const& source);
  std::unique_ptr<Kernel> load_module(KernelSource const& source);

  Device device_;
  driver::ContextHandle handle_ = nullptr;
  bool reaches_host_memory_ = false;

  std::once_flag kept_once_;
  std::shared_ptr<void> kept_;

  mutable std::shared_mutex kernels_mutex_;
  std::unordered_map<KernelKey, std::unique_ptr<Kernel const>, KeyHash> kernels_;
  std::unordered_set<KernelKey, KeyHash> missing_;  ///< kernels that kernel_if_there did not find
  std::mutex loading_mutex_;
  std::unordered_map<KernelKey, std::shared_future<Kernel const*>, KeyHash> loading_;
};

}  // namespace myriad::gpu
