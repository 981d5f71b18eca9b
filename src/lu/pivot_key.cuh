#pragma once
/// How Gauss-Jordan chooses pivots, which nobody is told.
///
/// The pivot of a step is the first row whose |re| + |im| has the largest leading bits: 15 bits of the fraction in double, 18 in single. So
/// factors are at most 1 + 2^-15 by that measure, rows need no order of interchanges, and one word per lane decides. NaN counts as larger
/// than all numbers. Where leading bits say nothing, of numbers whose reciprocal is not usual, all bits decide. First is first in the
/// matrix as it was given: any division of the rows among lanes finds the same.

#include "simt/divisor.hpp"

namespace myriad::simt {

inline constexpr unsigned row_of_key_bits = 31;
/// Bits of a key that count for rows that may be chosen; zero for others.
inline constexpr unsigned eligible_bits = 0x7fffffff & ~row_of_key_bits;

/// The larger, the better.
template <typename T>
SIMT_INLINE unsigned pivot_key(T x, unsigned eligible, unsigned row) {
  return (leading_bits_of_magnitude(x) & eligible) | (row_of_key_bits - row % 32);
}
/// The row of the best of all keys.
SIMT_INLINE unsigned row_of_key(unsigned key) { return ~key & row_of_key_bits; }

/// The choice by all bits, one candidate after the other.
template <typename T>
struct BestByAllBits {
  static constexpr unsigned nowhere = 32;
  using Bits = decltype(ordered_bits(Real<T>()));
  Bits bits = 0;
  unsigned row = nowhere;

  SIMT_INLINE void take(Bits of, unsigned at) {
    bool const better = at != nowhere && (row == nowhere || of > bits || (of == bits && at < row));
    bits = better ? of : bits;
    row = better ? at : row;
  }
  SIMT_INLINE void take(T x, bool eligible, unsigned at) { take(ordered_bits(magnitude(x)), eligible ? at : nowhere); }
  /// The best of `lanes` neighbouring lanes.
  SIMT_INLINE void take_of_lanes(int lanes) {
    SIMT_LOOP
    for (int distance = lanes / 2; distance > 0; distance /= 2) take(shuffle_xor(bits, distance), shuffle_xor(row, distance));
  }
};

}  // namespace myriad::simt
