#pragma once
/// Scales for matrices whose elements are near the ends of the range.

#include "simt/powers.hpp"

namespace myriad {

/// By which powers of two a matrix is multiplied before it is factored, and right-hand sides before they are solved for, as in LAPACK's
/// gels: where their largest parts are near the ends of the range, so that nothing on the way leaves it. 0: not at all.
template <typename R>
struct RangeScales {
  short of_a, of_b;  // in few bytes: they wait in shared memory

  /// Makes the scales from the leading bits of the largest parts of A and B. Right-hand sides are scaled up sooner than A.
  SIMT_INLINE static RangeScales of(unsigned most_of_a, unsigned most_of_b) {
    constexpr bool single = sizeof(R) == 4;
    auto const scale = [](unsigned most, int small, int up) -> short {
      using simt::leading_bits_of_power;
      bool const large = most >= leading_bits_of_power<R>(single ? 103 : 970) && most < leading_bits_of_power<R>(single ? 128 : 1024);
      return static_cast<short>(large ? (single ? -40 : -100) : most < leading_bits_of_power<R>(small) ? up : 0);
    };
    return {scale(most_of_a, single ? -103 : -970, single ? 60 : 200), scale(most_of_b, single ? -80 : -800, single ? 70 : 300)};
  }
  SIMT_INLINE bool any() const { return (of_a | of_b) != 0; }
};

}  // namespace myriad
