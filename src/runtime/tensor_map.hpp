#pragma once
/// Tensor maps, by which the copy engine of compute capability 9.0 finds boxes of matrices.

#include <optional>

#include "myriad/queue.hpp"
#include "simt/boxes.hpp"

namespace myriad::gpu {

/// What the driver makes of it, for the queue's GPU; none where it has no such function, or refuses these matrices.
std::optional<simt::TensorMap> tensor_map(Queue& queue, simt::BoxedMatrices const& x);

}  // namespace myriad::gpu
