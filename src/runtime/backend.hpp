#pragma once
/// Which kind of queue it is.

#include "myriad/queue.hpp"

namespace myriad::gpu {

[[nodiscard]] inline bool on_gpu(Queue const& queue) noexcept { return queue.backend() == Backend::gpu; }

/// Throws Unavailable where the queue is a GPU: for a routine that has no kernel yet, before it touches anything.
void require_cpu(Queue const& queue, char const* routine);

}  // namespace myriad::gpu
