#pragma once
/// LU of matrices of up to 32 rows and columns on a GPU: what host and kernel share.

#include "simt/tile.hpp"

namespace myriad {

/// The result that a kernel gives.
enum class LuJob : int { factor, factor_without_pivoting, solve, solve_and_factor, inverse, determinant, log_determinant };

/// How a matrix is factored or inverted.
enum class LuMethod : int {
  in_registers,  ///< LuInOneLane: the whole matrix in those of one lane; the inverse: GaussJordanAcrossLanes, of several
  panels,        ///< LuByPanels: panels in registers, left-looking; by several lanes
  elimination,   ///< Elimination: panels in registers, right-looking; nothing is left of L
  products,      ///< GaussJordanByProducts: the inverse on tensor cores, of doubles, by a warp
};

/// Up to how many lanes of a matrix GaussJordanAcrossLanes passes the rows of pivots by shuffles; between more through shared memory.
inline constexpr int lu_shuffle_lanes = 16;

/// Into how many panels a matrix may be divided: LuByPanels keeps track of a row in each but the last.
inline constexpr int lu_most_panels = 6;

/// Shared memory of GaussJordanByProducts, in doubles: four columns, their rows as factors, four rows of pivots, and two
/// rows of the four columns on their way to all lanes. Distances are such that lanes meet different banks.
struct LuProductsBuffer {
  int columns_pitch;  ///< an odd multiple of 64 bytes
  int factors, rows;
  int rows_pitch;  ///< 32 bytes more than a multiple of 128
  int passed;
  int elements;

  SIMT_INLINE explicit constexpr LuProductsBuffer(int n)
      : columns_pitch(simt::ceil_div(n, 8) / 2 * 16 + 8),
        factors(4 * columns_pitch),
        rows(2 * factors),
        rows_pitch(simt::ceil_div(n, 16) * 16 + 4),
        passed(rows + 4 * rows_pitch),
        elements(passed + 8) {}
};

/// One compiled kernel: m-by-n matrices, `lanes` lanes of a warp to a matrix, `matrices` matrices to a block.
struct LuTiny {
  LuJob job;
  int m, n;
  int nrhs;  ///< right-hand sides beside the matrix, where the job is to solve; else 0
  int lanes, matrices;
  LuMethod method;
  int panel;            ///< columns that are in registers at a time, with methods that have panels; otherwise 0
  int blocks_per_sm;    ///< for which registers have to suffice; 0: as the compiler likes
  simt::Layout a;       ///< layouts of the batches of the same names below
  simt::Layout result;  ///< of the factors or the inverse
  simt::Layout b, x;    ///< where the job is to solve
  simt::Layout pivots;  ///< packed_columns or columns
  constexpr bool operator==(LuTiny const&) const = default;

  SIMT_INLINE constexpr int threads() const { return lanes * matrices; }
  SIMT_INLINE constexpr bool solves() const { return job == LuJob::solve || job == LuJob::solve_and_factor; }
  SIMT_INLINE constexpr bool pivoting() const { return job != LuJob::factor_without_pivoting; }
  SIMT_INLINE constexpr bool determinant() const { return job == LuJob::determinant || job == LuJob::log_determinant; }
  SIMT_INLINE constexpr bool writes_factors() const { return job != LuJob::solve && job != LuJob::inverse && !determinant(); }
  /// Whether pivots are reported, or tell the columns of an inverse.
  SIMT_INLINE constexpr bool keeps_pivots() const { return pivoting() && has_result() && method != LuMethod::products; }
  SIMT_INLINE constexpr bool has_result() const { return writes_factors() || job == LuJob::inverse; }
  /// Whether the lanes write factors from the tile to their rows themselves, a few rows of each column at once, instead of sorting the rows
  /// within the tile: faster where the rows of the lanes fill sectors of memory.
  SIMT_INLINE constexpr bool writes_rows(int element_bytes) const {
    return writes_factors() && lanes > 1 && element_bytes > 4 && simt::is_by_columns(result);
  }
  SIMT_INLINE constexpr bool by_panels() const { return job != LuJob::inverse && method == LuMethod::panels; }
  SIMT_INLINE constexpr bool eliminates() const { return job != LuJob::inverse && method == LuMethod::elimination; }
  /// Whether the lanes of a matrix read it in shared memory again and again.
  SIMT_INLINE constexpr bool any_distance() const { return lanes > 1 && (by_panels() || eliminates()); }
  /// Whether lanes use columns as well as rows.
  SIMT_INLINE constexpr bool padded() const { return method == LuMethod::products; }
  /// Whether a matrix may be smaller than m by n.
  SIMT_INLINE constexpr bool ragged() const { return simt::is_ragged(a); }
};

/// The dynamic shared memory of a block, one part after the other; in bytes.
struct LuTinyMemory {
  int x, pivots, order, buffer;
  int buffer_of_matrix;
  int bytes;

  SIMT_INLINE constexpr LuTinyMemory(int element_bytes, LuTiny const& c) {
    using simt::ceil_div;
    int const per_chunk = 16 / element_bytes;
    x = simt::TileShape(element_bytes, c.m, c.n, c.matrices, c.lanes, c.a, c.padded(), c.any_distance()).bytes;
    pivots = x + (c.solves() ? simt::TileShape(element_bytes, c.m, simt::larger(c.nrhs, 1), c.matrices, c.lanes, c.a).bytes : 0);
    order =
        pivots + (c.keeps_pivots() ? simt::TileShape(4, simt::smaller(c.m, c.n), 1, c.matrices, 1, simt::Layout::packed_columns).bytes : 0);
    int const end = order + (c.by_panels() ? ceil_div(c.matrices * c.m, 4) * 16 : 0);
    buffer = end;
    // Two rows, so that one barrier a step is enough; an odd number of 16-byte chunks, so that lanes of different matrices read different
    // banks.
    buffer_of_matrix = c.job != LuJob::inverse || c.lanes <= lu_shuffle_lanes ? 0 : 16 * (2 * ceil_div(c.n, per_chunk) + 1);
    if (c.method == LuMethod::products) buffer_of_matrix = LuProductsBuffer(c.n).elements * element_bytes;
    // A matrix that is alone in its block makes room by going to registers.
    if (c.method == LuMethod::products && c.matrices == 1) buffer = 0;
    bytes = simt::larger(end, buffer + buffer_of_matrix * c.matrices);
  }
};

template <typename T>
struct LuTinyArguments {
  simt::Matrices<T const> a;
  simt::Matrices<T> result;    ///< the factors or the inverse; may be a
  simt::Matrices<int> pivots;  ///< where they are wanted
  simt::Matrices<T const> b;   ///< where the job is to solve
  simt::Matrices<T> x;         ///< may be b
  int* info;                   ///< or null
  bool nan_where_singular;     ///< of x; otherwise it is left as it is
  T* sign_or_det;              ///< where the job is a determinant
  simt::Real<T>* logabs;       ///< and there where its logarithm is wanted
};

}  // namespace myriad
