#pragma once
/// Which kernel is used for Cholesky of tiny matrices on a GPU.
///
/// Tried without gain (H200):
/// - Matrices of odd order at distances without bank conflicts, copied element by element: up to 22% slower (potrf, double, n = 21), but
///   where four lanes meet in a bank (single, n = 15, 17, 31), where it is used.

#include <algorithm>
#include <array>
#include <span>

#include "cholesky/cholesky_tiny_config.cuh"
#include "myriad/types.hpp"
#include "runtime/tiny.hpp"

namespace myriad {

/// For matrices of up to `n` rows: lanes to a matrix, the most registers that a thread may have, and how matrices come and go.
struct CholeskyTinyChoice {
  int n, lanes, registers;
  CholeskyLoad load;
  CholeskyStore store;
};

namespace detail {

using enum CholeskyLoad;
using enum CholeskyStore;
using Choice = CholeskyTinyChoice;

// potrf: the fastest of 1 to 32 lanes, several limits of registers and all ways to load and store, or close to it, as measured on an H200
// from 2026-11-21 to 23.
inline constexpr std::array potrf_f32{
    Choice{3, 1, 64, whole, from_tile}, Choice{4, 2, 64, lower, from_tile}, Choice{5, 1, 64, whole, from_tile},
    Choice{6, 2, 80, whole, from_tile}, Choice{7, 2, 64, whole, from_tile}, Choice{8, 4, 64, lower, from_tile},
    Choice{10, 4, 80, whole, by_rows},  Choice{11, 4, 128, lower, by_rows}, Choice{16, 8, 80, whole, by_rows},
    Choice{17, 4, 128, lower, by_rows}, Choice{20, 8, 128, lower, by_rows}, Choice{24, 8, 128, lower, by_rows},
    Choice{32, 8, 168, lower, by_rows}};
inline constexpr std::array potrf_f64{
    Choice{4, 2, 80, lower, from_tile},  Choice{6, 4, 80, whole, by_rows},    Choice{8, 2, 128, whole, from_tile},
    Choice{10, 4, 96, lower, by_rows},   Choice{14, 8, 96, lower, by_rows},   Choice{17, 8, 128, lower, by_rows},
    Choice{18, 4, 255, lower, by_rows},  Choice{20, 4, 200, lower, by_rows},  Choice{24, 8, 200, lower, by_rows},
    Choice{26, 8, 255, lower, by_rows},  Choice{27, 16, 200, whole, by_rows}, Choice{28, 8, 255, lower, by_rows},
    Choice{29, 16, 200, whole, by_rows}, Choice{30, 8, 255, lower, by_rows},  Choice{31, 16, 200, whole, by_rows},
    Choice{32, 8, 255, lower, by_rows}};
inline constexpr std::array potrf_c64{
    Choice{4, 4, 64, lower, from_tile}, Choice{6, 4, 96, lower, from_tile},   Choice{8, 4, 128, lower, by_rows},
    Choice{10, 4, 168, lower, by_rows}, Choice{12, 8, 128, lower, by_rows},   Choice{14, 8, 168, lower, by_rows},
    Choice{16, 4, 255, lower, by_rows}, Choice{24, 8, 255, lower, from_tile}, Choice{32, 16, 255, lower, by_rows}};
// solve_positive_definite: the fastest of 1 to 32 lanes, several limits of registers and ways to load, or within 1.5% of it, as measured on
// an H200 on 2026-11-22; n = 32 in single and double by the registers that ptxas reports.
inline constexpr std::array apart_f32{
    Choice{6, 1, 56, lower, from_tile},          Choice{8, 1, 96, lower, from_tile},          Choice{10, 1, 168, whole, from_tile},
    Choice{12, 1, 200, whole, from_tile},        Choice{14, 4, 112, to_registers, from_tile}, Choice{15, 2, 128, to_registers, from_tile},
    Choice{16, 4, 96, lower, from_tile},         Choice{17, 2, 128, to_registers, from_tile}, Choice{18, 4, 112, to_registers, from_tile},
    Choice{23, 4, 255, to_registers, from_tile}, Choice{24, 4, 128, to_registers, from_tile}, Choice{26, 4, 200, to_registers, from_tile},
    Choice{28, 4, 168, to_registers, from_tile}, Choice{30, 8, 168, to_registers, from_tile}, Choice{31, 4, 255, to_registers, from_tile},
    Choice{32, 8, 128, to_registers, from_tile}};
inline constexpr std::array apart_f64{Choice{4, 1, 112, whole, from_tile},         Choice{6, 1, 144, whole, from_tile},
                                      Choice{8, 4, 64, lower, from_tile},          Choice{15, 2, 255, to_registers, from_tile},
                                      Choice{16, 4, 168, lower, from_tile},        Choice{18, 4, 200, to_registers, from_tile},
                                      Choice{28, 4, 255, to_registers, from_tile}, Choice{32, 8, 255, to_registers, from_tile}};
inline constexpr std::array apart_c32{Choice{4, 1, 80, whole, from_tile},          Choice{6, 2, 128, to_registers, from_tile},
                                      Choice{8, 4, 64, lower, from_tile},          Choice{12, 2, 168, to_registers, from_tile},
                                      Choice{14, 2, 255, to_registers, from_tile}, Choice{16, 4, 168, to_registers, from_tile},
                                      Choice{20, 4, 255, to_registers, from_tile}, Choice{24, 8, 200, to_registers, from_tile},
                                      Choice{28, 8, 255, to_registers, from_tile}, Choice{32, 16, 200, to_registers, from_tile}};
inline constexpr std::array apart_c64{Choice{2, 1, 112, whole, from_tile},          Choice{4, 2, 128, to_registers, from_tile},
                                      Choice{6, 2, 200, to_registers, from_tile},   Choice{8, 2, 255, lower, from_tile},
                                      Choice{10, 2, 255, to_registers, from_tile},  Choice{12, 8, 200, lower, from_tile},
                                      Choice{14, 8, 255, lower, from_tile},         Choice{16, 8, 200, to_registers, from_tile},
                                      Choice{20, 16, 255, to_registers, from_tile}, Choice{32, 32, 255, to_registers, from_tile}};
// posv: the fastest or close to it in the same measurement, and of sizes between those tuned the better one of these and of what was
// planned by registers before.
inline constexpr std::array posv_f32{
    Choice{4, 1, 168, whole, from_tile},  Choice{5, 1, 128, whole, from_tile},  Choice{6, 1, 168, lower, from_tile},
    Choice{7, 1, 128, whole, from_tile},  Choice{9, 1, 168, lower, from_tile},  Choice{10, 2, 128, whole, from_tile},
    Choice{11, 1, 168, lower, from_tile}, Choice{12, 4, 168, whole, from_tile}, Choice{16, 4, 128, whole, by_rows},
    Choice{20, 4, 255, whole, by_rows},   Choice{32, 8, 168, whole, by_rows}};
inline constexpr std::array posv_f64{
    Choice{5, 1, 168, lower, from_tile}, Choice{6, 4, 96, lower, from_tile}, Choice{7, 1, 168, lower, from_tile},
    Choice{8, 4, 96, lower, from_tile},  Choice{10, 4, 128, whole, by_rows}, Choice{12, 4, 128, lower, by_rows},
    Choice{14, 4, 168, lower, by_rows},  Choice{15, 8, 128, whole, by_rows}, Choice{16, 8, 128, lower, by_rows},
    Choice{20, 4, 255, whole, by_rows},  Choice{23, 8, 168, lower, by_rows}, Choice{24, 4, 255, lower, by_rows},
    Choice{27, 8, 255, lower, by_rows},  Choice{32, 16, 168, whole, by_rows}};
// Of what else solves or inverts, and of posv in complex types: by the registers that ptxas reports and what shared memory admits, as few
// lanes as hold a matrix without spilling more than a few words.
inline constexpr std::array solve_f32{Choice{8, 1, 128, whole, from_tile}, Choice{12, 1, 168, lower, from_tile},
                                      Choice{16, 4, 128, lower, from_tile}, Choice{24, 4, 168, lower, from_tile},
                                      Choice{32, 8, 168, lower, by_rows}};
inline constexpr std::array solve_f64{Choice{4, 1, 80, whole, from_tile}, Choice{8, 1, 168, lower, from_tile},
                                      Choice{16, 4, 168, lower, by_rows}, Choice{20, 4, 255, lower, by_rows},
                                      Choice{24, 8, 168, lower, by_rows}, Choice{32, 8, 255, lower, by_rows}};
inline constexpr std::array solve_c64{Choice{4, 1, 168, lower, from_tile}, Choice{8, 4, 168, lower, by_rows},
                                      Choice{16, 8, 255, lower, by_rows}, Choice{24, 16, 255, lower, by_rows},
                                      Choice{32, 32, 255, lower, by_rows}};

}  // namespace detail

constexpr std::span<CholeskyTinyChoice const> cholesky_tiny_choices(CholeskyJob job, Dtype dtype) {
  using Choices = std::span<CholeskyTinyChoice const>;
  if (job == CholeskyJob::solve) {
    if (dtype == Dtype::c64) return Choices(detail::apart_c64);
    if (dtype == Dtype::c32) return Choices(detail::apart_c32);
    return dtype == Dtype::f32 ? Choices(detail::apart_f32) : Choices(detail::apart_f64);
  }
  if (job == CholeskyJob::solve_and_factor && dtype == Dtype::f32) return Choices(detail::posv_f32);
  if (job == CholeskyJob::solve_and_factor && dtype == Dtype::f64) return Choices(detail::posv_f64);
  bool const factors = job == CholeskyJob::factor;
  if (dtype == Dtype::c64) return factors ? Choices(detail::potrf_c64) : Choices(detail::solve_c64);
  if (dtype == Dtype::f32) return factors ? Choices(detail::potrf_f32) : Choices(detail::solve_f32);
  return factors ? Choices(detail::potrf_f64) : Choices(detail::solve_f64);  // and single complex, whose matrices are as large
}

/// The kernel for n-by-n matrices, as if all batches were packed by columns.
constexpr CholeskyTiny cholesky_tiny_plan(CholeskyJob job, Dtype dtype, int n, int nrhs) {
  auto const table = cholesky_tiny_choices(job, dtype);
  CholeskyTinyChoice const best = *std::find_if(table.begin(), table.end() - 1, [&](CholeskyTinyChoice const& c) { return n <= c.n; });
  int const threads = best.lanes == 1 ? 64 : 32;
  constexpr auto packed = simt::Layout::packed_columns;
  return {.job = job,
          .n = n,
          .nrhs = nrhs,
          .lanes = best.lanes,
          .matrices = threads / best.lanes,
          .blocks_per_sm = gpu::blocks_of_registers(best.registers, threads),
          .load = best.load,
          .store = best.store,
          .a = packed,
          .b = packed,
          .x = packed};
}

/// The same for interleaved batches: more matrices to a block, and for potrf fewer lanes to a matrix.
constexpr CholeskyTiny cholesky_tiny_interleaved(CholeskyTiny c, int element_bytes) {
  int const planned = c.threads();
  int const lanes = c.job == CholeskyJob::factor ? gpu::lanes_of_interleaved(c.lanes, c.n, element_bytes) : c.lanes;
  bool const fewer = lanes < c.lanes;
  c.lanes = lanes;
  c.matrices = gpu::matrices_of_block(c.matrices, lanes, true, element_bytes);
  c.blocks_per_sm = fewer ? gpu::blocks_of_registers(255, c.threads()) : std::max(1, c.blocks_per_sm * planned / c.threads());
  return c;
}

}  // namespace myriad
