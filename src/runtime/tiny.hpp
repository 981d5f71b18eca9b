#pragma once
/// What the host sides of the kernels for tiny matrices share.

#include <cstdint>
#include <string>

#include "myriad/types.hpp"
#include "simt/tile.hpp"

namespace myriad::gpu {

inline constexpr int tiny_largest = 32;          ///< rows and columns that the kernels take
inline constexpr std::int64_t most_columns = 4;  ///< right-hand sides that one launch takes

/// Throws Unavailable for matrices that are larger.
void require_tiny(char const* routine, std::int64_t m, std::int64_t n);
/// The element type as kernels name it.
char const* device_name(Dtype dtype);
/// A layout as a template argument.
std::string layout_name(simt::Layout layout);

}  // namespace myriad::gpu
