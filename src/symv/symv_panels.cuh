#pragma once
/// A x with a triangle of A in pieces, as sytrd wants it: within a kernel whose blocks run together, of an x that this has written.

#include "symv/symv_panels_config.cuh"

namespace myriad {
namespace simt {

/// What a block does with some tiles of a matrix. Row sums of a tile are combined by its warps in shared memory; column sums stay in the
/// registers of the lanes as long as tiles follow each other down a panel.
template <typename T, SymvPanels C>
class SymvBlock : SymvMatrix<T, C.symmetry, C.layout, C.vector> {
  using Matrix = SymvMatrix<T, C.symmetry, C.layout, C.vector>;
  using Matrix::a_, Matrix::x_, Matrix::down_, Matrix::right_, Matrix::increment_, Matrix::conjugates_x_, Matrix::n_;
  using Matrix::held_rows, Matrix::hermitian, Matrix::is_stored, Matrix::x;
  static constexpr int rows_of_tile = C.tile_rows(sizeof(T));
  static_assert(rows_of_tile <= C.threads() && C.tile_columns() <= C.threads() && C.tile_columns() % rows_of_tile == 0);
  static_assert(C.columns >= 2 && 32 % C.columns == 0, "halves, and lanes share columns evenly");

 public:
  SIMT_INLINE SymvBlock(T const* a, Index right, T const* x, bool lower, int n, T* sums)
      : Matrix(a, right, x, lower, n), tiles_(n, rows_of_tile, C.tile_columns(), C.most_tiles, lower), sums_(sums) {}

  SIMT_INLINE SymvTiles const& tiles() const { return tiles_; }

  /// The sums of tiles [first, last), which begin and end with a piece.
  SIMT_INLINE void add_tiles(int first, int last) {
    bool const in_chunks = Matrix::columns_in_chunks();
    SIMT_LOOP
    for (int tile = first; tile < last;) {
      panel_ = tiles_.panel_of(tile);
      int const skipped = tile - tiles_.before(panel_);
      int const end = skipped + smaller(tiles_.tiles_of(panel_) - skipped, last - tile);
      begin_panel();
      // Tiles whose rows are all there and that do not meet the diagonal.
      bool const all_columns = (panel_ + 1) * tiles_.columns <= n_;
      int const whole_first = tiles_.lower ? tiles_.deep() : 0;
      int const whole_end = tiles_.lower ? n_ / rows_of_tile - tiles_.first_row(panel_) : panel_ * tiles_.deep();
      SIMT_LOOP
      for (int at = skipped, count = 1; at < end; at += count, tile += count) {
        int const tile_row = tiles_.first_row(panel_) + at;
        bool const whole = C.layout != SymvColumns::strided && at >= whole_first && at < whole_end;
        count = whole ? smaller(end, whole_end) - at : 1;
        if (!whole)
          add_tile(tile, tile_row);
        else if (in_chunks && all_columns)
          add_whole_tiles<true, true>(tile, tile_row, count);
        else if (in_chunks)
          add_whole_tiles<true, false>(tile, tile_row, count);
        else
          add_whole_tiles<false, false>(tile, tile_row, count);
      }
      if (tile % tiles_.tiles_of_piece != 0) end_columns(tile - 1);
    }
  }

 private:
  /// The rows of a tile that are this lane's: 16 bytes of neighbours.
  SIMT_INLINE static int row(int r) { return lane_index() * held_rows + r; }
  SIMT_INLINE int warp() const { return thread_index() / 32; }
  SIMT_INLINE static T* x_of_panel() { return reinterpret_cast<T*>(shared_memory()); }
  SIMT_INLINE static T* row_sums() { return x_of_panel() + C.tile_columns(); }
  SIMT_INLINE int first_column() const { return panel_ * C.tile_columns() + warp() * C.columns; }

  /// Asks for the part of x that belongs to the panel, which x_of_column has once wait_for_x has returned.
  SIMT_INLINE void begin_panel() {
    int const j = panel_ * C.tile_columns() + thread_index();
    if (thread_index() < C.tile_columns()) {
      T* const to = x_of_panel() + thread_index();
      if (j < n_)
        copy_async(to, x_ + j * increment_);
      else
        *to = from_real<T>(0);
    }
    SIMT_UNROLL
    for (int c = 0; c < C.columns; ++c) column_[c] = from_real<T>(0);
  }
  SIMT_INLINE static void wait_for_x() {
    wait_copies();
    sync_block();
  }
  /// Of the warp's column c.
  SIMT_INLINE T x_of_column(int c) const { return conjugate_if(conjugates_x_, x_of_panel()[warp() * C.columns + c]); }

  /// A lane's rows of a column.
  template <bool in_chunks>
  SIMT_INLINE static void load(T (&held)[held_rows], T const* from) {
    if constexpr (in_chunks) {
      Matrix::load_neighbours(held, from);
    } else {
      SIMT_UNROLL
      for (int r = 0; r < held_rows; ++r) held[r] = load_global(from + r);
    }
  }

  /// `count` tiles below each other whose rows are all there and that do not meet the diagonal. All of the next tile is asked for as soon
  /// as this one is used, and the block has met: before, elements of both would need registers. Beyond the last column the last one is
  /// read once more, and not used.
  template <bool in_chunks, bool all_columns>
  SIMT_INLINE void add_whole_tiles(int tile, int tile_row, int count) {
    int const columns = all_columns ? C.columns : n_ - first_column();
    int i = tile_row * rows_of_tile;
    T const* from = a_ + (i + row(0)) + (all_columns ? first_column() : smaller(first_column(), n_ - 1)) * right_;
    T held[C.columns][held_rows];
    T x_of_row[held_rows];
    auto const load_tile = [&] {
      T const* column = from;
      SIMT_UNROLL
      for (int c = 0; c < C.columns; ++c) {
        load<in_chunks>(held[c], column);
        if (all_columns || c + 1 < columns) column += right_;
      }
      SIMT_UNROLL
      for (int r = 0; r < held_rows; ++r) x_of_row[r] = x(i + row(r));
      from += rows_of_tile;
      i += rows_of_tile;
    };
    load_tile();
    wait_for_x();
    SIMT_LOOP
    for (int const end = tile_row + count; tile_row < end; ++tile, ++tile_row) {
      T sum[held_rows];
      SIMT_UNROLL
      for (int r = 0; r < held_rows; ++r) sum[r] = from_real<T>(0);
      SIMT_UNROLL
      for (int c = 0; c < C.columns; ++c) {
        if (!all_columns && c >= columns) continue;
        T const factor = x_of_column(c);
        SIMT_UNROLL
        for (int r = 0; r < held_rows; ++r) use(held[c][r], factor, x_of_row[r], sum[r], column_[c]);
      }
      pass_row_sums(tile, sum);
      if (tile_row + 1 < end) load_tile();
      end_tile(tile);
    }
  }

  /// Any tile, element by element; for one that is not stored the first one of the matrix is read, and not used: with loads that depend on
  /// a predicate the compiler let one wait for the other.
  SIMT_INLINE void add_tile(int tile, int tile_row) {
    int const i0 = tile_row * rows_of_tile + row(0), j0 = first_column();
    T held[C.columns][held_rows], x_of_row[held_rows], sum[held_rows];
    T const* column = a_ + (i0 * down_ + j0 * right_);
    SIMT_UNROLL
    for (int c = 0; c < C.columns; ++c) {
      SIMT_UNROLL
      for (int r = 0; r < held_rows; ++r) held[c][r] = load_global_before_barrier(is_stored(i0 + r, j0 + c) ? column + r * down_ : a_);
      column += right_;
    }
    SIMT_UNROLL
    for (int r = 0; r < held_rows; ++r) {
      x_of_row[r] = x(smaller(i0 + r, n_ - 1));
      sum[r] = from_real<T>(0);
    }
    wait_for_x();
    SIMT_UNROLL
    for (int c = 0; c < C.columns; ++c) {
      T const factor = x_of_column(c);
      SIMT_UNROLL
      for (int r = 0; r < held_rows; ++r) {
        // What is not stored counts nothing, be the other factor infinite.
        int const i = i0 + r, j = j0 + c;
        T const element = hermitian && i == j ? from_real<T>(real_part(held[c][r])) : held[c][r];
        T row_sum = sum[r], column_sum = column_[c];
        use(element, factor, x_of_row[r], row_sum, column_sum);
        if (is_stored(i, j)) sum[r] = row_sum;
        if (is_stored(i, j) && i != j) column_[c] = column_sum;
      }
    }
    pass_row_sums(tile, sum);
    end_tile(tile);
  }
  SIMT_INLINE static void use(T element, T x_of_column, T x_of_row, T& row_sum, T& column_sum) {
    row_sum = multiply_add(element, x_of_column, row_sum);
    column_sum = multiply_add(conjugate_if(hermitian, element), x_of_row, column_sum);
  }

  /// Where the row sums of the warps meet: those of one tile, while others still read those of the tile before.
  SIMT_INLINE static T* row_sums_of(int tile) { return row_sums() + tile % 2 * (C.warps * rows_of_tile); }
  SIMT_INLINE void pass_row_sums(int tile, T const (&sum)[held_rows]) {
    Chunked<T> part;
    SIMT_UNROLL
    for (int r = 0; r < held_rows; ++r) part.x[r] = sum[r];
    store_chunk(row_sums_of(tile) + warp() * rows_of_tile + row(0), part.chunk);
    sync_block();
  }
  /// Adds these up, and ends the piece where it ends.
  SIMT_INLINE void end_tile(int tile) {
    T const* const sums = row_sums_of(tile);
    if (thread_index() < rows_of_tile) {
      T total = sums[thread_index()];
      SIMT_UNROLL
      for (int w = 1; w < C.warps; ++w) total = total + sums[w * rows_of_tile + thread_index()];
      sums_[tiles_.row_sums(tile) + thread_index()] = total;
    }
    if ((tile + 1) % tiles_.tiles_of_piece == 0) end_columns(tile);
  }

  /// Adds up the column sums of the lanes, in ever fewer columns of ever fewer lanes, and begins anew. `tile` is the last of them.
  SIMT_INLINE void end_columns(int tile) {
    constexpr int lanes_of_column = 32 / C.columns;
    SIMT_UNROLL
    for (int step = 0; step < 5; ++step) {
      int const distance = 16 >> step, held = C.columns >> (step + 1);
      bool const upper = (lane_index() & distance) != 0;
      SIMT_UNROLL
      for (int c = 0; c < C.columns / 2; ++c) {
        if (c >= held) continue;
        exchange_if(upper, column_[c], column_[c + held]);
        column_[c] = column_[c] + shuffle_xor(column_[c + held], distance);
      }
      if (held == 0) column_[0] = column_[0] + shuffle_xor(column_[0], distance);
    }
    int const j = first_column() + lane_index() / lanes_of_column;
    if (lane_index() % lanes_of_column == 0)
      sums_[tiles_.column_sums(tile / tiles_.tiles_of_piece, panel_) + j % C.tile_columns()] = column_[0];
    SIMT_UNROLL
    for (int c = 0; c < C.columns; ++c) column_[c] = from_real<T>(0);
  }

  SymvTiles tiles_;
  T* sums_;  ///< of the matrix, in the workspace
  int panel_ = 0;
  T column_[C.columns];  ///< column sums of this lane's rows
};

/// The sum of a row is that of its row sums in every panel that covers it and of the column sums of the panel that has its column. Of these
/// terms C.in_order after each other are added in their order by one warp; here for this warp.
template <SymvSums C, typename T, typename Place>
SIMT_INLINE T symv_terms(T const* sums, int terms, Place place) {
  T sum = from_real<T>(0);
  SIMT_LOOP
  for (int first = thread_index() / 32 * C.in_order; first < terms; first += C.warps * C.in_order) {
    SIMT_UNROLL
    for (int t = 0; t < C.in_order; ++t) sum = sum + (first + t < terms ? sums[place(first + t)] : from_real<T>(0));
  }
  return sum;
}
template <SymvSums C, typename T>
SIMT_INLINE T symv_row_sums(SymvTiles const& tiles, T const* sums, int i) {
  int const panel = i / C.columns, tile_row = i / C.rows;
  int const first = tiles.lower ? 0 : panel;
  return symv_terms<C>(sums, tiles.lower ? panel + 1 : tiles.panels - panel,
                       [&](int t) { return tiles.row_sums(tiles.before(first + t) + tile_row - tiles.first_row(first + t)) + i % C.rows; });
}
template <SymvSums C, typename T>
SIMT_INLINE T symv_column_sums(SymvTiles const& tiles, T const* sums, int i) {
  int const panel = i / C.columns;
  int const first = tiles.before(panel) / tiles.tiles_of_piece;
  int const last = (tiles.before(panel) + tiles.tiles_of(panel) - 1) / tiles.tiles_of_piece;
  return symv_terms<C>(sums, last - first + 1, [&](int t) { return tiles.column_sums(first + t, panel) + i % C.columns; });
}

}  // namespace simt

}  // namespace myriad
