#pragma once
/// The CPU path of symv and hemv.

#include "myriad/queue.hpp"
#include "symv/symv.hpp"

namespace myriad::cpu {

template <Element T>
void symv(Queue& queue, SymvTask<T> const& task);

}  // namespace myriad::cpu
