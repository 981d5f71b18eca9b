#pragma once
/// Conversion of arrays of 16-bit types to float and back.

#include <cstdint>

#include "myriad/half.hpp"
#include "simd/dispatch.hpp"

namespace myriad {

void widen(half const* from, float* to, std::int64_t count);
void widen(bfloat16 const* from, float* to, std::int64_t count);
/// Rounds to nearest, ties to even.
void narrow(float const* from, half* to, std::int64_t count);
void narrow(float const* from, bfloat16* to, std::int64_t count);

}  // namespace myriad
