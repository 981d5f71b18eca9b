#pragma once
/// The plan of LU by a block of which each thread has a row.

#include <cstdint>

#include "lu/block/lu_rows_config.cuh"

namespace myriad {

inline constexpr std::int64_t lu_rows_most = 512;
/// Columns that the kernel factors: those to the right of them are solved for by other kernels, with as many blocks as there is room for.
inline constexpr std::int64_t lu_rows_columns = 1024;

/// Matrices of up to m rows, m at most lu_rows_most: as many columns as registers have room for. Measured on an H200 in double and single,
/// where more columns or fewer threads at a time were slower; complex follows registers. What did not help: one warp that factors the eight
/// columns, with two to eight rows a lane (64 rows of doubles: 88 ns a matrix for 76, 128 rows: 520 for 412); factors in shared memory
/// until they are stored (64 rows: 112 for 80); the whole step of eight columns unrolled (77 for 76).
constexpr LuRows lu_rows_plan(int element_bytes, bool complex, std::int64_t m) {
  int const threads = m <= 64 ? 64 : m <= 128 ? 128 : m <= 256 ? 256 : 512;
  int const width = element_bytes == 16 ? threads <= 256 ? 16 : 8 : complex ? 24 : 32;
  int const at_once = element_bytes == 16 ? threads <= 256 ? 384 : 512 : element_bytes == 4 ? 768 : 512;  // of threads
  return {.threads = threads, .width = width, .blocks_per_sm = at_once / threads};
}

constexpr int lu_rows_warps(std::int64_t m) { return static_cast<int>((m + 31) / 32); }

/// D: the element type of the device.
template <typename D>
constexpr int lu_rows_bytes(std::int64_t m, std::int64_t n) {
  return LuRowsMemory<D>(lu_rows_plan(sizeof(D), simt::is_complex<D>, m), static_cast<int>(m), static_cast<int>(n), lu_rows_warps(m)).bytes;
}

/// The most rows of matrices that go this way, whatever their columns.
template <typename D>
constexpr std::int64_t lu_rows_limit(std::int64_t shared_bytes) {
  std::int64_t m = lu_rows_most;
  while (m > 0 && lu_rows_bytes<D>(m, m) > shared_bytes) m -= 32;
  return m;
}

}  // namespace myriad
