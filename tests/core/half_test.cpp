/// 16-bit numbers: every one, and numbers between all neighbours.

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <vector>

#include "myriad/myriad.hpp"

namespace myriad {
namespace {

template <typename T>
class Halves : public testing::Test {};
using Types = testing::Types<half, bfloat16>;
TYPED_TEST_SUITE(Halves, Types);

/// The value of the bits by the definition of the format: sign, exponent, fraction.
template <typename T>
double value_of(unsigned bits) {
  int const fraction_bits = std::numeric_limits<T>::digits - 1, bias = std::numeric_limits<T>::max_exponent - 1;
  unsigned const exponent = (bits & 0x7fffU) >> fraction_bits, fraction = bits & ((1U << fraction_bits) - 1);
  double const sign = bits & 0x8000U ? -1 : 1;
  if (static_cast<int>(exponent) == 2 * bias + 1) return fraction ? std::nan("") : sign * std::numeric_limits<double>::infinity();
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
  return sign * std::ldexp((1U << fraction_bits) + fraction, static_cast<int>(exponent) - bias - fraction_bits);
}
template <typename T>
T of(unsigned bits) {
  return T::from_bits(static_cast<std::uint16_t>(bits));
}
template <typename T>
unsigned infinity_bits() {
  return std::numeric_limits<T>::infinity().bits();
}

TYPED_TEST(Halves, AreTheFloatsOfTheSameValueAndComeBack) {
  using T = TypeParam;
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    float const x = of<T>(bits);
    if (std::isnan(value_of<T>(bits))) {
      ASSERT_TRUE(std::isnan(x)) << bits;
      unsigned const quiet = std::numeric_limits<T>::quiet_NaN().bits();
      ASSERT_EQ(T(x).bits(), bits | quiet) << bits;
    } else {
      ASSERT_EQ(static_cast<double>(x), value_of<T>(bits)) << bits;
      ASSERT_EQ(std::signbit(x), (bits & 0x8000U) != 0) << bits;
      ASSERT_EQ(T(x).bits(), bits);
    }
  }
}

TYPED_TEST(Halves, FloatsGoToTheNearestAndHalfwayToTheEvenOne) {
  using T = TypeParam;
  for (unsigned sign : {0U, 0x8000U})
    for (unsigned bits = 0; bits < infinity_bits<T>(); ++bits) {
      // The neighbour above the largest number is where the next one would be.
      bool const last = bits + 1 == infinity_bits<T>();
      double const here = value_of<T>(bits);
      double const next = last ? std::ldexp(1.0, std::numeric_limits<T>::max_exponent) : value_of<T>(bits + 1);
      auto const middle = static_cast<float>((here + next) / 2);
      ASSERT_EQ(static_cast<double>(middle), (here + next) / 2);
      auto const bits_of = [&](float x) { return static_cast<unsigned>(T(sign ? -x : x).bits()); };
      ASSERT_EQ(bits_of(middle), sign | (bits + bits % 2)) << bits;
      ASSERT_EQ(bits_of(std::nextafter(middle, 0.0F)), sign | bits) << bits;
      ASSERT_EQ(bits_of(std::nextafter(middle, std::numeric_limits<float>::infinity())), sign | (bits + 1)) << bits;
    }
  float const infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(T(infinity).bits(), infinity_bits<T>());
  EXPECT_EQ(T(-infinity).bits(), 0x8000U | infinity_bits<T>());
  EXPECT_EQ(T(std::numeric_limits<float>::max()).bits(), infinity_bits<T>());
  // A NaN with a payload only in the dropped bits
  EXPECT_TRUE(std::isnan(static_cast<float>(T(std::bit_cast<float>(0x7f800001U)))));
}

TYPED_TEST(Halves, LimitsAreThoseOfTheFormat) {
  using T = TypeParam;
  using L = std::numeric_limits<T>;
  EXPECT_EQ(static_cast<float>(L::epsilon()), std::ldexp(1.0F, 1 - L::digits));
  EXPECT_EQ(static_cast<float>(L::min()), std::ldexp(1.0F, L::min_exponent - 1));
  EXPECT_EQ(static_cast<float>(L::denorm_min()), std::ldexp(1.0F, L::min_exponent - L::digits));
  EXPECT_EQ(static_cast<float>(L::max()), std::ldexp(1.0F - std::ldexp(1.0F, -L::digits), L::max_exponent));
  EXPECT_EQ(static_cast<float>(L::lowest()), -static_cast<float>(L::max()));
  EXPECT_EQ(static_cast<float>(L::round_error()), 0.5F);
  EXPECT_TRUE(std::isinf(static_cast<float>(L::infinity())));
  EXPECT_TRUE(std::isnan(static_cast<float>(L::quiet_NaN())));
  EXPECT_TRUE(std::isnan(static_cast<float>(L::signaling_NaN())));
  EXPECT_NE(L::signaling_NaN().bits() | L::quiet_NaN().bits(), L::signaling_NaN().bits());
}

/// Conversions in vector registers by products: C = alpha A, with unit and other strides.
TYPED_TEST(Halves, AreConvertedManyAtATimeAsOneByOne) {
  using T = TypeParam;
  Queue queue{{.backend = Backend::cpu, .threads = 1}};
  std::vector<T> all(0x10000), result(2 * all.size());
  for (unsigned bits = 0; bits < all.size(); ++bits) all[bits] = of<T>(bits);
  T const one(1.0F);
  for (std::int64_t const step : {1, 2})
    for (float const alpha : {1.0F, 1.0F / 3, 1.0009765625F, 0x1p-9F, 0x1.8p-3F}) {
      auto const a = batch(static_cast<T const*>(all.data()), 0x10000, 1);
      auto const b = batch(&one, 1, 1);
      Batch<T> const c{.data = result.data(), .rows = 0x10000, .cols = 1, .row_stride = step, .col_stride = 0x20000, .count = 1};
      gemm<T>(queue, alpha, a, b, 0, c);
      for (unsigned bits = 0; bits < all.size(); ++bits) {
        T const got = result[bits * static_cast<std::size_t>(step)], expected = T(0.0F + alpha * static_cast<float>(all[bits]));
        if (std::isnan(static_cast<float>(expected)))
          ASSERT_TRUE(std::isnan(static_cast<float>(got))) << bits;
        else
          ASSERT_EQ(got.bits(), expected.bits()) << bits << " times " << alpha;
      }
    }
}

static_assert(sizeof(half) == 2 && sizeof(bfloat16) == 2 && sizeof(complex_half) == 4);
static_assert(half(1.0F).bits() == 0x3c00 && static_cast<float>(half(-2.5F)) == -2.5F && bfloat16(1.0F).bits() == 0x3f80);
static_assert(std::is_trivially_copyable_v<complex_half> && std::is_trivially_default_constructible_v<complex_half>);

TEST(ComplexHalf, HasTwoParts) {
  complex_half const x(std::complex<float>(1.5F, -0.1F));
  EXPECT_EQ(x.real().bits(), half(1.5F).bits());
  EXPECT_EQ(x.imag().bits(), half(-0.1F).bits());
  std::complex<float> const wide = x;
  EXPECT_EQ(wide, std::complex<float>(1.5F, half(-0.1F)));
  EXPECT_EQ(static_cast<std::complex<float>>(conj(x)), std::conj(wide));
}

}  // namespace
}  // namespace myriad
