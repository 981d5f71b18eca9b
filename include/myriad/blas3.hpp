#pragma once
/// Level 3 BLAS except gemm and trsm: products with symmetric, Hermitian and triangular matrices, rank-k and rank-2k updates, and the
/// inverse of a triangular matrix.
///
/// `uplo` is the triangle of the (viewed) symmetric, Hermitian or triangular matrix that is read or written. The other triangle is not
/// used: it may hold NaN, and is not changed. Imaginary parts of the diagonal of a Hermitian matrix are taken as zero. There is no argument
/// `trans`: pass a view. Inputs with batch_stride 0 share one matrix for the whole batch.
///
/// On GPUs all but trtri use the kernels of gemm. These fill in the other triangle of A in shared memory and do the flops of the full
/// matrix (trmm: of full blocks of 32 rows on the diagonal). Updates of a symmetric or Hermitian C compute the tiles that intersect the
/// triangle.

#include "myriad/batch.hpp"
#include "myriad/export.h"
#include "myriad/queue.hpp"
#include "myriad/scalar.hpp"

namespace myriad {

/// C = alpha A B + beta C (side left) or C = alpha B A + beta C (right) with a symmetric A.
///
/// B and C are m-by-n; A is m-by-m (left) or n-by-n (right). A complex A is symmetric, not Hermitian (see `hemm`). beta = 0 never reads C
/// (NaN in it is ignored); the number alpha = 0 never reads A and B. C must overlap neither A nor B.
/// Errors: BadArgument, positions of BLAS symm (side 1, uplo 2, m 3, n 4, alpha 5, a 6, lda 7, b 8, ldb 9, beta 10, c 11, ldc 12).
/// Cost: 2 m^2 n (left) or 2 m n^2 (right) flops; complex: four times. On the CPU A is first expanded to a full matrix for gemm: each
/// thread has a copy of one, or of as many small ones as fit in 32 KiB. Source: BLAS symm.
template <Element T>
MYRIAD_API void symm(Queue& queue, Side side, Uplo uplo, Scalar<T> alpha, In<T> a, In<T> b, Scalar<T> beta, Batch<T> c);

/// C = alpha A B + beta C (side left) or C = alpha B A + beta C (right) with a Hermitian A. For real types it is symm.
///
/// Shapes, errors, cost: as symm. Source: BLAS hemm.
template <Element T>
MYRIAD_API void hemm(Queue& queue, Side side, Uplo uplo, Scalar<T> alpha, In<T> a, In<T> b, Scalar<T> beta, Batch<T> c);

/// C = alpha A A^T + beta C, a symmetric C.
///
/// A is n-by-k as viewed (`transposed(a)` for A^T A), C n-by-n. A complex C is symmetric, not Hermitian (see `herk`). beta = 0 never reads
/// C (NaN in it is ignored); the number alpha = 0 or k = 0 never reads A. alpha = 0 or k = 0 with
/// beta = 1 does not change C. C must not overlap A.
/// Errors: BadArgument, positions of BLAS syrk (uplo 1, n 3, k 4, alpha 5, a 6, lda 7, beta 8, c 9, ldc 10).
/// Cost: n(n + 1) k flops (complex: four times); blocks of 32 (GPU: tiles) on the diagonal are computed in full and one triangle is
/// discarded. Reads nk + n(n + 1)/2 (beta = 0: nk), writes n(n + 1)/2 elements per matrix. Source: BLAS syrk.
template <Element T>
MYRIAD_API void syrk(Queue& queue, Uplo uplo, Scalar<T> alpha, In<T> a, Scalar<T> beta, Batch<T> c);

/// C = alpha A A^H + beta C, a Hermitian C, with real alpha and beta. Imaginary parts of its diagonal become zero, except that C is not
/// changed if beta = 1 and alpha = 0 or k = 0. For real types it is syrk.
///
/// Shapes, errors, cost: as syrk; `conjugate_transposed(a)` makes it A^H A. Source: BLAS herk.
template <Element T>
MYRIAD_API void herk(Queue& queue, Uplo uplo, Scalar<Real<T>> alpha, In<T> a, Scalar<Real<T>> beta, Batch<T> c);

/// C = alpha (A B^T + B A^T) + beta C, a symmetric C.
///
/// A and B are n-by-k as viewed, C n-by-n; otherwise as syrk, with twice its flops. C must overlap neither A nor B.
/// Errors: BadArgument, positions of BLAS syr2k (uplo 1, n 3, k 4, alpha 5, a 6, lda 7, b 8, ldb 9, beta 10, c 11, ldc 12). Source: BLAS
/// syr2k.
template <Element T>
MYRIAD_API void syr2k(Queue& queue, Uplo uplo, Scalar<T> alpha, In<T> a, In<T> b, Scalar<T> beta, Batch<T> c);

/// C = alpha A B^H + conj(alpha) B A^H + beta C, a Hermitian C, with a real beta. For real types it is syr2k.
///
/// Shapes, errors, cost: as syr2k; C and its diagonal: as herk. Source: BLAS her2k.
template <Element T>
MYRIAD_API void her2k(Queue& queue, Uplo uplo, Scalar<T> alpha, In<T> a, In<T> b, Scalar<Real<T>> beta, Batch<T> c);

/// B = alpha A B (side left) or B = alpha B A (right) with a triangular A, in place.
///
/// B is m-by-n; A is m-by-m (left) or n-by-n (right). `uplo` is the triangle of A as viewed, as for trsm; the diagonal with Diag::unit is
/// not used. alpha = 0 sets B to zero, as a number without reading A. B must not overlap A. On the CPU this is one BLAS call per matrix.
/// The other triangle may be multiplied as zeros: NaN or infinity in B then spreads to other rows (right: columns) of that B. On a GPU
/// large matrices take two launches per block of 32 rows, which suits batches rather than one large matrix.
/// Errors: BadArgument, positions of BLAS trmm (side 1, uplo 2, diag 4, m 5, n 6, alpha 7, a 8, lda 9, b 10, ldb 11).
/// Cost: m^2 n (left) or m n^2 (right) flops; complex: four times. Source: BLAS trmm.
template <Element T>
MYRIAD_API void trmm(Queue& queue, Side side, Uplo uplo, Diag diag, Scalar<T> alpha, In<T> a, Batch<T> b);

/// The inverse of a triangular A, in place.
///
/// a: n-by-n; the triangle `uplo` is read and overwritten, without the diagonal for Diag::unit. info: null or one int per matrix: 0, or i >
/// 0 if element (i, i), counted from one, is the first zero on the diagonal; that matrix is not changed.
/// Errors: BadArgument (uplo 1, diag 2, n 3, a 4, lda 5).
/// Cost: n^3 / 3 flops (complex: 4/3 n^3); n(n + 1)/2 elements read and written per matrix. Source: LAPACK trtri.
template <Element T>
MYRIAD_API void trtri(Queue& queue, Uplo uplo, Diag diag, Batch<T> a, int* info);

}  // namespace myriad
