#pragma once
/// Triangular solves on a GPU with a triangle in shared memory and right-hand sides in registers: what host and kernel share.

#include "simt/matrices.hpp"

namespace myriad {

/// How right-hand sides are read and written: 16 bytes of a column at once, element by element, or so or so, as a block finds its matrix.
enum class Moved : int { chunks, elements, either };

/// One compiled kernel: a block has a matrix, and a warp 8 * held right-hand sides at a time, all rows of them. Four lanes share a
/// right-hand side: of a panel of rows each has rows_of_lane rows that are neighbours.
struct TrsmColumns {
  int n;     ///< rows at most, a whole number of panels
  int held;  ///< right-hand sides of a lane
  int warps;
  int blocks_per_sm;  ///< for which registers have to suffice
  Moved moved;
  bool inverse;  ///< of the triangle, in its place: right-hand sides are the identity
  bool lower;
  bool tensor;  ///< panels by tensor cores, for double numbers and two right-hand sides of a lane; else row by row
  bool ragged;  ///< matrices may be smaller by a panel or more
  constexpr bool operator==(TrsmColumns const&) const = default;

  SIMT_INLINE constexpr int threads() const { return 32 * warps; }
  SIMT_INLINE constexpr int columns_of_warp() const { return 8 * held; }
};

/// Rows of a panel that a lane has: 16 bytes of them, of double complex numbers two as tensor cores want them.
SIMT_INLINE constexpr int trsm_rows_of_lane(int real_bytes, bool complex) { return real_bytes == 4 && !complex ? 4 : 2; }
SIMT_INLINE constexpr int trsm_panel_rows(int real_bytes, bool complex) { return 4 * trsm_rows_of_lane(real_bytes, complex); }

/// Matrices of a ragged batch with so many rows at most, and those with one right-hand side, are solved with row by row, as they would be
/// alone.
inline constexpr int trsm_by_rows = 32;

/// The dynamic shared memory of a block: the triangle, column by column, and beside it the reciprocals of its diagonal, or the inverses of
/// its diagonal blocks. Distances are in elements.
///
/// A panel of columns has the rows that some column of it has. Columns are padded so that the lanes of a warp, which read rows of two
/// columns in a tile of a tensor core, hit different banks. Columns begin at multiples of 16 bytes.
struct TrsmColumnsMemory {
  int order, panel, padding;
  bool lower;
  int inverse_pitch;  ///< from one column of an inverse to the next
  int beside;
  int bytes;

  SIMT_INLINE constexpr TrsmColumnsMemory(int real_bytes, bool complex, TrsmColumns const& c)
      : order(c.n),
        panel(trsm_panel_rows(real_bytes, complex)),
        padding(16 / real_bytes / (complex ? 2 : 1)),
        lower(c.lower),
        inverse_pitch(panel + padding),
        beside(start(c.n / panel)),
        bytes(0) {
    int const element_bytes = real_bytes * (complex ? 2 : 1);
    int const reciprocals = c.n * (element_bytes + real_bytes);
    int const inverses = c.tensor ? c.n * inverse_pitch * element_bytes : 0;
    bytes = beside * element_bytes + simt::larger(reciprocals, inverses);
  }

  /// Where panel p of columns begins, and how far its columns are apart.
  SIMT_INLINE constexpr int start(int p) const {
    return panel * (lower ? p * (order + padding) - panel * (p * (p - 1) / 2) : p * padding + panel * (p * (p + 1) / 2));
  }
  SIMT_INLINE constexpr int pitch(int p) const { return padding + (lower ? order - panel * p : panel * (p + 1)); }
  /// Where column k would have row 0.
  SIMT_INLINE constexpr int column(int k) const {
    int const p = k / panel;
    return start(p) + k % panel * pitch(p) - (lower ? panel * p : 0);
  }
};

template <typename T>
struct TrsmColumnsArguments {
  T alpha;
  simt::Matrices<T const> a;
  simt::Matrices<T> b;           ///< for the identity: A
  simt::Index parts;             ///< blocks to each matrix
  simt::Index columns_of_block;  ///< a whole number of warps' columns
  int* info;                     ///< of the identity, or null: which element of the diagonal is zero
  bool unit;                     ///< the diagonal of A is of ones and not read
  bool small_by_rows;            ///< whether small matrices of a ragged batch are solved with row by row
};

}  // namespace myriad
