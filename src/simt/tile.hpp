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

/// How a tile of `matrices` m-by-n matrices lies in shared memory, column by column or row by row; everything in elements but `bytes`.
///
/// With `lanes` lanes to a matrix, lane l uses rows l, l + lanes, ... Distances are padded, where copies of 16 bytes allow it, so that the
/// lanes of a warp meet different banks.
struct TileShape {
  int length;         ///< of a line: of a column or, by rows, a row
  int per_chunk;      ///< in 16 bytes
  bool chunked;       ///< each matrix is a whole number of 16-byte chunks; else matrices follow each other without padding
  int line_stride;    ///< from one line to the next
  int matrix_stride;  ///< from one matrix to the next
  int bytes;

  SIMT_INLINE constexpr TileShape(int element_bytes, int m, int n, int matrices, int lanes, bool by_rows)
      : length(by_rows ? n : m),
        per_chunk(16 / element_bytes),
        chunked(m * n % per_chunk == 0),
        line_stride(by_rows && lanes > 1 && n > 1 && length % per_chunk == 0 ? length + per_chunk : length),
        matrix_stride(line_stride * (by_rows ? m : n)),
        bytes(0) {
    int const unit = larger(16, lanes * element_bytes);
    bool const pad = chunked && unit < 128;
    while (pad && matrix_stride * element_bytes % (2 * unit) != unit) matrix_stride += per_chunk;
    bytes = ceil_div(matrix_stride * matrices * element_bytes, 16) * 16;
  }
};

template <typename T, int M, int N, int matrices, int lanes, int threads, bool by_rows>
class Tile {
  static constexpr TileShape shape{sizeof(T), M, N, matrices, lanes, by_rows};
  static constexpr int elements = M * N;
  static constexpr int per_chunk = shape.per_chunk;
  static constexpr int chunks_of_all = matrices * elements / per_chunk;
  static constexpr int row_step = by_rows && shape.line_stride % per_chunk == 0 && shape.matrix_stride % per_chunk == 0 ? per_chunk : 1;

 public:
  SIMT_INLINE explicit Tile(char* memory) : data_(reinterpret_cast<T*>(memory)) {}

  SIMT_INLINE T& at(int q, int i, int j) {
    // The matrix's distance in bytes is one product: ptxas 13.0 took tid * 3 * 4 for tid * 3 * 16 beside other tiles of 16-byte elements.
    T* const matrix = reinterpret_cast<T*>(reinterpret_cast<char*>(data_) + q * (shape.matrix_stride * static_cast<int>(sizeof(T))));
    return matrix[by_rows ? j + i * shape.line_stride : i + j * shape.line_stride];
  }

  /// Row i of matrix q, 16 bytes at a time where it lies so.
  SIMT_INLINE void read_row(int q, int i, T (&row)[N]) {
    SIMT_UNROLL
    for (int j = 0; j < N; j += row_step) {
      if constexpr (row_step > 1) {
        Chunked<T> const part(load_chunk(&at(q, i, j)));
        SIMT_UNROLL
        for (int e = 0; e < row_step; ++e) row[j + e] = part.x[e];
      } else {
        row[j] = at(q, i, j);
      }
    }
  }
  SIMT_INLINE void write_row(int q, int i, T const (&row)[N]) {
    SIMT_UNROLL
    for (int j = 0; j < N; j += row_step) {
      if constexpr (row_step > 1) {
        Chunked<T> part;
        SIMT_UNROLL
        for (int e = 0; e < row_step; ++e) part.x[e] = row[j + e];
        store_chunk(&at(q, i, j), part.chunk);
      } else {
        at(q, i, j) = row[j];
      }
    }
  }

  /// Starts to bring matrices [first, first + active) of the batch; wait_copies and sync_block complete it. Elements beyond the size of a
  /// ragged matrix are those of the identity. `batch`: Matrices, or what looks like them.
  template <Layout layout, typename Batch>
  SIMT_INLINE void load(Batch const& batch, Index first, int active) {
    if constexpr (moves_chunks(layout)) {
      char const* const source = reinterpret_cast<char const*>(batch.data + first * elements) + thread_index() * 16;
      int const chunks = active * elements / per_chunk;
      SIMT_UNROLL
      for (int step = 0; step < ceil_div(chunks_of_all, threads); ++step) {
        int const c = thread_index() + step * threads;
        if (c < chunks) copy_async_16(chunk(c), source + step * threads * 16);
      }
      int const e = chunks * per_chunk + thread_index();
      if (!shape.chunked && e < active * elements) data_[e] = batch.data[first * elements + e];
    } else {
      SIMT_UNROLL
      for (int step = 0; step < ceil_div(matrices * elements, threads); ++step) {
        Element<layout> const e(static_cast<unsigned>(thread_index() + step * threads));
        if (!e.inside(active)) continue;
        bool const real = e.i < batch.rows_of(first + e.q) && e.j < batch.cols_of(first + e.q);
        at(e.q, e.i, e.j) = real ? *batch.at(first + e.q, e.i, e.j) : from_real<T>(e.i == e.j ? 1 : 0);
      }
    }
  }

  /// Writes matrices [first, first + active) of the batch, after a sync_block.
  template <Layout layout, typename Batch>
  SIMT_INLINE void store(Batch const& batch, Index first, int active) {
    if constexpr (moves_chunks(layout)) {
      char* const target = reinterpret_cast<char*>(batch.data + first * elements) + thread_index() * 16;
      int const chunks = active * elements / per_chunk;
      SIMT_UNROLL
      for (int step = 0; step < ceil_div(chunks_of_all, threads); ++step) {
        int const c = thread_index() + step * threads;
        if (c < chunks) store_chunk(target + step * threads * 16, load_chunk(chunk(c)));
      }
      int const e = chunks * per_chunk + thread_index();
      if (!shape.chunked && e < active * elements) batch.data[first * elements + e] = data_[e];
    } else {
      SIMT_UNROLL
      for (int step = 0; step < ceil_div(matrices * elements, threads); ++step) {
        Element<layout> const e(static_cast<unsigned>(thread_index() + step * threads));
        if (!e.inside(active)) continue;
        if (e.i < batch.rows_of(first + e.q) && e.j < batch.cols_of(first + e.q)) *batch.at(first + e.q, e.i, e.j) = at(e.q, e.i, e.j);
      }
    }
  }

 private:
  /// Packed matrices whose lines are those of the tile.
  static constexpr bool moves_chunks(Layout layout) {
    return is_packed(layout) && (is_by_rows(layout) == by_rows || M == 1 || N == 1) && matrices * elements % per_chunk == 0;
  }

  /// Where chunk c of packed matrices lies.
  SIMT_INLINE T* chunk(unsigned c) {
    if constexpr (!shape.chunked) return data_ + c * per_chunk;
    unsigned const q = c / (elements / per_chunk);
    unsigned const e = c % (elements / per_chunk) * per_chunk;
    if constexpr (shape.line_stride > shape.length)
      return data_ + q * shape.matrix_stride + e / shape.length * shape.line_stride + e % shape.length;
    return data_ + q * shape.matrix_stride + e;
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

  T* data_;
};

}  // namespace myriad::simt
