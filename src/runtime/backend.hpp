#pragma once
/// Queries on the backend of a queue.

#include "myriad/queue.hpp"

namespace myriad::gpu {

[[nodiscard]] inline bool on_gpu(Queue const& queue) noexcept { return queue.backend() == Backend::gpu; }

}  // namespace myriad::gpu
