#pragma once
/// Division of several numbers by the same one.

#include "simt/types.hpp"

namespace myriad::simt {

/// Division by y of several numbers: a product with the reciprocal, but for y so small or large that the reciprocal would overflow or
/// vanish, which are scaled first. A zero divides like one, unless `by_zero`: then it gives infinity or NaN.
template <typename T, bool by_zero = false>
struct Divisor {
  T y, reciprocal_of_y;

  Divisor() = default;
  SIMT_INLINE explicit Divisor(T divisor) : y(divisor), reciprocal_of_y(reciprocal(divisor)) {}
  SIMT_INLINE bool usual() const {
    constexpr unsigned least = sizeof(Real<T>) == 4 ? 0x0d000000 : 0x01700000;  // 2^-101, 2^-1000
    constexpr unsigned most = sizeof(Real<T>) == 4 ? 0x72000000 : 0x7e000000;   // 2^101, 2^993
    return leading_bits(ordered_bits(magnitude(y))) - least < most - least;
  }
  SIMT_INLINE T divide(T x) const {
    if (usual()) return x * reciprocal_of_y;
    return divide_unusual(x);
  }
  SIMT_INLINE T divide_unusual(T x) const {
    using R = Real<T>;
    R const size = magnitude(y);
    if (size == R(0)) return by_zero ? R(infinity()) * x : x;
    R const scale = size < R(1) ? power_of_two<R, 1000, 100> : power_of_two<R, -100, -50>;
    return (scale * x) * reciprocal(scale * y);
  }
};

/// x / y in both parts, with a real y.
template <typename R, bool by_zero>
SIMT_INLINE R quotient(Divisor<R, by_zero> const& y, R x) {
  return y.divide(x);
}
template <typename R, bool by_zero>
SIMT_INLINE Complex<R> quotient(Divisor<R, by_zero> const& y, Complex<R> x) {
  return {y.divide(x.re), y.divide(x.im)};
}

}  // namespace myriad::simt
