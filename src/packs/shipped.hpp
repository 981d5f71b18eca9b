#pragma once
/// The kernels that a pack is made of.

#include <optional>
#include <string>
#include <vector>

#include "myriad/types.hpp"
#include "runtime/kernel_store.hpp"

namespace myriad::gpu {

/// Which instances are wanted; an empty list stands for all.
struct KernelFilter {
  std::vector<std::string> routines;
  std::vector<int> sizes;
  std::vector<Dtype> dtypes;
  std::size_t candidates = 0;  ///< of each problem that is tuned, so many of the configs that may be tried, too

  [[nodiscard]] bool wants_routine(std::string_view routine) const;
  [[nodiscard]] bool wants_size(int n) const;
  [[nodiscard]] bool wants_size_above(int n) const;  ///< any that is larger
  [[nodiscard]] bool wants_dtype(Dtype dtype) const;
};

/// The instances that the routines use without being told otherwise, as far as the filter wants them. Names no kernel twice.
std::vector<KernelSource> shipped_kernels(KernelFilter const& filter);

/// The architecture that a kernel is compiled for where a pack is for `arch`: sm_90a for sm_90 if it uses what that alone has; none if it
/// is not for this one.
std::optional<std::string> compiled_for(KernelSource const& source, std::string const& arch);

}  // namespace myriad::gpu
