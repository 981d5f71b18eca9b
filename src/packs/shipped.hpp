#pragma once
/// The kernels that a pack is made of.

#include <optional>
#include <string>
#include <vector>

#include "runtime/kernel_filter.hpp"
#include "runtime/kernel_store.hpp"

namespace myriad::gpu {

/// The instances that the routines use without being told otherwise, as far as the filter wants them. Names no kernel twice.
std::vector<KernelSource> shipped_kernels(KernelFilter const& filter);

/// The architecture that a kernel is compiled for where a pack is for `arch`: sm_90a for sm_90 if it uses what that alone has; none if it
/// is not for this one.
std::optional<std::string> compiled_for(KernelSource const& source, std::string const& arch);

}  // namespace myriad::gpu
