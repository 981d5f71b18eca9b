#pragma once
/// The CPU path of gesvd.

#include "myriad/queue.hpp"
#include "svd/svd.hpp"

namespace myriad::cpu {

template <Element T>
void gesvd(Queue& queue, GesvdTask<T> const& task);

template <Element T>
void pinv(Queue& queue, PinvTask<T> const& task);

}  // namespace myriad::cpu
