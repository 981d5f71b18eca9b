#pragma once
/// The plan of QR in shared memory, by a block to a matrix.

#include <array>
#include <cstdint>

#include "qr/block/qr_block_config.cuh"

namespace myriad {

/// Few kernels for all sizes: by the rows that the lanes of a group hold. By reasoning, not measured.
constexpr auto qr_block_configs(int element_bytes) {
  int const large = element_bytes == 16 ? 2 : 1;
  return std::array{QrBlock{128, 8, 4 / large}, QrBlock{256, 16, 2}, QrBlock{512, 32, 1}};
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

}  // namespace myriad
