#pragma once
/// What this machine can do at best: the yardsticks of the benchmark.

namespace myriad::bench {

/// Bytes per second (read and written together) of a plain copy that touches `footprint` bytes in all, on that many threads.
[[nodiscard]] double copy_rate(double footprint, int threads);

/// Floating-point operations per second of independent fused multiply-adds in registers, on that many threads.
[[nodiscard]] double peak_flops(bool single, int threads);

}  // namespace myriad::bench
