#pragma once
/// Plan of triangular solves with right-hand sides in registers.

#include <algorithm>
#include <cstdint>

#include "trsm/trsm_columns_config.cuh"

namespace myriad {

/// Largest triangle of a block; its right-hand sides take half of a thread's registers. Larger triangles are processed in blocks of this
/// order.
constexpr int trsm_columns_largest(bool complex) { return complex ? 64 : 128; }

/// For lower triangles of `rows` rows and `columns` given right-hand sides, contiguous and not ragged.
///
/// Estimated, not measured: a block has at most four warps, so that several blocks share a multiprocessor and some copy while others
/// multiply. With few right-hand sides a lane holds no more than there are; the block still has two warps, to load the triangle.
constexpr TrsmColumns trsm_columns_plan(int real_bytes, bool complex, std::int64_t rows, std::int64_t columns) {
  int const panel = trsm_panel_rows(real_bytes, complex);
  bool const tensor = real_bytes == 8;
  int const most_held = real_bytes == 8 ? 2 : 4;
  TrsmColumns c{.n = static_cast<int>((rows + panel - 1) / panel) * panel,
                .held = tensor         ? 2
                        : columns > 16 ? most_held
                        : columns > 8  ? 2
                                       : 1,
                .warps = 2,
                .blocks_per_sm = 1,
                .moved = rows % (panel / 4) == 0 ? Moved::chunks : Moved::elements,
                .inverse = false,
                .lower = true,
                .tensor = tensor,
                .ragged = false};
  std::int64_t const needed = (columns + c.columns_of_warp() - 1) / c.columns_of_warp(), rounds = (needed + 3) / 4;
  c.warps = static_cast<int>(std::clamp<std::int64_t>((needed + rounds - 1) / std::max<std::int64_t>(rounds, 1), 2, 4));
  // As many blocks as the shared memory of compute capability 9.0 allows (228 KiB, of which 1 KiB per block is reserved), limited by the
  // registers for right-hand sides, factors and addresses. A quarter of the warps shares a quarter of the registers.
  int const words = c.n * c.held / 4 * real_bytes / 4 * (complex ? 2 : 1);
  c.blocks_per_sm = std::clamp(233472 / (TrsmColumnsMemory(real_bytes, complex, c).bytes + 1024), 1, 32);
  auto const registers = [&](int blocks) { return 512 / ((blocks * c.warps + 3) / 4 * 4) * 4 / 8 * 8; };
  while (c.blocks_per_sm > 1 && registers(c.blocks_per_sm) < words + (tensor ? 80 : 56)) --c.blocks_per_sm;
  return c;
}

/// How right-hand sides are moved, as far as sizes, strides and address determine it; what differs between matrices is decided by the
/// block.
template <typename T>
Moved trsm_columns_moved(simt::Matrices<T> const& b, bool inverse) {
  constexpr int of_chunk = 16 / sizeof(T), of_lane = trsm_rows_of_lane(sizeof(simt::Real<T>), simt::is_complex<T>);
  if (inverse || (b.row_stride != 1 && !b.row_strides)) return Moved::elements;
  // A chunk of double complex is one element.
  if (b.pointers || b.row_strides || b.col_strides || b.row_sizes) return of_chunk == 1 ? Moved::elements : Moved::either;
  bool const aligned = reinterpret_cast<std::uintptr_t>(b.data) % 16 == 0 && b.row_offset % of_chunk == 0 &&
                       b.batch_stride % of_chunk == 0 && b.col_stride % of_chunk == 0;
  return aligned && b.rows % of_lane == 0 ? Moved::chunks : Moved::elements;
}

}  // namespace myriad
