#pragma once
/// Plan of the singular value decomposition of small matrices.

#include <algorithm>
#include <bit>
#include <cstdint>

#include "core/dtype.hpp"
#include "myriad/svd.hpp"
#include "runtime/kernel_name.hpp"
#include "runtime/tiny.hpp"
#include "svd/svd_tiny_config.cuh"

namespace myriad {

inline constexpr gpu::KernelName svd_tiny_kernel{"svd/svd_tiny"};

/// Blocks per multiprocessor without spills, by type; for up to 4, 8, 16, 24 and 32 rows.
inline constexpr int svd_tiny_blocks[4][5]{{24, 28, 28, 24, 20}, {16, 20, 20, 16, 12}, {16, 20, 12, 12, 12}, {8, 16, 10, 8, 6}};

/// Most real numbers of a matrix of more than 4 rows that a lane has in registers.
inline constexpr int svd_lane_numbers = 32;

/// The plan of rows-by-cols matrices, which are the largest of a ragged batch. Up to 4 rows a lane has a matrix, and so it has one of up to
/// 4 columns in so few numbers, unless all columns of U are wanted. Beyond, as many lanes as columns give each lane two halves of columns;
/// up to 8 real columns, half of the lanes were faster in single precision (H200: 8 rows 2.4 ns, 2.9 ns; 25 rows 3.4 and 3.8 ns) and for 8
/// rows as fast in double, but not for 16 (16.4 and 14.8 ns; double 31.6 and 26.6 ns). Blocks per multiprocessor: the most without spills.
constexpr SvdTiny svd_tiny_plan(SvdJob job, Dtype dtype, std::int64_t rows, std::int64_t cols) {
  bool const complex = dtype == Dtype::c32 || dtype == Dtype::c64;
  int const m = static_cast<int>(std::max({rows, cols, std::int64_t{1}}));
  int const n = static_cast<int>(std::max(std::min(rows, cols), std::int64_t{1}));
  SvdTiny c{.m = m, .n = n, .columns = job == SvdJob::values ? 0 : job == SvdJob::full ? m : n, .lanes = 1, .blocks_per_sm = 1};
  bool const in_lane = m <= 4 || (n <= 4 && c.columns <= n && m * n * (complex ? 2 : 1) <= svd_lane_numbers);
  if (!in_lane) {
    c.lanes = std::max(static_cast<int>(std::bit_ceil(static_cast<unsigned>(n))), 2);
    if (n > 4 && n <= 8 && !complex && (m <= 8 || (dtype == Dtype::f32 && c.columns <= n))) c.lanes = 4;
    // Many small matrices with all of U would not fit.
    constexpr int most_bytes = 48 * 1024;
    int const bytes = element_bytes(dtype);
    while (c.lanes < 32 && SvdTinyMemory(bytes, complex ? bytes / 2 : bytes, c).bytes > most_bytes) c.lanes *= 2;
  }
  auto const& blocks = svd_tiny_blocks[dtype == Dtype::f32 ? 0 : dtype == Dtype::f64 ? 1 : dtype == Dtype::c32 ? 2 : 3];
  c.blocks_per_sm = c.lanes == 4 && n > 4 && m > 8 ? 14 : blocks[in_lane ? 0 : (m + 7) / 8];
  return c;
}

/// Kernels with a warp per matrix, for up to 36, 40 and, in single, 48 rows and columns with vectors. Those for 48 rows took 1235 ns in
/// double and 1822 ns in single complex (H200), svd_block 758 and 942 ns. In double complex two columns do not fit the registers of a lane.
constexpr int svd_warp_count(Dtype dtype) { return dtype == Dtype::f32 ? 3 : dtype == Dtype::c64 ? 0 : 2; }
/// Blocks per multiprocessor in single: 14 in place of 12 took, for 36 and 40 rows, 171 and 222, 257 and 227 ns.
constexpr SvdTiny svd_warp_of(Dtype dtype, int which) {
  constexpr int sizes[3]{36, 40, 48}, blocks_in_single[3]{14, 12, 10};
  int const n = sizes[which];
  return {.m = n, .n = n, .columns = n, .lanes = 32, .blocks_per_sm = dtype == Dtype::f32 ? blocks_in_single[which] : 8};
}
/// The most rows and columns of these kernels; 0 without them.
constexpr int svd_warp_most(Dtype dtype) { return svd_warp_count(dtype) > 0 ? svd_warp_of(dtype, svd_warp_count(dtype) - 1).m : 0; }
/// The kernel for matrices of up to `largest` rows and columns.
constexpr SvdTiny svd_warp_plan(Dtype dtype, std::int64_t largest) {
  int which = 0;
  while (svd_warp_of(dtype, which).m < largest) ++which;
  return svd_warp_of(dtype, which);
}

}  // namespace myriad
