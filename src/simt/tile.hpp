#pragma once
/// A group of matrices in shared memory: brought there and back with coalesced accesses whatever their layout, read and written there by
/// the lanes that work on them.

#include "simt/matrices.hpp"

namespace myriad::simt {

/// How the matrices of a batch lie in memory, as far as it decides which thread moves what.
enum class Layout : int {
  packed_columns,  ///< column-major, nothing between columns and matrices, aligned to 16 bytes
  packed_rows,     ///< the same, row-major
  columns,         ///< any strides, pointers, ragged; consecutive threads move consecutive rows
  rows,            ///< the same; consecutive threads move consecutive columns
  interleaved,     ///< any strides; consecutive threads move the same element of consecutive matrices
};
SIMT_INLINE constexpr bool is_packed(Layout layout) { return layout == Layout::packed_columns || layout == Layout::packed_rows; }
SIMT_INLINE constexpr bool is_by_rows(Layout layout) { return layout == Layout::packed_rows || layout == Layout::rows; }

/// What is moved of a matrix: all of it, or the elements (i, j) with i >= j. Then copies of 16 bytes may bring others beside these, but
/// none is written.
enum class Part : int { whole, lower };

/// How a tile of `matrices` m-by-n matrices lies in shared memory, column by column or row by row; everything in elements but `bytes`.
///
/// With `lanes` lanes to a matrix, lane l uses rows l, l + lanes, ... Distances are padded, where copies of 16 bytes allow it, so that the
/// lanes of a warp meet different banks. Where lanes use columns as well as rows, both are `padded`.
struct TileShape {
  int length;         ///< of a line: of a column or, by rows, a row
  int per_chunk;      ///< in 16 bytes
  bool chunked;       ///< each matrix is a whole number of 16-byte chunks; else matrices follow each other without padding
  int line_stride;    ///< from one line to the next
  int matrix_stride;  ///< from one matrix to the next
  int bytes;

  SIMT_INLINE constexpr TileShape(int element_bytes, int m, int n, int matrices, int lanes, bool by_rows, bool padded = false)
      : length(by_rows ? n : m),
        per_chunk(16 / element_bytes),
        chunked(m * n % per_chunk == 0),
        line_stride((by_rows || padded) && lanes > 1 && n > 1 && length % per_chunk == 0 ? length + per_chunk : length),
        matrix_stride(line_stride * (by_rows ? m : n)),
        bytes(0) {
    int const unit = larger(16, lanes * element_bytes);
    bool const pad = chunked && unit < 128;
    while (pad && matrix_stride * element_bytes % (2 * unit) != unit) matrix_stride += per_chunk;
    bytes = ceil_div(matrix_stride * matrices * element_bytes, 16) * 16;
  }
};

template <typename T, int M, int N, int matrices, int lanes, int threads, bool by_rows, bool padded = false>
class Tile {
  static constexpr TileShape shape{sizeof(T), M, N, matrices, lanes, by_rows, padded};
  static constexpr int elements = M * N;
  static constexpr int per_chunk = shape.per_chunk;
  static constexpr int chunks_of_all = matrices * elements / per_chunk;

 public:
  SIMT_INLINE explicit Tile(char* memory) : data_(reinterpret_cast<T*>(memory)) {}

  SIMT_INLINE T& at(int q, int i, int j) {
    // The matrix's distance in bytes is one product: ptxas 13.0 took tid * 3 * 4 for tid * 3 * 16 beside other tiles of 16-byte elements.
    T* const matrix = reinterpret_cast<T*>(reinterpret_cast<char*>(data_) + q * (shape.matrix_stride * static_cast<int>(sizeof(T))));
    return matrix[by_rows ? j + i * shape.line_stride : i + j * shape.line_stride];
  }

  /// Starts to bring matrices [first, first + active) of the batch; wait_copies and sync_block complete it. Elements beyond the size of a
  /// ragged matrix are those of the identity; elements that are not of the part are unspecified.
  template <Layout layout, Part part = Part::whole>
  SIMT_INLINE void load(Matrices<T const> const& batch, Index first, int active) {
    if constexpr (moves_chunks(layout)) {
      T const* const source = batch.data + first * elements;
      for_each_chunk<part>(active, [&](int tile, int memory, unsigned needed) {
        if (needed != 0) copy_async_16(data_ + tile, source + memory);
      });
      int const chunks = active * elements / per_chunk;
      int const e = chunks * per_chunk + thread_index();
      if (!shape.chunked && e < active * elements) data_[e] = batch.data[first * elements + e];
    } else {
      for_each_element<layout, part>(active, [&](Element<layout> const& e) {
        bool const real = e.i < batch.rows_of(first + e.q) && e.j < batch.cols_of(first + e.q);
        at(e.q, e.i, e.j) = real ? *batch.at(first + e.q, e.i, e.j) : from_real<T>(e.i == e.j ? 1 : 0);
      });
    }
  }

  /// Writes matrices [first, first + active) of the batch, after a sync_block.
  template <Layout layout, Part part = Part::whole>
  SIMT_INLINE void store(Matrices<T> const& batch, Index first, int active) {
    if constexpr (moves_chunks(layout)) {
      T* const target = batch.data + first * elements;
      for_each_chunk<part>(active, [&](int tile, int memory, unsigned needed) {
        if (needed == all_of_chunk) store_chunk(target + memory, load_chunk(data_ + tile));
        if constexpr (part == Part::lower) {
          SIMT_UNROLL
          for (int i = 0; i < per_chunk; ++i)
            if (needed != all_of_chunk && (needed >> i & 1) != 0) target[memory + i] = data_[tile + i];
        }
      });
      int const chunks = active * elements / per_chunk;
      int const e = chunks * per_chunk + thread_index();
      if (!shape.chunked && e < active * elements && (part == Part::whole || is_lower(e))) batch.data[first * elements + e] = data_[e];
    } else {
      for_each_element<layout, part>(active, [&](Element<layout> const& e) {
        if (e.i < batch.rows_of(first + e.q) && e.j < batch.cols_of(first + e.q)) *batch.at(first + e.q, e.i, e.j) = at(e.q, e.i, e.j);
      });
    }
  }

 private:
  /// Packed matrices whose lines are those of the tile.
  static constexpr bool moves_chunks(Layout layout) {
    return is_packed(layout) && (is_by_rows(layout) == by_rows || M == 1 || N == 1) && matrices * elements % per_chunk == 0;
  }

  static constexpr unsigned all_of_chunk = (1u << per_chunk) - 1;

  /// Whether element e of packed matrices, in the order of memory, is one with i >= j.
  SIMT_INLINE static bool is_lower(int e) {
    int const of_matrix = static_cast<int>(static_cast<unsigned>(e) % elements);
    return is_lower(of_matrix / shape.length, of_matrix % shape.length);
  }
  SIMT_INLINE static constexpr bool is_lower(int line, int position) { return by_rows ? position <= line : position >= line; }
  /// Bit i is set where this holds for the i-th element from `position` on.
  SIMT_INLINE static constexpr unsigned lower_elements(int line, int position) {
    unsigned bits = 0;
    SIMT_UNROLL
    for (int i = 0; i < per_chunk; ++i) bits |= is_lower(line, position + i) ? 1u << i : 0u;
    return bits;
  }

  /// Calls `move(tile, memory, needed)` for the chunks that this thread moves of packed matrices: where they begin in the tile and in
  /// memory, in elements, and which of their elements are to be moved.
  template <Part part, typename Move>
  SIMT_INLINE static void for_each_chunk(int active, Move move) {
    constexpr int per_matrix = larger(elements / per_chunk, 1);
    constexpr int per_line = larger(shape.length / per_chunk, 1);
    constexpr bool whole_lines = shape.chunked && shape.length % per_chunk == 0;
    int const t = thread_index();
    if constexpr (whole_lines && threads % per_matrix == 0) {
      // The same place in every matrix.
      int const line = t % per_matrix / per_line;
      int const position = t % per_matrix % per_line * per_chunk;
      unsigned const needed = part == Part::whole ? all_of_chunk : lower_elements(line, position);
      int const tile = t / per_matrix * shape.matrix_stride + line * shape.line_stride + position;
      SIMT_UNROLL
      for (int q = 0; q < matrices; q += threads / per_matrix)
        move(tile + q * shape.matrix_stride, t * per_chunk + q * elements, q + t / per_matrix < active ? needed : 0);
    } else if constexpr (whole_lines && part == Part::lower) {
      // Some threads to a line: the line is a constant, and what it has no elements of is passed over by the compiler.
      constexpr int together = larger(lanes, per_line >= 16 ? 8 : per_line >= 3 ? 4 : per_line);
      int const mine = t / together;
      int const place = t % together * per_chunk;
      SIMT_UNROLL
      for (int q = 0; q < matrices; q += threads / together) {
        SIMT_UNROLL
        for (int line = 0; line < elements / shape.length; ++line) {
          SIMT_UNROLL
          for (int from = 0; from < shape.length; from += together * per_chunk) {
            int const until = smaller(from + together * per_chunk, shape.length);
            if (by_rows ? from > line : until <= line) continue;
            bool const all = by_rows ? until - 1 <= line : from >= line;
            unsigned const needed = all ? all_of_chunk : lower_elements(line, from + place);
            move(mine * shape.matrix_stride + place + (q * shape.matrix_stride + line * shape.line_stride + from),
                 mine * elements + place + (q * elements + line * shape.length + from),
                 q + mine < active && from + place < shape.length ? needed : 0);
          }
        }
      }
    } else {
      int const chunks = active * elements / per_chunk;
      unroll<part>(ceil_div(chunks_of_all, threads), [&](int step) {
        int const c = t + step * threads;
        unsigned needed = c < chunks ? all_of_chunk : 0;
        SIMT_UNROLL
        for (int i = 0; i < per_chunk; ++i)
          if (part == Part::lower && !is_lower(c * per_chunk + i)) needed &= ~(1u << i);
        move(chunk(static_cast<unsigned>(c)), c * per_chunk, needed);
      });
    }
  }

  /// Calls `step(s)` for s from 0 to steps - 1, unrolled; of a triangle, whose conditions make steps so long that all of them spill and
  /// take 270 KB of code (n = 32), only 8 at a time.
  template <Part part, typename Step>
  SIMT_INLINE static void unroll(int steps, Step step) {
    if constexpr (part == Part::whole) {
      SIMT_UNROLL
      for (int s = 0; s < steps; ++s) step(s);
    } else {
      SIMT_UNROLL_BY_8
      for (int s = 0; s < steps; ++s) step(s);
    }
  }

  /// Where chunk c of packed matrices begins.
  SIMT_INLINE static int chunk(unsigned c) {
    if constexpr (!shape.chunked) return static_cast<int>(c * per_chunk);
    unsigned const q = c / (elements / per_chunk);
    unsigned const e = c % (elements / per_chunk) * per_chunk;
    if constexpr (shape.line_stride > shape.length)
      return static_cast<int>(q * shape.matrix_stride + e / shape.length * shape.line_stride + e % shape.length);
    return static_cast<int>(q * shape.matrix_stride + e);
  }

  /// Element number e of the group in the order of the layout.
  template <Layout layout>
  struct Element {
    int q, i, j;
    SIMT_INLINE explicit Element(unsigned e) {
      if constexpr (layout == Layout::interleaved) {
        q = static_cast<int>(e % matrices);
        i = static_cast<int>(e / matrices % M);
        j = static_cast<int>(e / matrices / M);
      } else {
        q = static_cast<int>(e / elements);
        i = static_cast<int>(is_by_rows(layout) ? e % elements / N : e % elements % M);
        j = static_cast<int>(is_by_rows(layout) ? e % elements % N : e % elements / M);
      }
    }
    SIMT_INLINE bool inside(int active) const { return q < active && i < M && j < N; }
  };

  /// Calls `move(e)` for the elements of the part that this thread moves.
  template <Layout layout, Part part, typename Move>
  SIMT_INLINE static void for_each_element(int active, Move move) {
    unroll<part>(ceil_div(matrices * elements, threads), [&](int s) {
      Element<layout> const e(static_cast<unsigned>(thread_index() + s * threads));
      if (e.inside(active) && (part == Part::whole || e.i >= e.j)) move(e);
    });
  }

  T* data_;
};

}  // namespace myriad::simt
