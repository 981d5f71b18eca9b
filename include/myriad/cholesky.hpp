#pragma once
/// Cholesky factorization of symmetric (Hermitian) positive definite matrices: linear systems and inverses.
///
/// Only the triangle `uplo` of A, as viewed, is read and written; the other may hold anything and is not changed. The imaginary parts of
/// the diagonal are taken as zero. `info` is null or has one entry per matrix: 0, or i > 0 if the leading minor of order i is not positive
/// definite (NaN counts as not positive definite).

#include "myriad/batch.hpp"
#include "myriad/export.h"
#include "myriad/queue.hpp"

namespace myriad {

/// A = L L^H (lower) or U^H U (upper), in place. With info = i > 0 the content of that triangle is unspecified, as in LAPACK.
///
/// Errors: BadArgument (uplo 1, n 2, a 3, lda 4). Cost: n^3 / 3 flops; n (n + 1) elements moved. Source: LAPACK potrf.
template <Element T>
MYRIAD_API void potrf(Queue& queue, Uplo uplo, Batch<T> a, int* info);

/// Solves A X = B with the factor of potrf; X replaces B.
/// Errors: BadArgument (uplo 1, n 2, nrhs 3, a 4, lda 5, b 6, ldb 7). Cost: 2 n^2 nrhs flops. Source: LAPACK potrs.
template <Element T>
MYRIAD_API void potrs(Queue& queue, Uplo uplo, In<T> a, Batch<T> b);

/// Solves A X = B: A is overwritten by its factor, B by X; if info > 0, B is not changed.
/// Errors: BadArgument (uplo 1, n 2, nrhs 3, a 4, lda 5, b 6, ldb 7). Cost: n^3 / 3 + 2 n^2 nrhs flops. Source: LAPACK posv.
template <Element T>
MYRIAD_API void posv(Queue& queue, Uplo uplo, Batch<T> a, Batch<T> b, int* info);

/// Solves A X = B and keeps A and B: the factor is never written. x may be the same batch as b.
///
/// a: n-by-n, b and x: n-by-nrhs. A matrix that is not positive definite has info > 0 and its X filled with NaN.
/// Errors: BadArgument (uplo 1, n 2, nrhs 3, a 4, lda 5, b 6, ldb 7, x 8, ldx 9).
/// Cost: n^3 / 3 + 2 n^2 nrhs flops; n (n + 1) / 2 + 2 n nrhs elements moved. Source: LAPACK posv; relates to it as `solve` to gesv.
template <Element T>
MYRIAD_API void solve_positive_definite(Queue& queue, Uplo uplo, In<T> a, In<T> b, Batch<T> x, int* info);

/// The triangle `uplo` of A^-1 from the factor of potrf, in place. info = i > 0: element (i, i) of the factor is zero and the matrix is not
/// changed.
/// Errors: BadArgument (uplo 1, n 2, a 3, lda 4). Cost: 2/3 n^3 flops. Source: LAPACK potri.
template <Element T>
MYRIAD_API void potri(Queue& queue, Uplo uplo, Batch<T> a, int* info);

/// A + jitter I + E = L L^H (lower) or U^H U (upper), in place, for matrices that are barely or not positive definite.
///
/// jitter, floor: null, or one number per matrix, in the queue's memory. The jitter is added to the diagonal. A pivot d, the square of the
/// next element on the diagonal of L, that is below a positive floor is replaced by the floor: E is diagonal and not negative, floor - d in
/// those places and zero in all others. So the factor is that of a positive definite matrix, which is A + jitter I if no pivot was
/// replaced. With a floor far below the squares of the elements beside such a pivot, L and E grow, and again with each further replaced
/// pivot. replaced: null, or the number of replaced pivots of each matrix. Without a floor (null, zero, negative or NaN) info is that of
/// potrf for A + jitter I. With a floor, info > 0 means NaN, which is also what overflow leads to. On a GPU, up to 32 rows, it is slower
/// than potrf.
///
/// Errors: BadArgument (uplo 1, n 2, a 3, lda 4, jitter 5, floor 6, replaced 7). Cost: as potrf.
template <Element T>
MYRIAD_API void potrf_regularized(Queue& queue, Uplo uplo, Batch<T> a, Real<T> const* jitter, Real<T> const* floor, int* replaced,
                                  int* info);

/// Solves (A + jitter I + E) X = B with that factor, which overwrites A; X replaces B. Where info > 0, B is kept.
/// Errors: BadArgument (uplo 1, n 2, nrhs 3, a 4, lda 5, b 6, ldb 7, jitter 8, floor 9, replaced 10). Cost: as posv.
template <Element T>
MYRIAD_API void posv_regularized(Queue& queue, Uplo uplo, Batch<T> a, Batch<T> b, Real<T> const* jitter, Real<T> const* floor,
                                 int* replaced, int* info);

}  // namespace myriad
