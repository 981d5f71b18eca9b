/// Kernels of the reduction to tridiagonal form on the host twin: A = Q T Q^H with an orthogonal Q, both triangles, layouts, sizes around
/// the limits of panels and groups, the same bits with every number of blocks, NaN, elements near overflow; nothing else is touched.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <vector>

#include "eigen/tridiagonal/tridiagonal_copy.cuh"
#include "eigen/tridiagonal/tridiagonal_panel.cuh"
#include "eigen/tridiagonal/tridiagonal_plan.hpp"
#include "eigen/tridiagonal/tridiagonal_resident.cuh"
#include "eigen/tridiagonal/tridiagonal_update.cuh"
#include "myriad/myriad.hpp"
#include "runtime/views.hpp"
#include "simt_host/host.hpp"
#include "simt_host/machine.hpp"
#include "sizes.hpp"
#include "stored.hpp"
#include "tridiagonal_blocks.hpp"

namespace myriad {
namespace {

template <typename T>
constexpr Real<T> nan_of = std::numeric_limits<Real<T>>::quiet_NaN();

template <typename T>
T conjugate(T x) {
  if constexpr (is_complex<T>)
    return std::conj(x);
  else
    return x;
}

template <typename T>
T random_element(std::int64_t b, std::int64_t i, std::int64_t j) {
  std::mt19937 random(static_cast<unsigned>(b * 10007 + i * 101 + j));
  std::normal_distribution<Real<T>> normal;
  if constexpr (is_complex<T>) {
    Real<T> const re = normal(random);
    return T(re, i == j && i % 3 == 1 ? nan_of<T> : normal(random));  // garbage on the diagonal
  } else {
    return normal(random);
  }
}

/// Hermitian matrices with one stored triangle, and the results of their reduction.
template <typename T>
struct Problem {
  Stored<T> a;
  std::vector<std::int64_t> sizes;
  std::vector<Real<T>> d, e;
  std::vector<T> tau, before;
  bool lower;

  template <typename Element>
  Problem(int n, std::int64_t count, Layout layout, bool ragged, bool is_lower, Element element)
      : a(n, n, count, layout),
        d(static_cast<std::size_t>(n * count), Real<T>(-7)),
        e(d),
        tau(static_cast<std::size_t>(n * count), T(-7)),
        lower(is_lower) {
    std::fill(a.memory.begin(), a.memory.end(), T(nan_of<T>));
    for (std::int64_t b = 0; ragged && b < count; ++b) sizes.push_back(b == 0 ? n : (b * 5 + 1) % (n + 1));
    if (ragged) a.view.row_sizes = a.view.col_sizes = sizes.data();
    for (std::int64_t b = 0; b < count; ++b)
      for (int j = 0; j < a.view.cols_of(b); ++j)
        for (int i = j; i < a.view.rows_of(b); ++i) {
          T const x = element(b, i, j);
          (lower ? *a.view.at(b, i, j) : *a.view.at(b, j, i)) = lower || i == j ? x : conjugate(x);
        }
    before = a.memory;
  }
  Problem(Problem const&) = delete;

  [[nodiscard]] TridiagonalArguments<gpu::DeviceElement<T>> arguments() {
    auto const n = a.view.rows, count = a.view.count;
    // e and tau have n rows, also for smaller matrices.
    return {.a = gpu::matrices_of(a.view),
            .d = gpu::matrices_of(vectors(d.data(), n, count)),
            .e = gpu::matrices_of(vectors(e.data(), n, count)),
            .tau = gpu::matrices_of(vectors(tau.data(), n, count)),
            .lower = lower};
  }
  [[nodiscard]] T was(std::int64_t b, std::int64_t i, std::int64_t j) {
    bool const stored = lower ? i >= j : i <= j;
    T const x = before[static_cast<std::size_t>((stored ? a.view.at(b, i, j) : a.view.at(b, j, i)) - a.memory.data())];
    return i == j ? T(std::real(x)) : stored ? x : conjugate(x);
  }
  [[nodiscard]] std::vector<std::byte> bytes() const {
    std::vector<std::byte> out;
    auto const add = [&](auto const& v) {
      auto const* const from = reinterpret_cast<std::byte const*>(v.data());
      out.insert(out.end(), from, from + v.size() * sizeof(v[0]));
    };
    add(a.memory);
    add(d);
    add(e);
    add(tau);
    return out;
  }

  /// Checks Q T Q^H, with Q from the reflectors, against the initial matrix, and T in the triangle.
  void check() {
    Queue queue({.backend = Backend::cpu});
    for (std::int64_t b = 0; b < a.view.count; ++b) {
      auto const n = a.view.rows_of(b);
      if (n == 0) continue;
      auto const at = [&](auto& v, std::int64_t k) { return v[static_cast<std::size_t>(b * a.view.rows + k)]; };
      std::vector<T> q(static_cast<std::size_t>(n * n)), tau_of(static_cast<std::size_t>(n));
      for (int j = 0; j < n; ++j)
        for (int i = 0; i < n; ++i) q[static_cast<std::size_t>(i + j * n)] = *a.view.at(b, i, j);
      for (int k = 0; k + 1 < n; ++k) tau_of[static_cast<std::size_t>(k)] = at(tau, k);
      orgtr(queue, lower ? Uplo::lower : Uplo::upper, batch(q.data(), n, n), vectors<T const>(tau_of.data(), n - 1, 1));
      double norm = 0, residual = 0;
      for (int j = 0; j < n; ++j) {
        double of_column = 0, of_residual = 0;
        for (int i = 0; i < n; ++i) {
          std::complex<double> left = std::complex<double>(was(b, i, j));
          of_column += std::abs(left);
          for (int k = 0; k < n; ++k) {
            auto const element = [&](int r, int c) { return std::complex<double>(q[static_cast<std::size_t>(r + c * n)]); };
            std::complex<double> t_q = std::conj(element(j, k)) * double(at(d, k));
            if (k > 0) t_q += std::conj(element(j, k - 1)) * double(at(e, k - 1));
            if (k + 1 < n) t_q += std::conj(element(j, k + 1)) * double(at(e, k));
            left -= element(i, k) * t_q;
          }
          of_residual += std::abs(left);
          bool const stored = lower ? i >= j : i <= j;
          if (!stored) {
            auto const place = static_cast<std::size_t>(a.view.at(b, i, j) - a.memory.data());
            ASSERT_EQ(std::memcmp(&a.memory[place], &before[place], sizeof(T)), 0) << "the other triangle";
          }
          T const kept = i == j ? T(at(d, i)) : std::abs(i - j) == 1 ? T(at(e, std::min(i, j))) : *a.view.at(b, i, j);
          ASSERT_TRUE(!stored || *a.view.at(b, i, j) == kept);
        }
        norm = std::max(norm, of_column);
        ASSERT_TRUE(std::isfinite(of_residual)) << "column " << j;  // std::max would lose a NaN
        residual = std::max(residual, of_residual);
      }
      double const u = std::numeric_limits<Real<T>>::epsilon() / 2;
      EXPECT_LE(residual, 30 * u * static_cast<double>(n) * norm) << "matrix " << b << " of " << n << " rows";
      EXPECT_EQ(at(e, n - 1), Real<T>(-7)) << "e has n - 1 elements";
      EXPECT_EQ(at(tau, n - 1), T(-7)) << "tau has n - 1 elements";
    }
  }

  /// Blocks of half as many threads, so that fewer fibers take turns, and few columns, so that small matrices have several panels.
  static constexpr TridiagonalPanel small_panel = [] {
    TridiagonalPanel c = tridiagonal_panel_plan(sizeof(T));
    c.width = 8;
    c.warps = 4;
    c.columns = sizeof(T) == 4 ? 32 : c.columns;
    return c;
  }();
  using D = gpu::DeviceElement<T>;
  static constexpr int copy_blocks = 3;
  static constexpr TridiagonalResident resident{.row_parts = 2, .column_parts = 2};

  /// Copies `count` matrices from number b on to a workspace, `reduce`s them there, and copies them back.
  template <typename Reduce>
  void in_workspace(TridiagonalPanel const& c, int panel_blocks, std::int64_t b, int count, int held, Reduce reduce) {
    int const n = static_cast<int>(a.view.rows);
    using Workspace = TridiagonalWorkspace<D>;
    std::int64_t const bytes = bytes_of<Workspace>(b, c, n, panel_blocks, copy_blocks);
    HostMachine::Memory memory(bytes * count);
    auto const workspace = placed<Workspace>(memory.data(), b, c, n, panel_blocks, copy_blocks);
    TridiagonalWork<D> const work{.batch = arguments(),
                                  .matrix = workspace.matrix,
                                  .count = count,
                                  .stride = bytes,
                                  .blocks = copy_blocks,
                                  .width = c.width,
                                  .margin = workspace.margin,
                                  .resident = held,
                                  .first = 0,
                                  .rounds = 0,
                                  .held = 0,
                                  .kept = 7};
    auto const copy = [&](void (*kernel)(TridiagonalWork<D>)) {
      simt::run(copy_blocks * count, tridiagonal_copy_threads, 128, kernel, work);
    };
    copy(tridiagonal_largest<D>);
    copy(tridiagonal_load<D>);
    reduce(work);
    copy(tridiagonal_store<D>);
  }
  static void reduce_resident(TridiagonalWork<D> work, int rows, int groups, int blocks) {
    work.blocks = blocks;
    simt::run(groups * blocks, resident.threads(), resident.elements(rows, blocks) * static_cast<int>(sizeof(T)),
              tridiagonal_resident<D, resident>, work, true);
  }
  /// By panels, each matrix on `blocks` blocks that hold `held_tiles` tiles each, down to `held` rows, which are then reduced in shared
  /// memory.
  template <TridiagonalPanel c = small_panel>
  void reduce_by_panels(int blocks, int held = 0, int held_tiles = 0) {
    constexpr TridiagonalUpdate u{.width = c.width};
    int const n = static_cast<int>(a.view.rows);
    for (std::int64_t b = 0; b < a.view.count; ++b)
      in_workspace(c, blocks, b, 1, held, [&](TridiagonalWork<D> work) {
        work.held = held_tiles;
        for (; n - work.first > held; work.first += c.width, work.rounds += c.rounds()) {
          simt::run(blocks, c.threads(), c.shared_bytes(sizeof(T), held_tiles), tridiagonal_panel<D, c>, work, true);
          int const next = work.first + c.width;
          if (next < n)
            simt::run(TridiagonalUpdate::tiles(n - next), u.threads(), u.shared_bytes(sizeof(T)), tridiagonal_update<D, u>, work);
        }
        reduce_resident(work, std::min(n, held), 1, blocks);
      });
  }
  /// In shared memory, by groups of `blocks` blocks.
  void reduce_in_memories(int groups, int blocks) {
    int const n = static_cast<int>(a.view.rows), count = static_cast<int>(a.view.count);
    in_workspace(small_panel, 0, 0, count, n, [&](TridiagonalWork<D> const& work) { reduce_resident(work, n, groups, blocks); });
  }
  /// In registers, by the kernels for up to n rows, or by the last of them.
  template <int n, bool only_last = false>
  void reduce_in_blocks() {
    constexpr std::size_t last = tridiagonal_block_of<T>(n);
    myriad::reduce_in_blocks<T, last, only_last ? last : 0>(arguments());
  }
};

template <typename T>
class Tridiagonal : public testing::Test {};
using Types = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(Tridiagonal, Types);

TYPED_TEST(Tridiagonal, ByPanels) {
  using T = TypeParam;
  for (int const n : sanitized ? std::vector{1, 2, 9, 33} : std::vector{1, 2, 3, 7, 8, 9, 33, 75}) {
    SCOPED_TRACE(n);
    Problem<T> problem(n, 1, n % 2 == 0 ? Layout::packed_rows : Layout::columns, false, n % 3 != 0, random_element<T>);
    problem.reduce_by_panels(n % 3 + 1, 0, n == 33 ? 2 : n == 75 ? 1 : 0);
    problem.check();
  }
}
TYPED_TEST(Tridiagonal, InSharedMemories) {
  using T = TypeParam;
  for (int const n : sanitized ? std::vector{1, 2, 34} : std::vector{1, 2, 3, 5, 34, 75}) {
    SCOPED_TRACE(n);
    Problem<T> problem(n, 1, n % 2 == 0 ? Layout::packed_rows : Layout::columns, false, n % 3 != 0, random_element<T>);
    problem.reduce_in_memories(1, n % 3 + 1);
    problem.check();
  }
}
/// Panels with several tiles per block: some are held, some read one by one and some in longer pieces; then the rest in shared memory.
TYPED_TEST(Tridiagonal, PanelsOfManyTiles) {
  using T = TypeParam;
  if (sanitized && sizeof(T) != 8) GTEST_SKIP() << "the same code as of other types";
  for (int const blocks : {2, 1}) {
    if (sanitized && blocks == 1) continue;
    int const n = sanitized ? 100 : blocks == 1 ? 200 : 195;
    Problem<T> problem(n, 1, Layout::packed_columns, false, blocks == 1, random_element<T>);
    problem.reduce_by_panels(blocks, n - (sanitized ? 8 : 20), blocks - 1);
    problem.check();
  }
}
/// The plan of a GPU.
TYPED_TEST(Tridiagonal, AsPlanned) {
  using T = TypeParam;
  if (sanitized) GTEST_SKIP() << "the same code as of smaller blocks";
  Problem<T> problem(141, 1, Layout::packed_columns, false, sizeof(T) == 8, random_element<T>);
  problem.template reduce_by_panels<tridiagonal_panel_plan(sizeof(T))>(3, 90, 1);
  problem.check();
}
/// In shared memory a matrix gets the same bits with every number of blocks, alone and in a batch whose groups have several matrices.
TYPED_TEST(Tridiagonal, SameBitsWithEveryNumberOfBlocks) {
  using T = TypeParam;
  int const n = sanitized ? 34 : 50, count = 5;
  for (bool const ragged : {true, false}) {
    if (sanitized && !ragged) continue;
    Problem<T> first(n, count, ragged ? Layout::ragged_columns : Layout::packed_columns, ragged, !ragged, random_element<T>);
    first.reduce_in_memories(1, 1);
    first.check();
    struct Grid {
      int groups, blocks;
    };
    for (auto const [groups, blocks] : {Grid{1, 3}, {2, 2}, {3, 1}, {5, 2}, {2, 7}}) {
      if (sanitized && (blocks != 2 || groups != 2)) continue;
      Problem<T> problem(n, count, ragged ? Layout::ragged_columns : Layout::packed_columns, ragged, !ragged, random_element<T>);
      problem.reduce_in_memories(groups, blocks);
      EXPECT_EQ(first.bytes(), problem.bytes()) << groups << " groups of " << blocks << " blocks" << (ragged ? ", ragged" : "");
    }
  }
}
TYPED_TEST(Tridiagonal, RaggedByPanels) {
  using T = TypeParam;
  int const n = sanitized ? 21 : 41, held = 12;
  Problem<T> problem(n, 5, Layout::ragged_columns, true, false, random_element<T>);
  problem.reduce_by_panels(2, held);
  problem.check();
  // The same bits as alone: panels depend on the matrix's own number of rows.
  for (std::int64_t b = 0; b < problem.a.view.count; ++b) {
    int const size = static_cast<int>(problem.a.view.rows_of(b));
    if (size == 0) continue;
    Problem<T> alone(size, 1, Layout::packed_columns, false, false,
                     [&](std::int64_t, std::int64_t i, std::int64_t j) { return random_element<T>(b, i, j); });
    alone.reduce_by_panels(2, held);
    for (int j = 0; j < size; ++j) {
      ASSERT_EQ(alone.d[static_cast<std::size_t>(j)], problem.d[static_cast<std::size_t>(b * n + j)]) << size << " rows";
      for (int i = 0; i <= j; ++i) ASSERT_EQ(*alone.a.view.at(0, i, j), *problem.a.view.at(b, i, j)) << size << " rows";
    }
  }
}
/// One block reads or holds each tile. Row sums of tiles, and column sums of a block's consecutive tiles of a panel, have their own places
/// in the workspace, where part_of_row finds them. Also for large matrices, whose products are not run here.
TEST(TridiagonalTiles, Places) {
  struct Tile {
    int rows, columns;
  };
  for (auto const [rows, columns] : {Tile{128, 128}, {64, 128}, {64, 64}, {32, 64}})
    for (int const n : {1, 64, 65, 200, 1025, 2048, 8192, 8600, 20001})
      for (auto const& [blocks, held] : {std::pair{1, 0}, {3, 1}, {264, 0}, {264, 1}, {264, 4}}) {
        SCOPED_TRACE(testing::Message() << n << " rows, tiles of " << rows << " by " << columns << ", " << blocks << " blocks, " << held);
        TridiagonalTiles const tiles(n, rows, columns, blocks, held);
        ASSERT_EQ(tiles.count, tiles.before(tiles.panels));
        ASSERT_LE(tiles.count - tiles.read, blocks * held);
        std::vector<std::vector<simt::Index>> sums_of(static_cast<std::size_t>(tiles.panels));
        int panel = 0;
        for (int tile = 0; tile < tiles.count; ++tile) {
          if (tile == tiles.before(panel + 1)) ++panel;
          ASSERT_EQ(tiles.panel_of(tile), panel);
          int const row = tiles.first_row(panel) + tile - tiles.before(panel);
          ASSERT_TRUE(row < tiles.tile_rows && (row + 1) * rows > panel * columns);
          // Whether a run of tiles down a panel ends here
          bool const ends =
              tile >= tiles.read || (tile + 1) % tiles.of_piece() == 0 || tile + 1 == tiles.read || tile + 1 == tiles.before(panel + 1);
          if (ends) sums_of[static_cast<std::size_t>(panel)].push_back(tiles.column_sums(tile, panel));
        }
        std::vector<bool> taken(static_cast<std::size_t>(TridiagonalTiles(n, rows, columns, 1, 0).elements() / columns + 1));
        for (panel = 0; panel < tiles.panels; ++panel) {
          auto const& places = sums_of[static_cast<std::size_t>(panel)];
          ASSERT_EQ(tiles.pieces_of(panel), static_cast<int>(places.size()));
          for (std::size_t k = 0; k < places.size(); ++k) {
            ASSERT_EQ(tiles.column_sums_of(panel, static_cast<int>(k)), places[k]);
            simt::Index const behind = places[k] - simt::Index{tiles.count} * rows;
            ASSERT_GE(behind, 0);
            ASSERT_EQ(behind % columns, 0);
            ASSERT_LE(places[k] + columns, TridiagonalTiles(n, rows, columns, 1, 0).elements());
            auto const at = static_cast<std::size_t>(behind / columns);
            ASSERT_FALSE(taken[at]) << "panel " << panel;
            taken[at] = true;
          }
        }
      }
}
/// Blocks fit shared memory, also on GPUs with less of it.
TEST(TridiagonalPanels, FindSharedMemory) {
  Device device;
  for (auto const& [of_block, of_multiprocessor] : {std::pair{227, 228}, {163, 164}, {99, 100}}) {
    device.shared_memory_per_block = of_block * 1024;
    device.shared_memory_per_multiprocessor = of_multiprocessor * 1024;
    device.reserved_shared_memory_per_block = 1024;
    for (int const bytes : {4, 8, 16}) {
      SCOPED_TRACE(testing::Message() << of_block << " KiB, elements of " << bytes << " bytes");
      TridiagonalPanel const c = tridiagonal_panel_plan(bytes, device.shared_memory_per_block);
      int const blocks = tridiagonal_panel_blocks(c, bytes, device), held = tridiagonal_held_tiles(c, bytes, device);
      EXPECT_LE(c.shared_bytes(bytes, held), device.shared_memory_per_block);
      EXPECT_LE(blocks * (c.shared_bytes(bytes, held) + 1024), device.shared_memory_per_multiprocessor);
      EXPECT_EQ(c.width, tridiagonal_update_plan(bytes, device.shared_memory_per_block).width);
      EXPECT_LE(TridiagonalUpdate{.width = c.width}.shared_bytes(bytes), device.shared_memory_per_block);
      EXPECT_TRUE(of_block < 227 || (c == tridiagonal_panel_plan(bytes) && blocks == 2 && held > 0));
    }
  }
}
/// Groups for every batch: large enough for the matrix, all resident at once, and with the fewest turns.
TEST(TridiagonalGroups, OfBatches) {
  TridiagonalResident const c = tridiagonal_resident_plan();
  int const shared_bytes = most_shared_bytes;
  for (int const bytes : {4, 8, 16})
    for (int const multiprocessors : {1, 132})
      for (int const n : {10, 256, 512, tridiagonal_resident_rows(c, bytes, multiprocessors, shared_bytes)}) {
        if (n > tridiagonal_resident_rows(c, bytes, multiprocessors, shared_bytes)) continue;
        TridiagonalGroups const most = tridiagonal_groups(c, bytes, n, 1 << 20, multiprocessors, shared_bytes);
        EXPECT_TRUE(most.blocks == 1 || c.elements(n, multiprocessors / (most.count + 1)) * bytes > shared_bytes);
        for (int const count : {1, 2, 20, 44, 45, 1000}) {
          TridiagonalGroups const groups = tridiagonal_groups(c, bytes, n, count, multiprocessors, shared_bytes);
          EXPECT_LE(groups.count * groups.blocks, multiprocessors);
          EXPECT_LE(groups.count, count);
          EXPECT_LE(c.elements(n, groups.blocks) * bytes, shared_bytes);
          EXPECT_EQ((count + groups.count - 1) / groups.count, (count + most.count - 1) / most.count);
        }
      }
  EXPECT_EQ(tridiagonal_groups(c, 8, 256, 20, 132, shared_bytes).blocks, 6);
}
TYPED_TEST(Tridiagonal, InBlocks) {
  using T = TypeParam;
  for (bool const lower : {true, false})
    for (Layout const layout : {Layout::packed_columns, Layout::packed_rows, Layout::interleaved})
      for (int const n : sanitized ? std::vector{1, 2, 40} : std::vector{1, 2, 3, 17, 32, 40}) {
        SCOPED_TRACE(testing::Message() << n << " rows, layout " << static_cast<int>(layout) << (lower ? ", lower" : ", upper"));
        bool const ragged = n == 40 && layout != Layout::interleaved;
        Problem<T> problem(n, 3, ragged ? ragged_layout(layout) : layout, ragged, lower, random_element<T>);
        problem.template reduce_in_blocks<40>();
        problem.check();
      }
}
/// The largest matrix of a kernel, and one that is a little smaller.
template <typename T, int... numbers>
void reduce_largest(std::integer_sequence<int, numbers...>) {
  auto const reduce = [&]<int number>() {
    constexpr auto blocks = tridiagonal_blocks(sizeof(T), is_complex<T>);
    if constexpr (number < static_cast<int>(blocks.size())) {
      constexpr int n = blocks[number].rows();
      Problem<T> problem(n, 1, Layout::packed_columns, false, number % 2 == 0, random_element<T>),
          smaller(n - 3, 1, Layout::columns, false, number % 2 == 1, random_element<T>);
      for (Problem<T>* const which : {&problem, &smaller}) {
        SCOPED_TRACE(which->a.view.rows);
        which->template reduce_in_blocks<n, true>();
        which->check();
      }
    }
  };
  (reduce.template operator()<numbers>(), ...);
}
TYPED_TEST(Tridiagonal, LargestOfBlocks) {
  if (sanitized) GTEST_SKIP() << "the same code as of smaller blocks";
  reduce_largest<TypeParam>(kernel_sizes<2, 3, 4, 5, 6, 7>());
}
/// Zero, diagonal, tridiagonal already, constant, and elements near the ends of the range.
TYPED_TEST(Tridiagonal, SpecialMatrices) {
  using T = TypeParam;
  using R = Real<T>;
  R const huge = std::numeric_limits<R>::max() / 64, tiny = std::numeric_limits<R>::min() * 64;
  for (int const kind : sanitized ? std::vector{0, 4} : std::vector{0, 1, 2, 3, 4, 5}) {
    SCOPED_TRACE(kind);
    auto const element = [&](std::int64_t b, std::int64_t i, std::int64_t j) {
      switch (kind) {
        case 0:
          return T(0);
        case 1:
          return i == j ? T(R(i)) : T(0);
        case 2:
          return i - j < 2 ? T(R(1 + i)) : T(0);
        case 3:
          return T(1);
        case 4:
          return huge / 8 * random_element<T>(b, i, j);
        default:
          return tiny * random_element<T>(b, i, j);
      }
    };
    Problem<T> by_panels(20, 1, Layout::packed_columns, false, true, element),
        in_blocks(20, 1, Layout::packed_columns, false, true, element);
    by_panels.reduce_by_panels(2, 12);
    in_blocks.template reduce_in_blocks<20>();
    if (kind < 4) {
      by_panels.check();
      in_blocks.check();
    }
    for (std::size_t k = 0; k < 20; ++k) {
      ASSERT_TRUE(std::isfinite(by_panels.d[k]) && std::isfinite(in_blocks.d[k])) << k;
      ASSERT_TRUE(std::isfinite(by_panels.e[k]) && std::isfinite(in_blocks.e[k])) << k;  // the last one is not touched
    }
    if (kind >= 4) {
      R largest = 0;
      for (R const x : by_panels.d) largest = std::max(largest, std::abs(x));
      EXPECT_GT(largest, kind == 4 ? huge / 64 : tiny / 64);
    }
  }
}
/// NaN or infinity anywhere in the triangle: all results of the matrix are NaN, and its neighbours are right.
TYPED_TEST(Tridiagonal, NotANumber) {
  using T = TypeParam;
  using R = Real<T>;
  for (bool const by_panels : {true, false}) {
    auto const element = [&](std::int64_t b, std::int64_t i, std::int64_t j) {
      return b == 1 && i == 15 && j == 7 ? T(by_panels ? nan_of<T> : std::numeric_limits<R>::infinity()) : random_element<T>(b, i, j);
    };
    Problem<T> problem(20, 3, Layout::packed_columns, false, true, element);
    if (by_panels)
      problem.reduce_by_panels(2, 12);
    else
      problem.template reduce_in_blocks<20>();
    for (std::size_t k = 0; k < 20; ++k) {
      EXPECT_FALSE(std::isnan(problem.d[k]) || std::isnan(problem.d[40 + k]));
      EXPECT_TRUE(std::isnan(problem.d[20 + k]));
      EXPECT_EQ(k + 1 < 20, std::isnan(problem.e[20 + k]) && std::isnan(std::real(problem.tau[20 + k])));
    }
  }
}

}  // namespace
}  // namespace myriad
