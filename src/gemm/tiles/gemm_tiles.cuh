#pragma once
/// C = alpha A B + beta C for many small matrices: through shared memory into tiles of C in registers.

#include "gemm/ragged/gemm_schedule.cuh"
#include "gemm/tiles/gemm_tiles_config.cuh"

namespace myriad {

/// The sums of one thread. Each element is summed in the order of k, whatever the config, so that it has the same bits in every batch.
template <typename T, GemmTiles C>
struct GemmSums {
  static constexpr int held_rows = simt::ceil_div(C.m, C.row_lanes);
  static constexpr int held_columns = simt::ceil_div(C.n, C.column_lanes);

  T sum[held_rows][held_columns];
  int row_lane, column_lane;

  SIMT_INLINE explicit GemmSums(int lane) : row_lane(lane % C.row_lanes), column_lane(lane / C.row_lanes) {
    SIMT_UNROLL
    for (int r = 0; r < held_rows; ++r) {
      SIMT_UNROLL
      for (int c = 0; c < held_columns; ++c) sum[r][c] = simt::from_real<T>(0);
    }
  }
  /// The row held as the r-th. Beyond the tile it is the last row, whose second sum is discarded.
  SIMT_INLINE int row(int r) const {
    int const i = row_lane + r * C.row_lanes;
    return C.m % C.row_lanes == 0 || r + 1 < held_rows ? i : simt::smaller(i, C.m - 1);
  }
  SIMT_INLINE int column(int c) const {
    int const j = column_lane + c * C.column_lanes;
    return C.n % C.column_lanes == 0 || c + 1 < held_columns ? j : simt::smaller(j, C.n - 1);
  }

  /// Adds the products of `terms` columns of A and rows of B; a(i, p) and b(p, j) return their elements.
  template <typename A, typename B>
  SIMT_INLINE void add(int terms, A a, B b) {
    SIMT_UNROLL_BY(4)
    for (int p = 0; p < (C.exact() ? C.k : terms); ++p) {
      T left[held_rows], right[held_columns];
      SIMT_UNROLL
      for (int r = 0; r < held_rows; ++r) left[r] = a(row(r), p);
      SIMT_UNROLL
      for (int c = 0; c < held_columns; ++c) right[c] = b(p, column(c));
      SIMT_UNROLL
      for (int r = 0; r < held_rows; ++r) {
        SIMT_UNROLL
        for (int c = 0; c < held_columns; ++c) sum[r][c] = simt::multiply_add(left[r], right[c], sum[r][c]);
      }
    }
  }

  /// Calls use(i, j, sum) for this thread's elements of the tile.
  template <typename Use>
  SIMT_INLINE void for_each(Use use) const {
    SIMT_UNROLL
    for (int r = 0; r < held_rows; ++r) {
      SIMT_UNROLL
      for (int c = 0; c < held_columns; ++c) {
        int const i = row_lane + r * C.row_lanes, j = column_lane + c * C.column_lanes;
        if (i < C.m && j < C.n) use(i, j, sum[r][c]);
      }
    }
  }
};

/// Fills in the elements of A that are not stored, in a tile with rows [i0, i0 + C.m) and columns [p0, p0 + C.k).
template <GemmTiles C, typename T, typename Tile>
SIMT_INLINE void complete(Tile& tile, simt::Matrices<T const> const& a, simt::Index first, int active, int i0, int p0) {
  using namespace simt;
  SIMT_LOOP
  for (int e = thread_index(); e < active * C.m * C.k; e += C.threads()) {
    int const q = e / (C.m * C.k), row = e % C.m, column = e / C.m % C.k, i = i0 + row, p = p0 + column;
    bool const stored = is_stored(C.structure, i, p);
    if (stored && (C.structure != Structure::hermitian || i != p)) continue;
    if (is_triangular(C.structure))
      tile.at(q, row, column) = from_real<T>(i == p ? 1 : 0);
    else if (stored)
      tile.at(q, row, column) = from_real<T>(real_part(tile.at(q, row, column)));
    else if (C.whole())
      tile.at(q, row, column) = conjugate_if(C.structure == Structure::hermitian, tile.at(q, column, row));
    else if (p < a.rows_of(first + q) && i < a.cols_of(first + q))
      tile.at(q, row, column) = conjugate_if(C.structure == Structure::hermitian, *a.at(first + q, p, i));
  }
}

/// Computes the tile of C that begins at (i0, j0), of up to C.matrices neighbouring matrices from number `first` on, by a block of
/// C.threads() threads with GemmTilesMemory(sizeof(T), C).bytes of dynamic shared memory. All threads call this. If it returns true, they
/// must meet at sync_block() before they use C or that memory; if false, there was nothing to do.
template <typename T, GemmTiles C>
SIMT_INLINE bool gemm_tile_of_block(GemmArguments<T> const& args, simt::Index first, simt::Index i0, simt::Index j0) {
  using namespace simt;
  static_assert(C.written == Written::whole || C.m == C.n, "a triangle is divided into square tiles");
  constexpr GemmTilesMemory memory(sizeof(T), C);
  Tile<T, C.m, C.k, C.matrices, C.row_lanes, C.threads(), C.a> a(shared_memory());
  Tile<T, C.k, C.n, C.matrices, C.column_lanes, C.threads(), C.b, true> b(shared_memory() + memory.b);
  Tile<T, C.m, C.n, C.matrices, C.lanes(), C.threads(), C.c, true> c(shared_memory() + memory.c);
  int const q = thread_index() / C.lanes();
  bool const reads_c = !(args.beta == from_real<T>(0));

  int const active = args.c.count - first < C.matrices ? static_cast<int>(args.c.count - first) : C.matrices;
  Matrices<T> const of_c = C.whole() ? args.c : args.c.part(i0, C.m, j0, C.n);
  // In a ragged batch there may be nothing here.
  if (C.matrices == 1 && (of_c.rows_of(first) == 0 || of_c.cols_of(first) == 0)) return false;
  if (C.written != Written::whole && j0 > i0) return false;
  bool const whole = C.written == Written::whole || i0 > j0;  // or on the diagonal
  if (reads_c) {
    if (whole)
      c.template load<C.c>(of_c.as_const(), first, active);
    else
      c.template load<C.c, Part::lower>(of_c.as_const(), first, active);
  }
  // In a ragged batch, smaller matrices have fewer terms.
  Index const depth = args.depth == 0 || q >= active ? 0 : args.a.col_sizes ? args.a.cols_of(first + q) : args.depth;
  Index const most = C.matrices == 1 ? depth : args.depth;  // most terms of the block

  GemmSums<T, C> sums(thread_index() % C.lanes());
  for (Index p = 0; p < most; p += C.k) {
    if (p > 0) sync_block();
    if constexpr (C.whole()) {
      a.template load<C.a>(args.a, first, active);
      b.template load<C.b>(args.b, first, active);
    } else {
      a.template load<C.a>(args.a.part(i0, C.m, p, C.k), first, active);
      b.template load<C.b>(args.b.part(p, C.k, j0, C.n), first, active);
    }
    wait_copies();
    sync_block();
    if constexpr (C.structure != Structure::general) {
      complete<C>(a, args.a, first, active, static_cast<int>(i0), static_cast<int>(p));
      sync_block();
    }
    int const terms = depth - p < C.k ? static_cast<int>(larger<Index>(depth - p, 0)) : C.k;
    sums.add(
        terms, [&](int i, int k) { return conjugate_if(args.a.conjugated, a.at(q, i, k)); },
        [&](int k, int j) { return conjugate_if(args.b.conjugated, b.at(q, k, j)); });
    if constexpr (C.whole()) break;
  }
  if (most == 0) {
    wait_copies();
    sync_block();
  }

  sums.for_each([&](int i, int j, T sum) {
    if (gemm_changes_nothing<C.written>(args, depth)) return;
    c.at(q, i, j) = gemm_element<C.written>(args, reads_c, !whole && i == j, depth, sum, c.at(q, i, j));
  });
  sync_block();
  if (whole)
    c.template store<C.c>(of_c, first, active);
  else
    c.template store<C.c, Part::lower>(of_c, first, active);
  return true;
}

/// Launch: any number of blocks of C.threads() threads with GemmTilesMemory(sizeof(T), C).bytes of dynamic shared memory.
template <typename T, GemmTiles C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads(), C.blocks_per_sm) gemm_tiles(GemmArguments<T> const args) {
  using namespace simt;
  Index const down = C.whole() ? 1 : (args.c.rows + C.m - 1) / C.m;
  Index const tiles = C.whole() ? 1 : down * ((args.c.cols + C.n - 1) / C.n);
  if constexpr (C.scheduled != 0) {
    GemmPlaces<C.m, C.n, true, C.matrices> const places(args);
    for (Index at = block_index(); at < places.count(args); at += block_count()) {
      GemmPlace const place = places.at(args, at);
      if (gemm_tile_of_block<T, C>(args, place.b, place.i0, place.j0) && at + block_count() < places.count(args)) sync_block();
    }
  } else {
    Index const all = (args.c.count + C.matrices - 1) / C.matrices * tiles;
    for (Index at = block_index(); at < all; at += block_count()) {
      Index const first = (C.whole() ? at : at / tiles) * C.matrices;
      Index const i0 = C.whole() ? 0 : at % tiles % down * C.m;
      Index const j0 = C.whole() ? 0 : at % tiles / down * C.n;
      if (gemm_tile_of_block<T, C>(args, first, i0, j0) && at + block_count() < all) sync_block();
    }
  }
}

}  // namespace myriad
