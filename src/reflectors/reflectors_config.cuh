#pragma once
/// Q of a QR factorization or of the reduction to tridiagonal form on a GPU, formed or applied: what host and kernels share.

#include "simt/matrices.hpp"

namespace myriad {

/// C = Q C or, `adjoint`, Q^H C; or C, in whose place the reflectors are, becomes Q.
template <typename T>
struct ReflectorsArguments {
  simt::Matrices<T const> a, tau;
  simt::Matrices<T> c;
  bool lower, adjoint;
  int shift;  ///< rows from the diagonal to where a vector begins: 0 of a QR factorization, else 1

  /// The conjugate is computed where C is a conjugated view.
  SIMT_INLINE bool conjugates_v() const { return a.conjugated != c.conjugated; }
  SIMT_INLINE bool conjugates_tau() const { return tau.conjugated != c.conjugated; }
};

enum class ReflectorsJob : int { apply, form };

/// The kernel of matrices with up to `rows` reflectors: as many columns of C to a group of threads, each in the registers of `lanes` lanes,
/// and several groups, each with another matrix, to a block. Reflectors are applied two at a time.
struct ReflectorsSmall {
  int rows, lanes, matrices;
  ReflectorsJob job;
  constexpr bool operator==(ReflectorsSmall const&) const = default;

  SIMT_INLINE constexpr bool forms() const { return job == ReflectorsJob::form; }
  SIMT_INLINE constexpr int group() const { return rows * lanes; }
  SIMT_INLINE constexpr int threads() const { return group() * matrices; }
  /// For 128 registers a thread.
  SIMT_INLINE constexpr int blocks_per_sm() const { return 512 / threads(); }
  /// Columns of C in shared memory are an odd number of elements apart.
  SIMT_INLINE constexpr int line() const { return rows + 1; }
  /// In elements: columns of C or the reflectors, tau, and products of neighbouring reflectors.
  SIMT_INLINE constexpr int tau_at() const { return rows * line(); }
  SIMT_INLINE constexpr int products_at() const { return tau_at() + rows; }
  SIMT_INLINE constexpr int elements() const { return products_at() + rows / 2; }
  SIMT_INLINE constexpr int shared_bytes(int element_bytes) const { return matrices * elements() * element_bytes; }
};

/// Reflectors of larger matrices, `width` at a time, a panel: their product is I - V T V^H. Panel p has reflectors [p width, (p + 1)
/// width); of an upper triangle, whose product is in the opposite order, the last one first. Its V has zeros where a matrix has nothing,
/// and is
///
///  - of a lower triangle rows from p width on, of which `shift` are zero: so rows of C begin at the same multiples of 16 bytes as C;
///  - of an upper one rows up to (p + 1) width.
///
/// The workspace has panels [first, first + panels), of each those of all matrices.
template <typename T>
struct ReflectorsPanels {
  ReflectorsArguments<T> batch;
  int width, first, panels;
  int passed_over;  ///< matrices of so many rows are another kernel's
  T* v;
  simt::Index ld;
  T* factors;         ///< V^H V, of which the lower triangle is there, then T
  simt::Index* rows;  ///< of V
  // Sizes of each matrix of a ragged batch, for views of C: rows and columns with the offset of C, zero where it is skipped; columns.
  simt::Index *c_rows, *c_columns, *columns;

  SIMT_INLINE int order(simt::Index b) const {
    int const n = batch.a.rows_of(b);
    return n > passed_over ? n : 0;
  }
  /// Reflectors of a matrix of n rows.
  SIMT_INLINE int reflectors(simt::Index b, int n) const {
    return simt::smaller(n - batch.shift, simt::smaller(batch.a.cols_of(b), batch.tau.rows_of(b)));
  }
  /// The panel's rows of V.
  SIMT_INLINE int rows_of(int n, int panel) const {
    return batch.lower ? simt::larger(n - panel * width, 0) : simt::smaller((panel + 1) * width, n);
  }
  /// Elements of shared memory that the blocks of V^H V above the diagonal take, each of 32 by 32, and what is read behind the last.
  SIMT_INLINE static constexpr int blocks_at(int block) { return block * (block + 1) / 2 * 1024; }
  SIMT_INLINE static constexpr int factor_bytes(int width, int element_bytes) {
    return (blocks_at(width / 32) + 32 + width) * element_bytes;
  }
};

/// Columns [first, end) of C become those of a unit matrix.
template <typename T>
struct ReflectorsIdentity {
  ReflectorsPanels<T> work;
  int first, end;
};

/// The kernels that bring reflectors to the workspace, and a unit matrix to C.
inline constexpr int reflectors_copy_threads = 256;

}  // namespace myriad
