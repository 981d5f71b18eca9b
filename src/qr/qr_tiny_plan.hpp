#pragma once
/// The plan of QR of tiny matrices on a GPU.

#include <algorithm>
#include <array>
#include <span>

#include "myriad/types.hpp"
#include "qr/qr_tiny_config.cuh"
#include "runtime/tiny.hpp"

namespace myriad {

/// For matrices of up to `n` rows and columns: lanes to a matrix, the most registers that a thread may have, and whether a vector is among
/// them.
struct QrTinyChoice {
  int n, lanes, registers;
  QrVector vector = QrVector::kept;
};

// The fastest for geqrf of 1 to 32 lanes, several limits of registers and both ways of the vector, or close to it, as measured on an H200
// on 2026-11-21 and 22.
inline constexpr std::array qr_tiny_f32{QrTinyChoice{4, 1, 80},   QrTinyChoice{6, 2, 80, QrVector::read_again},
                                        QrTinyChoice{8, 1, 128},  QrTinyChoice{10, 2, 96, QrVector::read_again},
                                        QrTinyChoice{14, 1, 255}, QrTinyChoice{18, 4, 128},
                                        QrTinyChoice{22, 4, 168}, QrTinyChoice{24, 8, 128},
                                        QrTinyChoice{30, 8, 168}, QrTinyChoice{32, 16, 168}};
inline constexpr std::array qr_tiny_f64{QrTinyChoice{4, 1, 80},
                                        QrTinyChoice{8, 1, 168},
                                        QrTinyChoice{10, 2, 168, QrVector::read_again},
                                        QrTinyChoice{12, 4, 128},
                                        QrTinyChoice{13, 4, 168},
                                        QrTinyChoice{14, 4, 168, QrVector::read_again},
                                        QrTinyChoice{16, 8, 128},
                                        QrTinyChoice{18, 8, 168},
                                        QrTinyChoice{19, 8, 168, QrVector::read_again},
                                        QrTinyChoice{24, 8, 255},
                                        QrTinyChoice{26, 8, 255, QrVector::read_again},
                                        QrTinyChoice{27, 16, 168, QrVector::read_again},
                                        QrTinyChoice{32, 16, 255}};
inline constexpr std::array qr_tiny_c32{QrTinyChoice{4, 1, 80},
                                        QrTinyChoice{8, 1, 168},
                                        QrTinyChoice{10, 2, 168, QrVector::read_again},
                                        QrTinyChoice{12, 4, 255, QrVector::read_again},
                                        QrTinyChoice{14, 4, 168, QrVector::read_again},
                                        QrTinyChoice{16, 8, 128},
                                        QrTinyChoice{24, 8, 255},
                                        QrTinyChoice{32, 16, 255}};
inline constexpr std::array qr_tiny_c64{QrTinyChoice{4, 1, 168},
                                        QrTinyChoice{6, 2, 168, QrVector::read_again},
                                        QrTinyChoice{8, 2, 255, QrVector::read_again},
                                        QrTinyChoice{10, 4, 168, QrVector::read_again},
                                        QrTinyChoice{12, 4, 255},
                                        QrTinyChoice{14, 8, 200, QrVector::read_again},
                                        QrTinyChoice{16, 8, 255, QrVector::read_again},
                                        QrTinyChoice{24, 32, 255},
                                        QrTinyChoice{32, 32, 255, QrVector::read_again}};

constexpr std::span<QrTinyChoice const> qr_tiny_choices(Dtype dtype) {
  using Choices = std::span<QrTinyChoice const>;
  if (dtype == Dtype::c64) return Choices(qr_tiny_c64);
  if (dtype == Dtype::c32) return Choices(qr_tiny_c32);
  return dtype == Dtype::f32 ? Choices(qr_tiny_f32) : Choices(qr_tiny_f64);
}

/// The kernel for m-by-n matrices, as if all batches were packed by columns. `columns`: of C, or right-hand sides.
constexpr QrTiny qr_tiny_plan(QrJob job, Dtype dtype, int m, int n, int reflectors, int columns) {
  using simt::ceil_div;
  bool const applies = job == QrJob::apply || job == QrJob::apply_adjoint;
  auto const table = qr_tiny_choices(dtype);
  int const alone = applies ? columns : n;
  QrTinyChoice const best = *std::find_if(table.begin(), table.end() - 1, [&](QrTinyChoice const& c) { return std::max(m, alone) <= c.n; });
  // Right-hand sides are columns beside the matrix unless they would need more registers than there are.
  int const words = m * (dtype == Dtype::c64 ? 4 : dtype == Dtype::f32 ? 1 : 2);
  int lanes = best.lanes;
  bool beside = job == QrJob::least_squares;
  auto const fits = [&] { return ceil_div(n + columns, lanes) * words <= 144; };
  while (beside && !fits() && lanes < 32) lanes *= 2;
  beside = beside && fits();
  int const width = beside ? n + columns : alone;
  // As few lanes as there are columns, if the matrices of a block then fit in shared memory.
  auto const bytes = [&](int of) { return 32 / of * (m + 4) * (n + columns + 4) * 4 * (words / m); };
  while (lanes / 2 >= width && bytes(lanes / 2) <= 96 * 1024) lanes /= 2;
  // The table is for factors; the other jobs take what their columns and a vector need.
  int const needed = (ceil_div(width, lanes) + 1) * words + 48;
  // Single precision needs fewer registers than this estimate at its upper end: gels of 32 rows took 1.29 times as long with 170 as with
  // 168 (H100).
  int const most_of_168 = dtype == Dtype::f32 ? 176 : 168;
  int const registers = job == QrJob::factor ? best.registers : needed <= 80 ? 80 : needed <= 128 ? 128 : needed <= most_of_168 ? 168 : 255;
  int const threads = lanes == 1 && words * n <= 64 ? 64 : 32;
  constexpr auto packed = simt::Layout::packed_rows;  // the matrices are seen transposed
  return {.job = job,
          .m = m,
          .n = n,
          .reflectors = reflectors,
          .columns = columns,
          .beside = beside ? columns : 0,
          .lanes = lanes,
          .matrices = threads / lanes,
          .vector = job == QrJob::factor ? best.vector
                    : needed <= 255      ? QrVector::kept
                                         : QrVector::read_again,
          .blocks_per_sm = gpu::blocks_of_registers(registers, threads),
          .a = packed,
          .c = packed,
          .tau = simt::Layout::packed_columns};
}

/// The same for interleaved batches: more matrices to a block. The order of sums depends on the lanes, of which there are as many.
constexpr QrTiny qr_tiny_interleaved(QrTiny k, int element_bytes) {
  int const planned = k.threads();
  k.matrices = gpu::matrices_of_block(k.matrices, k.lanes, true, element_bytes);
  k.blocks_per_sm = std::max(1, k.blocks_per_sm * planned / k.threads());
  return k;
}

}  // namespace myriad
