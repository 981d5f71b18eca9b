#pragma once
/// Selection of the kernels of a pack.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "myriad/types.hpp"
#include "runtime/kernel_store.hpp"

namespace myriad::gpu {

/// Selects kernels by routine, size and type; an empty list selects all.
struct KernelFilter {
  std::vector<std::string> routines;
  std::vector<int> sizes;
  std::vector<Dtype> dtypes;
  std::size_t candidates = 0;  ///< number of tuning candidates to add per problem

  [[nodiscard]] bool wants_routine(std::string_view routine) const { return is_wanted(routines, routine); }
  [[nodiscard]] bool wants_size(int n) const { return is_wanted(sizes, n); }
  /// Whether a size larger than n is selected
  [[nodiscard]] bool wants_size_above(int n) const {
    return sizes.empty() || std::any_of(sizes.begin(), sizes.end(), [n](int size) { return size > n; });
  }
  [[nodiscard]] bool wants_dtype(Dtype dtype) const { return is_wanted(dtypes, dtype); }

 private:
  template <typename T>
  static bool is_wanted(std::vector<T> const& list, auto const& value) {
    return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
  }
};

}  // namespace myriad::gpu
