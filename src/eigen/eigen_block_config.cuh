#pragma once
/// Eigenproblems of larger matrices, one block each: declarations shared by host and kernel.

#include "eigen/divide_and_conquer/divide_memory.cuh"
#include "eigen/eigen_tiny_config.cuh"

namespace myriad {

/// Whether consecutive threads load and store along a column or a row.
enum class EigenAccess : int { columns, rows };

/// One compiled kernel: matrices of up to n rows, a multiple of 32; with vectors four threads per row, else a warp.
struct EigenBlock {
  EigenJob job;
  int n;
  EigenAccess access;
  constexpr bool operator==(EigenBlock const&) const = default;

  SIMT_INLINE constexpr int threads() const { return vectors() ? 4 * n : 32; }
  SIMT_INLINE constexpr bool by_rows() const { return access == EigenAccess::rows; }
  SIMT_INLINE constexpr bool vectors() const { return job == EigenJob::vectors; }
};

/// Dynamic shared memory of a block, in bytes, for matrices of up to `rows` rows, more than 32.
struct EigenBlockMemory {
  int line;          ///< column stride in elements: odd, so that columns and rows are free of bank conflicts
  int diagonal = 0;  ///< of the tridiagonal matrix, and its off-diagonal
  int work = 0;      ///< reused by the steps
  int bytes;

  SIMT_INLINE constexpr EigenBlockMemory(int element_bytes, int real_bytes, EigenBlock const& c, int rows) : line(0), bytes(0) {
    int const held = c.vectors() ? rows : simt::smaller(rows, 32);  // values alone of larger matrices need no tile
    line = held | 1;
    diagonal = 16 * simt::ceil_div(line * held * element_bytes, 16);
    work = 16 * simt::ceil_div(diagonal + 2 * rows * real_bytes, 16);
    int const reflectors = 4 * rows * element_bytes;
    int const divide = c.vectors() ? simt::DivideMemory(real_bytes, rows).bytes : 0;
    bytes = work + simt::larger(reflectors, divide);
  }
};

}  // namespace myriad
