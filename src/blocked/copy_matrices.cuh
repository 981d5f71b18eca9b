#pragma once
/// Copies matrices from one layout to another, tile by tile: neighbouring threads read and write neighbours in memory.

#include "blocked/copy_matrices_config.cuh"

namespace myriad {

/// Launch: any number of blocks of copy_matrices_threads threads with 32 * 33 elements of dynamic shared memory.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(copy_matrices_threads, 2) copy_matrices(CopyMatricesArguments<T> const args) {
  using namespace simt;
  constexpr int side = copy_matrices_side, line = side + 1, warps = copy_matrices_threads / warp_size;
  T* const tile = reinterpret_cast<T*>(shared_memory());
  int const lane = lane_index(), warp = thread_index() / warp_size;
  Index const down = args.tiles_down(), tiles = args.tiles();

  for (Index at = block_index(); at < args.to.count * tiles; at += block_count()) {
    Index const b = at / tiles;
    int const i0 = static_cast<int>(at % tiles % down) * side, j0 = static_cast<int>(at % tiles / down) * side;
    int const m = smaller(args.to.rows_of(b) - i0, side), n = smaller(args.to.cols_of(b) - j0, side);
    if (m <= 0 || n <= 0 || (args.copied == Copied::lower && i0 < j0)) continue;
    bool const failed = args.where != CopiedWhere::always && args.info[b] != 0;
    bool const nan = args.where == CopiedWhere::nan_in_failed;
    if (args.where == CopiedWhere::succeeded ? failed : (nan || args.where == CopiedWhere::failed) && !failed) continue;
    auto const is_lower = [&](int i, int j) { return i0 + i >= j0 + j; };
    /// Calls move(i, j, address in x) for the elements of the tile.
    auto const for_all = [&](auto const& x, auto move) {
      Index const rows = x.row_stride_of(b), cols = x.col_stride_of(b);
      auto* const first = x.at(b, i0, j0);
      bool const by_rows = cols < rows;
      for (int k = warp; k < (by_rows ? m : n); k += warps)
        if (lane < (by_rows ? n : m)) {
          int const i = by_rows ? k : lane, j = by_rows ? lane : k;
          move(i, j, first + i * rows + j * cols);
        }
    };
    bool const identity = args.copied == Copied::identity;
    if (!nan && !identity)
      for_all(args.from, [&](int i, int j, T const* from) {
        if (args.copied == Copied::all || is_lower(i, j)) tile[i + j * line] = *from;
      });
    sync_block();
    for_all(args.to, [&](int i, int j, T* to) {
      bool const copies = args.copied == Copied::all || is_lower(i, j);
      if (!copies && args.copied == Copied::lower) return;
      store_global(to, nan        ? not_a_number<T>()
                       : identity ? from_real<T>(i0 + i == j0 + j ? 1 : 0)
                       : copies   ? conjugate_if(args.from.conjugated != args.to.conjugated, tile[i + j * line])
                                  : from_real<T>(0));
    });
    sync_block();
  }
}

}  // namespace myriad
