#pragma once
/// Plans of the kernels for eigenproblems.
///
/// Tried without gain (H200, batches of 1000 in double): QL only beyond 32 rows, 26.5 ms at 128 rows, divide and conquer 5.2.

#include <algorithm>
#include <bit>
#include <cstdint>

#include "eigen/divide_and_conquer/stedc_plan.hpp"
#include "eigen/eigen_block_config.cuh"
#include "eigen/eigen_large_config.cuh"
#include "eigen/eigen_tiny_config.cuh"
#include "myriad/types.hpp"
#include "runtime/tiny.hpp"

namespace myriad {

/// The layout is set to packed columns. Every lane of a matrix computes the rotations, so more lanes mean more total work, but less per
/// lane. Few matrices leave the GPU idle, so they get one row per lane. Others get about four rows per lane, to have work while waiting for
/// the next rotation. Not measured. The bits do not depend on it.
constexpr EigenTiny eigen_tiny_plan(EigenJob job, int n, bool few) {
  int const lanes = few ? static_cast<int>(std::bit_ceil(static_cast<unsigned>(n))) : n <= 4 ? 1 : n <= 8 ? 2 : n <= 16 ? 4 : 8;
  return {.job = job, .n = n, .lanes = lanes, .matrices = 32 / lanes, .a = simt::Layout::packed_columns};
}

/// Whether one row per lane gives at most eight warps per multiprocessor.
constexpr bool eigen_tiny_are_few(std::int64_t count, int n, int multiprocessors) {
  return count * std::bit_ceil(static_cast<unsigned>(n)) <= std::int64_t{8} * 32 * multiprocessors;
}

/// The same for interleaved batches: more matrices per block, as far as shared memory allows.
constexpr EigenTiny eigen_tiny_interleaved(EigenTiny c, int element_bytes, int real_bytes) {
  constexpr int most_bytes = 160 * 1024;
  c.a = simt::Layout::interleaved;
  EigenTiny wider = c;
  wider.matrices = gpu::matrices_of_block(c.matrices, c.lanes, true, element_bytes);
  return EigenTinyMemory(element_bytes, real_bytes, wider).bytes <= most_bytes ? wider : c;
}

/// Larger matrices. The access is set to columns.
constexpr EigenBlock eigen_block_plan(EigenJob job, int n) { return {.job = job, .n = (n + 31) / 32 * 32, .access = EigenAccess::columns}; }

/// Shared memory of a block on the GPUs that have most.
constexpr int most_shared_bytes = 227 * 1024;

/// Rows of the largest matrix that fits in `shared_bytes` of a block.
constexpr int eigen_block_largest(int element_bytes, int real_bytes, int shared_bytes) {
  int n = 0;
  while (EigenBlockMemory(element_bytes, real_bytes, eigen_block_plan(EigenJob::vectors, n + 1), n + 1).bytes <= shared_bytes) ++n;
  return n;
}

/// Blocks per matrix that search for its largest element.
constexpr int eigen_large_parts(std::int64_t count, int multiprocessors) {
  return static_cast<int>((4 * multiprocessors + count - 1) / count);
}

/// Bytes of workspace, which limit the number of matrices at a time, but at least one.
constexpr std::int64_t eigen_large_workspace = std::int64_t{1} << 30;

/// Workspace of the large eigenproblems of `count` matrices of up to n rows.
template <typename T>
struct EigenLargeWorkspace {
  StedcWork<Real<T>> tridiagonal;
  Real<T>*d, *e;  ///< the same memory as in `tridiagonal`
  T* tau;
  std::int64_t* sizes;  ///< five per matrix
  Real<T>* largest;

  EigenLargeWorkspace(Arena& arena, std::int64_t n, int leaf, std::int64_t count, bool vectors, int parts)
      : tridiagonal(stedc_work<Real<T>>(arena, n, leaf, count, vectors)),
        d(const_cast<Real<T>*>(tridiagonal.d.data)),
        e(const_cast<Real<T>*>(tridiagonal.e.data)),
        tau(arena.take<T>(n * count)),
        sizes(arena.take<std::int64_t>(5 * count)),
        largest(arena.take<Real<T>>(parts * count)) {}
};

}  // namespace myriad
