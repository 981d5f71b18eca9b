/// Tiles: matrices are copied to shared memory and back, and lanes hit different banks there.

#include "simt/tile.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <type_traits>

#include "runtime/views.hpp"
#include "sizes.hpp"
#include "stored.hpp"

namespace myriad {
namespace {

using simt::Part;
using simt::TileShape;

/// A shape of a tile with `active` used matrices.
struct Use {
  int m, n, matrices, lanes, active;
  Layout layout;
  bool padded = false, any_distance = false;
  constexpr int threads() const { return std::max(32, lanes * matrices); }
};

template <typename T>
struct FromTo {
  simt::Matrices<T const> from;
  simt::Matrices<T> to;
};

/// Loads matrices into a tile, replaces each element x by 2 x + row + 64 column, and stores them elsewhere.
template <typename T, Use u, Part part>
void move(FromTo<T> const batches) {
  using namespace simt;
  Tile<T, u.m, u.n, u.matrices, u.lanes, u.threads(), u.layout, u.padded, u.any_distance> tile(shared_memory());
  tile.template load<u.layout, part>(batches.from, 0, u.active);
  wait_copies();
  sync_block();
  for (int e = thread_index(); e < u.active * u.m * u.n; e += u.threads()) {
    int const q = e / (u.m * u.n), i = e % u.m, j = e / u.m % u.n;
    if (part == Part::whole || i >= j) tile.at(q, i, j) = from_real<T>(2) * tile.at(q, i, j) + from_real<T>(i + 64 * j);
  }
  sync_block();
  tile.template store<u.layout, part>(batches.to, 0, u.active);
}

template <typename T>
using Mover = void (*)(FromTo<gpu::DeviceElement<T>>);

/// Compiled once per type, not for every shape.
template <typename T>
void check(Use const& u, Part part, int bytes, Mover<T> mover) {
  SCOPED_TRACE(testing::Message() << u.m << " x " << u.n << ", " << u.matrices << " matrices, " << u.lanes << " lanes, " << u.active
                                  << " used, layout " << static_cast<int>(u.layout) << ", " << sizeof(T) << " bytes");
  Stored<T> a(u.m, u.n, u.active, u.layout), b(u.m, u.n, u.active, u.layout);
  fill(a.memory, 1);
  std::fill(b.memory.begin(), b.memory.end(), T(-7));
  std::vector<T> expected = b.memory;
  Batch<T> const result = b.view;
  for (int q = 0; q < u.active; ++q)
    for (int j = 0; j < u.n; ++j)
      for (int i = part == Part::lower ? j : 0; i < u.m; ++i)
        expected[static_cast<std::size_t>(result.at(q, i, j) - b.memory.data())] =
            T(2) * *a.view.at(q, i, j) + T(static_cast<Real<T>>(i + 64 * j));
  simt::run(1, u.threads(), bytes, mover, {gpu::matrices_of(Batch<T const>(a.view)), gpu::matrices_of(result)});
  EXPECT_EQ(b.memory, expected) << "what is stored, and nothing else";
}
template <typename T, Use u, Part part = Part::whole>
void check() {
  constexpr int bytes = TileShape(sizeof(T), u.m, u.n, u.matrices, u.lanes, u.layout, u.padded, u.any_distance).bytes;
  check<T>(u, part, bytes, move<gpu::DeviceElement<T>, u, part>);
}

/// All types and layouts, with full and partial blocks.
template <int m, int n, int lanes, bool padded, bool any_distance, typename T>
void check_layouts() {
  constexpr int matrices = 32 / lanes;
  auto const with = [&]<Layout layout>() {
    check<T, Use{m, n, matrices, lanes, matrices, layout, padded, any_distance}>();
    if constexpr (!sanitized || m != n) check<T, Use{m, n, matrices, lanes, (matrices + 1) / 2, layout, padded, any_distance}>();
    if constexpr (m == n) {
      if constexpr (!sanitized) check<T, Use{m, n, matrices, lanes, matrices, layout, padded, any_distance}, Part::lower>();
      check<T, Use{m, n, matrices, lanes, (matrices + 1) / 2, layout, padded, any_distance}, Part::lower>();
    }
  };
  with.template operator()<Layout::packed_columns>();
  with.template operator()<Layout::packed_rows>();
  with.template operator()<Layout::interleaved>();
  with.template operator()<Layout::dense_columns>();
  with.template operator()<Layout::dense_rows>();
  with.template operator()<Layout::columns>();
}

TEST(Tile, OddOrders) {
  check_layouts<15, 15, 4, false, true, float>();
  check_layouts<15, 15, 8, false, false, float>();
  check_layouts<17, 17, 4, true, true, float>();
  check_layouts<31, 31, 16, false, true, float>();
  check_layouts<31, 31, 8, false, true, float>();
  check_layouts<31, 31, 32, false, true, float>();
  check_layouts<9, 9, 4, false, true, double>();
  check_layouts<31, 31, 16, false, false, double>();
}
TEST(Tile, EvenOrders) {
  check_layouts<12, 12, 4, false, false, float>();
  check_layouts<28, 28, 8, true, false, float>();
  check_layouts<30, 30, 16, false, false, double>();
  check_layouts<32, 32, 16, true, true, double>();
  check_layouts<6, 6, 2, false, true, double>();
}
/// Orders where the number of elements divides that of threads, or vice versa: single triangles are stored by elements.
TEST(Tile, PowersOfTwo) {
  check_layouts<2, 2, 1, false, false, float>();
  check_layouts<4, 4, 2, false, true, float>();
  check_layouts<8, 8, 4, false, true, float>();
  check_layouts<16, 16, 8, true, true, float>();
  check_layouts<8, 8, 4, false, true, double>();
}
TEST(Tile, LongAndWide) {
  check_layouts<5, 31, 8, false, true, float>();
  check_layouts<31, 5, 8, true, true, float>();
  check_layouts<1, 7, 4, false, true, float>();
  check_layouts<7, 1, 4, false, true, double>();
  check_layouts<3, 2, 16, false, true, float>();
  check_layouts<3, 3, 4, false, false, double>();
  check_layouts<5, 5, 32, false, false, float>();
}

/// Words of the busiest bank when as many lanes as fill the banks each read an element of the first column.
int most_in_a_bank(int element_bytes, int lanes, TileShape const& shape) {
  int const words = element_bytes / 4;
  std::array<int, 32> of_bank{};
  for (int t = 0; t < 32 / words; ++t)
    for (int w = 0; w < words; ++w) {
      int const element = t / lanes * shape.matrix_stride + t % lanes * (shape.by_rows ? shape.line_stride : 1);
      ++of_bank[static_cast<std::size_t>((element * words + w) % 32)];
    }
  return *std::max_element(of_bank.begin(), of_bank.end());
}

TEST(TileShape, ColumnsOfLanesMeetDifferentBanks) {
  for (int n = 4; n <= 32; ++n)
    for (int const lanes : {4, 8, 16}) {
      if (lanes > n) continue;
      for (int const bytes : {4, 8}) {
        TileShape const shape(bytes, n, n, 32 / lanes, lanes, Layout::packed_columns, false, true);
        EXPECT_LE(most_in_a_bank(bytes, lanes, shape), 2) << n << ' ' << lanes << ' ' << bytes;
        TileShape const strided(bytes, n, n, 32 / lanes, lanes, Layout::columns);
        EXPECT_LE(most_in_a_bank(bytes, lanes, strided), n % 2 == 0 ? 2 : 1) << n << ' ' << lanes << ' ' << bytes;
      }
    }
}
TEST(TileShape, RowsAreAnOddNumberOfChunks) {
  for (int n = 2; n <= 32; n += 2)
    for (int const bytes : {4, 8}) {
      TileShape const shape(bytes, n, n, 4, 8, Layout::packed_rows);
      if (n % shape.per_chunk != 0) continue;
      EXPECT_EQ(shape.line_stride / shape.per_chunk % 2, 1) << n << ' ' << bytes;
      EXPECT_LE(shape.line_stride, n + shape.per_chunk);
    }
}
TEST(TileShape, CopiesOf16BytesWhereTheyCanBe) {
  EXPECT_EQ(TileShape(4, 15, 15, 8, 4, Layout::packed_columns).matrix_stride, 225) << "as in memory";
  EXPECT_GT(TileShape(4, 15, 15, 8, 4, Layout::packed_columns, false, true).matrix_stride, 225) << "four would meet in a bank";
  EXPECT_EQ(TileShape(4, 13, 13, 8, 4, Layout::packed_columns, false, true).matrix_stride, 169) << "two do";
  EXPECT_GT(TileShape(4, 31, 31, 2, 16, Layout::packed_columns).matrix_stride, 961) << "two matrices are no whole number of chunks";
}

}  // namespace
}  // namespace myriad
