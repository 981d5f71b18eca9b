#pragma once
/// The CPU paths of gesvd and of the routines that use it.

#include <cstdint>

#include "core/check.hpp"
#include "myriad/queue.hpp"
#include "svd/by_svd_task.hpp"
#include "svd/svd.hpp"

namespace myriad::cpu {

/// Throws if sizes of LAPACK's workspaces for m-by-n matrices do not fit its integers; `argument` is the routine's n.
template <Element T>
void check_svd_workspace(char const* routine, Argument argument, SvdJob job, std::int64_t m, std::int64_t n);

template <Element T>
void gesvd(Queue& queue, GesvdTask<T> const& task);

template <Element T>
void by_svd(Queue& queue, BySvdTask<T> const& task);

}  // namespace myriad::cpu
