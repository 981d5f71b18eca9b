#pragma once
/// The CPU path of the QR family: small matrices side by side in SIMD lanes, larger ones a few LAPACK calls each.

#include "qr/qr.hpp"

namespace myriad::cpu {

template <Element T>
void geqrf(Queue& queue, GeqrfTask<T> const& task);
template <Element T>
void ormqr(Queue& queue, OrmqrTask<T> const& task);
template <Element T>
void orgqr(Queue& queue, OrgqrTask<T> const& task);
template <Element T>
void gels(Queue& queue, GelsTask<T> const& task);
template <Element T>
void geqp3(Queue& queue, Geqp3Task<T> const& task);
template <Element T>
void gelsy(Queue& queue, GelsyTask<T> const& task);

}  // namespace myriad::cpu
