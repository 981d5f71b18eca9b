#pragma once
/// y = alpha A x + beta y with a triangle of A, each element of which is read once and used twice.

#include "symv/symv_panels_config.cuh"
#include "symv/symv_row.cuh"

namespace myriad {
namespace simt {

/// What a block does with one matrix. Row sums of a tile are combined by its warps in shared memory; column sums stay in the registers of
/// the lanes as long as tiles of one piece follow each other down a panel.
template <typename T, SymvPanels C>
class SymvBlock {
  static constexpr int held_rows = 16 / static_cast<int>(sizeof(T));
  static constexpr int rows_of_tile = C.tile_rows(sizeof(T));
  static constexpr bool hermitian = C.symmetry == Symmetry::hermitian;
  static_assert(rows_of_tile <= C.threads() && C.tile_columns() <= C.threads() && C.tile_columns() % rows_of_tile == 0);
  static_assert(C.columns >= 2 && 32 % C.columns == 0, "halves, and lanes share columns evenly");

 public:
  SIMT_INLINE SymvBlock(SymvPanelsArguments<T> const& args, Index b, int n)
      : a_(args.a.at(b, 0, 0)),
        x_(args.x.at(b, 0, 0)),
        down_(C.layout == SymvColumns::contiguous ? 1 : args.a.row_stride_of(b)),
        right_(args.a.col_stride_of(b)),
        increment_(args.x.row_stride_of(b)),
        conjugates_x_(args.x.conjugated != args.a.conjugated),
        n_(n),
        tiles_(n, rows_of_tile, C.tile_columns(), C.most_pieces, args.lower),
        sums_(C.share == SymvShare::tiles ? args.sums + b * args.apart : nullptr) {}

  SIMT_INLINE SymvTiles const& tiles() const { return tiles_; }
  /// Of x; its conjugate where A is conjugated: A x is then the conjugate of what the stored elements give (see symv_store).
  SIMT_INLINE T x(int i) const { return conjugate_if(conjugates_x_, load_global(x_ + i * increment_)); }

  /// Row i of A x, summed in the order of columns.
  SIMT_INLINE T row_in_order(int i) const {
    return symv_row<C.symmetry, T>(
        n_, i, tiles_.lower, [&](int r, int c) { return load_global(a_ + r * down_ + c * right_); }, [&](int j) { return x(j); });
  }

  /// Calls store(i, sum) for every row of A x.
  template <typename Store>
  SIMT_INLINE void add_matrix(Store store) {
    for (int i = thread_index(); i < n_; i += C.threads()) rows_of_matrix()[i] = columns_of_matrix()[i] = from_real<T>(0);
    add_tiles(0, tiles_.count);
    sync_block();
    for (int i = thread_index(); i < n_; i += C.threads()) store(i, rows_of_matrix()[i] + columns_of_matrix()[i]);
  }

  /// The sums of tiles [first, last), which begin and end with a piece.
  SIMT_INLINE void add_tiles(int first, int last) {
    bool const in_chunks = C.layout == SymvColumns::contiguous && reinterpret_cast<unsigned long long>(a_) % 16 == 0 &&
                           right_ * static_cast<Index>(sizeof(T)) % 16 == 0;
    SIMT_LOOP
    for (int tile = first; tile < last;) {
      panel_ = tiles_.panel_of(tile);
      int const skipped = tile - tiles_.before(panel_);
      int const end = skipped + smaller(tiles_.tiles_of(panel_) - skipped, last - tile);
      begin_panel();
      // Tiles that are whole and do not meet the diagonal.
      bool const whole_columns = C.layout == SymvColumns::contiguous && (panel_ + 1) * tiles_.columns <= n_;
      int const whole_first = tiles_.lower ? tiles_.deep() : 0;
      int const whole_end = tiles_.lower ? n_ / rows_of_tile - tiles_.first_row(panel_) : panel_ * tiles_.deep();
      SIMT_LOOP
      for (int at = skipped, count = 1; at < end; at += count, tile += count) {
        int const tile_row = tiles_.first_row(panel_) + at;
        bool const whole = whole_columns && at >= whole_first && at < whole_end;
        count = whole ? smaller(end, whole_end) - at : 1;
        if (!whole)
          add_tile(tile, tile_row);
        else if (in_chunks)
          add_whole_tiles<true>(tile, tile_row, count);
        else
          add_whole_tiles<false>(tile, tile_row, count);
      }
      if (tile % tiles_.tiles_of_piece != 0) end_columns(tile - 1);
    }
  }

 private:
  /// The rows of a tile that are this lane's: 16 bytes of neighbours.
  SIMT_INLINE static int row(int r) { return lane_index() * held_rows + r; }
  SIMT_INLINE int warp() const { return thread_index() / 32; }
  // Where shared memory has what.
  static constexpr SymvPanelsMemory memory{sizeof(T), C, 0};
  SIMT_INLINE static T* x_of_panel() { return reinterpret_cast<T*>(shared_memory()); }
  SIMT_INLINE static T* row_sums() { return reinterpret_cast<T*>(shared_memory() + memory.row_sums); }
  SIMT_INLINE static T* rows_of_matrix() { return reinterpret_cast<T*>(shared_memory() + memory.rows_of_matrix); }
  SIMT_INLINE T* columns_of_matrix() const { return rows_of_matrix() + n_; }
  SIMT_INLINE int first_column() const { return panel_ * C.tile_columns() + warp() * C.columns; }

  SIMT_INLINE void begin_panel() {
    int const j = panel_ * C.tile_columns() + thread_index();
    if (thread_index() < C.tile_columns()) x_of_panel()[thread_index()] = j < n_ ? x(j) : from_real<T>(0);
    sync_block();
    SIMT_UNROLL
    for (int c = 0; c < C.columns; ++c) column_[c] = from_real<T>(0);
  }

  /// A lane's rows of a column.
  template <bool in_chunks>
  SIMT_INLINE static void load(T (&held)[held_rows], T const* from) {
    if constexpr (in_chunks) {
      Chunked<T> const chunk(load_chunk_once(from));
      SIMT_UNROLL
      for (int r = 0; r < held_rows; ++r) held[r] = chunk.x[r];
    } else {
      SIMT_UNROLL
      for (int r = 0; r < held_rows; ++r) held[r] = load_global(from + r);
    }
  }

  /// `count` whole tiles below each other that do not meet the diagonal. All of the next tile is asked for as soon as this one is used, and
  /// the block has met: before, elements of both would need registers.
  template <bool in_chunks>
  SIMT_INLINE void add_whole_tiles(int tile, int tile_row, int count) {
    int i = tile_row * rows_of_tile;
    T const* from = a_ + (i + row(0)) + first_column() * right_;
    T held[C.columns][held_rows];
    T x_of_row[held_rows];
    auto const load_tile = [&] {
      SIMT_UNROLL
      for (int c = 0; c < C.columns; ++c) load<in_chunks>(held[c], from + c * right_);
      SIMT_UNROLL
      for (int r = 0; r < held_rows; ++r) x_of_row[r] = x(i + row(r));
      from += rows_of_tile;
      i += rows_of_tile;
    };
    load_tile();
    SIMT_LOOP
    for (int const end = tile_row + count; tile_row < end; ++tile, ++tile_row) {
      T sum[held_rows];
      SIMT_UNROLL
      for (int r = 0; r < held_rows; ++r) sum[r] = from_real<T>(0);
      SIMT_UNROLL
      for (int c = 0; c < C.columns; ++c) {
        T const x_of_column = x_of_panel()[warp() * C.columns + c];
        SIMT_UNROLL
        for (int r = 0; r < held_rows; ++r) use(held[c][r], x_of_column, x_of_row[r], sum[r], column_[c]);
      }
      pass_row_sums(tile, sum);
      if (tile_row + 1 < end) load_tile();
      end_tile(tile, tile_row);
    }
  }

  /// Any tile, half of the columns at a time: with all of them more is spilled.
  SIMT_INLINE void add_tile(int tile, int tile_row) {
    constexpr int at_once = C.columns / 2;
    int const i0 = tile_row * rows_of_tile;
    T x_of_row[held_rows], sum[held_rows];
    SIMT_UNROLL
    for (int r = 0; r < held_rows; ++r) {
      x_of_row[r] = i0 + row(r) < n_ ? x(i0 + row(r)) : from_real<T>(0);
      sum[r] = from_real<T>(0);
    }
    SIMT_UNROLL
    for (int from = 0; from < C.columns; from += at_once) {
      T held[at_once][held_rows];
      SIMT_UNROLL
      for (int c = 0; c < at_once; ++c) {
        int const j = first_column() + from + c;
        SIMT_UNROLL
        for (int r = 0; r < held_rows; ++r)
          held[c][r] = load_global_if(is_stored(i0 + row(r), j), a_ + ((i0 + row(r)) * down_ + j * right_));
      }
      SIMT_UNROLL
      for (int c = 0; c < at_once; ++c) {
        int const j = first_column() + from + c;
        T const x_of_column = x_of_panel()[warp() * C.columns + from + c];
        SIMT_UNROLL
        for (int r = 0; r < held_rows; ++r) {
          // What is not stored counts nothing, be the other factor infinite.
          int const i = i0 + row(r);
          T const element = hermitian && i == j ? from_real<T>(real_part(held[c][r])) : held[c][r];
          T row_sum = sum[r], column_sum = column_[from + c];
          use(element, x_of_column, x_of_row[r], row_sum, column_sum);
          if (is_stored(i, j)) sum[r] = row_sum;
          if (is_stored(i, j) && i != j) column_[from + c] = column_sum;
        }
      }
    }
    pass_row_sums(tile, sum);
    end_tile(tile, tile_row);
  }
  SIMT_INLINE bool is_stored(int i, int j) const { return i < n_ && j < n_ && (tiles_.lower ? i >= j : i <= j); }

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
  SIMT_INLINE void end_tile(int tile, int tile_row) {
    T const* const sums = row_sums_of(tile);
    if (thread_index() < rows_of_tile) {
      T total = sums[thread_index()];
      SIMT_UNROLL
      for (int w = 1; w < C.warps; ++w) total = total + sums[w * rows_of_tile + thread_index()];
      int const i = tile_row * rows_of_tile + thread_index();
      if constexpr (C.share == SymvShare::tiles)
        sums_[tiles_.row_sums(tile) + thread_index()] = total;
      else if (i < n_)
        rows_of_matrix()[i] = rows_of_matrix()[i] + total;  // always by the same thread
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
    if (lane_index() % lanes_of_column == 0) {
      if constexpr (C.share == SymvShare::tiles)
        sums_[tiles_.column_sums(tile / tiles_.tiles_of_piece, panel_) + j % C.tile_columns()] = column_[0];
      else if (j < n_)
        columns_of_matrix()[j] = columns_of_matrix()[j] + column_[0];  // always by the same lane
    }
    SIMT_UNROLL
    for (int c = 0; c < C.columns; ++c) column_[c] = from_real<T>(0);
  }

  T const* a_;
  T const* x_;
  Index down_, right_, increment_;  ///< from an element of A to the one below and to the one on its right, from one of x to the next
  bool conjugates_x_;
  int n_;
  SymvTiles tiles_;
  T* sums_;  ///< of the matrix, in the workspace
  int panel_ = 0;
  T column_[C.columns];  ///< column sums of this lane's rows
};

}  // namespace simt

/// y(i) from the sum of row i.
template <typename T>
SIMT_INLINE void symv_store(SymvPanelsArguments<T> const& args, simt::Index b, int i, T sum) {
  T value = args.alpha * simt::conjugate_if(args.a.conjugated, sum);
  T* const y = args.y.at(b, i, 0);
  if (!(args.beta == simt::from_real<T>(0))) value = simt::multiply_add(args.beta, *y, value);
  simt::store_global(y, value);
}

/// Launch: any number of blocks of C.threads() threads with SymvPanelsMemory(sizeof(T), C, args.a.rows).bytes of dynamic shared memory;
/// where a block has some tiles, symv_sums follows.
template <typename T, SymvPanels C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads(), C.blocks_per_sm) symv_panels(SymvPanelsArguments<T> const args) {
  using namespace simt;
  int const blocks = C.share == SymvShare::tiles ? args.blocks : 1;
  SIMT_LOOP
  for (Index at = block_index(); at < args.y.count * blocks; at += block_count()) {
    Index const b = at / blocks;
    int const share = static_cast<int>(at % blocks);
    int const n = args.y.rows_of(b);
    SymvBlock<T, C> block(args, b, n);
    if (n <= symv_most_rows_in_order) {
      if (share == 0 && thread_index() < n) symv_store(args, b, thread_index(), block.row_in_order(thread_index()));
    } else if constexpr (C.share == SymvShare::tiles) {
      SymvTiles const& tiles = block.tiles();
      auto const begin_of = [&](int s) {
        return smaller(static_cast<int>(static_cast<Index>(tiles.pieces) * s / blocks) * tiles.tiles_of_piece, tiles.count);
      };
      block.add_tiles(begin_of(share), begin_of(share + 1));
    } else {
      block.add_matrix([&](int i, T sum) { symv_store(args, b, i, sum); });
    }
    if (at + block_count() < args.y.count * blocks) sync_block();
  }
}

/// Adds up what tiles have left and writes y.
///
/// The sum of a row is that of its row sums in every panel that covers it and of the column sums of the panel that has its column. Of these
/// terms C.in_order after each other are added in their order by one warp, and the sums of the warps in theirs.
/// Launch: any number of blocks of C.threads() threads with C.shared_bytes(sizeof(T)) of dynamic shared memory.
template <typename T, SymvSums C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads(), 1) symv_sums(SymvPanelsArguments<T> const args) {
  using namespace simt;
  T* const of_rows = reinterpret_cast<T*>(shared_memory());
  T* const of_columns = of_rows + C.threads();
  int const lane = lane_index(), warp = thread_index() / 32;
  Index const groups = (args.y.rows + 31) / 32;
  bool const reads = !(args.alpha == from_real<T>(0));
  SIMT_LOOP
  for (Index at = block_index(); at < args.y.count * groups; at += block_count()) {
    Index const b = at / groups;
    int const n = args.y.rows_of(b), i = static_cast<int>(at % groups) * 32 + lane;
    bool const mine = i < n && !(reads && n <= symv_most_rows_in_order);
    of_rows[thread_index()] = of_columns[thread_index()] = from_real<T>(0);
    if (mine && reads) {
      SymvTiles const tiles(n, C.rows, C.columns, C.most_pieces, args.lower);
      T const* const sums = args.sums + b * args.apart;
      auto const add = [&](int terms, auto place) {
        T sum = from_real<T>(0);
        SIMT_LOOP
        for (int first = warp * C.in_order; first < terms; first += C.warps * C.in_order) {
          SIMT_UNROLL
          for (int t = 0; t < C.in_order; ++t) sum = sum + (first + t < terms ? sums[place(first + t)] : from_real<T>(0));
        }
        return sum;
      };
      int const panel = i / C.columns, tile_row = i / C.rows;
      int const first_panel = tiles.lower ? 0 : panel;
      of_rows[thread_index()] = add(tiles.lower ? panel + 1 : tiles.panels - panel, [&](int t) {
        int const p = first_panel + t;
        return tiles.row_sums(tiles.before(p) + tile_row - tiles.first_row(p)) + i % C.rows;
      });
      int const first_piece = tiles.before(panel) / tiles.tiles_of_piece;
      int const last_piece = (tiles.before(panel) + tiles.tiles_of(panel) - 1) / tiles.tiles_of_piece;
      of_columns[thread_index()] =
          add(last_piece - first_piece + 1, [&](int t) { return tiles.column_sums(first_piece + t, panel) + i % C.columns; });
    }
    sync_block();
    if (warp == 0 && mine) {
      T row = of_rows[lane], column = of_columns[lane];
      SIMT_UNROLL
      for (int w = 1; w < C.warps; ++w) {
        row = row + of_rows[w * 32 + lane];
        column = column + of_columns[w * 32 + lane];
      }
      symv_store(args, b, i, row + column);
    }
    if (at + block_count() < args.y.count * groups) sync_block();
  }
}

}  // namespace myriad
