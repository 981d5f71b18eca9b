#pragma once
/// QR factorization by Householder reflections, and least squares.
///
/// The reflectors are LAPACK's: H(i) = I - tau(i) v v^H with v(i) = 1, v below the diagonal of column i, Q = H(1) H(2) ... H(k).

#include "myriad/batch.hpp"
#include "myriad/export.h"
#include "myriad/queue.hpp"

namespace myriad {

/// A = Q R in place: R on and above the diagonal, the reflectors below, `tau` with min(m, n) entries per matrix.
///
/// Errors: BadArgument (m 1, n 2, a 3, lda 4, tau 5). Cost: 2 n^2 (m - n / 3) flops for m >= n. Source: LAPACK geqrf.
template <Element T>
MYRIAD_API void geqrf(Queue& queue, Batch<T> a, Batch<T> tau);

/// C = op(Q) C (left) or C op(Q) (right) with the reflectors of geqrf in the first k columns of `a`; tau has k rows.
///
/// C is m-by-n; a has m (left) or n (right) rows. Op::transpose is for real types, Op::conjugate_transpose for all.
/// Errors: BadArgument (side 1, trans 2, m 3, n 4, k 5, a 6, lda 7, tau 8, c 9, ldc 10).
/// Cost: 4 m n k - 2 n k^2 flops (left). Source: LAPACK ormqr, unmqr.
template <Element T>
MYRIAD_API void ormqr(Queue& queue, Side side, Op op, In<T> a, In<T> tau, Batch<T> c);

/// The complex name of ormqr.
template <Element T>
void unmqr(Queue& queue, Side side, Op op, In<T> a, In<T> tau, Batch<T> c) {
  ormqr<T>(queue, side, op, a, tau, c);
}

/// The first n columns of Q, in place: a is m-by-n with m >= n and holds the k <= n reflectors of geqrf; tau has k rows.
///
/// Errors: BadArgument (m 1, n 2, k 3, a 4, lda 5, tau 6). Cost: 4 m n k - 2 (m + n) k^2 + 4/3 k^3 flops. Source: LAPACK orgqr, ungqr.
template <Element T>
MYRIAD_API void orgqr(Queue& queue, Batch<T> a, In<T> tau);

/// The complex name of orgqr.
template <Element T>
void ungqr(Queue& queue, Batch<T> a, In<T> tau) {
  orgqr<T>(queue, a, tau);
}

/// Least squares and minimum norm, A of full rank: min |B - A X| for m >= n, min |X| with A X = B for m < n.
///
/// a: m-by-n, overwritten by its factorization (QR, or LQ for m < n, as in LAPACK). If the largest element of A is near overflow or
/// underflow, A is first scaled by a power of two, and the factorization is that of the scaled matrix, as in LAPACK. b: max(m, n)-by-nrhs;
/// the first m rows hold B. On return the first n rows hold X, and for m > n the sum of squares of rows n to m - 1 of a column is its
/// squared residual norm. info: null or one per matrix: 0, or i > 0 if element (i, i) of the triangular factor is exactly zero: A is rank
/// deficient and that X is not computed.
/// Errors: BadArgument (m 2, n 3, nrhs 4, a 5, lda 6, b 7, ldb 8).
/// Cost: 2 n^2 (m - n / 3) + 4 m n nrhs flops. Source: LAPACK gels (op is a view).
template <Element T>
MYRIAD_API void gels(Queue& queue, Batch<T> a, Batch<T> b, int* info);

/// QR with column pivoting, A P = Q R: at every step the remaining column with the largest norm is next, so that the modulus of R's
/// diagonal falls, and a small R(k, k) shows that A is near a matrix of rank k - 1.
///
/// a: m-by-n, overwritten by R and the reflectors as in geqrf; tau: min(m, n) entries per matrix. jpvt: n entries per matrix, read and
/// written: a column j with jpvt(j) != 0 is moved to the front and not pivoted, so set jpvt to zero before a call to pivot all columns. On
/// return jpvt(k) is the number, counted from one, of the column of A that is column k of A P.
///
/// Among columns of equal norm the first is taken; rounding of norms may decide. Norms are updated from step to step, and computed anew
/// where too few digits are left, as in LAPACK. A matrix whose largest element is near overflow or underflow is scaled by a power of two,
/// and R scaled back. Factors of a matrix with NaN or infinity hold NaN or infinity; its jpvt is a permutation.
/// On a GPU a block factors a matrix: in shared memory what fits (about 160 rows and columns in double), else in global memory; there
/// matrices that are not stored by columns are copied to the workspace, of half a gigabyte or one matrix. Sums are in the same order
/// everywhere. Errors: BadArgument (m 1, n 2, a 3, lda 4, jpvt 5, tau 6). Cost: that of geqrf and 4 m n flops for norms. Source: LAPACK
/// geqp3; Drmac and Bujanovic 2008 (norms).
template <Element T>
MYRIAD_API void geqp3(Queue& queue, Batch<T> a, Batch<int> jpvt, Batch<T> tau);

/// Least squares for A of any rank: the X of least norm among those with the least |B - A X|, by geqp3 and a complete orthogonal
/// factorization A P = Q [T 0; 0 0] Z.
///
/// a: m-by-n, overwritten: T, of the size of the rank, on and above the diagonal, and the reflectors of Q and Z, as in LAPACK. b, on input
/// and on return: as for gels; where the rank is n, the squares of rows n to m - 1 sum up to that of the residual. jpvt: as for geqp3; set
/// it to zero. rank: null or one per matrix, the order of the largest leading triangle of R whose estimated condition number is at most 1 /
/// rcond; so it may differ from matrix_rank's. Singular values below rcond |A| then count as zero, as far as R shows them. rcond is taken
/// as it is, as in LAPACK: no negative number stands for a default as in gelsd, and with rcond <= 0 rounding errors count, so that X of a
/// singular A is large and meaningless. For a matrix of zeros and an empty one rank and X are zero. If A has NaN or infinity, its rank is 0
/// and its X NaN; NaN or infinity in a column of B matters for its own X alone. On a GPU a block solves for a matrix;
/// A and B are copied to the workspace where they are not stored by columns, as many matrices at a time as half a gigabyte holds, but at
/// least one. Errors: BadArgument (m 1, n 2, nrhs 3, a 4, lda 5, b 6, ldb 7, jpvt 8, rcond 9, rank 10). Cost: that of geqp3, and 2 r^2 (n -
/// r) + 2 (2 m k + 2 n r) nrhs flops with rank r and k = min(m, n). Source: LAPACK gelsy; Bischof 1990 (incremental condition estimation).
template <Element T>
MYRIAD_API void gelsy(Queue& queue, Batch<T> a, Batch<T> b, Batch<int> jpvt, Real<T> rcond, int* rank);

}  // namespace myriad
