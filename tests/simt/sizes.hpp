#pragma once
/// Which sizes of kernels the tests instantiate.

#include <array>
#include <cstddef>
#include <utility>

namespace myriad {

// What a sanitizer adds to compiling and running an instance is several times what the instance takes without.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

/// All sizes; under a sanitizer the first and every other one after it.
template <int... all>
constexpr auto kernel_sizes() {
  if constexpr (!sanitized)
    return std::integer_sequence<int, all...>{};
  else
    return []<std::size_t... i>(std::index_sequence<i...>) {
      constexpr std::array list{all...};
      return std::integer_sequence<int, list[2 * i]...>{};
    }
  (std::make_index_sequence<(sizeof...(all) + 1) / 2>{});
}

}  // namespace myriad
