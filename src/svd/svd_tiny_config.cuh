#pragma once
/// Singular value decompositions of matrices of up to 32 rows and columns: declarations shared by host and kernel.

#include "simt/matrices.hpp"

namespace myriad {

/// The elements that consecutive lanes move: those of a column, of a row, or the same element of consecutive matrices.
enum class SvdOrder : int { columns, rows, matrices };

/// One side of the result: U or V^H.
template <typename T>
struct SvdOutput {
  simt::Matrices<T> to;  ///< not given: not wanted
  SvdOrder order;
  bool packed;  ///< whether matrices of the kernel's size follow one another in that order, without gaps
};

/// One compiled kernel, for any m-by-n and n-by-m matrices with n <= m and every layout. A matrix with fewer rows than columns is
/// decomposed as its conjugate transpose, so that here m >= n; U and V mean those of that matrix.
struct SvdTiny {
  int m, n;           ///< most rows and columns; a smaller matrix is padded with zeros
  int columns;        ///< columns of U: 0 without vectors, n or m
  int lanes;          ///< lanes of a warp per matrix: 1 for up to 4 columns, else at least half of n. More columns than lanes: up to 64
  int blocks_per_sm;  ///< that the registers must allow
  constexpr bool operator==(SvdTiny const&) const = default;

  SIMT_INLINE constexpr bool vectors() const { return columns > 0; }
  SIMT_INLINE constexpr int of_warp() const { return 32 / lanes; }
  SIMT_INLINE constexpr int width() const { return columns > n ? columns : n; }
};

/// A matrix's part of the dynamic shared memory, in bytes from its beginning.
struct SvdTinyMemory {
  int line;         ///< from a column to the next, in elements: first of A, then of R^H, V and U
  int vector_line;  ///< the same for reflectors, or, with one lane per matrix, for V
  int vectors;
  int scratch;   ///< elements for completing a basis
  int diagonal;  ///< of R
  int reals;     ///< factors of reflectors, then singular values
  int numbers;   ///< size and state, order of the rows, of the columns
  int of_matrix;
  int bytes;

  SIMT_INLINE constexpr SvdTinyMemory(int element_bytes, int real_bytes, SvdTiny const& c)
      : line(c.lanes == 1 ? c.m : c.m | 1),
        vector_line(c.lanes == 1 ? c.n : (c.m * element_bytes + 15) / 16 * 16 / element_bytes),
        vectors(0),
        scratch(0),
        diagonal(0),
        reals(0),
        numbers(0),
        of_matrix(0),
        bytes(0) {
    int const wide = line * c.width() * element_bytes;
    vectors = c.lanes == 1 ? wide : (wide + 15) / 16 * 16;
    scratch = vectors + vector_line * (c.vectors() ? c.n : 1) * element_bytes;
    diagonal = scratch + (c.vectors() ? c.width() : 0) * element_bytes;
    reals = diagonal + (c.vectors() && c.lanes > 1 ? c.n : 0) * element_bytes;
    numbers = reals + (c.lanes == 1 ? 0 : 2 * c.n * real_bytes);
    int const all = numbers + (4 + (c.lanes == 1 ? 0 : c.m + c.n)) * 4;
    // An odd number of elements or chunks apart, so that lanes of different matrices read different banks.
    int const unit = c.lanes == 1 ? element_bytes : 16;
    of_matrix = unit * ((all + unit - 1) / unit | 1);
    bytes = of_matrix * c.of_warp();
  }
};

template <typename T>
struct SvdTinyArguments {
  simt::Matrices<T> a;
  SvdOrder order;  ///< as in SvdOutput
  bool packed;
  bool full;            ///< whether all columns of U are wanted, for a kernel with as many columns as rows
  SvdOutput<T> out[2];  ///< U and V^H
  simt::Matrices<simt::Real<T>> s;
  int* info;        ///< or null
  int above, upto;  ///< limits of the larger size of a matrix; others are passed over
};

}  // namespace myriad
