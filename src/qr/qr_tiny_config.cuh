#pragma once
/// QR of matrices of up to 32 rows and columns on a GPU: what host and kernel share.

#include "simt/tile.hpp"

namespace myriad {

/// The result that a kernel gives.
enum class QrJob : int {
  factor,         ///< geqrf
  apply,          ///< C = Q C
  apply_adjoint,  ///< C = Q^H C
  generate,       ///< orgqr
  least_squares,  ///< gels for m >= n
  minimum_norm,   ///< gels for m < n: the matrix is A^H
};

/// Where a lane has the vector of a reflector for its second use: in registers still, or in shared memory.
enum class QrVector : int { kept, read_again };

/// One compiled kernel: m-by-n matrices, `lanes` lanes of a warp to a matrix, `matrices` matrices to a block.
struct QrTiny {
  QrJob job;
  int m, n;        ///< of the matrix that is factored or holds the reflectors
  int reflectors;  ///< min(m, n), or as many as tau has
  int columns;     ///< of C, or right-hand sides; else 0
  int beside;      ///< right-hand sides that take part in the factorization as further columns: none or all
  int lanes, matrices;
  QrVector vector;
  int blocks_per_sm;  ///< for which registers have to suffice; 0: as the compiler likes
  simt::Layout a, c;  ///< layouts of the batches of the same names below
  simt::Layout tau;
  constexpr bool operator==(QrTiny const&) const = default;

  SIMT_INLINE constexpr int threads() const { return lanes * matrices; }
  SIMT_INLINE constexpr bool solves() const { return job == QrJob::least_squares || job == QrJob::minimum_norm; }
  SIMT_INLINE constexpr bool factors() const { return job == QrJob::factor || solves(); }
  SIMT_INLINE constexpr bool applies() const { return job == QrJob::apply || job == QrJob::apply_adjoint; }
  SIMT_INLINE constexpr bool has_columns() const { return solves() || applies(); }
  SIMT_INLINE constexpr bool writes_a() const { return factors() || job == QrJob::generate; }
  /// Whether a matrix may be smaller than m by n.
  SIMT_INLINE constexpr bool ragged() const { return simt::is_ragged(a); }
};

/// The dynamic shared memory of a block, one part after the other; in bytes.
struct QrTinyMemory {
  int c, tau, scales, buffer;  ///< scales: of a job that factors, by which the matrices were scaled
  int buffer_of_matrix;
  int bytes;

  SIMT_INLINE constexpr QrTinyMemory(int element_bytes, QrTiny const& k) {
    using simt::larger;
    c = simt::TileShape(element_bytes, k.n, k.m, k.matrices, k.lanes, k.a).bytes;
    tau = c + (k.has_columns() ? simt::TileShape(element_bytes, larger(k.columns, 1), k.m, k.matrices, k.lanes, k.a).bytes : 0);
    scales = tau + simt::TileShape(element_bytes, larger(k.reflectors, 1), 1, k.matrices, 1, simt::Layout::packed_columns).bytes;
    buffer = scales + (k.factors() ? 16 * simt::ceil_div(k.matrices, 4) : 0);
    // Two vectors, so that one barrier a step is enough; an odd number of 16-byte chunks, so that lanes of different matrices read
    // different banks.
    bool const shares = k.lanes > 1 || !k.factors() || (k.solves() && k.beside == 0);
    buffer_of_matrix = shares ? 16 * (2 * simt::ceil_div(k.m * element_bytes, 16) + 1) : 0;
    bytes = buffer + buffer_of_matrix * k.matrices;
  }
};

/// Every matrix is given transposed: what a lane holds, a column, is a row of a tile.
template <typename T>
struct QrTinyArguments {
  simt::Matrices<T> a;    ///< where factors or Q are written, they take its place
  simt::Matrices<T> c;    ///< C, or B and X
  simt::Matrices<T> tau;  ///< not transposed; where the job is gels, none
  int* info;              ///< or null
  bool keeps_a;           ///< A stays as it is; where the job is gels
};

}  // namespace myriad
