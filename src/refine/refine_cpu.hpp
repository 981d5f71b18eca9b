#pragma once
/// The CPU path of equilibration and refinement.

#include "myriad/queue.hpp"
#include "refine/refine.hpp"

namespace myriad::cpu {

template <Element T>
void geequ(Queue& queue, GeequTask<T> const& task);
template <Element T>
void laqge(Queue& queue, LaqgeTask<T> const& task);
template <Element T>
void gerfs(Queue& queue, GerfsTask<T> const& task);
template <Element T>
void backward_error(Queue& queue, BackwardErrorTask<T> const& task);

}  // namespace myriad::cpu
