#pragma once
/// What the host sides of kernels for tiny matrices share.

#include <algorithm>
#include <cstdint>
#include <string>

#include "myriad/types.hpp"
#include "simt/tile.hpp"

namespace myriad::gpu {

inline constexpr int tiny_largest = 32;          ///< rows and columns that kernels for tiny matrices take
inline constexpr std::int64_t most_columns = 4;  ///< right-hand sides that a kernel holds at a time

/// Throws Unavailable where `routine` is given larger matrices.
void require_tiny(char const* routine, std::int64_t m, std::int64_t n);

/// Matrices to a block where `planned` is right for batches in one piece. What matrices of an interleaved batch have in a row of memory is
/// at least two sectors of 32 bytes.
[[nodiscard]] constexpr int matrices_of_block(int planned, bool interleaved, int element_bytes) {
  return interleaved ? std::max(planned, 64 / element_bytes) : planned;
}

/// The element type in the text of a kernel's name.
[[nodiscard]] char const* device_name(Dtype dtype);
/// A layout there.
[[nodiscard]] std::string device_name(simt::Layout layout);

}  // namespace myriad::gpu
