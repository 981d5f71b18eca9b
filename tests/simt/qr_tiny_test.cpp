/// Kernels of qr/qr_tiny.cuh on the host twin: against the definition, and against the CPU's results.

#include "qr/qr_tiny.cuh"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "myriad/myriad.hpp"
#include "qr/qr_tiny_plan.hpp"
#include "runtime/views.hpp"
#include "sizes.hpp"

namespace myriad {
namespace {

using simt::Layout;

constexpr std::array jobs{QrJob::factor, QrJob::least_squares, QrJob::minimum_norm, QrJob::apply, QrJob::apply_adjoint, QrJob::generate};
/// The layouts that the kernels see are transposed.
constexpr std::array layouts{Layout::packed_rows, Layout::interleaved, Layout::packed_columns, Layout::dense_columns, Layout::rows};

template <typename T>
constexpr QrTiny kernel(QrJob job, int m, int n, Layout layout) {
  bool const has_columns = job != QrJob::factor && job != QrJob::generate;
  bool const applies = job == QrJob::apply || job == QrJob::apply_adjoint;
  int const reflectors = job == QrJob::generate || applies ? std::min({m, n, 1 + (m + n) % 32}) : std::min(m, n);
  QrTiny c = qr_tiny_plan(job, dtype_of<T>, m, n, reflectors, !has_columns ? 0 : applies ? 1 + (m * 5 + n) % 32 : 1 + n % 3);
  c.a = c.c = layout == Layout::rows ? Layout::ragged_rows : layout;
  c.tau = layout == Layout::packed_rows ? Layout::packed_columns : layout == Layout::interleaved ? Layout::interleaved : Layout::columns;
  return c;
}

constexpr Layout transposed(Layout layout) {
  switch (layout) {
    case Layout::packed_columns:
      return Layout::packed_rows;
    case Layout::packed_rows:
      return Layout::packed_columns;
    case Layout::dense_columns:
      return Layout::dense_rows;
    case Layout::rows:
      return Layout::columns;
    default:
      return layout;
  }
}

/// A batch with its memory.
template <typename T>
struct Stored {
  std::vector<T> memory;
  std::vector<std::int64_t> row_sizes, col_sizes;
  Batch<T> view;

  Stored(int m, int n, std::int64_t count, Layout transposed_layout) : memory(static_cast<std::size_t>((m * n + 1) * count + 8)) {
    switch (transposed_layout) {
      case Layout::interleaved:
        view = interleaved(memory.data(), m, n, count);
        break;
      case Layout::packed_columns:
        view = row_major(memory.data(), m, n, {.count = count});
        break;
      case Layout::columns:
      case Layout::dense_columns:
        view = row_major(memory.data() + 1, m, n, {.stride = m * n + 1, .count = count});
        break;
      case Layout::rows:
      case Layout::dense_rows:
        view = batch(memory.data() + 1, m, n, {.stride = m * n + 1, .count = count});
        break;
      case Layout::packed_rows:
        view = batch(memory.data(), m, n, {.count = count});
        break;
      default:
        break;
    }
    view.conjugated = is_complex<T> && transposed_layout != Layout::packed_rows;
  }
  T get(std::int64_t q, std::int64_t i, std::int64_t j) const {
    T const x = *view.at(q, i, j);
    if constexpr (is_complex<T>) return view.conjugated ? std::conj(x) : x;
    return x;
  }
  void set(std::int64_t q, std::int64_t i, T x) {
    if constexpr (is_complex<T>) x = view.conjugated ? std::conj(x) : x;
    *view.at(q, i, 0) = x;
  }
  /// A copy with its own memory.
  Stored copy() const {
    Stored other = *this;
    other.view.data = other.memory.data() + (view.data - memory.data());
    if (view.row_sizes) other.view.row_sizes = other.row_sizes.data();
    if (view.col_sizes) other.view.col_sizes = other.col_sizes.data();
    return other;
  }
};

template <typename T>
using QrKernel = void (*)(QrTinyArguments<gpu::DeviceElement<T>>);

/// One function per type for all its kernels: a template of the sizes would add much to their compile time.
template <typename T>
void check(QrTiny const& c, QrKernel<T> kernel, Layout layout, unsigned seed, Real<T> scale) {
  int const m = c.m, n = c.n;
  QrJob const job = c.job;
  std::int64_t const count = 2 * c.matrices + 1;
  std::mt19937 random(seed);
  std::normal_distribution<Real<T>> normal;
  auto const number = [&] {
    if constexpr (is_complex<T>)
      return T(normal(random), normal(random));
    else
      return normal(random);
  };
  // For a minimum norm the conjugate transpose of A is factored.
  bool const wide = job == QrJob::minimum_norm;
  Stored<T> a(wide ? n : m, wide ? m : n, count, wide ? transposed(layout) : layout);
  ASSERT_TRUE(!wide || m > n);
  Stored<T> b(m, std::max(c.columns, 1), count, layout);
  Stored<T> tau(std::max(c.reflectors, 1), 1, count,
                c.tau == Layout::packed_columns ? Layout::packed_rows
                : c.tau == Layout::columns      ? Layout::rows
                                                : c.tau);
  for (auto* v : {&a.memory, &b.memory, &tau.memory}) std::generate(v->begin(), v->end(), number);
  for (T& x : a.memory) x *= scale;
  // A zero column, which makes R singular; columns with nothing to eliminate; NaN.
  bool const special = c.factors();
  if (special) {
    for (int i = 0; i < m; ++i) {
      *(wide ? a.view.at(1, n - 1, i) : a.view.at(1, i, n - 1)) = T(0);
      for (int j = 0; j < n; ++j)
        if (i > j) *(wide ? a.view.at(2, j, i) : a.view.at(2, i, j)) = T(0);
    }
    *a.view.at(3 % count, 0, 0) = std::numeric_limits<Real<T>>::quiet_NaN();
  }
  bool const ragged = layout == Layout::rows;
  if (ragged) {
    for (std::int64_t q = 0; q < count; ++q) {
      std::int64_t const rows = q < 4 ? m : q * 7 % (m + 1);
      std::int64_t const cols = q < 4 ? n : job == QrJob::generate ? std::min<std::int64_t>(rows, q % (n + 1)) : q % (n + 1);
      a.row_sizes.push_back(wide ? cols : rows);
      a.col_sizes.push_back(wide ? rows : cols);
      b.row_sizes.push_back(c.solves() ? std::max(rows, cols) : rows);
      tau.row_sizes.push_back(std::min<std::int64_t>({c.reflectors, rows, cols}));
    }
    a.view.row_sizes = a.row_sizes.data();
    a.view.col_sizes = a.col_sizes.data();
    b.view.row_sizes = b.row_sizes.data();
    tau.view.row_sizes = tau.row_sizes.data();
  }
  if (c.applies() || job == QrJob::generate) {
    Queue cpu({.backend = Backend::cpu, .threads = 1});
    Stored<T> made(std::min(m, n), 1, count, Layout::packed_rows);
    geqrf<T>(cpu, a.view, made.view);
    for (std::int64_t q = 0; q < count; ++q)
      for (int k = 0; k < tau.view.rows_of(q); ++k) tau.set(q, k, made.get(q, k, 0));
  }
  std::vector<int> info(static_cast<std::size_t>(count), -7), expected_info(info.size());
  Stored<T> const a_in = a.copy(), b_in = b.copy();
  Stored<T> a_cpu = a.copy(), b_cpu = b.copy(), tau_cpu = tau.copy();

  auto const run = [&] {
    QrTinyArguments<gpu::DeviceElement<T>> const args{.a = gpu::matrices_of(wide ? conjugated(a.view) : transposed(a.view)),
                                                      .c = gpu::matrices_of(transposed(b.view)),
                                                      .tau = gpu::matrices_of(tau.view),
                                                      .info = info.data(),
                                                      .keeps_a = false};
    simt::run(2, c.threads(), QrTinyMemory(sizeof(T), c).bytes, kernel, args);
  };
  run();

  Queue cpu({.backend = Backend::cpu, .threads = 1});
  switch (job) {
    case QrJob::factor:
      geqrf<T>(cpu, a_cpu.view, tau_cpu.view);
      break;
    case QrJob::apply:
    case QrJob::apply_adjoint:
      ormqr<T>(cpu, Side::left, job == QrJob::apply ? Op::none : Op::conjugate_transpose, columns(a_cpu.view, 0, n), tau_cpu.view,
               b_cpu.view);
      break;
    case QrJob::generate:
      orgqr<T>(cpu, a_cpu.view, tau_cpu.view);
      break;
    default:
      gels<T>(cpu, a_cpu.view, b_cpu.view, expected_info.data());
  }

  double const u = sizeof(Real<T>) == 4 ? 0x1p-24 : 0x1p-53;
  for (std::int64_t q = 0; q < count; ++q) {
    SCOPED_TRACE(testing::Message() << "matrix " << q << " of " << m << " by " << n << ", job " << static_cast<int>(job) << ", layout "
                                    << static_cast<int>(layout));
    bool const tall = a.view.rows_of(q) >= a.view.cols_of(q);
    if (c.solves() && tall == wide) {  // the other kernel takes these
      ASSERT_EQ(info[static_cast<std::size_t>(q)], -7);
      for (int j = 0; j < b.view.cols_of(q); ++j)
        for (int i = 0; i < b.view.rows_of(q); ++i) ASSERT_EQ(b.get(q, i, j), b_in.get(q, i, j));
      continue;
    }
    if (special && q == 3 % count && a.view.rows_of(q) > 0 && a.view.cols_of(q) > 0) {
      bool trace = false;
      for (int i = 0; i < a.view.rows_of(q); ++i)
        for (int j = 0; j < a.view.cols_of(q); ++j) trace = trace || std::isnan(std::abs(a.get(q, i, j)));
      ASSERT_TRUE(trace);
      continue;
    }
    auto const same = [&](Stored<T> const& x, Stored<T> const& y, char const* what, double slack) {
      double size = 0;
      for (int i = 0; i < y.view.rows_of(q); ++i)
        for (int j = 0; j < y.view.cols_of(q); ++j) size = std::max(size, static_cast<double>(std::abs(y.get(q, i, j))));
      for (int i = 0; i < y.view.rows_of(q); ++i)
        for (int j = 0; j < y.view.cols_of(q); ++j) {
          ASSERT_LE(static_cast<double>(std::abs(x.get(q, i, j) - y.get(q, i, j))), slack * u * size) << what << i << "," << j;
        }
    };
    double const slack = 200.0 * m * (c.factors() ? 100 : 1);  // factors of nearly rank-deficient matrices differ
    bool const singular = c.factors() && q == 1;
    if (c.solves()) {
      ASSERT_EQ(info[static_cast<std::size_t>(q)], expected_info[static_cast<std::size_t>(q)]);
    }
    if (c.writes_a()) same(a, a_cpu, "A ", slack);
    if (job == QrJob::factor && !singular) same(tau, tau_cpu, "tau ", slack);
    if (c.has_columns() && info[static_cast<std::size_t>(q)] != 0 && c.solves()) same(b, b_in, "B ", 0);
    if (c.applies()) same(b, b_cpu, "C ", slack);
    if (job == QrJob::factor) {
      // Q R from the reflectors is A.
      std::int64_t const rows = a.view.rows_of(q), cols = a.view.cols_of(q);
      for (int j = 0; j < cols; ++j) {
        std::vector<std::complex<double>> y(static_cast<std::size_t>(rows));
        double size = 0;
        for (int i = 0; i < rows; ++i) {
          y[static_cast<std::size_t>(i)] = i <= j ? std::complex<double>(a.get(q, i, j)) : 0;
          size += static_cast<double>(std::abs(a_in.get(q, i, j)));
        }
        for (std::int64_t k = std::min(rows, cols) - 1; k >= 0; --k) {
          std::complex<double> product = y[static_cast<std::size_t>(k)];
          for (std::int64_t i = k + 1; i < rows; ++i)
            product += std::conj(std::complex<double>(a.get(q, i, k))) * y[static_cast<std::size_t>(i)];
          product *= std::complex<double>(tau.get(q, k, 0));
          y[static_cast<std::size_t>(k)] -= product;
          for (std::int64_t i = k + 1; i < rows; ++i) y[static_cast<std::size_t>(i)] -= product * std::complex<double>(a.get(q, i, k));
        }
        for (int i = 0; i < rows; ++i) {
          ASSERT_LE(std::abs(y[static_cast<std::size_t>(i)] - std::complex<double>(a_in.get(q, i, j))), 30 * m * u * size) << i << "," << j;
        }
      }
    }
    if (c.solves() && info[static_cast<std::size_t>(q)] == 0) {
      // A^H (B - A X) is zero, and for a minimum norm B - A X.
      std::int64_t const rows = a.view.rows_of(q), cols = a.view.cols_of(q);
      for (int j = 0; j < b.view.cols_of(q); ++j) {
        std::vector<std::complex<double>> r(static_cast<std::size_t>(rows));
        double size = 0;
        for (int i = 0; i < rows; ++i) {
          r[static_cast<std::size_t>(i)] = b_in.get(q, i, j);
          size = std::max(size, std::abs(r[static_cast<std::size_t>(i)]));
          for (int k = 0; k < cols; ++k) {
            r[static_cast<std::size_t>(i)] -= std::complex<double>(a_in.get(q, i, k)) * std::complex<double>(b.get(q, k, j));
            size = std::max(size, static_cast<double>(std::abs(a_in.get(q, i, k)) * std::abs(b.get(q, k, j))));
          }
          if (wide) {
            ASSERT_LE(std::abs(r[static_cast<std::size_t>(i)]), 200 * m * u * size);
          }
        }
        for (int k = 0; k < cols && !wide; ++k) {
          std::complex<double> sum = 0;
          double norm = 0;
          for (int i = 0; i < rows; ++i) {
            sum += std::conj(std::complex<double>(a_in.get(q, i, k))) * r[static_cast<std::size_t>(i)];
            norm += static_cast<double>(std::abs(a_in.get(q, i, k)));
          }
          ASSERT_LE(std::abs(sum), 200 * m * u * size * std::max(norm, 1e-300));
        }
      }
      if (wide && q != 1) same(b, b_cpu, "X ", slack * 100);
    }
  }
}

template <typename T, int m, int n, int variant>
void check(Real<T> scale = 1) {
  constexpr Layout layout = layouts[variant % 5];
  constexpr QrTiny c = kernel<T>(jobs[variant / 5 % 6], m, n, layout);
  check<T>(c, qr_tiny<gpu::DeviceElement<T>, c>, layout, variant, scale);
}

constexpr bool is_wide(int variant) { return jobs[variant / 5 % 6] == QrJob::minimum_norm; }

/// Sizes on both sides of every change of the plan; jobs and layouts take turns.
template <typename T, int first, int... sizes>
void check_sizes(std::integer_sequence<int, sizes...>) {
  // Minimum norm needs a matrix that is not square.
  (check<T, std::min(sizes + is_wide(sizes * 7 + first), 32), std::min(sizes, 32 - is_wide(sizes * 7 + first)), (sizes * 7 + first) % 30>(),
   ...);
}

TEST(QrTiny, Single) { check_sizes<float, 0>(kernel_sizes<1, 2, 4, 8, 9, 17, 25, 32>()); }
TEST(QrTiny, Double) { check_sizes<double, 5>(kernel_sizes<1, 3, 4, 5, 8, 9, 13, 17, 24, 32>()); }
TEST(QrTiny, ComplexSingle) { check_sizes<std::complex<float>, 11>(kernel_sizes<1, 4, 7, 10, 16, 21, 32>()); }
TEST(QrTiny, ComplexDouble) { check_sizes<std::complex<double>, 16>(kernel_sizes<1, 2, 5, 9, 13, 25>()); }
TEST(QrTiny, EveryJob) {
  [&]<int... jobs>(std::integer_sequence<int, jobs...>) {
    (check<double, 7, 6, 5 * jobs + 2 * jobs % 5>(), ...);
    if constexpr (!sanitized) (check<double, 7, 6, 5 * jobs + (2 * jobs + 3) % 5>(), ...);
  }
  (std::make_integer_sequence<int, 6>{});
}
TEST(QrTiny, EveryJobAcrossLanes) {
  [&]<int... jobs>(std::integer_sequence<int, jobs...>) {
    (check<std::complex<double>, 11, 9, 5 * jobs + jobs % 5>(), ...);
    (check<std::complex<float>, 13, 5, 5 * jobs + 4>(), ...);
  }
  (std::make_integer_sequence<int, 6>{});
}
TEST(QrTiny, Rectangular) {
  check<double, 7, 3, 0>();
  check<double, 3, 7, 2>();
  check<float, 20, 13, 1>();
  check<float, 13, 20, 3>();
  check<double, 32, 3, 5>();
  check<double, 31, 2, 11>();
  check<std::complex<double>, 12, 9, 4>();
  check<std::complex<float>, 5, 32, 4>();
  check<float, 32, 9, 13>();
}
/// Sums of squares that overflow or vanish.
TEST(QrTiny, UnusualMagnitudes) {
  check<double, 6, 6, 0>(0x1p-600);
  check<double, 13, 13, 0>(0x1p-1000);
  check<double, 13, 13, 1>(0x1p1000);
  check<double, 5, 5, 3>(0x1p1000);
  check<float, 10, 10, 0>(0x1p-110F);
  check<float, 7, 7, 1>(0x1p110F);
  check<std::complex<double>, 10, 10, 2>(0x1p-900);
  check<std::complex<float>, 9, 9, 3>(0x1p100F);
}

}  // namespace
}  // namespace myriad
