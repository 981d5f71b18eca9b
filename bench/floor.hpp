#pragma once
/// Best possible rates of this machine, the reference of the benchmark.

namespace myriad::bench {

/// Both measure for at least `seconds`, since threads that start on the same core take a while to separate.

/// Bytes per second (reads plus writes) of a plain copy that touches `footprint` bytes in total, on that many threads.
[[nodiscard]] double copy_rate(double footprint, int threads, double seconds);

/// Floating-point operations per second of independent fused multiply-adds in registers, on that many threads.
[[nodiscard]] double peak_flops(bool single, int threads, double seconds);

}  // namespace myriad::bench
