// The conversions of myriad/half.hpp have no branches, so the compiler vectorizes these loops for each target.

#include "simd/convert.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/convert_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace myriad::HWY_NAMESPACE {

template <typename From, typename To>
HWY_INLINE void convert(From const* HWY_RESTRICT from, To* HWY_RESTRICT to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = To(from[i]);
}

void widen_half(half const* from, float* to, std::int64_t count) { convert(from, to, count); }
void widen_bfloat16(bfloat16 const* from, float* to, std::int64_t count) { convert(from, to, count); }
void narrow_half(float const* from, half* to, std::int64_t count) { convert(from, to, count); }
void narrow_bfloat16(float const* from, bfloat16* to, std::int64_t count) { convert(from, to, count); }

}  // namespace myriad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace myriad {

HWY_EXPORT(widen_half);
HWY_EXPORT(widen_bfloat16);
HWY_EXPORT(narrow_half);
HWY_EXPORT(narrow_bfloat16);

void widen(half const* from, float* to, std::int64_t count) { HWY_DYNAMIC_DISPATCH(widen_half)(from, to, count); }
void widen(bfloat16 const* from, float* to, std::int64_t count) { HWY_DYNAMIC_DISPATCH(widen_bfloat16)(from, to, count); }
void narrow(float const* from, half* to, std::int64_t count) { HWY_DYNAMIC_DISPATCH(narrow_half)(from, to, count); }
void narrow(float const* from, bfloat16* to, std::int64_t count) { HWY_DYNAMIC_DISPATCH(narrow_bfloat16)(from, to, count); }

}  // namespace myriad
#endif
