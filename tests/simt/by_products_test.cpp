/// The decomposition of symm, syrk and trmm into products on a GPU, run with CPU routines.

#include <gtest/gtest.h>

#include <complex>
#include <vector>

#include "myriad/myriad.hpp"
#include "simt_host/machine.hpp"
#include "stored.hpp"
#include "syrk/syrk_by_products.hpp"
#include "trsm/trsm_by_blocks.hpp"

namespace myriad {
namespace {

template <typename T>
class ByProducts : public testing::Test {
 protected:
  void expect_close(std::vector<T> const& x, std::vector<T> const& y) {
    double const unit = sizeof(Real<T>) == 4 ? 0x1p-24 : 0x1p-53;
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_LE(std::abs(x[i] - y[i]), 200 * unit * (1 + std::abs(y[i]))) << i;
  }
  Queue cpu{{.backend = Backend::cpu, .threads = 1}};
};
using Types = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(ByProducts, Types);

TYPED_TEST(ByProducts, Syrk) {
  using T = TypeParam;
  HostMachine machine;
  constexpr int n = 7, k = 4, count = 3;
  T const complex_factor = [] {
    if constexpr (is_complex<T>)
      return T(Real<T>(0.5), Real<T>(-2));
    else
      return T(-2);
  }();
  for (Symmetry const symmetry : {Symmetry::symmetric, Symmetry::hermitian})
    for (bool const of_two : {false, true})
      for (Uplo const uplo : {Uplo::lower, Uplo::upper})
        for (T const beta : {T(0), T(1), T(-0.5)}) {
          bool const hermitian = symmetry == Symmetry::hermitian;
          T const alpha = hermitian && !of_two ? T(0.75) : complex_factor;
          SCOPED_TRACE(testing::Message() << "hermitian " << hermitian << ", of two " << of_two << ", lower " << (uplo == Uplo::lower)
                                          << ", beta " << beta);
          Stored<T> a(n, k, count, Layout::packed_columns), b(n, k, count, Layout::packed_rows), c(n, n, count, Layout::packed_columns);
          fill(a.memory, 1);
          fill(b.memory, 2);
          fill(c.memory, 3);
          Stored<T> expected(n, n, count, Layout::packed_columns);
          expected.memory = c.memory;
          Batch<T const> const a_in = conjugated(Batch<T const>(a.view)), b_in = b.view;
          if (!hermitian && !of_two) syrk<T>(this->cpu, uplo, alpha, a_in, beta, expected.view);
          if (!hermitian && of_two) syr2k<T>(this->cpu, uplo, alpha, a_in, b_in, beta, expected.view);
          if (hermitian && !of_two) herk<T>(this->cpu, uplo, std::real(alpha), a_in, std::real(beta), expected.view);
          if (hermitian && of_two) her2k<T>(this->cpu, uplo, alpha, a_in, b_in, std::real(beta), expected.view);
          syrk_by_products(
              machine,
              SyrkTask<T>{
                  .symmetry = symmetry, .of_two = of_two, .uplo = uplo, .alpha = alpha, .a = a_in, .b = b_in, .beta = beta, .c = c.view});
          this->expect_close(c.memory, expected.memory);
        }
}

TYPED_TEST(ByProducts, Trmm) {
  using T = TypeParam;
  HostMachine machine;
  constexpr int columns = 3, count = 4;
  for (Uplo const uplo : {Uplo::lower, Uplo::upper})
    for (Diag const diag : {Diag::unit, Diag::non_unit})
      for (int const n : {7, 8, 29})
        for (T const alpha : {T(-0.75), T(0)}) {
          SCOPED_TRACE(testing::Message() << n << " rows, lower " << (uplo == Uplo::lower) << ", unit " << (diag == Diag::unit)
                                          << ", alpha " << alpha);
          Stored<T> a(n, n, count, Layout::packed_rows), b(n, columns, count, Layout::packed_columns);
          fill(a.memory, 1);
          fill(b.memory, 2);
          Stored<T> expected(n, columns, count, Layout::packed_columns);
          expected.memory = b.memory;
          trmm<T>(this->cpu, Side::left, uplo, diag, alpha, a.view, expected.view);
          trmm_by_blocks(machine, TrsmTask<T>{.uplo = uplo, .diag = diag, .alpha = alpha, .a = a.view, .b = b.view}, 8);
          this->expect_close(b.memory, expected.memory);
        }
}

}  // namespace
}  // namespace myriad
