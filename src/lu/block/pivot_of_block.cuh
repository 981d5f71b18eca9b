#pragma once
/// How the threads of a block agree on a pivot: see lu/pivot_search.cuh for the order of candidates.

#include "lu/block/lu_block_config.cuh"
#include "simt/divisor.hpp"

namespace myriad::simt {

/// Whether x goes before y.
SIMT_INLINE bool is_better(LuCandidate const& x, LuCandidate const& y) {
  return x.at >= 0 && (y.at < 0 || x.bits > y.bits || (x.bits == y.bits && x.at < y.at));
}

/// The lane with the best candidate of the warp; any lane where there is none. R: the type of the magnitudes.
template <typename R>
SIMT_INLINE int lane_of_best(LuCandidate const& mine) {
  constexpr bool wide = sizeof(R) == 8;
  // Magnitudes have no sign, so that one more fits.
  unsigned const leading = mine.at < 0 ? 0 : static_cast<unsigned>(wide ? mine.bits >> 32 : mine.bits) + 1;
  unsigned const largest = largest_of_warp(leading);
  bool best = leading == largest;
  unsigned lanes = ballot(best);
  // Warps without a candidate must not hold up the others.
  if (count_bits(lanes) > 1 && largest != 0) {
    if constexpr (wide) {
      unsigned const rest = best ? static_cast<unsigned>(mine.bits) : 0, most = largest_of_warp(rest);
      best = best && rest == most;
    }
    unsigned const first = best ? ~static_cast<unsigned>(mine.at) : 0, most = largest_of_warp(first);
    lanes = ballot(best && first == most);
  }
  return lowest_bit(lanes);
}

/// Division by a pivot. A zero divides like one with pivoting, when there are only zeros; without it gives infinity or NaN.
template <typename T>
struct PivotDivisor {
  T inverse;
  Real<T> scale;
  bool usual;

  SIMT_INLINE PivotDivisor(T pivot, bool pivoting) : scale(1) {
    Divisor<T> divisor(pivot);
    usual = divisor.usual();
    if (!usual) {
      scale = divisor.make_usual();
      if (!pivoting && pivot == from_real<T>(0)) scale = Real<T>(infinity());
    }
    inverse = divisor.reciprocal_of_y;
  }
  SIMT_INLINE T divide(T x) const { return usual ? x * inverse : (scale * x) * inverse; }
};

}  // namespace myriad::simt
