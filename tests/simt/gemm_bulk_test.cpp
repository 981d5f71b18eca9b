/// Kernels of gemm/bulk/gemm_bulk.cuh on the host twin.

#include "gemm/bulk/gemm_bulk.cuh"

#include <gtest/gtest.h>

#include <complex>
#include <numeric>

#include "candidates.hpp"
#include "gemm/bulk/gemm_bulk_space.hpp"
#include "gemm/gemm_gpu.hpp"
#include "product.hpp"
#include "sizes.hpp"

namespace myriad {
namespace {

constexpr Layout packed = Layout::packed_columns, packed_rows = Layout::packed_rows, dense = Layout::dense_columns;

template <typename T, Product p>
constexpr GemmBulk planned() {
  bool const by_rows = simt::is_by_rows(p.a);
  int const unit = p.pointers ? 1 : std::gcd(std::gcd(by_rows ? p.k : p.m, p.k), 16 / static_cast<int>(sizeof(T)));
  return gemm_bulk_plan(sizeof(Real<T>), is_complex<T>, p.m, p.n, p.k, by_rows ? Lines::rows : Lines::columns, unit);
}
template <typename T, Product p, GemmBulk c>
void check_config(std::int64_t count, T alpha, T beta) {
  check_product(p, count, alpha, beta, [](auto const& args) {
    simt::run(2, c.threads(), GemmBulkMemory(sizeof(T), c).bytes, gemm_bulk<gpu::DeviceElement<T>, c>, args);
  });
}
/// Five products on two blocks, so that the pipeline continues from one to the next; and fewer products than blocks.
template <typename T, Product p, GemmBulk c = planned<T, p>()>
void check() {
  check_config<T, p, c>(5, T(-0.75), T(1));
  check_config<T, p, c>(sanitized ? 2 : 4, T(1), T(0));
  if constexpr (!sanitized) check_config<T, p, c>(1, T(0.5), T(2));
}
/// The planned config with other numbers of columns at a time, stages of the pipeline and of A, and C in shared memory or not.
template <typename T, Product p>
constexpr GemmBulk with(int columns, int stages, int a_stages, int c_shared = 1) {
  GemmBulk c = planned<T, p>();
  c.columns = columns, c.stages = stages, c.a_stages = a_stages, c.c_shared = c_shared;
  return c;
}

template <typename T>
class GemmOfSpans : public testing::Test {};
using Types = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(GemmOfSpans, Types);

/// Matrices that begin at every offset within a 16-byte chunk; rows and terms that are 1, 2, 4 and 8 times an odd number.
TYPED_TEST(GemmOfSpans, Sizes) {
  using T = TypeParam;
  check<T, Product{33, 33, 33, packed, packed, packed}>();
  check<T, Product{35, 19, 38, packed_rows, packed, packed}>();
  check<T, Product{34, 17, 35, packed, packed, packed}>();
  if constexpr (!sanitized) {
    check<T, Product{36, 40, 34, packed, packed, packed}>();
    check<T, Product{40, 33, 36, packed_rows, packed, packed}>();
    check<T, Product{17, 50, 21, packed_rows, packed, packed}>();
    check<T, Product{65, 65, 65, packed, packed, packed}>();
  }
}
TYPED_TEST(GemmOfSpans, Pointers) {
  using T = TypeParam;
  static constexpr Product p{.m = 33, .n = 18, .k = 17, .a = dense, .b = dense, .c = dense, .pointers = true};
  check<T, p>();
  if constexpr (sizeof(Real<T>) == 4) check<T, p, with<T, p>(9, 2, 1, 0)>();
}
TYPED_TEST(GemmOfSpans, Rings) {
  using T = TypeParam;
  static constexpr Product p{19, 49, 35, packed, packed, packed};
  check<T, p, with<T, p>(16, 1, 1)>();
  check<T, p, with<T, p>(32, 2, 1)>();
  check<T, p, with<T, p>(16, 6, 1)>();
  check<T, p, with<T, p>(64, 3, 2)>();
  if constexpr (sizeof(Real<T>) == 4) {
    check<T, p, with<T, p>(17, 2, 1, 0)>();
    check<T, p, with<T, p>(49, 2, 2, 0)>();
    if constexpr (!sanitized) check<T, p, with<T, p>(17, 4, 2, 0)>();
  }
  if constexpr (!sanitized) check<T, p, with<T, p>(64, 1, 1)>();
}
/// Configs that a search may try: parts of the columns, more stages, other rows and columns per lane, or C in global memory.
template <typename T, Product p, int columns, int stages, int a_stages, int held_rows = 0, int held_columns = 0, int c_shared = 1>
void check_candidate() {
  static constexpr GemmBulk c = [] {
    GemmBulk out = with<T, p>(columns, stages, a_stages);
    out.held_rows = held_rows, out.held_columns = held_columns, out.c_shared = c_shared;
    out.blocks_per_sm = gemm_bulk_blocks(sizeof(Real<T>), is_complex<T>, out);
    return out;
  }();
  expect_candidate(GemmBulkSpace{dtype_of<T>, p.m, p.n, p.k, c.a, c.unit}, c);
  check<T, p, c>();
}
TYPED_TEST(GemmOfSpans, CandidatesGiveTheSameBits) {
  using T = TypeParam;
  static constexpr Product odd{33, 33, 35, packed, packed, packed}, even{36, 36, 34, packed_rows, packed, packed},
      of_fours{36, 36, 36, packed, packed, packed};
  if constexpr (sizeof(Real<T>) == 8) {
    check_candidate<T, odd, 32, 2, 1>();
    if constexpr (!sanitized) check_candidate<T, even, 16, 3, 1>();
  } else {
    check_candidate<T, odd, 17, 2, 1, 7, 3>();
    check_candidate<T, odd, 11, 3, 1, 4, 5, 0>();
    if constexpr (!sanitized) {
      check_candidate<T, even, 18, 2, 1, 5, 3, 0>();
      check_candidate<T, of_fours, 36, 1, 1, 4, 3, 0>();
      check_candidate<T, odd, 33, 1, 1, 4, 5>();
      check_candidate<T, even, 12, 3, 1, 5, 3>();
    }
  }
}
TYPED_TEST(GemmOfSpans, Conjugated) {
  if constexpr (is_complex<TypeParam>) {
    constexpr auto of = [](bool a, bool b) {
      return Product{.m = 20, .n = 17, .k = 18, .a = packed, .b = packed, .c = packed, .conjugated_a = a, .conjugated_b = b};
    };
    check<TypeParam, of(false, false)>();
    check<TypeParam, of(false, true)>();
    check<TypeParam, of(true, true)>();
  }
}
/// All plans fit shared memory, with their number of blocks, and registers.
TEST(GemmBulkPlans, HaveRoom) {
  int taken = 0;
  for (int const real_bytes : {4, 8})
    for (bool const complex : {false, true})
      for (int n = 1; n <= 150; ++n)
        for (int const k : {33, n, 98, 127}) {
          if (!gemm_bulk_pays(real_bytes, complex, n, n, k)) continue;
          ++taken;
          int const element_bytes = real_bytes * (complex ? 2 : 1);
          GemmBulk const c = gemm_bulk_plan(real_bytes, complex, n, n, k, Lines::columns, std::gcd(std::gcd(n, k), 16 / element_bytes));
          SCOPED_TRACE(testing::Message() << real_bytes << " " << complex << " " << n << " " << k);
          EXPECT_LE(c.blocks_per_sm * (GemmBulkMemory(element_bytes, c).bytes + 1024), 233472);
          int const registers = gemm_bulk_registers(real_bytes, complex, c), warps = c.blocks_per_sm * c.threads() / 32;
          EXPECT_LE(warps * 32 * registers, 65536);
          if (real_bytes == 4) {
            EXPECT_LE(simt::ceil_div(warps, 4) * 32 * registers, 16384);
          }
          EXPECT_LE(c.threads(), 512);
        }
  EXPECT_GT(taken, 0);
}

}  // namespace
}  // namespace myriad
