#include "floor.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace myriad::bench {
namespace {

using Clock = std::chrono::steady_clock;

/// Shortest of several runs, which last at least this many seconds together.
template <typename F>
double best_seconds(double least, F const& work) {
  double best = std::numeric_limits<double>::infinity();
  auto const start = Clock::now();
  for (int turn = 0; turn < 5 || Clock::now() - start < std::chrono::duration<double>(least); ++turn) {
    auto const begin = Clock::now();
    work();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - begin).count());
  }
  return best;
}

// Eight chains of 64 bytes: enough to hide four cycles of latency behind two units that are 64 bytes wide.
constexpr int chains = 8;
constexpr std::int64_t steps = 200000;

typedef float FloatVector __attribute__((vector_size(64)));
typedef double DoubleVector __attribute__((vector_size(64)));

// The chains start from different values, since the compiler would merge equal ones.
#define MYRIAD_FMA_LOOP(Name, Vector, Real, Attribute)                                                        \
  Attribute Real Name(Real x, Real y) {                                                                       \
    Vector const p = Vector{} + x;                                                                            \
    Vector const q = Vector{} + y;                                                                            \
    Vector a0 = q, a1 = a0 + q, a2 = a1 + q, a3 = a2 + q, a4 = a3 + q, a5 = a4 + q, a6 = a5 + q, a7 = a6 + q; \
    for (std::int64_t i = 0; i < steps; ++i) {                                                                \
      a0 = a0 * p + q, a1 = a1 * p + q, a2 = a2 * p + q, a3 = a3 * p + q;                                     \
      a4 = a4 * p + q, a5 = a5 * p + q, a6 = a6 * p + q, a7 = a7 * p + q;                                     \
    }                                                                                                         \
    Vector const sum = a0 + a1 + a2 + a3 + a4 + a5 + a6 + a7;                                                 \
    return sum[0];                                                                                            \
  }
MYRIAD_FMA_LOOP(plain_single, FloatVector, float, )
MYRIAD_FMA_LOOP(plain_double, DoubleVector, double, )
#if defined(__x86_64__)
MYRIAD_FMA_LOOP(avx2_single, FloatVector, float, __attribute__((target("avx2,fma"))))
MYRIAD_FMA_LOOP(avx2_double, DoubleVector, double, __attribute__((target("avx2,fma"))))
MYRIAD_FMA_LOOP(avx512_single, FloatVector, float, __attribute__((target("avx512f"))))
MYRIAD_FMA_LOOP(avx512_double, DoubleVector, double, __attribute__((target("avx512f"))))
#endif
#undef MYRIAD_FMA_LOOP

double fma_loop(bool single) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return single ? static_cast<double>(avx512_single(0.5F, 1.0F)) : avx512_double(0.5, 1.0);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return single ? static_cast<double>(avx2_single(0.5F, 1.0F)) : avx2_double(0.5, 1.0);
#endif
  return single ? static_cast<double>(plain_single(0.5F, 1.0F)) : plain_double(0.5, 1.0);
}

}  // namespace

double copy_rate(double footprint, int threads, double least) {
  auto const size = static_cast<std::int64_t>(std::max(footprint / 2, 4096.0));
  std::vector<char> from(static_cast<std::size_t>(size), 1);
  std::vector<char> to(static_cast<std::size_t>(size), 2);
  constexpr std::int64_t piece = 1 << 16;
  double const seconds = best_seconds(least, [&] {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (std::int64_t at = 0; at < size; at += piece)
      std::memcpy(to.data() + at, from.data() + at, static_cast<std::size_t>(std::min(piece, size - at)));
  });
  return 2.0 * static_cast<double>(size) / seconds;
}

double peak_flops(bool single, int threads, double least) {
  double sink = 0;
  double const seconds = best_seconds(least, [&] {
#pragma omp parallel num_threads(threads) reduction(+ : sink)
    sink += fma_loop(single);
  });
  double const lanes = single ? 16 : 8;
  // never true: this use of the sum keeps the loops from being removed
  return sink < 0 ? 0 : 2.0 * lanes * chains * static_cast<double>(steps) * threads / seconds;
}

}  // namespace myriad::bench
