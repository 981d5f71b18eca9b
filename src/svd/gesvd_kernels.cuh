#pragma once
/// Kernels of singular value decompositions other than reductions, bidiagonal problem, rotations and back-transformation: scale and copy
/// matrices to the workspace, and vectors from it.

#include "svd/gesvd_config.cuh"

namespace myriad {
namespace simt {

/// The maximum over the block, in all threads, as ordered bits. `of_warps`: a number per warp.
template <typename R>
SIMT_INLINE auto gesvd_largest_of_all(R value, R* of_warps) {
  auto top = ordered_bits(value);
  SIMT_UNROLL
  for (int mask = 16; mask > 0; mask /= 2) top = larger(top, shuffle_xor(top, mask));
  sync_block();
  if (lane_index() == 0) of_warps[thread_index() / 32] = number_of(top);
  sync_block();
  SIMT_UNROLL
  for (int w = 0; w < gesvd_threads / 32; ++w) top = larger(top, ordered_bits(of_warps[w]));
  return top;
}

/// Copies a tile: rows `i0` on and columns `j0` on, m-by-n at most, of both. load(i, j) and store(i, j, element) are called with
/// neighbouring i in neighbouring threads, or j where a matrix is `by_rows`.
template <typename T, typename Load, typename Store>
SIMT_INLINE void gesvd_copy_tile(int i0, int j0, int m, int n, bool from_by_rows, bool to_by_rows, Load load, Store store) {
  constexpr int side = gesvd_side, pitch = side + 1, lines = gesvd_threads / side;
  T* const tile = reinterpret_cast<T*>(shared_memory());
  int const along = thread_index() % side;
  auto const for_all = [&](bool by_rows, auto use) {
    SIMT_UNROLL
    for (int line = thread_index() / side; line < side; line += lines) {
      int const i = by_rows ? line : along, j = by_rows ? along : line;
      if (i0 + i < m && j0 + j < n) use(i, j);
    }
  };
  for_all(from_by_rows, [&](int i, int j) { tile[i + j * pitch] = load(i0 + i, j0 + j); });
  sync_block();
  for_all(to_by_rows, [&](int i, int j) { store(i0 + i, j0 + j, tile[i + j * pitch]); });
  sync_block();
}

}  // namespace simt

/// The sizes of the matrices of a ragged batch.
///
/// Launch: any number of blocks of gesvd_threads threads.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(gesvd_threads, 1) gesvd_sizes(Gesvd<T> const work) {
  using namespace simt;
  for (Index b = block_index() * gesvd_threads + thread_index(); b < work.a.count; b += block_count() * gesvd_threads) {
    GesvdShape const shape = work.shape(b);
    Index const l = shape.l(), k = shape.k(), all = work.columns == GesvdColumns::full ? l : k;
    bool const by_qr = shape.by_qr(), small = shape.is_small();
    work.sizes.qr_rows[b] = by_qr ? l : 0;
    work.sizes.qr_columns[b] = by_qr ? k : 0;
    work.sizes.rows[b] = small ? 0 : shape.reduced_rows();
    work.sizes.columns[b] = small ? 0 : k;
    work.sizes.small[b] = small ? k : 0;
    work.sizes.long_rows[b] = l;
    work.sizes.long_columns[b] = all;
    work.sizes.long_reduced[b] = by_qr ? k : all;
  }
}

/// The largest element that each block finds.
///
/// Launch: any number of blocks of gesvd_threads threads with gesvd_search_bytes of dynamic shared memory.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(gesvd_threads, 1) gesvd_largest(Gesvd<T> const work) {
  using namespace simt;
  using R = simt::Real<T>;
  for (Index at = block_index(); at < work.parts * work.a.count; at += block_count()) {
    Index const b = at / work.parts;
    int const m = work.a.rows_of(b), n = work.a.cols_of(b);
    Index const row_stride = work.a.row_stride_of(b), col_stride = work.a.col_stride_of(b);
    // Warps divide the lines, which are contiguous in memory.
    bool const by_rows = col_stride < row_stride;
    int const lines = by_rows ? m : n, elements = by_rows ? n : m;
    Index const along = by_rows ? col_stride : row_stride, apart = by_rows ? row_stride : col_stride;
    auto top = ordered_bits(R(0));
    SIMT_LOOP
    for (int line = static_cast<int>(at % work.parts) * (gesvd_threads / 32) + thread_index() / 32; line < lines;
         line += work.parts * (gesvd_threads / 32)) {
      T const* const first = work.a.at(b, 0, 0) + line * apart;
      SIMT_UNROLL_BY(4)
      for (int i = lane_index(); i < elements; i += 32) {
        T const value = first[i * along];
        top = larger(top, ordered_bits(magnitude(real_part(value))));
        if constexpr (simt::is_complex<T>) top = larger(top, ordered_bits(magnitude(value.im)));
      }
    }
    auto const of_all = gesvd_largest_of_all<R>(number_of(top), reinterpret_cast<R*>(shared_memory()));
    if (thread_index() == 0) work.largest[at] = number_of(of_all);
  }
}

/// Copies matrices, or the conjugate transposes of wide ones, to the workspace. Those near overflow or underflow are scaled to size one by
/// a power of two; those with NaN or infinity are set to zero.
///
/// Launch: any number of blocks of gesvd_threads threads with gesvd_search_bytes + gesvd_tile_bytes(sizeof(T)) of dynamic shared memory.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(gesvd_threads, 1) gesvd_load(Gesvd<T> const work) {
  using namespace simt;
  using R = simt::Real<T>;
  constexpr R most = power_of_two<R, 500, 60>, least = power_of_two<R, -500, -60>;
  Index const down = ceil_div(static_cast<int>(work.a.rows), gesvd_side),
              tiles = down * ceil_div(static_cast<int>(work.a.cols), gesvd_side);
  for (Index at = block_index(); at < tiles * work.a.count; at += block_count()) {
    Index const b = at / tiles;
    GesvdShape const shape = work.shape(b);
    int const i0 = static_cast<int>(at % tiles % down) * gesvd_side, j0 = static_cast<int>(at % tiles / down) * gesvd_side;
    if ((i0 >= shape.m || j0 >= shape.n) && i0 + j0 > 0) continue;  // the first tile also writes the scale
    auto top = ordered_bits(R(0));
    for (int p = thread_index(); p < work.parts; p += gesvd_threads) top = larger(top, ordered_bits(work.largest[b * work.parts + p]));
    top = gesvd_largest_of_all<R>(number_of(top), reinterpret_cast<R*>(shared_memory() + gesvd_tile_bytes(sizeof(T))));
    R const size = number_of(top);
    bool const finite = size < R(infinity()), scales = finite && size > R(0) && !(size > least && size < most);
    R const scale = scales ? reciprocal_power(size) : R(1);
    if (thread_index() == 0 && i0 == 0 && j0 == 0) work.scales[b] = finite ? reciprocal_power(scale) : R(quiet_nan());
    Index const row_stride = work.a.row_stride_of(b), col_stride = work.a.col_stride_of(b);
    T const* const from = work.a.at(b, 0, 0);
    bool const by_qr = shape.by_qr(), wide = shape.is_wide(), conjugates = work.a.conjugated != wide;
    T* const to = by_qr ? work.qr + b * work.qr_stride : work.reduced + b * work.reduced_stride;
    Index const ld = by_qr ? work.qr_ld : work.reduced_ld;
    gesvd_copy_tile<T>(
        i0, j0, shape.m, shape.n, col_stride < row_stride, wide, [&](int i, int j) { return from[i * row_stride + j * col_stride]; },
        [&](int i, int j, T x) {
          T const value = finite ? conjugate_if(conjugates, scale * x) : from_real<T>(0);
          store_global(wide ? to + j + i * ld : to + i + j * ld, value);
        });
  }
}

/// Copies vectors of the bidiagonal matrix in the order of the values, with zeros below and, behind, columns of a unit matrix; a warp has a
/// column. `side` 0 has the long vectors, 1 the short ones. Vectors of a small R are in place, and so are those of gesvd_jacobi.
///
/// Launch: any number of blocks of gesvd_threads threads.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(gesvd_threads, 1) gesvd_place(Gesvd<T> const work) {
  using namespace simt;
  using R = simt::Real<T>;
  int const side = work.side;
  constexpr int warps = gesvd_threads / 32;
  Index const columns = side == 0 ? work.long_columns : work.most().k(), chunks = (columns + warps - 1) / warps;
  for (Index at = block_index(); at < chunks * work.a.count; at += block_count()) {
    Index const b = at / chunks;
    GesvdShape const shape = work.shape(b);
    int const k = shape.k(), rows = side == 0 ? shape.l() : k, all = side == 0 && work.columns == GesvdColumns::full ? shape.l() : k;
    int const j = static_cast<int>(at % chunks) * warps + thread_index() / 32;
    bool const small = shape.is_small();
    if (j >= all || (small ? side == 1 : work.by_jacobi)) continue;
    R const* const from =
        work.q + (side * work.a.count + b) * work.q_stride + (j < k && !small ? work.order[b * work.q_line + j] * work.q_ld : 0);
    T* const to =
        side == 0 ? work.long_side + b * work.long_stride + j * work.long_ld : work.short_side + b * work.short_stride + j * work.short_ld;
    SIMT_UNROLL_BY(4)
    for (int i = lane_index() + (small && j < k ? k : 0); i < rows; i += 32) {
      R const value = j < k && i < k ? from[i] : R(j >= k && i == j ? 1 : 0);
      store_global(to + i, from_real<T>(value));
    }
  }
}

/// Scales the values of small matrices back; NaN, and info, if the matrix had NaN or infinity.
///
/// Launch: any number of blocks of gesvd_threads threads.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(gesvd_threads, 1) gesvd_scale_values(Gesvd<T> const work) {
  using namespace simt;
  using R = simt::Real<T>;
  Index const all = work.a.count * work.small;
  for (Index at = block_index() * gesvd_threads + thread_index(); at < all; at += block_count() * gesvd_threads) {
    Index const b = at / work.small;
    int const i = static_cast<int>(at % work.small), k = work.shape(b).k();
    if (k > work.small || i >= k) continue;
    R const scale = work.scales[b];
    R* const value = work.s.at(b, i, 0);
    store_global(value, scale * *value);
    if (i == 0 && scale != scale && work.info) work.info[b] = k;
  }
}

/// Writes U (`side` 0) or V^H; NaN if the matrix had NaN or infinity.
///
/// Launch: any number of blocks of gesvd_threads threads with gesvd_tile_bytes(sizeof(T)) of dynamic shared memory.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(gesvd_threads, 1) gesvd_write(Gesvd<T> const work) {
  using namespace simt;
  bool const left = work.side == 0;
  Matrices<T> const& out = left ? work.u : work.vt;
  Index const down = ceil_div(static_cast<int>(out.rows), gesvd_side), tiles = down * ceil_div(static_cast<int>(out.cols), gesvd_side);
  for (Index at = block_index(); at < tiles * work.a.count; at += block_count()) {
    Index const b = at / tiles;
    GesvdShape const shape = work.shape(b);
    int const i0 = static_cast<int>(at % tiles % down) * gesvd_side, j0 = static_cast<int>(at % tiles / down) * gesvd_side;
    bool const is_long = left != shape.is_wide(), full = work.columns == GesvdColumns::full;
    int const rows = is_long ? shape.l() : shape.k(), columns = is_long && full ? shape.l() : shape.k();
    int const m = left ? rows : columns, n = left ? columns : rows;
    if (i0 >= m || j0 >= n) continue;
    T const* const from = is_long ? work.long_side + b * work.long_stride : work.short_side + b * work.short_stride;
    Index const ld = is_long ? work.long_ld : work.short_ld;
    Index const row_stride = out.row_stride_of(b), col_stride = out.col_stride_of(b);
    T* const to = out.at(b, 0, 0);
    bool const finite = work.scales[b] == work.scales[b], conjugates = out.conjugated == left;
    // Rows that were sorted return to their places.
    int const* const places =
        is_long && work.by_jacobi && !shape.is_small() && !shape.by_qr() ? work.jacobi.rows + 2 * b * work.jacobi.most_rows : nullptr;
    gesvd_copy_tile<T>(
        i0, j0, m, n, !left, col_stride < row_stride, [&](int i, int j) { return left ? from[i + j * ld] : from[j + i * ld]; },
        [&](int i, int j, T x) {
          int const row = left && places ? places[i] : i, column = !left && places ? places[j] : j;
          store_global(to + row * row_stride + column * col_stride, finite ? conjugate_if(conjugates, x) : not_a_number<T>());
        });
  }
}

}  // namespace myriad
