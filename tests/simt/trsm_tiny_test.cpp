/// Kernels of trsm/trsm_tiny.cuh, and the determinants of lu/lu_tiny.cuh, on the host twin against the CPU path.

#include "trsm/trsm_tiny.cuh"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <random>
#include <vector>

#include "lu/lu_tiny.cuh"
#include "lu/lu_tiny_plan.hpp"
#include "myriad/myriad.hpp"
#include "runtime/tiny.hpp"
#include "runtime/views.hpp"
#include "simt_host/machine.hpp"
#include "stored.hpp"
#include "trsm/trsm_by_blocks.hpp"

namespace myriad {
namespace {

enum class Routine { lower, unit_upper, getrs, getrs_transposed, getri, trtri_lower, trtri_unit_upper };

constexpr bool inverts_triangle(Routine routine) { return routine == Routine::trtri_lower || routine == Routine::trtri_unit_upper; }
constexpr bool inverts(Routine routine) { return routine == Routine::getri || inverts_triangle(routine); }
constexpr bool uses_factors(Routine routine) {
  return routine == Routine::getrs || routine == Routine::getrs_transposed || routine == Routine::getri;
}
constexpr bool only_lower(Routine routine) { return routine == Routine::lower || routine == Routine::trtri_lower; }
constexpr bool only_unit_upper(Routine routine) { return routine == Routine::unit_upper || routine == Routine::trtri_unit_upper; }

/// A kernel for B of `width` columns.
template <typename T>
constexpr TrsmTiny kernel(Routine routine, int n, int width, Layout layout, int variant) {
  int const lanes = n <= 2 ? 1 : n <= 8 ? 4 : 16;
  bool const transposed = routine == Routine::getrs_transposed;
  Layout const flipped = layout == Layout::packed_columns   ? Layout::packed_rows
                         : layout == Layout::packed_rows    ? Layout::packed_columns
                         : layout == Layout::ragged_columns ? Layout::ragged_rows
                         : layout == Layout::dense_rows     ? Layout::dense_columns
                                                            : layout;
  bool const partly = width > 2;
  return TrsmTiny{.n = n,
                  .nrhs = partly ? 2 : width,
                  .lanes = lanes,
                  .matrices = gpu::matrices_of_block(32 / lanes, lanes, layout == Layout::interleaved, sizeof(T)),
                  .lower = only_unit_upper(routine)            ? Triangle::unused
                           : transposed || only_lower(routine) ? Triangle::non_unit
                                                               : Triangle::unit,
                  .upper = only_lower(routine)                      ? Triangle::unused
                           : transposed || only_unit_upper(routine) ? Triangle::unit
                                                                    : Triangle::non_unit,
                  .interchange = !uses_factors(routine) ? Interchange::never
                                 : transposed           ? Interchange::after
                                                        : Interchange::before,
                  .right = inverts_triangle(routine) ? RightSide::identity_in_place
                           : inverts(routine)        ? RightSide::identity
                                                     : RightSide::given,
                  .a = transposed ? flipped : layout,
                  .b = partly ? gpu::by_elements(layout) : layout,
                  .pivots = variant % 2 == 0 ? Layout::packed_columns : Layout::columns};
}

template <typename T>
using TrsmKernel = void (*)(TrsmTinyArguments<gpu::DeviceElement<T>>);

/// One function per type for all its kernels: a template of the sizes would add much to their compile time.
template <typename T>
void check(TrsmTiny const& c, TrsmKernel<T> kernel, Routine routine, int width, Layout layout, unsigned seed) {
  int const n = c.n;
  std::int64_t const count = 2 * c.matrices + 1;
  Stored<T> a(n, n, count, layout), b(n, width, count, layout);
  fill(a.memory, seed);
  fill(b.memory, seed + 1000);
  for (std::int64_t q = 0; q < count; ++q)
    for (int i = 0; i < n; ++i) *a.view.at(q, i, i) += T(6);
  if (layout == Layout::columns && !inverts(routine)) {
    for (std::int64_t q = 0; q < count; ++q) a.sizes.push_back(q < 3 ? n : q % (n + 1));
    a.view.row_sizes = a.view.col_sizes = b.view.row_sizes = a.sizes.data();
  }
  if (inverts(routine)) *a.view.at(1, n - 1, n - 1) = T(0);
  std::mt19937 random(seed);
  std::vector<int> pivots(static_cast<std::size_t>(n * count), 1 << 20);  // values beyond a matrix are not rows
  for (std::int64_t q = 0; q < count; ++q) {
    int const size = static_cast<int>(a.view.rows_of(q));
    for (int k = 0; k < size; ++k) {
      int const above = q % 2 == 0 ? 0 : k;  // some pivots are above their step, as those of getrf never are
      pivots[static_cast<std::size_t>(q * n + k)] = k + 1 - above + static_cast<int>(random() % static_cast<unsigned>(size - k + above));
    }
  }
  std::vector<int> info(static_cast<std::size_t>(count), -7), expected_info(info.size());
  T const alpha = uses_factors(routine) || inverts(routine) ? T(1) : T(-0.75);

  // The CPU's results on copies.
  Queue cpu({.backend = Backend::cpu, .threads = 1});
  Stored<T> expected(n, width, count, layout);
  expected.memory = inverts(routine) ? a.memory : b.memory;
  expected.view.row_sizes = b.view.row_sizes;
  Batch<T const> const a_in = a.view;
  auto piv = vectors(pivots.data(), n, count);
  piv.row_sizes = a.view.row_sizes;
  if (routine == Routine::lower) trsm<T>(cpu, Side::left, Uplo::lower, Diag::non_unit, alpha, a_in, expected.view);
  if (routine == Routine::unit_upper) trsm<T>(cpu, Side::left, Uplo::upper, Diag::unit, alpha, a_in, expected.view);
  if (routine == Routine::getrs) getrs<T>(cpu, Op::none, a_in, piv, expected.view);
  if (routine == Routine::getrs_transposed) getrs<T>(cpu, Op::conjugate_transpose, a_in, piv, expected.view);
  if (routine == Routine::trtri_lower) trtri<T>(cpu, Uplo::lower, Diag::non_unit, expected.view, expected_info.data());
  if (routine == Routine::trtri_unit_upper) trtri<T>(cpu, Uplo::upper, Diag::unit, expected.view, expected_info.data());
  if (routine == Routine::getri) getri<T>(cpu, expected.view, piv, expected_info.data());

  Batch<T> const target = inverts(routine) ? a.view : b.view;
  using D = gpu::DeviceElement<T>;
  TrsmTinyArguments<D> const args{.alpha = std::bit_cast<D>(alpha),
                                  .a = gpu::matrices_of(routine == Routine::getrs_transposed ? conjugate_transposed(a_in) : a_in),
                                  .b = gpu::matrices_of(target),
                                  .columns = width,
                                  .pivots = gpu::matrices_of(Batch<int const>(piv)),
                                  .info = info.data()};
  simt::run(2, c.threads(), TrsmTinyMemory(sizeof(T), c).bytes, kernel, args);

  double const u = sizeof(Real<T>) == 4 ? 0x1p-24 : 0x1p-53;
  for (std::int64_t q = 0; q < count; ++q) {
    SCOPED_TRACE(testing::Message() << "matrix " << q << " of order " << n << ", layout " << static_cast<int>(layout));
    if (inverts(routine)) {
      ASSERT_EQ(info[static_cast<std::size_t>(q)], expected_info[static_cast<std::size_t>(q)]);
    }
    double largest = 0;
    for (int j = 0; j < width; ++j)
      for (int i = 0; i < target.rows_of(q); ++i) largest = std::max(largest, static_cast<double>(std::abs(*expected.view.at(q, i, j))));
    for (int j = 0; j < width; ++j)
      for (int i = 0; i < target.rows_of(q); ++i) {
        bool const stays = routine == Routine::trtri_lower ? i < j : routine == Routine::trtri_unit_upper && i >= j;
        if (stays) {
          ASSERT_EQ(*target.at(q, i, j), *expected.view.at(q, i, j)) << i << "," << j;
        }
        ASSERT_LE(std::abs(*target.at(q, i, j) - *expected.view.at(q, i, j)), 1000 * n * u * largest) << i << "," << j;
      }
  }
}

template <typename T, int n, int columns, Routine routine, int variant>
void check() {
  constexpr int width = inverts(routine) ? n : columns;
  constexpr Layout layout = layouts[variant % 5];
  constexpr Layout moved = layout == Layout::columns && !inverts(routine) ? Layout::ragged_columns : layout;
  constexpr TrsmTiny c = kernel<T>(routine, n, width, moved, variant);
  check<T>(c, trsm_tiny<gpu::DeviceElement<T>, c>, routine, width, layout, variant);
}

template <typename T, int n, int columns, int variant>
void check_routines() {
  check<T, n, columns, Routine::lower, variant>();
  check<T, n, columns, Routine::unit_upper, variant + 1>();
  check<T, n, columns, Routine::getrs, variant + 2>();
  check<T, n, columns, Routine::getrs_transposed, variant + 3>();
  check<T, n, columns, Routine::getri, variant + 4>();
  check<T, n, columns, Routine::trtri_lower, variant>();
  check<T, n, columns, Routine::trtri_unit_upper, variant + 1>();
}

TEST(TrsmTiny, Single) {
  check_routines<float, 1, 1, 0>();
  check_routines<float, 13, 3, 1>();
  check_routines<float, 32, 1, 2>();
}
TEST(TrsmTiny, Double) {
  check_routines<double, 2, 5, 3>();
  check_routines<double, 7, 1, 4>();
  check_routines<double, 16, 2, 0>();
  check_routines<double, 17, 7, 1>();
}
TEST(TrsmTiny, Complex) {
  check_routines<std::complex<float>, 5, 1, 2>();
  check_routines<std::complex<double>, 6, 4, 3>();
  check_routines<std::complex<double>, 19, 2, 4>();
}

/// The GPU's blocked algorithm for triangles of more than 32 rows, with smaller blocks and CPU routines.
template <typename T>
void check_blocks(int n, Uplo uplo, Diag diag, T alpha, bool ragged) {
  SCOPED_TRACE(testing::Message() << n << " rows, upper " << (uplo == Uplo::upper) << ", unit " << (diag == Diag::unit) << ", alpha "
                                  << alpha);
  constexpr std::int64_t count = 12;
  Stored<T> a(n, n, count, Layout::packed_columns), b(n, 3, count, Layout::packed_rows);
  fill(a.memory, 1);
  fill(b.memory, 2);
  for (std::int64_t q = 0; q < count; ++q)
    for (int i = 0; i < n; ++i) *a.view.at(q, i, i) += T(static_cast<Real<T>>(2 * n));
  if (diag == Diag::unit)
    for (T& x : a.memory) x /= T(static_cast<Real<T>>(n));
  if (alpha == T(0)) std::fill(a.memory.begin(), a.memory.end(), T(std::numeric_limits<Real<T>>::quiet_NaN()));
  std::vector<std::int64_t> sizes;
  for (std::int64_t q = 0; q < count; ++q) sizes.push_back(n - q * 3 % (n + 1));
  if (ragged) a.view.row_sizes = a.view.col_sizes = b.view.row_sizes = sizes.data();
  Stored<T> expected(n, 3, count, Layout::packed_rows);
  expected.memory = b.memory;
  expected.view.row_sizes = b.view.row_sizes;
  Queue cpu({.backend = Backend::cpu, .threads = 1});
  Batch<T const> const a_in = conjugated(Batch<T const>(a.view));
  trsm<T>(cpu, Side::left, uplo, diag, alpha, a_in, expected.view);
  int solves = 0;
  HostMachine machine;
  trsm_by_blocks(machine, TrsmTask<T>{.uplo = uplo, .diag = diag, .alpha = alpha, .a = a_in, .b = b.view}, 8, [&](TrsmTask<T> const& part) {
    ++solves;
    EXPECT_LE(part.b.rows, 8);
    machine.trsm(part);
  });
  EXPECT_EQ(solves, (n + 7) / 8);
  EXPECT_EQ(machine.products(), alpha == T(0) ? 0 : solves - 1);
  double const u = sizeof(Real<T>) == 4 ? 0x1p-24 : 0x1p-53;
  for (std::size_t i = 0; i < b.memory.size(); ++i)
    ASSERT_LE(std::abs(b.memory[i] - expected.memory[i]), 1000 * n * u * (1 + std::abs(expected.memory[i]))) << i;
}

TEST(Trsm, ByBlocks) {
  for (Uplo const uplo : {Uplo::lower, Uplo::upper})
    for (Diag const diag : {Diag::unit, Diag::non_unit})
      for (int const n : {7, 8, 29})
        for (bool const ragged : {false, true}) {
          check_blocks<double>(n, uplo, diag, -0.75, ragged);
          check_blocks<std::complex<float>>(n, uplo, diag, {0.5F, 2.0F}, ragged);
          check_blocks<double>(n, uplo, diag, 0, ragged);
        }
}

template <typename T, int n, int variant>
void check_determinant() {
  constexpr Layout layout = layouts[variant % 5];
  constexpr auto plan = [](LuJob job) {
    LuTiny c = lu_tiny_plan(job, dtype_of<T>, n, n, 0);
    c.a = layout == Layout::columns ? Layout::ragged_columns : layout;
    return c;
  };
  constexpr LuTiny plain = plan(LuJob::determinant), logarithm = plan(LuJob::log_determinant);
  constexpr std::int64_t count = 2 * plain.matrices + 1;
  Stored<T> a(n, n, count, layout);
  fill(a.memory, variant);
  if (layout == Layout::columns) {
    for (std::int64_t q = 0; q < count; ++q) a.sizes.push_back(q % (n + 1));
    a.view.row_sizes = a.view.col_sizes = a.sizes.data();
  }
  for (int i = 0; i < n; ++i) *a.view.at(1, i, n - 1) = T(0);
  using D = gpu::DeviceElement<T>;
  std::size_t const size = static_cast<std::size_t>(count);
  std::vector<T> determinant(size), sign(size), expected(size), expected_sign(size);
  std::vector<Real<T>> logabs(size), expected_logabs(size);
  Batch<T const> const a_in = a.view;
  LuTinyArguments<D> args{.a = gpu::matrices_of(a_in),
                          .result = {},
                          .pivots = {},
                          .b = {},
                          .x = {},
                          .info = nullptr,
                          .nan_where_singular = false,
                          .sign_or_det = reinterpret_cast<D*>(determinant.data()),
                          .logabs = nullptr};
  simt::run(2, plain.threads(), LuTinyMemory(sizeof(T), plain).bytes, lu_tiny<D, plain>, args);
  args.sign_or_det = reinterpret_cast<D*>(sign.data());
  args.logabs = logabs.data();
  simt::run(2, logarithm.threads(), LuTinyMemory(sizeof(T), logarithm).bytes, lu_tiny<D, logarithm>, args);
  Queue cpu({.backend = Backend::cpu, .threads = 1});
  det<T>(cpu, a_in, expected.data());
  logdet<T>(cpu, a_in, expected_sign.data(), expected_logabs.data());
  double const tolerance = (sizeof(Real<T>) == 4 ? 0x1p-24 : 0x1p-53) * 2000 * n;
  for (std::size_t q = 0; q < size; ++q) {
    SCOPED_TRACE(testing::Message() << "matrix " << q << " of order " << n);
    EXPECT_LE(std::abs(determinant[q] - expected[q]), tolerance * static_cast<double>(std::abs(expected[q])));
    EXPECT_LE(std::abs(sign[q] - expected_sign[q]), tolerance);
    if (std::isinf(expected_logabs[q])) {
      EXPECT_EQ(logabs[q], expected_logabs[q]);
    } else {
      EXPECT_NEAR(logabs[q], expected_logabs[q], tolerance * (1 + std::abs(static_cast<double>(expected_logabs[q]))));
    }
  }
}

TEST(LuTiny, Determinants) {
  check_determinant<float, 1, 0>();
  check_determinant<double, 5, 4>();
  check_determinant<double, 16, 1>();
  check_determinant<std::complex<float>, 11, 2>();
  check_determinant<std::complex<double>, 20, 4>();
}

}  // namespace
}  // namespace myriad
