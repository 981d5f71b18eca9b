#pragma once
/// Own declarations of the CUDA driver API, so that building needs no toolkit. libcuda is loaded when the first GPU queue is made. Names,
/// values and layouts are the driver's; a test compares them with cuda.h if that exists.

#include <cstddef>
#include <cstdint>
#include <string>

namespace myriad::gpu::driver {

enum class Result : int {
  success = 0,
  invalid_value = 1,
  out_of_memory = 2,
  not_initialized = 3,
  no_device = 100,
  invalid_image = 200,
  no_binary_for_gpu = 209,
  not_ready = 600,
};

using DeviceHandle = int;
using Address = unsigned long long;  // CUdeviceptr
using ContextHandle = struct ContextObject*;
using ModuleHandle = struct ModuleObject*;
using FunctionHandle = struct FunctionObject*;
using StreamHandle = struct StreamObject*;
using EventHandle = struct EventObject*;
using PoolHandle = struct PoolObject*;

struct Uuid {
  char bytes[16];
};

enum class DeviceAttribute : int {
  max_threads_per_block = 1,
  max_registers_per_block = 12,
  clock_rate = 13,
  multiprocessor_count = 16,
  memory_clock_rate = 36,
  global_memory_bus_width = 37,
  l2_cache_size = 38,
  max_threads_per_multiprocessor = 39,
  compute_capability_major = 75,
  compute_capability_minor = 76,
  max_shared_memory_per_multiprocessor = 81,
  max_registers_per_multiprocessor = 82,
  pageable_memory_access = 88,
  max_shared_memory_per_block_optin = 97,
  max_blocks_per_multiprocessor = 106,
  reserved_shared_memory_per_block = 111,
  memory_pools_supported = 115,
};

enum class FunctionAttribute : int {
  max_threads_per_block = 0,
  shared_size_bytes = 1,
  local_size_bytes = 3,
  registers = 4,
  max_dynamic_shared_size_bytes = 8,
};

enum class JitOption : int { max_registers = 0 };
enum class CaptureStatus : int { none = 0, active = 1, invalidated = 2 };
enum class CaptureMode : int { global = 0, thread_local_ = 1, relaxed = 2 };
enum class PoolAttribute : int { release_threshold = 4, reserved_memory = 5, used_memory = 7 };
enum class PointerAttribute : int { memory_type = 2, is_managed = 8, device_ordinal = 9, range_start = 11, range_size = 12 };
enum class MemoryType : unsigned { host = 1, device = 2, unified = 4 };

enum class TensorType : int { words_of_16 = 1, words_of_32 = 2 };
enum class TensorInterleave : int { none = 0 };
enum class TensorSwizzle : int { spans_of_128 = 3 };
enum class TensorPromotion : int { bytes_256 = 3 };
enum class TensorFill : int { zeros = 0 };

inline constexpr unsigned stream_non_blocking = 1;
inline constexpr unsigned host_alloc_portable = 1;
inline constexpr unsigned event_disable_timing = 2;

/// The launch attributes used: a cooperative launch, and the blocks of a cluster.
struct alignas(8) LaunchAttribute {
  static constexpr int cooperative = 2, cluster_dimension = 4;
  int id = cooperative;
  alignas(8) unsigned value[3] = {1, 1, 1};  ///< cooperative: the first number, 1; clusters: their extents
  char reserved[52] = {};
};

struct LaunchConfig {
  unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  unsigned shared_bytes = 0;
  StreamHandle stream = nullptr;
  LaunchAttribute* attributes = nullptr;
  unsigned attribute_count = 0;
};

struct MemoryLocation {
  int type = 1;  ///< CU_MEM_LOCATION_TYPE_DEVICE
  int id = 0;
};

struct MemoryAccess {
  MemoryLocation location{};
  int flags = 3;  ///< CU_MEM_ACCESS_FLAGS_PROT_READWRITE
};

struct PoolProperties {
  int allocation_type = 1;  ///< CU_MEM_ALLOCATION_TYPE_PINNED
  int handle_types = 0;     ///< CU_MEM_HANDLE_TYPE_NONE
  MemoryLocation location{};
  void* security_attributes = nullptr;
  std::size_t max_size = 0;
  unsigned short usage = 0;
  unsigned char reserved[54] = {};
};

// Symbol, parameters. The names are those that libcuda exports: a suffix _v2 belongs to the ABI. Without the suffix _ptsz, stream 0 is the
// legacy default stream; stream 0 is never passed here.
#define MYRIAD_DRIVER_FUNCTIONS(X)                                                                  \
  X(cuGetErrorName, (Result, char const**))                                                         \
  X(cuGetErrorString, (Result, char const**))                                                       \
  X(cuInit, (unsigned))                                                                             \
  X(cuDriverGetVersion, (int*))                                                                     \
  X(cuDeviceGetCount, (int*))                                                                       \
  X(cuDeviceGet, (DeviceHandle*, int))                                                              \
  X(cuDeviceGetName, (char*, int, DeviceHandle))                                                    \
  X(cuDeviceGetUuid_v2, (Uuid*, DeviceHandle))                                                      \
  X(cuDeviceTotalMem_v2, (std::size_t*, DeviceHandle))                                              \
  X(cuDeviceGetAttribute, (int*, DeviceAttribute, DeviceHandle))                                    \
  X(cuDeviceCanAccessPeer, (int*, DeviceHandle, DeviceHandle))                                      \
  X(cuDevicePrimaryCtxRetain, (ContextHandle*, DeviceHandle))                                       \
  X(cuCtxGetCurrent, (ContextHandle*))                                                              \
  X(cuCtxPushCurrent_v2, (ContextHandle))                                                           \
  X(cuCtxPopCurrent_v2, (ContextHandle*))                                                           \
  X(cuStreamCreate, (StreamHandle*, unsigned))                                                      \
  X(cuStreamDestroy_v2, (StreamHandle))                                                             \
  X(cuStreamSynchronize, (StreamHandle))                                                            \
  X(cuStreamQuery, (StreamHandle))                                                                  \
  X(cuStreamWaitEvent, (StreamHandle, EventHandle, unsigned))                                       \
  X(cuStreamIsCapturing, (StreamHandle, CaptureStatus*))                                            \
  X(cuStreamGetCtx, (StreamHandle, ContextHandle*))                                                 \
  X(cuThreadExchangeStreamCaptureMode, (CaptureMode*))                                              \
  X(cuEventCreate, (EventHandle*, unsigned))                                                        \
  X(cuEventDestroy_v2, (EventHandle))                                                               \
  X(cuEventRecord, (EventHandle, StreamHandle))                                                     \
  X(cuEventQuery, (EventHandle))                                                                    \
  X(cuEventSynchronize, (EventHandle))                                                              \
  X(cuEventElapsedTime, (float*, EventHandle, EventHandle))                                         \
  X(cuModuleLoadDataEx, (ModuleHandle*, void const*, unsigned, JitOption*, void**))                 \
  X(cuModuleUnload, (ModuleHandle))                                                                 \
  X(cuModuleGetFunction, (FunctionHandle*, ModuleHandle, char const*))                              \
  X(cuFuncGetAttribute, (int*, FunctionAttribute, FunctionHandle))                                  \
  X(cuFuncSetAttribute, (FunctionHandle, FunctionAttribute, int))                                   \
  X(cuLaunchKernelEx, (LaunchConfig const*, FunctionHandle, void**, void**))                        \
  X(cuMemPoolCreate, (PoolHandle*, PoolProperties const*))                                          \
  X(cuMemPoolDestroy, (PoolHandle))                                                                 \
  X(cuMemPoolSetAttribute, (PoolHandle, PoolAttribute, void*))                                      \
  X(cuMemPoolGetAttribute, (PoolHandle, PoolAttribute, void*))                                      \
  X(cuMemPoolSetAccess, (PoolHandle, MemoryAccess const*, std::size_t))                             \
  X(cuMemPoolTrimTo, (PoolHandle, std::size_t))                                                     \
  X(cuMemAllocFromPoolAsync, (Address*, std::size_t, PoolHandle, StreamHandle))                     \
  X(cuMemFreeAsync, (Address, StreamHandle))                                                        \
  X(cuMemGetInfo_v2, (std::size_t*, std::size_t*))                                                  \
  X(cuMemHostAlloc, (void**, std::size_t, unsigned))                                                \
  X(cuMemFreeHost, (void*))                                                                         \
  X(cuMemcpyAsync, (Address, Address, std::size_t, StreamHandle))                                   \
  X(cuMemcpyPeerAsync, (Address, ContextHandle, Address, ContextHandle, std::size_t, StreamHandle)) \
  X(cuMemsetD8Async, (Address, unsigned char, std::size_t, StreamHandle))                           \
  X(cuPointerGetAttribute, (void*, PointerAttribute, Address))

// Functions that older drivers do not have; null there. The first parameter is a CUtensorMap.
#define MYRIAD_OPTIONAL_DRIVER_FUNCTIONS(X)                                                                                             \
  X(cuTensorMapEncodeTiled, (void*, TensorType, std::uint32_t, void*, std::uint64_t const*, std::uint64_t const*, std::uint32_t const*, \
                             std::uint32_t const*, TensorInterleave, TensorSwizzle, TensorPromotion, TensorFill))

/// The functions of libcuda.
struct Api {
#define MYRIAD_DECLARE(name, parameters) Result(*name) parameters = nullptr;
  MYRIAD_DRIVER_FUNCTIONS(MYRIAD_DECLARE)
  MYRIAD_OPTIONAL_DRIVER_FUNCTIONS(MYRIAD_DECLARE)
#undef MYRIAD_DECLARE
};

/// Result of loading libcuda. If it cannot be used, `api` is null and `problem` says why.
struct Loaded {
  Api const* api = nullptr;
  int version = 0;  ///< of the driver: 13000 is CUDA 13.0
  int device_count = 0;
  std::string problem;
};

/// Loads and initialises libcuda.so.1 at the first call, once per process. Thread-safe.
Loaded const& load();

/// The functions; throws Unavailable with the reason if there are none.
Api const& api();

/// "CUDA_ERROR_INVALID_VALUE (invalid argument)".
std::string describe(Result result);

/// Throws unless `result` is success: OutOfMemory, or GpuError with `call`, `what` and the driver's text.
void check(Result result, char const* call, char const* what = nullptr);

/// Queries an attribute of an address; false if the driver does not know the address. Needs a current context.
template <typename V>
bool ask(PointerAttribute which, void const* address, V& value) {
  return api().cuPointerGetAttribute(&value, which, reinterpret_cast<std::uintptr_t>(address)) == Result::success;
}

/// The GPU whose memory has the address; -1 if the host can access it, too. Needs a current context.
int gpu_of(void const* address);

/// Makes a context current in this thread during its lifetime; then restores the previous one.
class CurrentContext {
 public:
  explicit CurrentContext(ContextHandle context);
  ~CurrentContext();
  CurrentContext(CurrentContext const&) = delete;
  CurrentContext& operator=(CurrentContext const&) = delete;

 private:
  bool pushed_ = false;
};

/// During its lifetime this thread may make calls that a stream capture elsewhere in the process would forbid (such as loading a module).
/// They are not captured.
class OutsideCapture {
 public:
  OutsideCapture();
  ~OutsideCapture();
  OutsideCapture(OutsideCapture const&) = delete;
  OutsideCapture& operator=(OutsideCapture const&) = delete;

 private:
  CaptureMode mode_ = CaptureMode::relaxed;
};

}  // namespace myriad::gpu::driver
