#pragma once
/// Tensor maps, by which the copy engine of compute capability 9.0 finds boxes of matrices.

#include <optional>

#include "simt/boxes.hpp"

namespace myriad::gpu {

/// What the driver makes of it; none where it has no such function, or refuses.
std::optional<simt::TensorMap> tensor_map(simt::BoxedMatrices const& x);

}  // namespace myriad::gpu
