#pragma once
/// How LU finds pivots, as LAPACK does: the first of the largest |re| + |im| in the order of the interchanged rows. NaN counts as larger
/// than all numbers.

#include "simt/divisor.hpp"

namespace myriad::simt {

/// The search through rows k to `bound` (at most `rows`), all of one lane; x(i) is the element of row i.
template <int rows, typename Element>
SIMT_INLINE int find_pivot_in_one_lane(int k, int bound, Element x) {
  auto best = ordered_bits(magnitude(x(k)));
  int p = k;
  SIMT_UNROLL
  for (int i = 0; i < rows; ++i) {
    if (i <= k) continue;
    auto const bits = ordered_bits(magnitude(x(i)));
    if (bits > best && i < bound) {
      best = bits;
      p = i;
    }
  }
  return p;
}

/// A search through the rows that `lanes` neighbouring lanes have, up to `held` each, of which some may be chosen; the whole warp takes
/// part. Keys are the leading bits of magnitudes with a number of the row below; only where these do not decide, all bits and the positions
/// are compared.
template <typename T, int held, int lanes>
class PivotSearch {
 public:
  /// Row r of this lane: its element, all bits if it may be chosen and else none, its number below 32, and its position.
  SIMT_INLINE void take(int r, T x, unsigned eligible, unsigned number, int position) {
    unsigned const key = (leading_bits_of_magnitude(x) & ~number_bits & eligible) | number;
    second_ = larger(second_, smaller(best_, key));
    best_ = larger(best_, key);
    candidates_.x[r] = x;
    candidates_.at[r] = eligible != 0 ? static_cast<unsigned>(position) * 32 + number : nowhere;
  }
  /// The number of the row with the pivot.
  SIMT_INLINE unsigned find() const {
    unsigned most = best_;
    if constexpr (lanes == warp_size) {
      most = largest_of_warp(best_);
    } else {
      SIMT_UNROLL
      for (int distance = lanes / 2; distance > 0; distance /= 2) most = larger(most, shuffle_xor(most, distance));
    }
    bool const unclear = (best_ == most ? second_ : best_) >= (most & ~number_bits);
    return ballot(unclear) != 0 ? find_by_all_bits(candidates_) : most & number_bits;
  }

 private:
  static constexpr unsigned number_bits = 31;  ///< of a key; the others are of the magnitude
  static constexpr unsigned nowhere = 1 << 20;
  struct Candidates {
    T x[held];
    unsigned at[held];  ///< place and number; what is not eligible is `nowhere`
  };
  /// Not inline: what is hardly ever used would fill the instruction cache, once for every step of a panel.
  SIMT_OUTLINE static unsigned find_by_all_bits(Candidates const c) {
    auto best = ordered_bits(Real<T>(0));
    unsigned at = nowhere;  // place and number
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) {
      auto const bits = ordered_bits(magnitude(c.x[r]));
      if (c.at[r] != nowhere && (at == nowhere || bits > best || (bits == best && c.at[r] < at))) {
        best = bits;
        at = c.at[r];
      }
    }
    SIMT_LOOP
    for (int distance = lanes / 2; distance > 0; distance /= 2) {
      auto const bits = shuffle_xor(best, distance);
      unsigned const there = shuffle_xor(at, distance);
      if (there != nowhere && (at == nowhere || bits > best || (bits == best && there < at))) {
        best = bits;
        at = there;
      }
    }
    return at % 32;
  }

  unsigned best_ = 0, second_ = 0;
  Candidates candidates_ = none();

  SIMT_INLINE static Candidates none() {
    Candidates c;
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) {
      c.x[r] = from_real<T>(0);
      c.at[r] = nowhere;
    }
    return c;
  }
};

}  // namespace myriad::simt
