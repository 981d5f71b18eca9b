#include "runtime/context.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "myriad/error.hpp"
#include "runtime/gpu_errors.hpp"
#include "runtime/messages.hpp"

namespace myriad {
namespace {

using gpu::driver::Api;
using gpu::driver::check;
using gpu::driver::DeviceAttribute;
using gpu::driver::DeviceHandle;

int attribute(DeviceAttribute which, DeviceHandle device) {
  int value = 0;
  check(gpu::driver::api().cuDeviceGetAttribute(&value, which, device), "cuDeviceGetAttribute");
  return value;
}

DeviceHandle handle_of(int ordinal) {
  DeviceHandle device = 0;
  check(gpu::driver::api().cuDeviceGet(&device, ordinal), "cuDeviceGet");
  return device;
}

Device describe_device(int ordinal) {
  Api const& cu = gpu::driver::api();
  DeviceHandle const device = handle_of(ordinal);
  Device out;
  out.ordinal = ordinal;
  std::array<char, 256> name{};
  check(cu.cuDeviceGetName(name.data(), static_cast<int>(name.size()) - 1, device), "cuDeviceGetName");
  out.name = name.data();
  gpu::driver::Uuid uuid{};
  check(cu.cuDeviceGetUuid_v2(&uuid, device), "cuDeviceGetUuid");
  std::copy(std::begin(uuid.bytes), std::end(uuid.bytes), out.uuid.begin());
  out.major = attribute(DeviceAttribute::compute_capability_major, device);
  out.minor = attribute(DeviceAttribute::compute_capability_minor, device);
  out.multiprocessors = attribute(DeviceAttribute::multiprocessor_count, device);
  out.max_threads_per_multiprocessor = attribute(DeviceAttribute::max_threads_per_multiprocessor, device);
  out.max_blocks_per_multiprocessor = attribute(DeviceAttribute::max_blocks_per_multiprocessor, device);
  out.max_threads_per_block = attribute(DeviceAttribute::max_threads_per_block, device);
  out.registers_per_multiprocessor = attribute(DeviceAttribute::max_registers_per_multiprocessor, device);
  out.registers_per_block = attribute(DeviceAttribute::max_registers_per_block, device);
  out.shared_memory_per_multiprocessor = attribute(DeviceAttribute::max_shared_memory_per_multiprocessor, device);
  out.shared_memory_per_block = attribute(DeviceAttribute::max_shared_memory_per_block_optin, device);
  out.reserved_shared_memory_per_block = attribute(DeviceAttribute::reserved_shared_memory_per_block, device);
  out.l2_bytes = attribute(DeviceAttribute::l2_cache_size, device);
  std::size_t bytes = 0;
  check(cu.cuDeviceTotalMem_v2(&bytes, device), "cuDeviceTotalMem");
  out.memory_bytes = static_cast<std::int64_t>(bytes);
  return out;
}

}  // namespace

std::vector<Device> devices() {
  std::vector<Device> out;
  int const count = gpu::driver::load().device_count;
  for (int i = 0; gpu::driver::load().api && i < count; ++i) {
    try {
      out.push_back(describe_device(i));
    } catch (Error const& error) {
      gpu::message(fmt::format("GPU {} is left out: {}", i, error.what()));
    }
  }
  return out;
}

namespace gpu {

std::string prefix_of_errors(int ordinal) {
  std::array<char, 256> name{};
  DeviceHandle device = 0;
  driver::Api const* const cu = driver::load().api;
  bool const known = cu && cu->cuDeviceGet(&device, ordinal) == driver::Result::success &&
                     cu->cuDeviceGetName(name.data(), static_cast<int>(name.size()) - 1, device) == driver::Result::success;
  return known ? fmt::format("GPU {} ({}): ", ordinal, name.data()) : fmt::format("GPU {}: ", ordinal);
}

Context::Context(int ordinal) : device_(describe_device(ordinal)) {
  driver::DeviceHandle const device = handle_of(ordinal);
  if (device_.major < 8)
    throw Unavailable(
        fmt::format("GPU {} ({}) has compute capability {}.{}; kernels need 8.0", ordinal, device_.name, device_.major, device_.minor));
  if (attribute(DeviceAttribute::memory_pools_supported, device) == 0)
    throw Unavailable(fmt::format("GPU {} ({}) has no memory pools", ordinal, device_.name));
  check(driver::api().cuDevicePrimaryCtxRetain(&handle_, device), "cuDevicePrimaryCtxRetain");
  reaches_host_memory_ = attribute(DeviceAttribute::pageable_memory_access, device) != 0;
}

Context::~Context() = default;

bool Context::reaches(void const* address) const {
  if (reaches_host_memory_) return true;
  driver::CurrentContext const current(handle_);
  driver::MemoryType type{};
  driver::Result const result =
      driver::api().cuPointerGetAttribute(&type, driver::PointerAttribute::memory_type, reinterpret_cast<driver::Address>(address));
  if (result == driver::Result::invalid_value) return false;
  check(result, "cuPointerGetAttribute");  // may report an error of earlier work
  return true;
}

Context& Context::of(int ordinal) {
  static auto* const mutex = new std::mutex;
  static auto* const contexts = new std::unordered_map<int, Context*>;  // never destroyed
  driver::api();                                                        // throws without a driver or a GPU
  int const count = driver::load().device_count;
  if (ordinal < 0 || ordinal >= count)
    throw BadArgument("Queue", 2, "device",
                      fmt::format("is {}; the driver has {} GPU{}, counted from 0", ordinal, count, count == 1 ? "" : "s"));
  std::scoped_lock const lock(*mutex);
  Context*& context = (*contexts)[ordinal];
  if (!context) context = naming_gpu(ordinal, [&] { return new Context(ordinal); });
  return *context;
}

Kernel const* Context::find(KernelKey const& key) const {
  std::shared_lock const lock(kernels_mutex_);
  auto const at = kernels_.find(key);
  return at == kernels_.end() ? nullptr : at->second.get();
}

Kernel const& Context::load(KernelKey const& key, KernelSource const& source) {
  std::promise<Kernel const*> promise;
  std::shared_future<Kernel const*> other;
  {
    std::scoped_lock const lock(loading_mutex_);
    if (Kernel const* const found = find(key)) return *found;  // loaded since the caller looked
    auto const [at, mine] = loading_.try_emplace(key);
    if (mine)
      at->second = promise.get_future().share();
    else
      other = at->second;
  }
  if (other.valid()) return *other.get();
  auto const done = [&] {
    std::scoped_lock const lock(loading_mutex_);
    loading_.erase(key);
  };
  try {
    std::unique_ptr<Kernel const> kernel = load_module(source);
    Kernel const& out = *kernel;
    {
      std::unique_lock const lock(kernels_mutex_);
      kernels_.emplace(key, std::move(kernel));
    }
    done();
    promise.set_value(&out);
    return out;
  } catch (...) {
    done();
    promise.set_exception(std::current_exception());
    throw;
  }
}

bool Context::is_missing(KernelKey const& key) const {
  std::shared_lock const lock(kernels_mutex_);
  return missing_.contains(key);
}

Kernel const* Context::load_if_there(KernelKey const& key, KernelSource const& source) {
  try {
    return &load(key, source);
  } catch (Unavailable const& reason) {
    message(fmt::format("done without: {}", reason.what()));
  }
  std::unique_lock const lock(kernels_mutex_);
  missing_.insert(key);
  return nullptr;
}

std::unique_ptr<Kernel> Context::load_module(KernelSource const& source) {
  driver::Api const& cu = driver::api();
  int const driver_version = driver::load().version;
  auto const obtain = [&](bool ptx) {
    return KernelStore::instance().obtain(source, device_.major, device_.minor, {.version = driver_version, .compiles_ptx = ptx});
  };
  KernelRecord record = obtain(true);
  driver::CurrentContext const current(handle_);
  driver::OutsideCapture const outside_capture;
  driver::ModuleHandle module = nullptr;
  if (record.is_ptx()) {
    driver::Result const result = cu.cuModuleLoadDataEx(&module, record.cubin.data(), 0, nullptr, nullptr);
    if (result != driver::Result::success) {  // such as in a container without the driver's own compiler
      message(fmt::format("{}: the driver does not compile PTX: {}", record.name, driver::describe(result)));
      record = obtain(false);
    }
  }
  auto kernel = std::make_unique<Kernel>();
  kernel->name = fmt::format("{} for {}", record.name, record.arch);
  kernel->log = record.log;
  // A driver older than the compiler may not support its machine code.
  bool const newer = !DriverLimits{.version = driver_version}.take(record.compiler, false);
  std::string const what =
      fmt::format("{} ({}, driver {}.{}{})", kernel->name, record.compiler, driver_version / 1000, driver_version % 1000 / 10,
                  newer ? ": the driver is older than the compiler; MYRIAD_NVRTC can name one that goes with it" : "");
  if (!module) check(cu.cuModuleLoadDataEx(&module, record.cubin.data(), 0, nullptr, nullptr), "cuModuleLoadDataEx", what.c_str());
  try {
    check(cu.cuModuleGetFunction(&kernel->function, module, record.lowered_name.c_str()), "cuModuleGetFunction", what.c_str());
    auto const function_attribute = [&](driver::FunctionAttribute which) {
      int value = 0;
      check(cu.cuFuncGetAttribute(&value, which, kernel->function), "cuFuncGetAttribute", what.c_str());
      return value;
    };
    kernel->registers = function_attribute(driver::FunctionAttribute::registers);
    kernel->local_bytes = function_attribute(driver::FunctionAttribute::local_size_bytes);
    kernel->shared_bytes = function_attribute(driver::FunctionAttribute::shared_size_bytes);
    kernel->max_threads = function_attribute(driver::FunctionAttribute::max_threads_per_block);
    // More than 48 KiB of dynamic shared memory needs an opt-in, once. Occupancy depends on the size that a launch requests.
    kernel->max_dynamic_shared_bytes = device_.shared_memory_per_block - kernel->shared_bytes;
    check(
        cu.cuFuncSetAttribute(kernel->function, driver::FunctionAttribute::max_dynamic_shared_size_bytes, kernel->max_dynamic_shared_bytes),
        "cuFuncSetAttribute", what.c_str());
  } catch (...) {
    cu.cuModuleUnload(module);
    throw;
  }
  return kernel;
}

}  // namespace gpu
}  // namespace myriad
