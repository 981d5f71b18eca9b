#pragma once
/// The plan of products with vectors for matrices of more than 32 rows or columns: kernel and config.
///
/// Tried without gain (H200):
/// - 16-byte copies of columns at any alignment, with single elements at both ends: slower at all sizes (single, n = 33: 36% of the
///   copy rate instead of 43).
/// - Blocks of more warps where a block has little to load: slower (single, 512 by 16: 58% instead of 70).
/// - Stages of 4 KiB and twice the warps: slower (single, n = 100: 84% instead of 91), but for double complex by columns, which uses them.

#include <algorithm>
#include <bit>
#include <cstdint>

#include "gemm/vectors/gemv_config.cuh"

namespace myriad {

/// The plan for m-by-k matrices. By columns, a stage has 64 rows; by rows, 256 bytes of each of 32 rows; more rows where k is small.
/// A warp's stage has about 8 KiB of a matrix, and two stages are in flight while one is summed. Blocks fill a multiprocessor: some 100 KB
/// are in flight where 40 would do. Chosen by measurement on an H200.
constexpr Gemv gemv_plan(int element_bytes, std::int64_t m, std::int64_t k, Lines a) {
  bool const by_columns = a == Lines::columns;
  std::int64_t const of_chunk = 16 / element_bytes, terms = std::max<std::int64_t>(k, 1);
  auto const round_up = [](std::int64_t x, std::int64_t to) { return (x + to - 1) / to * to; };
  // Rows are divided evenly.
  std::int64_t const most_rows = std::clamp<std::int64_t>(8192 / (terms * element_bytes), by_columns ? 64 : 32, 128);
  std::int64_t const parts = (m + most_rows - 1) / most_rows;
  int const rows = static_cast<int>(round_up((m + parts - 1) / parts, of_chunk));
  int const bytes_of_terms = !by_columns ? 256 : element_bytes == 16 ? 64 : 128;
  // At least four lanes per group, since they copy contiguous elements.
  Gemv g{.rows = rows,
         .k = static_cast<int>(std::min<std::int64_t>(bytes_of_terms / element_bytes, round_up(terms, of_chunk))),
         .lanes = std::clamp(static_cast<int>(std::bit_ceil(static_cast<unsigned>(rows))), 4, 32),
         .stages = 3,
         .warps = 2,
         .blocks_per_sm = 1,
         .a = a,
         .scheduled = 0};
  g.stages = static_cast<int>(std::clamp<std::int64_t>((k + g.k - 1) / g.k, 2, 3));
  // As many blocks as the shared memory of compute capability 9.0 admits (228 KiB, 1 KiB of it the driver's per block), with 64 registers
  // per thread.
  g.blocks_per_sm = std::clamp(233472 / (GemvMemory(element_bytes, g).bytes + 1024), 1, 65536 / (64 * g.threads()));
  return g;
}

/// One row per lane. A lane loads as many terms at a time as leave registers for the warps that are wanted, divided evenly.
constexpr GemvColumns gemv_columns_plan(int element_bytes, std::int64_t k) {
  std::int64_t const most = element_bytes == 4 ? 24 : element_bytes == 8 ? 12 : 8;
  std::int64_t const terms = std::max<std::int64_t>(k, 1), parts = (terms + most - 1) / most;
  return {.terms = static_cast<int>((terms + parts - 1) / parts), .warps = 4, .blocks_per_sm = element_bytes == 8 ? 8 : 6, .scheduled = 0};
}

/// Whole rows. A warp has about 17 KB of a matrix; a multiprocessor has room for twelve such warps.
constexpr GemvWhole gemv_whole_plan(int element_bytes, std::int64_t m, std::int64_t k, bool in_one_piece, Lines a) {
  std::int64_t const terms = std::max<std::int64_t>(k, 1);
  std::int64_t const most_rows = a == Lines::columns ? m : std::clamp<std::int64_t>(17408 / (terms * element_bytes), 16, 128);
  std::int64_t const parts = (m + most_rows - 1) / most_rows;
  GemvWhole g{.rows = static_cast<int>((m + parts - 1) / parts),
              .k = static_cast<int>(terms),
              .warps = 1,
              .blocks_per_sm = 1,
              .in_one_piece = in_one_piece ? 1 : 0,
              .a = a,
              .scheduled = 0};
  g.blocks_per_sm = std::clamp(233472 / (GemvWholeMemory(element_bytes, g).bytes + 1024), 1, 32);
  return g;
}

/// The kernels of gemv. Measurements on an H200 decided which one is used where.
enum class GemvKernel { ring, columns, whole };

/// The kernel for matrices with lines as `a` says. `aligned`: all lines begin at multiples of 16 bytes and are a multiple of 16 bytes long;
/// `in_one_piece`: no matrix is smaller, and none has gaps.
constexpr GemvKernel gemv_kernel(int element_bytes, std::int64_t m, std::int64_t k, Lines a, bool aligned, bool in_one_piece) {
  std::int64_t const row_bytes = k * element_bytes;
  if (a == Lines::columns) {
    // In single precision, loads to registers leave too few bytes in flight.
    if (!aligned && in_one_piece && element_bytes == 4 && m > 32 && m <= 128 && m * row_bytes <= 17408) return GemvKernel::whole;
    return aligned && element_bytes < 16 ? GemvKernel::ring : GemvKernel::columns;
  }
  // gemv loads 256 bytes of a row at a time.
  bool const divided = row_bytes % 256 == 0;
  bool const whole = aligned ? !divided : in_one_piece;
  return element_bytes < 16 && m > 16 && row_bytes <= 1024 && whole ? GemvKernel::whole : GemvKernel::ring;
}

}  // namespace myriad
