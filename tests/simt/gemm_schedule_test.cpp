/// Schedules of ragged batches on the host twin: the lists against sizes counted here, and products that use them.

#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <tuple>
#include <vector>

#include "gemm/pipelined/gemm_pipelined.cuh"
#include "gemm/pipelined/gemm_pipelined_plan.hpp"
#include "product.hpp"
#include "schedule.hpp"
#include "sizes.hpp"

namespace myriad {
namespace {

/// Collects the tiles that a kernel's blocks get: every existing tile once, and no others.
template <int m, int n>
struct PlacesArguments {
  simt::Matrices<char const> c;
  GemmSchedule schedule;
  std::tuple<simt::Index, int, int>* places;
  simt::Index count;
};
template <int m, int n, int together = 1>
void write_places(PlacesArguments<m, n> const args) {
  GemmPlaces<m, n, true, together> const places(args);
  for (simt::Index at = simt::block_index(); at < places.count(args); at += simt::block_count()) {
    GemmPlace const place = places.at(args, at);
    if (simt::thread_index() == 37 && at < args.count) args.places[at] = {place.b, place.i0, place.j0};
  }
}

/// Rows, columns and terms of each matrix
struct Sizes {
  std::vector<std::int64_t> m, n, k;
};
Sizes sizes_of(std::int64_t count, std::int64_t largest) {
  Sizes out;
  std::uint64_t state = 1;
  auto const random = [&] {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::int64_t>(state >> 33U);
  };
  for (std::int64_t b = 0; b < count; ++b) {
    // Most are small, and some are empty.
    std::int64_t const bound = random() % 4 == 0 ? largest : 1 + largest / 8;
    out.m.push_back(random() % (bound + 1));
    out.n.push_back(random() % (bound + 1));
    out.k.push_back(random() % (bound + 1));
  }
  return out;
}

template <int m, int n>
void check_part(Schedule const& schedule, Sizes const& sizes, std::size_t p, std::int64_t above, std::int64_t upto) {
  SCOPED_TRACE(testing::Message() << "part " << p);
  std::vector<std::tuple<simt::Index, int, int>> expected;
  std::int64_t matrices = 0;
  std::int64_t const most = schedule.args.a.cols;
  for (bool const few : {false, true})
    for (std::size_t b = 0; b < sizes.m.size(); ++b) {
      std::int64_t const side = std::max(sizes.m[b], sizes.n[b]);
      if (sizes.m[b] == 0 || sizes.n[b] == 0 || side <= above || side > upto || (2 * sizes.k[b] <= most) != few) continue;
      ++matrices;
      for (std::int64_t j = 0; j < sizes.n[b]; j += n)
        for (std::int64_t i = 0; i < sizes.m[b]; i += m) expected.emplace_back(b, static_cast<int>(i), static_cast<int>(j));
    }
  GemmSchedulePart const part = schedule.parts[p];
  ASSERT_EQ(part.count, matrices);
  ASSERT_EQ(part.tiles, static_cast<simt::Index>(expected.size()));
  std::vector<std::tuple<simt::Index, int, int>> places(expected.size(), {-1, -1, -1});
  PlacesArguments<m, n> const args{schedule.args.c, schedule.of_part(p), places.data(), part.tiles};
  simt::run(5, Schedule::threads, 0, write_places<m, n>, args);
  EXPECT_EQ(places, expected);
}

TEST(GemmSchedule, EveryTileOnce) {
  for (auto const& [count, largest, blocks] : {std::tuple<std::int64_t, std::int64_t, int>{1, 200, 1},
                                               {63, 40, 1},
                                               {64, 300, 2},
                                               {65, 300, 2},
                                               {300, 500, 3},
                                               {sanitized ? 500 : 3000, 300, 4}}) {
    SCOPED_TRACE(testing::Message() << count << " of up to " << largest << " by " << blocks);
    Sizes const sizes = sizes_of(count, largest);
    Batch<char> a{.rows = largest, .cols = largest, .count = count, .row_sizes = sizes.m.data(), .col_sizes = sizes.k.data()};
    Batch<char> c{.rows = largest, .cols = largest, .count = count, .row_sizes = sizes.m.data(), .col_sizes = sizes.n.data()};
    Schedule const schedule(a, c, {{32, 32, 32}, {64, 64, 64}, {128, 48, 64}, {largest, 80, 40}}, blocks);
    check_part<32, 32>(schedule, sizes, 0, 0, 32);
    check_part<64, 64>(schedule, sizes, 1, 32, 64);
    check_part<48, 64>(schedule, sizes, 2, 64, 128);
    check_part<80, 40>(schedule, sizes, 3, 128, largest);
    EXPECT_EQ(schedule.counts, std::vector<unsigned>(64)) << "not as the next launch needs it";
  }
}
/// A view begins further down, behind the end of some matrices.
TEST(GemmSchedule, OfAView) {
  Sizes const sizes = sizes_of(200, 90);
  Batch<char> a{.rows = 90, .cols = 90, .count = 200, .row_sizes = sizes.m.data(), .col_sizes = sizes.k.data()};
  Batch<char> c{.rows = 90, .cols = 90, .count = 200, .row_sizes = sizes.m.data(), .col_sizes = sizes.n.data()};
  Schedule const schedule(block(a, 10, 0, 60, 90), block(c, 10, 4, 60, 30), {{90, 16, 16}}, 2);
  Sizes seen = sizes;
  for (std::int64_t& m : seen.m) m = std::clamp<std::int64_t>(m - 10, 0, 60);
  for (std::int64_t& n : seen.n) n = std::clamp<std::int64_t>(n - 4, 0, 30);
  check_part<16, 16>(schedule, seen, 0, 0, 90);
}
/// Neighbours that are computed together have tiles for their largest number of rows and of columns.
TEST(GemmSchedule, OfNeighboursTogether) {
  constexpr int together = 4;
  Sizes const sizes = sizes_of(203, 90);
  Batch<char> a{.rows = 90, .cols = 90, .count = 203, .row_sizes = sizes.m.data(), .col_sizes = sizes.k.data()};
  Batch<char> c{.rows = 90, .cols = 90, .count = 203, .row_sizes = sizes.m.data(), .col_sizes = sizes.n.data()};
  Schedule const schedule(a, c, {{90, 16, 24}}, 2, together);
  std::vector<std::tuple<simt::Index, int, int>> expected;
  for (bool const few : {false, true})
    for (std::size_t b = 0; b < sizes.m.size(); b += together) {
      auto const most = [&](std::vector<std::int64_t> const& x) {
        return *std::max_element(x.begin() + static_cast<std::ptrdiff_t>(b),
                                 x.begin() + static_cast<std::ptrdiff_t>(std::min(b + together, x.size())));
      };
      if ((2 * most(sizes.k) <= 90) != few) continue;
      for (std::int64_t j = 0; j < most(sizes.n); j += 24)
        for (std::int64_t i = 0; i < most(sizes.m); i += 16) expected.emplace_back(b, static_cast<int>(i), static_cast<int>(j));
    }
  std::vector<std::tuple<simt::Index, int, int>> places(expected.size(), {-1, -1, -1});
  ASSERT_EQ(schedule.parts[0].tiles, static_cast<simt::Index>(expected.size()));
  PlacesArguments<16, 24> const args{schedule.args.c, schedule.of_part(0), places.data(), schedule.parts[0].tiles};
  simt::run(5, Schedule::threads, 0, write_places<16, 24, together>, args);
  EXPECT_EQ(places, expected);
}
TEST(GemmSchedule, NothingIsThere) {
  std::vector<std::int64_t> const none(70);
  Batch<char> x{.rows = 50, .cols = 50, .count = 70, .row_sizes = none.data()};
  Schedule const schedule(x, x, {{32, 32, 32}, {50, 50, 50}}, 2);
  for (std::size_t p : {0U, 1U}) {
    EXPECT_EQ(schedule.parts[p].count, 0);
    EXPECT_EQ(schedule.parts[p].tiles, 0);
  }
}

template <typename T>
class GemmsByASchedule : public testing::Test {};
using Types = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(GemmsByASchedule, Types);

/// gemm_pipelined: tiles for matrices of up to 24 rows, and others for larger ones.
template <typename T, Written written>
void check_ring() {
  static constexpr auto config = [](int m, int n, int k) {
    GemmPipelined c = gemm_pipelined_plan(sizeof(Real<T>), is_complex<T>, m, n, k);
    c.a = Lines::columns, c.b = Lines::rows, c.c = Lines::columns;
    c.written = written;
    c.scheduled = 1;
    return c;
  };
  static constexpr GemmPipelined small = config(24, 24, 20), large = config(33, 33, 20);
  constexpr Product p{.m = 70,
                      .n = written == Written::whole ? 90 : 70,
                      .k = 20,
                      .a = Layout::packed_columns,
                      .b = Layout::packed_rows,
                      .c = Layout::packed_columns,
                      .ragged_m = true,
                      .ragged_n = true,
                      .ragged_k = true,
                      .written = written};
  check_product(p, 25, T(2), T(-1), [](auto const& given) {
    auto args = given;
    Schedule const schedule(args.a, args.c, {{24, small.m, small.n}, {90, large.m, large.n}}, 1);
    using D = gpu::DeviceElement<T>;
    args.above = 24;
    args.schedule = schedule.of_part(1);
    simt::run(4, large.threads(), GemmPipelinedMemory(sizeof(Real<T>), is_complex<T>, large).bytes, gemm_pipelined<D, large>, args);
    args.above = 0;
    args.upto = 24;
    args.schedule = schedule.of_part(0);
    simt::run(3, small.threads(), GemmPipelinedMemory(sizeof(Real<T>), is_complex<T>, small).bytes, gemm_pipelined<D, small>, args);
  });
}
TYPED_TEST(GemmsByASchedule, Whole) { check_ring<TypeParam, Written::whole>(); }
TYPED_TEST(GemmsByASchedule, LowerTriangle) { check_ring<TypeParam, Written::lower>(); }

}  // namespace
}  // namespace myriad
