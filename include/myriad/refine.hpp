#pragma once
/// Equilibration, iterative refinement and backward errors: for badly scaled systems, and to check solutions.

#include "myriad/batch.hpp"
#include "myriad/export.h"
#include "myriad/queue.hpp"

namespace myriad {

/// Row and column scalings r, c such that the largest element of every row and column of diag(r) A diag(c) is near one. All are powers of
/// two, so that scaling is exact.
///
/// a: m-by-n; r: m, c: n entries per matrix. rowcnd, colcnd: ratio of smallest to largest scaling, amax: largest abs element; null or one
/// entry per matrix. info: null or per matrix 0, i in 1..m: row i is zero, m + j: column j is zero (r, c are then 1 for that matrix).
/// Errors: BadArgument (m 1, n 2, a 3, lda 4, r 5, c 6). Cost: mn elements read. Source: LAPACK geequb.
template <Element T>
MYRIAD_API void geequ(Queue& queue, Batch<T const> a, Batch<Real<T>> r, Batch<Real<T>> c, Real<T>* rowcnd, Real<T>* colcnd, Real<T>* amax,
                      int* info);
template <Element T>
void geequ(Queue& queue, Batch<T> a, Batch<Real<T>> r, Batch<Real<T>> c, Real<T>* rowcnd, Real<T>* colcnd, Real<T>* amax, int* info) {
  geequ(queue, Batch<T const>(a), r, c, rowcnd, colcnd, amax, info);
}

/// A = diag(r) A diag(c), in place. Empty r or c (null data) means ones.
/// Errors: BadArgument (m 1, n 2, a 3, lda 4, r 5, c 6). Source: LAPACK laqge, lascl2.
template <Element T>
MYRIAD_API void laqge(Queue& queue, Batch<T> a, Batch<Real<T> const> r, Batch<Real<T> const> c);

/// Refines X, a solution of op(A) X = B from the factors af and pivots, until its componentwise backward error is at rounding level, and
/// bounds the forward error. If five sweeps do not suffice (solutions that span many orders of magnitude), A is scaled by X and factored
/// again. GPUs do not factor again: X is the best of the sweeps, and berr its error.
///
/// a: the n-by-n matrix, af: its factors from getrf, b, x: n-by-nrhs. berr, ferr: nrhs entries per matrix, either may be empty (null data).
/// berr = max_i |B - op(A) X|_i / (|op(A)| |X| + |B|)_i; ferr bounds the relative error of each column in the maximum norm.
/// Errors: BadArgument (trans 1, n 2, nrhs 3, a 4, lda 5, af 6, ldaf 7, ipiv 8, b 9, ldb 10, x 11, ldx 12, ferr 13, berr 14).
/// Cost: 6 n^2 nrhs flops per sweep, usually one or two sweeps; about as many solves again for ferr. Source: LAPACK gerfs, which stops
/// earlier.
template <Element T>
MYRIAD_API void gerfs(Queue& queue, Op op, In<T> a, In<T> af, Batch<int const> pivots, In<T> b, Batch<T> x, Batch<Real<T>> ferr,
                      Batch<Real<T>> berr);

/// The componentwise backward error of X as a solution of A X = B: berr as in gerfs; X is only read. NaN if X, A or B have NaN.
///
/// The residual is accumulated in twice the precision of T, so that berr has a few correct digits even near the unit roundoff. a: m-by-n,
/// x: n-by-nrhs, b: m-by-nrhs, berr: nrhs entries per matrix.
/// Errors: BadArgument (m 1, n 2, nrhs 3, a 4, lda 5, x 6, ldx 7, b 8, ldb 9, berr 10).
/// Cost: 4 m n nrhs flops. Source: Oettli and Prager 1964; Higham, Accuracy and Stability, 7.1.
template <Element T>
MYRIAD_API void backward_error(Queue& queue, Batch<T const> a, In<T> x, In<T> b, Batch<Real<T>> berr);
template <Element T>
void backward_error(Queue& queue, Batch<T> a, In<T> x, In<T> b, Batch<Real<T>> berr) {
  backward_error(queue, Batch<T const>(a), x, b, berr);
}

}  // namespace myriad
