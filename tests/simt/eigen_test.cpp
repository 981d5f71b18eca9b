/// Kernels of eigen/eigen_tiny.cuh and eigen/eigen_block.cuh on the host twin: residuals, orthogonality, values against LAPACK's, the same
/// bits in every layout and kernel, hard spectra; nothing else is touched.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "eigen/eigen_block.cuh"
#include "eigen/eigen_plan.hpp"
#include "eigen/eigen_tiny.cuh"
#include "myriad/myriad.hpp"
#include "runtime/views.hpp"
#include "sizes.hpp"
#include "stored.hpp"
#include "tridiagonal_blocks.hpp"

namespace myriad {
namespace {

template <typename T>
constexpr double unit_roundoff = sizeof(Real<T>) == 4 ? 0x1p-24 : 0x1p-53;
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
bool is_nan(T x) {
  return std::isnan(std::real(x)) || std::isnan(std::imag(x));
}

template <typename T>
using EigenKernel = void (*)(EigenArguments<gpu::DeviceElement<T>>);
/// The kernel that reduces matrices for eigen_block
template <typename T>
using Reduction = void (*)(TridiagonalArguments<gpu::DeviceElement<T>>);
template <typename T, int n>
constexpr Reduction<T> reduction = reduce_in_blocks<T, tridiagonal_block_of<T>(n)>;

/// Hermitian matrices with one stored triangle.
template <typename T>
struct Matrices {
  Stored<T> a;
  std::vector<std::int64_t> sizes;
  std::vector<Real<T>> w;
  std::vector<int> info;
  std::vector<T> before;  ///< initial memory of `a`

  /// `element(b, i, j)` gives elements with i >= j.
  template <typename Element>
  Matrices(int n, std::int64_t count, Layout layout, bool ragged, bool lower, Element element) : a(n, n, count, layout) {
    std::fill(a.memory.begin(), a.memory.end(), T(nan_of<T>));
    for (std::int64_t b = 0; ragged && b < count; ++b) sizes.push_back(b == 0 ? n : (b * 5 + 1) % (n + 1));
    if (ragged) a.view.row_sizes = a.view.col_sizes = sizes.data();
    for (std::int64_t b = 0; b < count; ++b)
      for (int j = 0; j < a.view.cols_of(b); ++j)
        for (int i = j; i < a.view.rows_of(b); ++i) {
          T const x = element(b, i, j);
          (lower ? *a.view.at(b, i, j) : *a.view.at(b, j, i)) = lower || i == j ? x : conjugate(x);
        }
    w.assign(static_cast<std::size_t>(n * count), -1);
    info.assign(static_cast<std::size_t>(count), -7);
    before = a.memory;
  }
  Matrices(Matrices const&) = delete;

  [[nodiscard]] Batch<Real<T>> values() {
    Batch<Real<T>> view = vectors(w.data(), a.view.rows, a.view.count);
    view.row_sizes = a.view.row_sizes;
    return view;
  }
  void run(int threads, int shared_bytes, EigenKernel<T> kernel, bool lower) {
    EigenArguments<gpu::DeviceElement<T>> const args{
        .a = gpu::matrices_of(a.view), .w = gpu::matrices_of(values()), .info = info.data(), .lower = lower};
    simt::run(2, threads, shared_bytes, kernel, args);
  }
  void run(EigenTiny const& c, EigenKernel<T> kernel, bool lower, Reduction<T> = nullptr) {
    run(c.threads(), EigenTinyMemory(sizeof(T), sizeof(Real<T>), c).bytes, kernel, lower);
  }
  void run(EigenBlock const& c, EigenKernel<T> kernel, bool lower, Reduction<T> reduce) {
    reduce({.a = gpu::matrices_of(a.view),
            .d = gpu::matrices_of(values()),
            .e = {},
            .tau = {},
            .lower = lower,
            .result = c.vectors() ? TridiagonalResult::vectors : TridiagonalResult::values,
            .above = 32});
    run(c.threads(), EigenBlockMemory(sizeof(T), sizeof(Real<T>), c, static_cast<int>(a.view.rows)).bytes, kernel, lower);
  }
  [[nodiscard]] T was(std::int64_t b, std::int64_t i, std::int64_t j, bool lower) {
    bool const stored = lower ? i >= j : i <= j;
    T const x = before[static_cast<std::size_t>((stored ? a.view.at(b, i, j) : a.view.at(b, j, i)) - a.memory.data())];
    return i == j ? T(std::real(x)) : stored ? x : conjugate(x);
  }
  /// Values and vectors of matrix b.
  [[nodiscard]] std::vector<T> result(std::int64_t b) {
    std::vector<T> out;
    for (int j = 0; j < a.view.cols_of(b); ++j) {
      out.push_back(T(*values().at(b, j, 0)));
      for (int i = 0; i < a.view.rows_of(b); ++i) out.push_back(*a.view.at(b, i, j));
    }
    return out;
  }

  /// Checks residual and orthogonality of matrix b, in the 1-norm. `spacing` of numbers near the values, where it exceeds their rounding
  /// errors.
  void check_vectors(std::int64_t b, bool lower, long double spacing = 0) {
    auto const n = a.view.rows_of(b);
    auto const q = [&](auto i, auto j) { return std::complex<long double>(*a.view.at(b, i, j)); };
    long double norm = 0, residual = 0, orthogonality = 0;
    for (int j = 0; j < n; ++j) {
      long double of_column = 0, of_residual = 0, of_product = 0;
      for (int i = 0; i < n; ++i) {
        std::complex<long double> left = std::complex<long double>(was(b, i, j, lower)), product = i == j ? 1 : 0;
        of_column += std::abs(left);
        for (int k = 0; k < n; ++k) {
          left -= q(i, k) * static_cast<long double>(*values().at(b, k, 0)) * std::conj(q(j, k));
          product -= std::conj(q(k, i)) * q(k, j);
        }
        of_residual += std::abs(left);
        of_product += std::abs(product);
      }
      norm = std::max(norm, of_column);
      ASSERT_TRUE(std::isfinite(of_residual) && std::isfinite(of_product)) << "column " << j;  // std::max would lose a NaN
      residual = std::max(residual, of_residual);
      orthogonality = std::max(orthogonality, of_product);
    }
    auto const allowed = static_cast<long double>(30 * static_cast<double>(n) * unit_roundoff<T>);
    EXPECT_LE(residual, allowed * norm + std::sqrt(static_cast<long double>(n)) * spacing) << "A - Q W Q^H";
    EXPECT_LE(orthogonality, allowed) << "I - Q^H Q";
  }
};

template <typename T, EigenJob job, int n, Layout layout, bool few = false>
constexpr EigenTiny kernel() {
  EigenTiny c = eigen_tiny_plan(job, n, few);
  c.a = layout;
  return layout == Layout::interleaved ? eigen_tiny_interleaved(c, sizeof(T), sizeof(Real<T>)) : c;
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

/// One function per type for all its kernels: a template of the sizes would add much to their compile time.
template <typename T, typename Config>
void check(Config const& c, EigenKernel<T> kernel, int rows, std::int64_t count, Layout layout, bool ragged, bool lower, unsigned seed,
           Reduction<T> reduce = nullptr) {
  SCOPED_TRACE(testing::Message() << rows << " rows, " << c.threads() << " threads, layout " << static_cast<int>(layout)
                                  << (lower ? ", lower" : ", upper") << ", job " << static_cast<int>(c.job) << ", " << sizeof(T)
                                  << " bytes");
  std::int64_t const bad = 1;  // has a NaN
  Matrices<T> m(rows, count, layout, ragged, lower, [&](std::int64_t b, int i, int j) {
    return b == bad && i == m.a.view.rows_of(b) - 1 && j == 0 ? T(nan_of<T>) : random_element<T>(b + 100 * seed, i, j);
  });
  if constexpr (is_complex<T>) m.a.view.conjugated = seed % 2 == 1;
  m.run(c, kernel, lower, reduce);
  Queue cpu({.backend = Backend::cpu, .threads = 1});
  for (std::int64_t b = 0; b < count; ++b) {
    SCOPED_TRACE(testing::Message() << "matrix " << b);
    auto const n = static_cast<int>(m.a.view.rows_of(b));
    if (b == bad) {
      EXPECT_EQ(m.info[static_cast<std::size_t>(b)], n);
      for (auto const x : m.result(b)) EXPECT_TRUE(c.job == EigenJob::values || is_nan(x));
      for (int i = 0; i < n; ++i) EXPECT_TRUE(is_nan(*m.values().at(b, i, 0)));
      continue;
    }
    EXPECT_EQ(m.info[static_cast<std::size_t>(b)], 0);
    std::vector<T> copy(static_cast<std::size_t>(n * n + 1));
    std::vector<Real<T>> expected(static_cast<std::size_t>(n + 1));
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i) copy[static_cast<std::size_t>(i + j * n)] = m.was(b, i, j, lower);
    if (n > 0) syevd<T>(cpu, Job::values, Uplo::lower, batch(copy.data(), n, n), vectors(expected.data(), n, 1), nullptr);
    double norm = 0;
    for (int i = 0; i < n; ++i) norm = std::max(norm, std::abs(static_cast<double>(expected[static_cast<std::size_t>(i)])));
    for (int i = 0; i < n; ++i) {
      double const value = *m.values().at(b, i, 0);
      EXPECT_NEAR(value, expected[static_cast<std::size_t>(i)], 30 * n * unit_roundoff<T> * norm);
      if (i > 0) {
        EXPECT_LE(*m.values().at(b, i - 1, 0), value);
      }
    }
    if (c.vectors()) m.check_vectors(b, lower);
  }
  // Memory outside the matrices keeps its bits; without vectors the other triangle does, and of small matrices all of it.
  std::vector<bool> written(m.before.size());
  for (std::int64_t b = 0; b < count; ++b)
    for (int j = 0; j < m.a.view.cols_of(b); ++j)
      for (int i = 0; i < m.a.view.rows_of(b); ++i)
        if (c.vectors() || (m.a.view.rows_of(b) > 32 && (lower ? i >= j : i <= j)))
          written[static_cast<std::size_t>(m.a.view.at(b, i, j) - m.a.memory.data())] = true;
  for (std::size_t k = 0; k < m.before.size(); ++k)
    if (!written[k]) {
      ASSERT_EQ(std::memcmp(&m.before[k], &m.a.memory[k], sizeof(T)), 0) << "element " << k << " of memory was written";
    }
}

template <typename T, int n, int variant>
void check_variant() {
  constexpr Layout plain = layouts[variant % 5];
  constexpr bool ragged = plain == Layout::columns || (plain == Layout::dense_rows && n % 2 == 0);
  constexpr Layout layout = ragged ? ragged_layout(plain) : plain;
  constexpr EigenJob job = variant % 3 == 2 ? EigenJob::values : EigenJob::vectors;
  constexpr EigenTiny c = kernel<T, job, n, layout, variant / 2 % 2 == 1>();
  std::int64_t const count = 3 * c.matrices + 3;  // two groups per block
  check<T>(c, eigen_tiny<gpu::DeviceElement<T>, c>, n, count, layout, ragged, variant % 2 == 0, variant);
}
/// Layouts, triangles and jobs take turns.
template <typename T, int first, int... sizes>
void check_sizes(std::integer_sequence<int, sizes...>) {
  (check_variant<T, sizes, (sizes + first) % 30>(), ...);
}
TEST(EigenTiny, Single) { check_sizes<float, 0>(kernel_sizes<1, 2, 3, 4, 5, 8, 12, 17, 31>()); }
TEST(EigenTiny, Double) { check_sizes<double, 1>(kernel_sizes<1, 2, 3, 6, 8, 13, 20, 32>()); }
TEST(EigenTiny, ComplexSingle) { check_sizes<std::complex<float>, 2>(kernel_sizes<1, 2, 3, 7, 8, 16, 32>()); }
TEST(EigenTiny, ComplexDouble) { check_sizes<std::complex<double>, 3>(kernel_sizes<1, 2, 3, 4, 9, 11, 31>()); }
TEST(EigenTiny, EveryLayoutTriangleAndJob) {
  [&]<int... variants>(std::integer_sequence<int, variants...>) { (check_variant<std::complex<float>, 6, variants>(), ...); }
  (std::make_integer_sequence<int, 30>{});
}

/// The bits of a matrix do not depend on lanes, the kernel's size or the layout.
template <typename T, int rows = 9>
class SameBits {
 public:
  /// Compares the matrix alone in its own kernels, and among others in kernels for larger ones.
  template <int n, int lanes, Layout layout>
  void compare() {
    constexpr EigenTiny c{.job = EigenJob::vectors, .n = n, .lanes = lanes, .matrices = 32 / lanes, .a = layout};
    SCOPED_TRACE(testing::Message() << n << " rows, " << lanes << " lanes, layout " << static_cast<int>(layout));
    compare(c, eigen_tiny<gpu::DeviceElement<T>, c>, n, layout, matrices(layout, n));
  }
  template <typename Config>
  void compare(Config const& c, EigenKernel<T> kernel, int n, Layout layout, std::int64_t count, Reduction<T> reduce = nullptr) {
    auto const element = [](std::int64_t, int i, int j) { return random_element<T>(77, i, j); };
    Matrices<T> m(n, count, layout, is_ragged(layout), true, element);
    m.run(c, kernel, true, reduce);
    int compared = 0;
    for (std::int64_t b = 0; b < count; ++b) {
      if (m.a.view.rows_of(b) != rows) continue;
      auto const result = m.result(b);
      if (expected_.empty()) expected_ = result;
      EXPECT_EQ(std::memcmp(result.data(), expected_.data(), result.size() * sizeof(T)), 0) << "matrix " << b;
      ++compared;
    }
    EXPECT_GT(compared, 0);
  }
  void compare_all() {
    compare<9, 1, Layout::packed_columns>();
    compare<9, 4, Layout::packed_rows>();
    compare<9, 16, Layout::dense_columns>();
    compare<9, 32, Layout::columns>();
    compare<9, 2, Layout::interleaved>();
    compare<11, 4, Layout::ragged_columns>();
    compare<17, 32, Layout::ragged_rows>();
    constexpr EigenBlock c = eigen_block_plan(EigenJob::vectors, 36);
    compare(c, eigen_block<gpu::DeviceElement<T>, c>, 36, Layout::ragged_columns, matrices(Layout::ragged_columns, 36), reduction<T, 36>);
  }

 private:
  /// A ragged batch has every size if n + 1 is not a multiple of five.
  static std::int64_t matrices(Layout layout, int n) { return is_ragged(layout) ? n + 2 : 3; }

  std::vector<T> expected_;
};
TEST(EigenTiny, SameBitsInEveryKernel) {
  if constexpr (!sanitized) SameBits<double>().compare_all();
  SameBits<std::complex<float>>().compare_all();
}

/// Hard spectra: nothing hangs, and results are as accurate as others.
template <typename T, auto c, int n = c.n>
void check_spectra(EigenKernel<T> kernel, std::vector<bool> const& triangles = {true, false}, int rounds = sanitized ? 1 : 2,
                   Reduction<T> reduce = nullptr) {
  using Limits = std::numeric_limits<Real<T>>;
  constexpr int kinds = 14;
  double const huge = Limits::max() / 4, least = Limits::denorm_min(), u = unit_roundoff<T>;
  auto const element = [&](std::int64_t b, int i, int j) -> T {
    int const kind = static_cast<int>(b % kinds);
    bool const beside = i - j == 1;
    double const random = std::real(random_element<double>(b, i, j));
    switch (kind) {
      case 0:
        return 0;
      case 1:
        return i == j ? 1 : 0;
      case 2:  // all in one direction
        return 1;
      case 3:
        return static_cast<Real<T>>(huge / 8 * std::tanh(random));
      case 4:  // denormal numbers, of one or two bits and of many
        return static_cast<Real<T>>(least * std::round((b < kinds ? 3 : 3000) * random));
      case 5:  // Wilkinson
        return static_cast<Real<T>>(i == j ? std::abs((n - 1) / 2.0 - i) : beside ? 1 : 0);
      case 6:  // graded, one way and the other
        return static_cast<Real<T>>(std::exp2(-3.0 * (i + j)) * random);
      case 7:
        return static_cast<Real<T>>(std::exp2(-3.0 * (2 * n - i - j)) * random);
      case 8:  // a tight cluster
        return static_cast<Real<T>>((i == j ? 1 : 0) + 3 * u * random);
      case 9:  // zero diagonal, values in pairs of both signs
        return beside ? 1 : 0;
      case 10:  // diagonal, descending
        return i == j ? static_cast<Real<T>>(n - i) : 0;
      case 11:  // tiny beside one
        return static_cast<Real<T>>(i == n / 2 && j == n / 2 ? 1 : Limits::min() * random);
      case 12:  // decouples in the middle
        return i >= n / 2 && j < n / 2 ? T(0) : random_element<T>(b, i, j);
      default:  // an arrow
        return static_cast<Real<T>>(i == j ? 1 : j == 0 ? 1e-3 : 0);
    }
  };
  int const count = rounds * kinds;
  for (bool const lower : triangles) {
    Matrices<T> m(n, count, Layout::packed_columns, false, lower, element);
    m.run(c, kernel, lower, reduce);
    for (std::int64_t b = 0; b < count; ++b) {
      SCOPED_TRACE(testing::Message() << n << " rows, kind " << b % kinds << ", " << sizeof(T) << " bytes");
      EXPECT_EQ(m.info[static_cast<std::size_t>(b)], 0);
      m.check_vectors(b, lower, b % kinds == 4 ? least : 0);
      for (int i = 1; i < n; ++i) EXPECT_LE(*m.values().at(b, i - 1, 0), *m.values().at(b, i, 0));
    }
  }
}
template <typename T, int n, bool few = false>
void check_spectra_of_tiny() {
  constexpr EigenTiny c = kernel<T, EigenJob::vectors, n, Layout::packed_columns, few>();
  check_spectra<T, c>(eigen_tiny<gpu::DeviceElement<T>, c>);
}
TEST(EigenTiny, HardSpectra) {
  check_spectra_of_tiny<double, 2>();
  check_spectra_of_tiny<double, 5>();
  check_spectra_of_tiny<float, 12>();
  check_spectra_of_tiny<std::complex<double>, 7>();
  check_spectra_of_tiny<std::complex<float>, 20>();
  check_spectra_of_tiny<double, 32>();
  check_spectra_of_tiny<double, 16, true>();
  check_spectra_of_tiny<std::complex<double>, 9, true>();
  check_spectra_of_tiny<float, 32, true>();
}

/// One matrix per block.
template <typename T, EigenJob job, EigenAccess access, int n>
void check_block(Layout layout, bool ragged, bool lower, std::int64_t count = 3) {
  constexpr EigenBlock c{.job = job, .n = eigen_block_plan(job, n).n, .access = access};
  check<T>(c, eigen_block<gpu::DeviceElement<T>, c>, n, count, layout, ragged, lower, n, reduction<T, n>);
}
TEST(EigenBlock, LayoutsTrianglesAndJobs) {
  check_block<double, EigenJob::vectors, EigenAccess::columns, 33>(Layout::packed_columns, false, true);
  check_block<float, EigenJob::values, EigenAccess::rows, 40>(Layout::dense_rows, false, false);
  check_block<std::complex<double>, EigenJob::vectors, EigenAccess::rows, 37>(Layout::ragged_rows, true, true);
  if (sanitized) return;
  check_block<double, EigenJob::values, EigenAccess::columns, 50>(Layout::ragged_columns, true, false);
  check_block<float, EigenJob::vectors, EigenAccess::rows, 64>(Layout::packed_rows, false, true);
  check_block<std::complex<float>, EigenJob::vectors, EigenAccess::columns, 45>(Layout::interleaved, false, false);
  check_block<double, EigenJob::vectors, EigenAccess::columns, 70>(Layout::ragged_columns, true, false);
  check_block<double, EigenJob::vectors, EigenAccess::columns, 141>(Layout::packed_columns, false, true, 1);
  check_block<std::complex<double>, EigenJob::values, EigenAccess::columns, 97>(Layout::columns, false, true);
}
/// The bits of a matrix with more than 32 rows are the same in kernels for larger ones.
TEST(EigenBlock, SameBitsInEveryKernel) {
  if (sanitized) GTEST_SKIP() << "the same code as of one kernel";
  SameBits<double, 36> bits;
  constexpr EigenBlock small = eigen_block_plan(EigenJob::vectors, 36), large = eigen_block_plan(EigenJob::vectors, 130);
  bits.compare(small, eigen_block<double, small>, 36, Layout::packed_columns, 1, reduction<double, 36>);
  bits.compare(large, eigen_block<double, large>, 130, Layout::ragged_columns, 8,
               reduction<double, 130>);  // the last matrix is the compared one
}
TEST(EigenBlock, HardSpectra) {
  constexpr EigenBlock c = eigen_block_plan(EigenJob::vectors, 64);
  check_spectra<double, c, 33>(eigen_block<double, c>, {true}, 1, reduction<double, 33>);
  if (sanitized) return;
  check_spectra<std::complex<float>, c, 33>(eigen_block<gpu::DeviceElement<std::complex<float>>, c>, {false}, 1,
                                            reduction<std::complex<float>, 33>);
}

/// No matrix is known that needs more than the maximum of sweeps, so this test allows fewer: info reports matrices that are not diagonal by
/// then, and others of the warp get the results of all sweeps.
template <int sweeps>
void check_giving_up(std::array<int, 4> const& least_info, std::array<int, 4> const& most_info) {
  using T = double;
  constexpr int n = 8;
  constexpr EigenTiny all = kernel<T, EigenJob::vectors, n, Layout::packed_columns>();
  constexpr EigenTiny fewer = [](EigenTiny c) { return c.most_sweeps = sweeps, c; }(all);
  auto const element = [](std::int64_t b, int i, int j) -> T {
    bool const is_there = b % 4 == 0   ? true
                          : b % 4 == 1 ? i == j
                          : b % 4 == 2 ? i < n / 2 || j >= n / 2  // decouples in the middle
                                       : i == j || (i == 1 && j == 0);
    return is_there ? random_element<T>(b, i, j) : T(0);
  };
  Matrices<T> expected(n, all.matrices, all.a, false, true, element), m(n, all.matrices, all.a, false, true, element);
  expected.run(all, eigen_tiny<T, all>, true);
  m.run(fewer, eigen_tiny<T, fewer>, true);
  for (std::int64_t b = 0; b < all.matrices; ++b) {
    SCOPED_TRACE(testing::Message() << sweeps << " sweeps for each row, matrix " << b);
    int const info = m.info[static_cast<std::size_t>(b)];
    EXPECT_EQ(expected.info[static_cast<std::size_t>(b)], 0);
    EXPECT_GE(info, least_info[static_cast<std::size_t>(b % 4)]);
    EXPECT_LE(info, most_info[static_cast<std::size_t>(b % 4)]);
    if (info == 0) {
      EXPECT_EQ(m.result(b), expected.result(b));
    }
  }
}
TEST(EigenTiny, GivesUp) {
  check_giving_up<0>({7, 0, 6, 1}, {7, 0, 6, 1});  // info counts all elements beside the diagonal
  check_giving_up<1>({1, 0, 0, 0}, {6, 0, 5, 0});
}

/// info reports a matrix with infinity anywhere in its triangle, and its neighbours have the same bits as without it.
TEST(EigenTiny, InfinityHarmsNoNeighbour) {
  using T = double;
  constexpr int n = 10;
  constexpr EigenTiny c = kernel<T, EigenJob::vectors, n, Layout::packed_columns>();
  Matrices<T> good(n, c.matrices, c.a, false, true, random_element<T>);
  good.run(c, eigen_tiny<T, c>, true);
  for (auto const& [row, column] : {std::pair{0, 0}, {n - 1, n - 1}, {n - 1, 0}, {5, 4}}) {
    Matrices<T> m(n, c.matrices, c.a, false, true, [&](std::int64_t b, int i, int j) {
      return b == 1 && i == row && j == column ? -std::numeric_limits<T>::infinity() : random_element<T>(b, i, j);
    });
    m.run(c, eigen_tiny<T, c>, true);
    EXPECT_EQ(m.info[1], n);
    for (T const x : m.result(1)) EXPECT_TRUE(std::isnan(x));
    for (std::int64_t b = 0; b < c.matrices; ++b)
      if (b != 1) {
        EXPECT_EQ(m.result(b), good.result(b));
      }
  }
}

}  // namespace
}  // namespace myriad
