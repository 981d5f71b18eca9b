#pragma once
/// Eigenproblems of larger matrices on a GPU, a block to each: what host and kernel share.

#include "eigen/eigen_tiny_config.cuh"

namespace myriad {

/// Whether neighbouring threads bring and write neighbours in a column or in a row.
enum class EigenAccess : int { columns, rows };

/// One compiled kernel: matrices of up to n rows, a multiple of 32, of which each is a thread's.
struct EigenBlock {
  EigenJob job;
  int n;
  EigenAccess access;
  constexpr bool operator==(EigenBlock const&) const = default;

  SIMT_INLINE constexpr int threads() const { return n; }
  SIMT_INLINE constexpr bool by_rows() const { return access == EigenAccess::rows; }
  SIMT_INLINE constexpr bool vectors() const { return job == EigenJob::vectors; }
};

/// The dynamic shared memory of a block, for matrices of up to `rows` rows.
struct EigenBlockMemory {
  int line;    ///< elements from one column to the next: odd, so that columns and rows meet all banks
  int buffer;  ///< in bytes
  int bytes;

  SIMT_INLINE constexpr EigenBlockMemory(int element_bytes, int real_bytes, EigenBlock const& c, int rows)
      : line(rows | 1),
        buffer(16 * simt::ceil_div(line * rows * element_bytes, 16)),
        bytes(buffer + c.n * (3 * element_bytes + 2 * real_bytes)) {}
};

}  // namespace myriad
