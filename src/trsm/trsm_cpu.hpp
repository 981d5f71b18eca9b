#pragma once
/// The CPU path of triangles: solves with small ones in SIMD lanes; larger ones and products by one BLAS call each.

#include "trsm/trsm.hpp"

namespace myriad::cpu {

template <Element T>
void trsm(Queue& queue, TrsmTask<T> const& task);

/// B = alpha A B.
template <Element T>
void trmm(Queue& queue, TrsmTask<T> const& task);

}  // namespace myriad::cpu
