#pragma once
/// Linear systems in double precision, solved by factors in single precision and iterative refinement. This is for processors on which
/// single precision is many times as fast as double; on an H200, with twice the rate, it is not faster than gesv.
///
/// Each matrix is converted to single precision and factored. Then X is refined, with residuals in double, until every column has
///
///     max |b - A x| <= max |x| norm(A) u sqrt(n)
///
/// where norm(A) is the largest sum of moduli of a row, u = 2^-53, and the modulus of a complex entry of b - A x or x counts as |re| +
/// |im|. A matrix that does not get there is solved again in double: its A, X, `pivots` and `info` then have the bits of the plain routine.
/// Each matrix decides for itself. On a GPU nothing waits for the host.
///
/// `iter`: null or one entry per matrix, as in LAPACK. i >= 0: X took i refinements, A is not changed and info is 0. Below zero, the matrix
/// was solved in double:
///
/// | iter | reason |
/// |---|---|
/// | -1 | the elements are in single precision already |
/// | -2 | a number was too large for single precision |
/// | -3 | the factorization in single precision failed |
/// | -31 | refinement did not converge, or A or B holds NaN |
///
/// A CPU makes up to 30 refinements, as LAPACK does. A GPU makes up to 10: all are enqueued, and a new factorization costs less than more
/// of them. Matrices with condition numbers up to about 1e6 converge.

#include "myriad/batch.hpp"
#include "myriad/export.h"
#include "myriad/queue.hpp"

namespace myriad {

/// Solves A X = B by LU factorization with partial pivoting. X may be the same batch as B; otherwise B is kept.
///
/// a: n-by-n, kept where iter >= 0, else overwritten by its factors. pivots: n per matrix, of the factorization that X comes from; may be
/// empty (null data). b, x: n-by-nrhs. info = i > 0: U(i, i) is exactly zero in double, too, and X is filled with NaN.
/// Errors: BadArgument (n 1, nrhs 2, a 3, lda 4, ipiv 5, b 6, ldb 7, x 8, ldx 9, iter 12). Cost: 2/3 n^3 + 2 n^2 nrhs flops in single,
/// 4 n^2 nrhs for each refinement, and those of gesv where iter < 0. On a GPU the workspace holds a copy of A in single and three of B, for
/// as many matrices at a time as fit 1 GiB. Source: LAPACK dsgesv, zcgesv.
template <Element T>
MYRIAD_API void gesv_mixed(Queue& queue, Batch<T> a, Batch<int> pivots, In<T> b, Batch<T> x, int* iter, int* info);

/// The same with a symmetric (Hermitian) positive definite A, of which the triangle `uplo` is read, and written where iter < 0.
///
/// info = i > 0: the leading minor of order i is not positive definite, and X is filled with NaN. Errors: BadArgument (uplo 1, n 2, nrhs 3,
/// a 4, lda 5, b 6, ldb 7, x 8, ldx 9, iter 12). Cost: n^3 / 3 + 2 n^2 nrhs flops in single, 4 n^2 nrhs for each refinement, and those of
/// posv where iter < 0. Source: LAPACK dsposv, zcposv.
template <Element T>
MYRIAD_API void posv_mixed(Queue& queue, Uplo uplo, Batch<T> a, In<T> b, Batch<T> x, int* iter, int* info);

}  // namespace myriad
