/// alpha and beta in memory, on the CPU.

#include "scalars.hpp"

#include <gtest/gtest.h>

#include <complex>
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

}  // namespace
}  // namespace myriad
