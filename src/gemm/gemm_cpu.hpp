#pragma once
/// The CPU path of gemm: small matrices in kernels of our own, larger ones one BLAS call each.

#include "gemm/gemm.hpp"

namespace myriad::cpu {

template <Element T>
void gemm(Queue& queue, GemmTask<T> const& task);

}  // namespace myriad::cpu
