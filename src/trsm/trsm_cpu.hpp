#pragma once
/// The CPU path of trsm: small matrices side by side in SIMD lanes, larger ones one BLAS call each.

#include "trsm/trsm.hpp"

namespace myriad::cpu {

template <Element T>
void trsm(Queue& queue, TrsmTask<T> const& task);

}  // namespace myriad::cpu
