#pragma once
/// The CPU path of systems by factors in single precision.

#include "mixed/mixed.hpp"

namespace myriad::cpu {

template <typename T>
void solve_mixed(Queue& queue, MixedTask<T> const& task);

}  // namespace myriad::cpu
