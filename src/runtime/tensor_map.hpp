#pragma once
/// Tensor maps: TMA descriptors of compute capability 9.0.

#include <optional>

#include "myriad/queue.hpp"
#include "simt/boxes.hpp"

namespace myriad::gpu {

/// Encodes a descriptor for the queue's GPU; none if the driver lacks the function or refuses these matrices.
std::optional<simt::TensorMap> tensor_map(Queue& queue, simt::BoxedMatrices const& x);

}  // namespace myriad::gpu
