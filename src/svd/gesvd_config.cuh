#pragma once
/// Singular value decompositions of matrices that no block holds: declarations shared by host and kernels.

#include "simt/matrices.hpp"

namespace myriad {

/// Maximum order of an R that goes to svd_tiny, and the least that the kernel is for: kernels for fewer columns have other bits, which a
/// ragged batch would not have.
inline constexpr int gesvd_tiny_most = 32, gesvd_tiny_least = 5;

/// How a matrix is decomposed: as itself or, where it is wide, as its conjugate transpose, so that it has l >= k rows and columns. Narrow
/// and much taller ones are reduced to their R first; an R of up to `small` rows is then decomposed by svd_tiny or svd_block, without
/// bidiagonal form.
struct GesvdShape {
  int m, n, small;

  SIMT_INLINE constexpr bool is_wide() const { return m < n; }
  SIMT_INLINE constexpr int l() const { return m < n ? n : m; }
  SIMT_INLINE constexpr int k() const { return m < n ? m : n; }
  SIMT_INLINE constexpr bool is_small() const { return k() <= small; }
  SIMT_INLINE constexpr bool by_qr() const { return k() > 0 && (is_small() || simt::Index(5) * l() >= simt::Index(8) * k()); }
  /// Rows of the matrix that is reduced further
  SIMT_INLINE constexpr int reduced_rows() const { return by_qr() ? k() : l(); }
};

/// Columns of the vectors of the longer side: l of them or k.
enum class GesvdColumns : int { thin, full };

/// The sizes of each matrix of a ragged batch, one array each.
struct GesvdSizes {
  simt::Index *qr_rows, *qr_columns;  ///< of matrices that are reduced to R; else zero
  simt::Index *rows, *columns;        ///< of the matrices that are reduced to bidiagonal form or rotated; else zero
  simt::Index* long_rows;             ///< of the vectors of the longer side
  simt::Index* long_columns;
  simt::Index* long_reduced;  ///< of their columns, the number that the reflectors of the bidiagonal form change
  simt::Index* small;         ///< rows and columns of a small R; else zero
};

/// Workspace of gesvd_sort_rows and gesvd_jacobi. `sorted` has the layout of `reduced`, and `rotated` that of `short_side`.
template <typename T>
struct GesvdJacobi {
  T* sorted;               ///< the matrix with its rows in descending order of magnitude, then Q and R of its QR with column pivoting
  T* rotated;              ///< R^H, whose columns are rotated
  int* rows;               ///< per matrix two numbers for each row: which one it was, and its exponent
  int const* columns;      ///< per matrix k numbers: which column of the matrix, from 1 on, each column of R was
  simt::Real<T>* lengths;  ///< per matrix k numbers
  int* places;             ///< per matrix k numbers: the columns in the order of their lengths
  simt::Index most_rows;   ///< rows of `reduced`
  bool of_long, of_short;  ///< whether the vectors of the longer and of the shorter side are wanted
};

/// Arguments of all kernels. Matrices in the workspace are column-major.
template <typename T>
struct Gesvd {
  simt::Matrices<T const> a;
  simt::Matrices<T> u, vt;
  simt::Matrices<simt::Real<T>> s;
  int* info;  ///< or null
  GesvdColumns columns;
  int small;         ///< see GesvdShape
  int above;         ///< matrices of up to so many rows and columns are passed over
  bool by_jacobi;    ///< whether matrices that are not small are rotated, not reduced to bidiagonal form
  int side;          ///< of vectors that a launch works on
  GesvdSizes sizes;  ///< ragged only

  simt::Real<T>* largest;  ///< largest element that each of `parts` blocks found, per matrix
  int parts;
  simt::Real<T>* scales;  ///< inverse factors of the matrices; NaN for those with NaN or infinity

  T *qr, *reduced, *long_side, *short_side;
  simt::Index qr_ld, qr_stride, reduced_ld, reduced_stride, long_ld, long_stride, long_columns, short_ld, short_stride;

  // Vectors of the bidiagonal matrix, in columns
  simt::Real<T> const* q;
  int const* order;
  simt::Index q_ld, q_stride, q_line;

  GesvdJacobi<T> jacobi;  ///< `by_jacobi` only

  SIMT_INLINE GesvdShape shape(simt::Index b) const {
    int const m = a.rows_of(b), n = a.cols_of(b);
    return m > above || n > above ? GesvdShape{m, n, small} : GesvdShape{0, 0, small};
  }
  SIMT_INLINE GesvdShape most() const { return {static_cast<int>(a.rows), static_cast<int>(a.cols), small}; }
};

inline constexpr int gesvd_threads = 256;
inline constexpr int gesvd_side = 32;
SIMT_INLINE constexpr int gesvd_tile_bytes(int element_bytes) { return gesvd_side * (gesvd_side + 1) * element_bytes; }
inline constexpr int gesvd_search_bytes = 256;

}  // namespace myriad
