#pragma once
/// The CPU path of the Cholesky family: small matrices side by side in SIMD lanes, larger ones one LAPACK call each.

#include "cholesky/cholesky.hpp"

namespace myriad::cpu {

template <Element T>
void potrf(Queue& queue, PotrfTask<T> const& task);
template <Element T>
void potrs(Queue& queue, PotrsTask<T> const& task);
template <Element T>
void posv(Queue& queue, PosvTask<T> const& task);
template <Element T>
void potri(Queue& queue, PotrfTask<T> const& task);

}  // namespace myriad::cpu
