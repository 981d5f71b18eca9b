#pragma once
/// Element types, sizes and small arithmetic of the kernels. Compiles for the device, where there is no standard library, and for the host.

#include "simt/target.hpp"

namespace myriad::simt {

using Index = long long;  ///< sizes, strides and offsets that multiply

/// A complex number with the layout of std::complex.
template <typename R>
struct alignas(2 * sizeof(R)) Complex {
  R re, im;
};

/// 16-bit storage types, computed in float: IEEE 754 binary16, and bfloat16.
struct Half {
  unsigned short bits;
  Half() = default;
  SIMT_INLINE explicit Half(float x) : bits(half_bits(x)) {}
  SIMT_INLINE explicit operator float() const { return float_of_half(bits); }
};
struct Bfloat16 {
  unsigned short bits;
  Bfloat16() = default;
  SIMT_INLINE explicit Bfloat16(float x) : bits(bfloat16_bits(x)) {}
  SIMT_INLINE explicit operator float() const { return float_of_bfloat16(bits); }
};

template <typename T>
struct Traits {
  using Real = T;
  static constexpr bool complex = false;
};
template <typename R>
struct Traits<Complex<R>> {
  using Real = R;
  static constexpr bool complex = true;
};
template <typename T>
struct Traits<T const> : Traits<T> {};

template <typename T>
using Real = typename Traits<T>::Real;
template <typename T>
inline constexpr bool is_complex = Traits<T>::complex;

/// The type for computations with elements of type T: float for 16-bit types, else T itself.
template <typename T>
struct ComputeOf {
  using type = T;
};
template <>
struct ComputeOf<Half> {
  using type = float;
};
template <>
struct ComputeOf<Bfloat16> {
  using type = float;
};
template <typename R>
struct ComputeOf<Complex<R>> {
  using type = Complex<typename ComputeOf<R>::type>;
};
template <typename T>
using Compute = typename ComputeOf<T>::type;
/// Whether T is a 16-bit type, real or complex.
template <typename T>
inline constexpr bool is_half = sizeof(Real<T>) == 2;

template <typename T>
SIMT_INLINE Compute<T> widened(T x) {
  using R = Real<Compute<T>>;
  if constexpr (is_complex<T>)
    return {R(x.re), R(x.im)};
  else
    return R(x);
}
/// x rounded to the nearest T.
template <typename T>
SIMT_INLINE T rounded(Compute<T> x) {
  if constexpr (is_complex<T>)
    return {Real<T>(x.re), Real<T>(x.im)};
  else
    return T(x);
}

/// multiply_add_half_16x8x16 or its bfloat16 form, for type R.
template <typename R>
SIMT_INLINE void multiply_add_16x8x16(unsigned const (&a)[4], unsigned const (&b)[2], float (&c)[4]);
template <>
SIMT_INLINE void multiply_add_16x8x16<Half>(unsigned const (&a)[4], unsigned const (&b)[2], float (&c)[4]) {
  multiply_add_half_16x8x16(a, b, c);
}
template <>
SIMT_INLINE void multiply_add_16x8x16<Bfloat16>(unsigned const (&a)[4], unsigned const (&b)[2], float (&c)[4]) {
  multiply_add_bfloat16_16x8x16(a, b, c);
}

template <typename A, typename B>
inline constexpr bool is_same = false;
template <typename A>
inline constexpr bool is_same<A, A> = true;
/// start_product_of_half or its bfloat16 form, for type R.
template <typename R, bool a_by_terms, bool b_by_terms, int n>
SIMT_INLINE void start_product(float (&c)[n / 2], ProductOperand a, ProductOperand b) {
  static_assert(sizeof(R) == 2);
  if constexpr (is_same<R, Half>)
    start_product_of_half<a_by_terms, b_by_terms, n>(c, a, b);
  else
    start_product_of_bfloat16<a_by_terms, b_by_terms, n>(c, a, b);
}

template <typename R>
SIMT_INLINE Complex<R> operator+(Complex<R> x, Complex<R> y) {
  return {x.re + y.re, x.im + y.im};
}
template <typename R>
SIMT_INLINE Complex<R> operator-(Complex<R> x, Complex<R> y) {
  return {x.re - y.re, x.im - y.im};
}
template <typename R>
SIMT_INLINE Complex<R> operator-(Complex<R> x) {
  return {-x.re, -x.im};
}
template <typename R>
SIMT_INLINE Complex<R> operator*(R x, Complex<R> y) {
  return {x * y.re, x * y.im};
}
template <typename R>
SIMT_INLINE bool operator==(Complex<R> x, Complex<R> y) {
  return x.re == y.re && x.im == y.im;
}

template <typename T>
SIMT_INLINE T from_real(Real<T> x) {
  if constexpr (is_complex<T>)
    return {x, Real<T>(0)};
  else
    return x;
}
template <typename T>
SIMT_INLINE Real<T> real_part(T x) {
  if constexpr (is_complex<T>)
    return x.re;
  else
    return x;
}
template <typename T>
SIMT_INLINE T conjugate(T x) {
  if constexpr (is_complex<T>)
    return {x.re, -x.im};
  else
    return x;
}
template <typename T>
SIMT_INLINE T conjugate_if(bool conjugate, T x) {
  if constexpr (is_complex<T>)
    return {x.re, conjugate ? -x.im : x.im};
  else
    return x;
}

SIMT_INLINE float multiply_add(float x, float y, float z) { return fmaf(x, y, z); }
SIMT_INLINE double multiply_add(double x, double y, double z) { return fma(x, y, z); }
/// x y + z
template <typename R>
SIMT_INLINE Complex<R> multiply_add(Complex<R> x, Complex<R> y, Complex<R> z) {
  return {multiply_add(-x.im, y.im, multiply_add(x.re, y.re, z.re)), multiply_add(x.im, y.re, multiply_add(x.re, y.im, z.im))};
}
template <typename R>
SIMT_INLINE Complex<R> operator*(Complex<R> x, Complex<R> y) {
  return {multiply_add(-x.im, y.im, x.re * y.re), multiply_add(x.im, y.re, x.re * y.im)};
}
/// z - x y
template <typename T>
SIMT_INLINE T subtract_product(T z, T x, T y) {
  return multiply_add(-x, y, z);
}

SIMT_INLINE float modulus(float x) { return fabsf(x); }
SIMT_INLINE double modulus(double x) { return fabs(x); }
template <typename R>
SIMT_INLINE R modulus(Complex<R> x) {
  return hypotenuse(x.re, x.im);
}
/// x / |x|; zero for zero.
template <typename T>
SIMT_INLINE T sign(T x) {
  Real<T> size = modulus(x);
  if constexpr (is_complex<T>)
    if (size == Real<T>(infinity())) {  // also for finite parts
      x = Real<T>(0.25) * x;
      size = modulus(x);
    }
  if (size == Real<T>(0)) return from_real<T>(0);
  if constexpr (is_complex<T>)
    return {x.re / size, x.im / size};
  else
    return x / size;
}

/// The natural logarithm of |x|.
template <typename T>
SIMT_INLINE Real<T> logarithm_of_modulus(T x) {
  using R = Real<T>;
  R const size = modulus(x);
  if constexpr (is_complex<T>)
    if (size == R(infinity())) return natural_logarithm(modulus(R(0.25) * x)) + natural_logarithm(R(4));
  return natural_logarithm(size);
}

template <typename R>
SIMT_INLINE Complex<R> shuffle(Complex<R> value, int source) {
  return {shuffle(value.re, source), shuffle(value.im, source)};
}
template <typename R>
SIMT_INLINE Complex<R> shuffle_xor(Complex<R> value, int mask) {
  return {shuffle_xor(value.re, mask), shuffle_xor(value.im, mask)};
}

SIMT_INLINE float magnitude(float x) { return fabsf(x); }
SIMT_INLINE double magnitude(double x) { return fabs(x); }
/// |re| + |im|, by which LAPACK compares complex pivots.
template <typename R>
SIMT_INLINE R magnitude(Complex<R> x) {
  return magnitude(x.re) + magnitude(x.im);
}

SIMT_INLINE float copy_sign(float x, float sign) { return copysignf(x, sign); }
SIMT_INLINE double copy_sign(double x, double sign) { return copysign(x, sign); }
/// conj(x) y + z
template <typename T>
SIMT_INLINE T conjugate_multiply_add(T x, T y, T z) {
  return multiply_add(conjugate_if(true, x), y, z);
}

/// 2 to the power of `of_double`, or, where R is float, of `of_float`.
template <typename R, int of_double, int of_float>
inline constexpr R power_of_two = [] {
  R power = 1;
  int const exponent = sizeof(R) == 4 ? of_float : of_double;
  for (int i = 0; i < (exponent < 0 ? -exponent : exponent); ++i) power *= exponent < 0 ? R(0.5) : R(2);
  return power;
}();

/// 1 / x for complex x (Smith 1962); for real x it is a primitive.
template <typename R>
SIMT_INLINE Complex<R> reciprocal(Complex<R> x) {
  bool const wide = magnitude(x.re) >= magnitude(x.im);
  R const large = wide ? x.re : x.im;
  R const small = wide ? x.im : x.re;
  R const ratio = small * reciprocal(large);
  R const inverse = reciprocal(multiply_add(small, ratio, large));
  return {wide ? inverse : ratio * inverse, -(wide ? ratio * inverse : inverse)};
}

template <bool first, typename A, typename B>
struct ChooseType {
  using type = A;
};
template <typename A, typename B>
struct ChooseType<false, A, B> {
  using type = B;
};
template <bool first, typename A, typename B>
using Choose = typename ChooseType<first, A, B>::type;

/// A 16-byte chunk as elements.
template <typename T>
union Chunked {
  SIMT_INLINE Chunked() : chunk{} {}
  SIMT_INLINE explicit Chunked(Chunk c) : chunk(c) {}
  Chunk chunk;
  T x[16 / sizeof(T)];
};

/// Exchanges x and y if `here`; a select, not a branch.
template <typename T>
SIMT_INLINE void exchange_if(bool here, T& x, T& y) {
  T const former = x;
  x = here ? y : x;
  y = here ? former : y;
}

SIMT_INLINE constexpr int ceil_div(int x, int y) { return (x + y - 1) / y; }
template <typename T>
SIMT_INLINE constexpr T smaller(T x, T y) {
  return x < y ? x : y;
}
template <typename T>
SIMT_INLINE constexpr T larger(T x, T y) {
  return x > y ? x : y;
}

/// An unsigned key that orders magnitudes, with NaN above all, so that all lanes agree on the order.
SIMT_INLINE unsigned ordered_bits(float x) { return bits_of(x); }
SIMT_INLINE unsigned long long ordered_bits(double x) { return bits_of(x); }

/// The leading 32 of ordered bits.
SIMT_INLINE unsigned leading_bits(unsigned bits) { return bits; }
SIMT_INLINE unsigned leading_bits(unsigned long long bits) { return static_cast<unsigned>(bits >> 32); }

/// The same for |re| + |im|.
template <typename T>
SIMT_INLINE unsigned leading_bits_of_magnitude(T x) {
  if constexpr (is_complex<T>)
    return leading_bits(bits_of(magnitude(x)));
  else
    return leading_bits(bits_of(x)) & 0x7fffffff;  // no floating-point instruction
}

/// x if all bits of `mask` are set, y if none is.
SIMT_INLINE float choose(unsigned mask, float x, float y) { return number_of((bits_of(x) & mask) | (bits_of(y) & ~mask)); }
SIMT_INLINE double choose(unsigned mask, double x, double y) {
  unsigned long long const wide = mask | static_cast<unsigned long long>(mask) << 32;
  return number_of((bits_of(x) & wide) | (bits_of(y) & ~wide));
}
template <typename R>
SIMT_INLINE Complex<R> choose(unsigned mask, Complex<R> x, Complex<R> y) {
  return {choose(mask, x.re, y.re), choose(mask, x.im, y.im)};
}

/// -x if all bits of `mask` are set, zero if none is; one instruction per word.
SIMT_INLINE float minus_where(unsigned mask, float x) { return number_of((bits_of(x) ^ 0x80000000u) & mask); }
SIMT_INLINE double minus_where(unsigned mask, double x) {
  unsigned long long const wide = mask | static_cast<unsigned long long>(mask) << 32;
  return number_of((bits_of(x) ^ 0x8000000000000000ull) & wide);
}
template <typename R>
SIMT_INLINE Complex<R> minus_where(unsigned mask, Complex<R> x) {
  return {minus_where(mask, x.re), minus_where(mask, x.im)};
}

/// The power of two that scales x > 0 into [1, 2); for tiny or huge x it is clamped so that its reciprocal is normal, too.
template <typename R>
SIMT_INLINE R reciprocal_power(R x) {
  constexpr int fraction = sizeof(R) == 4 ? 23 : 52;
  constexpr int most = sizeof(R) == 4 ? 254 : 2046;  // of the exponent
  auto const bits = bits_of(x);
  int const exponent = most - static_cast<int>(bits >> fraction);
  return number_of(static_cast<decltype(bits_of(x))>(smaller(larger(exponent, 1), most - 1)) << fraction);
}

/// NaN; for complex types in both parts.
template <typename T>
SIMT_INLINE T not_a_number() {
  Real<T> const nan = Real<T>(quiet_nan());
  if constexpr (is_complex<T>)
    return {nan, nan};
  else
    return nan;
}

}  // namespace myriad::simt
