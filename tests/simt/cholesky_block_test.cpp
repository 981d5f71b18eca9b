/// Cholesky beyond 32 rows on the host twin, within a block and by blocks, against the CPU library: every layout, both triangles,
/// conjugated views, ragged batches, matrices that are not positive definite; nothing else is touched.

#include "cholesky/cholesky_block.cuh"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <vector>

#include "blocked/by_sizes.cuh"
#include "blocked/by_sizes.hpp"
#include "blocked/copy_matrices.cuh"
#include "cholesky/cholesky_blocked.hpp"
#include "myriad/myriad.hpp"
#include "simt_host/machine.hpp"
#include "sizes.hpp"
#include "stored.hpp"

namespace myriad {
namespace {

template <typename T>
constexpr Real<T> nan_of = std::numeric_limits<Real<T>>::quiet_NaN();

Queue& cpu_queue() {
  static Queue queue({.backend = Backend::cpu, .threads = 1});
  return queue;
}

template <typename T>
HostMachine machine_with_kernels(int shared_kib = 227, int multiprocessors = 1) {
  using D = gpu::DeviceElement<T>;
  HostMachine machine;
  machine.device().shared_memory_per_block = shared_kib << 10;
  machine.device().multiprocessors = multiprocessors;  // with one no block is lone
  auto const add = [&]<CholeskyBlock c> { machine.add(gpu::source_of(cholesky_block_kernel, dtype_of<T>, c), cholesky_block<D, c>); };
  add.template operator()<cholesky_block_plan(sizeof(T), 33, Lines::columns)>();
  add.template operator()<cholesky_block_plan(sizeof(T), 33, Lines::rows)>();
  add.template operator()<cholesky_block_plan(sizeof(T), 64, Lines::columns)>();
  add.template operator()<cholesky_block_plan(sizeof(T), 64, Lines::rows)>();
  add.template operator()<cholesky_block_plan(sizeof(T), 128, Lines::columns)>();
  add.template operator()<cholesky_block_plan(sizeof(T), 128, Lines::rows)>();
  add.template operator()<cholesky_block_plan(sizeof(T), 129, Lines::columns)>();
  add.template operator()<cholesky_block_plan(sizeof(T), 129, Lines::rows)>();
  add.template operator()<cholesky_block_ahead(Lines::columns)>();
  add.template operator()<cholesky_block_ahead(Lines::rows)>();
  machine.add(gpu::source_of(copy_matrices_kernel, dtype_of<T>), copy_matrices<D>);
  machine.add(gpu::source_of(select_sizes_kernel, dtype_of<T>), select_sizes<D>);
  machine.add(gpu::source_of(select_info_kernel, dtype_of<T>), select_info<D>);
  return machine;
}

/// Parameters of a test.
struct Wanted {
  int n, nrhs;
  std::int64_t count;
  Layout layout;
  bool ragged, upper, conjugated;
  bool some_fail = false;  ///< matrices 1 and 2 have a negative, NaN or zero pivot
};
std::ostream& operator<<(std::ostream& out, Wanted const& w) {
  return out << w.n << " rows, " << w.nrhs << " right-hand sides, layout " << static_cast<int>(w.layout) << (w.ragged ? ", ragged" : "")
             << (w.upper ? ", upper" : "") << (w.conjugated ? ", conjugated" : "");
}

enum class Routine { potrf, potrs, posv, solve, potri };

template <typename T>
struct Problem {
  Wanted wanted;
  Stored<T> a, b, x;
  std::vector<std::int64_t> sizes, others;
  std::vector<int> info, expected_info;
  std::vector<T> a_before, b_before, x_before;
  static constexpr T mark = T(Real<T>(-77));

  explicit Problem(Wanted const& w, Routine routine)
      : wanted(w),
        a(w.n, w.n, w.count, w.layout),
        b(w.n, w.nrhs, w.count, w.layout),
        x(w.n, w.nrhs, w.count, w.layout),
        info(static_cast<std::size_t>(w.count), -5),
        expected_info(info) {
    for (std::int64_t q = 0; q < w.count; ++q) {
      sizes.push_back(w.ragged && q > 0 ? (q * 37 + 1) % (w.n + 1) : w.n);
      others.push_back(w.ragged && q > 0 ? (q * 5 + 2) % (w.nrhs + 1) : w.nrhs);
    }
    if (w.ragged) {
      a.view.row_sizes = a.view.col_sizes = b.view.row_sizes = x.view.row_sizes = sizes.data();
      b.view.col_sizes = x.view.col_sizes = others.data();
    }
    fill(b.memory, 5);
    std::fill(a.memory.begin(), a.memory.end(), T(nan_of<T>));
    std::fill(x.memory.begin(), x.memory.end(), mark);
    bool const factored = routine == Routine::potrs || routine == Routine::potri;
    for (std::int64_t q = 0; q < w.count; ++q) fill_matrix(q, factored);
    if (w.conjugated) a.view = conjugated(a.view), x.view = conjugated(x.view);
    a_before = a.memory;
    b_before = b.memory;
    x_before = x.memory;
  }
  Problem(Problem const&) = delete;

  [[nodiscard]] Uplo uplo() const { return wanted.upper ? Uplo::upper : Uplo::lower; }
  /// Element (i, j) of the lower triangle.
  [[nodiscard]] T* at(std::int64_t q, std::int64_t i, std::int64_t j) { return wanted.upper ? a.view.at(q, j, i) : a.view.at(q, i, j); }

  /// Numbers near 1 / sqrt(n) with a diagonal of 2, or a factor.
  void fill_matrix(std::int64_t q, bool factored) {
    std::int64_t const n = a.view.rows_of(q);
    std::vector<T> random(static_cast<std::size_t>(n * n + 1));
    fill(random, static_cast<unsigned>(q + 3));
    auto const scale = Real<T>(0.25) / std::sqrt(static_cast<Real<T>>(n + 1));
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = j; i < n; ++i) *at(q, i, j) = scale * random[static_cast<std::size_t>(i + j * n)];
    for (std::int64_t i = 0; i < n; ++i) {
      *at(q, i, i) = T(2 + static_cast<Real<T>>(i % 3));
      if constexpr (is_complex<T>)
        if (!factored) *at(q, i, i) = T(2 + static_cast<Real<T>>(i % 3), nan_of<T>);  // the imaginary part is ignored
    }
    if (!wanted.some_fail || n < 20 || (q != 1 && q != 2)) return;
    std::int64_t const bad = q == 1 ? n - 3 : n / 2;
    *at(q, bad, bad) = T(q == 2 && !factored ? nan_of<T> : factored ? 0 : -1);
  }

  static Batch<T> moved(Batch<T> view, std::vector<T>& from, std::vector<T>& to) {
    view.data = to.data() + (view.data - from.data());
    return view;
  }
  template <typename U>
  Batch<U> lower_of(Batch<U> view) const {
    if (wanted.upper) view = transposed(view);
    view.conjugated = false;
    return view;
  }
  template <typename U>
  Batch<U> beside(Batch<U> view) const {
    return wanted.upper != a.view.conjugated ? conjugated(view) : view;
  }

  void run(HostMachine& machine, Routine routine) {
    Batch<T> const lower = lower_of(a.view);
    Batch<T const> const in_b = b.view;
    switch (routine) {
      case Routine::potrf:
        return potrf_blocked(machine, PotrfTask<T>{.a = lower, .info = info.data()});
      case Routine::potri:
        return potri_blocked(machine, PotrfTask<T>{.a = lower, .info = info.data()});
      case Routine::potrs:
        return potrs_blocked(machine, PotrsTask<T>{.a = lower, .b = beside(b.view)});
      case Routine::posv:
        return posv_blocked(
            machine,
            PosvTask<T>{
                .a = lower, .b = beside(in_b), .x = beside(b.view), .factor = lower, .info = info.data(), .nan_where_not_definite = false});
      case Routine::solve:
        return posv_blocked(
            machine,
            PosvTask<T>{
                .a = lower, .b = beside(in_b), .x = beside(x.view), .factor = {}, .info = info.data(), .nan_where_not_definite = true});
    }
  }

  /// Compares with the CPU library's factors and solutions of copies.
  void expect(Routine routine) {
    std::vector<T> a_wanted = a_before, b_wanted = b_before, x_wanted = x_before;
    Batch<T> const of_a = moved(a.view, a.memory, a_wanted), of_b = moved(b.view, b.memory, b_wanted),
                   of_x = moved(x.view, x.memory, x_wanted);
    bool const has_info = routine != Routine::potrs;
    switch (routine) {
      case Routine::potrf:
        potrf(cpu_queue(), uplo(), of_a, expected_info.data());
        break;
      case Routine::potri:
        potri(cpu_queue(), uplo(), of_a, expected_info.data());
        break;
      case Routine::potrs:
        potrs<T>(cpu_queue(), uplo(), of_a, of_b);
        break;
      case Routine::posv:
        posv(cpu_queue(), uplo(), of_a, of_b, expected_info.data());
        break;
      case Routine::solve:
        solve_positive_definite<T>(cpu_queue(), uplo(), of_a, of_b, of_x, expected_info.data());
        break;
    }
    if (has_info) {
      EXPECT_EQ(info, expected_info);
    }
    // Unspecified elements are not compared.
    if (routine == Routine::potrf || routine == Routine::posv)
      for (std::int64_t q = 0; q < wanted.count; ++q)
        for (std::int64_t j = 0; j < a.view.rows_of(q) && expected_info[static_cast<std::size_t>(q)] != 0; ++j)
          for (std::int64_t i = j; i < a.view.rows_of(q); ++i) {
            T* const now = at(q, i, j);
            a_wanted[static_cast<std::size_t>(now - a.memory.data())] = *now;
          }
    close(a.memory, a_wanted, a_before, "A");
    close(b.memory, b_wanted, b_before, "B");
    close(x.memory, x_wanted, x_before, "X");
  }

  /// Elements that the CPU library did not write must keep their bits; the others must have nearly the same values. Singular factors make
  /// infinity or NaN, by the order of the operations.
  void close(std::vector<T> const& now, std::vector<T> const& right, std::vector<T> const& before, char const* name) {
    double const tolerance = 30 * std::numeric_limits<Real<T>>::epsilon() * wanted.n;
    auto const is_nan = [](T v) { return std::isnan(std::abs(v)); };
    auto const is_finite = [](T v) { return std::isfinite(std::abs(v)); };
    for (std::size_t i = 0; i < now.size(); ++i) {
      if (std::memcmp(&now[i], &right[i], sizeof(T)) == 0 || (!is_finite(right[i]) && !is_finite(now[i]) && !is_nan(before[i]))) continue;
      ASSERT_NE(std::memcmp(&right[i], &before[i], sizeof(T)), 0) << name << ": element " << i << " was written";
      ASSERT_LE(std::abs(now[i] - right[i]), tolerance * std::max(1.0, static_cast<double>(std::abs(right[i]))))
          << name << ": element " << i;
    }
  }
};

template <typename T>
class CholeskyBlockTest : public testing::Test {};
using Types = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(CholeskyBlockTest, Types);

/// Whether the kernel of lone blocks was launched.
template <typename T>
bool has_lone_blocks(HostMachine const& machine) {
  return std::ranges::any_of(std::array{Lines::columns, Lines::rows}, [&](Lines lines) {
    return machine.launches().contains(gpu::source_of(cholesky_block_kernel, dtype_of<T>, cholesky_block_ahead(lines)).name);
  });
}

/// Layouts and triangles take turns.
template <typename T>
void check(Routine routine, Wanted w, int turn, int shared_kib = 227, int multiprocessors = 1) {
  w.layout = layouts[static_cast<std::size_t>(turn) % layouts.size()];
  if (w.ragged) w.layout = ragged_layout(w.layout == Layout::interleaved ? Layout::columns : w.layout);
  w.upper = turn % 2 == 1;
  w.conjugated = is_complex<T> && turn % 3 == 1;
  SCOPED_TRACE(testing::Message() << w << ", routine " << static_cast<int>(routine));
  HostMachine machine = machine_with_kernels<T>(shared_kib, multiprocessors);
  Problem<T> problem(w, routine);
  problem.run(machine, routine);
  problem.expect(routine);
  EXPECT_EQ(has_lone_blocks<T>(machine), multiprocessors > 1);
}

constexpr std::array routines{Routine::potrf, Routine::potrs, Routine::posv, Routine::solve, Routine::potri};

TYPED_TEST(CholeskyBlockTest, Factor) {
  int turn = 0;
  for (int const n : sanitized ? std::vector{33, 66} : std::vector{33, 40, 41, 63, 64, 65, 128, 129})
    for (int repeat = 0; repeat < (n < 64 && !sanitized ? 4 : 2); ++repeat)
      check<TypeParam>(Routine::potrf,
                       {.n = n, .nrhs = 1, .count = n < 64 ? 4 : 1, .layout = {}, .ragged = false, .upper = {}, .conjugated = {}}, ++turn);
}
TYPED_TEST(CholeskyBlockTest, EveryRoutine) {
  int turn = 0;
  for (int const n : sanitized ? std::vector{35} : std::vector{33, 70})
    for (Routine const routine : routines)
      for (int repeat = 0; repeat < (sanitized ? 2 : 4); ++repeat)
        check<TypeParam>(routine,
                         {.n = n,
                          .nrhs = repeat % 3 == 2 ? 9 : 2 * repeat + 1,
                          .count = 4,
                          .layout = {},
                          .ragged = false,
                          .upper = {},
                          .conjugated = {},
                          .some_fail = repeat % 2 == 0},
                         ++turn);
}
TYPED_TEST(CholeskyBlockTest, Ragged) {
  int turn = 0;
  for (Routine const routine : routines)
    for (int repeat = 0; repeat < (sanitized ? 1 : 3); ++repeat)
      check<TypeParam>(
          routine, {.n = 50, .nrhs = 4, .count = 6, .layout = {}, .ragged = true, .upper = {}, .conjugated = {}, .some_fail = repeat == 1},
          ++turn);
}
/// Few matrices, in lone blocks (see cholesky_ahead_test.cpp): a posv, a potrf of more rows than a block holds, a ragged batch.
TYPED_TEST(CholeskyBlockTest, LoneBlocks) {
  constexpr int multiprocessors = 4;
  Wanted const w{.n = 70, .nrhs = 3, .count = 2, .layout = {}, .ragged = false, .upper = {}, .conjugated = {}, .some_fail = true};
  check<TypeParam>(Routine::posv, w, 1, 227, multiprocessors);
  Wanted by_panels = w;
  by_panels.n = 140;
  check<TypeParam>(Routine::potrf, by_panels, 2, sizeof(TypeParam) == 4 ? 56 : 88, multiprocessors);
  Wanted ragged = w;
  ragged.n = 37, ragged.ragged = true;  // and none
  check<TypeParam>(Routine::solve, ragged, 3, 227, multiprocessors);
}
/// More rows than a block holds: one to three diagonal blocks, and part of one.
TYPED_TEST(CholeskyBlockTest, ByBlocks) {
  int turn = 0;
  for (Routine const routine : routines)
    for (bool const ragged : {false, true}) {
      if (sanitized && ragged != (turn % 2 == 0)) continue;
      check<TypeParam>(routine,
                       {.n = ragged ? 150 : 140,
                        .nrhs = 2,
                        .count = 3,
                        .layout = {},
                        .ragged = ragged,
                        .upper = {},
                        .conjugated = {},
                        .some_fail = true},
                       ++turn, sizeof(TypeParam) == 4 ? 56 : 88);
    }
}
/// Runs each size class of a ragged batch separately, so that a matrix has the bits that it has alone. All infos are set in the end.
TYPED_TEST(CholeskyBlockTest, RaggedByClassesOfSizes) {
  using T = TypeParam;
  constexpr int kib = sizeof(T) == 4 ? 56 : 88;
  HostMachine machine = machine_with_kernels<T>(kib);
  Wanted w{.n = 140,
           .nrhs = 2,
           .count = 5,
           .layout = Layout::ragged_rows,
           .ragged = false,
           .upper = true,
           .conjugated = false,
           .some_fail = true};
  Problem<T> whole(w, Routine::posv);
  std::vector<std::int64_t> const sizes{20, 41, 140, 0, 44}, columns{2, 1, 2, 2, 0};
  whole.a.view.row_sizes = whole.a.view.col_sizes = whole.b.view.row_sizes = sizes.data();
  whole.b.view.col_sizes = columns.data();
  *whole.at(1, 30, 30) = T(-1);
  Problem<T> apart(w, Routine::posv);
  apart.a.memory = whole.a.memory, apart.b.memory = whole.b.memory;
  Batch<T> const a = whole.lower_of(whole.a.view), b = whole.beside(whole.b.view);
  std::vector<std::int64_t> bounds;
  by_sizes<T>(machine, a, b, cholesky_limits<T>(machine.device()), whole.info.data(), [&](SizeClass const& some) {
    bounds.push_back(some.upto);
    posv_blocked(machine, PosvTask<T>{.a = some.of_a(a),
                                      .b = some.of_b(b),
                                      .x = some.of_b(b),
                                      .factor = some.of_a(a),
                                      .info = some.info,
                                      .nan_where_not_definite = false});
  });
  std::vector<std::int64_t> expected{32, cholesky_block_largest<T>(machine.device()), 140};
  if (std::is_same_v<T, double>) expected.insert(expected.end() - 1, 128);
  EXPECT_EQ(bounds, expected);
  for (std::int64_t q = 0; q < 5; ++q) {
    std::int64_t const n = sizes[static_cast<std::size_t>(q)], nrhs = columns[static_cast<std::size_t>(q)];
    if (n == 0) continue;
    auto const alone = [&](Batch<T> batch, std::int64_t rows, std::int64_t cols) {
      batch = matrices(batch, q, 1);
      batch.rows = rows, batch.cols = cols;
      batch.row_sizes = batch.col_sizes = nullptr;
      return batch;
    };
    Batch<T> const one = alone(apart.lower_of(apart.a.view), n, n), right = alone(apart.beside(apart.b.view), n, nrhs);
    posv_blocked(
        machine,
        PosvTask<T>{.a = one, .b = right, .x = right, .factor = one, .info = apart.info.data() + q, .nan_where_not_definite = false});
  }
  apart.info[3] = 0;
  EXPECT_EQ(whole.info, apart.info);
  EXPECT_EQ(whole.info, (std::vector<int>{0, 31, 71, 0, 0}));
  EXPECT_EQ(std::memcmp(whole.a.memory.data(), apart.a.memory.data(), whole.a.memory.size() * sizeof(T)), 0);
  EXPECT_EQ(std::memcmp(whole.b.memory.data(), apart.b.memory.data(), whole.b.memory.size() * sizeof(T)), 0);
}
/// The same bits alone, among others, and with more threads.
TYPED_TEST(CholeskyBlockTest, SameBitsWhateverTheBatch) {
  using T = TypeParam;
  Wanted w{.n = 60, .nrhs = 1, .count = 1, .layout = Layout::packed_columns, .ragged = false, .upper = false, .conjugated = false};
  HostMachine machine = machine_with_kernels<T>();
  Problem<T> alone(w, Routine::potrf);
  alone.run(machine, Routine::potrf);
  w.n = 130;
  w.count = 5;
  Problem<T> among(w, Routine::potrf);
  std::vector<std::int64_t> sizes{130, 7, 0, 60, 33};
  among.a.view.row_sizes = among.a.view.col_sizes = sizes.data();
  for (int j = 0; j < 60; ++j)
    for (int i = 0; i < 60; ++i) *among.a.view.at(3, i, j) = alone.a_before[static_cast<std::size_t>(i + 60 * j)];
  among.run(machine, Routine::potrf);
  for (int j = 0; j < 60; ++j)
    for (int i = j; i < 60; ++i) EXPECT_EQ(std::memcmp(among.a.view.at(3, i, j), alone.a.view.at(0, i, j), sizeof(T)), 0) << i << ", " << j;
  EXPECT_EQ(among.info, std::vector<int>(5, 0));
}
TYPED_TEST(CholeskyBlockTest, DiagonalBlocksFitEveryGpu) {
  using T = TypeParam;
  for (int const rows : {128, 129})
    EXPECT_LE(cholesky_blocked_rows(sizeof(T), is_complex<T>, rows), cholesky_block_largest(sizeof(T), is_complex<T>, 99 << 10));
  for (int n = 1; n <= cholesky_block_largest(sizeof(T), is_complex<T>, 227 << 10); ++n) {
    CholeskyBlock const c = cholesky_block_plan(sizeof(T), n, Lines::columns);
    EXPECT_LE(c.threads() * c.blocks_per_sm, 65536 / (sizeof(T) == 16 ? 255 : 128)) << n;
  }
}
/// Pivots at the ends of the range, an infinite pivot, and an infinite element.
TYPED_TEST(CholeskyBlockTest, EndsOfTheRange) {
  using T = TypeParam;
  using R = Real<T>;
  HostMachine machine = machine_with_kernels<T>();
  for (R const scale : {std::ldexp(R(1), sizeof(R) == 4 ? -140 : -1060), std::ldexp(R(1), sizeof(R) == 4 ? 120 : 1010), R(1)}) {
    Wanted const w{.n = 34, .nrhs = 1, .count = 2, .layout = Layout::packed_columns, .ragged = false, .upper = false, .conjugated = false};
    Problem<T> problem(w, Routine::potrf);
    for (int j = 0; j < w.n; ++j)
      for (int i = j; i < w.n; ++i)
        for (int q = 0; q < 2; ++q) *problem.a.view.at(q, i, j) = i == j ? T(4 * scale) : T(0);
    if (scale == R(1)) {
      *problem.a.view.at(0, 9, 9) = std::numeric_limits<R>::infinity();
      *problem.a.view.at(1, 20, 4) = std::numeric_limits<R>::infinity();
    }
    problem.run(machine, Routine::potrf);
    EXPECT_EQ(problem.info, (scale == R(1) ? std::vector<int>{0, 21} : std::vector<int>{0, 0}));
    if (scale != R(1))
      for (int i = 0; i < w.n; ++i) {
        R const root = 2 * std::sqrt(scale);
        EXPECT_NEAR(std::real(*problem.a.view.at(0, i, i)), root, 4 * std::numeric_limits<R>::epsilon() * root);
      }
  }
}

}  // namespace
}  // namespace myriad
