#pragma once
/// Reduction to bidiagonal form and the singular value decomposition.

#include <cstdint>

#include "myriad/batch.hpp"
#include "myriad/export.h"
#include "myriad/queue.hpp"

namespace myriad {

/// Results of gesvd beside the singular values, with k = min(m, n).
enum class SvdJob : char {
  values = 'N',  ///< singular values only
  thin = 'S',    ///< the first k columns of U and rows of V^H
  full = 'A',    ///< all m columns of U and n rows of V^H
  left = 'U',    ///< the first k columns of U only
  right = 'V',   ///< the first k rows of V^H only
};

/// Which factor of gebrd: Q from the left (A = Q B P^H) or P from the right.
enum class Vect : char { q = 'Q', p = 'P' };

/// The singular value decomposition of every matrix of the batch: A = U diag(s) V^H.
///
/// a: m-by-n; its content is unspecified afterwards. s: min(m, n)-by-1, real, descending, not negative (zeros are +0), in any layout. u:
/// m-by-k (thin, left) or m-by-m (full); vt = V^H: k-by-n (thin, right) or n-by-n (full); one that is not asked for is not read and may be
/// `{}`.
template <Element T>
MYRIAD_API void gesvd(Queue& queue, SvdJob job, Batch<T> a, Batch<Real<T>> s, Batch<T> u, Batch<T> vt, int* info);

/// The reduction of every matrix to a real bidiagonal one: A = Q B P^H, B upper bidiagonal for m >= n and lower for m < n.
///
/// a: m-by-n, overwritten by B and the reflectors as in LAPACK; d: k-by-1, k = min(m, n); e: (k - 1)-by-1; tauq, taup: k-by-1.
template <Element T>
MYRIAD_API void gebrd(Queue& queue, Batch<T> a, Batch<Real<T>> d, Batch<Real<T>> e, Batch<T> tauq, Batch<T> taup);

/// Q or P^H of gebrd, in place, as LAPACK orgbr: k is the number of columns (Vect::q) or rows (Vect::p) of the matrix that gebrd reduced.
template <Element T>
MYRIAD_API void orgbr(Queue& queue, Vect vect, std::int64_t k, Batch<T> a, In<T> tau);

/// C = op(Q) C, C op(Q), op(P) C or C op(P) with the Q or P of gebrd, as LAPACK ormbr; k as in orgbr.
template <Element T>
MYRIAD_API void ormbr(Queue& queue, Vect vect, Side side, Op op, std::int64_t k, In<T> a, In<T> tau, Batch<T> c);

}  // namespace myriad
