/// Solves with one right-hand side and larger triangles on the host twin.

#include "trsm/trsv.cuh"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <complex>
#include <cstring>
#include <limits>

#include "myriad/myriad.hpp"
#include "runtime/views.hpp"
#include "sizes.hpp"
#include "stored.hpp"
#include "trsm/trsv_plan.hpp"

namespace myriad {
namespace {

struct Systems {
  int n;
  Layout layout;
  bool ragged = false;
  int parts = 1;
};

/// Expects every solution to have the bits of substitution, row by row in the order of the columns, for any number of blocks; the other
/// triangle is NaN.
template <typename T, Trsv c>
void check_with(Systems const& t) {
  using D = gpu::DeviceElement<T>;
  std::int64_t const count = 3;
  std::array<std::int64_t, 3> const sizes{t.n - 1, 20, t.n};
  for (bool const lower : {true, false})
    for (bool const unit : {false, true}) {
      if (sanitized && lower == unit) continue;
      SCOPED_TRACE(testing::Message() << t.n << " rows, " << t.parts << " parts, lower " << lower << ", unit " << unit);
      Stored<T> a(t.n, t.n, count, t.layout), x(t.n, 1, count, Layout::rows);
      fill(a.memory, 1);
      fill(x.memory, 2);
      for (T& element : a.memory) element /= static_cast<Real<T>>(t.n);
      if (t.ragged) a.view.row_sizes = a.view.col_sizes = x.view.row_sizes = sizes.data();
      for (std::int64_t q = 0; q < count; ++q)
        for (int i = 0; i < t.n; ++i) {
          bool const last = i == (lower ? x.view.rows_of(q) - 1 : 0);  // the element that needs a scaled reciprocal
          *a.view.at(q, i, i) = T(Real<T>(last ? 1e-35 : 1.5));
          for (int j = 0; j < t.n; ++j)
            if ((lower ? j > i : j < i) || (unit && i == j)) *a.view.at(q, i, j) = T(std::numeric_limits<Real<T>>::quiet_NaN());
        }
      if (!unit)
        for (T& element : x.memory) element *= Real<T>(1e-30);
      std::vector<T> const before = x.memory;
      std::vector<unsigned> done(static_cast<std::size_t>(count));
      TrsvArguments<D> const args{.a = gpu::matrices_of(Batch<T const>(conjugated(a.view))),
                                  .x = gpu::matrices_of(x.view),
                                  .parts = t.parts,
                                  .done = t.parts > 1 ? done.data() : nullptr,
                                  .lower = lower,
                                  .unit = unit};
      simt::run(t.parts > 1 ? count * t.parts : 2, c.threads(), c.shared_bytes(sizeof(T)), trsv<D, c>, args, t.parts > 1);
      for (std::int64_t q = 0; q < count; ++q) {
        int const n = static_cast<int>(x.view.rows_of(q));
        std::vector<D> expected;
        for (int i = 0; i < t.n; ++i)
          expected.push_back(std::bit_cast<D>(before[static_cast<std::size_t>(x.view.at(q, i, 0) - x.memory.data())]));
        auto const element = [&](int i, int j) { return simt::conjugate_if(is_complex<T>, std::bit_cast<D>(*a.view.at(q, i, j))); };
        for (int step = 0; step < n; ++step) {
          int const i = lower ? step : n - 1 - step;
          D value = simt::from_real<D>(1) * expected[static_cast<std::size_t>(i)];
          for (int before_it = 0; before_it < step; ++before_it) {
            int const j = lower ? before_it : n - 1 - before_it;
            value = simt::subtract_product(value, element(i, j), expected[static_cast<std::size_t>(j)]);
          }
          simt::Divisor<D, true> divisor(unit ? simt::from_real<D>(1) : element(i, i));
          simt::Real<D> const scale = divisor.usual() ? 1 : divisor.make_usual();
          expected[static_cast<std::size_t>(i)] = unit ? value : (scale * value) * divisor.reciprocal_of_y;
        }
        for (int i = 0; i < t.n; ++i) {
          T const got = *x.view.at(q, i, 0);
          // Not by bits: zeros of conjugated views may have another sign.
          ASSERT_EQ(got, std::bit_cast<T>(expected[static_cast<std::size_t>(i)])) << "matrix " << q << ", row " << i;
        }
      }
    }
}
template <typename T>
void check(Systems const& t) {
  static constexpr Trsv few = trsv_plan(sizeof(T), 1, 132), many = trsv_plan(sizeof(T), 1000, 132);
  if (t.parts > 1)
    check_with<T, few>(t);
  else
    check_with<T, many>(t);
}

template <typename T>
class TrsvOfTriangles : public testing::Test {};
using Types = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(TrsvOfTriangles, Types);

TYPED_TEST(TrsvOfTriangles, ABlockToAMatrix) {
  check<TypeParam>({.n = 150, .layout = Layout::columns});
  check<TypeParam>({.n = 131, .layout = Layout::packed_rows, .ragged = true});
  if constexpr (!sanitized) {
    check<TypeParam>({.n = 192, .layout = Layout::interleaved});
    check<TypeParam>({.n = 129, .layout = Layout::rows, .ragged = true});
  }
}
TYPED_TEST(TrsvOfTriangles, BlocksOneAfterTheOther) {
  check<TypeParam>({.n = 260, .layout = Layout::columns, .parts = 2});
  if constexpr (!sanitized) {
    check<TypeParam>({.n = 400, .layout = Layout::packed_rows, .ragged = true, .parts = 4});
    check<TypeParam>({.n = 300, .layout = Layout::columns, .ragged = true, .parts = 3});
  }
}

TEST(TrsvPlan, FitsEveryGpu) {
  for (int const bytes : {4, 8, 16})
    for (std::int64_t const count : {1, 10, 263, 264, 100000}) {
      Trsv const c = trsv_plan(bytes, count, 132);
      EXPECT_LE(c.shared_bytes(bytes), 99 * 1024);
      // Limits of compute capability 9.0, 8.0 and 8.9
      for (int const shared_memory : {233472, 167936, 102400}) {
        std::int64_t const resident = trsv_resident(c, bytes, 132, shared_memory, 1024), of_one = resident / 132;
        EXPECT_LE(of_one * (c.shared_bytes(bytes) + 1024), shared_memory);
        EXPECT_LE(of_one, c.blocks_per_sm);
        for (std::int64_t const n : {65, 129, 1000, 30000}) {
          std::int64_t const parts = trsv_parts(c, n, count, resident);
          EXPECT_GE(parts, 1);
          EXPECT_LE(parts > 1 ? parts * count : 0, resident);
          EXPECT_LT((parts - 1) * c.rows(), n);
        }
      }
    }
}

}  // namespace
}  // namespace myriad
