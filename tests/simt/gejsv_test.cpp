/// gejsv of matrices that no block holds, on the host twin: all jobs and layouts, ragged batches, low rank, graded rows and columns.

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "gesvd_machine.hpp"
#include "qr/pivoted/geqp3.cuh"
#include "svd/gesvd_jacobi.cuh"
#include "svd/svd_tiny.cuh"
#include "svd_problem.hpp"

namespace myriad {
namespace {

using namespace svd_test;

/// Rotates matrices of every size; in ragged batches those with more than 4 rows and columns.
struct Gejsv {
  template <typename T, int order>
  static void run(Problem<T>& problem, bool conjugated = false, std::int64_t workspace = gesvd_workspace) {
    using D = gpu::DeviceElement<T>;
    constexpr Dtype dtype = dtype_of<T>;
    HostMachine machine = gesvd_machine<T>(3);
    machine.add(gpu::source_of(gesvd_sort_rows_kernel, dtype), gesvd_sort_rows<D>);
    machine.add(gpu::source_of(gesvd_jacobi_kernel, dtype), gesvd_jacobi<D>);
    static constexpr Geqp3 pivoted = geqp3_plan(Geqp3In::global_memory);
    machine.add(gpu::source_of(geqp3_kernel, dtype, pivoted), geqp3<D, pivoted>);
    static constexpr SvdTiny tiny = svd_tiny_plan(SvdJob::thin, dtype, 5, 5), values = svd_tiny_plan(SvdJob::values, dtype, 5, 5);
    machine.add(gpu::source_of(svd_tiny_kernel, dtype, tiny), svd_tiny<D, tiny>);
    machine.add(gpu::source_of(svd_tiny_kernel, dtype, values), svd_tiny<D, values>);
    GesvdTask<T> task = problem.task(conjugated);
    task.relative = true;
    gesvd_by_steps<T>(machine, task, task.a.ragged() ? 4 : 0, 0, workspace);
  }
};

template <typename T>
class Relative : public testing::Test {};
using Types = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(Relative, Types);

TYPED_TEST(Relative, JobsAndLayouts) {
  unsigned seed = sizeof(TypeParam);
  for (SvdJob const job : {SvdJob::values, SvdJob::thin, SvdJob::full, SvdJob::left, SvdJob::right}) {
    check<Gejsv, TypeParam, 0>(job, 9, 8, 8, ++seed, false);
    check<Gejsv, TypeParam, 0>(job, 5, 13, 8, ++seed, false);
  }
  check<Gejsv, TypeParam, 0>(SvdJob::full, sanitized ? 18 : 35, sanitized ? 17 : 34, 7, ++seed, false);
  check<Gejsv, TypeParam, 0>(SvdJob::full, 1, 4, 2, ++seed, false);
  check<Gejsv, TypeParam, 0>(SvdJob::thin, 0, 3, 2, ++seed, false);
}

/// A batch holds tall, wide, small, large and empty matrices.
TYPED_TEST(Relative, Ragged) {
  for (SvdJob const job : {SvdJob::thin, SvdJob::full, SvdJob::values}) check<Gejsv, TypeParam, 0>(job, 24, 14, 8, 3, true);
}

TYPED_TEST(Relative, PowersOfTwo) {
  check_scales<Gejsv, TypeParam, 7>(sizeof(Real<TypeParam>) == 4 ? std::vector<int>{0, 100, -90, -130}
                                                                 : std::vector<int>{0, 900, -900, -1060});
}
TYPED_TEST(Relative, SameBits) { check_same_bits<Gejsv, TypeParam, 8, 11>(); }
TYPED_TEST(Relative, NotFinite) { check_not_finite<Gejsv, TypeParam, 6>(); }

TEST(Relative, Spectra) {
  check_spectra<Gejsv, 9>();
  if constexpr (!sanitized) check_spectra<Gejsv, 40>();
}
/// Every singular value has a small relative error, also of matrices whose rows differ by 190 decades.
TEST(Relative, Graded) {
  check_graded<Gejsv, 10>();
  if constexpr (!sanitized) check_graded<Gejsv, 33>();
}
/// Singular values of H D are D if columns of H are orthonormal: tall matrices, with QR first and without, and wide ones.
TYPED_TEST(Relative, GradedAndNotSquare) {
  using T = TypeParam;
  using R = Real<T>;
  int const step = sizeof(R) == 4 ? 3 : 30;
  for (auto const [l, k] : {std::array{16, 4}, {16, 13}, {16, 16}})
    for (bool const wide : {false, true}) {
      SCOPED_TRACE(testing::Message() << l << " by " << k << (wide ? ", transposed" : ""));
      Problem<T> problem(SvdJob::thin, wide ? k : l, wide ? l : k, 1, Stored::rows);
      auto const place = [&, k = k](std::int64_t i) { return 5 * i % k; };
      problem.fill([&, wide = wide](std::int64_t, std::int64_t i, std::int64_t j) {
        if (wide) std::swap(i, j);
        R const sign = std::popcount(static_cast<unsigned>(i & j)) % 2 == 0 ? R(1) : R(-1);
        return T(std::ldexp(sign / 4, -step * static_cast<int>(place(j))));
      });
      Gejsv::run<T, 0>(problem);
      problem.check(0);
      for (int i = 0; i < k; ++i)
        EXPECT_NEAR(std::ldexp(problem.value(0, i), step * i), R(1), R(40) * std::numeric_limits<R>::epsilon()) << i;
    }
}

}  // namespace
}  // namespace myriad
