#pragma once
/// The CPU path of syevd.

#include "eigen/eigen.hpp"
#include "myriad/queue.hpp"

namespace myriad::cpu {

template <Element T>
void syevd(Queue& queue, SyevdTask<T> const& task);

}  // namespace myriad::cpu
