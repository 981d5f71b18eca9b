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

}  // namespace myriad
