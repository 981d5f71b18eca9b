#pragma once
/// Which sizes of kernels the tests instantiate.

#include <array>
#include <cstddef>
#include <utility>

namespace myriad {

// What a sanitizer adds to compiling and running an instance is several times what the instance takes without.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
inline constexpr std::size_t first_size = 1;
#elif defined(__SANITIZE_ADDRESS__)
inline constexpr bool sanitized = true;
inline constexpr std::size_t first_size = 0;
#else
inline constexpr bool sanitized = false;
inline constexpr std::size_t first_size = 0;
#endif

/// All sizes; under the address sanitizer the first and every third one after it, under the thread sanitizer the second and every third
/// after it, around the end.
template <int... all>
constexpr auto kernel_sizes() {
  if constexpr (!sanitized)
    return std::integer_sequence<int, all...>{};
  else
    return []<std::size_t... i>(std::index_sequence<i...>) {
      constexpr std::array list{all...};
      return std::integer_sequence<int, list[(first_size + 3 * i) % list.size()]...>{};
    }
  (std::make_index_sequence<(sizeof...(all) + 2) / 3>{});
}

}  // namespace myriad
