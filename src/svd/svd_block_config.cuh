#pragma once
/// Singular value decompositions of matrices that a block holds: declarations shared by host and kernel.

#include "simt/matrices.hpp"

namespace myriad {

/// One compiled kernel, for matrices of up to `size` rows and columns in every layout. Sizes are known at run time. A matrix with fewer
/// rows than columns is decomposed as its conjugate transpose, so that here m >= n; U and V mean those of that matrix.
struct SvdBlock {
  int size;   ///< most rows and columns, a multiple of 8
  int parts;  ///< threads that share two columns while these are rotated: 2, 4 or 8
  int blocks_per_sm;
  constexpr bool operator==(SvdBlock const&) const = default;

  static constexpr int pairs = 32;  ///< of columns that are rotated at a time
  SIMT_INLINE constexpr int threads() const { return pairs * parts; }
  SIMT_INLINE constexpr int warps() const { return threads() / 32; }
};

/// Places in the dynamic shared memory, in bytes.
struct SvdBlockMemory {
  int line;        ///< from a column of A, V or U to the next, in elements
  int slot_line;   ///< the same for columns that move from thread to thread
  int vectors;     ///< reflectors from the diagonal on, columns of R above
  int diagonal;    ///< of R
  int heads;       ///< first elements of the reflectors
  int scratch;     ///< for completing a basis
  int moved;       ///< squared lengths and weights of columns that move
  int factors;     ///< of the reflectors
  int values;      ///< singular values
  int row_order;   ///< by their largest elements
  int row_places;  ///< inverse of row_order
  int pivots;      ///< columns of A in the order of R
  int column_places;
  int keys;      ///< of rows
  int of_warps;  ///< a few numbers for each warp
  int bytes;

  SIMT_INLINE constexpr SvdBlockMemory(int element_bytes, int real_bytes, SvdBlock const& c)
      : line(c.size | 1),
        slot_line(0),
        vectors(0),
        diagonal(0),
        heads(0),
        scratch(0),
        moved(0),
        factors(0),
        values(0),
        row_order(0),
        row_places(0),
        pivots(0),
        column_places(0),
        keys(0),
        of_warps(0),
        bytes(0) {
    // So many chunks of 16 bytes that the threads that access memory together are in different banks.
    int const chunks = c.size * element_bytes / 16;
    slot_line = (chunks + ((c.parts - chunks) % 8 + 8) % 8) * 16 / element_bytes;
    int const of_slots = 2 * SvdBlock::pairs * slot_line, of_tile = c.size * line;
    int at = (of_slots > of_tile ? of_slots : of_tile) * element_bytes;
    auto const take = [&](int count, int each) {
      at = (at + 15) / 16 * 16;
      int const begin = at;
      at += count * each;
      return begin;
    };
    vectors = take(c.size * c.size, element_bytes);
    diagonal = take(c.size, element_bytes);
    heads = take(c.size, element_bytes);
    scratch = take(c.size, element_bytes);
    moved = take(4 * SvdBlock::pairs, real_bytes);
    factors = take(c.size, real_bytes);
    values = take(2 * SvdBlock::pairs, real_bytes);
    row_order = take(c.size, 4);
    row_places = take(c.size, 4);
    pivots = take(c.size, 4);
    column_places = take(c.size, 4);
    keys = take(c.threads(), 4);
    of_warps = take(4 * c.warps(), 8);
    bytes = (at + 15) / 16 * 16;
  }
};

template <typename T>
struct SvdBlockArguments {
  simt::Matrices<T> a;
  simt::Matrices<T> out[2];  ///< U and V^H; not given: not wanted
  simt::Matrices<simt::Real<T>> s;
  int* info;        ///< or null
  bool full;        ///< whether U and V have all columns
  int above, upto;  ///< limits of the larger size of a matrix; others are passed over
};

}  // namespace myriad
