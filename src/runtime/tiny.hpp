#pragma once
/// What the rooms with kernels for tiny matrices share on the host side.

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "myriad/error.hpp"
#include "myriad/types.hpp"
#include "simt/tile.hpp"

namespace myriad::gpu {

inline constexpr int tiny_largest = 32;               ///< rows and columns that these kernels take
inline constexpr std::int64_t tiny_most_columns = 4;  ///< right-hand sides that one launch takes

inline void require_tiny(char const* routine, std::int64_t m, std::int64_t n) {
  if (m > tiny_largest || n > tiny_largest)
    throw Unavailable(fmt::format("{}: GPU kernels take matrices of up to {} rows and columns so far, and these have {} by {}", routine,
                                  tiny_largest, m, n));
}

/// How a kernel's name expression spells an element type and a layout.
inline char const* device_name(Dtype dtype) {
  constexpr std::array names{"float", "double", "myriad::simt::Complex<float>", "myriad::simt::Complex<double>"};
  return names.at(static_cast<std::size_t>(dtype));
}
inline std::string device_name(simt::Layout layout) { return fmt::format("myriad::simt::Layout({})", static_cast<int>(layout)); }

/// What is to be fused is written so: kernels of different layouts give the same bits.
inline std::vector<std::string> tiny_options() { return {"-default-device", "--fmad=false"}; }

}  // namespace myriad::gpu
