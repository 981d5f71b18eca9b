#pragma once
/// Dispatch to a SIMD target at run time.
///
/// A family's lane kernels are in one `<family>_simd.cpp`, compiled once per target. Every kernel has a task, a plain struct template
/// `Task<T>` of its arguments, and in HWY_NAMESPACE a function template `name<T>(Task<T> const&, begin, end)` that works on the matrices
/// [begin, end) in the calling thread. MYRIAD_LANES_IMPLEMENT(name, Task) after it, inside HWY_NAMESPACE, and
/// MYRIAD_LANES_DISPATCH(name, Task) once, in namespace myriad under HWY_ONCE, define `void name(Task<T> const&, begin, end)` for the four
/// element types; the host side declares it with MYRIAD_LANES_DECLARE(name, Task).

#include <complex>
#include <cstdint>

// Targets compiled in: the baseline of the architecture, AVX2, AVX-512 (which Highway calls AVX3) and NEON. The others would add compile
// time and size without gain. They are given by bits, since not every version of Highway names them all: AVX3_SPR, AVX3_ZEN4, AVX3_DL,
// SSE4, SSSE3, SVE2_128, SVE_256, SVE2, SVE.
#define HWY_DISABLED_TARGETS \
  ((1LL << 4) | (1LL << 6) | (1LL << 7) | (1LL << 11) | (1LL << 12) | (1LL << 24) | (1LL << 25) | (1LL << 26) | (1LL << 27))

#define MYRIAD_LANES_DECLARE(name, Task)                                                  \
  void name(Task<float> const& task, std::int64_t begin, std::int64_t end);               \
  void name(Task<double> const& task, std::int64_t begin, std::int64_t end);              \
  void name(Task<std::complex<float>> const& task, std::int64_t begin, std::int64_t end); \
  void name(Task<std::complex<double>> const& task, std::int64_t begin, std::int64_t end)

#define MYRIAD_LANES_IMPLEMENT(name, Task)                                                                            \
  void name##_f32(Task<float> const& task, std::int64_t begin, std::int64_t end) { name<float>(task, begin, end); }   \
  void name##_f64(Task<double> const& task, std::int64_t begin, std::int64_t end) { name<double>(task, begin, end); } \
  void name##_c32(Task<std::complex<float>> const& task, std::int64_t begin, std::int64_t end) {                      \
    name<std::complex<float>>(task, begin, end);                                                                      \
  }                                                                                                                   \
  void name##_c64(Task<std::complex<double>> const& task, std::int64_t begin, std::int64_t end) {                     \
    name<std::complex<double>>(task, begin, end);                                                                     \
  }

#define MYRIAD_LANES_DISPATCH(name, Task)                                                                                           \
  HWY_EXPORT(name##_f32);                                                                                                           \
  HWY_EXPORT(name##_f64);                                                                                                           \
  HWY_EXPORT(name##_c32);                                                                                                           \
  HWY_EXPORT(name##_c64);                                                                                                           \
  void name(Task<float> const& task, std::int64_t begin, std::int64_t end) { HWY_DYNAMIC_DISPATCH(name##_f32)(task, begin, end); }  \
  void name(Task<double> const& task, std::int64_t begin, std::int64_t end) { HWY_DYNAMIC_DISPATCH(name##_f64)(task, begin, end); } \
  void name(Task<std::complex<float>> const& task, std::int64_t begin, std::int64_t end) {                                          \
    HWY_DYNAMIC_DISPATCH(name##_c32)(task, begin, end);                                                                             \
  }                                                                                                                                 \
  void name(Task<std::complex<double>> const& task, std::int64_t begin, std::int64_t end) {                                         \
    HWY_DYNAMIC_DISPATCH(name##_c64)(task, begin, end);                                                                             \
  }
