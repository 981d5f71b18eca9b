#pragma once
/// y = alpha A x + beta y with a triangle of A, whose elements are each read once and used twice.

#include "symv/symv_runs_config.cuh"

namespace myriad {
namespace simt {

/// 16 bytes of a column of a tile, in use or in flight.
template <typename T, int rows>
struct SymvHeld {
  T x[rows];

  SIMT_INLINE T at(int r) const { return x[r]; }
  SIMT_INLINE void set(int r, T value) { x[r] = value; }
  SIMT_INLINE void load(T const* from) {
    Chunked<T> const chunk(load_chunk_once(from));
    SIMT_UNROLL
    for (int r = 0; r < rows; ++r) x[r] = chunk.x[r];
  }
};
/// One number, kept as the words that were loaded: otherwise the compiler copied its two halves, and waited for them.
template <typename T>
struct SymvHeld<T, 1> {
  Chunk chunk;

  SIMT_INLINE T at(int) const { return Chunked<T>(chunk).x[0]; }
  SIMT_INLINE void set(int, T value) {
    Chunked<T> here;
    here.x[0] = value;
    chunk = here.chunk;
  }
  SIMT_INLINE void load(T const* from) { chunk = load_chunk_once(from); }
};

/// A block's work on consecutive tiles of a matrix. Row sums of a tile are combined by its warps in shared memory; column sums stay in the
/// lanes' registers as long as tiles follow each other down a panel.
template <typename T, SymvRuns C>
class SymvRun : SymvMatrix<T, C.symmetry, C.layout> {
  using Matrix = SymvMatrix<T, C.symmetry, C.layout>;
  using Matrix::a_, Matrix::x_, Matrix::down_, Matrix::right_, Matrix::increment_, Matrix::conjugates_x_, Matrix::n_, Matrix::lower_;
  using Matrix::held_rows, Matrix::hermitian, Matrix::is_stored, Matrix::stored;
  using Range = typename Matrix::Range;
  static constexpr int rows_of_tile = C.tile_rows(sizeof(T)), columns = C.columns, group = symv_columns_of_group;
  static_assert(rows_of_tile <= C.threads() && C.tile_columns() % rows_of_tile == 0);
  static_assert(columns % group == 0 && 32 % columns == 0, "lanes share columns evenly");

 public:
  SIMT_INLINE SymvRun(SymvArguments<T> const& args, Index b, int n)
      : Matrix(args, b, n), tiles_(n, rows_of_tile, C.tile_columns(), args.lower), in_chunks_(Matrix::columns_in_chunks()) {}

  SIMT_INLINE SymvTriangle const& tiles() const { return tiles_; }

  /// Multiplies the tiles of `range`. end_of_piece() is called where a piece begins, and returns the end of its tiles. to_rows(tile, its
  /// row of tiles, i, sum) is called for the sum of each row i of a tile, always by the same thread for an i. to_columns(panel, j, sum) is
  /// called for the column sums of a panel, at the end of each panel and piece. Begins and ends without a barrier.
  template <typename End, typename Rows, typename Columns>
  SIMT_INLINE void add(SymvShares::Range range, End end_of_piece, Rows to_rows, Columns to_columns) {
    SymvPlace place(tiles_, range.first);
    int slot = 0, end = end_of_piece();
    SIMT_UNROLL
    for (int c = 0; c < columns; ++c) column_[c] = from_real<T>(0);
    // The first round only loads a tile.
    bool is_there = false, begins = true;
    SIMT_LOOP
    while (true) {
      // Row sums alternate between two buffers: other warps still read those of the tile before.
      T* const parts = row_sums() + place.tile % 2 * (C.warps * rows_of_tile);
      if (is_there) {
        wait_copies();
        if (begins) sync_warp();
        if (is_whole(place))
          use<true>(place, x_of_panel(slot), parts);
        else if (is_empty(place))
          use_nothing(parts);
        else
          use<false>(place, x_of_panel(slot), parts);
        begins = place.ends_panel(tiles_);
        place.go_on(tiles_);
      }
      bool const goes_on = place.tile < range.last;
      // Clears used elements that no load replaces: this costs no instruction, and saves registers.
      SIMT_UNROLL
      for (int c = 0; c < columns; ++c) {
        SIMT_UNROLL
        for (int r = 0; r < held_rows; ++r)
          if (!loads_always) held_[c].set(r, from_real<T>(0));
      }
      if (goes_on && begins) {
        slot = 1 - slot;
        load_x_of_panel(slot, place.panel);
      }
      if (goes_on || loads_always) load(place, goes_on);
      if (is_there) {
        sync_block();
        // The next tile is in flight during these waits.
        int const panel = begins ? place.panel - 1 : place.panel;
        int const tile_row = (begins ? tiles_.end_row(panel) : place.row) - 1;
        if (thread_index() < rows_of_tile) to_rows(place.tile - 1, tile_row, thread_index(), sum_of_warps(parts + thread_index()));
        if (begins || place.tile == end) {
          T const total = column_sum();
          if (lane_index() % lanes_of_column == 0) to_columns(panel, warp() * columns + lane_index() / lanes_of_column, total);
        }
        if (!goes_on) break;
        if (place.tile == end) end = end_of_piece();
      }
      is_there = true;
    }
  }

 private:
  static constexpr int lanes_of_column = 32 / columns;
  /// Whether each round loads: with registers to spare the compiler copies what only one branch loads.
  static constexpr bool loads_always = held_rows == 1;

  /// Row r of this lane in a tile: 16 bytes of neighbours.
  SIMT_INLINE static int row(int r) { return lane_index() * held_rows + r; }
  SIMT_INLINE static int warp() { return thread_index() / 32; }
  SIMT_INLINE static T* memory() { return reinterpret_cast<T*>(shared_memory()); }
  SIMT_INLINE static T* x_of_panel(int slot) { return memory() + slot * C.tile_columns() + warp() * columns; }
  SIMT_INLINE static T* row_sums() { return memory() + 2 * C.tile_columns(); }
  /// 16 bytes for each of the warp's columns, and the same again.
  SIMT_INLINE static T* fringe() { return row_sums() + 2 * C.warps * rows_of_tile + warp() * (2 * columns * held_rows); }
  /// 16 bytes of x for the lane's rows.
  SIMT_INLINE static T* x_of_rows() {
    return row_sums() + 2 * C.warps * rows_of_tile + (held_rows > 1 ? 2 * C.tile_columns() * held_rows : 0) + thread_index() * held_rows;
  }
  SIMT_INLINE static int first_column(int panel) { return panel * C.tile_columns() + warp() * columns; }
  /// Whether all of a tile is stored, and none of it is on the diagonal.
  SIMT_INLINE bool is_whole(SymvPlace const& at) const {
    bool const beside =
        lower_ ? at.row >= (at.panel + 1) * tiles_.deep() && (at.row + 1) * rows_of_tile <= n_ : at.row < at.panel * tiles_.deep();
    return beside && (at.panel + 1) * C.tile_columns() <= n_;
  }

  /// Whether nothing of a tile is stored in the warp's columns.
  SIMT_INLINE bool is_empty(SymvPlace const& at) const {
    int const i0 = at.row * rows_of_tile, j0 = first_column(at.panel);
    return j0 >= n_ || (lower_ ? i0 + rows_of_tile <= j0 : i0 >= j0 + columns);
  }

  /// Starts to load x for the warp's columns.
  SIMT_INLINE void load_x_of_panel(int slot, int panel) const {
    int const j = first_column(panel) + lane_index();
    if (lane_index() >= columns) return;
    T* const to = x_of_panel(slot) + lane_index();
    if (j < n_)
      copy_async(to, x_ + j * increment_);
    else
      *to = from_real<T>(0);
  }

  /// Starts to load a tile and x for its rows, if it is `wanted` and not is_empty(). Otherwise, if it loads_always, all lanes read elements
  /// at the diagonal.
  SIMT_INLINE void load(SymvPlace const& at, bool wanted) {
    int const i0 = at.row * rows_of_tile + row(0), j0 = first_column(at.panel);
    if (is_empty(at)) wanted = false;
    if (!loads_always && !wanted) return;
    // x goes through shared memory, each lane for itself. When it was loaded to registers beside the tile, the compiler made copies, which
    // waited for the whole tile before the barrier.
    sync_warp();  // all lanes have used its last content
    if (wanted) {
      SIMT_UNROLL
      for (int r = 0; r < held_rows; ++r) copy_async(x_of_rows() + r, x_ + smaller(i0 + r, n_ - 1) * increment_);
    }
    if (in_chunks_) {
      // One set of loads for both kinds of tiles: with two branches the compiler copied the loaded values here and there.
      T const* from[columns];
      if (wanted && is_whole(at)) {
        from[0] = a_ + (i0 + j0 * right_);
        SIMT_UNROLL
        for (int c = 1; c < columns; ++c) from[c] = from[c - 1] + right_;
      } else {
        find_edge(from, wanted ? i0 : lower_ ? 0 : n_, j0);
        if (wanted) load_fringe(at.row, j0);
      }
      SIMT_UNROLL
      for (int c = 0; c < columns; ++c) held_[c].load(from[c]);
    } else {
      // In place of elements that are not stored the first one of the matrix is read, and not used: with predicated loads the compiler made
      // one wait for another.
      T const* column = a_ + (i0 * down_ + j0 * right_);
      Range there[held_rows];
      SIMT_UNROLL
      for (int r = 0; r < held_rows; ++r) there[r] = wanted ? stored(i0 + r, j0) : Range{0, -1};
      SIMT_UNROLL
      for (int c = 0; c < columns; ++c) {
        SIMT_UNROLL
        for (int r = 0; r < held_rows; ++r) held_[c].set(r, load_global(there[r].has(c) ? column + r * down_ : a_));
        column += right_;
      }
    }
  }

  /// Addresses of the 16-byte chunks of each column that are stored whole; for others the nearest one that is, which is not used.
  SIMT_INLINE void find_edge(T const* (&from)[columns], int i0, int j0) const {
    constexpr int mask = -held_rows;
    int const last_row = (n_ & mask) - held_rows;  // first row of a column's last 16 bytes
    int const first_column = lower_ ? 0 : held_rows - 1, last_column = lower_ ? last_row : n_ - 1;
    int j = smaller(larger(j0, first_column), last_column);
    T const* column = a_ + j * right_;
    SIMT_UNROLL
    for (int c = 0; c < columns; ++c) {
      int const i = lower_ ? smaller(larger(i0, (j + held_rows - 1) & mask), last_row) : smaller(i0, ((j + 1) & mask) - held_rows);
      from[c] = column + i;
      if (j0 + c < j || j == last_column) continue;
      ++j;
      column += right_;
    }
  }
  /// Loads chunks that are stored in part, at most two per column: at the diagonal and at the last row. A lane has one of them.
  SIMT_INLINE void load_fringe(int tile_row, int j0) const {
    if constexpr (held_rows > 1) {
      static_assert(2 * columns == 32);
      int const j = j0 + lane_index() % columns, diagonal = j / held_rows;
      int const chunk = lane_index() < columns ? diagonal : n_ / held_rows, i0 = chunk * held_rows;
      if (i0 / rows_of_tile != tile_row || (is_stored(i0, j) && is_stored(i0 + held_rows - 1, j)) ||
          (lane_index() >= columns && chunk == diagonal))
        return;
      SIMT_UNROLL
      for (int r = 0; r < held_rows; ++r)
        if (is_stored(i0 + r, j)) copy_async(fringe() + lane_index() * held_rows + r, a_ + (i0 + r + j * right_));
    }
  }
  /// Moves these chunks to registers.
  SIMT_INLINE void take_fringe(int i0, int j0) {
    if constexpr (held_rows > 1) {
      sync_warp();
      Range const first = stored(i0, j0), last = stored(i0 + held_rows - 1, j0);
      SIMT_UNROLL
      for (int c = 0; c < columns; ++c) {
        if (first.has(c) && last.has(c)) continue;
        bool const at_diagonal = i0 / held_rows == (j0 + c) / held_rows;
        Chunked<T> const apart(load_chunk(fringe() + ((at_diagonal ? 0 : columns) + c) * held_rows));
        SIMT_UNROLL
        for (int r = 0; r < held_rows; ++r) held_[c].set(r, apart.x[r]);
      }
    }
  }

  template <bool all>
  SIMT_INLINE void use(SymvPlace const& at, T const* factors, T* parts) {
    int const i0 = at.row * rows_of_tile + row(0), j0 = first_column(at.panel);
    Range there[held_rows];
    if constexpr (!all) {
      if (in_chunks_) take_fringe(i0, j0);
      SIMT_UNROLL
      for (int r = 0; r < held_rows; ++r) there[r] = stored(i0 + r, j0);
    }
    Chunked<T> total, x_of_row(load_chunk(x_of_rows()));
    SIMT_UNROLL
    for (int r = 0; r < held_rows; ++r) x_of_row.x[r] = conjugate_if(conjugates_x_, x_of_row.x[r]);
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
          bool const on_diagonal = !all && i0 - j0 + r == c;
          T const element = hermitian && on_diagonal ? from_real<T>(real_part(held_[c].at(r))) : held_[c].at(r);
          T const row_sum = multiply_add(element, factor, sum[r]);
          T const column_sum = multiply_add(conjugate_if(hermitian, element), x_of_row.x[r], column_[c]);
          // Elements that are not stored add nothing, even if the other factor is infinite.
          if (all || there[r].has(c)) sum[r] = row_sum;
          if (all || (there[r].has(c) && !on_diagonal)) column_[c] = column_sum;
        }
      }
      SIMT_UNROLL
      for (int r = 0; r < held_rows; ++r) total.x[r] = g == 0 ? sum[r] : total.x[r] + sum[r];
    }
    store_chunk(parts + warp() * rows_of_tile + row(0), total.chunk);
  }

  SIMT_INLINE void use_nothing(T* parts) const {
    Chunked<T> nothing;
    SIMT_UNROLL
    for (int r = 0; r < held_rows; ++r) nothing.x[r] = from_real<T>(0);
    store_chunk(parts + warp() * rows_of_tile + row(0), nothing.chunk);
  }

  /// Neighbours first, as symv_tree.
  SIMT_INLINE static T sum_of_warps(T const* parts) {
    T sum[C.warps];
    SIMT_UNROLL
    for (int w = 0; w < C.warps; ++w) sum[w] = parts[w * rows_of_tile];
    symv_tree(sum);
    return sum[0];
  }

  /// Adds the column sums of all lanes: each step halves the columns per lane and adds another lane's. Then clears them.
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
  SymvHeld<T, held_rows> held_[columns];
  T column_[columns];  ///< column sums of this lane's rows
};

/// This warp's share of the sum of row i. A row's terms are its row sums in every panel that covers it, then the column sums of the panel
/// with its column, in this order. Each warp adds some, `in_order` after each other.
template <SymvRuns C, typename T>
SIMT_INLINE T symv_terms(SymvShares const& shares, T const* sums, int i) {
  constexpr int in_order = 16;  // all of which are loaded at once
  constexpr int rows = C.tile_rows(sizeof(T)), deep = C.tile_columns() / rows;
  int const panel = i / C.tile_columns(), tile_row = i / rows;
  int const first = shares.lower ? 0 : panel, row_terms = shares.lower ? panel + 1 : shares.panels - panel;
  int const first_tile = shares.before(panel), first_piece = shares.piece_of(first_tile);
  int const terms = row_terms + shares.piece_of(first_tile + shares.tiles_of(panel) - 1) - first_piece + 1;
  // Column sums are counted like tiles, behind all tiles.
  int const of_columns = shares.count + (first_piece + panel - row_terms) * deep + tile_row % deep;
  sums += i % rows;
  T sum = from_real<T>(0);
  SIMT_LOOP
  for (int t0 = thread_index() / 32 * in_order; t0 < terms; t0 += C.warps * in_order) {
    T term[in_order];
    SIMT_UNROLL
    for (int k = 0; k < in_order; ++k) {
      int const t = smaller(t0 + k, terms - 1), p = first + t;
      int const of_rows = shares.before(p) + tile_row - shares.first_row(p);
      term[k] = sums[static_cast<Index>(t < row_terms ? of_rows : of_columns + t * deep) * rows];
    }
    SIMT_UNROLL
    for (int k = 0; k < in_order; ++k) sum = sum + (t0 + k < terms ? term[k] : from_real<T>(0));
  }
  return sum;
}

}  // namespace simt

/// Launch: a cooperative one, with any number of blocks of C.threads() threads with C.shared_bytes(sizeof(T)) of dynamic shared memory.
/// Skips matrices of at most args.most_rows_in_strips rows.
template <typename T, SymvRuns C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads(), C.blocks_per_sm) symv_runs(SymvArguments<T> const args) {
  using namespace simt;
  // Pieces are counted in 32 bits, since 64-bit divisions are slow: workspace admits few, and times the blocks they are below 2^31, too.
  int const blocks = static_cast<int>(block_count()), here = static_cast<int>(block_index()), count = static_cast<int>(args.y.count);
  auto const shares_of = [&](int n) { return SymvShares(n, C.tile_rows(sizeof(T)), C.tile_columns(), C.pieces, args.lower); };
  bool const reads = !(args.alpha == from_real<T>(0));
  if (reads) {
    // Where matrices have one size, a block has consecutive pieces of all; else some pieces of each matrix.
    bool const equal = !args.y.row_sizes;
    int const begin = count * args.pieces * here / blocks, end = count * args.pieces * (here + 1) / blocks;
    SIMT_LOOP
    for (int b = equal ? begin / args.pieces : 0; b < count && (!equal || b * args.pieces < end); ++b) {
      int const n = args.y.rows_of(b);
      if (n <= args.most_rows_in_strips) continue;
      SymvShares const shares = shares_of(n);
      int piece = equal ? larger(begin - b * args.pieces, 0) : shares.pieces * here / blocks;
      int const last_piece = equal ? smaller(end - b * args.pieces, args.pieces) : shares.pieces * (here + 1) / blocks;
      if (piece == last_piece) continue;
      T* const sums = args.sums + b * args.apart;
      SymvRun<T, C>(args, b, n)
          .add(
              {shares.first_tile(piece), shares.first_tile(last_piece)}, [&] { return shares.first_tile(++piece); },
              [&](int tile, int, int i, T sum) { sums[shares.row_sums(tile) + i] = sum; },
              [&](int panel, int j, T sum) { sums[shares.column_sums(piece - 1, panel) + j] = sum; });
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
    of_warps[thread_index()] = mine && reads ? symv_terms<C>(shares_of(n), args.sums + b * args.apart, i) : from_real<T>(0);
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

/// For many matrices, one block per matrix. The sums are those of symv_strips, in the same order.
///
/// Launch: any number of blocks of C.threads() threads with C.shared_bytes_of_matrix(sizeof(T), n) of dynamic shared memory, where n is the
/// most rows of a matrix that is multiplied. Skips matrices of more than args.most_rows_in_strips rows, and of at most
/// args.most_rows_in_block.
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
        {0, tiles.count}, [&] { return tiles.count; },
        [&](int, int tile_row, int i, T sum) { of_rows[tile_row * tiles.rows + i] = of_rows[tile_row * tiles.rows + i] + sum; },
        [&](int panel, int j, T sum) { of_columns[panel * tiles.columns + j] = sum; });
    sync_block();
    SIMT_LOOP
    for (int i = thread_index(); i < n; i += C.threads()) symv_store(args, b, i, of_rows[i] + of_columns[i]);
    sync_block();
  }
}

}  // namespace myriad
