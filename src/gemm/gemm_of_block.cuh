#pragma once
/// Products of one matrix by a block, for kernels of other algorithms. Operands are in global memory, where other threads of the block may
/// have written them before the last sync_block().
///
/// C has one matrix to a block. Shared memory is that of its kernel, C.threads() threads call each function, and they meet at sync_block()
/// before they use what was written, or the shared memory. symm, hemm, syrk and herk are products whose
/// config says what A is (`structure`) or which triangle of C is written (`written`).

#include "gemm/gemm_tiles.cuh"

namespace myriad {

/// C = alpha A B + beta C of matrix b.
template <typename T, GemmTiles C>
SIMT_INLINE void gemm_of_block(GemmArguments<T> const& args, simt::Index b) {
  static_assert(C.matrices == 1);
  int const rows = args.c.rows_of(b), columns = args.c.cols_of(b);
  SIMT_LOOP
  for (int j0 = 0; j0 < columns; j0 += C.n) {
    SIMT_LOOP
    for (int i0 = 0; i0 < rows; i0 += C.m) {
      if (i0 + j0 > 0) simt::sync_block();
      gemm_tile_of_block<T, C>(args, b, i0, j0);
    }
  }
}

/// The transpose, or the conjugate one.
template <typename T>
SIMT_INLINE simt::Matrices<T> transposed(simt::Matrices<T> const& x, bool conjugate = false) {
  return {x.data,      x.pointers,  x.cols,        x.rows,        x.col_stride, x.row_stride, x.batch_stride,           x.count,
          x.col_sizes, x.row_sizes, x.col_strides, x.row_strides, x.col_offset, x.row_offset, x.conjugated != conjugate};
}

/// A = alpha x y^T + A of matrix b; of y conjugated gerc. C is best of one term.
template <typename T, GemmTiles C>
SIMT_INLINE void ger_of_block(T alpha, simt::Matrices<T const> const& x, simt::Matrices<T const> const& y, simt::Matrices<T> const& a,
                              simt::Index b) {
  if (alpha == simt::from_real<T>(0)) return;
  gemm_of_block<T, C>({.alpha = alpha, .beta = simt::from_real<T>(1), .a = x, .b = transposed(y), .c = a, .depth = 1}, b);
}

/// The lower triangle of alpha A B^T + alpha B A^T + beta C of matrix b, or, where C.written is lower_hermitian, of
/// alpha A B^H + conj(alpha) B A^H + beta C. `args.a` and `args.b` are A and B^T, or B^H. The upper triangle is that of the transposed C.
template <typename T, GemmTiles C>
SIMT_INLINE void syr2k_of_block(GemmArguments<T> args, simt::Index b) {
  static_assert(C.written != Written::whole);
  constexpr bool hermitian = C.written == Written::lower_hermitian && simt::is_complex<T>;
  gemm_of_block<T, C>(args, b);
  simt::sync_block();
  simt::Matrices<T const> const first = args.a;
  args.a = transposed(args.b, hermitian);
  args.b = transposed(first, hermitian);
  args.alpha = simt::conjugate_if(hermitian, args.alpha);
  args.beta = simt::from_real<T>(1);
  gemm_of_block<T, C>(args, b);
}

}  // namespace myriad
