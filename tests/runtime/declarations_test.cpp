/// Our declarations of the CUDA driver's and NVRTC's API against their headers.

#include <gtest/gtest.h>

#if defined(MYRIAD_HAVE_CUDA_HEADERS)

#include <cuda.h>
#include <nvrtc.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "myriad/queue.hpp"
#include "runtime/driver.hpp"
#include "runtime/nvrtc.hpp"
#include "runtime/tensor_map.hpp"

namespace myriad::gpu {
namespace {

/// Whether two types are passed alike: pointers as pointers, enumerations and integers of the same size and sign, structs of the same
/// layout.
template <typename Ours, typename Theirs>
constexpr bool passed_alike() {
  if constexpr (std::is_pointer_v<Ours> || std::is_pointer_v<Theirs>) {
    if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>) {
      using X = std::remove_cv_t<std::remove_pointer_t<Ours>>;
      using Y = std::remove_cv_t<std::remove_pointer_t<Theirs>>;
      // The targets of opaque handles and void* do not matter; integers that are written must have the same size.
      if constexpr (std::is_arithmetic_v<X> || std::is_enum_v<X> || std::is_arithmetic_v<Y> || std::is_enum_v<Y>)
        return passed_alike<X, Y>();
      else if constexpr (std::is_pointer_v<X> || std::is_pointer_v<Y>)
        return std::is_pointer_v<X> && std::is_pointer_v<Y>;
      else
        return std::is_void_v<X> == std::is_void_v<Y>;
    }
    return false;
  } else if constexpr (std::is_enum_v<Ours> || std::is_enum_v<Theirs>) {
    return sizeof(Ours) == sizeof(Theirs) &&
           (std::is_enum_v<Ours> || std::is_integral_v<Ours>)&&(std::is_enum_v<Theirs> || std::is_integral_v<Theirs>);
  } else if constexpr (std::is_integral_v<Ours>) {
    return std::is_integral_v<Theirs> && sizeof(Ours) == sizeof(Theirs) && std::is_signed_v<Ours> == std::is_signed_v<Theirs>;
  } else {
    return std::is_same_v<Ours, Theirs>;
  }
}

template <typename Ours, typename Theirs>
struct SameFunction : std::false_type {};
template <typename R, typename... A, typename S, typename... B>
struct SameFunction<R (*)(A...), S (*)(B...)> {
  static constexpr bool value = [] {
    if constexpr (sizeof...(A) != sizeof...(B))
      return false;
    else
      return passed_alike<R, S>() && (passed_alike<A, B>() && ...);
  }();
};

// The comparison can fail.
static_assert(passed_alike<int*, int*>() && !passed_alike<int*, long*>() && !passed_alike<int, long>() && !passed_alike<int, unsigned>());
static_assert(!SameFunction<int (*)(int), int (*)(int, int)>::value && !SameFunction<int (*)(void*), int (*)(int)>::value);

template <typename Ours, typename Theirs>
constexpr bool equal(Ours ours, Theirs theirs) {
  return static_cast<long long>(ours) == static_cast<long long>(theirs);
}

// Macros of the headers add suffixes to names: cuDeviceGetUuid_v2 is declared as cuDeviceGetUuid.
#define MYRIAD_COMPARE(name, parameters) static_assert(SameFunction<decltype(driver::Api::name), decltype(&::name)>::value, #name);
MYRIAD_DRIVER_FUNCTIONS(MYRIAD_COMPARE)
#if CUDA_VERSION >= 12000
// The first parameter is a different, opaque struct.
static_assert(std::is_invocable_v<decltype(&cuTensorMapEncodeTiled), CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*,
                                  std::uint64_t const*, std::uint64_t const*, std::uint32_t const*, std::uint32_t const*,
                                  CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill>);
static_assert(equal(driver::TensorType::words_of_16, CU_TENSOR_MAP_DATA_TYPE_UINT16) &&
              equal(driver::TensorType::words_of_32, CU_TENSOR_MAP_DATA_TYPE_UINT32) &&
              equal(driver::TensorInterleave::none, CU_TENSOR_MAP_INTERLEAVE_NONE) &&
              equal(driver::TensorSwizzle::spans_of_128, CU_TENSOR_MAP_SWIZZLE_128B) &&
              equal(driver::TensorPromotion::bytes_256, CU_TENSOR_MAP_L2_PROMOTION_L2_256B) &&
              equal(driver::TensorFill::zeros, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
static_assert(sizeof(simt::TensorMap) == sizeof(CUtensorMap) && alignof(simt::TensorMap) >= alignof(CUtensorMap));
#endif
#undef MYRIAD_COMPARE

#define MYRIAD_COMPARE(name, parameters) static_assert(SameFunction<decltype(nvrtc::Api::name), decltype(&::name)>::value, #name);
MYRIAD_NVRTC_FUNCTIONS(MYRIAD_COMPARE)
#undef MYRIAD_COMPARE
static_assert(SameFunction<decltype(nvrtc::Api::nvrtcGetErrorString), decltype(&::nvrtcGetErrorString)>::value);

static_assert(equal(driver::Result::success, CUDA_SUCCESS) && equal(driver::Result::invalid_value, CUDA_ERROR_INVALID_VALUE) &&
              equal(driver::Result::out_of_memory, CUDA_ERROR_OUT_OF_MEMORY) &&
              equal(driver::Result::not_initialized, CUDA_ERROR_NOT_INITIALIZED) &&
              equal(driver::Result::no_device, CUDA_ERROR_NO_DEVICE) && equal(driver::Result::invalid_image, CUDA_ERROR_INVALID_IMAGE) &&
              equal(driver::Result::no_binary_for_gpu, CUDA_ERROR_NO_BINARY_FOR_GPU) &&
              equal(driver::Result::not_ready, CUDA_ERROR_NOT_READY));

using Attribute = driver::DeviceAttribute;
static_assert(equal(Attribute::max_threads_per_block, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK) &&
              equal(Attribute::max_registers_per_block, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK) &&
              equal(Attribute::clock_rate, CU_DEVICE_ATTRIBUTE_CLOCK_RATE) &&
              equal(Attribute::multiprocessor_count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) &&
              equal(Attribute::memory_clock_rate, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE) &&
              equal(Attribute::global_memory_bus_width, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH) &&
              equal(Attribute::l2_cache_size, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE) &&
              equal(Attribute::max_threads_per_multiprocessor, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) &&
              equal(Attribute::compute_capability_major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) &&
              equal(Attribute::compute_capability_minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR) &&
              equal(Attribute::max_shared_memory_per_multiprocessor, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR) &&
              equal(Attribute::max_registers_per_multiprocessor, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR) &&
              equal(Attribute::max_shared_memory_per_block_optin, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) &&
              equal(Attribute::max_blocks_per_multiprocessor, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR) &&
              equal(Attribute::reserved_shared_memory_per_block, CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK) &&
              equal(Attribute::memory_pools_supported, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED));

static_assert(equal(driver::FunctionAttribute::max_threads_per_block, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK) &&
              equal(driver::FunctionAttribute::shared_size_bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES) &&
              equal(driver::FunctionAttribute::local_size_bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES) &&
              equal(driver::FunctionAttribute::registers, CU_FUNC_ATTRIBUTE_NUM_REGS) &&
              equal(driver::FunctionAttribute::max_dynamic_shared_size_bytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES));

static_assert(equal(driver::JitOption::max_registers, CU_JIT_MAX_REGISTERS) &&
              equal(driver::CaptureStatus::none, CU_STREAM_CAPTURE_STATUS_NONE) &&
              equal(driver::CaptureStatus::active, CU_STREAM_CAPTURE_STATUS_ACTIVE) &&
              equal(driver::CaptureStatus::invalidated, CU_STREAM_CAPTURE_STATUS_INVALIDATED) &&
              equal(driver::CaptureMode::global, CU_STREAM_CAPTURE_MODE_GLOBAL) &&
              equal(driver::CaptureMode::thread_local_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) &&
              equal(driver::CaptureMode::relaxed, CU_STREAM_CAPTURE_MODE_RELAXED) &&
              equal(driver::PoolAttribute::release_threshold, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) &&
              equal(driver::PoolAttribute::reserved_memory, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) &&
              equal(driver::PoolAttribute::used_memory, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) &&
              equal(driver::PointerAttribute::memory_type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE) &&
              equal(driver::PointerAttribute::is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED) &&
              equal(driver::PointerAttribute::device_ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) &&
              equal(driver::PointerAttribute::range_start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR) &&
              equal(driver::PointerAttribute::range_size, CU_POINTER_ATTRIBUTE_RANGE_SIZE) &&
              equal(driver::MemoryType::host, CU_MEMORYTYPE_HOST) && equal(driver::MemoryType::device, CU_MEMORYTYPE_DEVICE) &&
              equal(driver::MemoryType::unified, CU_MEMORYTYPE_UNIFIED));

static_assert(equal(driver::stream_non_blocking, CU_STREAM_NON_BLOCKING) && equal(driver::host_alloc_portable, CU_MEMHOSTALLOC_PORTABLE) &&
              equal(driver::event_disable_timing, CU_EVENT_DISABLE_TIMING));

static_assert(std::is_same_v<driver::DeviceHandle, CUdevice> && std::is_same_v<driver::Address, CUdeviceptr>);
static_assert(sizeof(driver::Uuid) == sizeof(CUuuid) && sizeof(driver::MemoryLocation) == sizeof(CUmemLocation));

using Access = driver::MemoryAccess;
static_assert(sizeof(Access) == sizeof(CUmemAccessDesc) && offsetof(Access, location) == offsetof(CUmemAccessDesc, location) &&
              offsetof(Access, flags) == offsetof(CUmemAccessDesc, flags) && equal(Access{}.flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));

using Launch = driver::LaunchConfig;
using LaunchAttribute = driver::LaunchAttribute;
static_assert(sizeof(Launch) == sizeof(CUlaunchConfig) && offsetof(Launch, grid) == offsetof(CUlaunchConfig, gridDimX) &&
              offsetof(Launch, block) == offsetof(CUlaunchConfig, blockDimX) &&
              offsetof(Launch, shared_bytes) == offsetof(CUlaunchConfig, sharedMemBytes) &&
              offsetof(Launch, stream) == offsetof(CUlaunchConfig, hStream) &&
              offsetof(Launch, attributes) == offsetof(CUlaunchConfig, attrs) &&
              offsetof(Launch, attribute_count) == offsetof(CUlaunchConfig, numAttrs));
static_assert(sizeof(LaunchAttribute) == sizeof(CUlaunchAttribute) && offsetof(LaunchAttribute, id) == offsetof(CUlaunchAttribute, id) &&
              offsetof(LaunchAttribute, value) == offsetof(CUlaunchAttribute, value) &&
              equal(LaunchAttribute::cooperative, CU_LAUNCH_ATTRIBUTE_COOPERATIVE) &&
              equal(LaunchAttribute::cluster_dimension, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION));

using Pool = driver::PoolProperties;
static_assert(sizeof(Pool) == sizeof(CUmemPoolProps) && offsetof(Pool, allocation_type) == offsetof(CUmemPoolProps, allocType) &&
              offsetof(Pool, handle_types) == offsetof(CUmemPoolProps, handleTypes) &&
              offsetof(Pool, location) == offsetof(CUmemPoolProps, location) &&
              offsetof(Pool, security_attributes) == offsetof(CUmemPoolProps, win32SecurityAttributes));
#if CUDA_VERSION >= 13000  // older ones have reserved bytes there
static_assert(offsetof(Pool, max_size) == offsetof(CUmemPoolProps, maxSize) && offsetof(Pool, usage) == offsetof(CUmemPoolProps, usage) &&
              offsetof(Pool, reserved) == offsetof(CUmemPoolProps, reserved));
#endif
static_assert(equal(Pool{}.allocation_type, CU_MEM_ALLOCATION_TYPE_PINNED) && equal(Pool{}.handle_types, CU_MEM_HANDLE_TYPE_NONE) &&
              equal(driver::MemoryLocation{}.type, CU_MEM_LOCATION_TYPE_DEVICE));

static_assert(equal(nvrtc::Result::success, NVRTC_SUCCESS) && equal(nvrtc::Result::invalid_option, NVRTC_ERROR_INVALID_OPTION) &&
              equal(nvrtc::Result::compilation, NVRTC_ERROR_COMPILATION));

TEST(Declarations, NameTheDefaultStreamsAsCudaDoes) {
  EXPECT_EQ(legacy_stream(), static_cast<void*>(CU_STREAM_LEGACY));
  EXPECT_EQ(per_thread_stream(), static_cast<void*>(CU_STREAM_PER_THREAD));
}

}  // namespace
}  // namespace myriad::gpu

#else

TEST(Declarations, AreComparedWithTheHeaders) { GTEST_SKIP() << "cuda.h was not found when the build was configured"; }

#endif
