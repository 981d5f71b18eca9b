#pragma once
/// SIMD targets that may be used.

namespace myriad {

/// Leaves out targets better than the one that the environment variable MYRIAD_SIMD names, such as AVX2 or SCALAR; `myriad info` shows the
/// names. Throws Error where it names none of this build. At the first call of a process only.
void limit_simd_targets();

}  // namespace myriad
