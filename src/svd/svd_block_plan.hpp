#pragma once
/// Plan of the singular value decomposition of matrices that a block holds.

#include <cstdint>

#include "core/dtype.hpp"
#include "runtime/kernel_name.hpp"
#include "svd/svd_block_config.cuh"

namespace myriad {

inline constexpr gpu::KernelName svd_block_kernel{"svd/svd_block"};

/// Kernels of a type: those of up to 48 and 64 rows and columns, where svd_warp_plan has none that is faster, and in double complex of up
/// to 40, the sizes that took less time than bidiagonalization: 33 rows 1.22 us (1.27), 48 rows 2.0 us (1.9), 64 rows 4.6 us (2.7).
constexpr int svd_block_count(Dtype dtype) { return dtype == Dtype::f64 || dtype == Dtype::c32 ? 2 : 1; }

/// Threads per pair of columns: four and two took, for 48 and 64 rows in double, 859 and 753, 1433 and 1709 ns (H200), in single 64 rows
/// 745 and 719 ns, in double complex 40 rows 1353 and 1784 ns.
constexpr SvdBlock svd_block_of(Dtype dtype, int which) {
  constexpr SvdBlock kernels[4][2]{{{64, 2, 5}}, {{48, 2, 4}, {64, 4, 3}}, {{48, 4, 4}, {64, 4, 3}}, {{40, 4, 3}}};
  return kernels[dtype == Dtype::f32 ? 0 : dtype == Dtype::f64 ? 1 : dtype == Dtype::c32 ? 2 : 3][which];
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
