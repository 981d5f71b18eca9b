#pragma once
/// Division of several numbers by one divisor.

#include "simt/types.hpp"

namespace myriad::simt {

/// Whether a number with these leading bits is positive and far enough from overflow and underflow that its plain reciprocal is usable.
template <typename R>
SIMT_INLINE bool has_usual_reciprocal(unsigned leading) {
  constexpr unsigned least = sizeof(R) == 4 ? 0x0d000000 : 0x01700000;  // 2^-101, 2^-1000
  constexpr unsigned most = sizeof(R) == 4 ? 0x72000000 : 0x7e000000;   // 2^101, 2^993
  return leading - least < most - least;
}
SIMT_INLINE bool has_usual_reciprocal(float size) { return has_usual_reciprocal<float>(leading_bits(ordered_bits(size))); }
SIMT_INLINE bool has_usual_reciprocal(double size) { return has_usual_reciprocal<double>(leading_bits(ordered_bits(size))); }

/// Divides several numbers by y by multiplying with its reciprocal. A y so small or large that the reciprocal would overflow or underflow
/// is scaled first. Division by zero divides by one, unless `by_zero`: then it gives infinity or NaN.
template <typename T, bool by_zero = false>
struct Divisor {
  T y, reciprocal_of_y;

  Divisor() = default;
  SIMT_INLINE explicit Divisor(T divisor) : y(divisor), reciprocal_of_y(reciprocal(divisor)) {}
  SIMT_INLINE bool usual() const { return has_usual_reciprocal<Real<T>>(leading_bits_of_magnitude(y)); }
  SIMT_INLINE T divide(T x) const {
    if (usual()) return x * reciprocal_of_y;
    return divide_unusual(x);
  }
  SIMT_INLINE T divide_unusual(T x) const {
    Divisor scaled = *this;
    Real<T> const scale = scaled.make_usual();
    return (scale * x) * scaled.reciprocal_of_y;
  }
  /// For y outside the usual range: replaces the reciprocal by that of the scaled y and returns the scale, so that x / y = (scale * x) *
  /// reciprocal_of_y.
  SIMT_INLINE Real<T> make_usual() {
    using R = Real<T>;
    R const size = magnitude(y);
    bool const zero = size == R(0);
    R const scale = zero ? by_zero ? R(infinity()) : R(1) : size < R(1) ? power_of_two<R, 1000, 100> : power_of_two<R, -100, -50>;
    reciprocal_of_y = zero ? from_real<T>(1) : reciprocal(scale * y);
    return scale;
  }
};

/// Division by a real number in two products, without a branch: for unrolled code. Zero gives infinity or NaN, infinity gives zero.
template <typename R>
struct RealDivisor {
  bool usual = true;  ///< whether the scale is one
  R scaled = 1;       ///< scale y, unless y is zero or infinite
  R scale = 1;
  R inverse;  ///< of `scaled`

  RealDivisor() = default;
  SIMT_INLINE explicit RealDivisor(R y) : usual(has_usual_reciprocal(magnitude(y))), scaled(y) {
    if (!usual) {
      bool const extreme = y == R(0) || magnitude(y) == R(infinity());
      bool const small = magnitude(y) < R(1);
      scale = extreme ? small ? R(infinity()) : R(0) : small ? power_of_two<R, 1000, 100> : power_of_two<R, -100, -50>;
      scaled = extreme ? R(1) : scale * y;
    }
    inverse = reciprocal(scaled);
  }
  /// For a y with has_usual_reciprocal.
  SIMT_INLINE static RealDivisor of_usual(R y) {
    RealDivisor out;
    out.scaled = y;
    out.inverse = reciprocal(y);
    return out;
  }
  /// x may be complex.
  template <typename T>
  SIMT_INLINE T divide(T x) const {
    return inverse * (scale * x);
  }
};

}  // namespace myriad::simt
