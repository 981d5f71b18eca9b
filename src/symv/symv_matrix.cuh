#pragma once
/// Arguments of the symv kernels for more than tiny matrices, and one matrix with its vectors.

#include "simt/matrices.hpp"
#include "simt/types.hpp"
#include "symv/symv_row.cuh"

namespace myriad {

/// Whether elements of a column are contiguous. Strips and panels load 16 bytes at a time where all columns begin at multiples of 16 bytes;
/// all others load single elements.
enum class SymvColumns : int { contiguous, strided };

template <typename T>
struct SymvArguments {
  T alpha, beta;
  simt::Matrices<T const> a, x;
  simt::Matrices<T> y;
  bool lower;
  int most_rows_in_block;   ///< larger matrices go by strips
  int most_rows_in_strips;  ///< larger ones by runs
  // For symv_runs
  T* sums;            ///< workspace
  simt::Index apart;  ///< elements from the sums of one matrix to those of the next
  int pieces;         ///< of the largest matrix
  unsigned* counts;   ///< see sync_grid_once
};

/// Matrices of up to this many rows are summed row by row, in the order of columns.
inline constexpr int symv_most_rows_in_order = 32;

/// The summation order of larger matrices up to most_rows_in_strips. Several kernels share it, so that the number of matrices may decide
/// which one is used. The stored part of a row is summed in groups of columns from left to right, the groups of a panel as a tree,
/// neighbours first, and panels from left to right. The other terms, from the column of the same number without the diagonal, are summed in
/// 32 parts, each with 16 bytes of every 512 from the top; these are added by halves, and the result comes last.
inline constexpr int symv_columns_of_group = 8, symv_columns_of_panel = 128;

namespace simt {

/// x[0] becomes the sum of all elements, neighbours first.
template <typename T, int count>
SIMT_INLINE void symv_tree(T (&x)[count]) {
  static_assert((count & (count - 1)) == 0);
  SIMT_UNROLL
  for (int distance = 1; distance < count; distance *= 2) {
    SIMT_UNROLL
    for (int k = 0; k < count; k += 2 * distance) x[k] = x[k] + x[k + distance];
  }
}

/// A triangle of one matrix, and x.
template <typename T, Symmetry symmetry, SymvColumns layout>
class SymvMatrix {
 protected:
  static constexpr bool hermitian = symmetry == Symmetry::hermitian;
  static constexpr int held_rows = 16 / static_cast<int>(sizeof(T));  ///< elements of a column that a lane loads at once

 public:
  SIMT_INLINE SymvMatrix(SymvArguments<T> const& args, Index b, int n)
      : a_(args.a.at(b, 0, 0)),
        x_(args.x.at(b, 0, 0)),
        down_(layout == SymvColumns::strided ? args.a.row_stride_of(b) : 1),
        right_(args.a.col_stride_of(b)),
        increment_(args.x.row_stride_of(b)),
        conjugates_x_(args.x.conjugated != args.a.conjugated),
        lower_(args.lower),
        n_(n) {}

  /// Row i of A x, summed in the order of columns.
  SIMT_INLINE T row_in_order(int i) const {
    return symv_row<symmetry, T>(
        n_, i, lower_, [&](int r, int c) { return load_global(a_ + r * down_ + c * right_); }, [&](int j) { return x(j); });
  }

 protected:
  /// Element i of x, or its conjugate where A is conjugated: A x is then the conjugate of the product of the stored elements (see
  /// symv_store).
  SIMT_INLINE T x(int i) const { return conjugate_if(conjugates_x_, load_global(x_ + i * increment_)); }
  SIMT_INLINE bool is_stored(int i, int j) const { return i < n_ && j < n_ && (lower_ ? i >= j : i <= j); }
  /// A range of columns, counted from a first one.
  struct Range {
    int first, last;
    SIMT_INLINE bool has(int c) const { return first <= c && c <= last; }
  };
  /// The columns from j0 on in which row i is stored.
  SIMT_INLINE Range stored(int i, int j0) const { return {lower_ ? -j0 : i - j0, i >= n_ ? -j0 - 1 : lower_ ? i - j0 : n_ - 1 - j0}; }
  SIMT_INLINE bool columns_in_chunks() const {
    return layout == SymvColumns::contiguous &&
           (held_rows == 1 || (reinterpret_cast<unsigned long long>(a_) % 16 == 0 && right_ * static_cast<Index>(sizeof(T)) % 16 == 0));
  }

  /// Loads held_rows neighbours in memory.
  SIMT_INLINE static void load_neighbours(T (&held)[held_rows], T const* from) {
    Chunked<T> const chunk(load_chunk_once(from));
    SIMT_UNROLL
    for (int r = 0; r < held_rows; ++r) held[r] = chunk.x[r];
  }

  T const* a_;
  T const* x_;
  Index down_, right_, increment_;  ///< distances from an element of A to the next below and to the right, and between elements of x
  bool conjugates_x_, lower_;
  int n_;
};

}  // namespace simt

/// Stores y(i), where `sum` is row i of the product.
template <typename T>
SIMT_INLINE void symv_store(SymvArguments<T> const& args, simt::Index b, int i, T sum) {
  T value = args.alpha * simt::conjugate_if(args.a.conjugated, sum);
  T* const y = args.y.at(b, i, 0);
  if (!(args.beta == simt::from_real<T>(0))) value = simt::multiply_add(args.beta, *y, value);
  simt::store_global(y, value);
}

}  // namespace myriad
