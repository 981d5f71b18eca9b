#pragma once
/// A tile: a group of matrices in shared memory. Loads and stores of global memory are coalesced for every layout.

#include "simt/matrices.hpp"

namespace myriad::simt {

/// Layout of a batch in global memory; decides which thread moves which elements.
enum class Layout : int {
  packed_columns,  ///< column-major, no gaps between columns and matrices, aligned to 16 bytes
  packed_rows,     ///< the same, row-major
  columns,         ///< any strides, pointers; consecutive threads move consecutive rows
  rows,            ///< the same; consecutive threads move consecutive columns
  interleaved,     ///< any strides; consecutive threads move the same element of consecutive matrices
  ragged_columns,  ///< as columns; sizes differ between matrices
  ragged_rows,     ///< as rows; sizes differ between matrices
  dense_columns,   ///< column-major, no gaps between columns, matrices at any address
  dense_rows,      ///< the same, row-major
};
SIMT_INLINE constexpr bool is_packed(Layout layout) { return layout == Layout::packed_columns || layout == Layout::packed_rows; }
SIMT_INLINE constexpr bool is_by_rows(Layout layout) {
  return layout == Layout::packed_rows || layout == Layout::rows || layout == Layout::ragged_rows || layout == Layout::dense_rows;
}
SIMT_INLINE constexpr bool is_by_columns(Layout layout) { return layout != Layout::interleaved && !is_by_rows(layout); }
SIMT_INLINE constexpr bool is_dense(Layout layout) { return layout == Layout::dense_columns || layout == Layout::dense_rows; }
SIMT_INLINE constexpr bool is_ragged(Layout layout) { return layout == Layout::ragged_columns || layout == Layout::ragged_rows; }

/// Part of a matrix that is moved: all of it, or the elements (i, j) with i >= j. Loads of 16 bytes may include others; stores do not.
enum class Part : int { whole, lower };

/// Shared-memory layout of a tile of `matrices` m-by-n matrices with layout `layout` in global memory: by columns, or by rows if global
/// memory is row-major. All members but `bytes` are in elements.
///
/// With `lanes` lanes to a matrix, lane l uses rows l, l + lanes, ... Strides are padded against bank conflicts, as far as copies of 16
/// bytes allow. `padded`: lanes use columns as well as rows, so both are padded. Matrices that are no whole number of 16-byte chunks can be
/// copied in chunks only if packed as in global memory; `any_distance` permits other strides where lanes read often and would have
/// threefold bank conflicts. `tight`: no padding between lines, nor between matrices of whole chunks, since copies of 16 bytes to adjacent
/// addresses are faster.
struct TileShape {
  bool by_rows;
  int length;         ///< of a line: of a column or, by rows, a row
  int per_chunk;      ///< in 16 bytes
  bool chunked;       ///< each matrix is a whole number of 16-byte chunks
  int line_stride;    ///< from one line to the next
  int matrix_stride;  ///< from one matrix to the next
  int bytes;

  SIMT_INLINE constexpr TileShape(int element_bytes, int m, int n, int matrices, int lanes, Layout layout, bool padded = false,
                                  bool any_distance = false, bool tight = false)
      : by_rows(is_by_rows(layout)),
        length(by_rows ? n : m),
        per_chunk(16 / element_bytes),
        chunked(layout != Layout::interleaved && m * n % per_chunk == 0),
        // The line stride is an odd number of chunks, so that the same chunk of neighbouring lines is in different banks.
        line_stride(!tight && (by_rows || padded) && lanes > 1 && n > 1 && length % (2 * per_chunk) == 0 ? length + per_chunk : length),
        matrix_stride(line_stride * (by_rows ? m : n)),
        bytes(0) {
    // For interleaved batches consecutive threads load consecutive matrices, so the matrix stride matters even if lanes fill all banks.
    bool const interleaved = layout == Layout::interleaved;
    int const least = interleaved ? element_bytes : 16;
    int const unit = larger(least, interleaved && lanes * element_bytes >= 128 ? 16 : lanes * element_bytes);
    bool const pad = !tight && (chunked || interleaved) && unit < 128;
    while (pad && matrix_stride * element_bytes % (2 * unit) != unit) matrix_stride += least / element_bytes;
    if (!chunked && !interleaved && lanes > 1 && matrices > 1 && n > 1) {
      bool const by_elements = !is_packed(layout) || matrices * m * n % per_chunk != 0;
      int const packed_distance = matrix_stride;
      if (by_elements || (any_distance && most_in_a_bank(element_bytes, lanes, packed_distance) > 2)) {
        for (int distance = packed_distance; distance < packed_distance + 128 / element_bytes; ++distance)
          if (most_in_a_bank(element_bytes, lanes, distance) < most_in_a_bank(element_bytes, lanes, matrix_stride))
            matrix_stride = distance;
      }
    }
    bytes = ceil_div(matrix_stride * matrices * element_bytes, 16) * 16;
  }

 private:
  /// The bank conflict's degree when each lane reads an element of its first row, for as many lanes as fill the banks.
  SIMT_INLINE constexpr int most_in_a_bank(int element_bytes, int lanes, int distance) const {
    int const words = larger(element_bytes / 4, 1);
    int of_bank[32]{};
    int most = 0;
    for (int t = 0; t < 32 / words; ++t) {
      int const element = t / lanes * distance + t % lanes * (by_rows ? line_stride : 1);
      for (int w = 0; w < words; ++w) most = larger(most, ++of_bank[(element * element_bytes / 4 + w) % 32]);
    }
    return most;
  }
};

/// XOR swizzle of 16-byte chunks within 128 bytes (all banks once): the same chunk of eight consecutive lines, which begin at multiples of
/// 128 bytes, is then in different banks without padding. Chunk c of a line is at place c ^ of(line).
struct Swizzle {
  int mask;  ///< 0: no swizzle
  int divisor;
  SIMT_INLINE constexpr int of(int line) const { return line / divisor & mask; }
};
inline constexpr Swizzle no_swizzle{0, 1};
/// The swizzle for m-by-n matrices
SIMT_INLINE constexpr Swizzle swizzle_of(int element_bytes, int m, int n, Layout layout) {
  int const length = is_by_rows(layout) ? n : m, per_chunk = 16 / element_bytes;
  if (!is_packed(layout) || length % per_chunk != 0 || m * n * element_bytes % 128 != 0) return no_swizzle;
  int const chunks = length / per_chunk, exchanged = smaller(chunks & -chunks, 8);
  return {exchanged - 1, 8 / exchanged};
}

template <typename T, int M, int N, int matrices, int lanes, int threads, Layout shaped_for, bool padded = false, bool any_distance = false,
          bool tight = false, bool swizzled = false>
class Tile {
  static_assert(tight || !swizzled);
  static constexpr TileShape shape{sizeof(T), M, N, matrices, lanes, shaped_for, padded, any_distance, tight};
  static constexpr int elements = M * N;
  static constexpr int per_chunk = shape.per_chunk;
  static constexpr int chunks_of_all = matrices * elements / per_chunk;
  static constexpr int at_once =
      shape.by_rows && shape.line_stride % per_chunk == 0 && shape.matrix_stride % per_chunk == 0 ? per_chunk : 1;

 public:
  /// Strides of rows, columns and matrices, in elements.
  static constexpr int row_step = shape.by_rows ? shape.line_stride : 1;
  static constexpr int column_step = shape.by_rows ? 1 : shape.line_stride;
  static constexpr int matrix_step = shape.matrix_stride;
  static constexpr Swizzle swizzle = swizzled ? swizzle_of(sizeof(T), M, N, shaped_for) : no_swizzle;

  SIMT_INLINE explicit Tile(char* memory) : data_(reinterpret_cast<T*>(memory)) {}

  SIMT_INLINE T& at(int q, int i, int j) {
    // The offset in bytes is one product: ptxas 13.0 miscompiled tid * 3 * 16 to tid * 3 * 4 beside other tiles of 16-byte elements.
    T* const matrix = reinterpret_cast<T*>(reinterpret_cast<char*>(data_) + q * (shape.matrix_stride * static_cast<int>(sizeof(T))));
    int const line = shape.by_rows ? i : j, position = shape.by_rows ? j : i;
    return matrix[(position + line * shape.line_stride) ^ (swizzle.of(line) * per_chunk)];
  }

  /// Reads row i of matrix q, 16 bytes at a time if contiguous.
  SIMT_INLINE void read_row(int q, int i, T (&row)[N]) {
    SIMT_UNROLL
    for (int j = 0; j < N; j += at_once) {
      if constexpr (at_once > 1) {
        Chunked<T> const part(load_chunk(&at(q, i, j)));
        SIMT_UNROLL
        for (int e = 0; e < at_once; ++e) row[j + e] = part.x[e];
      } else {
        row[j] = at(q, i, j);
      }
    }
  }
  SIMT_INLINE void write_row(int q, int i, T const (&row)[N]) {
    SIMT_UNROLL
    for (int j = 0; j < N; j += at_once) {
      if constexpr (at_once > 1) {
        Chunked<T> part;
        SIMT_UNROLL
        for (int e = 0; e < at_once; ++e) part.x[e] = row[j + e];
        store_chunk(&at(q, i, j), part.chunk);
      } else {
        at(q, i, j) = row[j];
      }
    }
  }

  /// Calls use(i, j, element) for all of matrix q, in a tile with one lane per matrix; loads as wide as the layout allows.
  template <typename Use>
  SIMT_INLINE void read(int q, Use use) {
    T const* const matrix = &at(q, 0, 0);
    SIMT_UNROLL
    for (int e = 0; e < elements; e += of_piece) {
      Piece piece;
      if constexpr (of_piece == per_chunk)
        piece.chunk = load_chunk(matrix + e);
      else if constexpr (of_piece > 1)
        piece.word = load_word(matrix + e);
      else
        piece.x[0] = matrix[e];
      SIMT_UNROLL
      for (int i = e; i < e + of_piece; ++i) use(shape.by_rows ? i / N : i % M, shape.by_rows ? i % N : i / M, piece.x[i - e]);
    }
  }
  /// Sets all elements (i, j) of matrix q to value(i, j).
  template <typename Value>
  SIMT_INLINE void write(int q, Value value) {
    T* const matrix = &at(q, 0, 0);
    SIMT_UNROLL
    for (int e = 0; e < elements; e += of_piece) {
      Piece piece;
      SIMT_UNROLL
      for (int i = e; i < e + of_piece; ++i) piece.x[i - e] = value(shape.by_rows ? i / N : i % M, shape.by_rows ? i % N : i / M);
      if constexpr (of_piece == per_chunk)
        store_chunk(matrix + e, piece.chunk);
      else if constexpr (of_piece > 1)
        store_word(matrix + e, piece.word);
      else
        matrix[e] = piece.x[0];
    }
  }

  /// Starts loading matrices [first, first + active) of the batch; wait_copies and sync_block complete it. Elements beyond the size of a
  /// ragged matrix are those of the identity; elements outside the part are unspecified. `batch`: Matrices, or a type with its interface.
  template <Layout layout, Part part = Part::whole, typename Batch>
  SIMT_INLINE void load(Batch const& batch, Index first, int active) {
    if constexpr (moves_elements(layout)) {
      for_each_element<part>(batch.data + first * elements, active, [](T* tile, T const* from) { copy_async<T>(tile, from); });
    } else if constexpr (moves_chunks(layout) && part == Part::lower) {
      T const* const source = batch.data + first * elements;
      for_each_chunk_of_triangle(source, active, [](T* tile, T const* from, unsigned needed) {
        if (needed != 0) copy_async_16(tile, from);
      });
      int const e = active * elements / per_chunk * per_chunk + thread_index();
      if (!shape.chunked && e < active * elements) data_[e] = source[e];
    } else if constexpr (moves_chunks(layout) && same_in_each) {
      for_each_chunk_of_each(batch.data + first * elements, active, [](T* tile, T const* from) { copy_async_16(tile, from); });
    } else if constexpr (moves_chunks(layout)) {
      char const* const source = reinterpret_cast<char const*>(batch.data + first * elements) + thread_index() * 16;
      int const chunks = active * elements / per_chunk;
      SIMT_UNROLL
      for (int step = 0; step < ceil_div(chunks_of_all, threads); ++step) {
        int const c = thread_index() + step * threads;
        if (c < chunks) copy_async_16(data_ + chunk(static_cast<unsigned>(c)), source + step * threads * 16);
      }
      int const e = chunks * per_chunk + thread_index();
      if (!shape.chunked && e < active * elements) data_[e] = batch.data[first * elements + e];
    } else if constexpr (moves_chunks_of_each(layout)) {
      for_each_chunk<part>(batch, first, active, [&](int tile, T const* from, bool aligned, unsigned needed) {
        if (aligned) {
          if (needed != 0) copy_async_16(data_ + tile, from);
        } else {
          SIMT_UNROLL
          for (int i = 0; i < per_chunk; ++i)
            if ((needed >> i & 1) != 0) copy_async<T>(data_ + tile + i, from + i);
        }
      });
    } else {
      for_each<layout, part>(batch, first, active, [&](int q, int i, int j, bool real, auto* from) {
        if (real)
          copy_async<T>(&at(q, i, j), from);
        else
          at(q, i, j) = from_real<T>(Real<T>(i == j ? 1 : 0));
      });
    }
  }

  /// Stores matrices [first, first + active) of the batch; call it after a sync_block.
  template <Layout layout, Part part = Part::whole, typename Batch>
  SIMT_INLINE void store(Batch const& batch, Index first, int active) {
    if constexpr (moves_elements(layout)) {
      for_each_element<part>(batch.data + first * elements, active, [](T const* tile, T* to) { *to = *tile; });
    } else if constexpr (moves_chunks(layout) && part == Part::lower && stores_triangle_by_elements) {
      for_each_element_of_triangle(batch.data + first * elements, active, [](T const* tile, T* to) { *to = *tile; });
    } else if constexpr (moves_chunks(layout) && part == Part::lower) {
      T* const target = batch.data + first * elements;
      for_each_chunk_of_triangle(target, active, [](T const* tile, T* to, unsigned needed) {
        if (needed == all_of_chunk) {
          store_chunk(to, load_chunk(tile));
        } else {
          // A chunk within one line needs either its last or its first elements.
          constexpr int half = per_chunk < 4 ? 0 : shape.by_rows ? 0 : 2;
          bool const has_half = per_chunk == 4 && (needed >> half & 3) == 3;
          if (has_half) store_half_chunk(to + half, tile + half);
          SIMT_UNROLL
          for (int i = 0; i < per_chunk; ++i) {
            if (whole_lines && i % 2 == (shape.by_rows ? 1 : 0)) continue;
            if ((needed >> i & 1) != 0 && !(has_half && i / 2 * 2 == half)) to[i] = tile[i];
          }
        }
      });
      int const e = active * elements / per_chunk * per_chunk + thread_index();
      if (!shape.chunked && e < active * elements && is_lower(e)) target[e] = data_[e];
    } else if constexpr (moves_chunks(layout) && same_in_each) {
      for_each_chunk_of_each(batch.data + first * elements, active, [](T const* tile, T* to) { store_chunk(to, load_chunk(tile)); });
    } else if constexpr (moves_chunks(layout)) {
      char* const target = reinterpret_cast<char*>(batch.data + first * elements) + thread_index() * 16;
      int const chunks = active * elements / per_chunk;
      SIMT_UNROLL
      for (int step = 0; step < ceil_div(chunks_of_all, threads); ++step) {
        int const c = thread_index() + step * threads;
        if (c < chunks) store_chunk(target + step * threads * 16, load_chunk(data_ + chunk(static_cast<unsigned>(c))));
      }
      int const e = chunks * per_chunk + thread_index();
      if (!shape.chunked && e < active * elements) batch.data[first * elements + e] = data_[e];
    } else if constexpr (moves_chunks_of_each(layout)) {
      for_each_chunk<part>(batch, first, active, [&](int tile, T* to, bool aligned, unsigned needed) {
        if (aligned && needed == all_of_chunk) {
          store_global(reinterpret_cast<Chunk*>(to), load_chunk(data_ + tile));
        } else {
          SIMT_UNROLL
          for (int i = 0; i < per_chunk; ++i)
            if ((needed >> i & 1) != 0) store_global(to + i, data_[tile + i]);
        }
      });
    } else {
      for_each<layout, part>(batch, first, active, [&](int q, int i, int j, bool real, T* to) {
        if (real) store_global(to, at(q, i, j));
      });
    }
  }

 private:
  /// Elements of a gapless matrix in an aligned chunk, else in a word.
  static constexpr int of_piece = elements % per_chunk == 0 && shape.matrix_stride % per_chunk == 0    ? per_chunk
                                  : sizeof(T) < 4 && elements % 2 == 0 && shape.matrix_stride % 2 == 0 ? 2
                                                                                                       : 1;
  union Piece {
    SIMT_INLINE Piece() : chunk{} {}
    Chunk chunk;
    unsigned word;
    T x[per_chunk];
  };

  /// Whether packed matrices have the tile's line direction: moved 16 bytes at a time, or by elements.
  static constexpr bool is_as_tile(Layout layout) {
    return is_packed(layout) && shaped_for != Layout::interleaved && (is_by_rows(layout) == shape.by_rows || M == 1 || N == 1);
  }
  static constexpr bool moves_chunks(Layout layout) {
    return is_as_tile(layout) && (shape.chunked || (shape.matrix_stride == elements && matrices * elements % per_chunk == 0));
  }
  static constexpr bool moves_elements(Layout layout) { return is_as_tile(layout) && !moves_chunks(layout); }

  /// Whether matrices at any address have the tile's line direction and are moved in chunks.
  static constexpr bool moves_chunks_of_each(Layout layout) {
    return is_dense(layout) && is_by_rows(layout) == shape.by_rows && shape.chunked && elements >= per_chunk;
  }

  static constexpr unsigned all_of_chunk = (1u << per_chunk) - 1;

  /// Calls `move(tile, memory)`, with both places, for this thread's elements of packed matrices, the first of which is at `memory`.
  template <Part part, typename Pointer, typename Move>
  SIMT_INLINE void for_each_element(Pointer memory, int active, Move move) {
    constexpr int steps = ceil_div(elements, threads);
    constexpr int full = part == Part::whole ? elements / threads : 0;  // steps with an element for every thread
    unsigned wanted = 0;                                                // bit per remaining step: whether it has an element for this thread
    SIMT_UNROLL
    for (int step = full; step < steps; ++step) {
      int const e = thread_index() + step * threads;
      if (e < elements && (part == Part::whole || is_lower(e))) wanted |= 1u << (step - full);
    }
    static_assert(steps - full <= 32);
    T* tile = data_ + thread_index();
    memory += thread_index();
    SIMT_LOOP
    for (int q = 0; q < active; ++q) {
      SIMT_UNROLL_BY(32)
      for (int step = 0; step < full; ++step) move(tile + step * threads, memory + step * threads);
      SIMT_UNROLL
      for (int step = full; step < steps; ++step)
        if ((wanted >> (step - full) & 1) != 0) move(tile + step * threads, memory + step * threads);
      tile += shape.matrix_stride;
      memory += elements;
    }
  }

  /// Whether element e of packed matrices, in the order of memory, is one with i >= j.
  SIMT_INLINE static bool is_lower(int e) {
    int const of_matrix = static_cast<int>(static_cast<unsigned>(e) % elements);
    return is_lower(of_matrix / shape.length, of_matrix % shape.length);
  }
  SIMT_INLINE static constexpr bool is_lower(int line, int position) { return shape.by_rows ? position <= line : position >= line; }
  /// Bit i is set if this holds for the i-th element from `position` on.
  SIMT_INLINE static constexpr unsigned lower_elements(int line, int position) {
    unsigned bits = 0;
    SIMT_UNROLL
    for (int i = 0; i < per_chunk; ++i) bits |= is_lower(line, position + i) ? 1u << i : 0u;
    return bits;
  }

  static constexpr int chunks_of_matrix = larger(elements / per_chunk, 1);
  /// Small matrices are moved several per step. Larger ones take several steps each, of whole lines if lines are padded. Some threads may
  /// idle.
  static constexpr int matrices_of_step = larger(threads / chunks_of_matrix, 1);
  static constexpr int chunks_of_line = larger(shape.length / per_chunk, 1);
  static constexpr bool padded_lines = shape.line_stride > shape.length;
  static constexpr int chunks_of_step = padded_lines ? larger(threads / chunks_of_line, 1) * chunks_of_line : threads;
  static constexpr int steps_of_matrix = chunks_of_matrix <= threads ? 1 : ceil_div(chunks_of_matrix, chunks_of_step);
  /// Whether to move them so: if it takes at most 7/5 of the steps without idle threads.
  static constexpr bool same_in_each = shape.chunked && chunks_of_step <= threads &&
                                       (swizzle.mask == 0 || steps_of_matrix == 1 || chunks_of_step % (8 * chunks_of_line) == 0) &&
                                       5 * ceil_div(matrices, matrices_of_step) * steps_of_matrix <= 7 * ceil_div(chunks_of_all, threads);

  /// Calls `move(tile, memory)`, with both places, for this thread's chunks of packed matrices, the first of which is at `memory`. All are
  /// at constant offsets from the thread's first chunk.
  template <typename Pointer, typename Move>
  SIMT_INLINE void for_each_chunk_of_each(Pointer memory, int active, Move move) const {
    constexpr bool one_step = steps_of_matrix == 1;
    constexpr int on = chunks_of_step * per_chunk;
    constexpr int on_in_tile = padded_lines ? on / shape.length * shape.line_stride : on;
    int const q0 = one_step ? thread_index() / chunks_of_matrix : 0;
    int const c = one_step ? thread_index() % chunks_of_matrix : thread_index();
    if (one_step ? threads % chunks_of_matrix != 0 && q0 >= matrices_of_step : c >= chunks_of_step) return;
    T* const tile = data_ + (q0 * shape.matrix_stride + chunk_of_matrix(static_cast<unsigned>(c)));
    memory += q0 * elements + c * per_chunk;
    SIMT_UNROLL
    for (int q = 0; q < matrices; q += matrices_of_step) {
      SIMT_UNROLL
      for (int step = 0; step < steps_of_matrix; ++step) {
        bool const certain = one_step || (step + 1) * chunks_of_step <= chunks_of_matrix;
        if (q + q0 < active && (certain || c + step * chunks_of_step < chunks_of_matrix))
          move(tile + (q * shape.matrix_stride + step * on_in_tile), memory + (q * elements + step * on));
      }
    }
  }

  /// Whether each chunk is within one line.
  static constexpr bool whole_lines = shape.chunked && shape.length % per_chunk == 0;

  /// Calls `move(tile, memory, needed)`, with both places and a mask of the elements to move, for this thread's chunks of packed matrices,
  /// the first of which is at `memory`.
  template <typename Pointer, typename Move>
  SIMT_INLINE void for_each_chunk_of_triangle(Pointer memory, int active, Move move) const {
    int const t = thread_index();
    if constexpr (whole_lines && threads % chunks_of_matrix == 0) {
      // This thread's chunk is at the same place of every matrix.
      int const line = t % chunks_of_matrix / chunks_of_line;
      int const position = t % chunks_of_matrix % chunks_of_line * per_chunk;
      unsigned const needed = lower_elements(line, position);
      T* const tile = data_ + (t / chunks_of_matrix * shape.matrix_stride + line * shape.line_stride + position);
      memory += t * per_chunk;
      SIMT_UNROLL
      for (int q = 0; q < matrices; q += threads / chunks_of_matrix)
        move(tile + q * shape.matrix_stride, memory + q * elements, q + t / chunks_of_matrix < active ? needed : 0);
    } else if constexpr (whole_lines) {
      // Several threads per line: the line is a constant, so the compiler drops chunks without elements of the triangle.
      constexpr int together = larger(lanes, chunks_of_line >= 16 ? 8 : chunks_of_line >= 3 ? 4 : chunks_of_line);
      int const mine = t / together;
      int const place = t % together * per_chunk;
      T* const tile = data_ + (mine * shape.matrix_stride + place);
      memory += mine * elements + place;
      SIMT_UNROLL
      for (int q = 0; q < matrices; q += threads / together) {
        SIMT_UNROLL
        for (int line = 0; line < elements / shape.length; ++line) {
          SIMT_UNROLL
          for (int from = 0; from < shape.length; from += together * per_chunk) {
            int const until = smaller(from + together * per_chunk, shape.length);
            if (shape.by_rows ? from > line : until <= line) continue;
            bool const all = shape.by_rows ? until - 1 <= line : from >= line;
            unsigned const needed = all ? all_of_chunk : lower_elements(line, from + place);
            move(tile + (q * shape.matrix_stride + line * shape.line_stride + from), memory + (q * elements + line * shape.length + from),
                 q + mine < active && from + place < shape.length ? needed : 0);
          }
        }
      }
    } else {
      int const chunks = active * elements / per_chunk;
      // Full unrolling would spill, and would not fit into the instruction cache.
      SIMT_UNROLL_BY(8)
      for (int step = 0; step < ceil_div(chunks_of_all, threads); ++step) {
        int const c = t + step * threads;
        unsigned needed = c < chunks ? all_of_chunk : 0;
        SIMT_UNROLL
        for (int i = 0; i < per_chunk; ++i)
          if (!is_lower(c * per_chunk + i)) needed &= ~(1u << i);
        move(data_ + chunk(static_cast<unsigned>(c)), memory + c * per_chunk, needed);
      }
    }
  }

  /// Partial chunks would be written to a sector one by one; elements of neighbouring threads are coalesced.
  static constexpr bool stores_triangle_by_elements =
      sizeof(T) == 4 && shape.chunked && (threads % elements == 0 || elements % threads == 0);
  /// Calls `move(tile, memory)` for the elements of the part `lower` that this thread moves of packed matrices.
  template <typename Pointer, typename Move>
  SIMT_INLINE void for_each_element_of_triangle(Pointer memory, int active, Move move) const {
    int const mine = thread_index() / elements;
    SIMT_UNROLL
    for (int step = 0; step < ceil_div(elements, threads); ++step) {
      int const e = thread_index() % elements + step * threads;
      if (!is_lower(e)) continue;
      T* const tile = data_ + (mine * shape.matrix_stride + e / shape.length * shape.line_stride + e % shape.length);
      SIMT_UNROLL
      for (int q = 0; q < matrices; q += larger(threads / elements, 1))
        if (q + mine < active) move(tile + q * shape.matrix_stride, memory + ((q + mine) * elements + e));
    }
  }

  /// Place of chunk c of packed matrices in the tile.
  SIMT_INLINE static int chunk(unsigned c) {
    if constexpr (!shape.chunked) return static_cast<int>(c * per_chunk);
    return static_cast<int>(c / chunks_of_matrix * shape.matrix_stride) + chunk_of_matrix(c % chunks_of_matrix);
  }
  /// The same for one matrix.
  SIMT_INLINE static int chunk_of_matrix(unsigned c) {
    unsigned const e = c * per_chunk;
    if constexpr (swizzle.mask != 0) return static_cast<int>(e) ^ (swizzle.of(static_cast<int>(e / shape.length)) * per_chunk);
    return static_cast<int>(shape.line_stride > shape.length ? e / shape.length * shape.line_stride + e % shape.length : e);
  }

  /// Calls `move(tile, address, aligned, needed)` for this thread's chunks of dense matrices: place in the tile in elements, address in
  /// global memory, whether that is a multiple of 16 bytes, and a mask of the elements to move.
  template <Part part, typename Batch, typename Move>
  SIMT_INLINE static void for_each_chunk(Batch const& batch, Index first, int active, Move move) {
    constexpr int per_matrix = chunks_of_matrix;
    constexpr int team = per_matrix >= 16 ? 16 : per_matrix >= 8 ? 8 : per_matrix >= 4 ? 4 : per_matrix >= 2 ? 2 : 1;
    static_assert(threads % team == 0);
    auto const move_matrix = [&](int q, auto* matrix) {
      bool const aligned = reinterpret_cast<unsigned long long>(matrix) % 16 == 0;
      SIMT_UNROLL_BY(8)
      for (int step = 0; step < ceil_div(per_matrix, team); ++step) {
        int const c = thread_index() % team + step * team;
        if (per_matrix % team != 0 && c >= per_matrix) continue;
        unsigned needed = all_of_chunk;
        SIMT_UNROLL
        for (int i = 0; i < per_chunk && part == Part::lower; ++i)
          if (!is_lower(c * per_chunk + i)) needed &= ~(1u << i);
        move(q * shape.matrix_stride + chunk_of_matrix(static_cast<unsigned>(c)), matrix + c * per_chunk, aligned, needed);
      }
    };
    if constexpr (threads % warp_size == 0 && matrices * warp_size % threads == 0 && matrices * warp_size / threads > 1) {
      // Each warp moves its own matrices. Lanes look up one address each, all at once, and shuffle them.
      constexpr int of_warp = matrices * warp_size / threads;
      constexpr int teams = warp_size / team;
      int const first_of_warp = thread_index() / warp_size * of_warp;
      int const mine = first_of_warp + lane_index() % of_warp;
      auto* const looked_up = batch.at(first + (mine < active ? mine : 0), 0, 0);
      SIMT_UNROLL_BY(per_matrix <= 2 * team ? 8 : 1)
      for (int round = 0; round < ceil_div(of_warp, teams); ++round) {
        int const q = lane_index() / team + round * teams;
        auto const at = shuffle(reinterpret_cast<unsigned long long>(looked_up), q % of_warp);
        if (q < of_warp && first_of_warp + q < active) move_matrix(first_of_warp + q, reinterpret_cast<decltype(looked_up + 0)>(at));
      }
    } else {
      constexpr int teams = threads / team;
      SIMT_UNROLL_BY(per_matrix <= 2 * team ? 8 : 1)
      for (int round = 0; round < ceil_div(matrices, teams); ++round) {
        int const q = thread_index() / team + round * teams;
        if (q < active) move_matrix(q, batch.at(first + q, 0, 0));
      }
    }
  }

  /// Calls use(q, i, j, real, address) for this thread's elements of matrices [first, first + active), such that accesses of consecutive
  /// threads are coalesced. Elements that are not `real` are beyond the size of a ragged matrix.
  template <Layout layout, Part part, typename Batch, typename Use>
  SIMT_INLINE static void for_each(Batch const& batch, Index first, int active, Use use) {
    if constexpr (layout == Layout::interleaved) {
      static_assert(threads % matrices == 0);
      // Several threads per matrix: along its longer side, on several lines if there are more threads than the line has elements.
      constexpr bool along_rows = M < N;
      constexpr int lines = along_rows ? M : N, length = along_rows ? N : M;
      constexpr int apart = smaller(threads / matrices, length), lines_at_once = threads / matrices / apart;
      constexpr int of_line = ceil_div(length, apart);
      int const q = thread_index() % matrices, t = thread_index() / matrices;
      int const place = lines_at_once > 1 ? t % apart : t, first_line = lines_at_once > 1 ? t / apart : 0;
      if (q >= active || (threads / matrices % apart != 0 && t >= apart * lines_at_once)) return;
      Index const down = unknown(batch.row_stride_of(first + q)), right = unknown(batch.col_stride_of(first + q));
      auto* const matrix = batch.at(first + q, 0, 0);
      auto const move = [&](auto is_real) {
        Index const on = along_rows ? right : down, to_next = along_rows ? down : right;
        auto* on_line = matrix + (place * on + first_line * to_next);
        SIMT_UNROLL_BY(larger(8 / of_line, 1))
        for (int from = 0; from < lines; from += lines_at_once) {
          int const line = from + first_line;
          if (lines % lines_at_once != 0 && line >= lines) continue;
          SIMT_UNROLL_BY(8)
          for (int step = 0; step < of_line; ++step) {
            int const at = place + step * apart;
            int const i = along_rows ? line : at, j = along_rows ? at : line;
            if ((length % apart == 0 || at < length) && (part == Part::whole || i >= j))
              use(q, i, j, is_real(i, j), on_line + step * apart * on);
          }
          on_line += lines_at_once * to_next;
        }
      };
      int const rows = batch.rows_of(first + q), cols = batch.cols_of(first + q);
      if (rows >= M && cols >= N)
        move([](int, int) { return true; });
      else
        move([&](int i, int j) { return i < rows && j < cols; });
    } else {
      // A team of threads per matrix, so that its address is looked up once per thread. If a matrix has several warps, all of them are the
      // team.
      constexpr int each = threads / matrices;
      constexpr bool several_warps = each > warp_size && threads % each == 0 && elements >= each;
      constexpr int team = several_warps ? each : elements >= 16 ? 16 : elements >= 8 ? 8 : elements >= 4 ? 4 : elements >= 2 ? 2 : 1;
      constexpr int teams = threads / team;
      static_assert(threads % team == 0);
      SIMT_UNROLL_BY(elements <= 2 * team ? 8 : 1)
      for (int round = 0; round < ceil_div(matrices, teams); ++round) {
        int const q = thread_index() / team + round * teams;
        if (q >= active) continue;
        Index const down = unknown(batch.row_stride_of(first + q)), right = unknown(batch.col_stride_of(first + q));
        auto* const matrix = batch.at(first + q, 0, 0);
        auto const move = [&](auto is_real) {
          SIMT_UNROLL_BY(8)
          for (int step = 0; step < ceil_div(elements, team); ++step) {
            int const e = thread_index() % team + step * team;
            if (elements % team != 0 && e >= elements) continue;
            int const i = is_by_rows(layout) ? e / N : e % M, j = is_by_rows(layout) ? e % N : e / M;
            if (part == Part::whole || i >= j) use(q, i, j, is_real(i, j), matrix + (i * down + j * right));
          }
        };
        int const rows = batch.rows_of(first + q), cols = batch.cols_of(first + q);
        if (!is_ragged(layout) && rows >= M && cols >= N)
          move([](int, int) { return true; });
        else
          move([&](int i, int j) { return i < rows && j < cols; });
      }
    }
  }

  T* data_;
};

}  // namespace myriad::simt
