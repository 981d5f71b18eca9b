/// Kernels of svd/svd_block.cuh on the host twin.

#include "svd/svd_block.cuh"

#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <vector>

#include "simt_host/host.hpp"
#include "svd/svd_block.hpp"
#include "svd/svd_tiny.cuh"
#include "svd_problem.hpp"

namespace myriad {
namespace {

using namespace svd_test;

template <typename T, int n>
void run_block(Problem<T>& problem, bool conjugated, int above = -1, int upto = n) {
  constexpr SvdBlock c = svd_block_plan(dtype_of<T>, n);
  simt::run(2, c.threads(), svd_block_memory(dtype_of<T>, c).bytes, svd_block<gpu::DeviceElement<T>, c>,
            svd_block_arguments(problem.task(conjugated), above, upto));
}
/// The kernel for matrices of up to n rows and columns
struct Block {
  template <typename T, int n>
  static void run(Problem<T>& problem, bool conjugated = false) {
    run_block<T, n>(problem, conjugated);
  }
};

/// The kernel with a warp per matrix, for up to n rows and columns
struct Warp {
  template <typename T, int n>
  static void run(Problem<T>& problem, bool conjugated = false) {
    constexpr SvdTiny c = svd_warp_plan(dtype_of<T>, n);
    simt::run(2, 32, SvdTinyMemory(sizeof(T), sizeof(Real<T>), c).bytes, svd_tiny<gpu::DeviceElement<T>, c>,
              svd_tiny_arguments(problem.task(conjugated), c, -1, n));
  }
};

TEST(SvdWarp, Real) {
  check<Warp, double, 36>(SvdJob::thin, 33, 33, sanitized ? 5 : 8, 0, false);
  check<Warp, double, 40>(SvdJob::full, 40, 34, 8, 1, true);
  check<Warp, double, 40>(SvdJob::right, 36, 40, 5, 2, false);
  check<Warp, double, 40>(SvdJob::full, 37, 1, 3, 3, false);
  check<Warp, double, 40>(SvdJob::full, 36, 0, 2, 4, false);
  check<Warp, float, 36>(SvdJob::left, 34, 36, 8, 5, true);
  check<Warp, float, 48>(SvdJob::full, 48, 47, 5, 6, false);
}
TEST(SvdWarp, ComplexSingle) {
  check<Warp, std::complex<float>, 36>(SvdJob::full, 33, 36, 8, 7, false);
  check<Warp, std::complex<float>, 40>(SvdJob::thin, 40, 40, 5, 8, true);
}
/// Kernels of all sizes give the same bits, which depend on neither the layout nor other matrices.
TEST(SvdWarp, SameBits) { check_same_bits<Warp, double, 33, 40>(); }
TEST(SvdWarp, Scales) {
  check_scales<Warp, double, 33>({0, 900, -900, 1000, -1060});
  check_scales<Warp, std::complex<float>, 34>({0, 100, -100, -125});
}
TEST(SvdWarp, NotFinite) { check_not_finite<Warp, double, 33>(); }
TEST(SvdWarp, Spectra) { check_spectra<Warp, sanitized ? 34 : 40>(); }
TEST(SvdWarp, Graded) { check_graded<Warp, sanitized ? 33 : 36>(); }

TEST(SvdBlock, Double) {
  check<Block, double, 64>(SvdJob::thin, 33, 33, sanitized ? 5 : 8, 0, false);
  check<Block, double, 64>(SvdJob::full, 64, 40, 4, 1, false);
  check<Block, double, 64>(SvdJob::left, 35, 64, 3, 2, true);
  check<Block, double, 48>(SvdJob::right, 44, 38, 8, 3, true);
  check<Block, double, 48>(SvdJob::full, 41, 1, 3, 4, false);
  check<Block, double, 48>(SvdJob::full, 42, 0, 2, 4, false);
  if constexpr (!sanitized) check<Block, double, 64>(SvdJob::full, 61, 64, 8, 6, true);
}
TEST(SvdBlock, Single) {
  check<Block, float, 64>(SvdJob::full, 50, 49, 8, 7, false);
  check<Block, float, 64>(SvdJob::thin, 41, 52, 5, 8, true);
}
TEST(SvdBlock, ComplexSingle) {
  check<Block, std::complex<float>, 48>(SvdJob::full, 33, 39, 8, 9, false);
  check<Block, std::complex<float>, 48>(SvdJob::thin, 44, 44, 5, 11, true);
}
TEST(SvdBlock, ComplexDouble) {
  check<Block, std::complex<double>, 40>(SvdJob::full, 40, 35, 4, 13, true);
  check<Block, std::complex<double>, 40>(SvdJob::left, 38, 40, 2, 15, false);
}

/// Kernels of all sizes give the same bits, which depend on neither the layout nor other matrices.
TEST(SvdBlock, SameBits) {
  check_same_bits<Block, double, 33, 64>();
  if constexpr (!sanitized) check_same_bits<Block, std::complex<float>, 34, 64>();
}

TEST(SvdBlock, Scales) {
  check_scales<Block, double, 33>({0, 900, -900, 1000, -1060});
  check_scales<Block, std::complex<float>, 34>({0, 100, -100, -125});
}

TEST(SvdBlock, NotFinite) {
  check_not_finite<Block, double, 33>();
  check_not_finite<Block, float, 49>();
}

TEST(SvdBlock, Spectra) { check_spectra<Block, sanitized ? 34 : 64>(); }

TEST(SvdBlock, Graded) { check_graded<Block, sanitized ? 33 : 40>(); }

/// Matrices outside the limits keep their results, and their info.
TEST(SvdBlock, Limits) {
  Problem<double> problem(SvdJob::thin, 40, 40, 4, Stored::columns);
  std::vector<std::int64_t> const rows{40, 32, 33, 8}, cols{33, 7, 12, 40}, least{33, 7, 12, 8};
  problem.a.make_ragged(rows, cols);
  problem.s.make_ragged(least, {1, 1, 1, 1});
  problem.u.make_ragged(rows, least);
  problem.vt.make_ragged(least, cols);
  Random<double> random(3);
  problem.fill([&](std::int64_t, std::int64_t, std::int64_t) { return random(); });
  run_block<double, 40>(problem, false, 32, 39);
  EXPECT_EQ(problem.info, (std::vector<int>{-7, -7, 0, -7}));
  problem.check(2);
  EXPECT_EQ(problem.u.written(), 33 * 12);
  EXPECT_EQ(problem.vt.written(), 12 * 12);
  EXPECT_EQ(problem.s.written(), 12);
}

}  // namespace
}  // namespace myriad
