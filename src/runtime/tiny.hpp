#pragma once
/// What the host sides of kernels for tiny matrices share.

#include <cstdint>
#include <string>

#include "myriad/types.hpp"
#include "simt/tile.hpp"

namespace myriad::gpu {

inline constexpr int tiny_largest = 32;  ///< rows and columns that kernels for tiny matrices take

/// Throws Unavailable where `routine` is given larger matrices.
void require_tiny(char const* routine, std::int64_t m, std::int64_t n);

/// The element type in the text of a kernel's name.
[[nodiscard]] char const* device_name(Dtype dtype);
/// A layout there.
[[nodiscard]] std::string device_name(simt::Layout layout);

}  // namespace myriad::gpu
