#pragma once
/// Which kernel is used for LU of tiny matrices on a GPU.
///
/// Tried without gain (H200, single and double):
/// - Panels that share their code, made for the largest panel: 1.07 to 1.5 times slower with one lane.
/// - Rows dealt to the lanes anew for each panel, reciprocals of pivots in shared memory: 3 to 8% slower with one lane.
/// - Matrices of even order at odd distances, copied element by element, so that lanes meet different banks: 2 to 22% slower.
/// - All steps unrolled over the matrix: 17% of the copy rate at n = 32, since the code does not fit the instruction cache; in a loop, 42%.
/// - Pivots chosen by leading bits alone, or columns that rotate in registers, for solve: no faster.
/// - Rows sorted on their way to memory, element by element: 32% of the copy rate at n = 20, where 56% had been.
/// - Limits of registers below what a matrix takes plus about 40: spills, and slower.
/// - Inverse by panels of eight columns: 1.2 times faster at n = 32 in double, up to 2 times slower between the multiples of eight.
/// - Inverse by products with shuffles of the pivot row, or stored column by column: no faster, the latter up to 10% slower.

#include <algorithm>
#include <array>
#include <span>

#include "lu/lu_tiny_config.cuh"
#include "myriad/types.hpp"
#include "runtime/tiny.hpp"

namespace myriad {

/// For matrices of up to `n` rows and columns: lanes to a matrix, columns to a panel (0 where there are none), the most registers that a
/// thread may have, and the method, unless it is that of a matrix in registers, which has no panels.
struct LuTinyChoice {
  int n, lanes, panel, registers;
  LuMethod method = LuMethod::panels;
};
inline constexpr LuMethod eliminating = LuMethod::elimination;

// The fastest of 1 to 32 lanes and several limits of registers at every n from 1 to 32, but for differences of 4% (inverse; complex from
// n = 8 on at even n) or 2%, as measured on an H200 on 2026-11-21 and 22. Factorizations share getrf's choices, determinants share solve's.
inline constexpr std::array lu_tiny_factor_f32{
    LuTinyChoice{5, 1, 0, 80},   LuTinyChoice{6, 1, 0, 96},   LuTinyChoice{7, 1, 0, 112},   LuTinyChoice{8, 1, 0, 96},
    LuTinyChoice{9, 1, 0, 144},  LuTinyChoice{11, 1, 0, 200}, LuTinyChoice{12, 4, 6, 80},   LuTinyChoice{13, 1, 0, 255},
    LuTinyChoice{14, 4, 7, 96},  LuTinyChoice{15, 4, 8, 112}, LuTinyChoice{16, 8, 8, 64},   LuTinyChoice{17, 4, 6, 112},
    LuTinyChoice{18, 4, 6, 144}, LuTinyChoice{20, 4, 4, 128}, LuTinyChoice{21, 8, 7, 64},   LuTinyChoice{22, 8, 8, 128},
    LuTinyChoice{23, 8, 8, 96},  LuTinyChoice{24, 8, 8, 128}, LuTinyChoice{25, 8, 7, 128},  LuTinyChoice{26, 16, 9, 64},
    LuTinyChoice{27, 8, 9, 144}, LuTinyChoice{28, 8, 8, 144}, LuTinyChoice{30, 16, 10, 80}, LuTinyChoice{31, 16, 8, 80},
    LuTinyChoice{32, 16, 8, 64}};
inline constexpr std::array lu_tiny_factor_f64{
    LuTinyChoice{2, 1, 0, 80},    LuTinyChoice{3, 1, 0, 56},    LuTinyChoice{4, 1, 0, 96},     LuTinyChoice{5, 1, 0, 112},
    LuTinyChoice{6, 1, 0, 144},   LuTinyChoice{7, 1, 0, 200},   LuTinyChoice{8, 4, 8, 80},     LuTinyChoice{9, 1, 0, 255},
    LuTinyChoice{10, 4, 5, 144},  LuTinyChoice{11, 8, 6, 72},   LuTinyChoice{12, 4, 6, 128},   LuTinyChoice{13, 8, 7, 72},
    LuTinyChoice{14, 8, 7, 128},  LuTinyChoice{16, 8, 8, 112},  LuTinyChoice{18, 8, 6, 168},   LuTinyChoice{20, 8, 4, 128},
    LuTinyChoice{21, 8, 7, 128},  LuTinyChoice{24, 8, 8, 168},  LuTinyChoice{25, 16, 9, 112},  LuTinyChoice{27, 16, 9, 144},
    LuTinyChoice{28, 16, 7, 128}, LuTinyChoice{29, 16, 8, 112}, LuTinyChoice{30, 16, 10, 168}, LuTinyChoice{32, 16, 8, 144}};
inline constexpr std::array lu_tiny_factor_c32{LuTinyChoice{3, 1, 0, 56},    LuTinyChoice{4, 1, 0, 96},     LuTinyChoice{5, 1, 0, 80},
                                               LuTinyChoice{6, 1, 0, 128},   LuTinyChoice{7, 1, 0, 200},    LuTinyChoice{8, 4, 8, 80},
                                               LuTinyChoice{9, 1, 0, 255},   LuTinyChoice{10, 4, 5, 144},   LuTinyChoice{12, 4, 4, 96},
                                               LuTinyChoice{13, 8, 7, 72},   LuTinyChoice{14, 8, 7, 128},   LuTinyChoice{16, 8, 4, 112},
                                               LuTinyChoice{17, 8, 4, 72},   LuTinyChoice{18, 8, 6, 128},   LuTinyChoice{24, 8, 4, 128},
                                               LuTinyChoice{28, 16, 7, 128}, LuTinyChoice{30, 16, 10, 128}, LuTinyChoice{32, 16, 8, 144}};
inline constexpr std::array lu_tiny_factor_c64{
    LuTinyChoice{2, 1, 0, 80},     LuTinyChoice{3, 1, 0, 96},    LuTinyChoice{4, 1, 0, 96},    LuTinyChoice{5, 1, 0, 200},
    LuTinyChoice{6, 4, 6, 144},    LuTinyChoice{8, 8, 4, 80},    LuTinyChoice{9, 4, 5, 128},   LuTinyChoice{12, 4, 4, 200},
    LuTinyChoice{14, 8, 7, 144},   LuTinyChoice{16, 8, 4, 168},  LuTinyChoice{18, 8, 6, 200},  LuTinyChoice{20, 8, 4, 200},
    LuTinyChoice{21, 16, 7, 200},  LuTinyChoice{24, 8, 8, 255},  LuTinyChoice{27, 32, 9, 144}, LuTinyChoice{28, 16, 7, 200},
    LuTinyChoice{30, 32, 10, 168}, LuTinyChoice{31, 32, 8, 144}, LuTinyChoice{32, 32, 8, 112}};
inline constexpr std::array lu_tiny_solve_f32{LuTinyChoice{5, 1, 0, 56},
                                              LuTinyChoice{7, 1, 0, 96},
                                              LuTinyChoice{9, 1, 0, 128},
                                              LuTinyChoice{10, 1, 6, 128, eliminating},
                                              LuTinyChoice{12, 1, 4, 128, eliminating},
                                              LuTinyChoice{13, 1, 4, 255, eliminating},
                                              LuTinyChoice{14, 1, 6, 255, eliminating},
                                              LuTinyChoice{18, 1, 4, 255, eliminating},
                                              LuTinyChoice{19, 1, 6, 255, eliminating},
                                              LuTinyChoice{20, 4, 4, 96, eliminating},
                                              LuTinyChoice{21, 2, 4, 168, eliminating},
                                              LuTinyChoice{23, 4, 4, 128, eliminating},
                                              LuTinyChoice{24, 8, 8, 96},
                                              LuTinyChoice{29, 4, 4, 128, eliminating},
                                              LuTinyChoice{30, 16, 10, 80},
                                              LuTinyChoice{31, 4, 4, 128, eliminating},
                                              LuTinyChoice{32, 8, 8, 112}};
inline constexpr std::array lu_tiny_solve_f64{LuTinyChoice{3, 1, 0, 56},
                                              LuTinyChoice{4, 1, 0, 96},
                                              LuTinyChoice{5, 1, 0, 112},
                                              LuTinyChoice{6, 1, 0, 144},
                                              LuTinyChoice{7, 1, 0, 200},
                                              LuTinyChoice{9, 1, 0, 255},
                                              LuTinyChoice{10, 1, 4, 255, eliminating},
                                              LuTinyChoice{11, 1, 4, 168, eliminating},
                                              LuTinyChoice{15, 1, 4, 255, eliminating},
                                              LuTinyChoice{16, 8, 8, 112},
                                              LuTinyChoice{17, 2, 4, 168, eliminating},
                                              LuTinyChoice{18, 2, 4, 255, eliminating},
                                              LuTinyChoice{19, 4, 4, 128, eliminating},
                                              LuTinyChoice{20, 4, 4, 255},
                                              LuTinyChoice{21, 8, 7, 128},
                                              LuTinyChoice{24, 8, 8, 168},
                                              LuTinyChoice{25, 16, 9, 112},
                                              LuTinyChoice{26, 16, 9, 144},
                                              LuTinyChoice{28, 16, 7, 128},
                                              LuTinyChoice{30, 16, 10, 128},
                                              LuTinyChoice{32, 16, 8, 112}};
inline constexpr std::array lu_tiny_solve_c32{LuTinyChoice{3, 1, 0, 56},
                                              LuTinyChoice{4, 1, 0, 96},
                                              LuTinyChoice{5, 1, 0, 80},
                                              LuTinyChoice{6, 1, 0, 144},
                                              LuTinyChoice{7, 1, 4, 128, eliminating},
                                              LuTinyChoice{8, 1, 3, 128, eliminating},
                                              LuTinyChoice{11, 1, 4, 168, eliminating},
                                              LuTinyChoice{12, 1, 3, 168, eliminating},
                                              LuTinyChoice{13, 1, 4, 255, eliminating},
                                              LuTinyChoice{15, 2, 4, 168, eliminating},
                                              LuTinyChoice{20, 4, 4, 128, eliminating},
                                              LuTinyChoice{22, 8, 4, 96, eliminating},
                                              LuTinyChoice{23, 8, 8, 128},
                                              LuTinyChoice{24, 8, 4, 128},
                                              LuTinyChoice{27, 16, 9, 144},
                                              LuTinyChoice{28, 16, 7, 128},
                                              LuTinyChoice{30, 16, 10, 168},
                                              LuTinyChoice{31, 16, 11, 168},
                                              LuTinyChoice{32, 16, 8, 112}};
inline constexpr std::array lu_tiny_solve_c64{LuTinyChoice{2, 1, 0, 56},
                                              LuTinyChoice{3, 1, 0, 96},
                                              LuTinyChoice{4, 1, 0, 128},
                                              LuTinyChoice{5, 1, 0, 200},
                                              LuTinyChoice{6, 1, 0, 255},
                                              LuTinyChoice{7, 1, 3, 168, eliminating},
                                              LuTinyChoice{8, 1, 2, 168, eliminating},
                                              LuTinyChoice{9, 1, 4, 255, eliminating},
                                              LuTinyChoice{10, 2, 2, 168, eliminating},
                                              LuTinyChoice{12, 4, 2, 128, eliminating},
                                              LuTinyChoice{13, 8, 7, 144},
                                              LuTinyChoice{14, 8, 7, 200},
                                              LuTinyChoice{15, 8, 4, 168},
                                              LuTinyChoice{16, 8, 8, 168},
                                              LuTinyChoice{17, 8, 6, 200},
                                              LuTinyChoice{20, 8, 4, 200},
                                              LuTinyChoice{21, 16, 7, 200},
                                              LuTinyChoice{23, 8, 8, 255},
                                              LuTinyChoice{24, 8, 4, 200},
                                              LuTinyChoice{25, 16, 7, 200},
                                              LuTinyChoice{26, 32, 9, 144},
                                              LuTinyChoice{27, 16, 9, 255},
                                              LuTinyChoice{28, 16, 7, 200},
                                              LuTinyChoice{29, 16, 10, 200},
                                              LuTinyChoice{30, 32, 10, 168},
                                              LuTinyChoice{32, 32, 8, 144}};
inline constexpr std::array lu_tiny_inverse_f32{LuTinyChoice{3, 1, 0, 56},   LuTinyChoice{4, 1, 0, 96},   LuTinyChoice{5, 1, 0, 56},
                                                LuTinyChoice{7, 1, 0, 96},   LuTinyChoice{9, 1, 0, 168},  LuTinyChoice{10, 2, 0, 168},
                                                LuTinyChoice{11, 1, 0, 168}, LuTinyChoice{12, 4, 0, 96},  LuTinyChoice{14, 2, 0, 168},
                                                LuTinyChoice{16, 4, 0, 128}, LuTinyChoice{17, 2, 0, 255}, LuTinyChoice{20, 4, 0, 168},
                                                LuTinyChoice{21, 8, 0, 128}, LuTinyChoice{22, 8, 0, 168}, LuTinyChoice{24, 8, 0, 128},
                                                LuTinyChoice{26, 4, 0, 255}, LuTinyChoice{27, 8, 0, 168}, LuTinyChoice{32, 16, 0, 128}};
// What is behind 32 by products is for ragged batches from 29 on; those of 24 take what 27 takes.
inline constexpr std::array lu_tiny_inverse_f64{LuTinyChoice{3, 1, 0, 56},
                                                LuTinyChoice{4, 2, 0, 64},
                                                LuTinyChoice{5, 1, 0, 112},
                                                LuTinyChoice{6, 2, 0, 96},
                                                LuTinyChoice{7, 1, 0, 168},
                                                LuTinyChoice{8, 4, 0, 128},
                                                LuTinyChoice{9, 2, 0, 168},
                                                LuTinyChoice{11, 4, 0, 128},
                                                LuTinyChoice{12, 4, 0, 168},
                                                LuTinyChoice{13, 8, 0, 112},
                                                LuTinyChoice{15, 8, 0, 128},
                                                LuTinyChoice{16, 8, 0, 128},
                                                LuTinyChoice{17, 8, 0, 168},
                                                LuTinyChoice{19, 4, 0, 255},
                                                LuTinyChoice{20, 8, 0, 168},
                                                LuTinyChoice{23, 8, 0, 255},
                                                LuTinyChoice{24, 32, 0, 96, LuMethod::products},
                                                LuTinyChoice{27, 16, 0, 168},
                                                LuTinyChoice{28, 16, 0, 255},
                                                LuTinyChoice{32, 32, 0, 128, LuMethod::products},
                                                LuTinyChoice{29, 16, 0, 255},
                                                LuTinyChoice{30, 16, 0, 168},
                                                LuTinyChoice{32, 16, 0, 255}};
inline constexpr std::array lu_tiny_inverse_c32{LuTinyChoice{3, 1, 0, 80},   LuTinyChoice{4, 1, 0, 64},   LuTinyChoice{5, 1, 0, 112},
                                                LuTinyChoice{6, 1, 0, 128},  LuTinyChoice{7, 2, 0, 112},  LuTinyChoice{8, 4, 0, 128},
                                                LuTinyChoice{9, 1, 0, 255},  LuTinyChoice{12, 4, 0, 168}, LuTinyChoice{14, 8, 0, 128},
                                                LuTinyChoice{16, 8, 0, 168}, LuTinyChoice{24, 8, 0, 255}, LuTinyChoice{26, 16, 0, 168},
                                                LuTinyChoice{32, 16, 0, 255}};
inline constexpr std::array lu_tiny_inverse_c64{LuTinyChoice{2, 1, 0, 80},    LuTinyChoice{3, 1, 0, 96},   LuTinyChoice{4, 2, 0, 80},
                                                LuTinyChoice{5, 1, 0, 200},   LuTinyChoice{6, 2, 0, 144},  LuTinyChoice{7, 4, 0, 128},
                                                LuTinyChoice{8, 4, 0, 168},   LuTinyChoice{12, 4, 0, 255}, LuTinyChoice{16, 8, 0, 255},
                                                LuTinyChoice{26, 16, 0, 255}, LuTinyChoice{32, 32, 0, 255}};

constexpr std::span<LuTinyChoice const> lu_tiny_choices(LuJob job, Dtype dtype) {
  using Choices = std::span<LuTinyChoice const>;
  auto const of = [&](auto const& f32, auto const& f64, auto const& c32, auto const& c64) {
    return dtype == Dtype::f32 ? Choices(f32) : dtype == Dtype::f64 ? Choices(f64) : dtype == Dtype::c32 ? Choices(c32) : Choices(c64);
  };
  if (job == LuJob::solve || job == LuJob::determinant || job == LuJob::log_determinant)
    return of(lu_tiny_solve_f32, lu_tiny_solve_f64, lu_tiny_solve_c32, lu_tiny_solve_c64);
  if (job == LuJob::inverse) return of(lu_tiny_inverse_f32, lu_tiny_inverse_f64, lu_tiny_inverse_c32, lu_tiny_inverse_c64);
  return of(lu_tiny_factor_f32, lu_tiny_factor_f64, lu_tiny_factor_c32, lu_tiny_factor_c64);
}

/// The kernel for m-by-n matrices, as if all batches were packed by columns. `ragged`: matrices may be smaller; then none is inverted by
/// products, which gives other bits than steps one by one: the method must not depend on the largest matrix of a batch.
constexpr LuTiny lu_tiny_plan(LuJob job, Dtype dtype, int m, int n, int nrhs, bool ragged = false) {
  auto const choice = [&](std::span<LuTinyChoice const> table) {
    return *std::find_if(table.begin(), table.end() - 1,
                         [&](LuTinyChoice const& c) { return std::max(m, n) <= c.n && !(ragged && c.method == LuMethod::products); });
  };
  LuTinyChoice best = choice(lu_tiny_choices(job, dtype));
  // Elimination is unrolled, and with several right-hand sides takes up to 5 s to compile.
  if (nrhs > 1 && best.method == eliminating) best = choice(lu_tiny_choices(LuJob::factor, dtype));
  // Matrices of one element are faster in blocks of 128 lanes than of 64: 5.0 beside 9.6 ns per thousand (single).
  int const threads = best.lanes > 1 || best.panel > 0 ? 32 : std::max(m, n) > 1 ? 64 : 128;
  constexpr auto packed = simt::Layout::packed_columns;
  return {.job = job,
          .m = m,
          .n = n,
          .nrhs = nrhs,
          .lanes = best.lanes,
          .matrices = threads / best.lanes,
          .method = best.panel == 0 && best.method == LuMethod::panels ? LuMethod::in_registers : best.method,
          .panel = std::min(best.panel, n),
          .blocks_per_sm = gpu::blocks_of_registers(best.registers, threads),
          .a = packed,
          .result = packed,
          .b = packed,
          .x = packed,
          .pivots = packed};
}

/// The same for interleaved batches: one lane to a matrix as far as its registers go, so that a block's matrices are neighbours in
/// longer rows of memory; else fewer lanes where these suffice, and more matrices to a block.
constexpr LuTiny lu_tiny_interleaved(LuTiny c, int element_bytes) {
  int const planned = c.threads();
  if (c.n * (c.m + c.nrhs) * element_bytes / 4 <= 170) {
    c.lanes = 1;
    c.method = LuMethod::in_registers;
    c.panel = 0;
    c.matrices = 64;
    c.blocks_per_sm = 4;
  } else if (c.method == LuMethod::products) {
    c.matrices = 64 / element_bytes;  // side by side in two sectors; 2 and 4 took longer
    c.blocks_per_sm = gpu::blocks_of_registers(128, c.threads());
  } else {
    // By panels as few lanes as have at most 32 registers (128 bytes) of a panel each.
    int lanes = c.job == LuJob::inverse ? gpu::lanes_of_interleaved(c.lanes, c.n, element_bytes) : c.lanes;
    while (c.by_panels() && lanes > 4 && c.panel * simt::ceil_div(c.m, lanes / 2) * element_bytes <= 128) lanes /= 2;
    bool const fewer = lanes < c.lanes;
    c.lanes = lanes;
    c.matrices = gpu::matrices_of_block(c.matrices, lanes, true, element_bytes);
    c.blocks_per_sm =
        fewer ? gpu::blocks_of_registers(c.by_panels() ? 128 : 255, c.threads()) : std::max(1, c.blocks_per_sm * planned / c.threads());
  }
  return c;
}

}  // namespace myriad
