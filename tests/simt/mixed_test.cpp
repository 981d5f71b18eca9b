/// Systems by factors in single precision on the host twin: batches that mix matrices which converge and which do not, in every layout,
/// conjugated views and ragged batches, against the plain routines.

#include "mixed/mixed.cuh"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <vector>

#include "blocked/copy_matrices.cuh"
#include "mixed/mixed_blocked.hpp"
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

/// Solves on the CPU.
template <typename T>
struct Solvers {
  using S = SingleOf<T>;
  bool hermitian;
  void factor(Batch<S> const& a, Batch<int> const& pivots, int* info) {
    hermitian ? potrf(cpu_queue(), Uplo::lower, a, info) : getrf(cpu_queue(), a, pivots, info);
  }
  void solve(Batch<S const> const& a, Batch<int const> const& pivots, Batch<S> const& y) {
    hermitian ? potrs<S>(cpu_queue(), Uplo::lower, a, y) : getrs<S>(cpu_queue(), Op::none, a, pivots, y);
  }
  void solve_in_double(Batch<T> const& a, Batch<int> const& pivots, Batch<T> const& x, int* info) {
    hermitian ? posv(cpu_queue(), Uplo::lower, a, x, info) : gesv(cpu_queue(), a, pivots, x, info);
  }
};

template <typename T>
void run_on_twin(MixedTask<T> const& task) {
  using D = gpu::DeviceElement<T>;
  HostMachine machine;
  machine.add(gpu::source_of(mixed_narrow_kernel, dtype_of<T>), mixed_narrow<D>);
  machine.add(gpu::source_of(mixed_step_kernel, dtype_of<T>), mixed_step<D>);
  machine.add(gpu::source_of(mixed_residuals_kernel, dtype_of<T>), mixed_residuals<D>);
  machine.add(gpu::source_of(mixed_judge_kernel, dtype_of<T>), mixed_judge<D>);
  machine.add(gpu::source_of(copy_matrices_kernel, dtype_of<T>), copy_matrices<D>);
  solve_mixed_blocked(machine, task, Solvers<T>{task.hermitian});
}

/// The matrices of a batch
enum Kind : int { good, conditioned, large, singular, nan, large_right_side, converges_late, last_good, kinds };

/// A batch of every kind in some layout; the other triangle of a Hermitian matrix is NaN.
template <typename T>
struct Problem {
  using R = Real<T>;
  static constexpr std::int64_t count = kinds;
  int n, nrhs;
  bool hermitian;
  Stored<T> a, b, x;
  std::vector<std::int64_t> sizes, columns;
  std::vector<int> pivots, iter, info;

  Problem(int order, int right, bool is_hermitian, Layout layout, bool ragged, bool turned)
      : n(order),
        nrhs(right),
        hermitian(is_hermitian),
        a(n, n, count, layout),
        b(n, nrhs, count, layout),
        x(n, nrhs, count, layout),
        pivots(static_cast<std::size_t>(n * count), -5),
        iter(count, -77),
        info(count, -77) {
    fill(x.memory, 3);
    for (std::int64_t q = 0; q < count; ++q) {
      sizes.push_back(!ragged || q < 4 ? n : q == good ? n : q == last_good ? n / 2 : q == nan ? n : n - 1);
      columns.push_back(!ragged || q % 2 == 0 ? nrhs : std::max(nrhs - 1, 0));
    }
    if (ragged) {
      sizes[last_good] = 0;
      sizes[large_right_side] = n;
      columns[large_right_side] = nrhs;
      a.view.row_sizes = a.view.col_sizes = b.view.row_sizes = x.view.row_sizes = sizes.data();
      b.view.col_sizes = x.view.col_sizes = columns.data();
    }
    for (std::int64_t q = 0; q < count; ++q) make(static_cast<Kind>(q));
    if (turned) {
      if (hermitian) {  // as entry points have them
        b.view = conjugated(b.view);
      } else {
        b.view = conjugated(b.view), x.view = conjugated(x.view);
      }
    }
  }

  void make(Kind kind) {
    std::int64_t const m = sizes[static_cast<std::size_t>(kind)];
    std::vector<T> random(static_cast<std::size_t>(n * n + n * nrhs));
    fill(random, 10 + static_cast<unsigned>(kind));
    auto const at = [&](std::int64_t i, std::int64_t j) -> T& { return *a.view.at(kind, i, j); };
    for (std::int64_t j = 0; j < m; ++j)
      for (std::int64_t i = 0; i < m; ++i) {
        T value = random[static_cast<std::size_t>(i + j * n)];
        if (hermitian) {
          if (i < j) {
            at(i, j) = std::numeric_limits<R>::quiet_NaN();
            continue;
          }
          value /= static_cast<R>(2 * n);
        }
        if (i == j) value = hermitian ? T(R(2) + std::abs(value)) : value + T(static_cast<R>(n));
        at(i, j) = value;
      }
    for (std::int64_t c = 0; c < b.view.cols_of(kind); ++c)
      for (std::int64_t i = 0; i < m; ++i) *b.view.at(kind, i, c) = random[static_cast<std::size_t>(n * n + i + c * n)];
    if (m == 0) return;
    std::int64_t const last = m - 1;
    switch (kind) {
      case conditioned:  // the last two rows nearly agree
        if (m == 1) return;
        for (std::int64_t j = 0; j < m; ++j) {
          if (!hermitian) at(last, j) = at(last - 1, j) * (R(1) + (j % 2 == 0 ? R(1e-11) : R(-1e-11)));
          if (hermitian && j < last) at(last, j) = j == last - 1 ? T(std::real(at(last - 1, j))) : at(last - 1, j);
        }
        if (hermitian) at(last, last) = T(std::real(at(last - 1, last - 1)) * (R(1) + R(1e-11)));
        return;
      case large:
        at(last, m / 2) *= R(1e200);
        if (hermitian) at(last, last) = R(1e300);
        return;
      case singular:
        for (std::int64_t i = 0; i < m; ++i)
          if (!hermitian || i >= m / 2) at(i, m / 2) = T(0);
        if (hermitian) at(m / 2, m / 2) = T(-1);
        return;
      case nan:
        at(last, 0) = std::numeric_limits<R>::quiet_NaN();
        return;
      case large_right_side:
        if (b.view.cols_of(kind) > 0) *b.view.at(kind, last, b.view.cols_of(kind) - 1) = T(R(1e60));
        return;
      case converges_late:
        if (m == 1) return;
        for (std::int64_t j = 0; j < m; ++j) {
          if (!hermitian) at(last, j) = at(last - 1, j) * (R(1) + (j % 2 == 0 ? R(3e-4) : R(-3e-4)));
          if (hermitian && j < last) at(last, j) = j == last - 1 ? T(std::real(at(last - 1, j))) : at(last - 1, j);
        }
        if (hermitian) at(last, last) = T(std::real(at(last - 1, last - 1)) * (R(1) + R(1e-3)));
        return;
      default:
        return;
    }
  }
  [[nodiscard]] MixedTask<T> task(bool with_pivots) {
    return {.a = a.view,
            .pivots = with_pivots && !hermitian ? vectors(pivots.data(), n, count) : Batch<int>{},
            .b = b.view,
            .x = x.view,
            .iter = iter.data(),
            .info = info.data(),
            .hermitian = hermitian};
  }
};

template <typename T>
Batch<T> alone(Batch<T> const& x, std::int64_t q) {
  return matrices(x, q, 1);
}

template <typename T>
bool same_bits(T const& x, T const& y) {
  return std::memcmp(&x, &y, sizeof(T)) == 0;
}
/// Whether the elements of a matrix, of its lower triangle or outside that, have the same bits.
template <typename T>
bool same_matrix(Batch<T const> const& x, Batch<T const> const& y, std::int64_t q) {
  for (std::int64_t j = 0; j < x.cols_of(q); ++j)
    for (std::int64_t i = 0; i < x.rows_of(q); ++i)
      if (!same_bits(*x.at(q, i, j), *y.at(q, i, j))) return false;
  return true;
}

/// Whether max |b - A x| of every column is what refinement promises, but for the rounding errors of that residual.
template <typename T>
bool is_refined(Problem<T> const& p, Batch<T const> const& a, std::int64_t q) {
  using W = std::complex<long double>;
  auto const wide = [](Batch<T const> const& v, std::int64_t b, std::int64_t i, std::int64_t j) {
    W const value(*v.at(b, i, j));
    return v.conjugated ? std::conj(value) : value;
  };
  std::int64_t const n = a.rows_of(q);
  auto const element = [&](std::int64_t i, std::int64_t j) {
    if (!p.hermitian) return wide(a, q, i, j);
    return i >= j ? wide(a, q, i, j) : std::conj(wide(a, q, j, i));
  };
  long double norm = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    long double sum = 0;
    for (std::int64_t j = 0; j < n; ++j) sum += std::abs(element(i, j));
    norm = std::max(norm, sum);
  }
  for (std::int64_t c = 0; c < p.x.view.cols_of(q); ++c) {
    long double residual = 0, size = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      W sum = wide(p.b.view, q, i, c);
      for (std::int64_t j = 0; j < n; ++j) sum -= element(i, j) * wide(p.x.view, q, j, c);
      residual = std::max(residual, std::abs(sum));
      size = std::max(size, std::abs(wide(p.x.view, q, i, c)));
    }
    long double const order = static_cast<long double>(n);
    if (!(residual <= 2 * (std::sqrt(order) + order) * 0x1p-53L * norm * size)) return false;
  }
  return true;
}

template <typename T>
class MixedPrecision : public testing::Test {};
using Types = testing::Types<double, std::complex<double>>;
TYPED_TEST_SUITE(MixedPrecision, Types);

TYPED_TEST(MixedPrecision, EveryKindInOneBatch) {
  using T = TypeParam;
  unsigned turn = 0;
  for (int const n : sanitized ? std::vector{35} : std::vector{1, 7, 33, 70})
    for (int const nrhs : sanitized ? std::vector{2} : std::vector{0, 1, 3, 9})
      for (bool const hermitian : {false, true})
        for (bool const ragged : {false, true}) {
          Layout layout = layouts[++turn % layouts.size()];
          if (ragged) layout = ragged_layout(layout == Layout::interleaved ? Layout::columns : layout);
          bool const with_pivots = turn % 3 != 0, turned = turn % 4 == 1;
          SCOPED_TRACE(testing::Message() << n << " rows, " << nrhs << " columns, layout " << static_cast<int>(layout)
                                          << (hermitian ? ", hermitian" : "") << (ragged ? ", ragged" : "") << (turned ? ", turned" : ""));
          Problem<T> p(n, nrhs, hermitian, layout, ragged, turned);
          auto const former_a = p.a.memory, former_b = p.b.memory, former_x = p.x.memory;
          // The results of the plain routine
          Problem<T> plain(n, nrhs, hermitian, layout, ragged, turned);
          for (std::int64_t q = 0; q < p.count; ++q)
            for (std::int64_t c = 0; c < plain.x.view.cols_of(q); ++c)
              for (std::int64_t i = 0; i < plain.x.view.rows_of(q); ++i) {
                T value = *plain.b.view.at(q, i, c);
                if constexpr (is_complex<T>)
                  if (plain.b.view.conjugated != plain.x.view.conjugated) value = std::conj(value);
                *plain.x.view.at(q, i, c) = value;
              }
          Solvers<T>{hermitian}.solve_in_double(plain.a.view, plain.task(true).pivots, plain.x.view, plain.info.data());

          run_on_twin(p.task(with_pivots));

          EXPECT_EQ(std::memcmp(p.b.memory.data(), former_b.data(), former_b.size() * sizeof(T)), 0) << "B was changed";
          for (std::int64_t q = 0; q < p.count; ++q) {
            SCOPED_TRACE(testing::Message() << "kind " << q);
            auto const at = static_cast<std::size_t>(q);
            std::int64_t const m = p.a.view.rows_of(q), columns = p.x.view.cols_of(q);
            int const iter = p.iter[at];
            Batch<T> before = p.a.view;
            before.data = const_cast<T*>(former_a.data()) + (p.a.view.data - p.a.memory.data());
            if (m == 0) {
              EXPECT_EQ(iter, 0);
              EXPECT_EQ(p.info[at], 0);
              continue;
            }
            if (q == good || q == last_good || q == converges_late) {
              // The very rounding error of a single product may be too large for a matrix of one row.
              EXPECT_TRUE(m == 1 || columns == 0 || iter >= 1) << iter;
              EXPECT_LE(iter, q == converges_late || m == 1 ? mixed_rounds_on_gpu : 4);
            } else if (q == conditioned) {
              if (m > 1 && columns > 0) {
                EXPECT_TRUE(iter == -3 || iter == -31 || iter == -2) << iter;
              }
            } else if (q == large || (q == large_right_side && columns > 0)) {
              EXPECT_EQ(iter, -2);
            } else if (q == singular) {
              EXPECT_EQ(iter, -3);
            } else if (q == nan) {
              EXPECT_EQ(iter, -31);
            }
            if (iter >= 0) {
              EXPECT_EQ(p.info[at], 0);
              EXPECT_TRUE(same_matrix<T>(p.a.view, before, q)) << "A was changed";
              EXPECT_TRUE(is_refined<T>(p, before, q));
              continue;
            }
            EXPECT_EQ(p.info[at], plain.info[at]);
            EXPECT_TRUE(same_matrix<T>(p.a.view, plain.a.view, q)) << "other factors than the plain routine's";
            if (p.info[at] == 0) {
              EXPECT_TRUE(same_matrix<T>(p.x.view, plain.x.view, q)) << "other solutions than the plain routine's";
            } else {
              for (std::int64_t c = 0; c < columns; ++c)
                for (std::int64_t i = 0; i < m; ++i) EXPECT_TRUE(std::isnan(std::real(*p.x.view.at(q, i, c))));
            }
          }
          // Nothing else was written.
          auto const clean = [&](Stored<T>& now, std::vector<T> memory) {
            for (std::int64_t q = 0; q < p.count; ++q)
              for (std::int64_t j = 0; j < now.view.cols_of(q); ++j)
                for (std::int64_t i = 0; i < now.view.rows_of(q); ++i)
                  memory[static_cast<std::size_t>(now.view.at(q, i, j) - now.memory.data())] = *now.view.at(q, i, j);
            EXPECT_EQ(std::memcmp(memory.data(), now.memory.data(), memory.size() * sizeof(T)), 0) << "memory outside was written";
          };
          clean(p.a, former_a);
          clean(p.x, former_x);
          // The same bits in a batch of one matrix.
          Problem<T> one(n, nrhs, hermitian, layout, ragged, turned);
          for (std::int64_t q = 0; q < p.count; ++q) {
            auto const at = static_cast<std::size_t>(q);
            run_on_twin(MixedTask<T>{.a = alone(one.a.view, q),
                                     .pivots = {},
                                     .b = alone(Batch<T const>(one.b.view), q),
                                     .x = alone(one.x.view, q),
                                     .iter = &one.iter[at],
                                     .info = &one.info[at],
                                     .hermitian = hermitian});
            EXPECT_EQ(one.iter[at], p.iter[at]) << q;
            EXPECT_TRUE(same_matrix<T>(one.x.view, p.x.view, q)) << "other bits than alone: " << q;
          }
        }
}

/// Blocks of larger matrices, whose views begin further on, give the same bits.
TYPED_TEST(MixedPrecision, Blocks) {
  using T = TypeParam;
  for (bool const hermitian : {false, true})
    for (bool const ragged : {false, true}) {
      constexpr int n = 9, nrhs = 2;
      Layout const layout = ragged ? Layout::ragged_columns : Layout::columns;
      Problem<T> p(n, nrhs, hermitian, layout, ragged, false);
      std::vector<T> a(static_cast<std::size_t>(15 * 16 * p.count)), b(static_cast<std::size_t>(15 * 6 * p.count)), x = b;
      Batch<T> of_a = batch(a.data(), 15, 16, {.count = p.count}), of_b = batch(b.data(), 15, 6, {.count = p.count}), of_x = of_b;
      of_x.data = x.data();
      std::vector<std::int64_t> rows, columns, right;
      for (std::int64_t q = 0; q < p.count; ++q) {
        rows.push_back(4 + p.a.view.rows_of(q));
        columns.push_back(3 + p.a.view.rows_of(q));
        right.push_back(1 + p.b.view.cols_of(q));
      }
      if (ragged) {
        of_a.row_sizes = of_b.row_sizes = of_x.row_sizes = rows.data();
        of_a.col_sizes = columns.data();
        of_b.col_sizes = of_x.col_sizes = right.data();
      }
      of_a = block(of_a, 4, 3, n, n), of_b = block(of_b, 4, 1, n, nrhs), of_x = block(of_x, 4, 1, n, nrhs);
      auto const copy = [&](Batch<T> const& from, Batch<T> const& to) {
        for (std::int64_t q = 0; q < p.count; ++q)
          for (std::int64_t j = 0; j < from.cols_of(q); ++j)
            for (std::int64_t i = 0; i < from.rows_of(q); ++i) *to.at(q, i, j) = *from.at(q, i, j);
      };
      copy(p.a.view, of_a), copy(p.b.view, of_b);
      MixedTask<T> task = p.task(false);
      task.a = of_a, task.b = of_b, task.x = of_x;
      std::vector<int> iter(p.count), info(p.count);
      task.iter = iter.data(), task.info = info.data();
      run_on_twin(task);
      run_on_twin(p.task(false));
      EXPECT_EQ(iter, p.iter);
      EXPECT_EQ(info, p.info);
      for (std::int64_t q = 0; q < p.count; ++q) {
        EXPECT_TRUE(same_matrix<T>(of_x, p.x.view, q)) << q;
        EXPECT_TRUE(same_matrix<T>(of_a, p.a.view, q)) << q;
      }
    }
}

/// X may be B; iter and info may be null.
TYPED_TEST(MixedPrecision, InPlace) {
  using T = TypeParam;
  for (bool const hermitian : {false, true}) {
    Problem<T> p(34, 2, hermitian, Layout::columns, false, false), q(34, 2, hermitian, Layout::columns, false, false);
    run_on_twin(p.task(true));
    MixedTask<T> task = q.task(false);
    task.x = q.b.view;
    task.iter = task.info = nullptr;
    run_on_twin(task);
    for (std::int64_t k = 0; k < q.count; ++k) EXPECT_TRUE(same_matrix<T>(p.x.view, q.b.view, k)) << k;
  }
}

}  // namespace
}  // namespace myriad
