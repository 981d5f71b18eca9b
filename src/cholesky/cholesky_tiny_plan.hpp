#pragma once
/// Which kernel is used for Cholesky of tiny matrices on a GPU.

#include <algorithm>
#include <array>
#include <span>

#include "cholesky/cholesky_tiny_config.cuh"
#include "myriad/types.hpp"

namespace myriad {

/// For matrices of up to `n` rows: lanes to a matrix, and the most registers that a thread may have.
struct CholeskyTinyChoice {
  int n, lanes, registers;
};

// By the registers that ptxas reports and what shared memory admits: as few lanes as hold a matrix without spilling more than a few words.
// With blocks of one warp registers come in steps of 4 blocks: 255 for 8 blocks, 168 for 12, 128 for 16.
inline constexpr std::array cholesky_tiny_f32{CholeskyTinyChoice{8, 1, 128}, CholeskyTinyChoice{12, 1, 168}, CholeskyTinyChoice{16, 4, 128},
                                              CholeskyTinyChoice{24, 4, 168}, CholeskyTinyChoice{32, 8, 168}};
inline constexpr std::array cholesky_tiny_f64{CholeskyTinyChoice{4, 1, 80},   CholeskyTinyChoice{8, 1, 168},
                                              CholeskyTinyChoice{16, 4, 168}, CholeskyTinyChoice{20, 4, 255},
                                              CholeskyTinyChoice{24, 8, 168}, CholeskyTinyChoice{32, 8, 255}};
inline constexpr std::array cholesky_tiny_c64{CholeskyTinyChoice{4, 1, 168}, CholeskyTinyChoice{8, 4, 168}, CholeskyTinyChoice{16, 8, 255},
                                              CholeskyTinyChoice{24, 16, 255}, CholeskyTinyChoice{32, 32, 255}};

constexpr std::span<CholeskyTinyChoice const> cholesky_tiny_choices(Dtype dtype) {
  if (dtype == Dtype::c64) return cholesky_tiny_c64;
  if (dtype == Dtype::f32) return cholesky_tiny_f32;
  return cholesky_tiny_f64;  // single complex follows double, whose matrices are as large
}

/// The kernel for n-by-n matrices, as if all batches were packed by columns.
constexpr CholeskyTiny cholesky_tiny_plan(CholeskyJob job, Dtype dtype, int n, int nrhs) {
  auto const table = cholesky_tiny_choices(dtype);
  CholeskyTinyChoice const best = *std::find_if(table.begin(), table.end() - 1, [&](CholeskyTinyChoice const& c) { return n <= c.n; });
  int const threads = best.lanes == 1 ? 64 : 32;
  int const element_bytes = dtype == Dtype::f32 ? 4 : dtype == Dtype::c64 ? 16 : 8;
  constexpr auto packed = simt::Layout::packed_columns;
  return {.job = job,
          .n = n,
          .nrhs = nrhs,
          .lanes = best.lanes,
          .matrices = threads / best.lanes,
          .blocks_per_sm = std::min(65536 / (best.registers * threads), 32),
          .load = n * element_bytes <= 32 ? simt::Part::whole : simt::Part::lower,
          .store = best.lanes * element_bytes >= 32 ? CholeskyStore::by_rows : CholeskyStore::from_tile,
          .a = packed,
          .b = packed};
}

}  // namespace myriad
