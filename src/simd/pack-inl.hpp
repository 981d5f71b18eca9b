/// Packs: one element of several matrices, one matrix per vector lane; with loads and stores between packs and matrices of any layout.
/// Included once per SIMD target (hwy/foreach_target.h), hence no plain include guard.

#if defined(MYRIAD_SIMD_PACK_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef MYRIAD_SIMD_PACK_INL_HPP
#undef MYRIAD_SIMD_PACK_INL_HPP
#else
#define MYRIAD_SIMD_PACK_INL_HPP
#endif

#include <hwy/highway.h>

#include <complex>
#include <cstdint>
#include <limits>

#include "core/local_matrix.hpp"
#include "myriad/batch.hpp"
#include "simd/group.hpp"

HWY_BEFORE_NAMESPACE();
namespace myriad::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// One element of type T per lane. A real pack is one vector, a complex pack one of real and one of imaginary parts. In memory a pack takes
/// `size` reals: the real parts of all lanes, then the imaginary parts.
template <typename T>
struct Pack {
  using R = T;
  using D = hn::ScalableTag<R>;
  using V = hn::Vec<D>;
  using M = hn::Mask<D>;
  static constexpr int lanes = static_cast<int>(hn::MaxLanes(D()));
  static constexpr int size = lanes;
  V v;

  static HWY_INLINE Pack load(R const* p) { return {hn::Load(D(), p)}; }
  HWY_INLINE void store(R* p) const { hn::Store(v, D(), p); }
  static HWY_INLINE Pack zero() { return {hn::Zero(D())}; }
  static HWY_INLINE Pack set(T x) { return {hn::Set(D(), x)}; }
};

template <typename Part>
struct Pack<std::complex<Part>> {
  using R = Part;
  using D = hn::ScalableTag<R>;
  using V = hn::Vec<D>;
  using M = hn::Mask<D>;
  static constexpr int lanes = static_cast<int>(hn::MaxLanes(D()));
  static constexpr int size = 2 * lanes;
  V re, im;

  static HWY_INLINE Pack load(R const* p) { return {hn::Load(D(), p), hn::Load(D(), p + lanes)}; }
  HWY_INLINE void store(R* p) const {
    hn::Store(re, D(), p);
    hn::Store(im, D(), p + lanes);
  }
  static HWY_INLINE Pack zero() { return {hn::Zero(D()), hn::Zero(D())}; }
  static HWY_INLINE Pack set(std::complex<R> x) { return {hn::Set(D(), x.real()), hn::Set(D(), x.imag())}; }
};

template <typename T>
HWY_INLINE Pack<T> add(Pack<T> a, Pack<T> b) {
  if constexpr (is_complex<T>)
    return {hn::Add(a.re, b.re), hn::Add(a.im, b.im)};
  else
    return {hn::Add(a.v, b.v)};
}
template <typename T>
HWY_INLINE Pack<T> sub(Pack<T> a, Pack<T> b) {
  if constexpr (is_complex<T>)
    return {hn::Sub(a.re, b.re), hn::Sub(a.im, b.im)};
  else
    return {hn::Sub(a.v, b.v)};
}
template <typename T>
HWY_INLINE Pack<T> mul(Pack<T> a, Pack<T> b) {
  if constexpr (is_complex<T>)
    return {hn::NegMulAdd(a.im, b.im, hn::Mul(a.re, b.re)), hn::MulAdd(a.im, b.re, hn::Mul(a.re, b.im))};
  else
    return {hn::Mul(a.v, b.v)};
}
/// a b + c
template <typename T>
HWY_INLINE Pack<T> mul_add(Pack<T> a, Pack<T> b, Pack<T> c) {
  if constexpr (is_complex<T>)
    return {hn::NegMulAdd(a.im, b.im, hn::MulAdd(a.re, b.re, c.re)), hn::MulAdd(a.im, b.re, hn::MulAdd(a.re, b.im, c.im))};
  else
    return {hn::MulAdd(a.v, b.v, c.v)};
}
/// c - a b
template <typename T>
HWY_INLINE Pack<T> neg_mul_add(Pack<T> a, Pack<T> b, Pack<T> c) {
  if constexpr (is_complex<T>)
    return {hn::MulAdd(a.im, b.im, hn::NegMulAdd(a.re, b.re, c.re)), hn::NegMulAdd(a.im, b.re, hn::NegMulAdd(a.re, b.im, c.im))};
  else
    return {hn::NegMulAdd(a.v, b.v, c.v)};
}
template <typename T>
HWY_INLINE Pack<T> conj(Pack<T> a) {
  if constexpr (is_complex<T>)
    return {a.re, hn::Neg(a.im)};
  else
    return a;
}
template <typename T>
HWY_INLINE Pack<T> neg(Pack<T> a) {
  if constexpr (is_complex<T>)
    return {hn::Neg(a.re), hn::Neg(a.im)};
  else
    return {hn::Neg(a.v)};
}
/// Real scaling: a s.
template <typename T>
HWY_INLINE Pack<T> scale(Pack<T> a, typename Pack<T>::V s) {
  if constexpr (is_complex<T>)
    return {hn::Mul(a.re, s), hn::Mul(a.im, s)};
  else
    return {hn::Mul(a.v, s)};
}
template <typename T>
HWY_INLINE Pack<T> select(typename Pack<T>::M mask, Pack<T> yes, Pack<T> no) {
  if constexpr (is_complex<T>)
    return {hn::IfThenElse(mask, yes.re, no.re), hn::IfThenElse(mask, yes.im, no.im)};
  else
    return {hn::IfThenElse(mask, yes.v, no.v)};
}
/// |re| + |im|, LAPACK's cabs1, by which pivots are chosen.
template <typename T>
HWY_INLINE typename Pack<T>::V abs1(Pack<T> a) {
  if constexpr (is_complex<T>)
    return hn::Add(hn::Abs(a.re), hn::Abs(a.im));
  else
    return hn::Abs(a.v);
}
/// The larger of |re| and |im|.
template <typename T>
HWY_INLINE typename Pack<T>::V abs_max(Pack<T> a) {
  if constexpr (is_complex<T>)
    return hn::Max(hn::Abs(a.re), hn::Abs(a.im));
  else
    return hn::Abs(a.v);
}
/// |a|^2 + c
template <typename T>
HWY_INLINE typename Pack<T>::V norm_add(Pack<T> a, typename Pack<T>::V c) {
  if constexpr (is_complex<T>)
    return hn::MulAdd(a.im, a.im, hn::MulAdd(a.re, a.re, c));
  else
    return hn::MulAdd(a.v, a.v, c);
}
template <typename T>
HWY_INLINE typename Pack<T>::V real_part(Pack<T> a) {
  if constexpr (is_complex<T>)
    return a.re;
  else
    return a.v;
}
template <typename T>
HWY_INLINE Pack<T> from_real(typename Pack<T>::V re) {
  if constexpr (is_complex<T>)
    return {re, hn::Zero(typename Pack<T>::D())};
  else
    return {re};
}
template <typename T>
HWY_INLINE typename Pack<T>::M is_zero(Pack<T> a) {
  auto const zero = hn::Zero(typename Pack<T>::D());
  if constexpr (is_complex<T>)
    return hn::And(hn::Eq(a.re, zero), hn::Eq(a.im, zero));
  else
    return hn::Eq(a.v, zero);
}
template <typename T>
HWY_INLINE typename Pack<T>::M is_finite(Pack<T> a) {
  auto const largest = hn::Set(typename Pack<T>::D(), std::numeric_limits<typename Pack<T>::R>::max());
  if constexpr (is_complex<T>)
    return hn::And(hn::Le(hn::Abs(a.re), largest), hn::Le(hn::Abs(a.im), largest));
  else
    return hn::Le(hn::Abs(a.v), largest);
}
/// 1 / a for an `ordinary` a (see Divisor). Complex: Smith's method, which does not form |a|^2.
template <typename T>
HWY_INLINE Pack<T> reciprocal_of_ordinary(Pack<T> a) {
  auto const one = hn::Set(typename Pack<T>::D(), typename Pack<T>::R(1));
  if constexpr (is_complex<T>) {
    auto const re_larger = hn::Ge(hn::Abs(a.re), hn::Abs(a.im));
    auto const large = hn::IfThenElse(re_larger, a.re, a.im);
    auto const small = hn::IfThenElse(re_larger, a.im, a.re);
    auto const ratio = hn::Div(small, large);
    auto const scale = hn::MulAdd(small, ratio, large);
    // (re larger) (1 - i ratio) / scale, (im larger) (ratio - i) / scale
    auto const re = hn::IfThenElse(re_larger, one, ratio);
    auto const im = hn::IfThenElse(re_larger, ratio, one);
    return {hn::Div(re, scale), hn::Neg(hn::Div(im, scale))};
  } else {
    return {hn::Div(one, a.v)};
  }
}

/// A divisor a: x / a = (x power) inverse, where `power` is a power of two, one in ordinary lanes. In other lanes a is subnormal or near
/// overflow, and 1 / a would overflow, lose bits, or (complex) become zero. As long as the quotient is normal, scaling a and x by powers of
/// two does not change its bits. Zeros, infinities and NaN are not scaled.
template <typename T>
struct Divisor {
  using P = Pack<T>;
  using R = typename P::R;

  P inverse;            ///< 1 / (a power)
  typename P::V power;  ///< the scale
  bool ordinary;        ///< all lanes are

  HWY_INLINE explicit Divisor(P a) {
    constexpr typename P::D d;
    constexpr bool narrow = sizeof(R) == 4;
    constexpr R smallest = narrow ? R(0x1p-124) : static_cast<R>(0x1p-1020), largest = narrow ? R(0x1p124) : static_cast<R>(0x1p1020);
    auto const size = abs1(a);
    auto const is_ordinary = hn::And(hn::Ge(size, hn::Set(d, smallest)), hn::Le(size, hn::Set(d, largest)));
    ordinary = hn::AllTrue(d, is_ordinary);
    power = hn::Set(d, R(1));
    if (HWY_UNLIKELY(!ordinary)) {
      auto const tiny = hn::And(hn::Lt(size, hn::Set(d, smallest)), hn::Gt(size, hn::Zero(d)));
      auto const finite = is_finite(a);
      auto const huge = hn::And(hn::Gt(size, hn::Set(d, largest)), finite);
      power = hn::IfThenElse(tiny, hn::Set(d, narrow ? R(0x1p60) : static_cast<R>(0x1p200)), power);
      power = hn::IfThenElse(huge, hn::Set(d, R(0x1p-6)), power);
      a = scale(a, power);
    }
    inverse = reciprocal_of_ordinary(a);
  }
  HWY_INLINE P divide(P x) const { return HWY_LIKELY(ordinary) ? mul(x, inverse) : mul(scale(x, power), inverse); }
  /// 1 / a
  [[nodiscard]] HWY_INLINE P reciprocal() const { return HWY_LIKELY(ordinary) ? inverse : scale(inverse, power); }
};

/// 1 / a
template <typename T>
HWY_INLINE Pack<T> reciprocal(Pack<T> a) {
  return Divisor<T>(a).reciprocal();
}

#if HWY_TARGET != HWY_SCALAR
/// Transposes each 128-bit block across as many vectors as a block has lanes.
template <typename R>
HWY_INLINE void transpose_in_blocks(hn::Vec<hn::ScalableTag<R>>* HWY_RESTRICT x) {
  using D = hn::ScalableTag<R>;
  constexpr D d;
  if constexpr (sizeof(R) == 8) {
    auto const a = x[0], b = x[1];
    x[0] = hn::InterleaveLower(d, a, b);
    x[1] = hn::InterleaveUpper(d, a, b);
  } else {
    constexpr hn::Repartition<std::uint64_t, D> d64;
    auto const a = hn::BitCast(d64, hn::InterleaveLower(d, x[0], x[1]));
    auto const b = hn::BitCast(d64, hn::InterleaveUpper(d, x[0], x[1]));
    auto const c = hn::BitCast(d64, hn::InterleaveLower(d, x[2], x[3]));
    auto const e = hn::BitCast(d64, hn::InterleaveUpper(d, x[2], x[3]));
    x[0] = hn::BitCast(d, hn::InterleaveLower(d64, a, c));
    x[1] = hn::BitCast(d, hn::InterleaveUpper(d64, a, c));
    x[2] = hn::BitCast(d, hn::InterleaveLower(d64, b, e));
    x[3] = hn::BitCast(d, hn::InterleaveUpper(d64, b, e));
  }
}
#endif

/// Transposes lanes x lanes reals in registers: x[r] gets lane r of all x.
template <typename R>
HWY_INLINE void transpose(hn::Vec<hn::ScalableTag<R>>* HWY_RESTRICT x) {
#if HWY_TARGET == HWY_SCALAR
  (void)x;
#else
  using D = hn::ScalableTag<R>;
  constexpr D d;
  constexpr int lanes = static_cast<int>(hn::MaxLanes(D()));
  constexpr int block = std::min<int>(16 / static_cast<int>(sizeof(R)), lanes);  // lanes of a 128-bit block
  constexpr int blocks = lanes / block;
  for (int g = 0; g < lanes; g += block) transpose_in_blocks<R>(x + g);
  // Then the blocks: x[g*block + c] holds in block k the column k*block + c of row group g.
  if constexpr (blocks == 2) {
    for (int c = 0; c < block; ++c) {
      auto const a = x[c], b = x[block + c];
      x[c] = hn::ConcatLowerLower(d, b, a);
      x[block + c] = hn::ConcatUpperUpper(d, b, a);
    }
  } else if constexpr (blocks == 4) {
    for (int c = 0; c < block; ++c) {
      auto const low_even = hn::ConcatLowerLower(d, x[2 * block + c], x[c]);
      auto const low_odd = hn::ConcatLowerLower(d, x[3 * block + c], x[block + c]);
      auto const high_even = hn::ConcatUpperUpper(d, x[2 * block + c], x[c]);
      auto const high_odd = hn::ConcatUpperUpper(d, x[3 * block + c], x[block + c]);
      x[c] = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(low_odd), low_even);
      x[block + c] = hn::OddEvenBlocks(low_odd, hn::SwapAdjacentBlocks(low_even));
      x[2 * block + c] = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(high_odd), high_even);
      x[3 * block + c] = hn::OddEvenBlocks(high_odd, hn::SwapAdjacentBlocks(high_even));
    }
  }
  static_assert(blocks == 1 || blocks == 2 || blocks == 4);
#endif
}

/// Leading dimension, in packs, for matrices of m rows: a power-of-two column stride would map a row to few sets of the L1 cache.
HWY_INLINE constexpr int pack_ld(int m) { return m >= 16 && m % 8 == 0 ? m + 1 : m; }

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
// Loads and stores of half vectors save a third (AVX-512) or half (AVX2) of the shuffles of a transposition, which is bound by shuffles:
// combining two halves from memory, or storing them, needs none. Short runs also need only half a transposition.
template <typename R>
using HalfOf = hn::Half<hn::ScalableTag<R>>;
template <typename R>
inline constexpr int half_lanes = static_cast<int>(hn::MaxLanes(hn::ScalableTag<R>())) / 2;

#if HWY_TARGET == HWY_AVX3
/// 128-bit blocks 0 and 2 (`odd`: 1 and 3) of a, then of b.
template <bool odd, typename V>
HWY_INLINE V every_other_block(V a, V b) {
  if constexpr (sizeof(hn::TFromV<V>) == 8)
    return V{_mm512_shuffle_f64x2(a.raw, b.raw, odd ? 0xDD : 0x88)};
  else
    return V{_mm512_shuffle_f32x4(a.raw, b.raw, odd ? 0xDD : 0x88)};
}
/// 128-bit blocks 0 and 1 (`upper`: 2 and 3) of a and b interleaved: a, b, a, b.
template <bool upper, typename V>
HWY_INLINE V blocks_in_turns(V a, V b) {
  __m512i const order = upper ? _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15) : _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
  if constexpr (sizeof(hn::TFromV<V>) == 8)
    return V{_mm512_permutex2var_pd(a.raw, order, b.raw)};
  else
    return V{_mm512_castpd_ps(_mm512_permutex2var_pd(_mm512_castps_pd(a.raw), order, _mm512_castps_pd(b.raw)))};
}
#endif

/// Loads half vectors, those of two lanes into one vector.
template <typename R, typename LoadHalf>
HWY_INLINE void gather_halves(hn::Vec<hn::ScalableTag<R>>* HWY_RESTRICT x, LoadHalf load) {
  constexpr hn::ScalableTag<R> d;
  constexpr int block = 16 / static_cast<int>(sizeof(R));
  for (int g = 0; g < half_lanes<R>; g += block)
    for (int i = 0; i < block; ++i) x[g + i] = hn::Combine(d, load(2 * g + block + i), load(2 * g + i));
}
/// x[r], for r below half the lanes, gets the r-th element of the half vectors of all lanes.
template <typename R>
HWY_INLINE void transpose_halves(hn::Vec<hn::ScalableTag<R>>* HWY_RESTRICT x) {
  constexpr int block = 16 / static_cast<int>(sizeof(R));
  transpose_in_blocks<R>(x);
#if HWY_TARGET == HWY_AVX3
  transpose_in_blocks<R>(x + block);
  for (int c = 0; c < block; ++c) {
    auto const a = x[c], b = x[block + c];
    x[c] = every_other_block<false>(a, b);
    x[block + c] = every_other_block<true>(a, b);
  }
#else
  static_assert(half_lanes<R> == block);
#endif
}

/// The inverse of transpose_halves: from elements to half vectors of two lanes each.
template <typename R>
HWY_INLINE void transpose_to_halves(hn::Vec<hn::ScalableTag<R>>* HWY_RESTRICT x) {
  constexpr int block = 16 / static_cast<int>(sizeof(R));
  transpose_in_blocks<R>(x);
#if HWY_TARGET == HWY_AVX3
  transpose_in_blocks<R>(x + block);
  for (int c = 0; c < block; ++c) {
    auto const a = x[c], b = x[block + c];
    x[c] = blocks_in_turns<false>(a, b);
    x[block + c] = blocks_in_turns<true>(a, b);
  }
#else
  static_assert(half_lanes<R> == block);
#endif
}
/// The inverse of gather_halves: calls store(lane, index of the vector, whether the lane's half is the upper one) for all lanes.
template <typename R, typename StoreHalf>
HWY_INLINE void scatter_halves(StoreHalf store) {
  constexpr int block = 16 / static_cast<int>(sizeof(R));
  for (int g = 0; g < half_lanes<R>; g += block)
    for (int i = 0; i < block; ++i) {
      store(2 * g + i, g + i, false);
      store(2 * g + block + i, g + i, true);
    }
}
template <typename R>
HWY_INLINE hn::Vec<HalfOf<R>> half_of(hn::Vec<hn::ScalableTag<R>> x, bool upper) {
  constexpr HalfOf<R> half;
  return upper ? hn::UpperHalf(half, x) : hn::LowerHalf(half, x);
}
#if HWY_TARGET == HWY_AVX3
/// Stores the elements of a half selected by `mask`. The half goes through a register: g++ would fuse extraction and store to a masked
/// extraction to memory, which, unlike a masked store, faults on masked-out memory behind a page's end.
template <typename R>
HWY_INLINE void store_half(hn::Vec<hn::ScalableTag<R>> x, bool upper, hn::Mask<HalfOf<R>> mask, R* to) {
  auto half = half_of<R>(x, upper);
  asm("" : "+v"(half.raw));
  hn::BlendedStore(half, mask, HalfOf<R>(), to);
}
#endif
#endif

/// Addresses and strides of a group's matrices.
template <typename T>
struct GroupView {
  T* base[max_lanes];
  std::int64_t rs[max_lanes];
  std::int64_t cs[max_lanes];
  bool stored[max_lanes];  ///< store_group writes this lane; `skip` clears it
  bool same_strides;       ///< rs and cs are equal in all lanes
  bool adjacent;           ///< all lanes are stored and adjacent: an interleaved batch
  bool conjugated;

  HWY_INLINE GroupView(Batch<T> const& batch, Group const& group, int lanes) : conjugated(batch.conjugated) {
    if (!batch.pointers && !batch.row_strides && !batch.col_strides) {
      T* const first = batch.matrix(0);
      for (int lane = 0; lane < lanes; ++lane) {
        base[lane] = first + group.index[static_cast<std::size_t>(lane)] * batch.batch_stride;
        rs[lane] = batch.row_stride;
        cs[lane] = batch.col_stride;
        stored[lane] = lane < group.active;
      }
      same_strides = true;
      adjacent = batch.batch_stride == 1 && group.active == lanes &&
                 group.index[static_cast<std::size_t>(lanes) - 1] == group.index[0] + lanes - 1;
      return;
    }
    same_strides = true;
    adjacent = group.active == lanes;
    for (int lane = 0; lane < lanes; ++lane) {
      std::int64_t const b = group.index[static_cast<std::size_t>(lane)];
      base[lane] = batch.matrix(b);
      rs[lane] = batch.row_stride_of(b);
      cs[lane] = batch.col_stride_of(b);
      stored[lane] = lane < group.active;
      same_strides &= rs[lane] == rs[0] && cs[lane] == cs[0];
      adjacent &= base[lane] == base[0] + lane;
    }
    adjacent &= same_strides;
  }

  /// Leaves this lane's matrix unchanged.
  HWY_INLINE void skip(int lane) {
    stored[lane] = false;
    adjacent = false;
  }

  /// The view that starts at element (i, j).
  HWY_INLINE GroupView at(std::int64_t i, std::int64_t j, int lanes) const {
    GroupView part = *this;
    for (int lane = 0; lane < lanes; ++lane) part.base[lane] += i * rs[lane] + j * cs[lane];
    return part;
  }
};

/// Loads `length` consecutive reals from source[lane] + offset for every lane; the r-th of all lanes goes to to(r).
template <typename R, typename To>
HWY_INLINE void load_run(R const* const* HWY_RESTRICT source, std::int64_t offset, std::int64_t length, To to) {
  using D = hn::ScalableTag<R>;
  using V = hn::Vec<D>;
  constexpr D d;
  [[maybe_unused]] constexpr int lanes = static_cast<int>(hn::MaxLanes(D()));
  std::int64_t e = 0;
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
  constexpr HalfOf<R> half;
  constexpr int width = half_lanes<R>;
  // Both halves of a lane are loaded consecutively: matrices with a power-of-two stride would evict each other from the L1 cache in
  // between.
  for (; e + lanes <= length; e += lanes) {
    V x[width], y[width];
    constexpr int block = 16 / static_cast<int>(sizeof(R));
    for (int g = 0; g < width; g += block)
      for (int i = 0; i < block; ++i) {
        R const* const low = source[2 * g + i] + offset + e;
        R const* const high = source[2 * g + block + i] + offset + e;
        x[g + i] = hn::Combine(d, hn::LoadU(half, high), hn::LoadU(half, low));
        y[g + i] = hn::Combine(d, hn::LoadU(half, high + width), hn::LoadU(half, low + width));
      }
    transpose_halves<R>(x);
    transpose_halves<R>(y);
    for (int r = 0; r < width; ++r) hn::Store(x[r], d, to(e + r));
    for (int r = 0; r < width; ++r) hn::Store(y[r], d, to(e + width + r));
  }
  if (e + width <= length) {
    V x[width];
    gather_halves<R>(x, [&](int lane) HWY_ATTR { return hn::LoadU(half, source[lane] + offset + e); });
    transpose_halves<R>(x);
    for (int r = 0; r < width; ++r) hn::Store(x[r], d, to(e + r));
    e += width;
  }
  if (e == length) return;
#else
  for (; e + lanes <= length; e += lanes) {
    V x[lanes];
    for (int lane = 0; lane < lanes; ++lane) x[lane] = hn::LoadU(d, source[lane] + offset + e);
    transpose<R>(x);
    for (int r = 0; r < lanes; ++r) hn::Store(x[r], d, to(e + r));
  }
#endif
#if HWY_TARGET == HWY_AVX3  // its masked loads and stores never access masked-out memory
  auto const mask = hn::FirstN(half, static_cast<std::size_t>(length - e));
  V x[width];
  gather_halves<R>(x, [&](int lane) HWY_ATTR { return hn::MaskedLoad(mask, half, source[lane] + offset + e); });
  transpose_halves<R>(x);
  for (int r = 0; r < width - 1; ++r)
    if (e + r < length) hn::Store(x[r], d, to(e + r));
#else
  auto const left = static_cast<int>(length - e);
  for (int i = 0; i < left; ++i) {
    R* const out = to(e + i);
    for (int lane = 0; lane < lanes; ++lane) out[lane] = source[lane][offset + e + i];
  }
#endif
}

/// The inverse of load_run for the lanes for which `stored(lane)`. ahead: offset of the addresses that will be stored to next, for
/// prefetching; 0: none.
template <typename R, typename Stored, typename From>
HWY_INLINE void store_run(R* const* HWY_RESTRICT target, std::int64_t offset, std::int64_t length, Stored stored,
                          [[maybe_unused]] std::int64_t ahead, From from) {
  using D = hn::ScalableTag<R>;
  using V = hn::Vec<D>;
  constexpr D d;
  [[maybe_unused]] constexpr int lanes = static_cast<int>(hn::MaxLanes(D()));
  std::int64_t e = 0;
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
  constexpr HalfOf<R> half;
  constexpr int width = half_lanes<R>;
  // Prefetches the next column or row: stores that miss the L1 cache wait for one another.
  for (; e + lanes <= length; e += lanes) {
    V x[width], y[width];
    for (int r = 0; r < width; ++r) x[r] = hn::Load(d, from(e + r));
    for (int r = 0; r < width; ++r) y[r] = hn::Load(d, from(e + width + r));
    transpose_to_halves<R>(x);
    transpose_to_halves<R>(y);
    scatter_halves<R>([&](int lane, int v, bool upper) HWY_ATTR {
      R* const to = target[lane] + offset + e;
      if (ahead) __builtin_prefetch(to + ahead, 1, 3);
      if (stored(lane)) {
        hn::StoreU(half_of<R>(x[v], upper), half, to);
        hn::StoreU(half_of<R>(y[v], upper), half, to + width);
      }
    });
  }
  if (e + width <= length) {
    V x[width];
    for (int r = 0; r < width; ++r) x[r] = hn::Load(d, from(e + r));
    transpose_to_halves<R>(x);
    scatter_halves<R>([&](int lane, int v, bool upper) HWY_ATTR {
      R* const to = target[lane] + offset + e;
      if (ahead) __builtin_prefetch(to + ahead, 1, 3);
      if (stored(lane)) hn::StoreU(half_of<R>(x[v], upper), half, to);
    });
    e += width;
  }
  if (e == length) return;
#else
  for (; e + lanes <= length; e += lanes) {
    V x[lanes];
    for (int r = 0; r < lanes; ++r) x[r] = hn::Load(d, from(e + r));
    transpose<R>(x);
    for (int lane = 0; lane < lanes; ++lane)
      if (stored(lane)) hn::StoreU(x[lane], d, target[lane] + offset + e);
  }
#endif
#if HWY_TARGET == HWY_AVX3  // its masked loads and stores never access masked-out memory
  auto const mask = hn::FirstN(half, static_cast<std::size_t>(length - e));
  V x[width];
  for (int r = 0; r < width; ++r) x[r] = e + r < length ? hn::Load(d, from(e + r)) : hn::Zero(d);
  transpose_to_halves<R>(x);
  scatter_halves<R>([&](int lane, int v, bool upper) HWY_ATTR {
    R* const to = target[lane] + offset + e;
    if (ahead) __builtin_prefetch(to + ahead, 1, 3);
    if (stored(lane)) store_half<R>(x[v], upper, mask, to);
  });
#else
  for (; e < length; ++e) {
    R const* const in = from(e);
    for (int lane = 0; lane < lanes; ++lane)
      if (stored(lane)) target[lane][offset + e] = in[lane];
  }
#endif
}

/// Rows [first, last) of column j of a part of a matrix with m rows.
struct RowRange {
  std::int64_t first;
  std::int64_t last;
};
HWY_INLINE RowRange rows_of_column(Part part, std::int64_t j, std::int64_t m) {
  return {part == Part::lower ? std::min(j, m) : 0, part == Part::upper ? std::min(j + 1, m) : m};
}
/// Columns [first, last) of row i of a part of a matrix with n columns.
HWY_INLINE RowRange cols_of_row(Part part, std::int64_t i, std::int64_t n) {
  return {part == Part::upper ? std::min(i, n) : 0, part == Part::lower ? std::min(i + 1, n) : n};
}

/// Calls `run(i, j, length, step_i, step_j)` for the runs of elements that are contiguous in memory; false if there are none (no stride is
/// one).
template <typename F>
HWY_INLINE bool for_each_run(std::int64_t rs, std::int64_t cs, std::int64_t m, std::int64_t n, Part part, F run) {
  if (rs == 1) {
    for (std::int64_t j = 0; j < n; ++j) {
      RowRange const r = rows_of_column(part, j, m);
      if (r.first < r.last) run(r.first, j, r.last - r.first, 1, 0);
    }
    return true;
  }
  if (cs == 1) {
    for (std::int64_t i = 0; i < m; ++i) {
      RowRange const r = cols_of_row(part, i, n);
      if (r.first < r.last) run(i, r.first, r.last - r.first, 0, 1);
    }
    return true;
  }
  return false;
}

/// Loads the m-by-n matrices of a group (or a part of them) as packs: element (i, j) goes to ws + (i + j*ld) * Pack<T>::size.
template <typename T>
HWY_NOINLINE void load_group(GroupView<T const> const& view, std::int64_t m, std::int64_t n, typename Pack<T>::R* HWY_RESTRICT ws,
                             std::int64_t ld, Part part = Part::all) {
  using P = Pack<T>;
  using R = typename P::R;
  constexpr typename P::D d;
  constexpr std::int64_t parts = is_complex<T> ? 2 : 1;  // reals per element
  if (m == 0 || n == 0) return;
  std::int64_t const rs = view.rs[0], cs = view.cs[0];
  R const* source[max_lanes];
  for (int lane = 0; lane < P::lanes; ++lane) source[lane] = reinterpret_cast<R const*>(view.base[lane]);
  if (view.adjacent) {
    for (std::int64_t j = 0; j < n; ++j) {
      RowRange const r = rows_of_column(part, j, m);
      for (std::int64_t i = r.first; i < r.last; ++i) {
        R const* const p = source[0] + (i * rs + j * cs) * parts;
        R* const to = ws + (i + j * ld) * P::size;
        if constexpr (is_complex<T>) {
          typename P::V re, im;
          hn::LoadInterleaved2(d, p, re, im);
          P{re, im}.store(to);
        } else {
          hn::Store(hn::LoadU(d, p), d, to);
        }
      }
    }
  } else if (view.same_strides && part == Part::all && ((rs == 1 && (cs == m || n == 1) && ld == m) || (m == 1 && cs == 1 && ld == 1))) {
    load_run<R>(source, 0, m * n * parts, [&](std::int64_t e) HWY_ATTR { return ws + e * P::lanes; });
  } else if (view.same_strides && (rs == 1 || cs == 1)) {
    for_each_run(rs, cs, m, n, part, [&](std::int64_t i, std::int64_t j, std::int64_t length, std::int64_t di, std::int64_t dj) HWY_ATTR {
      std::int64_t const offset = (i * rs + j * cs) * parts;
      R* const to = ws + (i + j * ld) * P::size;
      std::int64_t const step = (di + dj * ld) * P::size;
      if constexpr (is_complex<T>)
        load_run<R>(source, offset, length * 2, [&](std::int64_t e) HWY_ATTR { return to + (e >> 1) * step + (e & 1) * P::lanes; });
      else
        load_run<R>(source, offset, length, [&](std::int64_t e) HWY_ATTR { return to + e * step; });
    });
  } else {
    for (std::int64_t j = 0; j < n; ++j) {
      RowRange const r = rows_of_column(part, j, m);
      for (std::int64_t i = r.first; i < r.last; ++i) {
        R* const to = ws + (i + j * ld) * P::size;
        for (int lane = 0; lane < P::lanes; ++lane) {
          R const* const p = source[lane] + (i * view.rs[lane] + j * view.cs[lane]) * parts;
          to[lane] = p[0];
          if constexpr (is_complex<T>) to[lane + P::lanes] = p[1];
        }
      }
    }
  }
  if constexpr (is_complex<T>) {
    if (view.conjugated) {
      for (std::int64_t j = 0; j < n; ++j) {
        RowRange const r = rows_of_column(part, j, m);
        for (std::int64_t i = r.first; i < r.last; ++i) {
          R* const p = ws + (i + j * ld) * P::size;
          conj(P::load(p)).store(p);
        }
      }
    }
  }
}

/// The inverse of load_group for the lanes that are stored. Conjugates the packs in `ws` where the batch is conjugated.
template <typename T>
HWY_NOINLINE void store_group(GroupView<T> const& view, std::int64_t m, std::int64_t n, typename Pack<T>::R* HWY_RESTRICT ws,
                              std::int64_t ld, Part part = Part::all) {
  using P = Pack<T>;
  using R = typename P::R;
  constexpr typename P::D d;
  constexpr std::int64_t parts = is_complex<T> ? 2 : 1;
  if (m == 0 || n == 0) return;
  if constexpr (is_complex<T>) {
    if (view.conjugated) {
      for (std::int64_t j = 0; j < n; ++j) {
        RowRange const r = rows_of_column(part, j, m);
        for (std::int64_t i = r.first; i < r.last; ++i) {
          R* const p = ws + (i + j * ld) * P::size;
          conj(P::load(p)).store(p);
        }
      }
    }
  }
  std::int64_t const rs = view.rs[0], cs = view.cs[0];
  R* target[max_lanes];
  for (int lane = 0; lane < P::lanes; ++lane) target[lane] = reinterpret_cast<R*>(view.base[lane]);
  auto const stored = [&](int lane) HWY_ATTR { return view.stored[lane]; };
  if (view.adjacent) {
    for (std::int64_t j = 0; j < n; ++j) {
      RowRange const r = rows_of_column(part, j, m);
      for (std::int64_t i = r.first; i < r.last; ++i) {
        R* const p = target[0] + (i * rs + j * cs) * parts;
        P const x = P::load(ws + (i + j * ld) * P::size);
        if constexpr (is_complex<T>)
          hn::StoreInterleaved2(x.re, x.im, d, p);
        else
          hn::StoreU(x.v, d, p);
      }
    }
  } else if (view.same_strides && part == Part::all && ((rs == 1 && (cs == m || n == 1) && ld == m) || (m == 1 && cs == 1 && ld == 1))) {
    store_run<R>(target, 0, m * n * parts, stored, 256 / static_cast<std::int64_t>(sizeof(R)),
                 [&](std::int64_t e) HWY_ATTR { return ws + e * P::lanes; });
  } else if (view.same_strides && (rs == 1 || cs == 1)) {
    for_each_run(rs, cs, m, n, part, [&](std::int64_t i, std::int64_t j, std::int64_t length, std::int64_t di, std::int64_t dj) HWY_ATTR {
      std::int64_t const offset = (i * rs + j * cs) * parts;
      std::int64_t const next_run = (rs == 1 ? cs : rs) * parts;
      R const* const from = ws + (i + j * ld) * P::size;
      std::int64_t const step = (di + dj * ld) * P::size;
      if constexpr (is_complex<T>)
        store_run<R>(target, offset, length * 2, stored, next_run,
                     [&](std::int64_t e) HWY_ATTR { return from + (e >> 1) * step + (e & 1) * P::lanes; });
      else
        store_run<R>(target, offset, length, stored, next_run, [&](std::int64_t e) HWY_ATTR { return from + e * step; });
    });
  } else {
    for (std::int64_t j = 0; j < n; ++j) {
      RowRange const r = rows_of_column(part, j, m);
      for (std::int64_t i = r.first; i < r.last; ++i) {
        R const* const from = ws + (i + j * ld) * P::size;
        for (int lane = 0; lane < P::lanes; ++lane) {
          if (!view.stored[lane]) continue;
          R* const p = target[lane] + (i * view.rs[lane] + j * view.cs[lane]) * parts;
          p[0] = from[lane];
          if constexpr (is_complex<T>) p[1] = from[lane + P::lanes];
        }
      }
    }
  }
}

}  // namespace myriad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard per target
