#pragma once
/// The kernels of a pack.

#include <optional>
#include <string>
#include <vector>

#include "runtime/kernel_filter.hpp"
#include "runtime/kernel_store.hpp"

namespace myriad::gpu {

/// The kernels that routines use without a user's table, selected by the filter, each once.
std::vector<KernelSource> shipped_kernels(KernelFilter const& filter);

/// The architecture for which a pack for `arch` compiles a kernel: `arch`; for an arch-specific kernel sm_90a instead of sm_90, else none
/// (nor PTX, since no other GPU runs it).
std::optional<std::string> compiled_for(KernelSource const& source, std::string const& arch);

}  // namespace myriad::gpu
