/// LU of matrices of more than 32 rows on the host twin: factors, pivots and info against the CPU library's and the definition; solves,
/// inverses and determinants; every shape and layout, ragged batches, singular matrices and NaN; nothing else is touched.

#include "lu/blocked/lu_blocked.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "blocked/by_sizes.cuh"
#include "blocked/copy_matrices.cuh"
#include "blocked/diagonal_sizes.cuh"
#include "lu/block/lu_block.cuh"
#include "lu/block/lu_rows.cuh"
#include "lu/block/lu_warps.cuh"
#include "lu/blocked/lu_determinant.cuh"
#include "lu/blocked/lu_swap_rows.cuh"
#include "lu/blocked/lu_tall.cuh"
#include "lu/lu_tiny.cuh"
#include "lu/lu_tiny_plan.hpp"
#include "myriad/myriad.hpp"
#include "simt_host/machine.hpp"
#include "sizes.hpp"
#include "stored.hpp"

namespace myriad {
namespace {

Queue& cpu_queue() {
  static Queue queue({.backend = Backend::cpu, .threads = 1});
  return queue;
}

template <typename T, std::int64_t m, std::int64_t n>
void add_block(HostMachine& machine) {
  constexpr LuBlock c = lu_block_plan(sizeof(T), is_complex<T>, m, n);
  machine.add(gpu::source_of(lu_block_kernel, dtype_of<T>, c), lu_block<gpu::DeviceElement<T>, c>);
}
template <typename T, std::int64_t n>
void add_rows(HostMachine& machine) {
  constexpr LuRows c = lu_rows_plan(sizeof(T), is_complex<T>, n);
  machine.add(gpu::source_of(lu_rows_kernel, dtype_of<T>, c), lu_rows<gpu::DeviceElement<T>, c>);
}
template <typename T, std::size_t... q>
void add_warps(HostMachine& machine, std::index_sequence<q...>) {
  [[maybe_unused]] constexpr LuWarpsKernels kernels = lu_warps_kernels(sizeof(T), is_complex<T>);
  (machine.add(gpu::source_of(lu_warps_kernel, dtype_of<T>, kernels.all[q]), lu_warps<gpu::DeviceElement<T>, kernels.all[q]>), ...);
}
/// A twin whose blocks have `shared_bytes` of shared memory.
template <typename T>
HostMachine machine_with(std::int64_t shared_bytes) {
  using D = gpu::DeviceElement<T>;
  HostMachine machine;
  machine.device().shared_memory_per_block = static_cast<int>(shared_bytes);
  add_block<T, 64, 64>(machine);
  add_block<T, 1024, 8>(machine);
  add_rows<T, 64>(machine);
  add_rows<T, 128>(machine);
  add_rows<T, 256>(machine);
  add_rows<T, 512>(machine);
  add_warps<T>(machine, std::make_index_sequence<lu_warps_kernels(sizeof(T), is_complex<T>).count>());
  constexpr LuTall tall = lu_tall_plan(sizeof(T));
  machine.add(gpu::source_of(lu_tall_kernel, dtype_of<T>, tall), lu_tall<D, tall>);
  machine.add(gpu::source_of(lu_swap_rows_kernel, dtype_of<T>), lu_swap_rows<D>);
  machine.add(gpu::source_of(copy_matrices_kernel, dtype_of<T>), copy_matrices<D>);
  machine.add(gpu::source_of(select_sizes_kernel, dtype_of<T>), select_sizes<D>);
  machine.add(gpu::source_of(select_info_kernel, dtype_of<T>), select_info<D>);
  machine.add(gpu::source_of(diagonal_sizes_kernel, dtype_of<T>), diagonal_sizes<D>);
  machine.add(gpu::source_of(lu_determinant_kernel, dtype_of<T>), lu_determinant<D>);
  return machine;
}
/// Shared memory: all, enough for panels of 32 and of 8 columns, and none for a panel.
constexpr std::int64_t all_shared = 227 << 10, some_shared = 20 << 10, little_shared = 9 << 10, no_shared = 1 << 10;

struct Wanted {
  int m, n;
  Layout layout = Layout::packed_columns;
  std::int64_t shared = all_shared;
  bool ragged = false, conjugated = false, pivoting = true;
};
std::ostream& operator<<(std::ostream& out, Wanted const& w) {
  return out << w.m << " by " << w.n << ", layout " << static_cast<int>(w.layout) << ", " << w.shared << " bytes"
             << (w.ragged ? ", ragged" : "") << (w.conjugated ? ", conjugated" : "") << (w.pivoting ? "" : ", without pivoting");
}

/// Element (i, j) of matrix q of a view.
template <typename T>
T element(Batch<T> const& x, std::int64_t q, std::int64_t i, std::int64_t j) {
  T const value = *x.at(q, i, j);
  if constexpr (is_complex<T>)
    return x.conjugated ? std::conj(value) : value;
  else
    return value;
}

/// A batch with a copy of its initial contents.
template <typename T>
struct Kept {
  Stored<T> stored;
  std::vector<std::int64_t> row_sizes, col_sizes;
  std::vector<T> before;
  Batch<T> view;

  Kept(int m, int n, std::int64_t count, Wanted const& w, unsigned seed) : stored(m, n, count, w.layout), view(stored.view) {
    fill(stored.memory, seed);
    view.conjugated = w.conjugated && is_complex<T>;
  }
  void keep() { before = stored.memory; }
  /// The view of the initial contents.
  [[nodiscard]] Batch<T> former() {
    Batch<T> out = view;
    out.data = before.data() + (view.data - stored.memory.data());
    return out;
  }
  /// Checks that only elements of the view were written, and none of matrices that are `spared`.
  template <typename Spared>
  void check_rest(Spared spared) {
    std::vector<T> expected = before;
    for (std::int64_t q = 0; q < view.count; ++q)
      for (std::int64_t j = 0; j < view.cols_of(q); ++j)
        for (std::int64_t i = 0; i < view.rows_of(q); ++i)
          if (!spared(q)) expected[static_cast<std::size_t>(view.at(q, i, j) - stored.memory.data())] = *view.at(q, i, j);
    EXPECT_EQ(std::memcmp(expected.data(), stored.memory.data(), expected.size() * sizeof(T)), 0) << "something else was written";
  }
  void check_rest() {
    check_rest([](std::int64_t) { return false; });
  }
};

constexpr std::int64_t matrices_of_test = 5;
constexpr std::int64_t singular = 1, tied = 2, not_a_number = 3;

/// A batch with a singular matrix (column 5 is zero), one with ties and one with NaN. Ragged sizes go from none to all.
template <typename T>
Kept<T> matrices_for(Wanted const& w) {
  Kept<T> a(w.m, w.n, matrices_of_test, w, static_cast<unsigned>(w.m + 3 * w.n));
  if (w.ragged) {
    bool const square = w.m == w.n;
    a.row_sizes = {w.m, w.m, w.m - 3, w.m, 0};
    a.col_sizes = square ? a.row_sizes : std::vector<std::int64_t>{w.n, w.n / 2 + 3, w.n, w.n - 1, w.n};
    if (square) a.row_sizes[0] = a.col_sizes[0] = w.m / 2;
    a.view.row_sizes = a.row_sizes.data();
    a.view.col_sizes = a.col_sizes.data();
  }
  Batch<T> const& v = a.view;
  if (!w.pivoting)
    for (std::int64_t q = 0; q < v.count; ++q)
      for (std::int64_t i = 0; i < std::min(v.rows_of(q), v.cols_of(q)); ++i) *v.at(q, i, i) += T(30);
  for (std::int64_t i = 0; i < v.rows_of(singular) && w.pivoting; ++i) *v.at(singular, i, 5) = T(0);
  for (std::int64_t j = 0; j < v.cols_of(tied) && w.pivoting; ++j)
    for (std::int64_t i = 0; i < v.rows_of(tied); ++i) *v.at(tied, i, j) = T(((i * 73856093) ^ (j * 19349663)) % 13 < 6 ? -1 : 1);
  if (v.rows_of(not_a_number) > 7) *v.at(not_a_number, 7, 4) = T(std::numeric_limits<Real<T>>::quiet_NaN());
  a.keep();
  return a;
}

template <typename T>
double size_of(T x) {
  return static_cast<double>(std::abs(x));
}
template <typename T>
constexpr double unit = sizeof(Real<T>) == 4 ? 0x1p-24 : 0x1p-53;

/// The CPU's pivots and info.
template <typename T>
struct Expected {
  std::vector<int> pivots, info;
  explicit Expected(Batch<T> const& a, bool pivoting = true)
      : pivots(static_cast<std::size_t>(std::min(a.rows, a.cols) * a.count)), info(static_cast<std::size_t>(a.count)) {
    std::vector<T> copy(static_cast<std::size_t>(a.rows * a.cols * a.count));
    Batch<T> lu = batch(copy.data(), a.rows, a.cols, {.count = a.count});
    lu.row_sizes = a.row_sizes, lu.col_sizes = a.col_sizes;
    for (std::int64_t q = 0; q < a.count; ++q)
      for (std::int64_t j = 0; j < a.cols_of(q); ++j)
        for (std::int64_t i = 0; i < a.rows_of(q); ++i) *lu.at(q, i, j) = *a.at(q, i, j);
    if (pivoting)
      getrf<T>(cpu_queue(), lu, vectors(pivots.data(), std::min(a.rows, a.cols), a.count), info.data());
    else
      getrf_nopiv<T>(cpu_queue(), lu, info.data());
  }
};

template <typename T>
void check_factors(Wanted const& w) {
  SCOPED_TRACE(testing::Message() << w);
  Kept<T> a = matrices_for<T>(w);
  std::int64_t const steps = std::min(w.m, w.n), count = a.view.count;
  std::vector<int> pivots(static_cast<std::size_t>(steps * count), -7), info(static_cast<std::size_t>(count), -7);
  HostMachine machine = machine_with<T>(w.shared);
  LuOnMachine<T, HostMachine>(machine).getrf({.a = a.view,
                                              .pivots = w.pivoting ? vectors(pivots.data(), steps, count) : Batch<int>{},
                                              .info = info.data(),
                                              .pivoting = w.pivoting});
  Batch<T> const was = a.former(), lu = a.view;
  Expected<T> const expected(was, w.pivoting);
  for (std::int64_t q = 0; q < count; ++q) {
    SCOPED_TRACE(testing::Message() << "matrix " << q);
    std::int64_t const m = lu.rows_of(q), n = lu.cols_of(q), of_matrix = std::min(m, n);
    if (q == not_a_number) continue;
    auto const at = static_cast<std::size_t>(q * steps);
    ASSERT_EQ(info[static_cast<std::size_t>(q)], expected.info[static_cast<std::size_t>(q)]);
    std::vector<std::int64_t> order(static_cast<std::size_t>(m));
    for (std::int64_t i = 0; i < m; ++i) order[static_cast<std::size_t>(i)] = i;
    for (std::int64_t k = 0; k < steps; ++k) {
      int const p = pivots[at + static_cast<std::size_t>(k)];
      if (k >= of_matrix || !w.pivoting) {
        ASSERT_EQ(p, -7) << "step " << k;
        continue;
      }
      // Not compared for ties, which rounding decides.
      if (q != tied || k < 1) {
        ASSERT_EQ(p, expected.pivots[at + static_cast<std::size_t>(k)]) << "step " << k;
      }
      ASSERT_TRUE(p > k && p <= m);
      std::swap(order[static_cast<std::size_t>(k)], order[static_cast<std::size_t>(p - 1)]);
    }
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < m; ++i) {
        T sum(0);
        double scale = 0;
        for (std::int64_t k = 0; k <= std::min({i, j, of_matrix - 1}); ++k) {
          T const l = k == i ? T(1) : *lu.at(q, i, k);
          sum += l * *lu.at(q, k, j);
          scale += size_of(l) * size_of(*lu.at(q, k, j));
          if (w.pivoting) {
            ASSERT_LE(size_of(l), 1.5);
          }
        }
        ASSERT_LE(size_of(sum - *was.at(q, order[static_cast<std::size_t>(i)], j)), 30 * static_cast<double>(of_matrix) * unit<T> * scale)
            << "element (" << i << ", " << j << ")";
      }
  }
  a.check_rest();
}

template <typename T>
class LuBlocked : public testing::Test {};
using Types = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(LuBlocked, Types);

TYPED_TEST(LuBlocked, FactorsInABlock) {
  using T = TypeParam;
  int turn = static_cast<int>(sizeof(T));
  for (auto const& [m, n] : {std::pair{33, 33}, {64, 64}, {65, 33}, {34, 65}, {97, 100}, {300, 9}, {150, 70}, {7, 90}, {128, 37}}) {
    if (m * n > 3000 && (sanitized || is_complex<T>)&&m != 150) continue;
    Layout const layout = layouts[static_cast<std::size_t>(turn++) % 5];
    check_factors<T>({.m = m, .n = n, .layout = layout, .conjugated = turn % 2 == 0});
    bool const ragged = layout != Layout::interleaved;
    check_factors<T>({.m = m, .n = n, .layout = ragged ? ragged_layout(layout) : layout, .ragged = ragged, .pivoting = turn % 3 != 0});
  }
}
TYPED_TEST(LuBlocked, FactorsByPanels) {
  using T = TypeParam;
  int turn = static_cast<int>(sizeof(T)) + 1, skipped = 0;
  for (std::int64_t const shared : {some_shared, little_shared, no_shared})
    for (auto const& [m, n] : {std::pair{70, 70}, {129, 40}, {50, 131}, {140, 139}, {101, 77}}) {
      // Large sizes are skipped, or two of three of them
      if (sanitized || is_complex<T> ? m * n > 6000 || shared == some_shared
                                     : m * n > 7000 && (++skipped + static_cast<int>(sizeof(T))) % 3 != 0)
        continue;
      Layout const layout = layouts[static_cast<std::size_t>(turn++) % 5];
      bool const ragged = turn % 2 == 0 && layout != Layout::interleaved;
      check_factors<T>({.m = m,
                        .n = n,
                        .layout = ragged ? ragged_layout(layout) : layout,
                        .shared = shared,
                        .ragged = ragged,
                        .conjugated = turn % 3 == 0,
                        .pivoting = turn % 7 != 0});
    }
}

enum class What { getrs, getrs_transposed, getrs_adjoint, gesv, solve, solve_in_place, getri, inverse, inverse_in_place };
constexpr std::array all_of_what{What::getrs, What::getrs_transposed, What::getrs_adjoint,   What::gesv, What::solve, What::solve_in_place,
                                 What::getri, What::inverse,          What::inverse_in_place};

/// Checks the residual of solutions of regular matrices.
template <typename T>
void check_solution(What what, Wanted const& w, int columns) {
  SCOPED_TRACE(testing::Message() << w << ", " << columns << " right-hand sides, " << static_cast<int>(what));
  bool const inverts = what == What::getri || what == What::inverse || what == What::inverse_in_place;
  bool const from_factors = what <= What::getrs_adjoint || what == What::getri;
  bool const in_place = what == What::getri || what == What::inverse_in_place;
  int const n = w.m, of_x = inverts ? n : columns;
  Kept<T> a = matrices_for<T>(w);
  Layout const other = w.ragged ? w.layout : layouts[(static_cast<std::size_t>(w.layout) + 1) % 3];
  Wanted of_right = w;
  of_right.layout = other;
  of_right.conjugated = !w.conjugated;
  std::int64_t const count = a.view.count;
  Kept<T> x(n, of_x, count, of_right, 7), right(n, of_x, count, w, 8);
  x.view.row_sizes = right.view.row_sizes = a.view.row_sizes;
  if (inverts) x.view.col_sizes = a.view.col_sizes;
  bool const overwrites = what <= What::gesv || what == What::solve_in_place;
  if (overwrites)
    x.stored.memory = right.stored.memory, x.view = right.view, x.view.data += x.stored.memory.data() - right.stored.memory.data();
  x.keep();
  right.keep();

  std::vector<int> pivots(static_cast<std::size_t>(n * count)), info(static_cast<std::size_t>(count), -7);
  Batch<T> const was = a.former();
  Expected<T> const expected(was, w.pivoting);
  Batch<int> const some_pivots = w.pivoting ? vectors(pivots.data(), n, count) : Batch<int>{};
  if (from_factors) {
    if (w.pivoting)
      getrf<T>(cpu_queue(), a.view, some_pivots, info.data());
    else
      getrf_nopiv<T>(cpu_queue(), a.view, info.data());
  }
  std::vector<T> const factors = a.stored.memory;
  HostMachine machine = machine_with<T>(w.shared);
  LuOnMachine<T, HostMachine> lu(machine);
  int* const wanted_info = n % 2 == 0 ? info.data() : nullptr;
  switch (what) {
    case What::getrs:
      lu.getrs({.op = Op::none, .a = a.view, .pivots = some_pivots, .b = x.view});
      break;
    case What::getrs_transposed:
      lu.getrs({.op = Op::transpose, .a = a.view, .pivots = some_pivots, .b = x.view});
      break;
    case What::getrs_adjoint:
      lu.getrs({.op = Op::conjugate_transpose, .a = a.view, .pivots = some_pivots, .b = x.view});
      break;
    case What::gesv:
      lu.gesv({.a = a.view,
               .b = x.view,
               .x = x.view,
               .factors = a.view,
               .pivots = columns % 2 == 0 ? some_pivots : Batch<int>{},
               .info = wanted_info,
               .nan_where_singular = false});
      break;
    case What::solve:
    case What::solve_in_place:
      lu.gesv({.a = a.view,
               .b = what == What::solve ? right.view : x.view,
               .x = x.view,
               .factors = {},
               .pivots = {},
               .info = wanted_info,
               .nan_where_singular = true});
      break;
    case What::getri:
      lu.inverse({.a = a.view, .pivots = some_pivots, .x = a.view, .info = wanted_info, .factor = false});
      break;
    case What::inverse:
    case What::inverse_in_place:
      lu.inverse({.a = a.view, .pivots = {}, .x = in_place ? a.view : x.view, .info = wanted_info, .factor = true});
      break;
  }
  bool const keeps_singular = what == What::gesv || what == What::getri;
  Batch<T> const solution = in_place ? a.view : x.view, b = right.former();
  for (std::int64_t q = 0; q < count; ++q) {
    SCOPED_TRACE(testing::Message() << "matrix " << q);
    auto const info_of = expected.info[static_cast<std::size_t>(q)];
    if (what >= What::gesv && wanted_info && q != not_a_number) {
      ASSERT_EQ(info[static_cast<std::size_t>(q)], info_of);
    }
    if (q == not_a_number) continue;
    std::int64_t const rows = was.rows_of(q);
    for (std::int64_t j = 0; j < solution.cols_of(q); ++j)
      for (std::int64_t i = 0; i < rows; ++i) {
        if (info_of != 0 && !keeps_singular && what >= What::gesv) {
          ASSERT_TRUE(std::isnan(std::abs(*solution.at(q, i, j))));
        }
        if (info_of != 0) continue;
        T sum = inverts ? T(i == j ? 1 : 0) : element(b, q, i, j);
        double scale = size_of(sum);
        for (std::int64_t k = 0; k < rows; ++k) {
          T f = what == What::getrs_transposed || what == What::getrs_adjoint ? element(was, q, k, i) : element(was, q, i, k);
          if constexpr (is_complex<T>)
            if (what == What::getrs_adjoint) f = std::conj(f);
          sum -= f * element(solution, q, k, j);
          scale += size_of(f) * size_of(element(solution, q, k, j));
        }
        ASSERT_LE(size_of(sum), 100 * static_cast<double>(rows) * unit<T> * scale) << "element (" << i << ", " << j << ")";
      }
  }
  auto const spared = [&](std::int64_t q) { return keeps_singular && expected.info[static_cast<std::size_t>(q)] != 0; };
  right.check_rest([](std::int64_t) { return true; });
  if (from_factors) a.before = factors;
  if (in_place)
    a.check_rest(spared);
  else
    a.check_rest([&](std::int64_t) { return what != What::gesv; });
  if (!in_place) x.check_rest(spared);
}

TYPED_TEST(LuBlocked, Solutions) {
  using T = TypeParam;
  int turn = static_cast<int>(sizeof(T)) / 4;
  for (std::int64_t const shared : {all_shared, little_shared})
    for (int const n : {34, 75}) {
      if (sanitized && n > 50) continue;
      for (What const what : all_of_what) {
        if (is_complex<T> && n > 50 && (static_cast<std::size_t>(what) + sizeof(T) / 8) % 2 == 0) continue;
        Layout const layout = layouts[static_cast<std::size_t>(turn++) % 3];
        bool const ragged = turn % 2 == 0 && layout != Layout::interleaved;
        bool const pivoting =
            turn % 5 != 0 || what == What::gesv || what > What::getri || what == What::solve || what == What::solve_in_place;
        check_solution<T>(what,
                          {.m = n,
                           .n = n,
                           .layout = ragged ? ragged_layout(layout) : layout,
                           .shared = shared,
                           .ragged = ragged,
                           .conjugated = turn % 3 == 0,
                           .pivoting = pivoting},
                          turn % 4 == 0   ? 1
                          : turn % 4 == 1 ? 6
                                          : 11);
      }
    }
}

/// Factors that are the identity, with pivots above and below their step, within and beyond the pivots that a block applies at a time.
TYPED_TEST(LuBlocked, InterchangesByAnyPivots) {
  using T = TypeParam;
  constexpr std::size_t n = 75, columns = 3;
  std::vector<T> factors(n * n, T(0)), x(n * columns);
  std::vector<int> pivots(n);
  std::mt19937 random(11);
  for (std::size_t k = 0; k < n; ++k) {
    factors[k * n + k] = T(1);
    pivots[k] = 1 + static_cast<int>(random() % n);
  }
  for (T& element : x) element = T(static_cast<Real<T>>(random() % 1000));
  for (bool const backwards : {false, true}) {
    auto expected = x;
    for (std::size_t step = 0; step < n; ++step) {
      std::size_t const k = backwards ? n - 1 - step : step, p = static_cast<std::size_t>(pivots[k]) - 1;
      for (std::size_t j = 0; j < columns; ++j) std::swap(expected[j * n + k], expected[j * n + p]);
    }
    HostMachine machine = machine_with<T>(all_shared);
    LuOnMachine<T, HostMachine>(machine).getrs({.op = backwards ? Op::transpose : Op::none,
                                                .a = batch<T const>(factors.data(), n, n),
                                                .pivots = vectors<int const>(pivots.data(), n, 1),
                                                .b = batch(x.data(), n, columns)});
    EXPECT_EQ(x, expected) << (backwards ? "backwards" : "forwards");
  }
}

/// X next to B in one array, and X the conjugate view of B: both begin at one address, but B is not X.
TYPED_TEST(LuBlocked, SolutionsInTheArrayOfTheRightHandSides) {
  using T = TypeParam;
  constexpr std::int64_t n = 34, columns_of_x = 11;
  std::vector<T> matrix(n * n), both(n * 2 * columns_of_x);
  fill(matrix, 3);
  fill(both, 4);
  for (std::int64_t i = 0; i < n; ++i) matrix[static_cast<std::size_t>(i * (n + 1))] += T(9);
  auto const a = batch(matrix.data(), n, n);
  for (bool const beside : {true, false}) {
    auto memory = both, expected = std::vector<T>(n * columns_of_x);
    Batch<T> const all = batch(memory.data(), n, 2 * columns_of_x), b = columns(all, 0, columns_of_x);
    Batch<T> const x = beside ? columns(all, columns_of_x, columns_of_x) : conjugated(b);
    solve<T>(cpu_queue(), a, b, batch(expected.data(), n, columns_of_x), nullptr);
    HostMachine machine = machine_with<T>(little_shared);
    LuOnMachine<T, HostMachine>(machine).gesv(
        {.a = a, .b = b, .x = x, .factors = {}, .pivots = {}, .info = nullptr, .nan_where_singular = true});
    for (std::int64_t j = 0; j < columns_of_x; ++j)
      for (std::int64_t i = 0; i < n; ++i)
        ASSERT_LE(size_of(element(x, 0, i, j) - expected[static_cast<std::size_t>(i + j * n)]), 1000 * n * unit<T>)
            << (beside ? "beside B" : "conjugated") << ", element (" << i << ", " << j << ")";
  }
}

TYPED_TEST(LuBlocked, Determinants) {
  using T = TypeParam;
  for (std::int64_t const shared : {all_shared, little_shared})
    for (bool const ragged : {false, true})
      for (bool const logarithm : {false, true}) {
        Wanted const w{.m = 39,
                       .n = 39,
                       .layout = ragged ? Layout::ragged_rows : Layout::packed_columns,
                       .shared = shared,
                       .ragged = ragged,
                       .conjugated = ragged == logarithm};
        SCOPED_TRACE(testing::Message() << w << (logarithm ? ", logarithm" : ""));
        Kept<T> a = matrices_for<T>(w);
        // By columns these would overflow.
        for (std::int64_t q = 0; q < a.view.count; ++q)
          for (std::int64_t j = 0; j < a.view.cols_of(q); ++j)
            for (std::int64_t i = 0; i < a.view.rows_of(q); ++i) *a.view.at(q, i, j) *= static_cast<Real<T>>(j % 2 == 0 ? 0x1p30 : 0x1p-30);
        a.keep();
        auto const count = static_cast<std::size_t>(a.view.count);
        std::vector<T> values(count), expected(count);
        std::vector<Real<T>> logs(count), expected_logs(count);
        HostMachine machine = machine_with<T>(shared);
        LuOnMachine<T, HostMachine>(machine).det({.a = a.view, .sign_or_det = values.data(), .logabs = logarithm ? logs.data() : nullptr});
        if (logarithm)
          logdet<T>(cpu_queue(), a.view, expected.data(), expected_logs.data());
        else
          det<T>(cpu_queue(), a.view, expected.data());
        for (std::size_t q = 0; q < count; ++q) {
          if (q == not_a_number) continue;
          EXPECT_LE(size_of(values[q] - expected[q]), 1e4 * unit<T> * size_of(expected[q])) << "matrix " << q;
          if (logarithm && expected[q] != T(0)) {
            EXPECT_NEAR(logs[q], expected_logs[q], 1e3 * unit<T> * 60) << "matrix " << q;
          }
          if (logarithm && expected[q] == T(0)) {
            EXPECT_EQ(logs[q], expected_logs[q]) << "matrix " << q;
          }
        }
        a.check_rest([](std::int64_t) { return true; });
      }
}

/// Factors and pivots of a batch, and X of A X = B with a few columns.
template <typename T>
struct Factored {
  std::vector<T> factors, x;
  std::vector<int> pivots, info;
};
template <typename T>
Factored<T> factored(HostMachine& machine, Batch<T> const& a, Batch<T> const& x) {
  Factored<T> out;
  std::int64_t const m = a.rows, n = a.cols, count = a.count, steps = std::min(m, n);
  out.factors.resize(static_cast<std::size_t>(m * n * count));
  out.x.resize(static_cast<std::size_t>(x.rows * x.cols * count));
  out.pivots.assign(static_cast<std::size_t>(steps * count), -7);
  out.info.assign(static_cast<std::size_t>(count), -7);
  Batch<T> lu = batch(out.factors.data(), m, n, {.count = count}), solved = batch(out.x.data(), x.rows, x.cols, {.count = count});
  lu.row_sizes = a.row_sizes, lu.col_sizes = a.col_sizes;
  solved.row_sizes = x.row_sizes;
  for (std::int64_t q = 0; q < count; ++q) {
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < m; ++i) *lu.at(q, i, j) = *a.at(q, i, j);
    for (std::int64_t j = 0; j < x.cols; ++j)
      for (std::int64_t i = 0; i < x.rows; ++i) *solved.at(q, i, j) = *x.at(q, i, j);
  }
  Batch<int> const pivots = vectors(out.pivots.data(), steps, count);
  LuOnMachine<T, HostMachine> on(machine);
  if (x.rows > 0)
    on.gesv({.a = lu, .b = solved, .x = solved, .factors = lu, .pivots = pivots, .info = out.info.data(), .nan_where_singular = false});
  else
    on.getrf({.a = lu, .pivots = pivots, .info = out.info.data(), .pivoting = true});
  return out;
}

/// Matrices of a ragged batch get the bits that they have alone, whichever way they are factored.
TYPED_TEST(LuBlocked, RaggedAsAlone) {
  using T = TypeParam;
  constexpr std::int64_t count = 5;
  for (std::int64_t const shared : {some_shared, little_shared}) {
    for (bool const solves : {false, true}) {
      if (sanitized && solves == (shared == some_shared)) continue;
      HostMachine machine = machine_with<T>(shared);
      std::int64_t const m = 101, n = solves ? m : m - 20;
      std::vector<std::int64_t> row_sizes{20, 41, 0, m, 67}, col_sizes{20, 60, 7, n, 50};
      if (solves) col_sizes = row_sizes;
      Stored<T> a(static_cast<int>(m), static_cast<int>(n), count, Layout::columns), b(static_cast<int>(m), 3, count, Layout::columns);
      fill(a.memory, 3);
      fill(b.memory, 4);
      for (std::int64_t i = 0; i < m; ++i) *a.view.at(4, i, 9) = T(0);
      Batch<T> ragged = a.view, right = b.view;
      ragged.row_sizes = right.row_sizes = row_sizes.data();
      ragged.col_sizes = col_sizes.data();
      if (!solves) right.rows = 0;
      Factored<T> const together = factored(machine, ragged, right);
      for (std::int64_t q = 0; q < count; ++q) {
        SCOPED_TRACE(testing::Message() << "matrix " << q << ", " << shared << " bytes" << (solves ? ", solved" : ""));
        auto const rows = row_sizes[static_cast<std::size_t>(q)], cols = col_sizes[static_cast<std::size_t>(q)];
        if (rows == 0) continue;
        Batch<T> one = matrices(a.view, q, 1), of_right = matrices(b.view, q, 1);
        one.rows = rows, one.cols = cols;
        of_right.rows = solves ? rows : 0;
        Factored<T> const alone = factored(machine, one, of_right);
        EXPECT_EQ(together.info[static_cast<std::size_t>(q)], alone.info[0]);
        for (std::int64_t k = 0; k < std::min(rows, cols); ++k)
          ASSERT_EQ(together.pivots[static_cast<std::size_t>(q * std::min(m, n) + k)], alone.pivots[static_cast<std::size_t>(k)]);
        for (std::int64_t j = 0; j < cols; ++j)
          ASSERT_EQ(std::memcmp(&together.factors[static_cast<std::size_t>((q * n + j) * m)],
                                &alone.factors[static_cast<std::size_t>(j * rows)], static_cast<std::size_t>(rows) * sizeof(T)),
                    0)
              << "column " << j;
        for (std::int64_t j = 0; solves && j < 3; ++j)
          ASSERT_EQ(std::memcmp(&together.x[static_cast<std::size_t>((q * 3 + j) * m)], &alone.x[static_cast<std::size_t>(j * rows)],
                                static_cast<std::size_t>(rows) * sizeof(T)),
                    0)
              << "column " << j << " of X";
      }
    }
  }
}

/// Up to 32 rows a kernel with fewer lanes factors what is no part of larger batches.
template <typename T, int m, int n>
void check_as_tiny() {
  constexpr LuTiny c = lu_tiny_plan(LuJob::factor, dtype_of<T>, m, n, 0);
  constexpr std::int64_t count = 3;
  using D = gpu::DeviceElement<T>;
  Stored<T> a(m, n, count, Layout::packed_columns);
  fill(a.memory, 5);
  *a.view.at(1, 0, 0) = T(0);
  Batch<T> none = a.view;
  none.rows = 0;
  HostMachine machine = machine_with<T>(all_shared);
  Factored<T> const large = factored(machine, a.view, none);
  std::vector<int> pivots(static_cast<std::size_t>(std::min(m, n) * count)), info(static_cast<std::size_t>(count));
  LuTinyArguments<D> const args{.a = gpu::matrices_of(Batch<T const>(a.view)),
                                .result = gpu::matrices_of(a.view),
                                .pivots = gpu::matrices_of(vectors(pivots.data(), std::min(m, n), count)),
                                .b = {},
                                .x = {},
                                .info = info.data(),
                                .nan_where_singular = false,
                                .sign_or_det = nullptr,
                                .logabs = nullptr};
  simt::run(2, c.threads(), static_cast<int>(LuTinyMemory(sizeof(T), c).bytes), lu_tiny<D, c>, args);
  EXPECT_EQ(large.pivots, pivots);
  EXPECT_EQ(std::memcmp(large.factors.data(), a.view.data, large.factors.size() * sizeof(T)), 0) << m << " by " << n;
}
TYPED_TEST(LuBlocked, AsTiny) {
  check_as_tiny<TypeParam, 5, 5>();
  check_as_tiny<TypeParam, 20, 20>();
  check_as_tiny<TypeParam, 31, 27>();
}

/// lu_warps factors to the bits of lu_rows.
template <typename T>
void check_warps_as_rows() {
  using D = gpu::DeviceElement<T>;
  for (LuWarps const& c : lu_warps_kernels(sizeof(T), is_complex<T>))
    for (auto const& [m, n] : {std::pair{c.left + 1, c.left + 1},
                               {c.rows, c.rows},
                               {c.rows - 9, c.rows - 1},
                               {c.rows - 2, c.left - 3},
                               {c.rows / 2 + 1, c.rows}}) {
      // The first, of any size, has a step beyond the columns in shared memory.
      if (m != c.left + 1 && (m * n > (sanitized ? 7000 : 11000) || (m * n > 7000 && n != c.rows - 1))) continue;
      Wanted const w{.m = m, .n = n, .layout = m % 2 == 0 ? Layout::packed_columns : Layout::packed_rows};
      SCOPED_TRACE(testing::Message() << w);
      std::int64_t const steps = std::min(m, n), count = matrices_of_test;
      std::vector<int> of_warps(static_cast<std::size_t>((steps + 1) * count), -7), of_rows = of_warps;
      Kept<T> by_warps = matrices_for<T>(w), by_rows = matrices_for<T>(w);
      HostMachine machine = machine_with<T>(all_shared);
      machine.run(lu_warps_kernel, {.blocks = 2, .threads = 32 * c.warps, .shared_bytes = LuWarpsMemory<D>(c).bytes},
                  LuWarpsArguments<D>{.a = gpu::matrices_of(Batch<T const>(by_warps.view)),
                                      .result = gpu::matrices_of(by_warps.view),
                                      .pivots = gpu::matrices_of(vectors(of_warps.data(), steps, count)),
                                      .info = of_warps.data() + steps * count},
                  dtype_of<T>, c);
      int const warps = lu_rows_warps(m);
      machine.run(lu_rows_kernel, {.blocks = 2, .threads = 32 * warps, .shared_bytes = lu_rows_bytes<D>(m, n)},
                  LuRowsArguments<D>{.a = gpu::matrices_of(Batch<T const>(by_rows.view)),
                                     .result = gpu::matrices_of(by_rows.view),
                                     .pivots = gpu::matrices_of(vectors(of_rows.data(), steps, count)),
                                     .info = of_rows.data() + steps * count,
                                     .before = 0,
                                     .pivoting = true,
                                     .warps = warps},
                  dtype_of<T>, lu_rows_plan(sizeof(D), is_complex<T>, m));
      ASSERT_EQ(of_warps, of_rows);
      // The sign of a NaN is the compiler's choice.
      auto const is_same = [](T x, T y) { return std::memcmp(&x, &y, sizeof(T)) == 0 || (x != x && y != y); };
      ASSERT_TRUE(std::equal(by_warps.stored.memory.begin(), by_warps.stored.memory.end(), by_rows.stored.memory.begin(), is_same));
    }
}
TEST(LuWarpsAsRows, Single) { check_warps_as_rows<float>(); }
TEST(LuWarpsAsRows, Double) { check_warps_as_rows<double>(); }
TEST(LuWarpsAsRows, SingleComplex) { check_warps_as_rows<std::complex<float>>(); }

/// Columns that are solved for by other kernels.
TEST(LuBlockedWide, Factors) {
  int const n = static_cast<int>(lu_rows_columns) + 9;
  check_factors<double>({.m = 21, .n = n});
  check_factors<double>({.m = 21, .n = n, .layout = Layout::ragged_rows, .ragged = true});
}

TYPED_TEST(LuBlocked, LimitsOfEveryGpu) {
  using D = gpu::DeviceElement<TypeParam>;
  for (std::int64_t const shared : {99 << 10, 163 << 10, 227 << 10}) {
    auto const limits = lu_limits<D>(shared, false);
    EXPECT_GE(limits[0], 192);
    EXPECT_LE(lu_rows_bytes<D>(limits[0], 100000), shared);
    std::int64_t before = 0;
    for (std::int64_t const limit : limits) {
      if (limit == 0) continue;
      EXPECT_GT(limit, before);
      before = limit;
      // Matrices of a class have panels of as many columns.
      auto const width = [&](std::int64_t m) { return lu_panel_columns(sizeof(D), simt::is_complex<D>, m, shared); };
      if (limit != limits[0]) {
        EXPECT_NE(width(limit), width(limit + 1));
      }
    }
    // Larger ones are in one class.
    EXPECT_EQ(lu_panel_columns(sizeof(D), simt::is_complex<D>, before + 1, shared),
              lu_panel_columns(sizeof(D), simt::is_complex<D>, 1 << 20, shared));
    for (std::int64_t m = 1; m <= limits[0]; ++m) {
      LuRows const c = lu_rows_plan(sizeof(D), simt::is_complex<D>, m);
      EXPECT_LE(32 * lu_rows_warps(m), c.threads);
      EXPECT_LE(c.threads * c.blocks_per_sm * 64, 65536);
      EXPECT_EQ(c.width % lu_rows_step, 0);
      EXPECT_LE(lu_rows_bytes<D>(m, m), shared);
    }
  }
}

TEST(LuBlockedPlan, FitsEveryGpu) {
  struct Type {
    int bytes;
    bool complex;
  };
  for (std::int64_t const shared : {99 << 10, 163 << 10, 227 << 10})
    for (auto const [bytes, complex] : {Type{4, false}, {8, false}, {8, true}, {16, true}}) {
      std::int64_t width = 32;
      for (std::int64_t m = 1; m < 4000; m += m < 300 ? 1 : 37) {
        std::int64_t const next = lu_panel_columns(bytes, complex, m, shared);
        EXPECT_LE(next, width) << m;
        width = next;
        if (lu_panel_is_tall(bytes, complex, m, width, shared)) {
          EXPECT_LE(width, lu_tall_plan(bytes).width);
          EXPECT_GT(m, 700);
          continue;
        }
        for (std::int64_t n = 1; n <= 300; n += 7) {
          LuBlock const c = lu_block_plan(bytes, complex, m, n);
          EXPECT_GE(c.most_rows(), m);
          EXPECT_EQ(width % 4, 0);
          EXPECT_LE(c.blocks_per_sm * c.threads * 128, 65536);
        }
        EXPECT_LE(lu_block_bytes(bytes, complex, m, width), shared);
      }
    }
}

}  // namespace
}  // namespace myriad
