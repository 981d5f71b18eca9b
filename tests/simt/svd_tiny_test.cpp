/// Kernels of svd/svd_tiny.cuh on the host twin.

#include "svd/svd_tiny.cuh"

#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <vector>

#include "simt_host/host.hpp"
#include "svd/svd_tiny_arguments.hpp"
#include "svd/svd_tiny_plan.hpp"
#include "svd_problem.hpp"

namespace myriad {
namespace {

using namespace svd_test;

template <typename T, SvdTiny c>
void run_tiny(Problem<T>& problem, bool conjugated = false) {
  simt::run(2, 32, SvdTinyMemory(sizeof(T), sizeof(Real<T>), c).bytes, svd_tiny<gpu::DeviceElement<T>, c>,
            svd_tiny_arguments(problem.task(conjugated), c));
}
/// The kernel for square matrices
struct Tiny {
  template <typename T, int n>
  static void run(Problem<T>& problem, bool conjugated = false) {
    run_tiny<T, svd_tiny_plan(SvdJob::thin, dtype_of<T>, n, n)>(problem, conjugated);
  }
};

template <int m, int n, SvdJob job>
struct OfShape {
  template <typename T, int>
  static void run(Problem<T>& problem, bool conjugated) {
    run_tiny<T, svd_tiny_plan(job, dtype_of<T>, m, n)>(problem, conjugated);
  }
};
template <typename T, int m, int n, SvdJob job>
void check_size(unsigned seed) {
  constexpr SvdTiny c = svd_tiny_plan(job, dtype_of<T>, m, n);
  constexpr std::int64_t count = std::max(2 * c.of_warp() + 1, 9);
  check<OfShape<m, n, job>, T, m>(job, m, n, count, seed, false);
  check<OfShape<m, n, job>, T, m>(job, n, m, count, seed + 1, seed % 2 == 0);
}

TEST(SvdTiny, Double) {
  check_size<double, 1, 1, SvdJob::thin>(0);
  check_size<double, 2, 2, SvdJob::full>(1);
  check_size<double, 3, 3, SvdJob::thin>(2);
  check_size<double, 4, 3, SvdJob::full>(3);
  check_size<double, 5, 5, SvdJob::left>(4);
  check_size<double, 6, 0, SvdJob::full>(5);
  check_size<double, 8, 8, SvdJob::full>(5);
  check_size<double, 13, 11, SvdJob::full>(6);
  check_size<double, 17, 16, SvdJob::right>(7);
  check_size<double, 32, 32, SvdJob::thin>(8);
  check_size<double, 24, 24, SvdJob::values>(9);
}
/// Tall matrices that a lane has.
TEST(SvdTiny, TallInALane) {
  static_assert(svd_tiny_plan(SvdJob::thin, Dtype::f64, 2, 16).lanes == 1 && svd_tiny_plan(SvdJob::full, Dtype::f64, 2, 16).lanes > 1);
  check_size<double, 16, 2, SvdJob::thin>(30);
  check_size<double, 32, 1, SvdJob::values>(31);
  check_size<float, 10, 3, SvdJob::left>(32);
  check_size<std::complex<double>, 8, 2, SvdJob::right>(33);
}
TEST(SvdTiny, Single) {
  check_size<float, 4, 4, SvdJob::thin>(10);
  check_size<float, 4, 1, SvdJob::full>(11);
  check_size<float, 7, 6, SvdJob::thin>(12);
  check_size<float, 16, 16, SvdJob::full>(13);
  check_size<float, 32, 3, SvdJob::full>(14);
  check_size<float, 25, 8, SvdJob::thin>(15);
  check_size<float, 31, 29, SvdJob::thin>(15);
}
TEST(SvdTiny, ComplexSingle) {
  check_size<std::complex<float>, 2, 2, SvdJob::thin>(16);
  check_size<std::complex<float>, 4, 2, SvdJob::full>(17);
  check_size<std::complex<float>, 10, 10, SvdJob::full>(18);
  check_size<std::complex<float>, 9, 1, SvdJob::thin>(19);
}
TEST(SvdTiny, ComplexDouble) {
  check_size<std::complex<double>, 1, 1, SvdJob::full>(20);
  check_size<std::complex<double>, 4, 4, SvdJob::values>(21);
  check_size<std::complex<double>, 32, 2, SvdJob::full>(22);
  check_size<std::complex<double>, 25, 18, SvdJob::thin>(23);
  check_size<std::complex<double>, 32, 32, SvdJob::full>(24);
}

template <int m, int n>
void check_one(std::vector<double> const& by_rows) {
  Problem<double> problem(SvdJob::full, m, n, 2, Stored::columns);
  problem.fill([&](std::int64_t, std::int64_t i, std::int64_t j) { return by_rows[static_cast<std::size_t>(i * n + j)]; });
  run_tiny<double, svd_tiny_plan(SvdJob::full, Dtype::f64, m, n)>(problem);
  problem.check(0);
  problem.check(1);
}
/// Matrices on which other programs hung or gave no orthonormal vectors: a row and a column of zeros; columns of equal length; rank two.
TEST(SvdTiny, SmallAndSingular) {
  check_one<3, 3>({0, 0, 0, 0, 3.6, 0.4, 0, 0.4, 2.8});
  check_one<3, 2>({1, 0, 0, 1, 0, 0});
  check_one<3, 2>({1, -1, 1, 1, 0, 0});
  check_one<3, 6>({2.4e-3, -3.3e-3, 2.4e-3, -3.3e-3, 2.4e-3, -3.3e-3, -2.4e-3, 3.3e-3, -2.4e-3, 3.3e-3, -2.4e-3, 3.3e-3, 3.3e-3, 2.4e-3,
                   -3.3e-3, -2.4e-3, 3.3e-3, 2.4e-3});
}

/// Blocks of every size fit on every GPU.
TEST(SvdTiny, SharedMemory) {
  for (Dtype const dtype : {Dtype::f32, Dtype::f64, Dtype::c32, Dtype::c64})
    for (SvdJob const job : {SvdJob::values, SvdJob::thin, SvdJob::full})
      for (int m = 1; m <= 32; ++m)
        for (int n = 1; n <= m; ++n) {
          int const bytes = element_bytes(dtype);
          bool const complex = dtype == Dtype::c32 || dtype == Dtype::c64;
          ASSERT_LE(SvdTinyMemory(bytes, complex ? bytes / 2 : bytes, svd_tiny_plan(job, dtype, m, n)).bytes, 48 << 10) << m << " " << n;
        }
}

TEST(SvdTiny, Scales) {
  check_scales<Tiny, double, 4>({0, 900, -900, 1000, -1060});
  check_scales<Tiny, double, 6>({0, 900, -900, 1000, -1060});
  check_scales<Tiny, std::complex<float>, 3>({0, 110, -110, -125});
  check_scales<Tiny, std::complex<float>, 9>({0, 110, -100, -125});
}

TEST(SvdTiny, SameBits) {
  check_same_bits<Tiny, double, 5, 7>();
  check_same_bits<Tiny, float, 7, 20>();
  check_same_bits<Tiny, std::complex<double>, 9, 18>();
}

TEST(SvdTiny, NotFinite) {
  check_not_finite<Tiny, double, 3>();
  check_not_finite<Tiny, float, 6>();
  check_not_finite<Tiny, std::complex<double>, 18>();
}

TEST(SvdTiny, Spectra) {
  check_spectra<Tiny, 3>();
  check_spectra<Tiny, 8>();
  check_spectra<Tiny, 20>();
  if constexpr (!sanitized) check_spectra<Tiny, 32>();
}

TEST(SvdTiny, Graded) {
  check_graded<Tiny, 4>();
  check_graded<Tiny, 12>();
}

}  // namespace
}  // namespace myriad
