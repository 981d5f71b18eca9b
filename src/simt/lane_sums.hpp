#pragma once
/// Sums of several values at a time over lanes of a warp.

#include "simt/types.hpp"

namespace myriad::simt {

SIMT_INLINE constexpr int log_of(int power) {
  int log = 0;
  while (power > 1 << log) ++log;
  return log;
}

/// Sums `count` values over 2^log_lanes lanes, `stride` apart in the warp, and calls use(number, sum) in one lane for each. `place` is the
/// number of this lane among them. In each step a lane keeps half of its sums and passes on the others, while it has several.
template <int count, int log_lanes, int stride, typename T, typename Use>
SIMT_INLINE void sum_over_lanes(T (&sum)[count], int place, Use use) {
  constexpr int halvings = [] {
    int steps = 0;
    for (int number = count; number > 1 && steps < log_lanes; number = (number + 1) / 2) ++steps;
    return steps;
  }();
  constexpr int left = (count + (1 << halvings) - 1) >> halvings;
  int number_of_lane = 0, number = count;
  SIMT_UNROLL
  for (int step = 0; step < log_lanes; ++step) {
    int const mask = 1 << (log_lanes - 1 - step);
    bool const odd = (place & mask) != 0;
    if (step < halvings) {
      SIMT_UNROLL
      for (int p = 0; p < (count + 1) / 2; ++p) {
        if (2 * p >= number) continue;
        T const low = sum[2 * p], high = 2 * p + 1 < number ? sum[smaller(2 * p + 1, count - 1)] : from_real<T>(0);
        sum[p] = (odd ? high : low) + shuffle_xor(odd ? low : high, mask * stride);
      }
      number_of_lane += odd ? 1 << step : 0;
      number = (number + 1) / 2;
    } else {
      SIMT_UNROLL
      for (int p = 0; p < left; ++p) sum[p] = sum[p] + shuffle_xor(sum[p], mask * stride);
    }
  }
  if (place % (1 << (log_lanes - halvings)) != 0) return;
  SIMT_UNROLL
  for (int p = 0; p < left; ++p) {
    int const of = p * (1 << halvings) + number_of_lane;
    if (of < count) use(of, sum[p]);
  }
}

}  // namespace myriad::simt
