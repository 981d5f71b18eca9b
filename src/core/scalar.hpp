#pragma once
/// Arithmetic of single elements near overflow and underflow.

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "myriad/types.hpp"

namespace myriad {

/// |re| + |im|, LAPACK's measure of a complex number.
template <typename T>
Real<T> abs1(T x) {
  if constexpr (is_complex<T>)
    return std::abs(x.real()) + std::abs(x.imag());
  else
    return std::abs(x);
}

template <typename T>
bool is_finite(T x) {
  return std::isfinite(std::real(x)) && std::isfinite(std::imag(x));
}

/// Whether neither 1 / x nor intermediates of complex division overflow or lose bits.
template <typename T>
bool has_ordinary_reciprocal(T x) {
  using R = Real<T>;
  constexpr R smallest = 4 * std::numeric_limits<R>::min(), largest = 1 / smallest;
  R const size = abs1(x);
  return size >= smallest && size <= largest;
}

/// x / y. If |y| is tiny or huge, complex numbers are scaled by a power of two before Smith's method, so that every representable quotient
/// is correct.
template <typename T>
T divide(T x, T y) {
  if constexpr (is_complex<T>) {
    using R = Real<T>;
    if (!has_ordinary_reciprocal(y) && is_finite(y) && y != T(0)) {
      constexpr R epsilon = std::numeric_limits<R>::epsilon(), up = 1 / (epsilon * epsilon), down = R(0x1p-6);
      R const scale = abs1(y) < 1 ? up : down;
      x *= scale, y *= scale;
    }
    bool const re_larger = std::abs(y.real()) >= std::abs(y.imag());
    R const ratio = re_larger ? y.imag() / y.real() : y.real() / y.imag();
    R const size = re_larger ? y.real() + y.imag() * ratio : y.real() * ratio + y.imag();
    R const re = x.real() / size, im = x.imag() / size;  // first, since the parts of x may be near overflow
    return re_larger ? T(re + im * ratio, im - re * ratio) : T(re * ratio + im, im * ratio - re);
  } else {
    return x / y;
  }
}

}  // namespace myriad
