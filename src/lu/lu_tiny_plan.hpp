#pragma once
/// Which kernel is used for LU of tiny matrices on a GPU.

#include <algorithm>
#include <array>
#include <span>

#include "lu/lu_tiny_config.cuh"
#include "myriad/types.hpp"

namespace myriad {

/// For matrices of up to `n` rows and columns: lanes to a matrix, and the most registers that a thread may have.
struct LuTinyChoice {
  int n, lanes, registers;
};

// Fastest of 1 to 32 lanes and several limits of registers at n = 4, 6, 8, 10, 12, 14, 16, 18, 20, 24, 28, 32:
// bench/results/NVIDIA-H200/2026-11-21/lu-tuning.json.
// Single complex follows double, whose matrices are as large.
inline constexpr std::array lu_tiny_f32{LuTinyChoice{8, 1, 112},  LuTinyChoice{10, 1, 200}, LuTinyChoice{12, 1, 255},
                                        LuTinyChoice{14, 4, 96},  LuTinyChoice{16, 4, 112}, LuTinyChoice{20, 4, 144},
                                        LuTinyChoice{24, 8, 112}, LuTinyChoice{28, 16, 96}, LuTinyChoice{32, 8, 168}};
inline constexpr std::array lu_tiny_f64{LuTinyChoice{4, 1, 80},   LuTinyChoice{8, 1, 168},   LuTinyChoice{10, 4, 104},
                                        LuTinyChoice{12, 4, 144}, LuTinyChoice{14, 8, 96},   LuTinyChoice{16, 8, 104},
                                        LuTinyChoice{24, 8, 184}, LuTinyChoice{28, 16, 152}, LuTinyChoice{32, 16, 168}};
inline constexpr std::array lu_tiny_c64{LuTinyChoice{4, 1, 144},   LuTinyChoice{6, 2, 144},  LuTinyChoice{8, 4, 136},
                                        LuTinyChoice{10, 4, 255},  LuTinyChoice{12, 8, 168}, LuTinyChoice{16, 16, 136},
                                        LuTinyChoice{20, 16, 255}, LuTinyChoice{32, 32, 168}};
inline constexpr std::array lu_tiny_inverse_f32{LuTinyChoice{8, 1, 144},  LuTinyChoice{12, 1, 255}, LuTinyChoice{16, 4, 144},
                                                LuTinyChoice{20, 4, 200}, LuTinyChoice{24, 8, 144}, LuTinyChoice{32, 16, 112}};
inline constexpr std::array lu_tiny_inverse_f64{LuTinyChoice{4, 1, 80},   LuTinyChoice{8, 1, 200},  LuTinyChoice{12, 4, 144},
                                                LuTinyChoice{16, 8, 104}, LuTinyChoice{20, 8, 200}, LuTinyChoice{24, 8, 255},
                                                LuTinyChoice{32, 16, 200}};
inline constexpr std::array lu_tiny_inverse_c64{LuTinyChoice{4, 1, 144},   LuTinyChoice{6, 2, 184},  LuTinyChoice{8, 4, 136},
                                                LuTinyChoice{10, 4, 255},  LuTinyChoice{12, 8, 168}, LuTinyChoice{16, 16, 136},
                                                LuTinyChoice{20, 16, 255}, LuTinyChoice{32, 32, 255}};

constexpr std::span<LuTinyChoice const> lu_tiny_choices(LuJob job, Dtype dtype) {
  using Choices = std::span<LuTinyChoice const>;
  bool const inverse = job == LuJob::inverse;
  if (dtype == Dtype::c64) return inverse ? Choices(lu_tiny_inverse_c64) : Choices(lu_tiny_c64);
  if (dtype == Dtype::f32) return inverse ? Choices(lu_tiny_inverse_f32) : Choices(lu_tiny_f32);
  return inverse ? Choices(lu_tiny_inverse_f64) : Choices(lu_tiny_f64);
}

/// The kernel for m-by-n matrices, as if all batches were packed by columns.
constexpr LuTiny lu_tiny_plan(LuJob job, Dtype dtype, int m, int n, int nrhs) {
  auto const table = lu_tiny_choices(job, dtype);
  LuTinyChoice const best = *std::find_if(table.begin(), table.end() - 1, [&](LuTinyChoice const& c) { return std::max(m, n) <= c.n; });
  int const threads = best.lanes == 1 ? 64 : 32;
  constexpr auto packed = simt::Layout::packed_columns;
  return {.job = job,
          .m = m,
          .n = n,
          .nrhs = nrhs,
          .lanes = best.lanes,
          .matrices = threads / best.lanes,
          .blocks_per_sm = std::min(65536 / (best.registers * threads), 32),
          .a = packed,
          .result = packed,
          .b = packed,
          .x = packed,
          .pivots = packed};
}

}  // namespace myriad
