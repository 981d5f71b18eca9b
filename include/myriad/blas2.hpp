#pragma once
/// Level 2 of BLAS: a matrix and vectors. A vector is a matrix of one column, so that it may have any stride, lie interleaved or behind
/// pointers, and be ragged: `vectors(x, n, count)`.

#include "myriad/batch.hpp"
#include "myriad/export.h"
#include "myriad/queue.hpp"

namespace myriad {

/// y = alpha A x + beta y for every matrix of the batch.
///
/// A is m-by-n as it is viewed (`transposed(a)` for A^T x, `conjugate_transposed(a)` for A^H x), x n-by-1, y m-by-1. A or x with
/// batch_stride 0 is one used by all. beta = 0 never reads y (NaN there is no harm); alpha = 0 or n = 0 never reads A and x, and leaves
/// beta y. y overlaps neither A nor x.
/// Errors: BadArgument, positions of BLAS gemv (m 2, n 3, a 5, lda 6, x 7, incx 8, y 10, incy 11).
/// Cost: 2 mn flops (complex: 8); reads mn + n + m (beta = 0: mn + n), writes m elements a matrix. Source: BLAS gemv.
template <Element T>
MYRIAD_API void gemv(Queue& queue, std::type_identity_t<T> alpha, In<T> a, In<T> x, std::type_identity_t<T> beta, Batch<T> y);

/// A = alpha x y^T + A for every matrix of the batch, in place.
///
/// x is m-by-1, y n-by-1, A m-by-n. Of complex vectors this is geru; with `conjugated(y)` it is gerc, alpha x y^H + A. x or y with
/// batch_stride 0 is one used by all. alpha = 0 leaves A alone and reads nothing. A overlaps neither x nor y.
/// Errors: BadArgument, positions of BLAS ger (m 1, n 2, x 4, incx 5, y 6, incy 7, a 8, lda 9).
/// Cost: 2 mn flops (complex: 8); reads mn + m + n, writes mn elements a matrix. Source: BLAS ger, geru, gerc.
template <Element T>
MYRIAD_API void ger(Queue& queue, std::type_identity_t<T> alpha, In<T> x, In<T> y, Batch<T> a);

/// x = A x with a triangular A for every matrix of the batch, in place.
///
/// A is n-by-n; `uplo` names the triangle of A as it is viewed: with a lower triangular l, `trmv(q, Uplo::upper, diag, transposed(l), x)`
/// is L^T x. The other triangle, and the diagonal with Diag::unit, are not used. x is n-by-1. A with batch_stride 0 is one used by all. x
/// does not overlap A. On the CPU and on GPUs; there, from n = 33 on, few matrices take workspace from the queue's pool, n elements each.
/// Errors: BadArgument, positions of BLAS trmv (uplo 1, diag 3, n 4, a 5, lda 6, x 7, incx 8). Cost: n^2 flops (complex: 4 n^2); reads
/// n(n + 1)/2 + n, writes n elements a matrix. Source: BLAS trmv.
template <Element T>
MYRIAD_API void trmv(Queue& queue, Uplo uplo, Diag diag, In<T> a, Batch<T> x);

/// Solves A x = b with a triangular A for every matrix of the batch; x replaces b.
///
/// It is trsm with one column, on the CPU and on GPUs; there by substitution whatever the size, while trsm sums up products from n = 129 on
/// (complex: 65), and with workspace of 4 bytes a matrix for few matrices of such sizes, whose blocks wait for each other: a green context
/// that has too few multiprocessors for them is a GpuError, before x is written. A singular A gives Inf or NaN in its own x.
/// Shapes, errors, cost: as trmv. Source: BLAS trsv.
template <Element T>
MYRIAD_API void trsv(Queue& queue, Uplo uplo, Diag diag, In<T> a, Batch<T> x);

/// y = alpha A x + beta y with a symmetric A for every matrix of the batch.
///
/// A is n-by-n; `uplo` names the triangle of A as it is viewed that is read, diagonal included, and nothing is used of the other one, which
/// may hold NaN. A complex A is symmetric, not Hermitian (see `hemv`). x and y are n-by-1. A or x with batch_stride 0 is one used by all.
/// beta = 0 never reads y (NaN there is no harm); alpha = 0 never reads A and x, and leaves beta y. y overlaps neither A nor x.
///
/// On a GPU sums have a fixed order: the bits of y depend on n, uplo, the element type and, from n = 33 on, on whether neighbours in memory
/// are those of a column or of a row, and on nothing else. Of matrices of more than 128 rows columns (or rows) that begin at multiples of
/// 16 bytes are read 16 bytes at a time. Errors: BadArgument, positions of BLAS symv (uplo 1, n 2, a 4, lda 5, x 6, incx 7, y 9, incy 10).
/// Cost: 2 n^2 flops (complex: 8 n^2); reads n(n + 1)/2 + 2n (beta = 0: n(n + 1)/2 + n), writes n elements a matrix. On a GPU, matrices
/// above 2048 rows (double complex: 1536) take workspace from the queue's pool (docs/kernels/vectors.md), which is written and read once:
/// at first n^2/73 elements, n^2/245 at 32768 (double complex: n^2/38, n^2/126); several matrices at a time no more than 256 MB, one matrix
/// what it needs. A green context that has too few multiprocessors for them is a GpuError, before y is written. Smaller ones need none; of
/// fewer than 48 what is beside the diagonal is read twice, the second time from the L2 cache. Source: Nath, Tomov, Dong, Dongarra,
/// Optimizing symmetric dense matrix-vector multiplication on GPUs (2011); BLAS symv.
template <Element T>
MYRIAD_API void symv(Queue& queue, Uplo uplo, std::type_identity_t<T> alpha, In<T> a, In<T> x, std::type_identity_t<T> beta, Batch<T> y);

/// y = alpha A x + beta y with a Hermitian A. Imaginary parts of its diagonal are taken as zero. For real types it is symv.
///
/// Shapes, errors, cost: as symv. Source: BLAS hemv.
template <Element T>
MYRIAD_API void hemv(Queue& queue, Uplo uplo, std::type_identity_t<T> alpha, In<T> a, In<T> x, std::type_identity_t<T> beta, Batch<T> y);

}  // namespace myriad
