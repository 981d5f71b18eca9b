#pragma once
/// Linear systems in double precision by factors in single precision, which cost half as much memory and time or less, and refinement.
///
/// Each matrix is converted to single precision and factored; X is then refined, with residuals in double, until every column has
///
///     max |b - A x| <= max |x| norm(A) u sqrt(n)
///
/// where norm(A) is the largest sum of moduli of a row, u = 2^-53, and the modulus of a complex entry of b - A x or x counts as |re| +
/// |im|. A matrix for which that fails is solved anew in double: its A, X, `pivots` and `info` then have the bits that the plain routine
/// gives. Each matrix decides for itself; on a GPU nothing waits for the host.
///
/// `iter`: null or one entry per matrix, with LAPACK's meaning. i >= 0: X is there after i refinements, A is as it was and info is 0.
/// Below zero, the matrix was solved in double, because
///
/// | iter | reason |
/// |---|---|
/// | -1 | the elements are in single precision already |
/// | -2 | a number was too large for single precision |
/// | -3 | the factorization in single precision failed |
/// | -31 | refinement did not converge, or A holds NaN |
///
/// On a CPU there are up to 30 refinements, as in LAPACK. On a GPU there are up to 10: all are enqueued, and a matrix that takes more costs
/// less by a new factorization. Matrices of condition numbers up to 1e6 or so converge.

#include "myriad/batch.hpp"
#include "myriad/export.h"
#include "myriad/queue.hpp"

namespace myriad {

/// Solves A X = B by LU factorization with partial pivoting. X may be the very batch B, which is kept otherwise.
///
/// a: n-by-n, kept where iter >= 0, else overwritten by its factors. pivots: n per matrix, of the factorization that X comes from; may be
/// empty (null data). b, x: n-by-nrhs. info = i > 0: U(i, i) is exactly zero in double, too, and X is filled with NaN.
/// Errors: BadArgument (n 1, nrhs 2, a 3, lda 4, ipiv 5, b 6, ldb 7, x 8, ldx 9, iter 12). Cost: 2/3 n^3 + 2 n^2 nrhs flops in single,
/// 4 n^2 nrhs for each refinement; gesv's besides where iter < 0. On a GPU: a copy of A in single and three of B in workspace, for as many
/// matrices at a time as 1 GiB holds. Source: LAPACK dsgesv, zcgesv.
template <Element T>
MYRIAD_API void gesv_mixed(Queue& queue, Batch<T> a, Batch<int> pivots, In<T> b, Batch<T> x, int* iter, int* info);

/// The same with a symmetric (Hermitian) positive definite A, of which the triangle `uplo` is read, and written where iter < 0.
///
/// info = i > 0: the leading minor of order i is not positive definite, and X is filled with NaN. Errors: BadArgument (uplo 1, n 2, nrhs 3,
/// a 4, lda 5, b 6, ldb 7, x 8, ldx 9, iter 12). Cost: n^3 / 3 + 2 n^2 nrhs flops in single, 4 n^2 nrhs for each refinement; posv's besides
/// where iter < 0. Source: LAPACK dsposv, zcposv.
template <Element T>
MYRIAD_API void posv_mixed(Queue& queue, Uplo uplo, Batch<T> a, In<T> b, Batch<T> x, int* iter, int* info);

}  // namespace myriad
