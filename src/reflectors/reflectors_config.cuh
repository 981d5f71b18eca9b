#pragma once
/// Forms or applies Q of a QR factorization or of the reduction to tridiagonal form: declarations shared by host and kernels.

#include "simt/matrices.hpp"

namespace myriad {

/// C = Q C or, with `adjoint`, Q^H C; or forms Q in C in place of the reflectors.
template <typename T>
struct ReflectorsArguments {
  simt::Matrices<T const> a, tau;
  simt::Matrices<T> c;
  bool lower, adjoint;
  int shift;  ///< rows from the diagonal to the first row of a vector: 0 for QR, else 1, or by_limit

  /// Value of `shift`: 1 for matrices of fewer than limit_of(b) + limit_offset rows, 0 for others, which have limit_of(b) reflectors.
  static constexpr int by_limit = -1;
  simt::Index limit;          ///< of every matrix; ragged: an upper bound
  simt::Index const* limits;  ///< ragged: of each matrix, or null
  int limit_offset;

  /// If C is a conjugated view, the conjugate is computed.
  SIMT_INLINE bool conjugates_v() const { return a.conjugated != c.conjugated; }
  SIMT_INLINE bool conjugates_tau() const { return tau.conjugated != c.conjugated; }
  SIMT_INLINE simt::Index limit_of(simt::Index b) const {
    return limits ? simt::smaller(simt::larger<simt::Index>(limits[b], 0), limit) : limit;
  }
  SIMT_INLINE int shift_of(simt::Index b, int n) const { return shift != by_limit ? shift : n < limit_of(b) + limit_offset ? 1 : 0; }
};

enum class ReflectorsJob : int { apply, form };

/// The kernel of matrices with up to `rows` reflectors. A group of threads has `rows` columns of C, each in the registers of `lanes` lanes.
/// A block has several groups, each with its own matrix. Reflectors are applied two at a time.
struct ReflectorsSmall {
  int rows, lanes, matrices;
  ReflectorsJob job;
  constexpr bool operator==(ReflectorsSmall const&) const = default;

  SIMT_INLINE constexpr bool forms() const { return job == ReflectorsJob::form; }
  SIMT_INLINE constexpr int group() const { return rows * lanes; }
  SIMT_INLINE constexpr int threads() const { return group() * matrices; }
  /// For 128 registers per thread.
  SIMT_INLINE constexpr int blocks_per_sm() const { return 512 / threads(); }
  /// Column stride of C in shared memory, odd against bank conflicts.
  SIMT_INLINE constexpr int line() const { return rows + 1; }
  /// In elements: columns of C or the reflectors, tau, and products of adjacent reflectors.
  SIMT_INLINE constexpr int tau_at() const { return rows * line(); }
  SIMT_INLINE constexpr int products_at() const { return tau_at() + rows; }
  SIMT_INLINE constexpr int elements() const { return products_at() + rows / 2; }
  SIMT_INLINE constexpr int shared_bytes(int element_bytes) const { return matrices * elements() * element_bytes; }
};

/// Reflectors of larger matrices, in panels of `width`: the product of a panel is I - V T V^H. Panel p has reflectors [p width, (p + 1)
/// width); for an upper triangle, whose product has the opposite order, the last one first. Its V is padded with zeros, and has
///
///  - for a lower triangle rows from p width on, of which `shift` are zero, so that rows of C begin at the same multiples of 16 bytes as C;
///  - for an upper one rows up to (p + 1) width.
///
/// The workspace has panels [first, first + panels), each for all matrices.
template <typename T>
struct ReflectorsPanels {
  ReflectorsArguments<T> batch;
  int width, first, panels;
  int passed_over;  ///< matrices of up to so many rows belong to another kernel
  T* v;
  simt::Index ld;
  T* factors;         ///< the lower triangle of V^H V, then T
  simt::Index* rows;  ///< of V
  // Sizes of each matrix of a ragged batch, for views of C: rows and columns including the offset of C, zero if skipped; columns.
  simt::Index *c_rows, *c_columns, *columns;

  SIMT_INLINE int order(simt::Index b) const {
    int const n = batch.a.rows_of(b);
    return n > passed_over ? n : 0;
  }
  /// Reflectors of a matrix of n rows.
  SIMT_INLINE int reflectors(simt::Index b, int n) const {
    int const shift = batch.shift_of(b, n), most = simt::smaller(n - shift, simt::smaller(batch.a.cols_of(b), batch.tau.rows_of(b)));
    if (batch.shift != batch.by_limit || shift == 1) return most;
    return static_cast<int>(simt::smaller<simt::Index>(most, batch.limit_of(b)));
  }
  /// The panel's rows of V.
  SIMT_INLINE int rows_of(int n, int panel) const {
    return batch.lower ? simt::larger(n - panel * width, 0) : simt::smaller((panel + 1) * width, n);
  }
  /// Elements of shared memory for the 32-by-32 blocks of V^H V above the diagonal, and for reads behind the last one.
  SIMT_INLINE static constexpr int blocks_at(int block) { return block * (block + 1) / 2 * 1024; }
  SIMT_INLINE static constexpr int factor_bytes(int width, int element_bytes) {
    return (blocks_at(width / 32) + 32 + width) * element_bytes;
  }
};

/// Sets columns [first, end) of C to those of a unit matrix.
template <typename T>
struct ReflectorsIdentity {
  ReflectorsPanels<T> work;
  int first, end;
};

/// Threads of the kernels that copy reflectors to the workspace, and set C to a unit matrix.
inline constexpr int reflectors_copy_threads = 256;

}  // namespace myriad
