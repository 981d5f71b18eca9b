#pragma once
/// The kernels that a pack is made of.

#include <optional>
#include <string>
#include <vector>

#include "runtime/kernel_filter.hpp"
#include "runtime/kernel_store.hpp"

namespace myriad::gpu {

/// The kernels that routines use without a table of the user, as far as the filter selects them, each once.
std::vector<KernelSource> shipped_kernels(KernelFilter const& filter);

/// The architecture to compile a kernel for in a pack for `arch`: `arch`; for an arch-specific kernel sm_90a in place of sm_90, and none
/// elsewhere.
std::optional<std::string> compiled_for(KernelSource const& source, std::string const& arch);

}  // namespace myriad::gpu
