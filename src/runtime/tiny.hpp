#pragma once
/// Shared by the host sides of kernels for tiny matrices.

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "myriad/device.hpp"
#include "myriad/types.hpp"
#include "simt/tile.hpp"

namespace myriad::gpu {

inline constexpr int tiny_largest = 32;          ///< most rows and columns of kernels for tiny matrices
inline constexpr std::int64_t most_columns = 4;  ///< most right-hand sides that a kernel holds at a time

/// Throws Unavailable if `routine` is given larger matrices.
void require_tiny(char const* routine, std::int64_t m, std::int64_t n);

/// Distinct limits of registers per thread, for blocks of one warp: each quarter of a multiprocessor holds whole warps.
inline constexpr std::array register_limits{56, 64, 72, 80, 96, 112, 128, 144, 168, 200, 255};

/// Blocks per multiprocessor that the registers allow.
[[nodiscard]] constexpr int blocks_of_registers(int registers, int threads) { return std::clamp(65536 / (registers * threads), 1, 32); }

/// Registers per thread that allow `blocks_per_sm` blocks: each quarter of a multiprocessor's warps shares a quarter of its registers.
[[nodiscard]] constexpr int register_limit(int blocks_per_sm, int threads) {
  return std::min(512 / ((blocks_per_sm * threads / 32 + 3) / 4 * 4) * 4 / 8 * 8, 255);
}
/// Calls use(config) with the most admitted blocks per multiprocessor, and then with fewer, at most `times` times. Each step changes the
/// register limit, since the same limit gives the same code (compared for sm_90).
template <typename Config, typename Admits, typename Use>
constexpr void with_fewer_blocks(Config c, int most, int times, Admits const& admits, Use const& use) {
  int last = 0;
  for (c.blocks_per_sm = std::clamp(most, 1, 32); c.blocks_per_sm >= 1 && times > 0; --c.blocks_per_sm) {
    if (!admits(c)) continue;
    int const limit = register_limit(c.blocks_per_sm, c.threads());
    if (std::exchange(last, limit) == limit) continue;
    use(c);
    --times;
  }
}

/// Matrices per block; `planned` is the number for packed batches. For interleaved batches a block accesses at least two adjacent sectors
/// of 32 bytes, unless it would have more than 128 threads, and has whole warps.
[[nodiscard]] constexpr int matrices_of_block(int planned, int lanes, bool interleaved, int element_bytes) {
  return interleaved ? std::max({planned, std::min(64 / element_bytes, 128 / lanes), 32 / lanes}) : planned;
}
/// Lanes per matrix of an interleaved batch, for kernels that hold rows in registers and whose result does not depend on the number of
/// lanes. Up to n = 16 four lanes can hold a matrix, with 255 registers each; fewer lanes mean more adjacent matrices.
[[nodiscard]] constexpr int lanes_of_interleaved(int planned, int n, int element_bytes) {
  return n <= 16 && element_bytes <= 8 ? std::min(planned, 4) : planned;
}

/// Whether a block has whole warps and at least 32 registers per thread: the minimum required of any config, since tables may hold any
/// numbers.
[[nodiscard]] constexpr bool admits_block(int lanes, int matrices, int blocks_per_sm, Device const& device) {
  if (lanes < 1 || lanes > 32 || (lanes & (lanes - 1)) != 0 || matrices < 1 || matrices > 256) return false;
  if (lanes * matrices % 32 != 0 || lanes * matrices > 256 || blocks_per_sm < 1 || blocks_per_sm > 32) return false;
  return blocks_per_sm * lanes * matrices * 32 <= device.registers_per_multiprocessor;
}
/// The maximum of `bytes(config)` over all layouts in the config's `members`, one per batch.
template <typename Config, typename Bytes, typename... Members>
[[nodiscard]] constexpr int most_bytes(Config config, Bytes const& bytes, Members... members) {
  int most = bytes(config);
  auto const try_all = [&](auto member) {
    simt::Layout best = config.*member;
    for (int layout = 0; layout <= static_cast<int>(simt::Layout::dense_rows); ++layout) {
      config.*member = static_cast<simt::Layout>(layout);
      if (int const of_layout = bytes(config); of_layout > most) {
        most = of_layout;
        best = config.*member;
      }
    }
    config.*member = best;
  };
  (try_all(members), ...);
  return most;
}

/// The element type in the text of a kernel's name.
[[nodiscard]] char const* device_name(Dtype dtype);

}  // namespace myriad::gpu
