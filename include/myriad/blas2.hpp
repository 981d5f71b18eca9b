#pragma once
/// Level 2 BLAS: products and triangular solves with vectors. A vector is a matrix of one column, so it may be strided, interleaved,
/// ragged, or an array of pointers: `vectors(x, n, count)`.

#include "myriad/batch.hpp"
#include "myriad/export.h"
#include "myriad/queue.hpp"
#include "myriad/scalar.hpp"

namespace myriad {

/// y = alpha A x + beta y for every matrix of the batch.
///
/// A is m-by-n as it is viewed (`transposed(a)` for A^T x, `conjugate_transposed(a)` for A^H x), x n-by-1, y m-by-1. batch_stride 0 of A or
/// x shares one for the whole batch. beta = 0 never reads y (NaN in it is ignored); the number alpha = 0 or n = 0 never reads A and x;
/// any alpha = 0 gives beta y. y must overlap neither A nor x.
/// Errors: BadArgument, positions of BLAS gemv (m 2, n 3, alpha 4, a 5, lda 6, x 7, incx 8, beta 9, y 10, incy 11).
/// Cost: 2 mn flops (complex: 8); reads mn + n + m (beta = 0: mn + n), writes m elements per matrix. Source: BLAS gemv.
template <Element T>
MYRIAD_API void gemv(Queue& queue, Scalar<T> alpha, In<T> a, In<T> x, Scalar<T> beta, Batch<T> y);

/// A = alpha x y^T + A for every matrix of the batch, in place.
///
/// x is m-by-1, y n-by-1, A m-by-n. For complex types this is geru, and with `conjugated(y)` gerc: alpha x y^H + A. batch_stride 0 of x or
/// y shares one for the whole batch. alpha = 0 does not change A; as a number it reads nothing. A must overlap neither x nor y.
/// Errors: BadArgument, positions of BLAS ger (m 1, n 2, alpha 3, x 4, incx 5, y 6, incy 7, a 8, lda 9).
/// Cost: 2 mn flops (complex: 8); reads mn + m + n, writes mn elements per matrix. Source: BLAS ger, geru, gerc.
template <Element T>
MYRIAD_API void ger(Queue& queue, Scalar<T> alpha, In<T> x, In<T> y, Batch<T> a);

/// x = A x with a triangular A for every matrix of the batch, in place.
///
/// A is n-by-n; `uplo` is the triangle of A as viewed: with a lower triangular l, `trmv(q, Uplo::upper, diag, transposed(l), x)` is L^T x.
/// The other triangle, and the diagonal with Diag::unit, are not used. x is n-by-1. batch_stride 0 of A shares one for the whole batch. x
/// must not overlap A. On GPUs small batches with n > 32 need workspace of n elements per matrix from the queue's pool.
/// Errors: BadArgument, positions of BLAS trmv (uplo 1, diag 3, n 4, a 5, lda 6, x 7, incx 8).
/// Cost: n^2 flops (complex: 4 n^2); reads n(n + 1)/2 + n, writes n elements per matrix. Source: BLAS trmv.
template <Element T>
MYRIAD_API void trmv(Queue& queue, Uplo uplo, Diag diag, In<T> a, Batch<T> x);

/// Solves A x = b with a triangular A for every matrix of the batch; x replaces b.
///
/// This is trsm with one column. On GPUs it is substitution for every n, while trsm uses products from n = 129 on (complex: 65). Small
/// batches of such sizes need workspace of 4 bytes per matrix. Their blocks wait for each other, so a green context with too few
/// multiprocessors gives a GpuError before x is written. A singular A gives Inf or NaN in its own x only. Shapes, errors, cost: as trmv.
/// Source: BLAS trsv.
template <Element T>
MYRIAD_API void trsv(Queue& queue, Uplo uplo, Diag diag, In<T> a, Batch<T> x);

/// y = alpha A x + beta y with a symmetric A for every matrix of the batch.
///
/// A is n-by-n; `uplo` is the triangle of A as viewed that is read, with the diagonal; the other one may hold NaN. A complex A is
/// symmetric, not Hermitian (see `hemv`). x and y are n-by-1. batch_stride 0 of A or x shares one for the whole batch. beta = 0 never reads
/// y (NaN in it is ignored); the number alpha = 0 never reads A and x; any alpha = 0 gives beta y. y must overlap neither A nor x.
///
/// On a GPU sums have a fixed order: the bits of y depend only on n, uplo, the element type and, for n > 32, on whether A is column-major
/// or row-major. For n > 128, columns (or rows) aligned to 16 bytes are read 16 bytes at a time.
/// Errors: BadArgument, positions of BLAS symv (uplo 1, n 2, alpha 3, a 4, lda 5, x 6, incx 7, beta 8, y 9, incy 10).
/// Cost: 2 n^2 flops (complex: 8 n^2); reads n(n + 1)/2 + 2n (beta = 0: n(n + 1)/2 + n), writes n elements per matrix. On a GPU matrices
/// above 2048 rows (double complex: 1536) need workspace from the queue's pool (docs/kernels/vectors.md), which is written and read once:
/// n^2/73 elements just above that size, n^2/245 at 32768 (double complex: n^2/38, n^2/126). It is limited to 256 MB, or to one matrix if
/// that needs more. A green context with too few multiprocessors for these sizes gives a GpuError before y is written. Smaller matrices
/// need no workspace; batches of fewer than 48 read the off-diagonal part twice, the second time from the L2 cache. Source: Nath, Tomov,
/// Dong, Dongarra, Optimizing symmetric dense matrix-vector multiplication on GPUs (2011); BLAS symv.
template <Element T>
MYRIAD_API void symv(Queue& queue, Uplo uplo, Scalar<T> alpha, In<T> a, In<T> x, Scalar<T> beta, Batch<T> y);

/// y = alpha A x + beta y with a Hermitian A. Imaginary parts of its diagonal are taken as zero. For real types it is symv.
///
/// Shapes, errors, cost: as symv. Source: BLAS hemv.
template <Element T>
MYRIAD_API void hemv(Queue& queue, Uplo uplo, Scalar<T> alpha, In<T> a, In<T> x, Scalar<T> beta, Batch<T> y);

}  // namespace myriad
