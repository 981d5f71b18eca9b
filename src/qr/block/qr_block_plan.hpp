#pragma once
/// The plan of QR in registers or shared memory, by a block to a matrix.

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>

#include "qr/block/qr_block_config.cuh"
#include "qr/block/qr_registers_config.cuh"
#include "qr/block/qr_warps_config.cuh"

namespace myriad {

/// The kernel of matrices in shared memory: those of too many rows for registers.
constexpr QrBlock qr_block_plan(int /*element_bytes*/) { return {512, 32, 1}; }
/// Whether a block holds an m-by-n matrix in so many bytes of shared memory.
constexpr bool qr_block_holds(int element_bytes, std::int64_t m, std::int64_t n, std::int64_t shared_bytes) {
  QrBlock const c = qr_block_plan(element_bytes);
  if (m > c.most_rows() || n > shared_bytes) return false;
  return m * n * element_bytes <= shared_bytes &&
         QrBlockMemory(c, element_bytes, static_cast<int>(m), static_cast<int>(n)).bytes <= shared_bytes;
}

/// Threads of a block for an m-by-n matrix on a multiprocessor with so much shared memory. By an estimate, not measured: a step costs a
/// warp some 200 instructions, and as many for each time that a group changes columns; a multiprocessor starts four a cycle, a warp one
/// every four cycles. The result does not depend on it.
constexpr int qr_block_threads(int element_bytes, std::int64_t m, std::int64_t n, std::int64_t shared_bytes) {
  QrBlock const c = qr_block_plan(element_bytes);
  QrBlockMemory const memory(c, element_bytes, static_cast<int>(m), static_cast<int>(n));
  int const parts = 1 << c.log_parts(static_cast<int>(m)), at_once = c.at_once(element_bytes);
  int best = c.most_threads;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (int threads = c.most_threads; threads >= std::max(64, c.lanes * parts); threads /= 2) {
    std::int64_t const groups = threads / c.lanes / parts, warps = threads / 32;
    std::int64_t const turns = (n / 2 + groups * at_once) / (groups * at_once), instructions = 200 + 200 * turns;
    std::int64_t const blocks =
        std::max<std::int64_t>(1, std::min<std::int64_t>(shared_bytes / (memory.bytes + 1024), c.blocks_per_sm * c.most_threads / threads));
    std::int64_t const cycles = std::max(warps * instructions / 4, 4 * instructions / blocks);
    if (cycles < least) least = cycles, best = threads;
  }
  return best;
}

/// Kernels of panels, or of small matrices, that a block has in registers, by rows. Eight columns to a thread take more time to compile
/// than four. In single they save 10 to 35% of a panel's time; of large double numbers 3%.
constexpr auto qr_registers_configs(int element_bytes) {
  using Configs = std::array<QrRegisters, 6>;
  if (element_bytes == 4)
    return Configs{{{8, 4, 4, 8, 16}, {8, 4, 8, 8, 14}, {16, 4, 8, 8, 7}, {32, 4, 8, 8, 4}, {64, 4, 8, 8, 2}, {128, 4, 8, 4, 1}}};
  if (element_bytes == 16)
    return Configs{{{8, 8, 4, 2, 8}, {8, 8, 8, 2, 6}, {16, 8, 8, 2, 3}, {32, 4, 8, 4, 2}, {64, 4, 8, 4, 1}, {128, 4, 8, 2, 1}}};
  return Configs{{{8, 4, 4, 8, 16}, {8, 8, 8, 4, 8}, {16, 8, 8, 4, 4}, {32, 8, 8, 4, 2}, {64, 8, 8, 4, 1}, {128, 4, 8, 4, 1}}};
}
/// The number of the kernel that has an m-by-n matrix in registers, -1 where none has. A block with too little shared memory for it, which
/// the tests make, does not either.
constexpr int qr_registers_plan(int element_bytes, std::int64_t m, std::int64_t n, std::int64_t shared_bytes) {
  auto const configs = qr_registers_configs(element_bytes);
  if (m * n * element_bytes > shared_bytes) return -1;
  for (int k = 0; k < static_cast<int>(configs.size()); ++k) {
    QrRegisters const& c = configs[static_cast<std::size_t>(k)];
    if (m <= c.rows() && n <= c.columns()) return k;
  }
  return -1;
}

/// Kernels of matrices that few warps hold, the smallest first. Of several on an H200 the fastest that spill 256 bytes at most.
inline constexpr std::array<QrWarps, 3> qr_warps_single{{{48, 0, 8, 4, 1, 14}, {64, 32, 8, 4, 1, 16}, {96, 48, 8, 3, 2, 6}}};
inline constexpr std::array<QrWarps, 2> qr_warps_double{{{48, 0, 8, 4, 1, 8}, {64, 32, 8, 4, 1, 8}}};
inline constexpr std::array<QrWarps, 2> qr_warps_double_complex{{{48, 0, 8, 2, 2, 4}, {64, 48, 16, 2, 4, 3}}};
constexpr std::span<QrWarps const> qr_warps_configs(int element_bytes) {
  if (element_bytes == 4) return qr_warps_single;
  if (element_bytes == 16) return qr_warps_double_complex;
  return qr_warps_double;
}
/// The number of the kernel for m-by-n matrices, -1 where panels are faster. Beyond 64 rows that is so for narrow matrices.
constexpr int qr_warps_plan(int element_bytes, std::int64_t m, std::int64_t n, std::int64_t shared_bytes) {
  auto const configs = qr_warps_configs(element_bytes);
  for (int k = 0; k < static_cast<int>(configs.size()); ++k) {
    QrWarps const& c = configs[static_cast<std::size_t>(k)];
    if (std::max(m, n) > c.rows) continue;
    bool const narrow = c.rows > 64 && std::min(m, n) <= 64;
    return !narrow && QrWarpsMemory(c, element_bytes).bytes <= shared_bytes ? k : -1;
  }
  return -1;
}

}  // namespace myriad
