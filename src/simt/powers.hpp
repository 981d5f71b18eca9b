#pragma once
/// Scaling by powers of two for numbers near overflow and underflow, and squares.

#include "simt/types.hpp"

namespace myriad::simt {

template <typename R>
inline constexpr int exponent_bias = sizeof(R) == 4 ? 127 : 1023;
/// Fraction bits in the leading word.
template <typename R>
inline constexpr int leading_fraction = sizeof(R) == 4 ? 23 : 20;

/// 2^exponent, a normal number.
template <typename R>
SIMT_INLINE R power(int exponent) {
  using Bits = decltype(bits_of(R()));
  return number_of(static_cast<Bits>(exponent + exponent_bias<R>) << (sizeof(R) == 4 ? 23 : 52));
}
/// The leading bits of 2^exponent.
template <typename R>
SIMT_INLINE constexpr unsigned leading_bits_of_power(int exponent) {
  return static_cast<unsigned>(exponent + exponent_bias<R>) << leading_fraction<R>;
}

/// Leading bits of |x|; for complex x of its larger part, which unlike |re| + |im| cannot overflow.
template <typename T>
SIMT_INLINE unsigned leading_bits_of_parts(T x) {
  if constexpr (is_complex<T>)
    return larger(leading_bits_of_parts(x.re), leading_bits_of_parts(x.im));
  else
    return leading_bits(bits_of(x)) & 0x7fffffff;
}

/// Ordered bits of |x|; for complex x of its larger part.
template <typename T>
SIMT_INLINE auto ordered_bits_of_parts(T x) {
  if constexpr (is_complex<T>)
    return larger(ordered_bits(magnitude(x.re)), ordered_bits(magnitude(x.im)));
  else
    return ordered_bits(magnitude(x));
}

/// Scales x by the power of two that brings |x| (complex: its larger part) into [1, 2), and adjusts `exponent`. Zero, infinity and NaN are
/// kept.
template <typename T>
SIMT_INLINE T normalized(T x, int& exponent) {
  using R = Real<T>;
  SIMT_LOOP
  for (int turn = 0; turn < 2; ++turn) {  // subnormal numbers take two
    R size = magnitude(real_part(x));
    if constexpr (is_complex<T>) size = larger(size, magnitude(x.im));
    if (!(size > R(0) && size < R(infinity()))) break;
    R const scale = reciprocal_power(size);
    exponent -= static_cast<int>(leading_bits(bits_of(scale)) >> leading_fraction<R>) - exponent_bias<R>;
    x = scale * x;
  }
  return x;
}

/// x 2^exponent, rounded once, for |x| in [1, 8).
template <typename T>
SIMT_INLINE T times_power(T x, int exponent) {
  using R = Real<T>;
  constexpr int step = sizeof(R) == 4 ? 100 : 1000;
  exponent = smaller(larger(exponent, 10 - 2 * step), 2 * step - 10);
  int const first = smaller(larger(exponent, -step), step);
  return power<R>(exponent - first) * (power<R>(first) * x);
}

/// |x|^2 + sum
template <typename T>
SIMT_INLINE Real<T> add_square(T x, Real<T> sum) {
  sum = multiply_add(real_part(x), real_part(x), sum);
  if constexpr (is_complex<T>) sum = multiply_add(x.im, x.im, sum);
  return sum;
}

}  // namespace myriad::simt
