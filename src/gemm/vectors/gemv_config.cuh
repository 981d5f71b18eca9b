#pragma once
/// Products of matrices with vectors on a GPU: configs and shared memory, shared by host and kernels.

#include "gemm/ragged/gemm_schedule.cuh"

namespace myriad {

/// One compiled kernel: a group of `lanes` lanes has `rows` rows of a matrix A, and loads k columns of these at a time to one of the
/// `stages` stages in shared memory that belong to the group alone.
struct Gemv {
  int rows, k;
  int lanes;  ///< of a group: a power of two up to 32
  int stages;
  int warps;  ///< of a block
  int blocks_per_sm;
  Lines a;
  int scheduled;  ///< 1: groups take the rows that a schedule lists
  constexpr bool operator==(Gemv const&) const = default;

  SIMT_INLINE constexpr int threads() const { return 32 * warps; }
  SIMT_INLINE constexpr int groups() const { return threads() / lanes; }
};

/// One compiled kernel for matrices by columns, without shared memory: a lane has a row, and loads `terms` elements of it at a time.
struct GemvColumns {
  int terms;
  int warps;  ///< of a block
  int blocks_per_sm;
  int scheduled;
  constexpr bool operator==(GemvColumns const&) const = default;

  SIMT_INLINE constexpr int threads() const { return 32 * warps; }
};

/// One compiled kernel for short rows or small matrices: a warp has `rows` rows of up to k elements, all of them in shared memory at once.
struct GemvWhole {
  int rows, k;
  int warps;  ///< of a block
  int blocks_per_sm;
  /// Whether every matrix has k columns and no gaps: a warp's rows are then copied as one span, in the order of memory. By columns the span
  /// is the whole matrix.
  int in_one_piece;  ///< 0 or 1, so that there is no padding
  Lines a;
  int scheduled;
  constexpr bool operator==(GemvWhole const&) const = default;

  SIMT_INLINE constexpr int threads() const { return 32 * warps; }
};
/// The dynamic shared memory of a block: for each warp rows of A, then x. Offsets are in elements.
struct GemvWholeMemory {
  int pitch;  ///< from line to line; lanes that read 16 bytes of their lines hit different banks
  int x, of_warp;
  int bytes;

  SIMT_INLINE constexpr GemvWholeMemory(int element_bytes, GemvWhole const& g)
      : pitch(!g.in_one_piece         ? odd(whole(g.k, element_bytes), element_bytes)
              : g.a == Lines::columns ? g.rows
                                      : g.k),
        x(whole(g.in_one_piece ? g.rows * g.k + 16 / element_bytes - 1 : g.rows * pitch, element_bytes)),
        of_warp(x + whole(g.k, element_bytes)),
        bytes(g.warps * of_warp * element_bytes) {}

 private:
  /// Rounds up to whole 16-byte chunks, and to an odd number of them.
  SIMT_INLINE static constexpr int whole(int elements, int element_bytes) {
    int const of_chunk = 16 / element_bytes;
    return (elements + of_chunk - 1) / of_chunk * of_chunk;
  }
  SIMT_INLINE static constexpr int odd(int elements, int element_bytes) {
    int const of_chunk = 16 / element_bytes;
    return elements / of_chunk % 2 == 0 ? elements + of_chunk : elements;
  }
};

/// The dynamic shared memory of a block: each stage has rows of A, then elements of x. Offsets are in elements.
struct GemvMemory {
  int pitch;  ///< from line to line, of columns or rows; lanes that read 16 bytes each at the same time hit different banks
  int x, stage;
  int bytes;

  SIMT_INLINE constexpr GemvMemory(int element_bytes, Gemv const& g)
      : pitch(g.a == Lines::columns ? g.rows : g.k + (g.k * element_bytes / 16 % 2 == 0 ? 16 / element_bytes : 0)),
        x(pitch * (g.a == Lines::columns ? g.k : g.rows)),
        stage(x + g.k),
        bytes(g.groups() * g.stages * stage * element_bytes) {}
};

}  // namespace myriad
