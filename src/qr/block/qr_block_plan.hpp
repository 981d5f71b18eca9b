#pragma once
/// The plan of QR in shared memory, by a block to a matrix.

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "qr/block/qr_block_config.cuh"

namespace myriad {

/// Few kernels for all sizes: by the rows that the lanes of a group hold.
constexpr auto qr_block_configs(int element_bytes) {
  bool const large = element_bytes == 16;
  return std::array{QrBlock{128, 8, large ? 2 : element_bytes == 4 ? 5 : 4}, QrBlock{256, 16, large ? 1 : 2}, QrBlock{512, 32, 1}};
}
constexpr QrBlock qr_block_plan(int element_bytes, std::int64_t rows) {
  auto const configs = qr_block_configs(element_bytes);
  for (QrBlock const& c : configs)
    if (rows <= c.rows_of_group()) return c;
  return configs.back();
}
/// Whether a block holds an m-by-n matrix in so many bytes of shared memory.
constexpr bool qr_block_holds(int element_bytes, std::int64_t m, std::int64_t n, std::int64_t shared_bytes) {
  QrBlock const c = qr_block_plan(element_bytes, m);
  if (m > c.most_rows() || n > shared_bytes) return false;
  return m * n * element_bytes <= shared_bytes &&
         QrBlockMemory(c, element_bytes, static_cast<int>(m), static_cast<int>(n)).bytes <= shared_bytes;
}

/// Threads of a block for an m-by-n matrix on a multiprocessor with so much shared memory. By an estimate, not measured: a step costs a
/// warp some 200 instructions, and as many for each time that a group changes columns; a multiprocessor starts four a cycle, a warp one
/// every four cycles. The result does not depend on it.
constexpr int qr_block_threads(int element_bytes, std::int64_t m, std::int64_t n, std::int64_t shared_bytes) {
  QrBlock const c = qr_block_plan(element_bytes, m);
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

}  // namespace myriad
