#pragma once
/// Products of the constant trailing matrix with one vector after the other; each element is read once and used twice.

#include "eigen/tridiagonal/tridiagonal_config.cuh"
#include "simt/types.hpp"

namespace myriad::simt {

/// Reduces `count` numbers over the lanes, halving numbers in each step: the 32 / count lanes from 32 / count times c on get the sum of
/// number c in sum[0].
template <typename T, int count>
SIMT_INLINE void add_over_lanes(T (&sum)[count]) {
  static_assert(count > 1 && 32 % count == 0);
  SIMT_UNROLL
  for (int step = 0; step < 5; ++step) {
    int const distance = 16 >> step, held = count >> (step + 1);
    bool const upper = (lane_index() & distance) != 0;
    SIMT_UNROLL
    for (int c = 0; c < count / 2; ++c) {
      if (c >= held) continue;
      exchange_if(upper, sum[c], sum[c + held]);
      sum[c] = sum[c] + shuffle_xor(sum[c + held], distance);
    }
    if (held == 0) sum[0] = sum[0] + shuffle_xor(sum[0], distance);
  }
}

/// A block's part of the products. The warps combine row sums of a tile in shared memory; column sums stay in the lanes' registers while
/// tiles follow each other down a panel.
template <typename T, TridiagonalPanel C>
class TridiagonalProduct {
  using R = Real<T>;
  static constexpr int rows_of_tile = C.tile_rows(sizeof(T)), held_rows = 16 / static_cast<int>(sizeof(T));
  static_assert(rows_of_tile <= C.threads() && C.tile_columns() % rows_of_tile == 0 && C.tile_columns() <= tridiagonal_margin);

 public:
  SIMT_INLINE explicit TridiagonalProduct(TridiagonalWork<T> const& work)
      : tiles_(work.rows() - work.first, rows_of_tile, C.tile_columns(), static_cast<int>(block_count()), work.held),
        a_(work.matrix.a + work.first * (work.matrix.ld + 1)),
        x_(work.matrix.x + work.first),
        right_(work.matrix.ld),
        sums_(work.matrix.sums),
        kept_(work.kept) {
    int const tile = static_cast<int>(block_index());
    first_panel_ = tiles_.panel_of(smaller(tile << tiles_.shift, tiles_.count - 1));
    first_held_panel_ = tiles_.panel_of(smaller(tiles_.read + tile, tiles_.count - 1));
  }

  SIMT_INLINE TridiagonalTiles const& tiles() const { return tiles_; }

  /// Loads the tiles that the block holds.
  SIMT_INLINE void hold_tiles() {
    for_each_held([&](Place place, T* to) {
      if (!is_idle(place)) {
        T const* from = element(place);
        SIMT_UNROLL
        for (int c = 0; c < C.columns; ++c) copy_async_16(to + c * rows_of_tile, from + c * right_);
      }
    });
    wait_copies();
  }

  /// Starts loading the first tile that is read: it does not change.
  SIMT_INLINE void read_ahead() {
    at_ = begin(static_cast<int>(block_index()), first_panel_);
    if (at_.tile < at_.end) read(at_);
  }
  /// Computes the partial sums of A x; returns this thread's part of x^H A x.
  SIMT_INLINE R multiply() {
    x_a_x_ = R(0);
    clear_columns();
    SIMT_LOOP
    while (at_.tile < at_.end) {
      load_x(at_);
      use_tile(at_);
      Place const done = at_;
      advance();
      bool const last_in_panel = at_.panel != done.panel || done.tile + 1 == done.end;
      if (at_.tile < at_.end) read(at_);
      end_tile(done);
      if (last_in_panel) end_columns(done);
    }
    for_each_held([&](Place place, T const* from) {
      load_x(place);
      SIMT_UNROLL
      for (int c = 0; c < C.columns; ++c) {
        Chunked<T> const chunk(load_chunk(from + c * rows_of_tile));
        SIMT_UNROLL
        for (int r = 0; r < held_rows; ++r) held_[c][r] = chunk.x[r];
      }
      use_tile(place);
      end_tile(place);
      end_columns(place);
    });
    return x_a_x_;
  }

  /// This warp's part of row i of A x, once all blocks have multiplied.
  SIMT_INLINE T part_of_row(int i) const {
    int const panel = i / C.tile_columns(), tile_row = i / rows_of_tile;
    constexpr int at_once = 8;
    T sum = from_real<T>(0);
    SIMT_LOOP
    for (int first = warp(); first <= panel; first += C.warps * at_once) {
      SIMT_UNROLL
      for (int u = 0; u < at_once; ++u) {
        int const p = first + u * C.warps;
        if (p <= panel) sum = sum + sums_[tiles_.row_sums(tiles_.before(p) + tile_row - tiles_.first_row(p)) + i % rows_of_tile];
      }
    }
    int const pieces = tiles_.pieces_of(panel);
    SIMT_LOOP
    for (int first = warp(); first < pieces; first += C.warps * at_once) {
      SIMT_UNROLL
      for (int u = 0; u < at_once; ++u) {
        int const number = first + u * C.warps;
        if (number < pieces) sum = sum + sums_[tiles_.column_sums_of(panel, number) + i % C.tile_columns()];
      }
    }
    return sum;
  }

 private:
  struct Place {
    int tile, end;  ///< end of its piece
    int panel, row;
    int piece;
  };
  /// The first tile of a piece that is in `panel` or behind it.
  SIMT_INLINE Place begin(int piece, int panel) const {
    int const tile = piece << tiles_.shift;
    if (tile >= tiles_.read) return {0, 0, 0, 0, piece};
    return place(tile, smaller(tile + tiles_.of_piece(), tiles_.read), panel, piece);
  }
  SIMT_INLINE Place place(int tile, int end, int panel, int piece) const {
    SIMT_LOOP
    while (tile >= tiles_.before(panel + 1)) ++panel;
    return {tile, end, panel, tiles_.first_row(panel) + tile - tiles_.before(panel), piece};
  }
  SIMT_INLINE void advance() {
    if (++at_.tile == at_.end) {
      at_ = begin(at_.piece + static_cast<int>(block_count()), at_.panel);
    } else if (++at_.row == tiles_.tile_rows) {
      ++at_.panel;
      at_.row = tiles_.first_row(at_.panel);
    }
  }
  /// Calls use(place, this lane's first element of it) for each tile that the block holds.
  template <typename Use>
  SIMT_INLINE void for_each_held(Use use) {
    T* from = reinterpret_cast<T*>(shared_memory()) + C.tiles_at(sizeof(T)) + warp() * C.columns * rows_of_tile + row(0);
    int panel = first_held_panel_;
    SIMT_LOOP
    for (int tile = tiles_.read + static_cast<int>(block_index()); tile < tiles_.count; tile += static_cast<int>(block_count())) {
      Place const held = place(tile, tile + 1, panel, 0);
      panel = held.panel;
      use(held, from);
      from += C.tile(sizeof(T));
    }
  }

  /// This lane's rows of a tile: 16 contiguous bytes.
  SIMT_INLINE static int row(int r) { return lane_index() * held_rows + r; }
  SIMT_INLINE static int warp() { return thread_index() / 32; }
  SIMT_INLINE static T* row_sums() { return reinterpret_cast<T*>(shared_memory()); }
  SIMT_INLINE static T* x_of_columns() { return row_sums() + C.x_at(sizeof(T)) + warp() * C.columns; }
  SIMT_INLINE static int first_column(Place const& place) { return place.panel * C.tile_columns() + warp() * C.columns; }
  /// Whether this warp's part of a tile is entirely above the diagonal.
  SIMT_INLINE static bool is_idle(Place const& place) { return first_column(place) >= (place.row + 1) * rows_of_tile; }
  SIMT_INLINE T const* element(Place const& place) const { return a_ + (place.row * rows_of_tile + row(0)) + first_column(place) * right_; }

  SIMT_INLINE void read(Place const& place) {
    if (is_idle(place)) return;
    T const* from = element(place);
    CachePolicy const policy = cache_policy(place.tile % TridiagonalWork<T>::kept_of < kept_);
    SIMT_UNROLL
    for (int c = 0; c < C.columns; ++c) {
      Chunked<T> const chunk(load_chunk_once(from, policy));
      SIMT_UNROLL
      for (int r = 0; r < held_rows; ++r) held_[c][r] = chunk.x[r];
      from += right_;
    }
  }
  /// Loads the elements of x of this warp's columns to shared memory, and of the lane's rows to registers.
  SIMT_INLINE void load_x(Place const& place) {
    sync_warp();  // other lanes may still read those of the last tile
    if (lane_index() < C.columns) x_of_columns()[lane_index()] = x_[first_column(place) + lane_index()];
    Chunked<T> const chunk(load_chunk(x_ + place.row * rows_of_tile + row(0)));
    SIMT_UNROLL
    for (int r = 0; r < held_rows; ++r) x_of_row_[r] = chunk.x[r];
    sync_warp();
  }
  SIMT_INLINE void use_tile(Place const& place) {
    T sum[held_rows];
    SIMT_UNROLL
    for (int r = 0; r < held_rows; ++r) sum[r] = from_real<T>(0);
    if (is_idle(place)) {
    } else if ((place.row + 1) * rows_of_tile > first_column(place) && place.row * rows_of_tile < first_column(place) + C.columns) {
      use_elements<true>(place, sum);
    } else {
      use_elements<false>(place, sum);
    }
    Chunked<T> part;
    SIMT_UNROLL
    for (int r = 0; r < held_rows; ++r) part.x[r] = sum[r];
    parity_ = !parity_;
    store_chunk(row_sums_of_tile() + warp() * rows_of_tile + row(0), part.chunk);
    sync_block();
  }
  template <bool meets_diagonal>
  SIMT_INLINE void use_elements(Place const& place, T (&sum)[held_rows]) {
    SIMT_UNROLL
    for (int c = 0; c < C.columns; ++c) {
      T const factor = x_of_columns()[c];
      SIMT_UNROLL
      for (int r = 0; r < held_rows; ++r) {
        bool const diagonal = meets_diagonal && place.row * rows_of_tile + row(r) == first_column(place) + c;
        T const value = diagonal ? from_real<T>(real_part(held_[c][r])) : held_[c][r];
        sum[r] = multiply_add(value, factor, sum[r]);
        column_[c] = conjugate_multiply_add(value, diagonal ? from_real<T>(0) : x_of_row_[r], column_[c]);
      }
    }
  }

  /// Row sums of the warps, double-buffered: other warps may still read those of the previous tile.
  SIMT_INLINE T* row_sums_of_tile() const { return row_sums() + (parity_ ? C.warps * rows_of_tile : 0); }
  SIMT_INLINE void end_tile(Place const& place) {
    if (thread_index() >= rows_of_tile) return;
    T const* const sums = row_sums_of_tile();
    T total = sums[thread_index()];
    SIMT_UNROLL
    for (int w = 1; w < C.warps; ++w) total = total + sums[w * rows_of_tile + thread_index()];
    sums_[tiles_.row_sums(place.tile) + thread_index()] = total;
    add_to_x_a_x(x_[place.row * rows_of_tile + thread_index()], total);
  }
  SIMT_INLINE void add_to_x_a_x(T x, T sum) {
    x_a_x_ = multiply_add(real_part(x), real_part(sum), x_a_x_);
    if constexpr (is_complex<T>) x_a_x_ = multiply_add(x.im, sum.im, x_a_x_);
  }
  SIMT_INLINE void clear_columns() {
    SIMT_UNROLL
    for (int c = 0; c < C.columns; ++c) column_[c] = from_real<T>(0);
  }
  /// Stores the column sums over all lanes and resets them. `place` is the last of their tiles.
  SIMT_INLINE void end_columns(Place const& place) {
    constexpr int lanes_of_column = 32 / C.columns;
    add_over_lanes(column_);
    int const c = lane_index() / lanes_of_column;
    if (lane_index() % lanes_of_column == 0) {
      sums_[tiles_.column_sums(place.tile, place.panel) + warp() * C.columns + c] = column_[0];
      add_to_x_a_x(x_of_columns()[c], column_[0]);
    }
    clear_columns();
  }

  TridiagonalTiles tiles_;
  T const* a_;
  T const* x_;
  Index right_;
  T* sums_;
  int kept_;
  int first_panel_, first_held_panel_;  ///< of the tiles that this block reads and holds
  bool parity_ = false;
  Place at_{};
  R x_a_x_ = R(0);
  T held_[C.columns][held_rows];  ///< elements of the current tile
  T x_of_row_[held_rows];
  T column_[C.columns];  ///< column sums of this lane's rows
};

}  // namespace myriad::simt
