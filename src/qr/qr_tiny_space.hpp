#pragma once
/// Tuned values of QR of tiny matrices.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <tuple>
#include <utility>
#include <vector>

#include "qr/qr_tiny_plan.hpp"
#include "runtime/tiny.hpp"
#include "tune/tuned.hpp"

namespace myriad {

/// geqrf; see qr_tiny_plan. Sums depend on how many lanes there are, which therefore stay as planned.
struct QrTinySpace {
  using Config = QrTiny;
  using Tuned = tuning::Members<&QrTiny::matrices, &QrTiny::vector, &QrTiny::blocks_per_sm>;

  Dtype dtype;
  int m, n;

  [[nodiscard]] int words() const { return dtype == Dtype::f32 ? 1 : dtype == Dtype::c64 ? 4 : 2; }
  [[nodiscard]] tuning::Problem problem() const { return {"qr_tiny factor", dtype, {m, n, 0}}; }
  [[nodiscard]] QrTiny plan() const { return qr_tiny_plan(QrJob::factor, dtype, m, n, std::min(m, n), 0); }

  [[nodiscard]] bool admits(QrTiny const& c, Device const& device) const {
    if (!gpu::admits_block(c.lanes, c.matrices, c.blocks_per_sm, device)) return false;
    if (c.vector != QrVector::kept && c.vector != QrVector::read_again) return false;
    auto const bytes = [&](QrTiny const& x) {
      return QrTinyMemory(4 * words(), x.a == simt::Layout::interleaved ? qr_tiny_interleaved(x, 4 * words()) : x).bytes;
    };
    return gpu::most_bytes(c, bytes, &QrTiny::a) <= device.shared_memory_per_block;
  }

  [[nodiscard]] std::vector<QrTiny> candidates(Device const& device) const {
    QrTiny const p = plan();
    std::vector<QrTiny> out;
    for (int const threads : {32, 64, 128})
      for (QrVector const vector : {p.vector, p.vector == QrVector::kept ? QrVector::read_again : QrVector::kept}) {
        QrTiny c = p;
        c.matrices = threads / c.lanes, c.vector = vector;
        int const held = (simt::ceil_div(n, c.lanes) + (vector == QrVector::kept)) * m * words();
        int tried = 0;
        for (int const registers : gpu::register_limits)
          if (registers >= std::min(held + 16, 255) && tried < 5) {
            c.blocks_per_sm = gpu::blocks_of_registers(registers, threads);
            if (!admits(c, device)) continue;
            out.push_back(c);
            ++tried;
          }
      }
    return out;
  }
};

}  // namespace myriad
