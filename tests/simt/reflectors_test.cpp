/// Kernels that form or apply the Q of a reduction to tridiagonal form, on the host twin, against LAPACK's: both triangles, sides, layouts,
/// conjugated views, sizes around the limits of kernels and panels, ragged batches, the same bits in any batch, NaN; nothing else is
/// touched.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <vector>

#include "myriad/myriad.hpp"
#include "reflectors/reflectors_by_panels.hpp"
#include "reflectors/reflectors_panels.cuh"
#include "reflectors/reflectors_plan.hpp"
#include "reflectors/reflectors_small.cuh"
#include "simt_host/host.hpp"
#include "simt_host/machine.hpp"
#include "sizes.hpp"
#include "stored.hpp"

namespace myriad {
namespace {

template <typename T>
constexpr Real<T> nan_of = std::numeric_limits<Real<T>>::quiet_NaN();

Queue& cpu_queue() {
  static Queue queue({.backend = Backend::cpu});
  return queue;
}

/// Parameters of a test. The reflectors are those of matrices of n rows; C is n by `columns`, or A where Q is formed.
struct Wanted {
  int n, columns;
  std::int64_t count;
  Layout layout;
  bool ragged, lower, adjoint, forms;
  bool conjugated = false, transposed = false;  ///< C
};
std::ostream& operator<<(std::ostream& out, Wanted const& w) {
  return out << w.n << " rows, " << w.columns << " columns, layout " << static_cast<int>(w.layout) << (w.ragged ? ", ragged" : "")
             << (w.lower ? ", lower" : ", upper") << (w.adjoint ? ", adjoint" : "") << (w.forms ? ", formed" : "")
             << (w.conjugated ? ", conjugated" : "") << (w.transposed ? ", transposed" : "");
}

/// Reflectors from LAPACK's sytrd; the rest of A is NaN.
template <typename T>
struct Problem {
  Wanted wanted;
  Stored<T> a, c;
  std::vector<std::int64_t> sizes, others;
  std::vector<T> tau, a_before, c_before;

  explicit Problem(Wanted const& w, std::int64_t first = 0)
      : wanted(w),
        a(w.n, w.n, w.count, w.layout),
        c(w.transposed ? w.columns : w.n, w.transposed ? w.n : w.columns, w.count, w.layout),
        tau(static_cast<std::size_t>(w.n * w.count)) {
    if (w.transposed) c.view = transposed(c.view);
    for (std::int64_t b = first; b < first + w.count; ++b) {
      sizes.push_back(w.ragged && b > 0 ? (b * 37 + 1) % (w.n + 1) : w.n);
      others.push_back(w.ragged && b > 0 ? (b * 5 + 2) % (w.columns + 1) : w.columns);
    }
    if (w.ragged) {
      a.view.row_sizes = a.view.col_sizes = c.view.row_sizes = sizes.data();
      c.view.col_sizes = others.data();
    }
    fill(c.memory, static_cast<unsigned>(7 + first));
    std::fill(a.memory.begin(), a.memory.end(), T(nan_of<T>));
    for (std::int64_t b = 0; b < w.count; ++b) {
      std::int64_t const n = a.view.rows_of(b);
      std::vector<T> matrix(static_cast<std::size_t>(n * n + 1)), beside(static_cast<std::size_t>(n + 1));
      fill(matrix, static_cast<unsigned>(b + first));
      std::vector<Real<T>> d(static_cast<std::size_t>(n + 1)), e(static_cast<std::size_t>(n + 1));
      auto const view = batch(matrix.data(), n, n);
      if (n > 0)
        sytrd(cpu_queue(), w.lower ? Uplo::lower : Uplo::upper, view, vectors(d.data(), n, 1), vectors(e.data(), n - 1, 1),
              vectors(beside.data(), n - 1, 1));
      for (std::int64_t k = 0; k + 1 < n; ++k) tau[static_cast<std::size_t>(b * w.n + k)] = beside[static_cast<std::size_t>(k)];
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t i = 0; i < n; ++i)
          if (w.lower ? i > j + 1 : i + 1 < j) *a.view.at(b, i, j) = *view.at(0, i, j);
    }
    if (w.conjugated) c.view = myriad::conjugated(c.view);
    a_before = a.memory;
    c_before = c.memory;
  }
  Problem(Problem const&) = delete;

  [[nodiscard]] Batch<T const> tau_view() const {
    return vectors<T const>(tau.data(), wanted.n > 0 ? wanted.n - 1 : 0, wanted.count, wanted.n);
  }
  [[nodiscard]] ReflectorsTask<T> task() {
    return {.lower = wanted.lower,
            .adjoint = wanted.adjoint,
            .job = wanted.forms ? ReflectorsJob::form : ReflectorsJob::apply,
            .a = a.view,
            .tau = tau_view(),
            .c = wanted.forms ? a.view : c.view};
  }
  std::vector<T>& result() { return wanted.forms ? a.memory : c.memory; }

  /// Compares with LAPACK's Q; matrices of up to `passed_over` rows must be unchanged.
  void check(int passed_over = -1) {
    Batch<T> const view = wanted.forms ? a.view : c.view;
    std::vector<T> expected = wanted.forms ? a_before : c_before;
    for (std::int64_t b = 0; b < wanted.count; ++b) {
      std::int64_t const n = a.view.rows_of(b), columns = wanted.forms ? n : view.cols_of(b);
      if (n <= passed_over || n == 0) continue;
      std::vector<T> q(static_cast<std::size_t>(n * n));
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t i = 0; i < n; ++i)
          q[static_cast<std::size_t>(i + j * n)] = a_before[static_cast<std::size_t>(a.view.at(b, i, j) - a.memory.data())];
      orgtr(cpu_queue(), wanted.lower ? Uplo::lower : Uplo::upper, batch(q.data(), n, n),
            vectors<T const>(&tau[static_cast<std::size_t>(b * wanted.n)], n - 1, 1));
      for (std::int64_t j = 0; j < columns; ++j) {
        double largest = 1;
        for (std::int64_t i = 0; i < n; ++i) {
          auto const place = static_cast<std::size_t>(view.at(b, i, j) - (wanted.forms ? a.memory : c.memory).data());
          std::complex<double> sum = 0;
          for (std::int64_t k = 0; k < n; ++k) {
            if (wanted.forms) {
              sum = q[static_cast<std::size_t>(i + j * n)];
              break;
            }
            std::complex<double> x = c_before[static_cast<std::size_t>(view.at(b, k, j) - c.memory.data())];
            if (wanted.conjugated) x = std::conj(x);
            std::complex<double> const element = wanted.adjoint ? std::conj(std::complex<double>(q[static_cast<std::size_t>(k + i * n)]))
                                                                : std::complex<double>(q[static_cast<std::size_t>(i + k * n)]);
            sum += element * x;
            largest = std::max(largest, std::abs(x));
          }
          if (wanted.conjugated) sum = std::conj(sum);
          T const now = result()[place];
          double const error = std::abs(std::complex<double>(now) - sum);
          ASSERT_LE(error, 30 * std::numeric_limits<Real<T>>::epsilon() * static_cast<double>(n) * largest)
              << "element (" << i << ", " << j << ") of matrix " << b << ", which has " << n << " rows";
          expected[place] = now;
        }
      }
    }
    EXPECT_EQ(std::memcmp(expected.data(), result().data(), expected.size() * sizeof(T)), 0) << "something else was written";
    EXPECT_TRUE(wanted.forms || std::memcmp(a_before.data(), a.memory.data(), a_before.size() * sizeof(T)) == 0) << "A was written";
  }

  template <ReflectorsSmall c>
  void in_registers(long long blocks) {
    simt::run(blocks, c.threads(), c.shared_bytes(sizeof(T)), reflectors_small<gpu::DeviceElement<T>, c>, task().arguments());
  }
  template <int rows>
  void in_registers(long long blocks = 2) {
    constexpr ReflectorsSmall applies = reflectors_small_plan(sizeof(T), rows + 1, ReflectorsJob::apply),
                              forms = reflectors_small_plan(sizeof(T), rows + 1, ReflectorsJob::form);
    static_assert(applies.rows == rows);
    wanted.forms ? in_registers<forms>(blocks) : in_registers<applies>(blocks);
  }

  static HostMachine machine() {
    using D = gpu::DeviceElement<T>;
    HostMachine machine;
    machine.add(gpu::source_of(reflectors_load_kernel, dtype_of<T>), reflectors_load<D>);
    machine.add(gpu::source_of(reflectors_factor_kernel, dtype_of<T>), reflectors_factor<D>);
    machine.add(gpu::source_of(reflectors_identity_kernel, dtype_of<T>), reflectors_identity<D>);
    return machine;
  }
  void by_panels(int width, std::int64_t at_once, int passed_over = 0) { by_panels(task(), width, at_once, passed_over); }
  void by_panels(ReflectorsTask<T> const& of, int width, std::int64_t at_once, int passed_over = 0) {
    using Panels = ReflectorsByPanels<T, HostMachine>;
    HostMachine twin = machine();
    auto memory = twin.memory(Panels::bytes(of, width, at_once, of.c.count));
    Panels(twin, of, width, passed_over, at_once, memory.data()).run();
  }
};

template <typename T>
class Reflectors : public testing::Test {};
using Types = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(Reflectors, Types);

/// Both triangles, both operations and forming Q, in every layout.
template <typename Use>
void for_each_wanted(int n, int columns, std::int64_t count, bool ragged, Use use) {
  int turn = n;
  for (bool const lower : {true, false})
    for (int const job : {0, 1, 2})
      for (Layout const layout : layouts) {
        if (ragged && layout == Layout::interleaved) continue;
        if (int const every = sanitized ? 7 : n > 64 ? 3 : 1; ++turn % every != 0) continue;  // only some of the large ones
        Wanted const wanted{.n = n,
                            .columns = columns,
                            .count = count,
                            .layout = ragged ? ragged_layout(layout) : layout,
                            .ragged = ragged,
                            .lower = lower,
                            .adjoint = job == 1,
                            .forms = job == 2,
                            .conjugated = job < 2 && layout == Layout::dense_rows,
                            .transposed = job < 2 && layout == Layout::columns};
        SCOPED_TRACE(testing::Message() << wanted);
        use(wanted);
      }
}

TYPED_TEST(Reflectors, InRegisters) {
  using T = TypeParam;
  for (int const n : {1, 2, 5, 9})
    for_each_wanted(n, 11, 19, false, [](Wanted const& wanted) {
      Problem<T> problem(wanted);
      problem.template in_registers<8>();
      problem.check();
    });
  for_each_wanted(14, 17, 5, false, [](Wanted const& wanted) {
    Problem<T> problem(wanted);
    problem.template in_registers<16>();
    problem.check();
  });
  for_each_wanted(33, 40, 3, false, [](Wanted const& wanted) {
    Problem<T> problem(wanted);
    problem.template in_registers<32>();
    problem.check();
  });
  for (int const n : sanitized ? std::vector{65} : std::vector{47, 65})
    for_each_wanted(n, 66, 1, false, [](Wanted const& wanted) {
      Problem<T> problem(wanted);
      problem.template in_registers<64>();
      problem.check();
    });
}
TYPED_TEST(Reflectors, InRegistersRagged) {
  using T = TypeParam;
  for_each_wanted(17, 20, 7, true, [](Wanted const& wanted) {
    Problem<T> problem(wanted);
    problem.template in_registers<16>();
    problem.check();
  });
}
TYPED_TEST(Reflectors, ByPanels) {
  using T = TypeParam;
  for (int const n : sanitized ? std::vector{33, 70} : std::vector{2, 32, 33, 34, 64, 97})
    for_each_wanted(n, 9, 2, false, [n](Wanted const& wanted) {
      Problem<T> problem(wanted);
      problem.by_panels(n == 70 || n == 64 ? 64 : 32, n % 2 + 1);
      problem.check();
    });
}
/// The planned widths, with more columns than one block of T.
TYPED_TEST(Reflectors, ByPanelsAsPlanned) {
  using T = TypeParam;
  for (int const n : sanitized ? std::vector{66} : std::vector{66, 130, 200})
    for (bool const lower : {true, false}) {
      Problem<T> problem({.n = n,
                          .columns = 3,
                          .count = 1,
                          .layout = Layout::packed_columns,
                          .ragged = false,
                          .lower = lower,
                          .adjoint = lower,
                          .forms = false});
      problem.by_panels(reflectors_width(is_complex<T>, n - 1), 2);
      problem.check();
    }
}
/// Each kernel skips the matrices of the other.
TYPED_TEST(Reflectors, RaggedByPanels) {
  using T = TypeParam;
  for_each_wanted(80, 7, 5, true, [](Wanted const& wanted) {
    Problem<T> problem(wanted);
    problem.by_panels(32, 2, 65);
    problem.check(65);
    problem.template in_registers<64>();
    problem.check();
  });
}
/// Only A is ragged, and C is a view with an offset.
TYPED_TEST(Reflectors, RaggedAWithAViewOfC) {
  using T = TypeParam;
  Problem<T> problem({.n = 40,
                      .columns = 5,
                      .count = 2,
                      .layout = Layout::packed_columns,
                      .ragged = false,
                      .lower = true,
                      .adjoint = false,
                      .forms = false});
  auto task = problem.task();
  task.a.row_sizes = task.a.col_sizes = problem.sizes.data();
  task.c.data -= task.c.row_stride;
  task.c.row_offset = 1;
  problem.by_panels(task, 32, 1);
  problem.check();
}
/// A matrix alone, in a batch, in a ragged one, with fewer columns, and by kernels for larger matrices.
TYPED_TEST(Reflectors, SameBitsWhateverTheBatch) {
  using T = TypeParam;
  for (bool const forms : {false, true})
    for (bool const by_panels : {true, false}) {
      Wanted wanted{.n = by_panels ? 71 : 7,
                    .columns = 5,
                    .count = 1,
                    .layout = Layout::packed_columns,
                    .ragged = false,
                    .lower = false,
                    .adjoint = false,
                    .forms = forms};
      Problem<T> alone(wanted, 3);
      by_panels ? alone.by_panels(32, 1) : alone.template in_registers<8>();
      wanted.count = 4;
      Problem<T> among(wanted, 0);
      // The fourth matrix is that of the first problem.
      std::copy(alone.a_before.begin(), alone.a_before.begin() + wanted.n * wanted.n, among.a.view.at(3, 0, 0));
      std::copy(alone.tau.begin(), alone.tau.end(), among.tau.begin() + 3 * wanted.n);
      std::copy(alone.c_before.begin(), alone.c_before.begin() + wanted.n * wanted.columns, among.c.view.at(3, 0, 0));
      auto const view = among.task().c;
      if (by_panels) {
        among.by_panels(32, 3);
      } else {
        among.template in_registers<64>(1);
      }
      T const* const from = alone.task().c.at(0, 0, 0);
      EXPECT_EQ(std::memcmp(from, view.at(3, 0, 0), static_cast<std::size_t>(wanted.n * (forms ? wanted.n : wanted.columns)) * sizeof(T)),
                0)
          << (by_panels ? "by panels" : "in registers") << (forms ? ", formed" : "");
    }
}
/// One panel of any width.
TYPED_TEST(Reflectors, SameBitsWithEveryWidthThatHoldsAll) {
  using T = TypeParam;
  for (bool const lower : {true, false}) {
    Wanted const wanted{.n = 30,
                        .columns = 3,
                        .count = 1,
                        .layout = Layout::packed_columns,
                        .ragged = false,
                        .lower = lower,
                        .adjoint = true,
                        .forms = false};
    Problem<T> narrow(wanted), wide(wanted);
    narrow.by_panels(32, 1);
    wide.by_panels(96, 1);
    EXPECT_EQ(std::memcmp(narrow.c.memory.data(), wide.c.memory.data(), wide.c.memory.size() * sizeof(T)), 0) << lower;
  }
}
/// A NaN in one matrix leaves a trace there, and none in its neighbours.
TYPED_TEST(Reflectors, NotANumber) {
  using T = TypeParam;
  for (bool const by_panels : {true, false})
    for (bool const forms : {true, false}) {
      Wanted const wanted{.n = by_panels ? 40 : 9,
                          .columns = 4,
                          .count = 3,
                          .layout = Layout::packed_columns,
                          .ragged = false,
                          .lower = true,
                          .adjoint = false,
                          .forms = forms};
      Problem<T> problem(wanted);
      problem.tau[static_cast<std::size_t>(wanted.n + 2)] = T(nan_of<T>);
      by_panels ? problem.by_panels(32, 1) : problem.template in_registers<8>();
      auto const view = problem.task().c;
      for (std::int64_t b = 0; b < 3; ++b) {
        bool finite = true;
        for (std::int64_t j = 0; j < view.cols; ++j)
          for (std::int64_t i = 0; i < view.rows; ++i) finite = finite && std::isfinite(std::abs(*view.at(b, i, j)));
        EXPECT_EQ(finite, b != 1) << "matrix " << b;
      }
    }
}

}  // namespace
}  // namespace myriad
