/// Products of every type, layout and odd size with planned configs, on the host twin. A GPU may take another kernel: see
/// products_on_fake_test.cpp. gemm_halves_test.cpp has 16-bit products.

#include <gtest/gtest.h>

#include <complex>

#include "gemm/pipelined/gemm_pipelined.cuh"
#include "gemm/pipelined/gemm_pipelined_plan.hpp"
#include "gemm/tiles/gemm_tiles.cuh"
#include "gemm/tiles/gemm_tiles_plan.hpp"
#include "products_table.hpp"

namespace myriad {
namespace {

template <typename T, Product p>
void run_kernel(GemmArguments<gpu::DeviceElement<T>> const& args) {
  using D = gpu::DeviceElement<T>;
  constexpr bool interleaved = p.a == Layout::interleaved;
  if constexpr (p.n <= 32 || interleaved) {
    constexpr GemmTiles c = [] {
      GemmTiles plan = gemm_tiles_plan(sizeof(T), p.m, p.n, p.k, interleaved);
      auto const layout = [&](Layout given) { return p.ragged_m ? ragged_layout(given) : plan.whole() ? given : gpu::by_elements(given); };
      plan.a = layout(p.a), plan.b = layout(p.b), plan.c = layout(p.c);
      return plan;
    }();
    simt::run(2, c.threads(), GemmTilesMemory(sizeof(T), c).bytes, gemm_tiles<D, c>, args);
  } else {
    constexpr GemmPipelined c = [] {
      GemmPipelined plan = gemm_pipelined_plan(sizeof(Real<T>), is_complex<T>, p.m, p.n, p.k);
      auto const lines = [](Layout layout) { return simt::is_by_rows(layout) ? Lines::rows : Lines::columns; };
      plan.a = lines(p.a), plan.b = lines(p.b), plan.c = lines(p.c);
      return plan;
    }();
    simt::run(3, c.threads(), GemmPipelinedMemory(sizeof(Real<T>), is_complex<T>, c).bytes, gemm_pipelined<D, c>, args);
  }
}

template <typename T>
class GemmTable : public testing::Test {};
using Types = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(GemmTable, Types);

TYPED_TEST(GemmTable, EveryLayoutAndOddSize) {
  using T = TypeParam;
  for_each_product([]<StoredAs as, int n, bool transposed_a, bool transposed_b>() {
    SCOPED_TRACE(testing::Message() << "stored " << static_cast<int>(as) << ", transposed " << transposed_a << transposed_b);
    static constexpr Product p = product_of(as, n, transposed_a, transposed_b);
    // An odd number of matrices, more than one block takes
    std::int64_t const count = n <= 4 ? 67 : n <= 16 ? 17 : 5;
    for (int conjugates = 0; conjugates < (is_complex<T> ? 4 : 1); ++conjugates) {
      Product given = p;
      given.conjugated_a = conjugates % 2 != 0, given.conjugated_b = conjugates / 2 != 0;
      check_product(given, count, T(-0.75), T(1), run_kernel<T, p>);
      if (conjugates == 0) check_product(given, count, T(1), T(0), run_kernel<T, p>);
    }
  });
}

}  // namespace
}  // namespace myriad
