#pragma once
/// cuBLAS, found at run time, as far as it has what Myriad has.

#include <cstdint>
#include <string>

#include "myriad/types.hpp"

namespace myriad::bench {

/// The batched LU of cuBLAS on one stream; all pointers are of the device.
class Cublas {
 public:
  explicit Cublas(void* stream);
  ~Cublas();
  Cublas(Cublas const&) = delete;
  Cublas& operator=(Cublas const&) = delete;

  /// Why it cannot be used; empty where it can.
  [[nodiscard]] std::string const& problem() const { return problem_; }
  [[nodiscard]] int version() const { return version_; }

  void getrf(Dtype dtype, int n, void* const* a, int* pivots, int* info, int count);
  void getrs(Dtype dtype, int n, int nrhs, void* const* a, int const* pivots, void* const* b, int count);
  void getri(Dtype dtype, int n, void* const* a, int const* pivots, void* const* c, int* info, int count);
  void matinv(Dtype dtype, int n, void* const* a, void* const* c, int* info, int count);  ///< n up to 32

 private:
  template <typename F>
  F* function(char const* name, Dtype dtype);

  void* library_ = nullptr;
  void* handle_ = nullptr;
  int version_ = 0;
  std::string problem_;
};

/// Joules that a GPU has taken since some time, through NVML; 0 where there is none.
class EnergyMeter {
 public:
  explicit EnergyMeter(int device);
  ~EnergyMeter();
  EnergyMeter(EnergyMeter const&) = delete;
  EnergyMeter& operator=(EnergyMeter const&) = delete;
  [[nodiscard]] double joules() const;

 private:
  void* library_ = nullptr;
  void* device_ = nullptr;
};

}  // namespace myriad::bench
