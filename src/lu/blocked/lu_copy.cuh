#pragma once
/// Copies of matrices, sizes without singular matrices, and determinants of factors, around LU of large matrices.

#include "lu/blocked/lu_copy_config.cuh"
#include "lu/determinant.cuh"

namespace myriad {

/// Launch: any number of blocks of lu_copy_threads threads with lu_copy_bytes of dynamic shared memory; a block has a tile at a time.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(lu_copy_threads, 4) lu_copy(LuCopyArguments<T> const args) {
  using namespace simt;
  constexpr int side = lu_copy_side, lines = lu_copy_threads / side;
  T* const tile = reinterpret_cast<T*>(shared_memory());
  int const along = thread_index() % side, line = thread_index() / side;
  Index const tiles = args.tiles_down * args.tiles_across;
  for (Index work = block_index(); work < args.to.count * tiles; work += block_count()) {
    Index const b = work / tiles, of_matrix = work % tiles;
    if (args.fill == LuFill::nan_where_singular && args.info[b] == 0) continue;
    int const i = static_cast<int>(of_matrix % args.tiles_down) * side, j = static_cast<int>(of_matrix / args.tiles_down) * side;
    int const m = smaller(args.to.rows_of(b) - i, side), n = smaller(args.to.cols_of(b) - j, side);
    if (m <= 0 || n <= 0) continue;
    auto const each = [&](bool by_rows, auto use) {
      SIMT_UNROLL
      for (int l = line; l < side; l += lines) {
        int const row = by_rows ? l : along, column = by_rows ? along : l;
        if (row < m && column < n) use(row, column);
      }
    };
    if (args.fill == LuFill::copy) {
      Index const row = args.from.row_stride_of(b), column = args.from.col_stride_of(b);
      T const* const from = args.from.at(b, i, j);
      bool const conjugates = args.from.conjugated != args.to.conjugated;
      each(column < row, [&](int r, int c) { tile[r * (side + 1) + c] = conjugate_if(conjugates, from[r * row + c * column]); });
      sync_block();
    }
    Index const row = args.to.row_stride_of(b), column = args.to.col_stride_of(b);
    T* const to = args.to.at(b, i, j);
    each(column < row, [&](int r, int c) {
      T const value = args.fill == LuFill::copy       ? tile[r * (side + 1) + c]
                      : args.fill == LuFill::identity ? from_real<T>(i + r == j + c ? 1 : 0)
                                                      : not_a_number<T>();
      store_global(to + r * row + c * column, value);
    });
    if (args.fill == LuFill::copy) sync_block();
  }
}

/// Launch: any number of blocks of lu_sizes_threads threads; a warp looks at a diagonal.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(lu_sizes_threads, 1) lu_sizes(LuSizesArguments<T> const args) {
  using namespace simt;
  constexpr int warps = lu_sizes_threads / 32;
  for (Index b = block_index() * warps + thread_index() / 32; b < args.a.count; b += block_count() * warps) {
    int const n = smaller(args.a.rows_of(b), args.a.cols_of(b));
    int info = 0;
    SIMT_LOOP
    for (int first = 0; first < n && info == 0 && args.looks_for_zeros; first += 32) {
      int const i = first + lane_index();
      unsigned const zeros = ballot(i < n && *args.a.at(b, smaller(i, n - 1), smaller(i, n - 1)) == from_real<T>(0));
      if (zeros != 0) info = first + lowest_bit(zeros) + 1;
    }
    if (lane_index() != 0) continue;
    if (args.info) args.info[b] = info;
    SIMT_UNROLL
    for (int s = 0; s < lu_sizes_most; ++s)
      if (args.sizes[s]) args.sizes[s][b] = info != 0 ? 0 : n + args.more[s];
  }
}

/// Launch: any number of blocks of lu_sizes_threads threads; a warp has a matrix.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(lu_sizes_threads, 1) lu_determinant(LuDeterminantArguments<T> const args) {
  using namespace simt;
  constexpr int warps = lu_sizes_threads / 32;
  for (Index b = block_index() * warps + thread_index() / 32; b < args.a.count; b += block_count() * warps) {
    int const n = args.a.rows_of(b);
    int interchanges = 0;
    SIMT_LOOP
    for (int first = 0; first < n; first += 32) {
      int const k = first + lane_index();
      interchanges += count_bits(ballot(k < n && *args.pivots.at(b, smaller(k, n - 1), 0) != k + 1));
    }
    put_determinant<T>(
        n, interchanges % 2 != 0, args.a.conjugated, [&](int k) { return *args.a.at(b, k, k); }, args.sign_or_det + b,
        args.logabs ? args.logabs + b : nullptr);
  }
}

}  // namespace myriad
