#pragma once
/// LU factorization: linear systems, inverses, determinants.
///
/// `info` is null or has one entry per matrix: 0, or i > 0 if U(i, i), counted from one, is exactly zero (the first such i). With pivoting
/// the factorization is then complete, but no solution or inverse is computed: in-place routines keep that matrix of B, and a separate
/// output X is filled with NaN. Pivots are LAPACK's: row i was interchanged with row pivots[i], counted from one.

#include "myriad/batch.hpp"
#include "myriad/export.h"
#include "myriad/queue.hpp"

namespace myriad {

/// PA = LU with partial pivoting, in place: L unit lower trapezoidal below the diagonal, U on and above it.
///
/// a: m-by-n. pivots: min(m, n) per matrix.
/// Errors: BadArgument (m 1, n 2, a 3, lda 4, ipiv 5).
/// Cost: 2/3 n^3 flops for m = n; 2 n^2 elements moved. Source: LAPACK getrf; ties take the lowest row.
template <Element T>
MYRIAD_API void getrf(Queue& queue, Batch<T> a, Batch<int> pivots, int* info);

/// A = LU without pivoting, in place. info = i > 0: the pivot U(i, i) is exactly zero, and elements divided by it are Inf or NaN. Stable
/// only for matrices that need no pivoting, such as diagonally dominant ones.
/// Errors: BadArgument (m 1, n 2, a 3, lda 4). Cost: as getrf. Source: MAGMA getrf_nopiv.
template <Element T>
MYRIAD_API void getrf_nopiv(Queue& queue, Batch<T> a, int* info);

/// Solves op(A) X = B with the factors of getrf; X replaces B. Empty `pivots` (null data): factors of getrf_nopiv.
///
/// a: n-by-n, b: n-by-nrhs. pivots: n per matrix; row i was interchanged with row pivots(i), i ascending. That may be any row, also one
/// above i, as in LAPACK's laswp.
/// Errors: BadArgument (trans 1, n 2, nrhs 3, a 4, lda 5, ipiv 6, b 7, ldb 8). Like LAPACK, it does not check for zeros on the diagonal of
/// U: they give Inf or NaN.
/// Cost: 2 n^2 nrhs flops. Source: LAPACK getrs.
template <Element T>
MYRIAD_API void getrs(Queue& queue, Op op, In<T> a, Batch<int const> pivots, Batch<T> b);

/// Solves A X = B: A is overwritten by its factors, B by X. `pivots` may be empty (null data) when they are not wanted.
///
/// Errors: BadArgument (n 1, nrhs 2, a 3, lda 4, ipiv 5, b 6, ldb 7). Cost: 2/3 n^3 + 2 n^2 nrhs flops. Source: LAPACK gesv.
template <Element T>
MYRIAD_API void gesv(Queue& queue, Batch<T> a, Batch<int> pivots, Batch<T> b, int* info);

/// Solves A X = B and keeps A and B: the factors are never written. x may be the same batch as b.
///
/// A singular matrix has info > 0 and its X filled with NaN. Errors: BadArgument (n 1, nrhs 2, a 3, lda 4, b 5, ldb 6, x 7, ldx 8).
template <Element T>
MYRIAD_API void solve(Queue& queue, In<T> a, In<T> b, Batch<T> x, int* info);

/// The inverse from the factors of getrf, in place. Empty `pivots`: factors of getrf_nopiv. info = i > 0: U(i, i) is zero and the matrix is
/// not changed.
/// Errors: BadArgument (n 1, a 2, lda 3, ipiv 4). Cost: 4/3 n^3 flops. Source: LAPACK getri.
template <Element T>
MYRIAD_API void getri(Queue& queue, Batch<T> a, Batch<int const> pivots, int* info);

/// X = A^-1, with partial pivoting. x may be the same batch as a. A singular matrix has info > 0 and its X filled with NaN. On a GPU, up to
/// 32 rows, candidates for a pivot are compared by their leading bits (15 of the fraction, single: 18) and the first of equal ones is
/// taken. So info may differ from getrf's if only rounding decides whether a pivot is zero.
///
/// Errors: BadArgument (n 1, a 2, lda 3, x 4, ldx 5). Cost: 2 n^3 flops; 2 n^2 elements moved. Source: LAPACK getrf + getri.
template <Element T>
MYRIAD_API void inverse(Queue& queue, In<T> a, Batch<T> x, int* info);

/// det(A) of every matrix, from LU with partial pivoting; A is kept. The determinant of a 0-by-0 matrix is 1. Partial products of pivots
/// may leave the range of T. If the determinant itself does, the result is infinity or zero: see logdet.
/// Errors: BadArgument (n 1, a 2, lda 3, det 4). Cost: 2/3 n^3 flops.
template <Element T>
MYRIAD_API void det(Queue& queue, In<T> a, T* determinant);

/// det(A) = sign * exp(logabs): sign is 0, 1, -1 or of modulus one, logabs = -infinity for a singular matrix (like numpy.linalg.slogdet).
/// Errors: BadArgument (n 1, a 2, lda 3, sign 4, logabs 5). Cost: 2/3 n^3 flops.
template <Element T>
MYRIAD_API void logdet(Queue& queue, In<T> a, T* sign, Real<T>* logabs);

}  // namespace myriad
