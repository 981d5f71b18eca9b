#include "fake_cuda.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/driver.hpp"

namespace myriad::gpu::driver {

struct ContextObject {
  int device = 0;
};
struct ModuleObject {
  std::string image;
};
struct FunctionObject {
  bool scales = false;                 ///< whether it is the kernel that the fake driver runs itself
  myriad::test::FakeKernel on_host{};  ///< a kernel of fake_cuda_add_kernel
  std::string name{};
};
struct StreamObject {
  ContextHandle context = nullptr;
  std::deque<std::function<void()>> pending;
  long long given = 0;  ///< number of all operations, done and pending
};
struct PoolObject {
  int device = 0;
  std::set<int> accessible_from{};  ///< other GPUs
};
struct EventObject {
  bool recorded = false;
  bool in_capture = false;
  StreamHandle stream = nullptr;
  long long given = 0;  ///< number of the stream's operations when the event was recorded
};

}  // namespace myriad::gpu::driver

using namespace myriad::gpu::driver;

namespace {

myriad::test::FakeCuda fake;
std::array<ContextObject, 2> gpus{{{.device = 0}, {.device = 1}}};
FunctionObject scale{.scales = true, .name = "scale"};
std::map<std::string, std::unique_ptr<FunctionObject>> kernels;  ///< all others, by name
/// A thread's contexts, the current one last. Without a destructor, since static queues use it at the end of the program, after the
/// thread's variables are destroyed.
class Contexts {
 public:
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] ContextHandle back() const { return handles_.at(size_ - 1); }
  void push_back(ContextHandle handle) { handles_.at(size_++) = handle; }
  void pop_back() { --size_; }

 private:
  std::array<ContextHandle, 64> handles_{};
  std::size_t size_ = 0;
};
thread_local Contexts contexts;
std::mutex mutex;
struct Allocation {
  std::size_t bytes;
  MemoryType type;
  int device;
  bool of_graph = false;
};
std::map<std::uintptr_t, Allocation> allocations;
std::map<ModuleHandle, std::unique_ptr<ModuleObject>> modules;
std::recursive_mutex
    streams_mutex;  // guards pending operations; recursive, since an operation that waits for an event runs those of another stream
std::set<StreamHandle> streams, destroyed;

constexpr auto invalid_context = static_cast<Result>(201);
constexpr auto capture_unsupported = static_cast<Result>(900);

Result misuse(Result result) {
  ++fake.misuses;
  return result;
}
/// A number in the environment.
int number_of(char const* name, int otherwise) {
  char const* const given = std::getenv(name);
  return given ? std::atoi(given) : otherwise;
}
bool current() { return !contexts.empty() && contexts.back() != nullptr; }
bool in_capture(StreamHandle stream) { return stream && stream == fake.captured; }
bool is_broken(int device) { return device == fake.broken_gpu; }
/// Breaks the current GPU if that is its launch at which the environment says so.
void break_if_told() {
  static int const gpu = number_of("FAKE_CUDA_BROKEN_GPU", -1);
  static std::atomic<int> launches_left{number_of("FAKE_CUDA_BREAKS_AT_LAUNCH", 1)};
  if (contexts.back()->device == gpu && --launches_left == 0) fake.broken_gpu = gpu;
}
/// The result of a call on the current GPU
Result take(std::atomic<int>& failure) {
  return static_cast<Result>(current() && is_broken(contexts.back()->device) ? 719 : failure.exchange(0));
}

std::atomic<long long>& bytes_of(MemoryType type) { return type == MemoryType::host ? fake.pinned_bytes : fake.device_bytes; }

/// Large memory is mapped: most of it is never touched, but the address sanitizer would mark all of it.
constexpr std::size_t largest_on_heap = std::size_t{1} << 20;

Result give_back(void* memory) {
  std::scoped_lock const lock(mutex);
  auto const at = allocations.find(reinterpret_cast<std::uintptr_t>(memory));
  if (at == allocations.end()) return misuse(Result::invalid_value);
  std::size_t const bytes = at->second.bytes;
  bytes_of(at->second.type) -= static_cast<long long>(bytes);
  allocations.erase(at);
  if (bytes > largest_on_heap)
    ::munmap(memory, bytes);
  else
    std::free(memory);
  return Result::success;
}
Result allocate(void** memory, std::size_t bytes, MemoryType type, int device) {
  if (bytes > std::size_t{1} << 40) return Result::out_of_memory;
  std::scoped_lock const lock(mutex);
  *memory = bytes > largest_on_heap ? ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                                    : std::aligned_alloc(256, (bytes + 255) / 256 * 256);  // alignment of the real driver
  if (!*memory || *memory == MAP_FAILED) return Result::out_of_memory;
  std::memset(*memory, 0xcd, std::min(bytes, largest_on_heap));  // garbage: callers must not rely on zeros
  allocations[reinterpret_cast<std::uintptr_t>(*memory)] = {bytes, type, device};
  std::atomic<long long>& peak = type == MemoryType::host ? fake.peak_pinned_bytes : fake.peak_device_bytes;
  peak = std::max(peak.load(), bytes_of(type) += static_cast<long long>(bytes));
  return Result::success;
}

/// The allocation that contains an address, if any.
std::optional<std::pair<std::uintptr_t, Allocation>> allocation_of(Address address) {
  std::scoped_lock const lock(mutex);
  auto at = allocations.upper_bound(address);
  if (at == allocations.begin()) return {};
  --at;
  if (address >= at->first + at->second.bytes) return {};
  return *at;
}
/// The GPU whose pool an address belongs to; -1: none.
int gpu_of_address(Address address) {
  auto const known = allocation_of(address);
  return known && known->second.type == MemoryType::device ? known->second.device : -1;
}

/// Runs the stream's operations up to number `given`.
void run_until(StreamHandle stream, long long given) {
  std::scoped_lock const lock(streams_mutex);
  if (!streams.contains(stream)) return;  // a default stream or a destroyed one: all is done
  while (!stream->pending.empty() && stream->given - static_cast<long long>(stream->pending.size()) < given) {
    auto const operation = std::move(stream->pending.front());
    stream->pending.pop_front();
    operation();
    --fake.pending;
  }
}
bool is_destroyed(StreamHandle stream) {
  std::scoped_lock const lock(streams_mutex);
  return destroyed.contains(stream);
}
void run_all(StreamHandle stream) { run_until(stream, INT64_MAX); }
void enqueue(StreamHandle stream, std::function<void()> operation) {
  std::scoped_lock const lock(streams_mutex);
  if (is_destroyed(stream)) ++fake.uses_of_destroyed;
  if (!streams.contains(stream)) {
    operation();
    return;
  }
  ++stream->given;
  ++fake.pending;
  stream->pending.push_back(std::move(operation));
  if (!fake.lazy) run_all(stream);
}

/// The kernel, which does nothing unless fake_cuda_add_kernel says what. Call it with the mutex.
FunctionObject* kernel_of_name(char const* name) {
  auto& kernel = kernels[name];
  if (!kernel) kernel = std::make_unique<FunctionObject>(FunctionObject{.name = name});
  return kernel.get();
}

Result enqueue_copy(Address to, Address from, std::size_t bytes, StreamHandle stream) {
  if (Result const result = take(fake.fail_copy); result != Result::success) return result;
  ++fake.copies;
  enqueue(stream, [to, from, bytes, device = contexts.back()->device] {
    if (is_broken(device)) return;
    std::memmove(reinterpret_cast<void*>(static_cast<std::uintptr_t>(to)), reinterpret_cast<void const*>(static_cast<std::uintptr_t>(from)),
                 bytes);
  });
  return Result::success;
}

}  // namespace

#define FAKE extern "C" __attribute__((visibility("default")))

FAKE myriad::test::FakeCuda* fake_cuda() {
  fake.memory_at = [](std::uintptr_t address) {
    auto const known = allocation_of(address);
    return known ? myriad::test::FakeMemory{known->first, known->second.bytes} : myriad::test::FakeMemory{};
  };
  return &fake;
}
FAKE void fake_cuda_add_kernel(char const* name, myriad::test::FakeKernel kernel) {
  std::scoped_lock const lock(mutex);
  kernel_of_name(name)->on_host = kernel;
}

// Tests in Python call these.
FAKE long long fake_cuda_count(char const* name) {
  std::map<std::string, long long> const counts{
      {"launches", fake.launches}, {"copies", fake.copies},         {"waits", fake.waits},
      {"held", fake.held},         {"misuses", fake.misuses},       {"uses_of_destroyed", fake.uses_of_destroyed},
      {"pending", fake.pending},   {"live_pools", fake.live_pools}, {"live_allocations", fake.live_allocations}};
  auto const found = counts.find(name);
  return found == counts.end() ? -1 : found->second;
}
FAKE void fake_cuda_be_lazy(int lazy) { fake.lazy = lazy != 0; }
FAKE void fake_cuda_capture(void* stream) { fake.captured = stream; }
FAKE void* fake_cuda_stream() { return fake.stream; }
FAKE char const* fake_cuda_kernel() { return fake.kernel; }
FAKE void* fake_cuda_allocate(long long bytes, int device) {
  void* memory = nullptr;
  return allocate(&memory, static_cast<std::size_t>(bytes), MemoryType::device, device) == Result::success ? memory : nullptr;
}
/// Frees memory in the order of a stream, which may be destroyed by now, as pools of Python's libraries allow.
FAKE void fake_cuda_free(void* memory, StreamHandle stream) {
  if (is_destroyed(stream)) {
    give_back(memory);
    return;
  }
  enqueue(stream, [memory] { give_back(memory); });
}
/// Runs the work on a stream, as the GPU would in time; nobody waits for it.
FAKE void fake_cuda_run(StreamHandle stream) { run_all(stream); }

FAKE Result cuGetErrorName(Result error, char const** text) {
  *text = error == Result::out_of_memory ? "FAKE_OUT_OF_MEMORY" : "FAKE_ERROR";
  return Result::success;
}
FAKE Result cuGetErrorString(Result, char const** text) {
  *text = "as told";
  return Result::success;
}
FAKE Result cuInit(unsigned) { return Result::success; }
/// NVRTC asks for it; there is none.
FAKE Result cuGetExportTable(void const** table, Uuid const*) {
  *table = nullptr;
  return Result::invalid_value;
}
FAKE Result cuDriverGetVersion(int* version) {
  *version = number_of("FAKE_CUDA_VERSION", 13000);
  return Result::success;
}
FAKE Result cuDeviceGetCount(int* count) {
  *count = static_cast<int>(gpus.size());
  return Result::success;
}
FAKE Result cuDeviceGet(DeviceHandle* device, int ordinal) {
  *device = ordinal;
  return ordinal >= 0 && ordinal < static_cast<int>(gpus.size()) ? Result::success : misuse(Result::invalid_value);
}
FAKE Result cuDeviceGetName(char* name, int length, DeviceHandle) {
  char const* const other = std::getenv("FAKE_CUDA_NAME");
  std::strncpy(name, other ? other : "Fake GPU", static_cast<std::size_t>(length));
  return Result::success;
}
FAKE Result cuDeviceGetUuid_v2(Uuid* uuid, DeviceHandle) {
  std::memset(uuid, 7, sizeof(*uuid));
  return Result::success;
}
FAKE Result cuDeviceTotalMem_v2(std::size_t* bytes, DeviceHandle) {
  *bytes = std::size_t{1} << 40;
  return Result::success;
}
/// Shared memory of a multiprocessor in bytes; a block may have 1 KiB less.
int shared_bytes() { return number_of("FAKE_CUDA_SHARED_KIB", 228) << 10; }
/// Attributes of an H200, so that routines choose the same kernels as there, or of the GPU that the environment describes.
FAKE Result cuDeviceGetAttribute(int* value, DeviceAttribute attribute, DeviceHandle) {
  static int const capability = number_of("FAKE_CUDA_CAPABILITY", 90);
  static std::map<DeviceAttribute, int> const values{{DeviceAttribute::compute_capability_major, capability / 10},
                                                     {DeviceAttribute::compute_capability_minor, capability % 10},
                                                     {DeviceAttribute::multiprocessor_count, number_of("FAKE_CUDA_MULTIPROCESSORS", 132)},
                                                     {DeviceAttribute::max_threads_per_block, 1024},
                                                     {DeviceAttribute::max_threads_per_multiprocessor, 2048},
                                                     {DeviceAttribute::max_blocks_per_multiprocessor, 32},
                                                     {DeviceAttribute::max_registers_per_block, 65536},
                                                     {DeviceAttribute::max_registers_per_multiprocessor, 65536},
                                                     {DeviceAttribute::max_shared_memory_per_multiprocessor, shared_bytes()},
                                                     {DeviceAttribute::max_shared_memory_per_block_optin, shared_bytes() - 1024},
                                                     {DeviceAttribute::reserved_shared_memory_per_block, 1024},
                                                     {DeviceAttribute::l2_cache_size, 62914560},
                                                     {DeviceAttribute::memory_pools_supported, 1}};
  if (attribute == DeviceAttribute::pageable_memory_access) {
    *value = fake.reaches_host_memory ? 1 : 0;
    return Result::success;
  }
  auto const found = values.find(attribute);
  *value = found == values.end() ? 1 : found->second;
  return Result::success;
}
FAKE Result cuDeviceCanAccessPeer(int* can, DeviceHandle device, DeviceHandle peer) {
  *can = device != peer;
  return Result::success;
}
FAKE Result cuDevicePrimaryCtxRetain(ContextHandle* handle, DeviceHandle device) {
  bool const from_the_start = number_of("FAKE_CUDA_BREAKS_AT_LAUNCH", 1) == 0 && number_of("FAKE_CUDA_BROKEN_GPU", -1) == device;
  if (from_the_start || is_broken(device)) return static_cast<Result>(719);
  *handle = &gpus.at(static_cast<std::size_t>(device));
  return Result::success;
}
FAKE Result cuCtxGetCurrent(ContextHandle* handle) {
  *handle = contexts.empty() ? nullptr : contexts.back();
  return Result::success;
}
FAKE Result cuCtxPushCurrent_v2(ContextHandle handle) {
  ++fake.pushes;
  contexts.push_back(handle);
  return Result::success;
}
FAKE Result cuCtxPopCurrent_v2(ContextHandle* handle) {
  if (contexts.empty()) return misuse(invalid_context);
  *handle = contexts.back();
  contexts.pop_back();
  return Result::success;
}
FAKE Result cuStreamCreate(StreamHandle* stream, unsigned flags) {
  if (!current() || flags != stream_non_blocking) return misuse(invalid_context);
  if (Result const result = take(fake.fail_stream); result != Result::success) return result;
  *stream = new StreamObject{.context = contexts.back(), .pending = {}};
  std::scoped_lock const lock(streams_mutex);
  streams.insert(*stream);
  destroyed.erase(*stream);  // an address of before
  ++fake.live_streams;
  return Result::success;
}
FAKE Result cuStreamDestroy_v2(StreamHandle stream) {
  run_all(stream);
  {
    std::scoped_lock const lock(streams_mutex);
    streams.erase(stream);
    destroyed.insert(stream);
  }
  delete stream;
  --fake.live_streams;
  return Result::success;
}
FAKE Result cuStreamSynchronize(StreamHandle stream) {
  if (!current()) return misuse(invalid_context);
  if (fake.capturing || in_capture(stream)) return misuse(capture_unsupported);
  run_all(stream);
  ++fake.waits;
  return take(fake.fail_wait);
}
FAKE Result cuStreamQuery(StreamHandle) { return Result::success; }
FAKE Result cuStreamWaitEvent(StreamHandle stream, EventHandle event, unsigned) {
  if (!current() || !event->recorded || event->in_capture != in_capture(stream)) return misuse(Result::invalid_value);
  enqueue(stream, [earlier = event->stream, given = event->given] { run_until(earlier, given); });
  ++fake.held;
  return Result::success;
}
FAKE Result cuStreamIsCapturing(StreamHandle stream, CaptureStatus* status) {
  if (!current()) return misuse(invalid_context);
  if (is_destroyed(stream)) ++fake.uses_of_destroyed;
  *status = fake.capturing || in_capture(stream) ? CaptureStatus::active : CaptureStatus::none;
  return Result::success;
}
FAKE Result cuStreamGetCtx(StreamHandle stream, ContextHandle* handle) {
  // A default stream belongs to the current context; the address 0x40 stands for a stream of another context of the caller.
  std::scoped_lock const lock(streams_mutex);
  *handle = stream == reinterpret_cast<StreamHandle>(0x40) ? nullptr : streams.contains(stream) ? stream->context : contexts.back();
  return Result::success;
}
FAKE Result cuThreadExchangeStreamCaptureMode(CaptureMode* mode) {
  thread_local CaptureMode now = CaptureMode::global;
  std::swap(now, *mode);
  return Result::success;
}
FAKE Result cuEventCreate(EventHandle* event, unsigned flags) {
  if (!current() || (flags != 0 && flags != event_disable_timing)) return misuse(invalid_context);
  *event = new EventObject;
  ++fake.live_events;
  return Result::success;
}
FAKE Result cuEventDestroy_v2(EventHandle event) {
  delete event;
  --fake.live_events;
  return Result::success;
}
FAKE Result cuEventRecord(EventHandle event, StreamHandle stream) {
  if (!current()) return misuse(invalid_context);
  std::scoped_lock const lock(streams_mutex);
  event->recorded = true;
  event->in_capture = in_capture(stream);
  event->stream = stream;
  event->given = streams.contains(stream) ? stream->given : 0;
  return Result::success;
}
FAKE Result cuEventQuery(EventHandle) { return fake.fail_wait == 600 ? take(fake.fail_wait) : Result::success; }
FAKE Result cuEventSynchronize(EventHandle event) {
  if (!event->recorded) return misuse(Result::invalid_value);
  run_until(event->stream, event->given);
  return take(fake.fail_wait);
}
FAKE Result cuEventElapsedTime(float* milliseconds, EventHandle, EventHandle) {
  *milliseconds = fake.milliseconds;
  return Result::success;
}
FAKE Result cuModuleLoadDataEx(ModuleHandle* module, void const* image, unsigned, JitOption*, void**) {
  if (!current()) return misuse(invalid_context);
  if (Result const result = take(fake.fail_module); result != Result::success) return result;
  auto loaded = std::make_unique<ModuleObject>(ModuleObject{static_cast<char const*>(image)});
  *module = loaded.get();
  std::scoped_lock const lock(mutex);
  modules.emplace(*module, std::move(loaded));
  ++fake.modules;
  return Result::success;
}
FAKE Result cuModuleUnload(ModuleHandle module) {
  std::scoped_lock const lock(mutex);
  if (modules.erase(module) == 0) return misuse(Result::invalid_value);
  --fake.modules;
  return Result::success;
}
FAKE Result cuModuleGetFunction(FunctionHandle* handle, ModuleHandle, char const* name) {
  std::scoped_lock const lock(mutex);
  *handle = std::strcmp(name, "scale") == 0 ? &scale : kernel_of_name(name);
  return Result::success;
}
/// Static shared memory of a kernel; Myriad's kernels have none.
int static_bytes() { return number_of("FAKE_CUDA_STATIC_BYTES", 48); }
FAKE Result cuFuncGetAttribute(int* value, FunctionAttribute attribute, FunctionHandle) {
  *value = attribute == FunctionAttribute::max_threads_per_block ? 1024
           : attribute == FunctionAttribute::shared_size_bytes   ? static_bytes()
                                                                 : 0;
  return Result::success;
}
FAKE Result cuFuncSetAttribute(FunctionHandle, FunctionAttribute attribute, int value) {
  if (attribute == FunctionAttribute::max_dynamic_shared_size_bytes && value == shared_bytes() - 1024 - static_bytes())
    return Result::success;
  return misuse(Result::invalid_value);
}
FAKE Result cuLaunchKernelEx(LaunchConfig const* config, FunctionHandle kernel, void** parameters, void** extra) {
  if (!current() || extra) return misuse(invalid_context);
  break_if_told();
  if (Result const result = take(fake.fail_launch); result != Result::success) return result;
  ++fake.launches;
  fake.together = config->attribute_count == 1 && config->attributes->id == 2 && config->attributes->value[0] == 1;
  std::memcpy(fake.grid, config->grid, sizeof(config->grid));
  std::memcpy(fake.block, config->block, sizeof(config->block));
  fake.shared = config->shared_bytes;
  if (fake.at_launch)
    fake.at_launch({.kernel = kernel->name.c_str(),
                    .arguments = parameters[0],
                    .blocks = config->grid[0],
                    .threads = config->block[0] * config->block[1],
                    .shared_bytes = config->shared_bytes});
  if (!kernel->scales && std::getenv("FAKE_CUDA_TIMES")) {
    unsigned const x = 7919 * config->grid[0] + 104729 * config->block[0] + 31 * config->shared_bytes;
    fake.milliseconds = 1 + static_cast<float>(x % 1009) / 1009;
  }
  fake.stream = config->stream;
  fake.kernel = kernel->name.c_str();
  if (fake.capturing || in_capture(config->stream)) return Result::success;
  if (kernel->on_host.run) {
    auto const* const argument = static_cast<char const*>(parameters[0]);
    enqueue(config->stream, [run = kernel->on_host.run, copied = std::vector<char>(argument, argument + kernel->on_host.argument_bytes),
                             blocks = config->grid[0], threads = config->block[0] * config->block[1], shared = config->shared_bytes,
                             device = contexts.back()->device] {
      if (is_broken(device)) return;
      run(static_cast<int>(blocks), static_cast<int>(threads), static_cast<int>(shared), copied.data());
    });
  }
  if (!kernel->scales) return Result::success;
  enqueue(config->stream, [params = *static_cast<myriad::test::FakeScaleParams const*>(parameters[0]), device = contexts.back()->device] {
    if (is_broken(device)) return;
    if (params.call) params.call(params);
    for (long long i = 0; i < params.count; ++i) params.data[i] *= params.factor;
  });
  return Result::success;
}
/// As strict as the documentation of the real one.
FAKE Result cuTensorMapEncodeTiled(void* map, TensorType type, std::uint32_t rank, void* address, std::uint64_t const* sizes,
                                   std::uint64_t const* strides, std::uint32_t const* box, std::uint32_t const* every, TensorInterleave,
                                   TensorSwizzle, TensorPromotion, TensorFill) {
  if (!current()) return misuse(invalid_context);
  if (Result const result = take(fake.fail_tensor_map); result != Result::success) return result;
  bool valid = rank == 3 && reinterpret_cast<std::uintptr_t>(map) % 64 == 0 && reinterpret_cast<std::uintptr_t>(address) % 16 == 0;
  for (std::uint32_t d = 0; d < rank; ++d)
    valid = valid && sizes[d] >= 1 && sizes[d] <= std::uint64_t{1} << 32 && box[d] >= 1 && box[d] <= 256 && every[d] == 1;
  for (std::uint32_t d = 0; d + 1 < rank; ++d) valid = valid && strides[d] % 16 == 0 && strides[d] < std::uint64_t{1} << 40;
  if (!valid || box[0] * (type == TensorType::words_of_16 ? 2 : 4) > 128) return misuse(Result::invalid_value);
  std::memset(map, 7, 128);
  return Result::success;
}
FAKE Result cuMemPoolCreate(PoolHandle* pool, PoolProperties const* properties) {
  if (!current() || properties->allocation_type != 1 || properties->location.type != 1 ||
      properties->location.id != contexts.back()->device)
    return misuse(Result::invalid_value);
  *pool = new PoolObject{.device = properties->location.id};
  ++fake.live_pools;
  return Result::success;
}
FAKE Result cuMemPoolDestroy(PoolHandle pool) {
  delete pool;
  --fake.live_pools;
  return Result::success;
}
FAKE Result cuMemPoolSetAttribute(PoolHandle, PoolAttribute attribute, void* value) {
  unsigned long long threshold = 0;
  std::memcpy(&threshold, value, sizeof(threshold));
  return attribute == PoolAttribute::release_threshold && threshold == ~0ULL ? Result::success : misuse(Result::invalid_value);
}
FAKE Result cuMemPoolGetAttribute(PoolHandle, PoolAttribute, void*) { return Result::success; }
FAKE Result cuMemPoolSetAccess(PoolHandle pool, MemoryAccess const* accesses, std::size_t count) {
  for (std::size_t k = 0; k < count; ++k) {
    if (accesses[k].location.type != 1 || accesses[k].location.id == pool->device || accesses[k].flags != 3)
      return misuse(Result::invalid_value);
    pool->accessible_from.insert(accesses[k].location.id);
  }
  return Result::success;
}
FAKE Result cuMemPoolTrimTo(PoolHandle, std::size_t) { return Result::success; }
FAKE Result cuMemAllocFromPoolAsync(Address* address, std::size_t bytes, PoolHandle pool, StreamHandle stream) {
  if (!current() || !pool || bytes == 0) return misuse(Result::invalid_value);
  if (Result const result = take(fake.fail_allocation); result != Result::success) return result;
  void* memory = nullptr;
  Result const result = allocate(&memory, bytes, MemoryType::device, pool->device);
  if (result == Result::success) {
    ++fake.live_allocations;
    std::scoped_lock const lock(mutex);
    allocations[reinterpret_cast<std::uintptr_t>(memory)].of_graph = in_capture(stream);
  }
  *address = reinterpret_cast<std::uintptr_t>(memory);
  return result;
}
FAKE Result cuMemFreeAsync(Address address, StreamHandle stream) {
  if (!current()) return misuse(invalid_context);
  {
    std::scoped_lock const lock(mutex);
    auto const at = allocations.find(address);
    if (at == allocations.end() || (in_capture(stream) && !at->second.of_graph)) return misuse(Result::invalid_value);
  }
  if (auto const result = static_cast<Result>(fake.fail_free.exchange(0)); result != Result::success) return result;
  --fake.live_allocations;
  enqueue(stream, [address] { give_back(reinterpret_cast<void*>(static_cast<std::uintptr_t>(address))); });
  return Result::success;
}
FAKE Result cuMemGetInfo_v2(std::size_t* free, std::size_t* all) {
  if (!current()) return misuse(invalid_context);
  if (is_broken(contexts.back()->device)) return static_cast<Result>(719);
  *free = static_cast<std::size_t>(fake.free_bytes.load());
  *all = std::size_t{1} << 40;
  return Result::success;
}
FAKE Result cuMemHostAlloc(void** memory, std::size_t bytes, unsigned flags) {
  if (!current() || flags != host_alloc_portable) return misuse(invalid_context);
  if (Result const result = take(fake.fail_pinned); result != Result::success) return result;
  Result const result = allocate(memory, bytes, MemoryType::host, contexts.back()->device);
  if (result == Result::success) ++fake.live_pinned;
  return result;
}
FAKE Result cuMemFreeHost(void* memory) {
  --fake.live_pinned;
  return give_back(memory);
}
FAKE Result cuMemcpyAsync(Address to, Address from, std::size_t bytes, StreamHandle stream) {
  if (!current()) return misuse(invalid_context);
  if (gpu_of_address(to) >= 0 && gpu_of_address(from) >= 0 && gpu_of_address(to) != gpu_of_address(from))
    return misuse(Result::invalid_value);  // the pools have no access to each other
  return enqueue_copy(to, from, bytes, stream);
}
FAKE Result cuMemcpyPeerAsync(Address to, ContextHandle context_of_to, Address from, ContextHandle context_of_from, std::size_t bytes,
                              StreamHandle stream) {
  if (!current()) return misuse(invalid_context);
  if (gpu_of_address(to) != context_of_to->device || gpu_of_address(from) != context_of_from->device) return misuse(Result::invalid_value);
  ++fake.peer_copies;
  return enqueue_copy(to, from, bytes, stream);
}
FAKE Result cuMemsetD8Async(Address to, unsigned char value, std::size_t bytes, StreamHandle stream) {
  if (!current()) return misuse(invalid_context);
  if (in_capture(stream)) return Result::success;
  enqueue(stream, [to, value, bytes] { std::memset(reinterpret_cast<void*>(static_cast<std::uintptr_t>(to)), value, bytes); });
  return Result::success;
}
FAKE Result cuPointerGetAttribute(void* value, PointerAttribute attribute, Address address) {
  if (!current()) return misuse(invalid_context);
  auto const known = allocation_of(address);
  if (!known) return Result::invalid_value;  // unknown memory is not misuse
  auto const& [start, allocation] = *known;
  switch (attribute) {
    case PointerAttribute::memory_type:
      *static_cast<MemoryType*>(value) = allocation.type;
      return Result::success;
    case PointerAttribute::device_ordinal:
      *static_cast<int*>(value) = allocation.device;
      return Result::success;
    case PointerAttribute::is_managed:
      *static_cast<unsigned*>(value) = 0;
      return Result::success;
    case PointerAttribute::range_start:
      *static_cast<Address*>(value) = start;
      return Result::success;
    case PointerAttribute::range_size:
      *static_cast<std::size_t*>(value) = allocation.bytes;
      return Result::success;
    default:
      return misuse(Result::invalid_value);
  }
}
