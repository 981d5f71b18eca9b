/// Products of triangles with vectors on the host twin.

#include "trsm/trmv.cuh"

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
#include "trsm/trmv_plan.hpp"

namespace myriad {
namespace {

struct Triangles {
  int n;
  Layout layout;
  bool ragged = false;
  int parts = 1;
  int groups = 0;  ///< terms of x at a time, in tiles that are loaded at once; 0: planned number
};

/// Expects every row to have the bits of the sum that trmv.cuh promises, for any layout and number of blocks; the other triangle is NaN.
template <typename T, Trmv c>
void check_with(Triangles const& t) {
  using D = gpu::DeviceElement<T>;
  std::int64_t const count = t.n > 128 ? 2 : 5;
  std::array<std::int64_t, 5> const sizes{t.n - 1, 20, t.n, 0, (t.n + 1) / 2};
  for (bool const lower : {true, false})
    for (bool const unit : {false, true}) {
      if ((sanitized || t.n > 128) && lower == unit) continue;
      SCOPED_TRACE(testing::Message() << t.n << " rows, " << t.parts << " parts, lower " << lower << ", unit " << unit);
      Stored<T> a(t.n, t.n, count, t.layout), x(t.n, 1, count, Layout::rows);
      fill(a.memory, 1);
      fill(x.memory, 2);
      x.view.row_strides = nullptr;
      if (t.ragged) a.view.row_sizes = a.view.col_sizes = x.view.row_sizes = sizes.data();
      for (std::int64_t q = 0; q < count; ++q)
        for (int i = 0; i < t.n; ++i)
          for (int j = 0; j < t.n; ++j)
            if ((lower ? j > i : j < i) || (unit && i == j)) *a.view.at(q, i, j) = T(std::numeric_limits<Real<T>>::quiet_NaN());
      std::vector<T> const before = x.memory;
      std::vector<D> kept(static_cast<std::size_t>(count * t.n));
      TrmvArguments<D> args{.a = gpu::matrices_of(Batch<T const>(conjugated(a.view))),
                            .x = gpu::matrices_of(x.view),
                            .kept = nullptr,
                            .parts = t.parts,
                            .terms = t.groups > 0 ? 32 * c.tiles * t.groups : trmv_terms(sizeof(T), t.n, c),
                            .lower = lower,
                            .unit = unit};
      if (t.parts > 1) {
        simt::run(3, 128, 0, trmv_keep<D>, TrmvKeepArguments<D>{.x = args.x.as_const(), .kept = kept.data()});
        args.kept = kept.data();
      }
      // Fewer blocks than parts, so blocks stride.
      simt::run(std::max<std::int64_t>(count * t.parts - 2, 1), c.threads(), c.shared_bytes(sizeof(T), args.terms), trmv<D, c>, args);
      for (std::int64_t q = 0; q < count; ++q) {
        int const n = static_cast<int>(x.view.rows_of(q));
        auto const former = [&](int i) { return std::bit_cast<D>(before[static_cast<std::size_t>(x.view.at(q, i, 0) - x.memory.data())]); };
        for (int i = 0; i < t.n; ++i) {
          D expected = former(i);
          if (i < n) {
            bool const small = n <= 32;  // in the order of the columns, with zeros
            std::array<D, 32> sum{};
            for (int j = 0; j < n; ++j) {
              bool const stored = lower ? j <= i : j >= i, one = unit && i == j;
              if (!stored && !small) continue;
              D const element = one ? simt::from_real<D>(1) : stored ? std::bit_cast<D>(*a.view.at(q, i, j)) : simt::from_real<D>(0);
              D& part = sum[static_cast<std::size_t>(small ? 0 : j % 32)];
              part = simt::multiply_add(simt::conjugate_if(is_complex<T>, element), former(j), part);
            }
            for (std::size_t half = 16; half > 0 && !small; half /= 2)
              for (std::size_t p = 0; p < half; ++p) sum[p] = sum[p] + sum[p + half];
            expected = small ? simt::from_real<D>(1) * sum[0] : sum[0];
          }
          T const got = *x.view.at(q, i, 0);
          ASSERT_EQ(std::memcmp(&got, &expected, sizeof(T)), 0) << "matrix " << q << ", row " << i << ": " << got;
        }
      }
    }
}
template <typename T, int n>
void check(Triangles t) {
  t.n = n;
  bool const by_rows = t.layout == Layout::packed_rows || t.layout == Layout::rows;
  static constexpr Trmv columns = trmv_plan(sizeof(T), n, Lines::columns), rows = trmv_plan(sizeof(T), n, Lines::rows);
  if (by_rows)
    check_with<T, rows>(t);
  else
    check_with<T, columns>(t);
}

template <typename T>
class TrmvOfTriangles : public testing::Test {};
using Types = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(TrmvOfTriangles, Types);

TYPED_TEST(TrmvOfTriangles, Small) {
  for (Layout const layout : {Layout::columns, Layout::packed_rows}) {
    check<TypeParam, 33>({.n = 0, .layout = layout});
    check<TypeParam, 100>({.n = 0, .layout = layout, .ragged = true, .parts = 3});
  }
  if constexpr (!sanitized) {
    for (Layout const layout : {Layout::packed_columns, Layout::interleaved, Layout::rows}) {
      check<TypeParam, 64>({.n = 0, .layout = layout});
      check<TypeParam, 128>({.n = 0, .layout = layout, .ragged = true});
    }
  }
}
/// More terms than shared memory holds, in place.
TYPED_TEST(TrmvOfTriangles, Larger) {
  for (Layout const layout : {Layout::columns, Layout::rows}) {
    check<TypeParam, 300>({.n = 0, .layout = layout, .groups = 1});
    if constexpr (!sanitized) check<TypeParam, 563>({.n = 0, .layout = layout, .ragged = true, .groups = 1});
    if constexpr (!sanitized) check<TypeParam, 563>({.n = 0, .layout = layout, .ragged = true, .parts = 5});
  }
}

constexpr bool fits(int bytes, std::int64_t n, Lines lines) {
  Trmv const c = trmv_plan(bytes, n, lines);
  return c.tiles >= 1 && c.tiles * c.held() <= 16 && c.threads() <= 1024 && c.rows <= 32 && c.lanes_of_row() <= 32 &&
         trmv_terms(bytes, n, c) % (32 * c.tiles) == 0 && c.shared_bytes(bytes, trmv_terms(bytes, n, c)) <= 48 * 1024;
}
TEST(TrmvPlan, FitsEveryGpu) {
  for (int const bytes : {4, 8, 16})
    for (Lines const lines : {Lines::columns, Lines::rows})
      for (std::int64_t n = 33; n < 100000; n += n < 2000 ? 1 : 997) {
        ASSERT_TRUE(fits(bytes, n, lines)) << bytes << " bytes, " << n << " rows";
        Trmv const c = trmv_plan(bytes, n, lines);
        for (std::int64_t const count : {1, 7, 100, 1000, 100000}) {
          std::int64_t const parts = trmv_parts(c, n, count, 264);
          EXPECT_GE(parts, 1);
          EXPECT_LE(parts, (n + c.rows - 1) / c.rows);
          EXPECT_LE(count >= 264 ? parts : 1, 1);
        }
      }
}

}  // namespace
}  // namespace myriad
