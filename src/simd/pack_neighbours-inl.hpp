/// Groups of consecutive matrices in a batch of small contiguous matrices. There are no lookups per matrix, and the number of elements is a
/// compile-time constant: at these sizes the general loads would take longer than the arithmetic. Included once per SIMD target, hence no
/// plain include guard.

#if defined(MYRIAD_SIMD_PACK_NEIGHBOURS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef MYRIAD_SIMD_PACK_NEIGHBOURS_INL_HPP
#undef MYRIAD_SIMD_PACK_NEIGHBOURS_INL_HPP
#else
#define MYRIAD_SIMD_PACK_NEIGHBOURS_INL_HPP
#endif

#include <type_traits>

#include "simd/pack-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace myriad::HWY_NAMESPACE {

/// Whether the matrices have one shape and are contiguous and column-major.
template <typename T>
bool in_one_piece(Batch<T> const& a) {
  return !a.ragged() && !a.row_strides && !a.col_strides && !a.conjugated && a.row_stride == 1 && (a.col_stride == a.rows || a.cols == 1);
}

/// Prefetch distance for groups of small matrices, in bytes: several groups, since one takes less time than a memory access.
inline constexpr std::int64_t fetch_distance = 4096;

/// The matrices [first, first + lanes) of a batch for which in_one_piece holds, as far as they lie before `end`.
template <typename T>
class Neighbours {
  using P = Pack<std::remove_const_t<T>>;
  using R = std::conditional_t<std::is_const_v<T>, typename P::R const, typename P::R>;
  static constexpr int parts = is_complex<std::remove_const_t<T>> ? 2 : 1;

 public:
  HWY_INLINE Neighbours(Batch<T> const& batch, std::int64_t first, std::int64_t end)
      : active_(static_cast<int>(std::min<std::int64_t>(P::lanes, end - first))) {
    if (batch.pointers) {
      for (int lane = 0; lane < P::lanes; ++lane) base_[lane] = reinterpret_cast<R*>(batch.matrix(first + (lane < active_ ? lane : 0)));
    } else {
      T* const base = batch.matrix(first);
      for (int lane = 0; lane < P::lanes; ++lane)
        base_[lane] = reinterpret_cast<R*>(base + (lane < active_ ? lane : 0) * batch.batch_stride);
    }
  }

  [[nodiscard]] HWY_INLINE int active() const { return active_; }
  [[nodiscard]] HWY_INLINE R* base(int lane) const { return base_[lane]; }
  [[nodiscard]] HWY_INLINE R* const* bases() const { return base_; }
  /// A bit for every active lane.
  [[nodiscard]] HWY_INLINE std::uint32_t lanes() const { return (1U << active_) - 1; }

  /// Loads the `count` elements of every matrix.
  template <int count>
  HWY_INLINE void load(typename P::R* HWY_RESTRICT ws) const {
    load_run<typename P::R>(base_, 0, count * parts, [&](std::int64_t e) HWY_ATTR { return ws + e * P::lanes; });
  }
  /// Stores `count` elements of the lanes in `stored`, from offset(lane) on.
  template <int count, typename Offset>
  HWY_INLINE void store(typename P::R const* HWY_RESTRICT ws, std::uint32_t stored, Offset offset) const {
    R* target[P::lanes];
    for (int lane = 0; lane < P::lanes; ++lane) target[lane] = base_[lane] + offset(lane) * parts;
    auto const from = [&](std::int64_t e) HWY_ATTR { return ws + e * P::lanes; };
    if (HWY_LIKELY(stored == (1ULL << P::lanes) - 1))
      store_run<typename P::R>(
          target, 0, count * parts, [](int) HWY_ATTR { return true; }, 0, from);
    else
      store_run<typename P::R>(
          target, 0, count * parts, [&](int lane) HWY_ATTR { return (stored >> lane & 1) != 0; }, 0, from);
  }
  template <int count>
  HWY_INLINE void store(typename P::R const* HWY_RESTRICT ws, std::uint32_t stored) const {
    store<count>(ws, stored, [](int) HWY_ATTR { return std::int64_t{0}; });
  }

  /// Prefetches as much as the group takes, for contiguous matrices of `count` elements, fetch_distance behind it.
  HWY_INLINE void fetch_behind(int count) const {
    int const size = count * parts * static_cast<int>(sizeof(R)) * P::lanes;
    auto const* const from = reinterpret_cast<char const*>(base_[0]) + fetch_distance;
    for (int i = 0; i < size; i += 64) __builtin_prefetch(from + i, 0, 3);
  }

 private:
  R* base_[P::lanes];
  int active_;
};

}  // namespace myriad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard per target
