#pragma once
/// y = alpha A x + beta y with a triangle of A, each element of which is read once and used twice.

#include "symv/symv_runs_config.cuh"

namespace myriad {
namespace simt {

/// What a block does with tiles of a matrix that follow each other. Row sums of a tile are combined by its warps in shared memory; column
/// sums stay in the registers of the lanes as long as tiles follow each other down a panel.
template <typename T, SymvRuns C>
class SymvRun : SymvMatrix<T, C.symmetry, C.layout> {
  using Matrix = SymvMatrix<T, C.symmetry, C.layout>;
  using Matrix::a_, Matrix::x_, Matrix::down_, Matrix::right_, Matrix::increment_, Matrix::conjugates_x_, Matrix::n_, Matrix::lower_;
  using Matrix::held_rows, Matrix::hermitian, Matrix::is_stored, Matrix::x;
  static constexpr int rows_of_tile = C.tile_rows(sizeof(T)), columns = C.columns, group = symv_columns_of_group;
  static_assert(rows_of_tile <= C.threads() && C.tile_columns() % rows_of_tile == 0);
  static_assert(columns % group == 0 && 32 % columns == 0, "lanes share columns evenly");

 public:
  SIMT_INLINE SymvRun(SymvArguments<T> const& args, Index b, int n)
      : Matrix(args, b, n), tiles_(n, rows_of_tile, C.tile_columns(), args.lower), in_chunks_(Matrix::columns_in_chunks()) {}

  SIMT_INLINE SymvTriangle const& tiles() const { return tiles_; }

  /// The tiles of `piece`, and of others as long as next_piece(piece, its tiles) finds one, with the block apart; it may let it meet, and
  /// there was a barrier since piece_begins(), which is called by one thread whose warp has nothing to add up. to_rows(tile, its row of
  /// tiles, i, sum) is called for the sum of each row i of a tile, in one thread, for an i always in the same; to_columns(piece, panel, j,
  /// sum) for the sums of the columns of a panel, at the end of each and of the piece. Begins and ends with the block apart.
  template <typename Begins, typename NextPiece, typename Rows, typename Columns>
  SIMT_INLINE void add(int piece, SymvShares::Range range, Begins piece_begins, NextPiece next_piece, Rows to_rows, Columns to_columns) {
    SymvPlace place(tiles_, range.first);
    int slot = 0, turn = 0;
    load_x_of_panel(slot, place.panel);
    load(source_of(place), place);
    SIMT_UNROLL
    for (int c = 0; c < columns; ++c) column_[c] = from_real<T>(0);
    bool const asks = thread_index() == C.threads() - warp_size;
    if (asks) piece_begins();
    bool begins = true, goes_on = true;
    SIMT_LOOP
    while (goes_on) {
      // Where to go on is found out while this tile is on its way.
      bool const ends_piece = place.tile + 1 == range.last;
      SymvPlace next = place;
      if (!ends_piece) next.go_on(tiles_);
      Source source = source_of(next);
      if (begins) {
        wait_copies();
        sync_warp();
      }
      // Of one tile, while others still read those of the tile before.
      T* const parts = row_sums() + turn * (C.warps * rows_of_tile);
      turn = 1 - turn;
      if (has_whole_rows(place) && has_all_columns(place.panel))
        use<true>(place, x_of_panel(slot), parts);
      else
        use<false>(place, x_of_panel(slot), parts);
      int const this_piece = piece;
      if (ends_piece) {
        goes_on = next_piece(piece, range);
        if (goes_on) {
          next = SymvPlace(tiles_, range.first);
          source = source_of(next);
        }
      }
      begins = ends_piece || next.panel != place.panel;
      if (begins) slot = 1 - slot;
      if (goes_on) {
        if (begins) load_x_of_panel(slot, next.panel);
        load(source, next);
      }
      sync_block();
      // Whatever this waits for, the next tile is under way meanwhile.
      if (asks && ends_piece && goes_on) piece_begins();
      if (thread_index() < rows_of_tile) to_rows(place.tile, place.row, thread_index(), sum_of_warps(parts + thread_index()));
      if (begins) {
        T const total = column_sum();
        if (lane_index() % lanes_of_column == 0)
          to_columns(this_piece, place.panel, warp() * columns + lane_index() / lanes_of_column, total);
      }
      place = next;
    }
  }

 private:
  static constexpr int lanes_of_column = 32 / columns;

  /// The rows of a tile that are this lane's: 16 bytes of neighbours.
  SIMT_INLINE static int row(int r) { return lane_index() * held_rows + r; }
  SIMT_INLINE static int warp() { return thread_index() / 32; }
  SIMT_INLINE static T* memory() { return reinterpret_cast<T*>(shared_memory() + C.told_bytes); }
  SIMT_INLINE static T* x_of_panel(int slot) { return memory() + slot * C.tile_columns() + warp() * columns; }
  SIMT_INLINE static T* row_sums() { return memory() + 2 * C.tile_columns(); }
  SIMT_INLINE static int first_column(int panel) { return panel * C.tile_columns() + warp() * columns; }
  /// All rows are there, and none meets the diagonal.
  SIMT_INLINE bool has_whole_rows(SymvPlace const& at) const {
    return lower_ ? at.row >= (at.panel + 1) * tiles_.deep() && (at.row + 1) * rows_of_tile <= n_ : at.row < at.panel * tiles_.deep();
  }
  SIMT_INLINE bool has_all_columns(int panel) const { return (panel + 1) * C.tile_columns() <= n_; }

  /// Asks for the part of x that belongs to the warp's columns.
  SIMT_INLINE void load_x_of_panel(int slot, int panel) const {
    int const j = first_column(panel) + lane_index();
    if (lane_index() >= columns) return;
    T* const to = x_of_panel(slot) + lane_index();
    if (j < n_)
      copy_async(to, x_ + j * increment_);
    else
      *to = from_real<T>(0);
  }

  /// Where a lane's elements of a tile begin, and whether all rows come 16 bytes at a time.
  struct Source {
    T const* column;
    bool in_chunks;
  };
  SIMT_INLINE Source source_of(SymvPlace const& at) const {
    bool const in_chunks = in_chunks_ && has_whole_rows(at);
    int const j0 = first_column(at.panel);
    return {a_ + ((at.row * rows_of_tile + row(0)) * down_ + (in_chunks ? smaller(j0, n_ - 1) : j0) * right_), in_chunks};
  }

  /// In the place of columns beyond the last one this is read once more, and in that of elements that are not stored the first one of the
  /// matrix, and not used: with loads that depend on a predicate the compiler let one wait for the other.
  SIMT_INLINE void load(Source const& source, SymvPlace const& at) {
    T const* column = source.column;
    int const i0 = at.row * rows_of_tile + row(0), j0 = first_column(at.panel);
    if (source.in_chunks) {
      SIMT_UNROLL
      for (int c = 0; c < columns; ++c) {
        Matrix::load_neighbours(held_[c], column);
        if (j0 + c + 1 < n_) column += right_;
      }
    } else {
      SIMT_UNROLL
      for (int c = 0; c < columns; ++c) {
        SIMT_UNROLL
        for (int r = 0; r < held_rows; ++r) held_[c][r] = load_global(is_stored(i0 + r, j0 + c) ? column + r * down_ : a_);
        column += right_;
      }
    }
    SIMT_UNROLL
    for (int r = 0; r < held_rows; ++r) x_of_row_[r] = x(smaller(i0 + r, n_ - 1));
  }

  template <bool all>
  SIMT_INLINE void use(SymvPlace const& at, T const* factors, T* parts) {
    Chunked<T> total;
    SIMT_UNROLL
    for (int g = 0; g < columns / group; ++g) {
      T sum[held_rows];
      SIMT_UNROLL
      for (int r = 0; r < held_rows; ++r) sum[r] = from_real<T>(0);
      SIMT_UNROLL
      for (int c = g * group; c < (g + 1) * group; ++c) {
        T const factor = conjugate_if(conjugates_x_, factors[c]);
        SIMT_UNROLL
        for (int r = 0; r < held_rows; ++r) {
          int const i = at.row * rows_of_tile + row(r), j = first_column(at.panel) + c;
          T const element = !all && hermitian && i == j ? from_real<T>(real_part(held_[c][r])) : held_[c][r];
          T const row_sum = multiply_add(element, factor, sum[r]);
          T const column_sum = multiply_add(conjugate_if(hermitian, element), x_of_row_[r], column_[c]);
          // What is not stored counts nothing, be the other factor infinite.
          if (all || is_stored(i, j)) sum[r] = row_sum;
          if (all || (is_stored(i, j) && i != j)) column_[c] = column_sum;
        }
      }
      SIMT_UNROLL
      for (int r = 0; r < held_rows; ++r) total.x[r] = g == 0 ? sum[r] : total.x[r] + sum[r];
    }
    store_chunk(parts + warp() * rows_of_tile + row(0), total.chunk);
  }

  /// Neighbours first, as symv_tree.
  SIMT_INLINE static T sum_of_warps(T const* parts) {
    T sum[C.warps];
    SIMT_UNROLL
    for (int w = 0; w < C.warps; ++w) sum[w] = parts[w * rows_of_tile];
    symv_tree(sum);
    return sum[0];
  }

  /// The sums of all lanes, in ever fewer columns of ever fewer lanes. Begins anew.
  SIMT_INLINE T column_sum() {
    SIMT_UNROLL
    for (int step = 0; step < 5; ++step) {
      int const distance = 16 >> step, held = columns >> (step + 1);
      bool const upper = (lane_index() & distance) != 0;
      SIMT_UNROLL
      for (int c = 0; c < columns / 2; ++c) {
        if (c >= held) continue;
        exchange_if(upper, column_[c], column_[c + held]);
        column_[c] = column_[c] + shuffle_xor(column_[c + held], distance);
      }
      if (held == 0) column_[0] = column_[0] + shuffle_xor(column_[0], distance);
    }
    T const total = column_[0];
    SIMT_UNROLL
    for (int c = 0; c < columns; ++c) column_[c] = from_real<T>(0);
    return total;
  }

  SymvTriangle tiles_;
  bool in_chunks_;
  T held_[columns][held_rows], x_of_row_[held_rows];  ///< of a tile, used or under way
  T column_[columns];                                 ///< column sums of this lane's rows
};

template <typename T, SymvRuns C>
SIMT_INLINE SymvShares symv_shares(SymvArguments<T> const& args, int n) {
  if (args.y.row_sizes) return {n, C.tile_rows(sizeof(T)), C.tile_columns(), C.usual_blocks(), args.lower};
  return {n, C.tile_rows(sizeof(T)), C.tile_columns(), C.usual_blocks(), args.lower, args.pieces};
}

/// The sum of a row is that of its row sums in every panel that covers it and of the column sums of the panel that has its column, in this
/// order. Of these terms every warp adds some, `in_order` after each other; here for this warp.
template <SymvRuns C, typename T>
SIMT_INLINE T symv_terms(SymvShares const& shares, T const* sums, int i) {
  constexpr int in_order = 4;
  int const panel = i / shares.columns, tile_row = i / shares.rows;
  int const first = shares.lower ? 0 : panel, row_terms = shares.lower ? panel + 1 : shares.panels - panel;
  int const first_piece = shares.piece_of(shares.before(panel));
  int const terms = row_terms + shares.piece_of(shares.before(panel) + shares.tiles_of(panel) - 1) - first_piece + 1;
  T sum = from_real<T>(0);
  SIMT_LOOP
  for (int t0 = thread_index() / 32 * in_order; t0 < terms; t0 += C.warps * in_order) {
    T term[in_order];
    SIMT_UNROLL
    for (int k = 0; k < in_order; ++k) {
      int const t = smaller(t0 + k, terms - 1);
      int const p = first + t;
      T const* const from = sums + (t < row_terms ? shares.row_sums(shares.before(p) + tile_row - shares.first_row(p)) + i % shares.rows
                                                  : shares.column_sums(first_piece + t - row_terms, panel) + i % shares.columns);
      term[k] = *from;
    }
    SIMT_UNROLL
    for (int k = 0; k < in_order; ++k) sum = sum + (t0 + k < terms ? term[k] : from_real<T>(0));
  }
  return sum;
}

}  // namespace simt

/// Launch: any number of blocks that run together, of C.threads() threads with C.shared_bytes(sizeof(T)) of dynamic shared memory. Passes
/// over matrices of args.most_rows_in_strips rows and fewer.
template <typename T, SymvRuns C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads(), C.blocks_per_sm) symv_runs(SymvArguments<T> const args) {
  using namespace simt;
  // Numbers of pieces, of which workspace admits few, rather than indices: divisions are long.
  int const blocks = static_cast<int>(block_count()), here = static_cast<int>(block_index()), count = static_cast<int>(args.y.count);
  bool const reads = !(args.alpha == from_real<T>(0));
  if (reads) {
    // Pieces of all matrices are numbered; `at` is the block's.
    int const end = count * args.pieces;
    auto const ask = [&] { store_word(shared_memory(), static_cast<unsigned>(blocks) + take_ticket(args.counts + symv_tickets)); };
    auto const told = [&] {
      sync_block();
      return static_cast<int>(load_word(shared_memory()));
    };
    SIMT_LOOP
    for (int at = here; at < end;) {
      int const b = count == 1 ? 0 : at / args.pieces, n = args.y.rows_of(b), piece = at - b * args.pieces;
      SymvShares const shares = symv_shares<T, C>(args, n);
      if (n <= args.most_rows_in_strips || piece >= shares.pieces) {
        if (thread_index() == 0) ask();
        at = told();
        sync_block();
        continue;
      }
      T* const sums = args.sums + b * args.apart;
      SymvRun<T, C>(args, b, n)
          .add(
              piece, shares.tiles_of_piece(piece), ask,
              [&](int& next, SymvShares::Range& range) {
                at = told();
                next = at - b * args.pieces;
                if (next >= smaller(shares.pieces, end - b * args.pieces)) return false;
                range = shares.tiles_of_piece(next);
                return true;
              },
              [&](int tile, int, int i, T sum) { sums[shares.row_sums(tile) + i] = sum; },
              [&](int of, int panel, int j, T sum) { sums[shares.column_sums(of, panel) + j] = sum; });
      sync_block();
    }
    sync_grid_once(args.counts);
  }
  T* const of_warps = reinterpret_cast<T*>(shared_memory());
  int const lane = lane_index(), warp = thread_index() / 32, groups = ceil_div(static_cast<int>(args.y.rows), 32);
  SIMT_LOOP
  for (Index at = here; at < args.y.count * groups; at += blocks) {
    Index const b = count == 1 ? 0 : at / groups;
    int const n = args.y.rows_of(b), i = static_cast<int>(at - b * groups) * 32 + lane;
    bool const mine = i < n && n > args.most_rows_in_strips;
    of_warps[thread_index()] = mine && reads ? symv_terms<C>(symv_shares<T, C>(args, n), args.sums + b * args.apart, i) : from_real<T>(0);
    sync_block();
    if (warp == 0 && mine) {
      T sum = of_warps[lane];
      SIMT_UNROLL
      for (int w = 1; w < C.warps; ++w) sum = sum + of_warps[w * 32 + lane];
      symv_store(args, b, i, sum);
    }
    sync_block();
  }
}

/// For many matrices: a block has all of one. The sums are those of symv_strips, in the same order.
///
/// Launch: any number of blocks of C.threads() threads with C.shared_bytes_of_matrix(sizeof(T), n) of dynamic shared memory, n the most
/// rows that a matrix has which is multiplied. Passes over those of more than args.most_rows_in_strips, and of args.most_rows_in_block and
/// fewer.
template <typename T, SymvRuns C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads(), C.blocks_per_sm) symv_matrices(SymvArguments<T> const args) {
  using namespace simt;
  T* const of_rows = reinterpret_cast<T*>(shared_memory() + C.shared_bytes(sizeof(T)));
  SIMT_LOOP
  for (Index b = block_index(); b < args.y.count; b += block_count()) {
    int const n = args.y.rows_of(b);
    if (n > args.most_rows_in_strips || n <= args.most_rows_in_block) continue;
    if (args.alpha == from_real<T>(0)) {  // A and x are not read
      SIMT_LOOP
      for (int i = thread_index(); i < n; i += C.threads()) symv_store(args, b, i, from_real<T>(0));
      continue;
    }
    SymvRun<T, C> run(args, b, n);
    SymvTriangle const tiles = run.tiles();
    T* const of_columns = of_rows + tiles.tile_rows * tiles.rows;
    SIMT_LOOP
    for (int i = thread_index(); i < tiles.tile_rows * tiles.rows; i += C.threads()) of_rows[i] = from_real<T>(0);
    sync_block();
    run.add(
        0, {0, tiles.count}, [] {}, [](int&, SymvShares::Range&) { return false; },
        [&](int, int tile_row, int i, T sum) { of_rows[tile_row * tiles.rows + i] = of_rows[tile_row * tiles.rows + i] + sum; },
        [&](int, int panel, int j, T sum) { of_columns[panel * tiles.columns + j] = sum; });
    sync_block();
    SIMT_LOOP
    for (int i = thread_index(); i < n; i += C.threads()) symv_store(args, b, i, of_rows[i] + of_columns[i]);
    sync_block();
  }
}

}  // namespace myriad
