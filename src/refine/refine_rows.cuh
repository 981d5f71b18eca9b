#pragma once
/// Sizes of elements, and residuals of one row, in the arithmetic that kernels for small and for large matrices share.

#include "simt/types.hpp"

namespace myriad {

/// The larger; NaN where either is.
template <typename R>
SIMT_INLINE R larger_or_nan(R x, R y) {
  return y > x || !(y == y) ? y : x;
}

/// The power of two that brings x into [1, 2), as far as normal numbers do; 1 where x is zero or no finite number.
template <typename R>
SIMT_INLINE R balancing_power(R x) {
  constexpr int fraction = sizeof(R) == 4 ? 23 : 52;
  constexpr int most = sizeof(R) == 4 ? 254 : 2046;  // of the exponent
  auto const bits = simt::bits_of(x);
  int const exponent = static_cast<int>(bits >> fraction);  // x is not negative
  if (x == R(0) || exponent > most) return R(1);
  return simt::number_of(static_cast<decltype(simt::bits_of(x))>(simt::larger(most - exponent, 1)) << fraction);
}

/// |re| + |im|, of finite parts the largest number at most.
template <typename T>
SIMT_INLINE simt::Real<T> finite_magnitude(T x) {
  using namespace simt;
  using R = simt::Real<T>;
  R const size = magnitude(x);
  if constexpr (simt::is_complex<T>)
    if (size == R(infinity()) && larger(magnitude(x.re), magnitude(x.im)) < size) return number_of(bits_of(size) - 1);
  return size;
}

/// size * power; where it vanishes though size is not zero, the least number.
template <typename R>
SIMT_INLINE R scaled_size(R size, R power) {
  R const product = size * power;
  return product == R(0) && size > R(0) ? simt::number_of(static_cast<decltype(simt::bits_of(size))>(1)) : product;
}

/// b - sum of x_j y_j in twice the precision: float in double, double as an unevaluated pair (Ogita, Rump and Oishi 2005, Dot2).
class DoubledSumOfFloats {
 public:
  SIMT_INLINE explicit DoubledSumOfFloats(float b) : sum_(b) {}
  SIMT_INLINE void subtract(float x, float y) { sum_ -= static_cast<double>(x) * static_cast<double>(y); }
  SIMT_INLINE void add(DoubledSumOfFloats const& other) { sum_ += other.sum_; }
  SIMT_INLINE float value() const { return static_cast<float>(sum_); }

 private:
  double sum_;
};
class DoubledSumOfDoubles {
 public:
  SIMT_INLINE explicit DoubledSumOfDoubles(double b) : high_(b) {}
  SIMT_INLINE void subtract(double x, double y) {
    double const product = -x * y;
    double const product_error = simt::multiply_add(-x, y, -product);
    add(product, product_error);
  }
  SIMT_INLINE void add(DoubledSumOfDoubles const& other) { add(other.high_, other.low_); }
  SIMT_INLINE double value() const { return high_ + low_; }

 private:
  SIMT_INLINE void add(double x, double low) {
    double const sum = high_ + x;
    double const part = sum - high_;
    low_ += low + ((high_ - (sum - part)) + (x - part));
    high_ = sum;
  }
  double high_;
  double low_ = 0;
};
template <typename R>
using DoubledSum = simt::Choose<sizeof(R) == 4, DoubledSumOfFloats, DoubledSumOfDoubles>;

/// The residual b - a x of one row, in twice the precision and in that of T with rounded products, and |a| |x| + |b| to measure it by; of
/// terms in several parts, which are added.
template <typename T>
struct RowResidual {
  using R = simt::Real<T>;
  DoubledSum<R> re, im;
  R scale;
  T plain;

  SIMT_INLINE explicit RowResidual(T b) : re(simt::real_part(b)), im(R(0)), scale(simt::magnitude(b)), plain(b) {
    if constexpr (simt::is_complex<T>) im = DoubledSum<R>(b.im);
  }
  SIMT_INLINE void subtract(T a, T x) {
    if constexpr (simt::is_complex<T>) {
      re.subtract(a.re, x.re);
      re.subtract(-a.im, x.im);
      im.subtract(a.re, x.im);
      im.subtract(a.im, x.re);
      plain = {(plain.re - a.re * x.re) + a.im * x.im, (plain.im - a.re * x.im) - a.im * x.re};
    } else {
      re.subtract(a, x);
      plain = plain - a * x;
    }
    scale += simt::magnitude(a) * simt::magnitude(x);
  }
  SIMT_INLINE void add(RowResidual const& other) {
    re.add(other.re);
    if constexpr (simt::is_complex<T>) im.add(other.im);
    scale += other.scale;
    plain = plain + other.plain;
  }
  SIMT_INLINE T value() const {
    if constexpr (simt::is_complex<T>)
      return {re.value(), im.value()};
    else
      return re.value();
  }
  /// The componentwise backward error, with 0/0 = 0.
  SIMT_INLINE R error() const {
    R const size = simt::magnitude(value());
    return size == R(0) && scale == scale ? R(0) : size / scale;
  }
};

}  // namespace myriad
