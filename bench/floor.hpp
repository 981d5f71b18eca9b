#pragma once
/// What this machine can do at best: the yardsticks of the benchmark.

namespace myriad::bench {

/// Both measure for at least so many `seconds`: two threads that start on one core take a while to part.

/// Bytes per second (read and written together) of a plain copy that touches `footprint` bytes in all, on that many threads.
[[nodiscard]] double copy_rate(double footprint, int threads, double seconds);

/// Floating-point operations per second of independent fused multiply-adds in registers, on that many threads.
[[nodiscard]] double peak_flops(bool single, int threads, double seconds);

}  // namespace myriad::bench
