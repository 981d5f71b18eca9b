/// Per-lane info, and handling of failed lanes. Included once per SIMD target, hence no plain include guard.

#if defined(MYRIAD_SIMD_PACK_INFO_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef MYRIAD_SIMD_PACK_INFO_INL_HPP
#undef MYRIAD_SIMD_PACK_INFO_INL_HPP
#else
#define MYRIAD_SIMD_PACK_INFO_INL_HPP
#endif

#include "simd/pack-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace myriad::HWY_NAMESPACE {

/// Writes the info of the active lanes; `info` may be null.
template <typename T>
HWY_INLINE void write_info(int* info, Group const& group, typename Pack<T>::V values) {
  if (!info) return;
  constexpr typename Pack<T>::D d;
  HWY_ALIGN typename Pack<T>::R buffer[Pack<T>::lanes];
  hn::Store(values, d, buffer);
  for (int lane = 0; lane < group.active; ++lane) info[group.index[static_cast<std::size_t>(lane)]] = static_cast<int>(buffer[lane]);
}

/// The same for the matrices [first, first + count).
template <typename T>
HWY_INLINE void write_info(int* info, std::int64_t first, int count, typename Pack<T>::V values) {
  if (!info) return;
  constexpr hn::Rebind<std::int32_t, typename Pack<T>::D> integers;
  HWY_ALIGN std::int32_t buffer[Pack<T>::lanes];
  if constexpr (sizeof(typename Pack<T>::R) == 8)
    hn::Store(hn::DemoteTo(integers, values), integers, buffer);
  else
    hn::Store(hn::ConvertTo(integers, values), integers, buffer);
  for (int lane = 0; lane < count; ++lane) info[first + lane] = buffer[lane];
}

/// Leaves the matrices in `view` of lanes with info unchanged.
template <typename T>
HWY_INLINE void keep_failed(GroupView<T>& view, typename Pack<T>::V info) {
  constexpr typename Pack<T>::D d;
  if (HWY_LIKELY(hn::AllTrue(d, hn::Eq(info, hn::Zero(d))))) return;
  HWY_ALIGN typename Pack<T>::R buffer[Pack<T>::lanes];
  hn::Store(info, d, buffer);
  for (int lane = 0; lane < Pack<T>::lanes; ++lane)
    if (buffer[lane] != 0) view.skip(lane);
}

/// Fills `count` packs with NaN in the lanes of `mask`.
template <typename T>
HWY_INLINE void fill_nan(typename Pack<T>::M mask, typename Pack<T>::R* HWY_RESTRICT packs, int count) {
  using P = Pack<T>;
  constexpr auto nan = std::numeric_limits<typename P::R>::quiet_NaN();
  P fill = P::set(T(nan));
  if constexpr (is_complex<T>) fill.im = fill.re;
  for (int i = 0; i < count; ++i) select(mask, fill, P::load(packs + i * P::size)).store(packs + i * P::size);
}

/// The info, set to `value` in the lanes of `failed` that had none.
template <typename T>
HWY_INLINE typename Pack<T>::V first_failure(typename Pack<T>::V info, typename Pack<T>::M failed, int value) {
  constexpr typename Pack<T>::D d;
  auto const first = hn::And(failed, hn::Eq(info, hn::Zero(d)));
  return hn::IfThenElse(first, hn::Set(d, static_cast<typename Pack<T>::R>(value)), info);
}

}  // namespace myriad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard per target
