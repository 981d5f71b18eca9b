#pragma once
/// Configs for the kernels of of_block_kernels.cuh, all of 64 threads.

#include "gemm/gemm_tiles_plan.hpp"
#include "myriad/types.hpp"
#include "trsm/trsm_columns_plan.hpp"

namespace myriad::test {

/// A tile of one matrix, whose elements are anywhere.
constexpr GemmTiles tiles(int m, int n, Structure structure = Structure::general, Written written = Written::whole, int k = 16) {
  return {.m = m,
          .n = n,
          .k = k,
          .row_lanes = 8,
          .column_lanes = 8,
          .matrices = 1,
          .blocks_per_sm = 1,
          .extent = Extent::part,
          .a = simt::Layout::columns,
          .b = simt::Layout::columns,
          .c = simt::Layout::columns,
          .structure = structure,
          .written = written,
          .scheduled = 0};
}

/// Triangles of up to n rows.
template <typename T>
constexpr TrsmColumns triangle(int n, bool lower, bool inverse) {
  TrsmColumns c = trsm_columns_plan(sizeof(Real<T>), is_complex<T>, n, 16);
  c.warps = 2;
  c.blocks_per_sm = 1;
  c.moved = inverse ? Moved::elements : Moved::either;
  c.lower = lower, c.inverse = inverse, c.ragged = true;
  return c;
}

}  // namespace myriad::test
