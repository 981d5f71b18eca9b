#pragma once
/// Eigenproblems of larger matrices, one block each: declarations shared by host and kernel.

#include "eigen/divide_and_conquer/divide_memory.cuh"
#include "eigen/eigen_tiny_config.cuh"

namespace myriad {

/// Whether consecutive threads load and store along a column or a row.
enum class EigenAccess : int { columns, rows };

/// One compiled kernel: matrices of up to n rows, a multiple of 32; four threads per row.
struct EigenBlock {
  EigenJob job;
  int n;
  EigenAccess access;
  constexpr bool operator==(EigenBlock const&) const = default;

  SIMT_INLINE constexpr int threads() const { return 4 * n; }
  SIMT_INLINE constexpr bool by_rows() const { return access == EigenAccess::rows; }
  SIMT_INLINE constexpr bool vectors() const { return job == EigenJob::vectors; }
};

/// Dynamic shared memory of a block, in bytes, for matrices of up to `rows` rows, more than 32.
struct EigenBlockMemory {
  int line;      ///< column stride in elements: odd, so that columns and rows are free of bank conflicts
  int diagonal;  ///< of the tridiagonal matrix, and its off-diagonal
  int work;      ///< reused by the steps
  int bytes;

  SIMT_INLINE constexpr EigenBlockMemory(int element_bytes, int real_bytes, EigenBlock const& c, int rows)
      : line(rows | 1), diagonal(16 * simt::ceil_div(line * rows * element_bytes, 16)), work(diagonal + 2 * rows * real_bytes), bytes(0) {
    work = 16 * simt::ceil_div(work, 16);
    int const reduction = 4 * rows * element_bytes;
    int const divide = c.vectors() ? simt::DivideMemory(real_bytes, rows).bytes : 0;
    bytes = work + simt::larger(reduction, divide);
  }
};

}  // namespace myriad
