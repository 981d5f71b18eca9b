#pragma once
/// Numbers of 16 bits to floats and back, many at a time.

#include <cstdint>

#include "myriad/half.hpp"
#include "simd/dispatch.hpp"

namespace myriad {

void widen(half const* from, float* to, std::int64_t count);
void widen(bfloat16 const* from, float* to, std::int64_t count);
/// Each rounded to the nearest, of two to the even one.
void narrow(float const* from, half* to, std::int64_t count);
void narrow(float const* from, bfloat16* to, std::int64_t count);

}  // namespace myriad
