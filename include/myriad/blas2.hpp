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

}  // namespace myriad
