#pragma once
/// Triangular systems with several right-hand sides.

#include "myriad/batch.hpp"
#include "myriad/export.h"
#include "myriad/queue.hpp"
#include "myriad/scalar.hpp"

namespace myriad {

/// Solves A X = alpha B (side left) or X A = alpha B (right) with a triangular A; X replaces B.
///
/// B is m-by-n; A is m-by-m (left) or n-by-n (right). `uplo` is the triangle of A as viewed: with a lower triangular l, `trsm(q,
/// Side::left, Uplo::upper, diag, 1, transposed(l), b)` solves L^T X = B. The other triangle, and the diagonal with Diag::unit, are not
/// read. A singular A gives Inf or NaN in its own X, as in BLAS. These, and any from NaN or infinity in B, may appear in a few other rows
/// (side right: columns) than in BLAS. alpha = 0 sets B to zero, as a number without reading A.
/// Errors: BadArgument, positions of BLAS trsm (side 1, uplo 2, diag 4, m 5, n 6, alpha 7, a 8, lda 9, b 10, ldb 11).
/// Cost: m^2 n (left) or m n^2 (right) flops; complex: four times. Source: BLAS trsm.
template <Element T>
MYRIAD_API void trsm(Queue& queue, Side side, Uplo uplo, Diag diag, Scalar<T> alpha, In<T> a, Batch<T> b);

}  // namespace myriad
