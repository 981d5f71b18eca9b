#include "gpu/peers.hpp"

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <stdexcept>

namespace myriad::bench {
namespace {

void* open(std::initializer_list<char const*> names) {
  for (char const* const name : names)
    if (void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  return nullptr;
}

void check(int status, char const* what) {
  if (status != 0) throw std::runtime_error(std::string(what) + ": status " + std::to_string(status));
}

}  // namespace

Cublas::Cublas(void* stream) {
  library_ = open({"libcublas.so.13", "libcublas.so.12", "libcublas.so", "/usr/local/cuda/lib64/libcublas.so"});
  if (!library_) {
    problem_ = "cuBLAS was not found: libcublas.so.13, libcublas.so.12, /usr/local/cuda/lib64/libcublas.so; set LD_LIBRARY_PATH";
    return;
  }
  auto const create = reinterpret_cast<int (*)(void**)>(dlsym(library_, "cublasCreate_v2"));
  auto const set_stream = reinterpret_cast<int (*)(void*, void*)>(dlsym(library_, "cublasSetStream_v2"));
  auto const get_version = reinterpret_cast<int (*)(void*, int*)>(dlsym(library_, "cublasGetVersion_v2"));
  if (!create || !set_stream || !get_version || create(&handle_) != 0) {
    problem_ = "cuBLAS was found but does not start";
    return;
  }
  check(set_stream(handle_, stream), "cublasSetStream");
  get_version(handle_, &version_);
}

Cublas::~Cublas() {
  if (!handle_) return;
  if (auto const destroy = reinterpret_cast<int (*)(void*)>(dlsym(library_, "cublasDestroy_v2"))) destroy(handle_);
}

template <typename F>
F* Cublas::function(char const* name, Dtype dtype) {
  constexpr std::array letters{'S', 'D', 'C', 'Z'};
  std::string const full = std::string("cublas") + letters.at(static_cast<std::size_t>(dtype)) + name;
  auto* const found = reinterpret_cast<F*>(dlsym(library_, full.c_str()));
  if (!found) throw std::runtime_error(full + " is not in this cuBLAS");
  return found;
}

void Cublas::getrf(Dtype dtype, int n, void* const* a, int* pivots, int* info, int count) {
  check(function<int(void*, int, void* const*, int, int*, int*, int)>("getrfBatched", dtype)(handle_, n, a, n, pivots, info, count),
        "getrfBatched");
}
void Cublas::getrs(Dtype dtype, int n, int nrhs, void* const* a, int const* pivots, void* const* b, int count) {
  int info = 0;
  check(function<int(void*, int, int, int, void* const*, int, int const*, void* const*, int, int*, int)>("getrsBatched", dtype)(
            handle_, 0, n, nrhs, a, n, pivots, b, n, &info, count),
        "getrsBatched");
}
void Cublas::getri(Dtype dtype, int n, void* const* a, int const* pivots, void* const* c, int* info, int count) {
  check(function<int(void*, int, void* const*, int, int const*, void* const*, int, int*, int)>("getriBatched", dtype)(
            handle_, n, a, n, pivots, c, n, info, count),
        "getriBatched");
}
void Cublas::matinv(Dtype dtype, int n, void* const* a, void* const* c, int* info, int count) {
  check(function<int(void*, int, void* const*, int, void* const*, int, int*, int)>("matinvBatched", dtype)(handle_, n, a, n, c, n, info,
                                                                                                           count),
        "matinvBatched");
}

EnergyMeter::EnergyMeter(int device) {
  library_ = open({"libnvidia-ml.so.1"});
  if (!library_) return;
  auto const init = reinterpret_cast<int (*)()>(dlsym(library_, "nvmlInit_v2"));
  auto const get = reinterpret_cast<int (*)(unsigned, void**)>(dlsym(library_, "nvmlDeviceGetHandleByIndex_v2"));
  if (!init || !get || init() != 0 || get(static_cast<unsigned>(device), &device_) != 0) device_ = nullptr;
}
EnergyMeter::~EnergyMeter() {
  if (!library_) return;
  if (auto const shutdown = reinterpret_cast<int (*)()>(dlsym(library_, "nvmlShutdown"))) shutdown();
}
double EnergyMeter::joules() const {
  if (!device_) return 0;
  auto const total = reinterpret_cast<int (*)(void*, unsigned long long*)>(dlsym(library_, "nvmlDeviceGetTotalEnergyConsumption"));
  unsigned long long millijoules = 0;
  return total && total(device_, &millijoules) == 0 ? static_cast<double>(millijoules) * 1e-3 : 0;
}

}  // namespace myriad::bench
