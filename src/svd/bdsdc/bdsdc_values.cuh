#pragma once
/// Singular values only of bidiagonal matrices of any size, by bisection with Sturm counts.

#include "eigen/divide_and_conquer/stedc_merge.cuh"
#include "svd/bdsdc/bdsdc_config.cuh"
#include "svd/bdsdc/bdsdc_leaves.cuh"

namespace myriad {
namespace simt {

/// Counts singular values below x of a matrix of norm one, by the differential stationary qd algorithm (Fernando and Parlett 1994): the
/// negative pivots of B^T B - x^2 I, from the squares of B's elements. They are those of a matrix whose elements differ by a few roundings,
/// as the pivots of the tridiagonal matrix of Golub and Kahan, which is twice as large. Pivots smaller than `least` in modulus are replaced
/// by -least.
template <typename R>
struct BidiagonalCount {
  R const *d, *e;  ///< squares
  int n;

  SIMT_INLINE int below(R x) const {
    constexpr R least = power_of_two<R, -900, -100>;
    R const shift = -x * x;
    int count = 0;
    R carried = shift;
    SIMT_UNROLL_BY(8)
    for (int i = 0; i < n; ++i) {
      R pivot = d[i] + carried;
      pivot = magnitude(pivot) < least ? -least : pivot;
      count += pivot < R(0) ? 1 : 0;
      carried = multiply_add(carried * reciprocal(pivot), e[i], shift);
    }
    return count;
  }
};

/// A bound of all values, from the tolerance of a matrix.
template <typename R>
SIMT_INLINE R bound_of_singular_values(R tolerance) {
  constexpr R eighth_of_inverse_roundoff = power_of_two<R, 50, 21>;
  return R(2.125) * eighth_of_inverse_roundoff * tolerance;  // two elements per row and column, with a margin
}

}  // namespace simt

/// Makes the squares, of matrices scaled to norm one by a power of two. A matrix with NaN or infinity is set to zero.
///
/// Launch: any number of blocks of stedc_threads threads with stedc_shared_bytes of dynamic shared memory.
template <typename R>
SIMT_KERNEL void SIMT_BOUNDS(stedc_threads, 1) bdsdc_square(BdsdcValues<R> const work) {
  using namespace simt;
  constexpr R u = power_of_two<R, -53, -24>;
  for (Index b = block_index(); b < work.count; b += block_count()) {
    int const n = work.rows_of(b);
    auto const top = bdsdc_largest<R>(work.d, work.e, b, n);
    bool const finite = top < ordered_bits(R(infinity()));
    R const scale = !finite || top == bits_of(R(0)) ? R(1) : reciprocal_power(number_of(top));
    SIMT_LOOP
    for (int i = thread_index(); i < n; i += stedc_threads) {
      R const diagonal = finite ? scale * *work.d.at(b, i, 0) : R(0), beside = finite && i + 1 < n ? scale * *work.e.at(b, i, 0) : R(0);
      work.diagonal[b * work.n + i] = diagonal * diagonal;
      work.beside[b * work.n + i] = beside * beside;
    }
    if (thread_index() == 0) {
      work.tolerances[b] = finite ? R(8) * u * (scale * number_of(top)) : R(0);
      work.backs[b] = finite ? reciprocal_power(scale) : R(quiet_nan());
    }
  }
}

/// Counts the values below each of the points that all values of a matrix share.
///
/// Launch: any number of blocks of stedc_threads threads.
template <typename R>
SIMT_KERNEL void SIMT_BOUNDS(stedc_threads, 1) bdsdc_points(BdsdcValues<R> const work) {
  using namespace simt;
  constexpr int chunks = bdsdc_points_of_matrix / stedc_threads;
  for (Index at = block_index(); at < chunks * work.count; at += block_count()) {
    Index const b = at / chunks;
    int const p = static_cast<int>(at % chunks) * stedc_threads + thread_index();
    BidiagonalCount<R> const sturm{work.diagonal + b * work.n, work.beside + b * work.n, work.rows_of(b)};
    R const step = bound_of_singular_values(work.tolerances[b]) * (R(1) / R(bdsdc_points_of_matrix));
    work.below[b * bdsdc_points_of_matrix + p] = sturm.below(step * R(p));
  }
}

/// Computes each value by its lanes: every lane evaluates one point of the value's interval, until that is negligible relative to the
/// matrix.
///
/// Launch: any number of blocks of stedc_threads threads.
template <typename R>
SIMT_KERNEL void SIMT_BOUNDS(stedc_threads, 1) bdsdc_bisect(BdsdcValues<R> const work) {
  using namespace simt;
  constexpr R u = power_of_two<R, -53, -24>;
  constexpr int lanes = bdsdc_lanes_of_value, values = stedc_threads / lanes;
  Index const chunks = ceil_div(work.n, values);
  for (Index at = block_index(); at < chunks * work.count; at += block_count()) {
    Index const b = at / chunks;
    int const n = work.rows_of(b), part = thread_index() % lanes;
    int const k = static_cast<int>(at % chunks) * values + thread_index() / lanes;
    BidiagonalCount<R> const sturm{work.diagonal + b * work.n, work.beside + b * work.n, n};
    R const bound = bound_of_singular_values(work.tolerances[b]), step_of_points = bound * (R(1) / R(bdsdc_points_of_matrix));
    R const enough = R(0.125) * u * bound;
    // Even if rounding makes the counts non-monotonic, there is a point with too few values below it, followed by one with enough.
    int first = 0, last = bdsdc_points_of_matrix;
    while (last - first > 1) {
      int const middle = (first + last) / 2;
      (work.below[b * bdsdc_points_of_matrix + middle] > k ? last : first) = middle;
    }
    R low = step_of_points * R(first), high = step_of_points * R(last);
    bool done = k >= n;
    SIMT_LOOP
    while (ballot(!done) != 0) {
      R const step = (high - low) * (R(1) / R(lanes + 1));
      bool const above = (done ? 0 : sturm.below(multiply_add(step, R(part + 1), low))) > k;
      unsigned const of_value = ballot(above) >> lane_index() / lanes * lanes & ((1u << lanes) - 1);
      int const place = of_value == 0 ? lanes : lowest_bit(of_value);  // index of the first point above the value
      R const next_low = multiply_add(step, R(place), low);
      if (!done) {
        R const next_high = place < lanes ? multiply_add(step, R(place + 1), low) : high;
        done = !(next_high - next_low > enough) || (next_low == low && next_high == high);  // there may be no number in between
        low = next_low;
        high = next_high;
      }
    }
    // An interval that begins at zero has values that are negligible.
    if (k < n && part == 0) work.values[b * work.n + k] = low == R(0) ? R(0) : multiply_add(R(0.5), high - low, low);
  }
}

/// Writes the values in descending order, and info.
///
/// Launch: any number of blocks of stedc_threads threads.
template <typename R>
SIMT_KERNEL void SIMT_BOUNDS(stedc_threads, 1) bdsdc_order_values(BdsdcValues<R> const work) {
  using namespace simt;
  Index const chunks = ceil_div(work.n, stedc_sorted_rows);
  for (Index at = block_index(); at < chunks * work.count; at += block_count()) {
    Index const b = at / chunks;
    int const n = work.rows_of(b), p = static_cast<int>(at % chunks) * stedc_sorted_rows + thread_index() / stedc_lanes_of_place;
    R const* const values = work.values + b * work.n;
    R const scale = work.scales[b], back = work.backs[b];
    if (n > 0 && at % chunks == 0 && thread_index() == 0 && work.info) work.info[b] = back == back && scale == scale ? 0 : n;
    bool const is = p < n;
    R const value = is ? values[p] : R(0);
    int const place = n - 1 - stedc_place(values, n, p, value);
    if (!is || thread_index() % stedc_lanes_of_place != 0) continue;
    store_global(work.s.at(b, place, 0), scale * (back * value));
  }
}

}  // namespace myriad
