#pragma once
/// Triangular solves with the triangle in shared memory and right-hand sides in registers: declarations shared by host and kernel.

#include "simt/matrices.hpp"

namespace myriad {

/// How right-hand sides are moved: 16 bytes of a column at a time, by elements, or either, decided by the block for its matrix.
enum class Moved : int { chunks, elements, either };

/// One compiled kernel: a block has a matrix, and a warp all rows of 8 * held right-hand sides at a time. Four lanes share a right-hand
/// side: each has rows_of_lane consecutive rows of a panel.
struct TrsmColumns {
  int n;     ///< maximum rows, a whole number of panels
  int held;  ///< right-hand sides of a lane
  int warps;
  int blocks_per_sm;  ///< for which registers must suffice
  Moved moved;
  bool inverse;  ///< inverts the triangle in place: right-hand sides are the identity
  bool lower;
  bool tensor;  ///< panels by tensor cores, for double and two right-hand sides per lane; else row by row
  bool ragged;  ///< matrices may be smaller by a panel or more
  constexpr bool operator==(TrsmColumns const&) const = default;

  SIMT_INLINE constexpr int threads() const { return 32 * warps; }
  SIMT_INLINE constexpr int columns_of_warp() const { return 8 * held; }
};

/// Rows of a panel per lane: 16 bytes; two in double complex, as in the layout for tensor cores.
SIMT_INLINE constexpr int trsm_rows_of_lane(int real_bytes, bool complex) { return real_bytes == 4 && !complex ? 4 : 2; }
SIMT_INLINE constexpr int trsm_panel_rows(int real_bytes, bool complex) { return 4 * trsm_rows_of_lane(real_bytes, complex); }

/// Matrices of a ragged batch with at most this many rows, and those with one right-hand side, are solved row by row, as they would be
/// alone.
inline constexpr int trsm_by_rows = 32;

/// Dynamic shared memory of a block: the triangle, by columns, and the reciprocals of its diagonal, or the inverses of its diagonal blocks.
/// Strides are in elements.
///
/// A panel of columns has all rows that any of its columns has. Columns are padded so that the lanes of a warp, which read rows of two
/// columns for a tensor-core tile, hit different banks. Columns are aligned to 16 bytes.
struct TrsmColumnsMemory {
  int order, panel, padding;
  bool lower;
  int inverse_pitch;  ///< column stride of an inverse
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

  /// Offset of panel p of columns, and its column stride.
  SIMT_INLINE constexpr int start(int p) const {
    return panel * (lower ? p * (order + padding) - panel * (p * (p - 1) / 2) : p * padding + panel * (p * (p + 1) / 2));
  }
  SIMT_INLINE constexpr int pitch(int p) const { return padding + (lower ? order - panel * p : panel * (p + 1)); }
  /// Offset at which column k would have row 0.
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
  simt::Index parts;             ///< blocks per matrix
  simt::Index columns_of_block;  ///< a whole number of warps' columns
  int* info;                     ///< for the identity, or null: first zero on the diagonal
  bool unit;                     ///< A has a unit diagonal, which is not read
  bool small_by_rows;            ///< whether small matrices of a ragged batch are solved row by row
};

}  // namespace myriad
