#pragma once
/// Limits on the SIMD target.

namespace myriad {

/// Disables targets better than the one in the environment variable MYRIAD_SIMD, such as AVX2 or SCALAR; `myriad info` lists the names.
/// Throws Error if it is no target of this build. Only the first call in a process has an effect.
void limit_simd_targets();

}  // namespace myriad
