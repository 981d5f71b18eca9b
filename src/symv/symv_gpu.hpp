#pragma once
/// The GPU path of symv and hemv.

#include "packs/shipped.hpp"
#include "symv/symv.hpp"
#include "symv/symv_panels_config.cuh"

namespace myriad::gpu {

template <typename T>
void symv(Queue& queue, SymvTask<T> const& task);

/// In the text of the names of kernels.
[[nodiscard]] std::string device_name(SymvPanels const& c);

/// What a pack holds of this room.
std::vector<KernelSource> symv_kernels(KernelFilter const& filter);

}  // namespace myriad::gpu
