#pragma once
/// Sizes of kernels that the tests instantiate. Compiling instances takes most of the time of these tests, so each build has a third of
/// them: MYRIAD_TEST_SIZES is 0, 1 or 2 (tests/simt/CMakeLists.txt sets it), or `all`. Builds of one number with the address sanitizer,
/// the thread sanitizer and neither have different thirds.

#include <array>
#include <cstddef>
#include <utility>

namespace myriad {

// A sanitizer multiplies the time of compiling and running an instance several times.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
inline constexpr std::size_t third_of_build = 2;
#elif defined(__SANITIZE_ADDRESS__)
inline constexpr bool sanitized = true;
inline constexpr std::size_t third_of_build = 1;
#else
inline constexpr bool sanitized = false;
inline constexpr std::size_t third_of_build = 0;
#endif

/// This build's third of a list, or all of it.
template <int... list>
constexpr auto kernel_sizes() {
#if defined(MYRIAD_TEST_ALL_SIZES)
  return std::integer_sequence<int, list...>{};
#else
  constexpr std::size_t first = (MYRIAD_TEST_SIZES + third_of_build) % 3, count = (sizeof...(list) + 2) / 3;
  return []<std::size_t... i>(std::index_sequence<i...>) {
    constexpr std::array sizes{list...};
    return std::integer_sequence<int, sizes[(first + 3 * i) % sizes.size()]...>{};
  }
  (std::make_index_sequence<count>{});
#endif
}

}  // namespace myriad
