#pragma once
/// Kernels of symv for more than tiny matrices: their arguments, and a matrix with its vectors.

#include "simt/matrices.hpp"
#include "simt/types.hpp"
#include "symv/symv_row.cuh"

namespace myriad {

/// Whether elements of a column are neighbours in memory. Strips and panels read these 16 bytes at a time where all columns begin at
/// multiples of that; all others one by one.
enum class SymvColumns : int { contiguous, strided };

template <typename T>
struct SymvArguments {
  T alpha, beta;
  simt::Matrices<T const> a, x;
  simt::Matrices<T> y;
  bool lower;
  int most_rows_in_block;   ///< larger matrices go by strips
  int most_rows_in_strips;  ///< larger ones by runs
  // For runs
  T* sums;            ///< workspace
  simt::Index apart;  ///< from the sums of one matrix to those of the next, in elements
  int pieces;         ///< of the largest matrix
  unsigned* counts;   ///< see sync_grid_once
};

/// Matrices of up to so many rows are summed row by row in the order of columns.
inline constexpr int symv_most_rows_in_order = 32;

/// The order of sums of larger ones up to most_rows_in_strips, which several kernels share, so that the number of matrices decides which is
/// used: the part of a row that is stored is summed in groups of columns, from left to right, the groups of a panel as a tree, neighbours
/// first, and panels from left to right. What columns beside the diagonal give to it is summed in 32 parts, of which each has 16 bytes of
/// every 512, from the top, these by halves, and comes last.
inline constexpr int symv_columns_of_group = 8, symv_columns_of_panel = 128;

namespace simt {

/// x[0] becomes the sum of all, neighbours first.
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
  static constexpr int held_rows = 16 / static_cast<int>(sizeof(T));  ///< of a column, which a lane reads at once

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
  /// Element i of x; its conjugate where A is conjugated: A x is then the conjugate of what the stored elements give (see symv_store).
  SIMT_INLINE T x(int i) const { return conjugate_if(conjugates_x_, load_global(x_ + i * increment_)); }
  SIMT_INLINE bool is_stored(int i, int j) const { return i < n_ && j < n_ && (lower_ ? i >= j : i <= j); }
  /// Numbers of columns, counted from a first one.
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

  /// Neighbours in memory.
  SIMT_INLINE static void load_neighbours(T (&held)[held_rows], T const* from) {
    Chunked<T> const chunk(load_chunk_once(from));
    SIMT_UNROLL
    for (int r = 0; r < held_rows; ++r) held[r] = chunk.x[r];
  }

  T const* a_;
  T const* x_;
  Index down_, right_, increment_;  ///< from an element of A to the one below and to the one on its right, from one of x to the next
  bool conjugates_x_, lower_;
  int n_;
};

}  // namespace simt

/// y(i) from the sum of row i.
template <typename T>
SIMT_INLINE void symv_store(SymvArguments<T> const& args, simt::Index b, int i, T sum) {
  T value = args.alpha * simt::conjugate_if(args.a.conjugated, sum);
  T* const y = args.y.at(b, i, 0);
  if (!(args.beta == simt::from_real<T>(0))) value = simt::multiply_add(args.beta, *y, value);
  simt::store_global(y, value);
}

}  // namespace myriad
