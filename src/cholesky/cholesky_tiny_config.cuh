#pragma once
/// Cholesky of matrices of up to 32 rows on a GPU: what host and kernel share.

#include "cholesky/cholesky_solve.cuh"
#include "simt/tile.hpp"

namespace myriad {

/// The task of a kernel: potrf; potrs; solve_positive_definite, which does not write the factor; posv; potri.
enum class CholeskyJob : int { factor, solve_by_factor, solve, solve_and_factor, inverse };

/// How the matrix is read. Of matrices that are not packed always as little as of `lower`.
enum class CholeskyLoad : int {
  whole,         ///< into the tile, neighbouring threads neighbouring elements
  lower,         ///< of that the chunks with elements of the lower triangle, or these elements alone where they move one by one
  to_registers,  ///< by the lanes that hold the rows, where these are neighbours in memory; else as `lower`
};

/// Who writes the factor or the inverse.
enum class CholeskyStore : int {
  from_tile,  ///< neighbouring threads neighbouring elements, from shared memory
  by_rows,    ///< lanes their own rows, as columns are finished
};

/// One compiled kernel: n-by-n matrices, `lanes` lanes of a warp to a matrix, `matrices` matrices to a block.
struct CholeskyTiny {
  CholeskyJob job;
  int n;
  int nrhs;  ///< right-hand sides beside the matrix, where the job is to solve; else 0
  int lanes, matrices;
  int blocks_per_sm;    ///< for which registers have to suffice; 0: as the compiler likes
  CholeskyLoad load;    ///< to_registers only where the job is to solve, with several lanes
  CholeskyStore store;  ///< by_rows only where the factor is written, with several lanes
  simt::Layout a, b, x;
  constexpr bool operator==(CholeskyTiny const&) const = default;

  SIMT_INLINE constexpr int threads() const { return lanes * matrices; }
  SIMT_INLINE constexpr bool solves() const { return nrhs > 0; }
  SIMT_INLINE constexpr bool factors() const { return job != CholeskyJob::solve_by_factor && job != CholeskyJob::inverse; }
  SIMT_INLINE constexpr bool writes_factor() const { return job == CholeskyJob::factor || job == CholeskyJob::solve_and_factor; }
  /// Whether the elements of a column are neighbours in memory.
  SIMT_INLINE constexpr bool by_columns() const { return simt::is_by_columns(a); }
  /// Whether lanes read their rows themselves. The matrix then needs no shared memory.
  SIMT_INLINE constexpr bool loads_rows() const {
    return load == CholeskyLoad::to_registers && job == CholeskyJob::solve && lanes > 1 && by_columns();
  }
  /// Whether lanes write to their rows themselves: only where these are neighbours in memory.
  SIMT_INLINE constexpr bool stores_rows() const { return store == CholeskyStore::by_rows && writes_factor() && lanes > 1 && by_columns(); }
  /// The part of a matrix that comes to the tile.
  SIMT_INLINE constexpr simt::Part part() const {
    return simt::is_packed(a) && load == CholeskyLoad::whole ? simt::Part::whole : simt::Part::lower;
  }
  /// Whether finished columns go back into the tile: for the store, or for the solve across lanes.
  SIMT_INLINE constexpr bool keeps_factor() const { return (writes_factor() && !stores_rows()) || (solves() && lanes > 1); }
  /// Whether matrices may be at any distance (see TileShape): measured of potrf only, and faster there.
  SIMT_INLINE constexpr bool any_distance() const { return job == CholeskyJob::factor; }
  /// Whether lanes use rows of the tile as well as columns.
  SIMT_INLINE constexpr bool padded() const { return job != CholeskyJob::factor && job != CholeskyJob::solve; }
};

/// The dynamic shared memory of a block, one part after the other; in bytes.
struct CholeskyTinyMemory {
  int b, buffer;
  int buffer_of_matrix;
  int bytes;

  SIMT_INLINE constexpr CholeskyTinyMemory(int element_bytes, CholeskyTiny const& c) {
    using simt::ceil_div;
    int const per_chunk = 16 / element_bytes;
    b = c.loads_rows() ? 0 : simt::TileShape(element_bytes, c.n, c.n, c.matrices, c.lanes, c.a, c.padded(), c.any_distance()).bytes;
    buffer = b + (c.solves() ? simt::TileShape(element_bytes, c.n, c.nrhs, c.matrices, c.lanes, c.b).bytes : 0);
    // Two columns, so that one barrier a step is enough; an odd number of 16-byte chunks, so that lanes of different matrices read
    // different banks.
    buffer_of_matrix = c.lanes == 1 ? 0
                       : c.job == CholeskyJob::solve
                           ? 16 * (simt::CholeskySolveBuffer(element_bytes, c.n, c.nrhs, c.lanes).size / per_chunk | 1)
                           : 16 * (2 * (ceil_div(c.n, per_chunk) + ceil_div(c.nrhs, per_chunk)) + 1);
    bytes = buffer + buffer_of_matrix * c.matrices;
  }
};

/// Only the lower triangle of every matrix is loaded.
template <typename T>
struct CholeskyTinyArguments {
  simt::Matrices<T const> a;
  simt::Matrices<T> result;     ///< the same matrices, where they are written
  simt::Matrices<T const> b;    ///< where the job is to solve
  simt::Matrices<T> x;          ///< may be b
  int* info;                    ///< or null
  bool nan_where_not_definite;  ///< of x; otherwise it is left as it is, and is b
};

}  // namespace myriad
