/// Plans: every kernel that a routine may choose can be launched.

#include <gtest/gtest.h>

#include <array>

#include "blocked/blocked_plan.hpp"
#include "cholesky/cholesky_tiny_plan.hpp"
#include "eigen/eigen_plan.hpp"
#include "eigen/tridiagonal/tridiagonal_plan.hpp"
#include "gemm/gemm_choice.hpp"
#include "lu/lu_tiny_plan.hpp"
#include "qr/block/qr_block_plan.hpp"
#include "qr/qr_tiny_plan.hpp"

namespace myriad {
namespace {

using simt::Layout;

constexpr int most_bytes = 232448;  // shared memory of a block of compute capability 9.0
constexpr std::array dtypes{Dtype::f32, Dtype::f64, Dtype::c32, Dtype::c64};
constexpr int bytes_of(Dtype dtype) { return dtype == Dtype::f32 ? 4 : dtype == Dtype::c64 ? 16 : 8; }

template <typename Config, typename Memory>
void check(Config const& c, Memory const& memory, Dtype dtype) {
  auto const name = [&] {
    return testing::Message() << "job " << static_cast<int>(c.job) << ", n = " << c.n << ", " << bytes_of(dtype) << " bytes, " << c.lanes
                              << " lanes, " << c.matrices << " matrices";
  };
  EXPECT_EQ(c.threads() % 32, 0) << "warps are whole: " << name();
  EXPECT_LE(c.threads(), 1024) << name();
  EXPECT_LE(memory.bytes, most_bytes) << name();
  EXPECT_GE(c.blocks_per_sm, 1) << name();
  EXPECT_LE(c.blocks_per_sm * c.threads(), 2048) << name();
}

void check_method(LuTiny const& c) {
  if (c.job == LuJob::inverse) {
    EXPECT_TRUE(c.method == LuMethod::in_registers || (c.method == LuMethod::products && c.lanes == 32));
    return;
  }
  EXPECT_EQ(c.method == LuMethod::in_registers, c.panel == 0);
  EXPECT_LE(c.panel, c.n);
  EXPECT_TRUE(c.method != LuMethod::in_registers || c.lanes == 1);
  if (c.method == LuMethod::panels) {
    EXPECT_GT(c.lanes, 1);
    EXPECT_LE(simt::ceil_div(c.n, c.panel), lu_most_panels);
  }
  if (c.method == LuMethod::elimination) {
    EXPECT_FALSE(c.has_result()) << "L would be missing";
    EXPECT_EQ(c.m, c.n);
    EXPECT_LE(c.lanes, c.n);
  }
}

/// Matrices whose rows and columns both have gaps.
Batch<double> rows_with_gaps(std::int64_t n, std::int64_t count) {
  return {.data = nullptr, .rows = n, .cols = n, .row_stride = 2, .col_stride = 2 * n, .batch_stride = 2 * n * n, .count = count};
}

/// Blocked algorithms write a triangle of a user's matrix, whose elements need not be contiguous.
TEST(Plans, TrianglesOfProductsHaveSquareTiles) {
  Device device;
  device.multiprocessors = 132;
  for (std::int64_t const n : {33, 40, 64, 100})
    for (std::int64_t const count : {20, 1000})
      for (Batch<double> const& c : {interleaved<double>(nullptr, n, n, count), rows_with_gaps(n, count)}) {
        Batch<double> const a = batch<double>(nullptr, n, n, {.count = count});
        GemmTask<double> const task{.alpha = 1, .a = transposed(Batch<double const>(a)), .b = a, .beta = 0, .c = c};
        auto const args = gpu::arguments_of(task);
        gpu::GemmFacts facts = gpu::facts_of<double, double>(args, device);
        facts.written = Written::lower;
        facts.planned_for = gpu::blocked_product(sizeof(double), n, n, n, count, device.multiprocessors);
        gpu::GemmChoice const choice = gpu::choose(facts);
        auto const* const tiles = std::get_if<GemmTiles>(&choice.config);
        ASSERT_NE(tiles, nullptr);
        EXPECT_EQ(tiles->m, tiles->n) << n << " rows, " << count << " matrices";
      }
}

TEST(Plans, Lu) {
  for (Dtype const dtype : dtypes)
    for (int job = 0; job <= static_cast<int>(LuJob::log_determinant); ++job)
      for (int n = 1; n <= 32; ++n)
        for (int nrhs = 1; nrhs <= 4; ++nrhs) {
          LuTiny c = lu_tiny_plan(LuJob(job), dtype, n, n, 0);
          if (c.solves()) c = lu_tiny_plan(LuJob(job), dtype, n, n, nrhs);
          check(c, LuTinyMemory(bytes_of(dtype), c), dtype);
          check_method(c);
          EXPECT_TRUE(c.method != LuMethod::products || dtype == Dtype::f64);
          EXPECT_NE(lu_tiny_plan(LuJob(job), dtype, n, n, 0, true).method, LuMethod::products);
          c.a = c.result = c.b = c.x = Layout::interleaved;
          c = lu_tiny_interleaved(c, bytes_of(dtype));
          check(c, LuTinyMemory(bytes_of(dtype), c), dtype);
          check_method(c);
        }
}
TEST(Plans, Cholesky) {
  for (Dtype const dtype : dtypes)
    for (int job = 0; job <= static_cast<int>(CholeskyJob::inverse); ++job)
      for (int n = 1; n <= 32; ++n) {
        bool const solves = CholeskyJob(job) != CholeskyJob::factor && CholeskyJob(job) != CholeskyJob::inverse;
        CholeskyTiny c = cholesky_tiny_plan(CholeskyJob(job), dtype, n, solves ? 1 : 0);
        check(c, CholeskyTinyMemory(bytes_of(dtype), c), dtype);
        c.a = c.b = c.x = Layout::interleaved;
        c = cholesky_tiny_interleaved(c, bytes_of(dtype));
        check(c, CholeskyTinyMemory(bytes_of(dtype), c), dtype);
      }
}
TEST(Plans, Eigenproblems) {
  for (Dtype const dtype : dtypes)
    for (EigenJob const job : {EigenJob::values, EigenJob::vectors})
      for (int n = 1; n <= 32; ++n) {
        int const real_bytes = dtype == Dtype::f32 || dtype == Dtype::c32 ? 4 : 8;
        for (bool const few : {false, true}) {
          EigenTiny const planned = eigen_tiny_plan(job, n, few);
          for (EigenTiny const& c : {planned, eigen_tiny_interleaved(planned, bytes_of(dtype), real_bytes)}) {
            EXPECT_EQ(c.threads() % 32, 0) << n;
            EXPECT_LE(c.threads(), 1024) << n;
            EXPECT_LE(EigenTinyMemory(bytes_of(dtype), real_bytes, c).bytes, most_bytes) << n;
          }
        }
      }
  // An H200 has 132 multiprocessors.
  EXPECT_TRUE(eigen_tiny_are_few(1000, 32, 132));
  EXPECT_FALSE(eigen_tiny_are_few(1057, 32, 132));
  EXPECT_FALSE(eigen_tiny_are_few(std::int64_t{1} << 31, 1, 132));
  // A block of sm_90 and sm_100 may have 227 KB.
  EXPECT_EQ(eigen_block_largest(4, 4, 227 * 1024), 237);
  EXPECT_EQ(eigen_block_largest(8, 8, 227 * 1024), 167);
  EXPECT_EQ(eigen_block_largest(8, 4, 227 * 1024), 167);
  EXPECT_EQ(eigen_block_largest(16, 8, 227 * 1024), 117);
  EXPECT_EQ(eigen_block_plan(EigenJob::vectors, 117).n, 128);
}
/// Kernels of the reduction in registers: each holds more than the one before, together all that eigen_block does, and as many blocks as
/// are wanted fit a multiprocessor.
TEST(Plans, TridiagonalBlocks) {
  struct Type {
    int bytes, real_bytes;
  };
  for (auto const [bytes, real_bytes] : {Type{4, 4}, {8, 8}, {8, 4}, {16, 8}}) {
    bool const complex = bytes != real_bytes;
    int below = 0;
    for (TridiagonalBlock const& c : tridiagonal_blocks(bytes, complex)) {
      EXPECT_GT(c.rows(), below);
      EXPECT_EQ(c.width() * c.groups, c.rows());
      EXPECT_EQ(c.rows() % c.side(), 0);
      EXPECT_LE(c.shared_bytes(bytes), most_bytes);
      EXPECT_LE(c.blocks_per_sm * (c.shared_bytes(bytes) + 1024), 228 * 1024);
      EXPECT_GE(gpu::register_limit(c.blocks_per_sm, c.threads()), c.lanes * c.groups < 256 ? 72 : 128);
      below = c.rows();
    }
    EXPECT_GE(tridiagonal_block_largest(bytes, complex), eigen_block_largest(bytes, real_bytes, most_shared_bytes));
  }
}
TEST(Plans, QrWarps) {
  for (int const bytes : {4, 8, 16}) {
    int below = 0;
    for (QrWarps const& c : qr_warps_configs(bytes)) {
      std::int64_t const shared = QrWarpsMemory(c, bytes).bytes;
      EXPECT_GT(c.rows, below);
      EXPECT_LE(shared, 99 * 1024) << "every GPU that is supported has so much for a block";
      EXPECT_LE(c.blocks_per_sm * (shared + 1024), 228 * 1024) << c.rows << " rows, " << bytes << " bytes";
      below = c.rows;
    }
  }
}
TEST(Plans, Qr) {
  for (Dtype const dtype : dtypes)
    for (QrJob const job : {QrJob::factor, QrJob::apply, QrJob::least_squares})
      for (int m = 1; m <= 32; ++m)
        for (int n = 1; n <= m; ++n)
          for (int const columns : {1, 2, 3, 32}) {
            bool const has_columns = job != QrJob::factor;
            if (job == QrJob::least_squares && columns > 4) continue;
            QrTiny k = qr_tiny_plan(job, dtype, m, n, n, has_columns ? columns : 0);
            check(k, QrTinyMemory(bytes_of(dtype), k), dtype);
            int const lanes = k.lanes;
            k.a = k.c = Layout::interleaved;
            k = qr_tiny_interleaved(k, bytes_of(dtype));
            check(k, QrTinyMemory(bytes_of(dtype), k), dtype);
            EXPECT_EQ(k.lanes, lanes) << "on which sums depend, and layouts have the same bits";
          }
}

}  // namespace
}  // namespace myriad
