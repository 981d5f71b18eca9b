/// alpha and beta in memory, on the CPU.

#include "scalars.hpp"

#include <gtest/gtest.h>

#include <complex>
#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

namespace myriad {
namespace {

/// Reads numbers again at every run.
template <typename T>
void check_on_cpu() {
  Queue queue({.backend = Backend::cpu, .threads = 1});
  test::ScalarsInMemory<T>(queue, 9, 5, [](Queue&, std::function<void()> const& calls) { return calls; }).check();
}

TEST(Scalars, AreReadFromMemory) {
  check_on_cpu<float>();
  check_on_cpu<double>();
  check_on_cpu<std::complex<float>>();
  check_on_cpu<std::complex<double>>();
  check_on_cpu<half>();
  check_on_cpu<bfloat16>();
  check_on_cpu<complex_half>();
}

TEST(Scalars, AreNumbersOrAddresses) {
  double const two = 2;
  Scalar<double> const zero, number = 1, literal_zero = 0, address = &two, none = static_cast<double*>(nullptr);
  EXPECT_EQ(zero.value(), 0);
  EXPECT_EQ(number.value(), 1);
  EXPECT_FALSE(literal_zero.in_memory());
  EXPECT_TRUE(address.in_memory());
  EXPECT_EQ(address.value(), 2);
  EXPECT_TRUE(none.in_memory());
  EXPECT_EQ(Scalar<std::complex<float>>(3).value(), 3.0F);
}

struct Constants {
  static int const three = 3;  // without a definition, so it must not be bound to a reference
};

/// Numbers are written as where alpha and beta were of type T.
TEST(Scalars, AreWrittenAsNumbers) {
  using Complex = std::complex<double>;
  Queue queue({.backend = Backend::cpu, .threads = 1});
  Complex const one = 1;
  Complex c = 3;
  auto const of = [](auto* x) { return batch(x, 1, 1, {.count = 1}); };
  gemm<Complex>(queue, {1, 2}, of(&one), of(&one), {0, 1}, of(&c));
  EXPECT_EQ(c, Complex(1, 5));
  gemm<Complex>(queue, {}, of(&one), of(&one), {0}, of(&c));
  EXPECT_EQ(c, 0.0);
  gemm<Complex>(queue, Constants::three, of(&one), of(&one), std::complex<float>(1, 0), of(&c));
  EXPECT_EQ(c, 3.0);
  GemmGroup<Complex> const group{.alpha = {1, 2}, .a = of(&one), .b = of(&one), .beta = {}, .c = of(&c)};
  gemm_grouped<Complex>(queue, std::span(&group, 1));
  EXPECT_EQ(c, Complex(1, 2));
  EXPECT_EQ(Scalar<float>(half(0.5F)).value(), 0.5F);
  EXPECT_FALSE((std::is_convertible_v<std::nullptr_t, Scalar<double>>));
  EXPECT_FALSE((std::is_convertible_v<float const*, Scalar<double>>));
}

}  // namespace
}  // namespace myriad
