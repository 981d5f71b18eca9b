#pragma once
/// Kernels that do nothing but call the device functions that compute with one matrix by a block: by the host twin and on a GPU.

#include "of_block_arguments.cuh"
#include "trsm/triangles_of_block.cuh"

namespace myriad::test {

/// C = alpha A B + beta C.
template <typename T, GemmTiles C>
SIMT_KERNEL void products(GemmArguments<T> const args) {
  for (simt::Index b = simt::block_index(); b < args.c.count; b += simt::block_count()) {
    gemm_of_block<T, C>(args, b);
    simt::sync_block();
  }
}

/// C = alpha A B + C, where A has one column.
template <typename T, GemmTiles C>
SIMT_KERNEL void updates(GemmArguments<T> const args) {
  for (simt::Index b = simt::block_index(); b < args.c.count; b += simt::block_count()) {
    if (args.depth > 0) ger_of_block<T, C>(args.alpha, args.a, transposed(args.b), args.c, b);
    simt::sync_block();
  }
}

template <typename T, GemmTiles C>
SIMT_KERNEL void rank_2k_updates(GemmArguments<T> const args) {
  for (simt::Index b = simt::block_index(); b < args.c.count; b += simt::block_count()) {
    syr2k_of_block<T, C>(args, b);
    simt::sync_block();
  }
}

/// B = alpha A^-1 B.
template <typename T, TrsmColumns Solve, GemmTiles Rest>
SIMT_KERNEL void solves(TriangleArguments<T> const args) {
  for (simt::Index b = simt::block_index(); b < args.b.count; b += simt::block_count()) {
    trsm_of_block<T, Solve, Rest>({.alpha = args.alpha,
                                   .a = args.a,
                                   .b = args.b,
                                   .parts = 1,
                                   .columns_of_block = args.b.cols,
                                   .info = nullptr,
                                   .unit = args.unit,
                                   .small_by_rows = false},
                                  b);
    simt::sync_block();
  }
}

/// B = alpha A B.
template <typename T, GemmTiles InPlace, GemmTiles Rest>
SIMT_KERNEL void triangular_products(TriangleArguments<T> const args) {
  for (simt::Index b = simt::block_index(); b < args.b.count; b += simt::block_count()) {
    trmm_of_block<T, InPlace, Rest>(args.alpha, args.a, args.b, b);
    simt::sync_block();
  }
}

/// B = B^-1.
template <typename T, TrsmColumns Invert, TrsmColumns Solve, TrsmColumns Other, GemmTiles Rest>
SIMT_KERNEL void inverses(TriangleArguments<T> const args) {
  for (simt::Index b = simt::block_index(); b < args.b.count; b += simt::block_count()) {
    int const info = trtri_of_block<T, Invert, Solve, Other, Rest>(args.b, args.unit, b);
    if (simt::thread_index() == 0) args.info[b] = info;
    simt::sync_block();
  }
}

}  // namespace myriad::test
