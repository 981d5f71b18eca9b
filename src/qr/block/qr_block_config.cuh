#pragma once
/// QR of matrices, or panels of matrices, that a block holds in shared memory: what host and kernel share.

#include "simt/matrices.hpp"

namespace myriad {

/// One compiled kernel. Sizes are known at run time, and so is how many threads a block has. `lanes` lanes of a warp are a group, and lane
/// l of a group has rows l, l + lanes, ... of a column; columns are dealt to groups.
struct QrBlock {
  static constexpr int held = 8;  ///< rows of a lane at most

  int most_threads, lanes, blocks_per_sm;
  constexpr bool operator==(QrBlock const&) const = default;

  /// Columns that a group changes at a time, by registers
  SIMT_INLINE constexpr int at_once(int element_bytes) const { return element_bytes < 16 ? 4 : lanes < 32 ? 2 : 1; }
  /// Rows that a group has at most. A matrix with more has its rows dealt to several groups, a power of two, where a group is a warp.
  SIMT_INLINE constexpr int rows_of_group() const { return held * lanes; }
  SIMT_INLINE constexpr int log_parts(int rows) const {
    int log = 0;
    while (lanes == 32 && rows_of_group() << log < rows) ++log;
    return log;
  }
  SIMT_INLINE constexpr int most_rows() const { return lanes == 32 ? most_threads / lanes * rows_of_group() : rows_of_group(); }
};

/// The dynamic shared memory of a block, in elements: the matrix by columns, and behind it what goes from step to step.
struct QrBlockMemory {
  int ld;
  int products, heads, words;  ///< where they begin; words: of 4 bytes, one for each warp and each part
  long long bytes;

  SIMT_INLINE constexpr QrBlockMemory(QrBlock const& c, int element_bytes, int rows, int cols) {
    // Rows of several columns that a warp reads at a time are in different banks.
    int const granules = (rows + c.lanes - 1) / c.lanes;
    ld = c.lanes * (c.lanes * element_bytes < 128 ? granules | 1 : granules);
    int const parts = 1 << c.log_parts(rows);
    products = ld * cols;
    heads = products + 3 * parts * cols;
    words = heads + 2 * cols;
    bytes = static_cast<long long>(words) * element_bytes + 4 * (c.most_threads / 32 + parts);
  }
};

/// A becomes R and the reflectors, as LAPACK's geqrf. A is not conjugated; tau is written as its view says.
template <typename T>
struct QrBlockArguments {
  simt::Matrices<T> a, tau;
  int threads;  ///< of a block
  bool scales;  ///< whether A is scaled where its elements are near the ends of the range, and R scaled back
};

}  // namespace myriad
