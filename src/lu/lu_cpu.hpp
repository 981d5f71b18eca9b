#pragma once
/// The CPU path of the LU family: small matrices side by side in SIMD lanes, larger ones one LAPACK call each.

#include "lu/lu.hpp"

namespace myriad::cpu {

template <Element T>
void getrf(Queue& queue, GetrfTask<T> const& task);
template <Element T>
void getrs(Queue& queue, GetrsTask<T> const& task);
template <Element T>
void gesv(Queue& queue, GesvTask<T> const& task);
template <Element T>
void inverse(Queue& queue, InverseTask<T> const& task);
template <Element T>
void det(Queue& queue, DetTask<T> const& task);

}  // namespace myriad::cpu
