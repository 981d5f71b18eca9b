#pragma once
/// gesvd of matrices that a block holds: see blocked/machine.hpp.

#include <algorithm>
#include <cstdint>

#include "blocked/machine.hpp"
#include "core/dtype.hpp"
#include "runtime/views.hpp"
#include "svd/svd.hpp"
#include "svd/svd_block_plan.hpp"
#include "svd/svd_tiny_arguments.hpp"
#include "svd/svd_tiny_plan.hpp"

namespace myriad {

/// `above` and `upto`: see SvdBlockArguments.
template <typename T>
SvdBlockArguments<gpu::DeviceElement<T>> svd_block_arguments(GesvdTask<T> const& task, std::int64_t above, std::int64_t upto) {
  return {.a = gpu::matrices_of(task.a),
          .out = {gpu::matrices_of(wants_u(task.job) ? task.u : Batch<T>{}), gpu::matrices_of(wants_vt(task.job) ? task.vt : Batch<T>{})},
          .s = gpu::matrices_of(task.s),
          .info = task.info,
          .full = task.job == SvdJob::full,
          .above = static_cast<int>(above),
          .upto = static_cast<int>(upto)};
}

/// The most rows and columns for which a warp or a block takes less time than bidiagonalization; 0 for values alone, which need no
/// reflectors and no divide and conquer.
template <typename T>
std::int64_t svd_block_limit(SvdJob job, Device const& device) {
  if (job == SvdJob::values) return 0;
  std::int64_t limit = svd_warp_most(dtype_of<T>);
  for (int k = 0; k < svd_block_count(dtype_of<T>); ++k) {
    SvdBlock const c = svd_block_of(dtype_of<T>, k);
    if (svd_block_memory(dtype_of<T>, c).bytes <= device.shared_memory_per_block) limit = c.size;
  }
  return limit;
}

/// gesvd with vectors of matrices with more than `above` and up to `upto` rows or columns, whichever are more: the smaller ones by a warp
/// each, the others by a block. The singular values and U and V have high relative accuracy: see docs/kernels/factorizations.md. info as
/// gesvd_tiny.
template <typename T, Machine<T> M>
void svd_by_block(M& machine, GesvdTask<T> const& task, std::int64_t above, std::int64_t upto) {
  constexpr Dtype dtype = dtype_of<T>;
  std::int64_t const of_warps = std::min<std::int64_t>(upto, svd_warp_most(dtype));
  if (of_warps > 0 && (task.a.ragged() ? of_warps > above : of_warps == upto)) {
    SvdTiny const c = svd_warp_plan(dtype, of_warps);
    machine.run(svd_tiny_kernel,
                {.blocks = task.a.count, .threads = 32, .shared_bytes = SvdTinyMemory(sizeof(T), sizeof(Real<T>), c).bytes},
                svd_tiny_arguments(task, c, above, of_warps), dtype, c);
  }
  if (of_warps == upto) return;
  SvdBlock const c = svd_block_plan(dtype, upto);
  machine.run(svd_block_kernel, {.blocks = task.a.count, .threads = c.threads(), .shared_bytes = svd_block_memory(dtype, c).bytes},
              svd_block_arguments(task, std::max(above, of_warps), upto), dtype, c);
}

}  // namespace myriad
