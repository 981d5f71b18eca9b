#pragma once
/// Plan of the singular value decomposition of matrices that a block holds.

#include <cstdint>

#include "core/dtype.hpp"
#include "runtime/kernel_name.hpp"
#include "svd/svd_block_config.cuh"

namespace myriad {

inline constexpr gpu::KernelName svd_block_kernel{"svd/svd_block"};

/// Kernels of a type: those of up to 40, 48 and 64 rows and columns that took less time than bidiagonalization. In double complex that is
/// the first alone: 33 rows 1.22 us (1.27), 48 rows 2.0 us (1.9), 64 rows 4.6 us (2.7).
constexpr int svd_block_count(Dtype dtype) { return dtype == Dtype::c64 ? 1 : 3; }

/// Threads per pair of columns: four and two took, for 40, 48 and 64 rows in double, 631 and 567, 859 and 753, 1433 and 1709 ns (H200),
/// in single 64 rows 745 and 719 ns.
constexpr SvdBlock svd_block_of(Dtype dtype, int which) {
  constexpr int sizes[3]{40, 48, 64};
  constexpr int parts[4][3]{{2, 2, 2}, {2, 2, 4}, {4, 4, 4}, {4, 0, 0}};
  constexpr int blocks[4][3]{{8, 7, 5}, {4, 4, 3}, {4, 4, 3}, {3, 0, 0}};
  int const type = dtype == Dtype::f32 ? 0 : dtype == Dtype::f64 ? 1 : dtype == Dtype::c32 ? 2 : 3;
  return {.size = sizes[which], .parts = parts[type][which], .blocks_per_sm = blocks[type][which]};
}
constexpr SvdBlockMemory svd_block_memory(Dtype dtype, SvdBlock const& c) {
  int const bytes = static_cast<int>(element_bytes(dtype));
  return {bytes, dtype == Dtype::c32 || dtype == Dtype::c64 ? bytes / 2 : bytes, c};
}

/// The kernel for matrices of up to `largest` rows and columns.
constexpr SvdBlock svd_block_plan(Dtype dtype, std::int64_t largest) {
  int which = 0;
  while (svd_block_of(dtype, which).size < largest) ++which;
  return svd_block_of(dtype, which);
}

}  // namespace myriad
