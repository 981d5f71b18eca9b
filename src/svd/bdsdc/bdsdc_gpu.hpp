#pragma once
/// Bidiagonal singular value decompositions of any size on a GPU.

#include <vector>

#include "blocked/queue_machine.hpp"
#include "core/dtype.hpp"

namespace myriad::gpu {

/// The kernels of bdsdc_by_levels and bdsdc_values for packs, for that real type.
std::vector<KernelSource> bdsdc_kernels(Dtype dtype, int real_bytes);

}  // namespace myriad::gpu
