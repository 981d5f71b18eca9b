#pragma once
/// 16-bit element types. They are storage formats; arithmetic is done in float.

#include <bit>
#include <complex>
#include <cstdint>
#include <limits>

#include "myriad/export.h"

namespace myriad {
namespace detail {

// The conversions below have no branches, so that loops over them are vectorized: g++ 12 compiles a conditional expression to a branch.

constexpr std::uint32_t choose(bool condition, std::uint32_t yes, std::uint32_t no) noexcept {
  return no ^ ((yes ^ no) & (0U - static_cast<std::uint32_t>(condition)));
}

/// Rounds to nearest, ties to even. NaN becomes a quiet NaN with the same sign and the upper bits of the payload.
constexpr std::uint16_t half_bits(float x) noexcept {
  auto const bits = std::bit_cast<std::uint32_t>(x);
  std::uint32_t const magnitude = bits & 0x7fffffffU;
  // Changes the exponent's bias and adds half a unit in the last place kept, less one if the last bit kept is zero: ties go to even.
  std::uint32_t const normal = (magnitude - 0x38000000U + 0xfffU + (magnitude >> 13 & 1U)) >> 13;
  // Below 2^-14 halves are multiples of 2^-24, the unit of floats in [0.5, 1): adding 0.5 rounds to them.
  std::uint32_t const small = std::bit_cast<std::uint32_t>(std::bit_cast<float>(choose(magnitude < 0x38800000U, magnitude, 0)) + 0.5F) -
                              std::bit_cast<std::uint32_t>(0.5F);
  std::uint32_t const nan = 0x7e00U | (magnitude >> 13 & 0x1ffU);
  std::uint32_t const finite = choose(magnitude < 0x38800000U, small, normal);
  std::uint32_t const number = choose(magnitude >= 0x477ff000U, 0x7c00U, finite);  // 65520 and above round to infinity
  return static_cast<std::uint16_t>(choose(magnitude > 0x7f800000U, nan, number) | (bits >> 16 & 0x8000U));
}
constexpr float float_of_half(std::uint16_t bits) noexcept {
  std::uint32_t const magnitude = bits & 0x7fffU;
  // Below 2^-14 the value is `magnitude` times 2^-24.
  auto const small = std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24F);
  std::uint32_t const normal = (magnitude << 13) + choose(magnitude >= 0x7c00U, 0x70000000U, 0x38000000U);
  return std::bit_cast<float>(choose(magnitude < 0x400U, small, normal) | static_cast<std::uint32_t>(bits & 0x8000U) << 16);
}

/// Rounds as half_bits.
constexpr std::uint16_t bfloat16_bits(float x) noexcept {
  auto const bits = std::bit_cast<std::uint32_t>(x);
  std::uint32_t const rounded = bits + 0x7fffU + (bits >> 16 & 1U);
  return static_cast<std::uint16_t>(choose((bits & 0x7fffffffU) > 0x7f800000U, bits | 0x400000U, rounded) >> 16);
}
constexpr float float_of_bfloat16(std::uint16_t bits) noexcept { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

}  // namespace detail

/// IEEE 754 binary16: 11 bits of precision, from 6e-8 to 65504. Same bits as `__half`, `_Float16` and NumPy's float16.
class MYRIAD_API half {
 public:
  half() = default;
  /// Rounds to nearest, ties to even.
  explicit constexpr half(float x) noexcept : bits_(detail::half_bits(x)) {}
  constexpr operator float() const noexcept { return detail::float_of_half(bits_); }  ///< exact

  /// The number with these bits.
  [[nodiscard]] static constexpr half from_bits(std::uint16_t bits) noexcept {
    half x{};
    x.bits_ = bits;
    return x;
  }
  [[nodiscard]] constexpr std::uint16_t bits() const noexcept { return bits_; }  ///< sign, exponent and fraction as stored

 private:
  std::uint16_t bits_;
};

/// The upper half of a float: 8 bits of precision and the range of float. Same bits as `__nv_bfloat16` and PyTorch's bfloat16.
class MYRIAD_API bfloat16 {
 public:
  bfloat16() = default;
  /// Rounds to nearest, ties to even.
  explicit constexpr bfloat16(float x) noexcept : bits_(detail::bfloat16_bits(x)) {}
  constexpr operator float() const noexcept { return detail::float_of_bfloat16(bits_); }  ///< exact

  /// The number with these bits.
  [[nodiscard]] static constexpr bfloat16 from_bits(std::uint16_t bits) noexcept {
    bfloat16 x{};
    x.bits_ = bits;
    return x;
  }
  [[nodiscard]] constexpr std::uint16_t bits() const noexcept { return bits_; }  ///< sign, exponent and fraction as stored

 private:
  std::uint16_t bits_;
};

/// A complex number of two halves. Same bits as `__half2` and PyTorch's complex32.
class MYRIAD_API complex_half {
 public:
  complex_half() = default;
  /// Real and imaginary part.
  constexpr complex_half(half re, half im) noexcept : re_(re), im_(im) {}
  /// Rounds both parts to nearest.
  explicit constexpr complex_half(std::complex<float> x) noexcept : re_(x.real()), im_(x.imag()) {}
  constexpr operator std::complex<float>() const noexcept { return {re_, im_}; }

  [[nodiscard]] constexpr half real() const noexcept { return re_; }  ///< real part
  [[nodiscard]] constexpr half imag() const noexcept { return im_; }  ///< imaginary part

 private:
  half re_, im_;
};
/// The conjugate.
[[nodiscard]] constexpr complex_half conj(complex_half x) noexcept {
  return {x.real(), half::from_bits(static_cast<std::uint16_t>(x.imag().bits() ^ 0x8000U))};
}

}  // namespace myriad

template <>
class std::numeric_limits<myriad::half> {
 public:
  static constexpr bool is_specialized = true, is_signed = true, is_integer = false, is_exact = false, has_infinity = true,
                        has_quiet_NaN = true, has_signaling_NaN = true, is_iec559 = true, has_denorm_loss = false, is_bounded = true,
                        is_modulo = false, traps = false, tinyness_before = false;
  static constexpr std::float_denorm_style has_denorm = std::denorm_present;
  static constexpr std::float_round_style round_style = std::round_to_nearest;
  static constexpr int digits = 11, digits10 = 3, max_digits10 = 5, radix = 2, min_exponent = -13, min_exponent10 = -4, max_exponent = 16,
                       max_exponent10 = 4;
  static constexpr myriad::half min() noexcept { return myriad::half::from_bits(0x0400); }
  static constexpr myriad::half lowest() noexcept { return myriad::half::from_bits(0xfbff); }
  static constexpr myriad::half max() noexcept { return myriad::half::from_bits(0x7bff); }
  static constexpr myriad::half epsilon() noexcept { return myriad::half::from_bits(0x1400); }
  static constexpr myriad::half round_error() noexcept { return myriad::half::from_bits(0x3800); }
  static constexpr myriad::half infinity() noexcept { return myriad::half::from_bits(0x7c00); }
  static constexpr myriad::half quiet_NaN() noexcept { return myriad::half::from_bits(0x7e00); }
  static constexpr myriad::half signaling_NaN() noexcept { return myriad::half::from_bits(0x7d00); }
  static constexpr myriad::half denorm_min() noexcept { return myriad::half::from_bits(0x0001); }
};

template <>
class std::numeric_limits<myriad::bfloat16> {
 public:
  static constexpr bool is_specialized = true, is_signed = true, is_integer = false, is_exact = false, has_infinity = true,
                        has_quiet_NaN = true, has_signaling_NaN = true, is_iec559 = false, has_denorm_loss = false, is_bounded = true,
                        is_modulo = false, traps = false, tinyness_before = false;
  static constexpr std::float_denorm_style has_denorm = std::denorm_present;
  static constexpr std::float_round_style round_style = std::round_to_nearest;
  static constexpr int digits = 8, digits10 = 2, max_digits10 = 4, radix = 2, min_exponent = -125, min_exponent10 = -37, max_exponent = 128,
                       max_exponent10 = 38;
  static constexpr myriad::bfloat16 min() noexcept { return myriad::bfloat16::from_bits(0x0080); }
  static constexpr myriad::bfloat16 lowest() noexcept { return myriad::bfloat16::from_bits(0xff7f); }
  static constexpr myriad::bfloat16 max() noexcept { return myriad::bfloat16::from_bits(0x7f7f); }
  static constexpr myriad::bfloat16 epsilon() noexcept { return myriad::bfloat16::from_bits(0x3c00); }
  static constexpr myriad::bfloat16 round_error() noexcept { return myriad::bfloat16::from_bits(0x3f00); }
  static constexpr myriad::bfloat16 infinity() noexcept { return myriad::bfloat16::from_bits(0x7f80); }
  static constexpr myriad::bfloat16 quiet_NaN() noexcept { return myriad::bfloat16::from_bits(0x7fc0); }
  static constexpr myriad::bfloat16 signaling_NaN() noexcept { return myriad::bfloat16::from_bits(0x7fa0); }
  static constexpr myriad::bfloat16 denorm_min() noexcept { return myriad::bfloat16::from_bits(0x0001); }
};
