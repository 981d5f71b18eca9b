#include "runtime/driver.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "myriad/error.hpp"

namespace myriad::gpu::driver {
namespace {

/// Oldest driver that has all required functions.
constexpr int oldest_version = 11080;

Loaded load_once() {
  static Api functions;
  Loaded out;
  // Never closed: the driver's threads and state live as long as the process.
  void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    char const* const reason = ::dlerror();
    out.problem = fmt::format("no NVIDIA driver: {}", reason ? reason : "libcuda.so.1 cannot be opened");
    return out;
  }
  // Checks the version first, to distinguish a driver that is too old from a damaged one.
  if (auto const version = reinterpret_cast<Result (*)(int*)>(::dlsym(library, "cuDriverGetVersion"))) version(&out.version);
  char const* missing = nullptr;
#define MYRIAD_LOAD(name, parameters)                                                   \
  functions.name = reinterpret_cast<decltype(functions.name)>(::dlsym(library, #name)); \
  if (!functions.name && !missing) missing = #name;
  MYRIAD_DRIVER_FUNCTIONS(MYRIAD_LOAD)
#undef MYRIAD_LOAD
#define MYRIAD_LOAD(name, parameters) functions.name = reinterpret_cast<decltype(functions.name)>(::dlsym(library, #name));
  MYRIAD_OPTIONAL_DRIVER_FUNCTIONS(MYRIAD_LOAD)
#undef MYRIAD_LOAD
  if (missing) {
    out.problem = fmt::format("libcuda.so.1 has no {}: the driver's version is {}.{}, {}.{} or newer is needed", missing,
                              out.version / 1000, out.version % 1000 / 10, oldest_version / 1000, oldest_version % 1000 / 10);
    return out;
  }
  auto const words = [](Result result) {
    char const* name = nullptr;
    char const* text = nullptr;
    if (functions.cuGetErrorName(result, &name) != Result::success || !name) name = "unknown error";
    if (functions.cuGetErrorString(result, &text) != Result::success || !text) text = "no description";
    return fmt::format("{} ({})", name, text);
  };
  if (Result const result = functions.cuInit(0); result != Result::success) {
    out.problem =
        result == Result::no_device ? "the NVIDIA driver finds no GPU" : fmt::format("the NVIDIA driver does not start: {}", words(result));
    return out;
  }
  if (Result const result = functions.cuDeviceGetCount(&out.device_count); result != Result::success || out.device_count == 0) {
    out.problem = "the NVIDIA driver finds no GPU";
    return out;
  }
  out.api = &functions;
  return out;
}

}  // namespace

Loaded const& load() {
  static Loaded const loaded = load_once();
  return loaded;
}

Api const& api() {
  Loaded const& loaded = load();
  if (!loaded.api) throw Unavailable(loaded.problem);
  return *loaded.api;
}

std::string describe(Result result) {
  char const* name = nullptr;
  char const* text = nullptr;
  Api const* const functions = load().api;
  if (!functions || functions->cuGetErrorName(result, &name) != Result::success || !name)
    return fmt::format("error {}", static_cast<int>(result));
  if (functions->cuGetErrorString(result, &text) != Result::success || !text) text = "no description";
  return fmt::format("{} ({})", name, text);
}

void check(Result result, char const* call, char const* what) {
  if (result == Result::success) return;
  std::string const text = what ? fmt::format("{}: {}: {}", what, call, describe(result)) : fmt::format("{}: {}", call, describe(result));
  if (result == Result::out_of_memory) throw OutOfMemory(text);
  throw GpuError(text, static_cast<int>(result));
}

int gpu_of(void const* address) {
  auto type = MemoryType::host;
  unsigned managed = 0;
  int ordinal = -1;
  bool const of_a_gpu = ask(PointerAttribute::memory_type, address, type) && type == MemoryType::device &&
                        !(ask(PointerAttribute::is_managed, address, managed) && managed != 0);
  return of_a_gpu && ask(PointerAttribute::device_ordinal, address, ordinal) ? ordinal : -1;
}

CurrentContext::CurrentContext(ContextHandle context) {
  Api const& cu = api();
  // The context is usually current already; the query is cheaper than push and pop.
  ContextHandle current = nullptr;
  check(cu.cuCtxGetCurrent(&current), "cuCtxGetCurrent");
  if (current == context) return;
  check(cu.cuCtxPushCurrent_v2(context), "cuCtxPushCurrent");
  pushed_ = true;
}
CurrentContext::~CurrentContext() {
  ContextHandle popped = nullptr;
  if (pushed_) api().cuCtxPopCurrent_v2(&popped);
}

OutsideCapture::OutsideCapture() { api().cuThreadExchangeStreamCaptureMode(&mode_); }
OutsideCapture::~OutsideCapture() { api().cuThreadExchangeStreamCaptureMode(&mode_); }

}  // namespace myriad::gpu::driver
